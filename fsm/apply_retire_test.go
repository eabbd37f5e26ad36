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
		require.Equal(t, 3, view.Agents())
		_, _, known := view.Agent(root)
		require.False(t, known)
		require.Equal(t, engine.Revoked, view.Effective(root))
		var out Effects
		m.Everything(&out)
		require.Len(t, out.Agents, 1)
		require.Equal(t, w.m.Freeze().Digest(), view.Digest())
	}
	w.m = restoredFrom(t, w.m)
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
