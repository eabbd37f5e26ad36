package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestAlertsAboutTheListHaveRoom (line K14): no alerts of settles and no hits of another owner take
// the room of an alert about the list. Without room the call that would raise one is refused.
func TestAlertsAboutTheListHaveRoom(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) {
		l.Alerts, l.SanctionsAlerts = 8*ownersLeast, 8*ownersLeast // Each owner has two for itself.
	})
	tenant := w.keyWith("tenant", wire.APIKey{Owner: "cal_tenant", Roles: wire.RoleScreener})
	slot, _ := w.register("its own", dailyLimit(1))
	other := w.registerFor("blue ltd")
	listed := func(slot engine.AgentSlot) wire.Result {
		s := w.screening(slot, engine.Dollar)
		var hits engine.Hits
		hits.Add(5, 2)
		wire.PackHits(&hits, s)
		return w.do(wire.KindScreen, s)
	}
	unlisted := 0
	for range 8 * ownersLeast {
		b := w.heldBy(tenant.Key, slot, 2, 0)
		require.Equal(t, engine.Review, b.Verdict)
		require.Equal(t, wire.Applied, w.settle(b, 2).Code)
		unlisted += w.out.AlertsUnlisted
	}
	require.NotZero(t, unlisted, "the tenant has filled what it may")
	require.Equal(t, wire.Applied, listed(other).Code)
	require.Zero(t, w.out.AlertsUnlisted)
	require.Len(t, w.alerts(), 1)

	require.Equal(t, wire.Applied, w.do(wire.KindAPIKey, &wire.APIKeyPut{
		Op: wire.KeyCreate, Operator: named("acme inc"), Key: wire.APIKey{ID: "acme", Name: "n", Hashes: key32(1), Roles: wire.RoleScreener},
	}).Code)
	acme := Owner(w.operatorSlot("acme inc"))
	for subject := slot; w.m.hasRoom(wire.TableSanctions, acme, oneRow); subject, _ = w.register("one more") {
		require.Equal(t, wire.Applied, w.do(wire.KindAlert, &wire.Alert{
			Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, uint64(subject)),
		}).Code)
	}
	w.do(wire.KindAlert, &wire.Alert{Op: wire.AlertOpen, Kind: wire.AlertRetroHit, List: 1, Subject: wire.AlertSubject(wire.TargetAgent, w.m.registry.agents.Next()-1)})
	require.Equal(t, 1, w.out.AlertsUnlisted, "a hit beyond the share is a leaf alone")
	size := w.m.size
	fails := listed(slot)
	require.Equal(t, wire.RefusedShare, fails.Refusal)
	require.EqualValues(t, wire.TableSanctions, fails.Value)
	require.Equal(t, size, w.m.size)
	w.activateList([]byte("another list"))
	require.Equal(t, wire.Applied, listed(other).Code)
	require.Zero(t, w.out.AlertsUnlisted, "the institution's own part")
	require.Len(t, w.alerts(), 1)
}

// registerFor registers an agent of an operator.
func (w *world) registerFor(operator string) engine.AgentSlot {
	profile := engine.AgentProfile{AgentName: "a", Type: engine.Supervised, Policy: engine.NoSpendPolicy()}
	body := &wire.Register{Profile: profile, Operator: named(operator), Basis: engine.Basis{List: w.m.settings.ListVersion}}
	require.Equal(w.t, wire.Applied, w.do(wire.KindRegister, body).Code)
	return engine.AgentSlot(w.m.registry.agents.Next() - 1)
}

// TestNoReviewIsAnsweredThatNobodySees: a call whose owner has no room in the queue is refused, and
// its payment, reference and key are as if it had never come.
func TestNoReviewIsAnsweredThatNobodySees(t *testing.T) {
	w := newWorld(t)
	w.narrow(func(l *engine.Limits) { l.OpenReviews = 4 * ownersLeast })
	slot, _ := w.register("a", dailyLimit(1))
	flood := w.keyWith("flood", wire.APIKey{Owner: "cal_flood", Roles: wire.RoleScreener})
	calm := w.keyWith("calm", wire.APIKey{Owner: "cal_calm", Roles: wire.RoleScreener})
	call := func(key wire.Common, n int) wire.Result {
		s := w.screening(slot, 2*engine.Dollar)
		s.Key, s.Reference, s.Idem = *key.Key, engine.ReferenceKey{1, byte(n)}, &wire.Idem{Key: [16]byte{1, byte(n)}}
		return w.do(wire.KindScreen, s)
	}
	n := 0
	for ; call(flood, n).Code == wire.Applied; n++ {
		require.Equal(t, n+1, w.m.desk.openReviews, "each REVIEW is in the queue")
	}
	require.Equal(t, 3*ownersLeast+1, n)
	size := w.m.size
	r := call(flood, n)
	require.Equal(t, wire.RefusedShare, r.Refusal)
	require.EqualValues(t, wire.TableReviews, r.Value)
	require.Equal(t, size, w.m.size)
	_, used, _ := w.m.ReferenceUsed(engine.ReferenceKey{1, byte(n)})
	require.False(t, used)
	require.Len(t, w.m.idemByKey, n)
	require.Equal(t, wire.Applied, call(calm, n).Code, "the same key of another owner, and its own part")
	require.Equal(t, wire.RefusedShare, call(calm, n+1).Refusal)
	require.Equal(t, wire.Applied, w.do(wire.KindDisposition, &wire.Disposition{Leaf: w.m.desk.reviews.At(0).Leaf, Disposition: wire.Rejected, Agent: slot, Amount: 2 * engine.Dollar}).Code)
	require.Equal(t, wire.Applied, call(flood, n+2).Code, "an officer made room")
}

// TestProfilesCountInBytes (line K8): whoever has long profiles is refused at his share, shorter
// ones give room back, and others register on.
func TestProfilesCountInBytes(t *testing.T) {
	w := newWorld(t)
	long := &engine.Whitelist{}
	for n := range uint32(100) {
		long.Entries = append(long.Entries, engine.WhitelistEntry{ID: n + 1, Name: "a name of twenty let", Shown: "a name of twenty let"})
	}
	each := agentPart(&engine.AgentProfile{Settings: engine.AgentSettings{Whitelist: long}}, nil).Bytes
	require.Greater(t, each, int64(100*entryBytes))
	w.narrow(func(l *engine.Limits) { l.AgentBytes = 4 * ownersLeast * (each + 100) })
	w.register("of the operator")
	w.key("acme inc", wire.RoleOperator)
	put := func(slot engine.AgentSlot, list *engine.Whitelist) wire.Result {
		rev := (*w.m.registry.profiles.At(uint64(slot))).Rev
		return w.do(wire.KindSettings, &wire.Settings{Agent: slot, BaseRev: rev, Settings: engine.AgentSettings{Whitelist: list}, Event: "agent.settings"})
	}
	var slots []engine.AgentSlot
	for {
		slot, r := w.register("a")
		require.Equal(t, wire.Applied, r.Code, "an ordinary agent has room")
		if slots = append(slots, slot); put(slot, long).Code != wire.Applied {
			break
		}
	}
	require.Len(t, slots, 3*ownersLeast+2)
	r := put(slots[len(slots)-1], long)
	require.Equal(t, wire.RefusedShare, r.Refusal)
	require.EqualValues(t, wire.TableAgents, r.Value)
	require.Equal(t, wire.Applied, put(slots[0], nil).Code, "less is always possible")
	require.Equal(t, wire.Applied, put(slots[len(slots)-1], long).Code)
	require.Equal(t, wire.Applied, put(w.registerFor("blue ltd"), long).Code, "another has its own part")
	requireSameShares(t, w.m)
}
