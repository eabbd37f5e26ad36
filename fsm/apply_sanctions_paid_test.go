package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// openPaid opens a case of a payment that went ahead, whose newest leaf the edge has seen.
func (w *world) openPaid(slot engine.AgentSlot, record, newest uint64, cause wire.Cause) wire.Result {
	return w.do(wire.KindSanctions, &wire.SanctionsCase{
		Common: wire.Common{Fragment: []byte(`"openedBy":"ann","reason":"r"`)}, Leaf: record,
		Opens: &wire.PaidPayment{Agent: slot, Cause: cause, Amount: 3 * engine.Dollar, Newest: newest},
	})
}

// TestACaseOfAPaymentThatWentAhead: it is its own, beside that of the pair's BLOCKs; what was paid is
// neither a rejected transaction nor blocked property, unless an officer says what is blocked.
func TestACaseOfAPaymentThatWentAhead(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	paid, other := w.screen(slot, 3), w.screen(slot, 4)
	require.Contains(t, verdict(paid), "PROCEED")
	w.blocked(slot, 5, melli)
	opened := w.openPaid(slot, paid.Leaf, paid.Leaf, melli)
	require.Equal(t, wire.Applied, opened.Code)
	for _, word := range []string{`"kind":"sanctions.opened"`, `"wentAhead":true`, `"amount":3`, `"uid":7777`, `"openedBy":"ann"`} {
		require.Contains(t, string(opened.Data), word)
	}
	require.NotContains(t, string(opened.Data), "agentSequence")
	row, _ := w.m.Freeze().SanctionsCase(opened.Leaf)
	require.Equal(t, SanctionsRow{
		Leaf: opened.Leaf, At: w.now, DueAt: engine.ReportDue(w.now), Root: wire.AlertSubject(wire.TargetAgent, uint64(slot)), Cause: melli, First: paid.Leaf, Last: paid.Leaf,
		Count: 1, Amount: 3 * engine.Dollar, Later: opened.Leaf, State: wire.SanctionsOpen, Paid: true,
	}, row)
	again := w.openPaid(slot, paid.Leaf, paid.Leaf, melli)
	require.Equal(t, [2]any{wire.RefusedExists, opened.Leaf}, [2]any{again.Refusal, again.Value})
	require.Equal(t, wire.Applied, w.openPaid(slot, other.Leaf, other.Leaf, melli).Code, "each payment has its own")
	require.Equal(t, wire.Applied, w.openPaid(slot, paid.Leaf, paid.Leaf, iran).Code)
	w.blocked(slot, 6, melli)
	row, _ = w.m.Freeze().SanctionsCase(opened.Leaf)
	require.EqualValues(t, 1, row.Count, "a BLOCK joins the case of BLOCKs")
	require.EqualValues(t, 2, w.sanctionsCases()[0].Count)

	find := func(kind uint8, property *wire.BlockedProperty) wire.Result {
		return w.moveCase(wire.SanctionsCase{Leaf: opened.Leaf, From: wire.SanctionsOpen, To: wire.SanctionsTrueMatch, Kind: kind, Property: property})
	}
	require.Equal(t, wire.RefusedMalformed, find(wire.SanctionsRejected, nil).Refusal, "it was not rejected")
	require.Equal(t, wire.RefusedMalformed, find(wire.SanctionsProcessed, someProperty()).Refusal)
	require.Equal(t, wire.RefusedMalformed, w.moveCase(wire.SanctionsCase{
		Leaf: w.sanctionsCases()[0].Leaf, From: wire.SanctionsOpen, To: wire.SanctionsTrueMatch, Kind: wire.SanctionsProcessed,
	}).Refusal, "a BLOCK did not go ahead")
	require.Contains(t, string(find(wire.SanctionsProcessed, nil).Data), `"caseKind":"processed_transaction"`)
	require.Zero(t, w.m.Freeze().SanctionsOpen().Blocked, "nothing is blocked")
	requireSameShares(t, w.m)
	w.m = restoredFrom(t, w.m)
	require.Equal(t, wire.RefusedExists, w.openPaid(slot, paid.Leaf, paid.Leaf, melli).Refusal)
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: opened.Leaf, From: wire.SanctionsTrueMatch, To: wire.SanctionsNotTheParty}).Code)
	require.Equal(t, wire.Applied, w.moveCase(wire.SanctionsCase{Leaf: opened.Leaf, From: wire.SanctionsNotTheParty, To: wire.SanctionsOpen}).Code)
	require.Equal(t, wire.Applied, find(wire.SanctionsProperty, someProperty()).Code, "some of it came back and is held")
	require.Equal(t, 1, w.m.Freeze().SanctionsOpen().Blocked)
}

// TestACaseRestsOnTheNewestLeaf: what an edge saw before the payment was given back opens nothing.
func TestACaseRestsOnTheNewestLeaf(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 200, 0, 0)
	decided := w.decide(b, w.makeKey(nil, "ann", wire.RoleReviewer), wire.Approved)
	require.Equal(t, wire.Applied, decided.Code)
	require.Equal(t, wire.Stale, w.openPaid(slot, b.Leaf, b.Leaf, melli).Code)
	require.Equal(t, wire.Applied, w.openPaid(slot, b.Leaf, decided.Leaf, melli).Code)
	for _, bad := range []wire.Cause{0, wire.PartyCause(0)} {
		require.Equal(t, wire.RefusedMalformed, w.openPaid(slot, b.Leaf, decided.Leaf, bad).Refusal)
	}
	require.Equal(t, wire.RefusedMalformed, w.openPaid(slot, w.m.size, decided.Leaf, melli).Refusal)
}
