package rulebook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

func TestWiderPoliciesNeedAReason(t *testing.T) {
	w := edgetest.New(t)
	put := func(document, reason string, match uint64) (edge.Leaf, error) {
		j, _ := w.Begin(edgetest.Admin(), `{}`)
		parsed, wrong := engine.ParsePolicy([]byte(document), j.LogTime(), j.Terms.Settings.Rules())
		require.Empty(t, wrong)
		policy := rulebook.Policy{Document: []byte(document), Parsed: parsed, Reason: reason}
		return w.Settle(j, wire.KindPolicy, func() (any, error) { return policy.Record(j, match) })
	}
	l, err := put(`{"velocity":{"maxPerMinute":5}}`, "", 0)
	require.NoError(t, err)
	require.Equal(t, `[]`, string(l.Raw("widened")))
	version := w.Settings().Policy.Version
	_, err = put(`{"velocity":{"maxPerMinute":50}}`, " ", 0)
	edgetest.RequireCode(t, err, "missing_field", "reason")
	var refused *edge.Refusal
	require.ErrorAs(t, err, &refused)
	require.NotEmpty(t, refused.Details, "it is said what is wider")
	_, err = put(`{"velocity":{"maxPerMinute":50}}`, "r", version+1)
	edgetest.RequireCode(t, err, "version_mismatch", "")
	l, err = put(`{"velocity":{"maxPerMinute":50}}`, "busy days", version)
	require.NoError(t, err)
	require.NotEmpty(t, l.Texts("widened"))
	require.Equal(t, "busy days", l.Text("reason"))
}

func TestListsAreActivatedAgainstTheirProblemsByForceAlone(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	active := j.Terms.Settings.List
	other := *active
	other.Digest[0]++
	other.Found = []string{"canary: it is doctored"}
	now := edgetest.Start
	left := func() (*wire.ListLeft, error) {
		return &wire.ListLeft{Wallets: 1, First: []string{"wallet of 7"}}, nil
	}
	broken := errors.New("a list cannot be read")

	a := rulebook.Activation{}
	_, err := a.Record(j, &other, now, left)
	edgetest.RequireCode(t, err, "list_rejected", "")
	require.ErrorContains(t, err, "it is doctored")
	_, err = a.Record(j, &other, now, func() (*wire.ListLeft, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	a = rulebook.Activation{Force: true, Grounds: edge.Grounds{Reason: "r"}}
	record, err := a.Record(j, &other, now, left)
	require.NoError(t, err)
	require.True(t, record.Force)
	require.Equal(t, other.Digest, record.Digest)
	require.Contains(t, string(record.Fragment), "it is doctored", "what spoke against it stands in the leaf")
	require.Contains(t, string(record.Fragment), `"left":{"parties":0,"names":0,"wallets":1,"first":["wallet of 7"]}`)
	require.EqualValues(t, 1, record.Left.Wallets)

	// Nobody forces a list of the future, and nothing is forced where nothing speaks against it.
	ahead := other
	ahead.Sample, ahead.SDNAsOf = false, now+3*engine.DayLength
	_, err = a.Record(j, &ahead, now, left)
	edgetest.RequireCode(t, err, "list_rejected", "")
	require.ErrorContains(t, err, "future: ")
	plain := other
	plain.Found = nil
	record, err = a.Record(j, &plain, now, left)
	require.NoError(t, err)
	require.False(t, record.Force)
	a = rulebook.Activation{ChosenAt: j.Terms.Settings.ListVersion + 1, Force: true, Rollback: true}
	_, err = a.Record(j, &other, now, left)
	edgetest.RequireCode(t, err, "list_rejected", "")
	a = rulebook.Activation{}
	record, err = a.Record(j, active, now, func() (*wire.ListLeft, error) { return nil, broken })
	require.NoError(t, err, "nothing is asked about the list in force")
	require.False(t, record.Refresh, "it was not imported again")
}

func TestStagedListsHaveNoIdempotencyKey(t *testing.T) {
	w := edgetest.New(t)
	call := w.NewCall(edgetest.Admin(), `{}`)
	call.Idem = &wire.Idem{Key: [16]byte{1}}
	show := func(info *wire.ListInfo, _ engine.Time) (m strictjson.Members) {
		m.Uint("sizeBytes", uint64(info.Size))
		return m
	}
	info, common, err := rulebook.StagedList(w.BeginCall(call), wire.ListInfo{Source: "s"}, 7, show, nil, []string{"p"}, "upload")
	require.NoError(t, err)
	require.EqualValues(t, 7, info.Size)
	require.Nil(t, common.Idem)
	require.Contains(t, string(common.Fragment), `"list":{"sizeBytes":7},"problems":["p"],"left":{"parties":0,"names":0,"wallets":0,"first":[]},"origin":"upload"`)
}

func TestRetroScreeningsAreAgainstAnEarlierList(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	list := &wire.ListInfo{Version: 3}
	_, err := rulebook.RetroRun(j, list, list, 5, 6)
	edgetest.RequireCode(t, err, "invalid_field", "against")
	record, err := rulebook.RetroRun(j, list, &wire.ListInfo{Version: 2}, 5, 6)
	require.NoError(t, err)
	require.Equal(t, wire.RetroRun{List: 3, Against: 2, From: 5, Leaf: 6, Asked: true}, record.Run)
	record, err = rulebook.RetroRun(j, list, nil, 5, 6)
	require.NoError(t, err)
	require.Zero(t, record.Run.Against)
}

func TestPairsAreClearedWhereThereIsSomethingToClear(t *testing.T) {
	w := edgetest.New(t)
	for _, c := range []struct{ body, code, param string }{
		{`{"uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "missing_field", "name"},
		{`{"name":"…","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "name"},
		{`{"name":"Lazarus Groupe","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "missing_field", "uid"},
		{`{"name":"Lazarus Groupe","uid":"0","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "uid"},
		{`{"name":"Lazarus Groupe","uid":4294967296,"reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "uid"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true}`, "missing_field", "expiresAt"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-03-01T00:00:00Z"}`, "invalid_field", "expiresAt"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2027-03-24T00:00:00Z"}`, "invalid_field", "expiresAt"},
		{`{"name":"Lazarus Groupe","uid":5,"reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "uid"},
		{`{"name":"Quiet Orchard Bakery","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "name"},
		{`{"name":"Lazarus Group","uid":"27307","reason":"r","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "name"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","expiresAt":"2026-04-20T00:00:00Z"}`, "missing_field", "grounds"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","grounds":{},"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "grounds"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","nameOnly":true,"grounds":{"country":"FR"},"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "nameOnly"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","grounds":{"operatorId":"opr_x"},"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "grounds.operatorId"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","grounds":{"agentId":"x"},"expiresAt":"2026-04-20T00:00:00Z"}`, "invalid_field", "grounds.agentId"},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"r","txnId":"txn_nowhere","expiresAt":"2026-04-20T00:00:00Z"}`, "not_found", ""},
		{`{"name":"Lazarus Groupe","uid":"27307","reason":"our caterer","nameOnly":true,"expiresAt":"2026-04-20T00:00:00Z","clearedBy":"Jo"}`, "", ""},
	} {
		t.Run(c.body, func(t *testing.T) {
			j, f := w.Begin(edgetest.Admin(), c.body)
			pair, err := rulebook.ReadClearedPair(j, f)
			if err == nil {
				_, err = w.Settle(j, wire.KindCleared, func() (any, error) { return pair.Record(j) })
			}
			edgetest.RequireCode(t, err, c.code, c.param)
		})
	}
	require.Len(t, w.Settings().Cleared, 1)
	pair := w.Settings().Cleared[0]
	entry, _ := w.List().Entry(27307)
	require.Equal(t, entry.Digest, pair.EntryDigest, "the pair is void when the entry changes")
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	_, err := w.Settle(j, wire.KindCleared, func() (any, error) {
		return rulebook.RemoveClearedPair(j, pair.ID, edge.Grounds{Reason: "r", Actor: "Jo"})
	})
	require.NoError(t, err)
	require.Empty(t, w.Settings().Cleared)
}

// A clearing rests on what its caller says; an address is cut behind its last whole word.
func TestAClearingRestsOnItsGrounds(t *testing.T) {
	w := edgetest.New(t)
	long := strings.Repeat("word ", 40) + "Avenue"
	j, f := w.Begin(edgetest.Admin(), `{"name":"Lazarus Groupe","uid":"27307","reason":"r","expiresAt":"2026-04-20T00:00:00Z","grounds":{"country":"FR","dateOfBirth":"1974","address":" 1 Rue X ","identifiers":[{"type":"passport","value":"X 123"}]}}`)
	pair, err := rulebook.ReadClearedPair(j, f)
	require.NoError(t, err)
	_, err = w.Settle(j, wire.KindCleared, func() (any, error) { return pair.Record(j) })
	require.NoError(t, err)
	grounds := w.Settings().Cleared[0].Grounds
	require.Equal(t, [3]string{"FR", "1974", "1 Rue X"}, [3]string{grounds.Country, grounds.BirthDate, grounds.Address})
	require.Len(t, grounds.Identifiers, 1)
	j, f = w.Begin(edgetest.Admin(), `{"name":"Lazarus Groupe","uid":"27307","reason":"r","expiresAt":"2026-04-20T00:00:00Z","grounds":{"address":"`+long+`"}}`)
	_, err = rulebook.ReadClearedPair(j, f)
	require.NoError(t, err)
}

func TestVersionsAndClockAreMoved(t *testing.T) {
	w := edgetest.New(t)
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	matcher, err := rulebook.RaisedMatcher(j, 2, edge.Grounds{Reason: "r"})
	require.NoError(t, err)
	require.EqualValues(t, 2, matcher.To)
	require.Contains(t, string(matcher.Fragment), `"previousMatcherVersion":1`)
	format, err := rulebook.RaisedFormat(j, 2, edge.Grounds{})
	require.NoError(t, err)
	require.Equal(t, engine.Format(2), format.To)
	require.Contains(t, string(format.Fragment), `"previousFormat":1`)
	for text, code := range map[string]string{`""`: "invalid_field", `"0h"`: "invalid_field", `"1001d"`: "invalid_field", `"soon"`: "invalid_field", `"1000d"`: ""} {
		j, f := w.Begin(edgetest.Admin(), `{"advance":`+text+`}`)
		advance, err := rulebook.ReadClockAdvance(f)
		param := "advance"
		if code == "" {
			param = ""
			record, err := advance.Record(j)
			require.NoError(t, err)
			require.Equal(t, 1000*engine.DayLength, record.Advance)
		}
		edgetest.RequireCode(t, err, code, param)
	}
}
