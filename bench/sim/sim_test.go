package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
)

// leader waits until a host leads, and returns it.
func leader(t *testing.T, w *World) *Host {
	for range 1000 {
		for _, host := range w.Hosts() {
			if node := host.Node(); node != nil && node.Role() == "leader" {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				_, err := node.ReadIndex(ctx)
				cancel()
				if err == nil {
					return host
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no leader")
	return nil
}

// TestRejoinBySnapshot: a node that was away while the log was cut gets a snapshot
// and fetches the history before it from its peers (C08).
func TestRejoinBySnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h := &History{}
		away := w.Hosts()[2]
		if away == leader(t, w) {
			away = w.Hosts()[1]
		}
		away.Stop()
		for i := range 3000 {
			op := h.Register(context.Background(), leader(t, w), fmt.Sprintf("while-away-%d", i))
			require.NoError(t, op.Err)
		}
		for _, host := range w.Hosts() {
			if host != away {
				_, err := host.Node().Snapshot(context.Background())
				require.NoError(t, err)
			}
		}
		for i := range 50 {
			require.NoError(t, h.Register(context.Background(), leader(t, w), fmt.Sprintf("after-%d", i)).Err)
		}
		away.Start()
		w.AwaitReady(time.Minute)
		w.AwaitEqual(time.Minute)
		snapshots, err := os.ReadDir(filepath.Join(away.files.root, "raft", "snapshots"))
		require.NoError(t, err)
		require.NotEmpty(t, snapshots, "it came by a snapshot")
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}

// TestSnapshotOutlivesThePower: the power of all hosts is cut at once, so that only synced data
// is left. Entries that a snapshot has replaced in the log are not lost.
func TestSnapshotOutlivesThePower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		for i := range 3000 {
			require.NoError(t, h.Register(t.Context(), leader(t, w), fmt.Sprintf("before-%d", i)).Err)
		}
		for _, host := range w.Hosts() {
			info, err := host.Node().Snapshot(t.Context())
			require.NoError(t, err)
			first, err := host.disk.log.FirstIndex()
			require.NoError(t, err)
			require.Greater(t, first, uint64(1), "the log was cut")
			require.Greater(t, info.Index, first)
		}
		for _, host := range w.Hosts() {
			host.PowerOff(audittest.LoseAll)
		}
		for _, host := range w.Hosts() {
			host.reap()
			host.Start()
		}
		w.AwaitReady(time.Minute)
		w.AwaitEqual(time.Minute)
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}

// TestStopWithHangingDisk: a node that is stopped while its disk hangs gives up, and its
// process is gone.
func TestStopWithHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		leads := leader(t, w)
		hung := w.Hosts()[0]
		if hung == leads {
			hung = w.Hosts()[1]
		}
		hung.Doom().Hang()
		require.NoError(t, h.Register(t.Context(), leads, "what its disk never takes").Err)
		require.Eventually(t, hung.disk.writing, time.Second, time.Millisecond)
		require.Empty(t, w.Restarts(), "not yet")
		hung.Stop()
		require.Nil(t, hung.Node())
		require.Len(t, w.Restarts(), 1)
		hung.Start()
		w.AwaitReady(time.Minute)
		w.AwaitEqual(time.Minute)
		require.Empty(t, w.GaveUp())
	})
}

// TestClockJumps: the clock of one node, the leader or another, jumps by a day. Log time stays
// that of the other two clocks (decision 47, "Log time").
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour, 5 * time.Minute, -5 * time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 1, 3)
				w.StartAll()
				defer w.StopAll()
				time.Sleep(3 * time.Second)
				for round := range 3 { // In each round the clock of the present leader jumps. After the first round another node leads; in the second round that leader dies, too.
					victim := leader(t, w)
					victim.Clock.Jump(jump)
					for range 50 {
						time.Sleep(100 * time.Millisecond)
						requireTrueLogTime(t, leader(t, w))
					}
					if round == 1 {
						victim.Crash(audittest.LoseNone)
						time.Sleep(2 * time.Second)
						requireTrueLogTime(t, leader(t, w))
						w.Net.Heal()
						victim.Start()
						w.AwaitReady(time.Minute)
					}
					warned := strings.Join(victim.Node().Status(context.Background()).Warnings, " ")
					require.Contains(t, warned, "clock", "it is named")
					victim.Clock.Jump(-jump)
					time.Sleep(2 * time.Second)
					if host := leader(t, w); round == 0 {
						_ = host.Node().TransferLeader(context.Background(), "")
					}
				}
				require.Empty(t, w.GaveUp())
			})
		})
	}
}

func requireTrueLogTime(t *testing.T, host *Host) {
	off := time.Duration(int64(host.Node().LogTime()) - time.Now().UnixNano())
	require.Less(t, off.Abs(), 1500*time.Millisecond, "log time")
}

// TestAllDownForAnHour: when the power comes back, log time is right at once, and nothing is
// lost.
func TestAllDownForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1, 3)
		w.StartAll()
		defer w.StopAll()
		h := &History{}
		for i := range 100 {
			require.NoError(t, h.Register(context.Background(), w.Hosts()[i%3], fmt.Sprintf("before-%d", i)).Err)
		}
		for _, host := range w.Hosts() {
			_, err := host.Node().Snapshot(context.Background())
			require.NoError(t, err)
		}
		for _, host := range w.Hosts() {
			host.Crash(audittest.LoseSome)
		}
		time.Sleep(time.Hour - time.Minute) // Beyond an hour two persons confirm the time: TestAllClocksLeap.
		w.Net.Heal()
		w.StartAll()
		requireTrueLogTime(t, leader(t, w))
		require.NoError(t, h.Register(context.Background(), w.Hosts()[1], "after").Err)
		w.AwaitEqual(time.Minute)
		h.Check(t, w)
		require.Empty(t, w.GaveUp())
	})
}
