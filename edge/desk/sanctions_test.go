package desk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/desk"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

const blockedProperty = `"property":{"party":"X Ltd","description":"a payment","location":"account 7","authority":"31 CFR 594","action":"held","valueUSD":12.5}`

func TestStepsOfACaseAreRead(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct{ body, code, param string }{
		{`{"by":"Jo"}`, "missing_field", "to"},
		{`{"by":"Jo","to":"open"}`, "invalid_field", "to"},
		{`{"to":"CLOSED","reason":"r"}`, "missing_field", "by"},
		{`{"by":"Jo","to":"CLOSED"}`, "missing_field", "reason"},
		{`{"by":"Jo","to":"NOT_THE_PARTY","reason":" "}`, "missing_field", "reason"},
		{`{"by":"Jo","to":"TRUE_MATCH"}`, "missing_field", "kind"},
		{`{"by":"Jo","to":"CLOSED","reason":"r","kind":"rejected_transaction"}`, "invalid_field", "kind"},
		{`{"by":"Jo","to":"TRUE_MATCH","kind":"blocked_property"}`, "missing_field", "property"},
		{`{"by":"Jo","to":"TRUE_MATCH","kind":"rejected_transaction",` + blockedProperty + `}`, "invalid_field", "property"},
		{`{"by":"Jo","to":"TRUE_MATCH","kind":"blocked_property","property":{"party":"X"}}`, "missing_field", "property.description"},
		{`{"by":"Jo","to":"REPORTED"}`, "missing_field", "reference"},
		{`{"by":"Jo","to":"CLOSED","reason":"r","reference":"7"}`, "invalid_field", "reference"},
		{`{"by":"Jo","to":"REPORTED","reference":"ORS-7"}`, "", ""},
		{`{"by":"Jo","to":"TRUE_MATCH","kind":"rejected_transaction"}`, "", ""},
	} {
		_, f := w.Begin(edgetest.Admin(), c.body)
		_, err := desk.ReadCaseMove(f)
		edgetest.RequireCode(t, err, c.code, c.param)
	}
}

func TestStepsOfACaseAreRecorded(t *testing.T) {
	w := edgetest.New(t)
	j, f := w.Begin(edgetest.Admin(), `{"by":"Jo","to":"TRUE_MATCH","kind":"blocked_property","reason":"name and birth date","notes":"n",`+blockedProperty+`}`)
	move, err := desk.ReadCaseMove(f)
	require.NoError(t, err)
	record, err := move.Record(j, &fsm.SanctionsRow{Leaf: 7, State: wire.SanctionsOpen})
	require.NoError(t, err)
	require.Equal(t, []any{uint64(7), wire.SanctionsOpen, wire.SanctionsTrueMatch, wire.SanctionsProperty}, []any{record.Leaf, record.From, record.To, record.Kind})
	require.Equal(t, &wire.BlockedProperty{Party: "X Ltd", Description: "a payment", Location: "account 7", Authority: "31 CFR 594", Action: "held", Value: 12*engine.Dollar + engine.Dollar/2}, record.Property)
	require.NotZero(t, record.Said, "two persons must say the same")
	require.Contains(t, string(record.Fragment), "name and birth date")

	other, f := w.Begin(edgetest.Admin(), `{"by":"Jo","to":"REPORTED","reference":" ORS-7 "}`)
	move, err = desk.ReadCaseMove(f)
	require.NoError(t, err)
	record, err = move.Record(other, &fsm.SanctionsRow{Leaf: 7, State: wire.SanctionsTrueMatch})
	require.NoError(t, err)
	require.Equal(t, "ORS-7", record.Reference)
	require.Zero(t, record.Said)
}
