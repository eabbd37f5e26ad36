package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/cluster/backup"
	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
	"railguard/engine"
	"railguard/fsm/wire"
)

// What is done at the end of a schedule, when all that it did was checked: the group loses its
// majority and a survivor is recovered, or it is lost whole and a backup is restored.

// saved is a backup that was taken while other things went on.
type saved struct {
	path   string
	report *backup.Report
	keys   *backup.Keys
}

// backUp takes a backup of a running node and proves it.
func (w *World) backUp(host *Host) {
	node := host.Node()
	if node == nil {
		return
	}
	identity, err := age.GenerateX25519Identity()
	require.NoError(w.t, err)
	keys := &backup.Keys{Recipients: []string{identity.Recipient().String()}, Identities: []byte(identity.String())}
	host.mu.Lock()
	root := host.files.root
	host.mu.Unlock()
	var plain bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := backup.Saver(node, root)(ctx, &plain, 0, 0); err != nil {
		w.trace("no backup: " + err.Error())
		return // A node that is cut off, or that fetches history, takes none.
	}
	w.backups++
	path := filepath.Join(w.dir, fmt.Sprintf("backup-%d", w.backups))
	report, err := backup.Create(path, keys, &plain)
	require.NoError(w.t, err, host.ID)
	w.saved = &saved{path: path, report: report, keys: keys}
	w.count("backups taken", 1)
}

// exportHistory writes a stopped host's history beside its other files, where the verbs for stopped
// nodes look for it.
func (h *Host) exportHistory() {
	for name := range h.history.Files() {
		file, err := h.history.Open(name)
		require.NoError(h.world.t, err, name)
		data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<40))
		require.NoError(h.world.t, errors.Join(err, file.Close()), name)
		path := filepath.Join(h.files.root, datadir.AuditFolder, filepath.FromSlash(name))
		require.NoError(h.world.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(h.world.t, os.WriteFile(path, data, 0o600))
	}
}

// importHistory takes a host's history from its folder.
func (h *Host) importHistory() {
	h.history = audittest.NewMemDir()
	root := filepath.Join(h.files.root, datadir.AuditFolder)
	folders := map[string]bool{"": true}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path[len(root)+1:])
		file, err := h.history.Create(name)
		if err != nil {
			return err
		}
		for folder := filepath.ToSlash(filepath.Dir(name)); folder != "."; folder = filepath.ToSlash(filepath.Dir(folder)) {
			folders[folder] = true
		}
		_, err = file.WriteAt(data, 0)
		return errors.Join(err, file.Sync(), file.Close())
	})
	require.NoError(h.world.t, err, h.ID)
	for folder := range folders {
		require.NoError(h.world.t, h.history.Sync(folder))
	}
}

// loseMajority ends all nodes. The survivor has its disk, and the others get new ones. A node whose
// disk was new not long ago may still fetch leaves that only the others have, so it waits for these.
func (w *World) loseMajority(survivor *Host) {
	for tries := 0; len(survivor.Node().Audit().Missing(1)) > 0; tries++ {
		require.Less(w.t, tries, fetchTries, "%s does not get the leaves that it lacks", survivor.ID)
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(2 * time.Second) // Until what it has fetched is durable.
	w.powerOff(w.hosts)
	for _, host := range w.hosts {
		if host != survivor {
			host.Wipe()
		}
	}
	survivor.exportHistory()
}

// recoverMajority recovers a survivor after the end of a schedule. All nodes had everything, so
// nothing that was acknowledged may be lost. The recovery is killed once, and goes on.
func (w *World) recoverMajority(t testing.TB, h *History, survivor *Host) {
	w.loseMajority(survivor)
	source := recovery.Source{Dir: survivor.files.root, ID: survivor.ID}
	order := recovery.Order{ClusterID: "sim", By: "Ada", Second: "Bob", Reason: "the hall burnt down"}
	killed, left := errors.New("killed"), w.Random.IntN(6)
	ample := func(string) (uint64, uint64, error) { return 1 << 40, 1 << 41, nil }
	r := recovery.Recoverer{Now: time.Now, Free: ample, After: func(string) error {
		if left--; left < 0 {
			return killed
		}
		return nil
	}}
	if _, err := r.Run(source, order); err != nil {
		require.ErrorIs(t, err, killed)
		again := recovery.Recoverer{Now: time.Now, Free: ample, After: func(string) error { return nil }}
		_, err = again.Run(source, order)
		require.NoError(t, err)
	}
	w.bury(survivor, false)
	survivor.Start()
	w.startOthers(survivor)
	w.settle(t)
	w.payEverywhere(t, h, "recovered")
	h.CheckAll(t, w, spendLimits)
	w.count("majority recovered", 1)
}

// bury takes over a folder that a verb for stopped nodes has changed.
func (w *World) bury(host *Host, history bool) {
	if history {
		host.importHistory()
	}
	require.NoError(w.t, os.RemoveAll(filepath.Join(host.files.root, datadir.AuditFolder)))
	require.NoError(w.t, os.Mkdir(filepath.Join(host.files.root, datadir.AuditFolder), 0o700))
	host.settleFiles()
}

func (w *World) startOthers(than *Host) {
	for _, host := range w.hosts {
		if host != than {
			host.Start()
		}
	}
}

// payEverywhere makes a call at each node, which must be answered.
func (w *World) payEverywhere(t testing.TB, h *History, name string) {
	for i, host := range w.hosts {
		op := h.Screen(context.Background(), host, payment{name: fmt.Sprintf("%s-%d", name, i), agent: truant, amount: engine.Dollar})
		require.NoError(t, op.Err, host.ID)
	}
	w.AwaitEqual(time.Minute)
}

// restoreBackup loses the group as a whole and restores the last backup. The new lineage begins with
// the leaves of the backup, and whoever was revoked after it is revoked again, by the history of one
// lost node.
func (w *World) restoreBackup(t testing.TB, h *History) {
	leaves := w.leavesOf(w.hosts[0])
	w.calls = nil // The new lineage counts its entries anew.
	lost := w.one()
	w.loseMajority(lost)
	first := w.another(lost)
	restored, err := backup.Restore([]string{w.saved.path}, w.saved.keys, backup.Order{
		Dir: first.files.root, ID: first.ID, Now: time.Now(), Revocations: []string{lost.files.root},
	})
	require.NoError(t, err)
	w.bury(first, true)
	lost.Wipe()
	w.observed = observed{digests: map[uint64][32]byte{}, roots: map[uint64][32]byte{}}
	first.Start()
	w.startOthers(first)
	w.settle(t)
	anew := &History{}
	w.payEverywhere(t, anew, "restored")
	now, size := w.leavesOf(first), w.saved.report.TreeSize
	require.LessOrEqual(t, size, uint64(len(leaves)))
	for i := range size {
		require.True(t, bytes.Equal(leaves[i], now[i]), "leaf %d is another one after the restore", i)
	}
	for _, host := range w.hosts {
		w.requireSameLeaves(host, now)
	}
	require.Empty(t, anew.checkCalls(now))
	require.Greater(t, restored.Epoch, uint16(0))
	for _, agent := range []engine.AgentSlot{outcast, miser} {
		if h.revokes(agent) {
			op := anew.Screen(context.Background(), first, payment{name: fmt.Sprintf("of revoked agent %d", agent), agent: agent, amount: engine.Dollar})
			require.NoError(t, op.Err)
			require.Equal(t, "BLOCK", op.Verdict, "a restore undoes no revocation")
		}
	}
	w.count("backup restored", 1)
}

// revokes reports whether the revocation of an agent was acknowledged.
func (h *History) revokes(agent engine.AgentSlot) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.ops, func(op *Op) bool {
		return op.Kind == wire.KindStatus && op.To == engine.Revoked && op.Err == nil && op.Agent == agent
	})
}

// ending is what comes after the end of a schedule.
type ending int

const (
	noMore ending = iota
	majorityLost
	groupLost
)

// drawEnding chooses what comes after the end: something for three schedules in ten. The verbs for
// stopped nodes read the large segments of servers alone, so all other schedules have the smallest,
// of which each fills some.
func (w *World) drawEnding(random *rand.Rand) ending {
	switch random.IntN(10) {
	case 0:
		return majorityLost
	case 1, 2:
		return groupLost
	}
	w.segments = audit.SegmentLevelMin
	return noMore
}

// liveOn goes on after the end of a schedule.
func (w *World) liveOn(t testing.TB, h *History, as ending) {
	switch as {
	case majorityLost:
		w.trace("majority lost and recovered")
		w.recoverMajority(t, h, w.one())
	case groupLost:
		w.trace("group lost, backup restored")
		if w.saved == nil {
			w.backUp(w.hosts[0])
		}
		w.restoreBackup(t, h)
	}
}
