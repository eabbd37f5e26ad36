package fsm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// TestReplayAgrees is ring 2: several Machines apply one log and freeze and restore at
// different places. At every step their digests and tree heads are equal.
func TestReplayAgrees(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := history(t, seed, 400)
			replayAgrees(t, w, seed)
		})
	}
}

func replayAgrees(t testing.TB, w *world, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	plain, frozen, restored := New(), New(), New()
	var held []*View
	var digests [][32]byte
	var outs [3]Effects
	for i, entry := range w.entries {
		machines := []*Machine{plain, frozen, restored}
		for n, m := range machines {
			m.Apply(uint64(i+1), w.terms[i], entry, &outs[n])
		}
		require.Equal(t, outs[0].Results, outs[1].Results)
		require.Equal(t, outs[0].Results, outs[2].Results)
		require.Equal(t, outs[0].Leaves, outs[2].Leaves)
		checkEffects(t, &outs[0], &outs[2])
		view := frozen.Freeze()
		if random.IntN(10) == 0 {
			held, digests = append(held, view), append(digests, view.Digest())
		}
		if random.IntN(25) == 0 {
			restored = restoredFrom(t, restored)
		}
		if i%10 == 0 || i == len(w.entries)-1 {
			require.Equal(t, view.Digest(), plain.Freeze().Digest(), "entry %d", i)
			require.Equal(t, view.Digest(), restored.Freeze().Digest(), "entry %d", i)
		}
	}
	for i, view := range held {
		require.Equal(t, digests[i], view.Digest(), "a view never changes")
	}
	require.Equal(t, w.m.Freeze().Digest(), plain.Freeze().Digest())
}

// checkEffects checks that two Machines give the edges the same effects. The second Machine is a
// restored one.
func checkEffects(t testing.TB, a, b *Effects) {
	require.Equal(t, wire.Encode(a.Agents), wire.Encode(b.Agents))
	require.Equal(t, wire.Encode(a.Users), wire.Encode(b.Users))
	require.Equal(t, wire.Encode(a.Fleets), wire.Encode(b.Fleets))
	require.Equal(t, a.UsersGone, b.UsersGone)
	require.Equal(t, a.Dispositions, b.Dispositions)
	require.Equal(t, a.Comments, b.Comments)
	require.Equal(t, a.Oldest, b.Oldest)
	require.Equal(t, a.Time, b.Time)
	require.Equal(t, a.ListData, b.ListData)
	require.Equal(t, a.Settings == nil, b.Settings == nil)
	if a.Settings != nil {
		require.Equal(t, wire.Encode(a.Settings.Policy), wire.Encode(b.Settings.Policy))
	}
}

// TestHistoriesReachEveryKind keeps the random histories honest: every kind must
// be applied somewhere in them, and most must be refused somewhere.
func TestHistoriesReachEveryKind(t *testing.T) {
	applied, other := map[wire.Kind]int{}, map[wire.Kind]int{}
	events := map[string]int{}
	for seed := range uint64(12) {
		w := history(t, seed, 600)
		m := New()
		var out Effects
		for i, entry := range w.entries {
			m.Apply(uint64(i+1), w.terms[i], entry, &out)
			batch, err := wire.Decode(entry)
			require.NoError(t, err)
			for n := 0; ; n++ {
				record, more := batch.Next()
				if !more {
					break
				}
				if out.Results[n].Code == wire.Applied {
					applied[record.Kind]++
					events[between(shown(out.Results[n].Data), `"kind":"`, `"`)]++
				} else {
					other[record.Kind]++
				}
			}
		}
	}
	for kind := wire.KindTick + 1; kind < wire.KindWebhook; kind++ { // Webhooks and restored lineages have histories of their own.
		if kind != wire.KindFormat && kind != wire.KindHold { // There is no newer format to raise to; holds are in payments.
			require.NotZero(t, applied[kind], "kind %d", kind)
		}
		require.True(t, kind == wire.KindHold || other[kind] > 0, "kind %d", kind)
	}
	require.NotZero(t, applied[wire.KindReseal])
	for _, event := range []string{
		"delegate.created", "fleet.removed", "user.reissued", "ownership.cancelled", "review.commented", "review.released", "review.assigned",
		"sar.opened", "sar.narrative", "sar.moved", "sanctions.opened", "review.proposed", "review.withdrawn", "alert.opened", "alert.acknowledged", "retro.begun", "retro.ended",
		"cleared.removed", "key.rotated", "key.revoked", "signing_key.revoked", "list.synced", "list.staged", "operator.suspended", "user.suspended", "agent.suspended", "agent.reinstated", "agent.revoked",
	} {
		require.NotZero(t, events[event], event)
	}
}

// TestLimitsHoldInEveryHistory checks every random history with sums that are computed apart
// from the Machine: no PROCEED lifts an agent, an ancestor or a fleet above its limit on a
// UTC day, no suspended party goes through, no keyed call happens twice, and nothing is
// judged with an outdated basis.
func TestLimitsHoldInEveryHistory(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(26) {
		w := payments(t, seed, 600)
		if seed%2 == 1 {
			w = history(t, 100+seed, 400)
		}
		l := newBookkeeping()
		l.follow(t, w)
		require.Empty(t, l.found, "seed %d", seed)
		for what, count := range l.counts {
			seen[what] += count
		}
	}
	for what, least := range map[string]int{
		"proceed": 200, "proceed of a delegate": 50, "proceed in a fleet": 20, "proceed below an operator's limit": 20, "approved": 20, "held up": 200, "replayed": 50, "fenced": 20, "older stamp": 20,
		"held": 100, "hold settled": 10, "hold released": 10, "hold expired": 20, "hold unresolved": 20, "resolved": 10, "by a settler": 50, "by the spender": 10, "settled late": 3, "over the hold": 10, "without a hold": 20, "not allowed": 10, "duplicate": 10,
		"proposed": 20, "confirmed": 5, "withdrawn": 3, "lapsed": 5, "alert late_settle": 3, "judged again held": 20, "judged again redeemed": 10, "judged again released": 3, "alert over_limit": 3, "alert not_allowed": 3, "acknowledged": 5, "overdue": 5,
	} {
		require.GreaterOrEqual(t, seen[what], least, "%s: %v", what, seen)
	}
	t.Log(seen)
}

func FuzzApply(f *testing.F) {
	w := history(f, 1, 60)
	for _, entry := range w.entries {
		f.Add(entry, true)
	}
	base := w
	f.Fuzz(func(t *testing.T, data []byte, seal bool) {
		m := restoredFrom(t, base.m)
		if seal && len(data) >= 24 { // Make the checksum right, so that the records are reached.
			data = wire.Seal(append([]byte(nil), data[:len(data)-4]...), int(data[18])|int(data[19])<<8)
		}
		var out Effects
		m.Apply(base.index+1, base.term, data, &out)
		m.Freeze().Digest()
	})
}
