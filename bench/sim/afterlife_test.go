package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/cluster/backup"
	"railguard/cluster/datadir"
)

// TestLossOfTheMajority: two of three disks are lost, and the survivor is recovered by a command that
// is killed in the middle. Nothing that was acknowledged is lost.
func TestLossOfTheMajority(t *testing.T) {
	for seed := range uint64(4) {
		withLoad(t, seed, func(t *testing.T, w *World, h *History) { w.recoverMajority(t, h, w.one()) })
	}
}

// TestLossOfAllWhoHadHistory: a node whose disk was new comes by a snapshot, and fetches the history
// before it from its peers. Then these are lost, and with the power goes what the survivor has not
// made durable. Nothing that was acknowledged is lost.
func TestLossOfAllWhoHadHistory(t *testing.T) {
	for seed := range uint64(4) {
		withLoad(t, seed, func(t *testing.T, w *World, h *History) {
			for i := range 1500 { // So that the log is cut.
				require.NoError(t, h.Register(t.Context(), w.hosts[i%3], fmt.Sprintf("more-%d", i)).Err)
			}
			w.snapshot(w.hosts)
			late := w.one()
			w.wipe(late)
			snapshots, err := os.ReadDir(filepath.Join(late.files.root, "raft", "snapshots"))
			require.NoError(t, err)
			require.NotEmpty(t, snapshots, "it came by a snapshot")
			w.recoverMajority(t, h, late)
		})
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

// TestRestoreBesideTheLiving: a backup is restored for a member of a group that lives. Its node does not
// start, and the group goes on (K4).
func TestRestoreBesideTheLiving(t *testing.T) {
	withLoad(t, 1, func(t *testing.T, w *World, h *History) {
		w.backUp(w.hosts[0])
		require.NotNil(t, w.saved)
		host := w.one()
		host.Wipe()
		_, err := backup.Restore([]string{w.saved.path}, w.saved.keys, backup.Order{Dir: host.files.root, ID: host.ID, Now: time.Now()})
		require.NoError(t, err)
		w.bury(host, true)
		require.Error(t, host.open(), "the group that was backed up lives")
		host.Wipe()
		host.Start()
		w.awaitVotes()
		h.CheckAll(t, w, spendLimits)
	})
}

// TestTwoFoldersOfAnotherTime: the whole folders of two nodes are put back to what they were some time
// before, as images of machines are, and together they are a group. The third has what was acknowledged
// since, maybe alone: it ends before anything of that is cut from its log (K10).
func TestTwoFoldersOfAnotherTime(t *testing.T) {
	withLoad(t, 1, func(t *testing.T, w *World, h *History) {
		kept, older := w.hosts[0], w.hosts[1:]
		var images []func()
		for _, host := range older {
			images = append(images, host.image())
		}
		w.StartAll()
		for i := range 30 {
			require.NoError(t, h.Register(t.Context(), kept, fmt.Sprintf("acknowledged-%d", i)).Err)
		}
		w.AwaitEqual(time.Minute)
		applied, term := kept.Node().Applied(), kept.Node().Status(t.Context()).Term
		for _, host := range w.hosts {
			host.Crash(audittest.LoseNone)
		}
		for i, host := range older {
			images[i]()
			host.Start()
		}
		anew := &History{}
		w.insistOn("calls at the others in a later term", func() error { // In the same one only digests tell the two pasts apart.
			op := anew.Register(t.Context(), older[0], fmt.Sprint("anew-", time.Now()))
			if op.Err != nil || op.Term > term {
				return op.Err
			}
			older[1].Crash(audittest.LoseNone)
			older[1].Start()
			older[0].Node().TransferLeader(t.Context(), older[1].ID)
			return fmt.Errorf("term %d", op.Term)
		})
		kept.Start()
		kept.Doom()
		w.insistOn("end of the node that has more", func() error {
			if len(w.Restarts()) == 0 {
				return errDown
			}
			return nil
		})
		require.Contains(t, w.Restarts()[0], "history diverged")
		kept.Crash(audittest.LoseNone)
		log, err := datadir.OpenLogToRead(filepath.Join(kept.files.root, datadir.RaftFolder))
		require.NoError(t, err)
		var entry raft.Log
		const cut = "what was acknowledged is cut from the only log that has it"
		require.NoError(t, errors.Join(log.GetLog(applied, &entry), log.Close()), cut)
		require.LessOrEqual(t, entry.Term, term, cut)
	})
}

// image stops a host and keeps an image of all that it has stored. What it returns puts that back.
func (h *Host) image() (putBack func()) {
	h.Stop()
	root := filepath.Join(h.world.dir, h.ID+"-image")
	require.NoError(h.world.t, os.CopyFS(root, os.DirFS(h.files.root)))
	history, indexes := h.history.CrashClone(audittest.LoseNone, nil), map[string]*audittest.MemDir{}
	for _, name := range indexNames {
		indexes[name] = h.indexes[name].CrashClone(audittest.LoseNone, nil)
	}
	return func() {
		require.NoError(h.world.t, os.RemoveAll(h.files.root))
		require.NoError(h.world.t, os.CopyFS(h.files.root, os.DirFS(root)))
		h.history, h.indexes = history, indexes
		h.settleFiles()
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
