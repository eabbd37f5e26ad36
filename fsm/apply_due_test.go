package fsm

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// told ticks until a time. It returns the types of the events that the ticks told, and the
// hour of each since the start.
func (w *world) told(until engine.Time, step engine.Time) (types []string, hours []int64) {
	for w.now < until {
		w.now += step
		w.tick()
		for _, l := range w.out.Leaves {
			types = append(types, between(l.Data, `"type":"`, `"`))
			hours = append(hours, int64((w.now-start)/engine.Hour))
		}
	}
	return types, hours
}

func TestWhatFallsDue(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a", autonomous)
	w.register("revoked")
	w.do(wire.KindStatus, &wire.Status{Target: wire.TargetAgent, Slot: 2, To: engine.Revoked})
	require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: agent, AttestedBy: "x"}).Code)
	key := wire.APIKey{ID: "k", Name: "n", Hashes: key32(1), ExpiresAt: start + 30*engine.DayLength}
	w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key})
	w.do(wire.KindSigningKey, &wire.SigningKeyPut{Op: wire.SigningAdd, Key: wire.SigningKey{KID: "cc-v2", Public: make([]byte, 64), Sealed: []byte{1}}})
	w.do(wire.KindCleared, &wire.ClearedPut{Pair: wire.ClearedPair{Name: "x", UID: 7, Reason: "r", ExpiresAt: start + 3*engine.DayLength}})
	w.do(wire.KindOwnership, &wire.Ownership{Agent: agent, Operator: named("globex"), EffectiveAt: start + 2*engine.DayLength})
	types, hours := w.told(start+100*engine.DayLength, engine.Hour)
	require.Equal(t, []string{
		"attestation.expiring", "attestation.stale", "signing_key.active", "list.stale", "agent.ownership_effective", "cleared.expired", "key.expiring",
		"agent.expiring", "agent.expired",
	}, types)
	require.Equal(t, []int64{23, 24, 24, 48, 48, 72, 23 * 24, 84 * 24, 91 * 24}, hours)
	require.Zero(t, w.m.calendar.dues.Len())
	replayAgrees(t, w, 3)
}

// Reminders that no longer apply are not told, and nothing is told twice.
func TestWhatDoesNotFallDueAnyMore(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a", autonomous)
	for range 3 { // Only the last attestation's end is told.
		w.now += 5 * engine.Hour
		require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: agent, AttestedBy: "x"}).Code)
	}
	policy := *engine.DefaultPolicy()
	for _, age := range []engine.Time{24 * engine.Hour, 48 * engine.Hour, 24 * engine.Hour} {
		policy.ListAgeMax = age
		require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
	}
	w.do(wire.KindOwnership, &wire.Ownership{Agent: agent, Operator: named("globex"), EffectiveAt: start + 20*engine.Hour})
	w.do(wire.KindOwnership, &wire.Ownership{Agent: agent, Operator: named("globex"), Cancel: true})
	key := wire.APIKey{ID: "k", Name: "n", Hashes: key32(1), ExpiresAt: start + 10*engine.DayLength}
	w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key})
	w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyRevoke, Key: wire.APIKey{ID: "k"}})
	types, hours := w.told(start+60*engine.DayLength, engine.Hour)
	require.Equal(t, []string{"list.stale", "attestation.expiring", "attestation.stale"}, types)
	require.Equal(t, []int64{24, 38, 39}, hours)
	w.do(wire.KindListActivate, &wire.ListActivate{Digest: w.m.settings.List.Digest, Refresh: true})
	profile := **w.m.registry.profiles.At(uint64(agent))
	w.do(wire.KindReissue, &wire.Reissue{Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"), List: w.m.settings.ListVersion, Plain: true})
	types, hours = w.told(start+160*engine.DayLength, engine.Hour)
	require.Equal(t, []string{"list.stale", "agent.expiring", "agent.expired"}, types, "the credential that was renewed does not end")
	require.Equal(t, []int64{61 * 24, 144 * 24, 151 * 24}, hours)
}

// TestAnAgentHasOneRowOfAKind: an operator that attests, re-issues and flags without end does
// not fill the heap. It is told of the last one of each kind, in time.
func TestAnAgentHasOneRowOfAKind(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a", autonomous)
	begun := w.m.calendar.dues.Len()
	for i := range 200 {
		w.now += 20 * engine.Minute
		require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: agent, AttestedBy: "x"}).Code)
		profile := **w.m.registry.profiles.At(uint64(agent))
		r := w.do(wire.KindReissue, &wire.Reissue{Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"), List: w.m.settings.ListVersion, Plain: true})
		require.Equal(t, wire.Applied, r.Code)
		if i%5 == 0 {
			w.tick()
		}
		require.LessOrEqual(t, w.m.calendar.dues.Len(), begun+1)
	}
	for i := range engine.Time(50) { // Each one brings the transfer forward.
		w.do(wire.KindOwnership, &wire.Ownership{Agent: agent, Operator: named("globex"), EffectiveAt: start + 10*engine.DayLength + (50-i)*engine.Minute})
	}
	require.LessOrEqual(t, w.m.calendar.dues.Len(), begun+2)
	last := int64((w.now - start) / engine.Hour) // 66 hours and 40 minutes.
	types, hours := w.told(start+160*engine.DayLength, engine.Hour)
	require.Equal(t, []string{"attestation.expiring", "attestation.stale", "agent.ownership_effective", "agent.expiring", "agent.expired"}, types)
	require.Equal(t, []int64{last + 23, last + 24, 240, last + 84*24, last + 91*24}, hours)
	require.Zero(t, w.m.calendar.dues.Len())
	replayAgrees(t, w, 3)
}

// TestTransfersAgainstAModel: transfers are flagged, brought forward, cancelled, ended by a
// re-issue and flagged again. Each agent has at most one row, and each transfer that takes
// effect is told once, at its time.
func TestTransfersAgainstAModel(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 1))
	for round := range 20 {
		w := newWorld(t)
		var agents []engine.AgentSlot
		for range 4 {
			agent, _ := w.register("a")
			agents = append(agents, agent)
		}
		begun := w.m.calendar.dues.Len()
		waits := map[engine.AgentSlot]engine.Time{} // The times that must still be told.
		told, due := 0, 0
		for range 150 {
			agent := agents[random.IntN(len(agents))]
			slot := uint64(agent)
			switch random.IntN(6) {
			case 0, 1, 2:
				before := w.m.registry.agents.At(slot).OwnershipFrom
				at := w.now + engine.Time(random.Int64N(100)-5)*engine.Minute
				require.Equal(t, wire.Applied, w.do(wire.KindOwnership, &wire.Ownership{Agent: agent, Operator: named("globex"), EffectiveAt: at}).Code)
				from := max(at, w.m.now)
				if before != 0 {
					from = min(from, before)
				}
				require.Equal(t, from, w.m.registry.agents.At(slot).OwnershipFrom)
				switch {
				case from == before:
				case from > w.m.now:
					waits[agent] = from
				default:
					delete(waits, agent)
				}
			case 3:
				w.do(wire.KindOwnership, &wire.Ownership{Agent: agent, Cancel: true})
				delete(waits, agent)
			case 4:
				profile := **w.m.registry.profiles.At(slot)
				r := w.do(wire.KindReissue, &wire.Reissue{Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: named("globex"), List: w.m.settings.ListVersion, Plain: true})
				require.Equal(t, wire.Applied, r.Code)
				delete(waits, agent)
			case 5:
				w.now += engine.Time(random.Int64N(30)) * engine.Minute
				w.tick()
				told += len(w.leavesOf(leaf.KindDue))
				for _, agent := range agents { // Not a range over the map: the test must repeat itself exactly.
					if at, is := waits[agent]; is && at <= w.m.now {
						delete(waits, agent)
						due++
					}
				}
				require.Equal(t, due, told)
			}
			require.LessOrEqual(t, w.m.calendar.dues.Len(), begun+len(agents))
		}
		require.NotZero(t, told)
		replayAgrees(t, w, uint64(round))
	}
}

// transferAt holds the right positions whichever rows are taken out and moved, with few
// agents and with many.
func TestRowsOfTransfersAreFound(t *testing.T) {
	w := newWorld(t)
	for w.m.calendar.dues.Len() > 0 {
		w.m.calendar.takeDue()
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 5000 {
		at := w.m.now + engine.Time(1+random.Int64N(1000))
		switch n := random.IntN(10); {
		case n < 4:
			w.m.calendar.remindOfTransfer(random.Uint64N(uint64(2+i/500)), at)
		case n == 4:
			w.m.calendar.addReminder(at, leaf.DueCleared, random.Uint64N(4), 0)
		case w.m.calendar.dues.Len() > 0:
			w.m.calendar.takeDue()
		}
		transfers := 0
		for at := w.m.calendar.dues.First(); at < w.m.calendar.dues.Next(); at++ {
			row := w.m.calendar.dues.At(at)
			require.False(t, at > 1 && row.before(w.m.calendar.dues.At(at/2)))
			if leaf.Due(row.Kind) == leaf.DueOwnership {
				require.Equal(t, at, w.m.calendar.transferAt[row.Subject])
				transfers++
			}
		}
		require.Len(t, w.m.calendar.transferAt, transfers)
	}
}

// Restore refuses a snapshot with two rows of one transfer.
func TestTwoRowsOfATransfer(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a")
	w.m.calendar.addReminder(w.m.now+engine.Hour, leaf.DueOwnership, uint64(agent), 0)
	restoredFrom(t, w.m)
	w.m.calendar.addReminder(w.m.now+2*engine.Hour, leaf.DueOwnership, uint64(agent), 0)
	var buffer bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&buffer)
	require.NoError(t, err)
	_, err = Restore(&buffer)
	require.ErrorIs(t, err, ErrSnapshot)
}

// The reminders also come for an agent whose credential had already ended, or that was
// re-issued for a shorter time.
func TestRowsOfRenewedAgents(t *testing.T) {
	w := newWorld(t)
	root, _ := w.register("root")
	w.now += 80 * engine.DayLength // The delegate ends with its parent, in 11 days.
	child, _ := w.register("child", parent(root))
	renew := func(agent engine.AgentSlot) {
		profile := **w.m.registry.profiles.At(uint64(agent))
		r := w.do(wire.KindReissue, &wire.Reissue{Agent: agent, Profile: profile, BaseRev: profile.Rev, Operator: named("acme inc"), List: w.m.settings.ListVersion, Plain: true})
		require.Equal(t, wire.Applied, r.Code)
	}
	w.now += 5 * engine.DayLength // Within the notice: the notice was given for the parent first.
	w.tick()
	renew(child)
	types, hours := w.told(w.now+20*engine.DayLength, engine.Hour)
	require.Equal(t, []string{"agent.expired", "agent.expired"}, types)
	require.Equal(t, []int64{91 * 24, 91 * 24}, hours)
	renew(root)
	renew(child)
	types, _ = w.told(w.now+100*engine.DayLength, engine.Hour)
	require.Equal(t, []string{"agent.expiring", "agent.expiring", "agent.expired", "agent.expired"}, types)
	require.Zero(t, w.m.calendar.dues.Len())
}

// If no tick came between notice and end, both are told.
func TestWhatFellDueWhileNothingTicked(t *testing.T) {
	w := newWorld(t)
	agent, _ := w.register("a", autonomous)
	require.Equal(t, wire.Applied, w.do(wire.KindAttest, &wire.Attest{Agent: agent, AttestedBy: "x"}).Code)
	w.now += 30 * engine.Hour
	w.tick()
	require.Len(t, w.leavesOf(leaf.KindDue), 2)
	require.Contains(t, w.leavesOf(leaf.KindDue)[0], `"type":"attestation.expiring"`)
	require.Contains(t, w.leavesOf(leaf.KindDue)[1], `"type":"attestation.stale"`)
	w.now += 100 * engine.DayLength
	w.tick()
	var types []string
	for _, text := range w.leavesOf(leaf.KindDue) {
		types = append(types, between([]byte(text), `"type":"`, `"`))
	}
	require.Equal(t, []string{"list.stale", "agent.expiring", "agent.expired"}, types)
	require.Zero(t, w.m.calendar.dues.Len())
	replayAgrees(t, w, 3)
}

// The heap gives rows in order whatever was added. A full heap leaves out only the row being
// added.
func TestDuesAreAHeap(t *testing.T) {
	w := newWorld(t)
	limits := *w.m.limits
	limits.Dues = w.m.calendar.dues.Len() + 300
	w.m.limits = &limits
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		w.m.calendar.addReminder(w.m.now+engine.Time(1+random.Int64N(50)), leaf.DueCleared, random.Uint64N(4), 0)
	}
	require.Equal(t, limits.Dues, w.m.calendar.dues.Len())
	restoredFrom(t, w.m)
	last := dueRow{}
	for w.m.calendar.dues.Len() > 0 {
		row := w.m.calendar.takeDue()
		require.False(t, row.before(&last))
		last = row
	}
	w.register("a")
	w.m.calendar.dues.Edit(1).Kind = 99
	var buffer bytes.Buffer
	_, err := w.m.Freeze().WriteTo(&buffer)
	require.NoError(t, err)
	_, err = Restore(&buffer)
	require.ErrorIs(t, err, ErrSnapshot)
}
