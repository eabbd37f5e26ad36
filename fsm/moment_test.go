package fsm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// randomCall is a call that names an agent, a user or both, with tokens that may be superseded,
// expired or of a revoked key. R25 counts none of these calls, because a view does not look up
// the counts of R25.
func (w *world) randomCall(random *rand.Rand) *wire.Screen {
	slot := pick[engine.AgentSlot](random, w.m.registry.agents.Len())
	s := w.screening(slot, engine.USD(random.IntN(12_000))*engine.Dollar)
	if random.IntN(3) == 0 {
		s.Version -= uint16(random.IntN(2))
	}
	if random.IntN(12) == 0 {
		s.Version = 0
	}
	if random.IntN(8) == 0 {
		s.Expires = w.now + engine.Time(random.IntN(3)) - 1
	}
	if random.IntN(12) == 0 {
		s.Agent, s.Basis.Revs, s.Version, s.Mask, s.Subs = 0, 0, 0, 1<<23, []byte{7}
	}
	if user := pick[engine.UserSlot](random, int(w.m.registry.users.Next()-1)); user != 0 && (s.Agent == 0 || random.IntN(2) == 0) {
		s.User, s.UserVersion, s.UserExpires = user, uint16(random.IntN(3)), w.now+engine.Time(random.IntN(2))*engine.Hour
		s.Basis.Fold(engine.RevUser, uint32(user), userRev(w.m.registry, user))
	}
	switch random.IntN(10) {
	case 0:
		s.Basis.List += random.Uint64N(2)
	case 1:
		s.Mask, s.Subs = s.Mask|1<<21, append(s.Subs, 2)
	case 3:
		s.Basis.Cleared = w.m.settings.ClearedVersion() - random.Uint64N(2)
	case 2:
		s.ValidUntil = w.now + engine.Time(random.IntN(2))
	}
	return s
}

// The rules and reasons of R2 that the random calls must have met.
var (
	viewedRules = []engine.RuleID{0, 2, 8, 11, 12, 16, 17, 21, 22, 23}
	viewedSubs  = []engine.Sub{engine.SubKeyRevoked, engine.SubSuperseded, engine.SubOperator, engine.SubSuspended, engine.SubRevoked, engine.SubExpired, engine.SubUserSuperseded}
)

// TestViewsJudgeAsApplyWould: at any state a view gives the decision, the
// sub-reasons and the levels that the call itself is given right after.
func TestViewsJudgeAsApplyWould(t *testing.T) {
	var met viewed
	for seed := range uint64(100) {
		if seed >= 12 && met.all() {
			break
		}
		w := newWorld(t)
		random := rand.New(rand.NewPCG(seed, 11))
		for range 400 {
			w.now += engine.Time(random.Int64N(int64(20 * engine.Minute)))
			w.randomStep(random)
			w.now += engine.Time(random.Int64N(int64(2 * engine.Minute)))
			s := w.randomCall(random)
			var hits engine.Hits
			require.True(t, wire.UnpackHits(s, &hits))
			o, ok := w.m.Freeze().Moment(w.now+w.m.settings.ClockOffset, s, &hits)
			r := w.do(wire.KindScreen, s)
			require.Equal(t, r.Code == wire.Applied, ok, "%+v", r)
			if !ok {
				met.turned++
				continue
			}
			live := engine.NewestRules.JudgeLive(o)
			hits.Merge(&live)
			decision := engine.NewestRules.Decide(&hits, w.m.settings.Policy)
			seen := &ledger{moment: *o, core: &core{settings: w.m.settings, now: o.Now, index: r.Index}}
			seen.describeCall(s, &decision)
			var got leaf.Screen
			require.NoError(t, leaf.DecodeScreen(r.Data, &got))
			want := seen.written // Only the members that depend on the record's position are copied.
			want.Salt, want.Leaf, want.Txn, want.Profile, want.User = got.Salt, got.Leaf, got.Txn, got.Profile, got.User
			want.Sequence, want.Previous = got.Sequence, got.Previous
			require.Equal(t, want, got)
			met.note(&decision, o)
		}
	}
	require.True(t, met.all(), "%+v", met)
	t.Logf("%+v", met)
}

// viewed counts what the random calls have met.
type viewed struct {
	rules                            [64]int
	reasons                          [256]int // of R2
	turned, fleets, users, delegates int
}

func (v *viewed) note(decision *engine.Decision, o *engine.Moment) {
	v.rules[decision.Rule]++
	if decision.Rule == 2 {
		v.reasons[decision.Sub]++
	}
	if o.Fleet != nil {
		v.fleets++
	}
	if o.User != nil {
		v.users++
	}
	if o.LevelCount > 1 {
		v.delegates++
	}
}

// all reports whether every required case was met. A rare rule may take more seeds.
func (v *viewed) all() bool {
	for _, rule := range viewedRules {
		if v.rules[rule] == 0 {
			return false
		}
	}
	for _, sub := range viewedSubs {
		if v.reasons[sub] == 0 {
			return false
		}
	}
	return min(v.turned, v.fleets, v.users, v.delegates) > 0
}

// TestLooksLeaveNoTrace: asking a view counts nothing.
func TestLooksLeaveNoTrace(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("one")
	view := w.m.Freeze()
	s := w.screening(slot, engine.Dollar)
	for range 3 {
		o, ok := view.Moment(w.now, s, &engine.Hits{})
		require.True(t, ok)
		require.EqualValues(t, 1, o.Minute)
	}
	require.Zero(t, view.Pace(slot).Minute)
}

// TestEffectiveIsWhatRecordsShow: what GET and listings show of an agent is the
// credentialStatus of a record made with its current credential.
func TestEffectiveIsWhatRecordsShow(t *testing.T) {
	seen := map[engine.Status]int{}
	for seed := range uint64(6) {
		w := newWorld(t)
		random := rand.New(rand.NewPCG(seed, 13))
		for range 300 {
			w.now += engine.Time(random.Int64N(int64(12 * engine.Hour)))
			w.randomStep(random)
			slot := pick[engine.AgentSlot](random, w.m.registry.agents.Len())
			if !w.m.registry.agents.Has(uint64(slot)) {
				continue
			}
			w.tick() // It may retire keys.
			s := w.screening(slot, 0)
			if w.m.settings.KeyRevoked((*w.m.registry.profiles.At(uint64(slot))).KeyID) {
				s.Version = 0
			}
			status := w.m.Freeze().Effective(slot)
			seen[status]++
			r := w.do(wire.KindScreen, s)
			require.Equal(t, wire.Applied, r.Code)
			require.Equal(t, status.String(), between(shown(r.Data), `"credentialStatus":"`, `"`), string(shown(r.Data)))
		}
	}
	require.Len(t, seen, 4, "%v", seen)
}
