package fsm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// alerts returns the alert leaves of the newest entry that opened an alert.
func (w *world) alerts() (all []string) {
	for _, l := range w.out.Leaves {
		if text := string(l.Data); strings.HasPrefix(text, `{"kind":"alert.opened"`) {
			all = append(all, text)
		}
	}
	return all
}

func (w *world) acknowledge(leaf uint64) wire.Result {
	return w.do(wire.KindAlert, &wire.Alert{Common: wire.Common{Fragment: []byte(`"by":"ann","reason":"known"`)}, Op: wire.AlertAcknowledge, Leaf: leaf})
}

func TestSettlesOpenAlerts(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(100))
	b := w.held(slot, 60, 60, 0)
	w.settle(b, 150)
	found := w.alerts()
	require.Len(t, found, 1, "over the limit")
	require.Contains(t, found[0], `"alert":"over_limit"`)
	require.Contains(t, found[0], `"txnId":"`+w.m.ids.TxnID(b.Leaf)+`"`)
	require.Contains(t, found[0], `"amount":150`)
	w.settle(b, 150)
	require.Empty(t, w.alerts(), "the same settle again")
	require.Equal(t, 1, w.m.Freeze().AlertsOpen()[wire.AlertOverLimit])
}

// TestAlertIsAcknowledgedOnce: one person acknowledges an alert, and a leaf says so. The row
// stays, so the same alert does not open again.
func TestAlertIsAcknowledgedOnce(t *testing.T) {
	w := newWorld(t)
	open := &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(0, 1)}
	first := w.do(wire.KindAlert, open)
	require.Equal(t, wire.Applied, first.Code)
	require.Contains(t, string(first.Data), `"alert":"retro_hit","alertId":"`+w.m.ids.AlertID(first.Leaf)+`","listVersion":1`)
	again := w.do(wire.KindAlert, open)
	require.Equal(t, wire.Unchanged, again.Code)
	require.Equal(t, first.Leaf, again.Leaf)

	done := w.acknowledge(first.Leaf)
	require.Equal(t, wire.Applied, done.Code)
	require.Contains(t, string(done.Data), `"kind":"alert.acknowledged"`)
	require.Contains(t, string(done.Data), `"by":"ann","reason":"known"`)
	row, found := w.m.Freeze().Alert(first.Leaf)
	require.True(t, found)
	require.Equal(t, done.Leaf, row.Later)
	late := w.acknowledge(first.Leaf)
	require.Equal(t, wire.RefusedTransition, late.Refusal)
	require.Equal(t, done.Leaf, late.Value)
	require.Equal(t, wire.RefusedNotFound, w.acknowledge(done.Leaf).Refusal)
	require.Equal(t, wire.Unchanged, w.do(wire.KindAlert, open).Code, "acknowledged is known")
	counts := w.m.Freeze().AlertsOpen()
	require.Zero(t, counts.All())

	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	require.Equal(t, w.m.desk.alertAt, m.desk.alertAt)
	require.Equal(t, w.m.desk.alertsOpen, m.desk.alertsOpen)
}

func TestAlertsAreAboutWhatExists(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	for name, bad := range map[string]wire.Alert{
		"no kind":           {Op: wire.AlertOpen},
		"unknown kind":      {Op: wire.AlertOpen, Kind: wire.AlertKinds + 1},
		"a leaf to come":    {Op: wire.AlertOpen, Kind: wire.AlertRetroHit, Subject: w.m.size},
		"a list to come":    {Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: w.m.settings.ListVersion + 1},
		"an agent to come":  {Op: wire.AlertOpen, Kind: wire.AlertRetroHit, Subject: wire.AlertSubject(wire.TargetAgent, uint64(slot)+1)},
		"no such target":    {Op: wire.AlertOpen, Kind: wire.AlertRetroHit, Subject: wire.AlertSubject(9, 1)},
		"no such operation": {Op: 3, Kind: wire.AlertRetroHit},
	} {
		size := w.m.size
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAlert, &bad).Refusal, name)
		require.Equal(t, size, w.m.size, name)
	}
	r := w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, uint64(slot))})
	require.Contains(t, string(r.Data), `"agentId":"`+w.m.ids.AgentID(uint32(slot))+`"`)
}

// TestFaultsOfReconciliations: an alert about a fault is about what its hash says, names no record
// of Apply's, and opens once, whichever run finds it again.
func TestFaultsOfReconciliations(t *testing.T) {
	w := newWorld(t)
	open := &wire.Alert{
		Common: wire.Common{Fragment: []byte(`"reconciliationId":"rec_1","rail":"USDC","class":"unscreened","settlement":"0xaa:0","txnIds":[]`)},
		Op:     wire.AlertOpen, Kind: wire.AlertReconciled, Subject: wire.AlertSubject(0, 1<<55|7),
	}
	first := w.do(wire.KindAlert, open)
	require.Equal(t, wire.Applied, first.Code)
	require.Contains(t, string(first.Data), `"alert":"reconciliation_fault","alertId":"`+w.m.ids.AlertID(first.Leaf)+`","reconciliationId":"rec_1","rail":"USDC","class":"unscreened","settlement":"0xaa:0","txnIds":[]}`)
	again := *open
	again.Fragment = []byte(`"reconciliationId":"rec_2","rail":"USDC","class":"unscreened","settlement":"0xaa:0","txnIds":[]`)
	r := w.do(wire.KindAlert, &again)
	require.Equal(t, wire.Unchanged, r.Code)
	require.Equal(t, first.Leaf, r.Leaf)
	require.Equal(t, wire.Applied, w.acknowledge(first.Leaf).Code)
	require.Equal(t, wire.Unchanged, w.do(wire.KindAlert, &again).Code)
	counts := w.m.Freeze().AlertsOpen()
	require.Zero(t, counts.All())
	for name, bad := range map[string]wire.Alert{
		"no subject": {}, "a party": {Subject: wire.AlertSubject(wire.TargetAgent, 1)}, "a list": {Subject: 7, List: 1},
	} {
		bad.Op, bad.Kind = wire.AlertOpen, wire.AlertReconciled
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindAlert, &bad).Refusal, name)
	}
	require.Equal(t, w.m.Freeze().Digest(), restoredFrom(t, w.m).Freeze().Digest())
}

// TestAlertsBeyondTheBoundAreLeaves: an alert beyond its owner's share still gets its leaf, and is
// counted. Acknowledged rows make room, wherever they stand.
func TestAlertsBeyondTheBoundAreLeaves(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.Alerts, l.SanctionsAlerts = 2, 2 })
	for range 20 {
		w.tickWithNote()
	}
	open := func(kind uint8, leaf uint64) wire.Result {
		return w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: kind, Subject: leaf})
	}
	first := open(wire.AlertLate, 0)
	open(wire.AlertLate, 1)
	require.Zero(t, w.out.AlertsUnlisted)
	require.Equal(t, wire.Applied, open(wire.AlertLate, 2).Code)
	require.Equal(t, 1, w.out.AlertsUnlisted)
	require.Len(t, w.alerts(), 1)
	require.Equal(t, 2, w.m.desk.alertsOpen.All())
	open(wire.AlertRetroHit, 1)
	require.Zero(t, w.out.AlertsUnlisted, "what is about the list has room of its own")
	w.acknowledge(first.Leaf)
	open(wire.AlertLate, 2)
	require.Zero(t, w.out.AlertsUnlisted)

	for leaf := uint64(3); leaf < 18; leaf++ { // The row of subject 1 stays open in front.
		row := w.m.desk.alerts.At(w.m.desk.alerts.Next() - 1)
		require.Equal(t, wire.Applied, w.acknowledge(row.Leaf).Code)
		open(wire.AlertLate, leaf)
		require.Zero(t, w.out.AlertsUnlisted, leaf)
		require.LessOrEqual(t, w.m.desk.alerts.Len(), 8)
		require.Len(t, w.m.desk.alertAt, w.m.desk.alerts.Len())
	}
	for i := w.m.desk.alerts.First(); i < w.m.desk.alerts.Next(); i++ {
		require.Equal(t, i, w.m.desk.alertAt[w.m.desk.alerts.At(i).key()])
	}
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.desk.alertAt, m.desk.alertAt)
}

func (w *world) tickWithNote() { w.do(wire.KindNote, &wire.Note{Event: "agent.refused"}) }

// TestAlertsGoWithTheirLeaves: after 90 days no row of them is held.
func TestAlertsGoWithTheirLeaves(t *testing.T) {
	w := newWorld(t)
	r := w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, Subject: 1})
	require.Equal(t, wire.Applied, r.Code)
	w.live(92 * engine.DayLength)
	w.tickWithNote()
	require.Zero(t, w.m.desk.alerts.Len())
	require.Empty(t, w.m.desk.alertAt)
	require.Zero(t, w.m.desk.alertsOpen.All())
}

// TestQuarantineOpensAnAlert: activating a list with quarantined entities opens an alert.
func TestQuarantineOpensAnAlert(t *testing.T) {
	w := newWorld(t)
	data := []byte("a list with three that are malformed")
	info := &wire.ListInfo{Digest: sha(data), Source: "test", Entries: 3, Quarantined: 3}
	require.Equal(t, wire.Applied, w.do(wire.KindListChunk, &wire.ListChunk{Digest: info.Digest, Total: uint32(len(data)), Data: data, Info: info}).Code)
	require.Empty(t, w.alerts())
	require.Equal(t, wire.Applied, w.do(wire.KindListActivate, &wire.ListActivate{Digest: info.Digest}).Code)
	require.Len(t, w.alerts(), 1)
	require.Contains(t, w.alerts()[0], `"alert":"list_quarantine"`)
	require.Contains(t, w.alerts()[0], `"listVersion":2,"entries":3`)
}

// TestListedOperatorOpensAnAlert: one alert opens for each list. None opens if the issuance
// already matched the operator, or if the user's name is the reason.
func TestListedOperatorOpensAnAlert(t *testing.T) {
	w := newWorld(t)
	clean, _ := w.register("clean")
	known, _ := w.register("known", func(p *engine.AgentProfile) { p.WalletMatched, p.NameMatched = true, true })
	listed := func(slot engine.AgentSlot, rule engine.RuleID, sub engine.Sub) []string {
		s := w.screening(slot, engine.Dollar)
		var hits engine.Hits
		hits.Add(rule, sub)
		wire.PackHits(&hits, s)
		r := w.do(wire.KindScreen, s)
		require.Equal(t, wire.Applied, r.Code)
		require.Contains(t, verdict(r), "BLOCK")
		require.NotContains(t, string(r.Data), "alert", "the call's own leaf is its record")
		return w.alerts()
	}
	require.Empty(t, listed(known, 4, 1))
	require.Empty(t, listed(known, 5, 1))
	require.Empty(t, listed(clean, 5, 3), "the user")
	require.Empty(t, listed(clean, 6, 1), "the counterparty")
	found := listed(clean, 5, 2)
	require.Len(t, found, 1)
	require.Contains(t, found[0], `"alert":"operator_listed"`)
	require.Contains(t, found[0], `"operatorId":"`+w.m.ids.OperatorID(1)+`","agentId":"`+w.m.ids.AgentID(uint32(clean))+`"`)
	require.Empty(t, listed(clean, 4, 1), "once a list")
	w.activateList([]byte("another list"))
	require.Len(t, listed(clean, 4, 1), 1)
}
