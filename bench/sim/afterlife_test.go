package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLossOfTheMajority: two of three disks are lost, and the survivor is recovered by a command that
// is killed in the middle. Nothing that was acknowledged is lost.
func TestLossOfTheMajority(t *testing.T) {
	for seed := range uint64(4) {
		withLoad(t, seed, func(t *testing.T, w *World, h *History) { w.recoverMajority(t, h) })
	}
}

// TestLossOfAll: the whole group is lost, and a backup of the time before the last revocation is
// restored. The revocation holds.
func TestLossOfAll(t *testing.T) {
	for seed := range uint64(4) {
		withLoad(t, seed, func(t *testing.T, w *World, h *History) {
			w.backUp(w.hosts[0])
			require.NotNil(t, w.saved)
			require.NoError(t, h.Revoke(context.Background(), w.hosts[1], miser, "after the backup").Err)
			w.AwaitEqual(time.Minute)
			w.restoreBackup(t, h)
		})
	}
}

// TestMembersChange: members are replaced, demoted and promoted, and added, while leaders are
// killed and clients go on.
func TestMembersChange(t *testing.T) {
	for seed := range uint64(3) {
		withLoad(t, seed, func(t *testing.T, w *World, h *History) {
			l := &load{world: w, history: h, seed: seed + 1000, pause: 50 * time.Millisecond, stop: make(chan struct{}), named: "later "}
			l.run(4)
			defer l.end()
			w.replace(w.one())
			w.demote(w.one())
			w.grow()
			w.putBack(w.one(), false)
			w.putBack(w.one(), true)
			w.lose(w.one())
			l.end()
			w.settle(t)
			h.CheckAll(t, w, spendLimits)
		})
	}
}

// withLoad runs clients on a world for two seconds, with a crash, and hands it over settled.
func withLoad(t *testing.T, seed uint64, then func(t *testing.T, w *World, h *History)) {
	t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w, h := NewWorld(t, seed, 3), &History{}
			w.StartAll()
			defer w.StopAll()
			prepare(w, h)
			l := &load{world: w, history: h, seed: seed, pause: 35 * time.Millisecond, stop: make(chan struct{})}
			l.run(4)
			defer l.end()
			time.Sleep(time.Second)
			w.crash(w.hosts[:1])
			time.Sleep(time.Second)
			l.end()
			w.mend()
			w.settle(t)
			then(t, w, h)
		})
	})
}
