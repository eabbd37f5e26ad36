package desk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/desk"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
)

func TestConfirmationsAreOfThePersonOfTheKey(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct {
		caller *edge.Caller
		whose  string
	}{
		{&edge.Caller{ID: "key_olga", Name: "desk", Person: "Olga Officer", Roles: wire.RoleReviewer}, "Olga Officer"},
		{&edge.Caller{ID: "key_desk", Name: "desk", Roles: wire.RoleReviewer}, "desk"},
		{&edge.Caller{ID: "key_none", Roles: wire.RoleReviewer}, "key_none"},
		{&edge.Caller{ID: "key_long", Name: strings.Repeat("é", engine.FieldMax), Roles: wire.RoleReviewer}, strings.Repeat("é", engine.FieldMax/2)},
	} {
		j, f := w.Begin(c.caller, `{"reason":"seen","reviewedBy":"Somebody Else"}`)
		confirmation, err := desk.ReadConfirmation(f)
		require.NoError(t, err)
		withdrawal, err := confirmation.Withdrawal(j, 7)
		require.NoError(t, err)
		require.Equal(t, uint64(7), withdrawal.Proposal)
		require.Contains(t, string(withdrawal.Common.Fragment), `"reviewedBy":"`+c.whose+`"`)
		record, err := confirmation.Record(j, 7, "prp_1", [32]byte{1})
		require.NoError(t, err)
		require.Equal(t, uint64(7), record.Proposal)
		require.Contains(t, string(record.Common.Fragment), `"confirmedByKey":"`+c.caller.ID+`","confirmedFor":"seen"`)
		require.Nil(t, record.Common.Signed, "nothing demands a passkey")

		l := openReview(w)
		review := confirmation.Review(j, wire.Rejected)
		disposition, err := review.Record(j, &l)
		require.NoError(t, err)
		require.Contains(t, string(disposition.Common.Fragment), `"reviewedBy":"`+c.whose+`"`)
		require.Contains(t, string(disposition.Common.Fragment), `"notes":"seen"`)
	}
	_, f := w.Begin(edgetest.Admin(), `{"reason":"`+strings.Repeat("r", engine.FieldMax+1)+`"}`)
	_, err := desk.ReadConfirmation(f)
	edgetest.RequireCode(t, err, "invalid_field", "reason")
}

func TestWorkSaysWhoAndWhat(t *testing.T) {
	w := edgetest.New(t)
	key := w.Caller("key_jo", wire.RoleReviewer, "")
	j, f := w.Begin(key, `{"comment":"called the bank"}`)
	step, err := desk.ReadQueueStep(j, f, wire.QueueComment)
	require.NoError(t, err)
	record := step.WorkRecord(j, 9)
	require.Equal(t, []any{wire.QueueComment, uint64(9), "test key_jo", false}, []any{record.Op, record.Subject, record.Who, record.Force})
	require.Contains(t, string(record.Common.Fragment), `"comment":"called the bank"`)
}

func TestDraftsAreRead(t *testing.T) {
	w := edgetest.New(t)
	fields := func(count int, value string) string {
		var all []string
		for i := range count {
			all = append(all, fmt.Sprintf(`"f%02d":%q`, count-i, value))
		}
		return `{"fields":{` + strings.Join(all, ",") + `}}`
	}
	for _, c := range []struct{ name, draft, body, code, param string }{
		{"a name with a space", "case 1", `{}`, "invalid_field", "name"},
		{"no name", "", `{}`, "invalid_field", "name"},
		{"too long a text", "case:1", `{"text":"` + strings.Repeat("t", 16*engine.KiB+1) + `"}`, "invalid_field", "text"},
		{"too many fields", "case:1", fields(65, "v"), "invalid_field", "fields"},
		{"too much in all", "case:1", fields(3, strings.Repeat("v", 6000)), "invalid_field", "fields"},
		{"a number", "case:1", `{"fields":{"a":5}}`, "invalid_field", "fields.a"},
		{"good", "case:1", fields(64, "v"), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			said, err := desk.ReadDraft(c.draft, f)
			edgetest.RequireCode(t, err, c.code, c.param)
			if err == nil {
				require.Len(t, said.Fields, 64)
				require.Equal(t, "f01", said.Fields[0].Name, "in the order of their names, however they came")
				record := desk.DraftRecord(j, c.draft, said)
				require.Equal(t, []any{c.draft, said}, []any{record.Name, record.Said})
			}
		})
	}
}

func TestReportsAreOpenedByAPersonWithAReason(t *testing.T) {
	w := edgetest.New(t)
	for body, param := range map[string]string{`{"by":"Jo","reason":"r"}`: "txnId", `{"txnId":"txn_1","reason":"r"}`: "by", `{"txnId":"txn_1","by":"Jo"}`: "reason"} {
		_, f := w.Begin(edgetest.Admin(), body)
		_, err := desk.ReadReportOpening(f)
		edgetest.RequireCode(t, err, "missing_field", param)
	}
	j, f := w.Begin(edgetest.Admin(), `{"txnId":"txn_1","by":"Jo","reason":"paid twice"}`)
	opening, err := desk.ReadReportOpening(f)
	require.NoError(t, err)
	require.Equal(t, "txn_1", opening.TxnID())
	record, err := opening.Record(j, 7)
	require.NoError(t, err)
	require.Equal(t, []any{wire.SAROpen, uint64(7)}, []any{record.Op, record.Leaf})
	require.Contains(t, string(record.Common.Fragment), `"reason":"paid twice"`)
}
