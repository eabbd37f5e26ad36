package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestAgentsRetire: an agent that was revoked longer ago than its credentials are valid gives back
// its row and its part of the share; before that, and with delegates, it does not. Its id is
// nobody else's, and a restored state agrees.
func TestAgentsRetire(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.Agents = 2 })
	wallet := func(p *engine.AgentProfile) { p.OperatorWallet = "0xAB" }
	root, _ := w.register("root", wallet)
	child, _ := w.register("child", parent(root))
	_, r := w.register("one too many")
	require.Equal(t, wire.RefusedShare, r.Refusal)
	retire := func(slot engine.AgentSlot) wire.Result { return w.do(wire.KindRetire, &wire.Retire{Agent: slot}) }
	require.Equal(t, wire.RefusedTransition, retire(child).Refusal, "it is active")
	w.put(wire.TargetAgent, uint32(root), engine.Revoked)
	w.put(wire.TargetAgent, uint32(child), engine.Revoked)
	w.now += w.m.limits.AgentValidity
	w.tick()
	require.Equal(t, wire.RefusedTransition, retire(child).Refusal, "a status list may show it for a minute")
	w.now += w.m.limits.StatusEvery
	w.tick()
	require.Equal(t, wire.RefusedTransition, retire(root).Refusal, "it has a delegate")
	for _, slot := range []engine.AgentSlot{child, root} {
		r := retire(slot)
		require.Equal(t, wire.Applied, r.Code)
		require.Contains(t, string(r.Data), `"kind":"agent.retired"`)
		require.Contains(t, string(r.Data), w.m.ids.AgentID(uint32(slot)))
		require.Equal(t, []engine.AgentSlot{slot}, w.out.AgentsGone)
		require.Equal(t, wire.RefusedNotFound, retire(slot).Refusal)
		requireSameShares(t, w.m)
	}
	require.Zero(t, w.m.registry.operators.At(1).Agents)
	require.Empty(t, (*w.m.registry.operatorProfiles.At(1)).Wallets)
	third, r := w.register("there is room")
	require.Equal(t, wire.Applied, r.Code)
	require.EqualValues(t, 3, third)
	for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
		view := m.Freeze()
		require.Equal(t, 1, view.Agents())
		require.Equal(t, 3, view.AgentSlots())
		_, _, known := view.Agent(root)
		require.False(t, known)
		require.Equal(t, engine.Revoked, view.Effective(root))
		var out Effects
		m.Everything(&out)
		require.Len(t, out.Agents, 1)
		require.Equal(t, w.m.Freeze().Digest(), view.Digest())
	}
	w.m = restoredFrom(t, w.m)
	w.confirmList()
	require.Equal(t, `PROCEED null`, verdict(w.screen(third, 1)))
	for _, body := range []any{
		&wire.Status{Target: wire.TargetAgent, Slot: uint32(root), To: engine.Active}, &wire.Status{Target: wire.TargetAgent, Slot: uint32(root), To: engine.Revoked},
	} {
		require.Equal(t, wire.RefusedNotFound, w.do(wire.KindStatus, body).Refusal)
	}
	for range 3 {
		w.now += 10 * engine.DayLength
		w.tick()
	}
}

// TestFleetsRetire: a fleet without agents gives back its row.
func TestFleetsRetire(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.Fleets = 1 })
	create := func() wire.Result {
		return w.do(wire.KindFleet, &wire.Fleet{Profile: engine.FleetProfile{FleetName: "f", DailyLimit: 100 * engine.Dollar}, Operator: named("acme inc")})
	}
	require.Equal(t, wire.Applied, create().Code)
	require.Equal(t, wire.RefusedShare, create().Refusal)
	slot, _ := w.register("a", func(p *engine.AgentProfile) { p.Fleet = 1 })
	retire := func(fleet engine.FleetSlot) wire.Result { return w.do(wire.KindRetire, &wire.Retire{Fleet: fleet}) }
	require.Equal(t, wire.RefusedTransition, retire(1).Refusal, "it has an agent")
	held := w.held(slot, 10, 600, 0)
	require.Equal(t, wire.Applied, w.do(wire.KindAssign, &wire.Assign{Fleet: 1, Agents: []engine.AgentSlot{slot}, Remove: true}).Code)
	r := retire(1)
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"kind":"fleet.retired"`)
	require.Equal(t, []engine.FleetSlot{1}, w.out.FleetsGone)
	require.Equal(t, wire.RefusedNotFound, retire(1).Refusal)
	require.Equal(t, wire.Applied, w.settle(held, 10).Code, "a payment of its time ends as ever")
	require.Equal(t, wire.RefusedNotFound, w.do(wire.KindAssign, &wire.Assign{Fleet: 1, Agents: []engine.AgentSlot{slot}}).Refusal)
	require.Equal(t, wire.Applied, create().Code)
	requireSameShares(t, w.m)
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	_, _, known := m.Freeze().Fleet(1)
	require.False(t, known)
	_, _, known = m.Freeze().Fleet(2)
	require.True(t, known)
	for _, bad := range []*wire.Retire{{}, {Agent: slot, Fleet: 2}} {
		require.Equal(t, wire.RefusedMalformed, w.do(wire.KindRetire, bad).Refusal)
	}
}

// revokedLongAgo registers an agent and lets it be revoked for as long as its retirement needs.
func (w *world) revokedLongAgo(options ...agentOption) (slot engine.AgentSlot, then *wire.Screen) {
	slot, _ = w.register("long gone", options...)
	then = w.screening(slot, engine.Dollar)
	w.put(wire.TargetAgent, uint32(slot), engine.Revoked)
	w.now += w.m.limits.AgentValidity + w.m.limits.StatusEvery
	w.tick()
	return slot, then
}

// TestARetiredAgentNeverPasses: whatever a record of a retired agent rests on, it is not PROCEED: not
// with what an edge knew before, not with what it knows now, and not in a dry run.
func TestARetiredAgentNeverPasses(t *testing.T) {
	w := newWorld(t)
	slot, then := w.revokedLongAgo()
	require.Equal(t, `BLOCK "R2_CREDENTIAL_STATUS"`, verdict(w.screen(slot, 1)))
	w.now += 2 * engine.DayLength
	w.tick()
	fresh := w.screening(slot, engine.Dollar)
	require.Equal(t, wire.Applied, w.do(wire.KindRetire, &wire.Retire{Agent: slot}).Code)
	size := w.m.size
	for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
		w.m = m
		now := w.screening(slot, engine.Dollar)
		for _, version := range []uint16{0, 1, 2, 1<<16 - 1} {
			for _, s := range []*wire.Screen{then, fresh, now} {
				s.Version, s.Expires = version, w.now+engine.DayLength
				r := w.do(wire.KindScreen, s)
				require.NotEqual(t, wire.Applied, r.Code)
				require.Empty(t, r.Data)
				var hits engine.Hits
				_, judged := m.Freeze().Moment(w.now, s, &hits)
				require.False(t, judged)
			}
		}
		require.Equal(t, size, m.size, "no record says anything else")
	}
	_, r := w.register("a delegate", parent(slot))
	require.Equal(t, wire.RefusedNotFound, r.Refusal)
	another, _ := w.register("another")
	w.confirmList()
	require.Equal(t, `PROCEED null`, verdict(w.screen(another, 1)))
}

// TestWhatNeedsAnAgentKeepsIt: calls of the last day and payments of which nobody has said what became
// keep an agent's row, because its ancestors' counters are found by it.
func TestWhatNeedsAnAgentKeepsIt(t *testing.T) {
	for name, test := range map[string]struct {
		dollars   engine.USD
		need, end func(w *world, b wire.Hold)
	}{
		"approved today": {200, func(w *world, b wire.Hold) {
			require.Equal(w.t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{
				Leaf: b.Leaf, Disposition: wire.Approved, Agent: b.Agent, Operator: b.Operator, Amount: b.Recorded,
			}).Code)
			require.Zero(w.t, w.m.ledger.unresolvedTotal.Count)
		}, func(w *world, b wire.Hold) { require.Equal(w.t, wire.Applied, w.settle(b, 250).Code) }},
		"unresolved": {10, func(w *world, _ wire.Hold) {
			require.EqualValues(w.t, 1, w.m.ledger.unresolvedTotal.Count)
		}, func(w *world, b wire.Hold) { require.Equal(w.t, wire.Applied, w.release(b).Code) }},
		"its record is gone": {10, func(*world, wire.Hold) {}, func(w *world, _ wire.Hold) { w.live(engine.Retention + 2*engine.DayLength) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			root, _ := w.register("root")
			slot, _ := w.register("child", parent(root), dailyLimit(100))
			b := w.held(slot, test.dollars, 3600, 0)
			w.put(wire.TargetAgent, uint32(slot), engine.Revoked)
			w.now += w.m.limits.AgentValidity + engine.DayLength // A leap: the records stay.
			w.tick()
			test.need(w, b)
			for _, m := range []*Machine{w.m, restoredFrom(t, w.m)} {
				w.m = m
				require.Equal(t, wire.RefusedTransition, w.do(wire.KindRetire, &wire.Retire{Agent: slot}).Refusal)
			}
			test.end(w, b)
			require.Zero(t, w.m.registry.agents.At(uint64(slot)).Holds)
			require.Equal(t, wire.Applied, w.do(wire.KindRetire, &wire.Retire{Agent: slot}).Code)
		})
	}
	w := newWorld(t)
	slot, _ := w.revokedLongAgo()
	w.screen(slot, 1)
	require.Equal(t, wire.RefusedTransition, w.do(wire.KindRetire, &wire.Retire{Agent: slot}).Refusal, "it was called today")
	w.now += 2 * engine.DayLength
	w.tick()
	require.Equal(t, wire.Applied, w.do(wire.KindRetire, &wire.Retire{Agent: slot}).Code)
}

// TestARetiredAgentsPastGoesOn: an officer may still approve a payment of a retired agent, and it
// counts for its operator; a hit that a node found before is passed over.
func TestARetiredAgentsPastGoesOn(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(1))
	other, _ := w.register("b")
	b := w.held(slot, 2, 0, 0)
	require.Equal(t, engine.Review, b.Verdict)
	w.put(wire.TargetAgent, uint32(slot), engine.Revoked)
	w.now += w.m.limits.AgentValidity + engine.DayLength
	w.tick()
	list := w.m.settings.ListVersion
	require.Equal(t, wire.Applied, w.retro(wire.RetroBegin, wire.RetroRun{List: list, Asked: true}).Code)
	run := *w.m.settings.Retro
	run.Agent = uint32(other) + 1
	require.Equal(t, wire.Applied, w.do(wire.KindRetire, &wire.Retire{Agent: slot}).Code)
	r := w.retro(wire.RetroAdvance, run, wire.RetroHit{Target: wire.TargetAgent, Slot: uint32(slot), Entries: []uint32{1}, Listed: true},
		wire.RetroHit{Target: wire.TargetAgent, Slot: uint32(other), Entries: []uint32{1}, Listed: true})
	require.Equal(t, wire.Unchanged, r.Code)
	require.EqualValues(t, 1, w.m.settings.Retro.Hits)

	r = w.do(wire.KindDisposition, &wire.Disposition{
		Leaf: b.Leaf, Disposition: wire.Approved, Agent: slot, Operator: b.Operator, Amount: 2 * engine.Dollar,
	})
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), w.m.ids.AgentID(uint32(slot)), "it says whose call it was")
	require.NotContains(t, string(r.Data), "agentSequence")
	require.Equal(t, 2*engine.Dollar, w.m.registry.operators.At(uint64(b.Operator)).Spend.HeldOn(w.m.now.Day()))
	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	require.Equal(t, wire.Applied, w.settle(b, 2).Code)
	require.Equal(t, 2*engine.Dollar, w.m.registry.operators.At(uint64(b.Operator)).Spend.SpentOn(w.m.now.Day()))
}
