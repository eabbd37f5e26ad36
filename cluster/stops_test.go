package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Reasons for which a node ends itself, each brought about on a node that is alone. The house law
// (TestEveryStopIsCaused) says where all others are caused.

// brokenDisk is a disk under history whose writes, or syncs, fail from a moment on.
type brokenDisk struct {
	audit.Dir
	writes, syncs atomic.Bool
}

type brokenFile struct {
	audit.File
	disk *brokenDisk
}

var errBrokenDisk = errors.New("input/output error")

func (d *brokenDisk) Create(name string) (audit.File, error) {
	file, err := d.Dir.Create(name)
	return brokenFile{file, d}, err
}

func (f brokenFile) WriteAt(p []byte, at int64) (int, error) {
	if f.disk.writes.Load() {
		return 0, errBrokenDisk
	}
	return f.File.WriteAt(p, at)
}

func (f brokenFile) Sync() error {
	if f.disk.syncs.Load() {
		return errBrokenDisk
	}
	return f.File.Sync()
}

// stopped is a node that is to end, with what may end it.
type stopped struct {
	*Node
	dir  string
	disk *brokenDisk
}

// TestStopsOfADisk breaks what a node writes beside its log: each failure ends it, once, and says
// what could not be written.
func TestStopsOfADisk(t *testing.T) {
	for reason, cause := range map[string]func(t *testing.T, n *stopped){
		"audit of log entry ": func(t *testing.T, n *stopped) {
			n.disk.writes.Store(true)
			n.write(t)
		},
		"disk failed: log entry ": func(t *testing.T, n *stopped) {
			require.NoError(t, n.reached.Close())
			n.write(t)
		},
		"history cannot be made durable: ": func(t *testing.T, n *stopped) {
			n.disk.syncs.Store(true)
			_, err := n.Snapshot(t.Context())
			require.Error(t, err)
		},
		"history that was fetched cannot be made durable: ": func(t *testing.T, n *stopped) {
			n.disk.syncs.Store(true)
			n.history.busy.Store(true)
			_, err := n.history.fillHoles()
			require.ErrorIs(t, err, errBrokenDisk)
		},
		"history past its retention cannot be deleted: ": func(t *testing.T, n *stopped) {
			propose(t, n.Node, wire.KindClock, wire.Encode(&wire.Clock{Advance: erasedAfterDays * engine.DayLength}))
			propose(t, n.Node, wire.KindRegister, register("after the retention"))
			n.retention.audit = n.another(t) // Nothing else is written to it meanwhile.
			n.disk.writes.Store(true)
			require.ErrorIs(t, n.retention.audit.Append(otherLeaves, []audit.Leaf{{Time: 1, Data: []byte("{}")}}), audit.ErrBroken)
			n.retention.eraseHistory()
		},
		"disk failed: " + datadir.RecoveryFile: func(t *testing.T, n *stopped) {
			n.lineage.record = &datadir.Record{Format: datadir.Format}
			n.lineage.waiting.Store(true)
			n.block(t, datadir.RecoveryFile)
			require.False(t, n.lineage.noteRecorded(1))
		},
		"disk failed: ": func(t *testing.T, n *stopped) {
			n.block(t, datadir.IdentityFile)
			n.greeter.keepUnreached([]datadir.Member{{ID: "n2", Addr: "127.0.0.1:1"}})
		},
	} {
		t.Run(strings.Trim(reason, ": "), func(t *testing.T) {
			gave := &gaveUp{}
			dir := t.TempDir()
			disk := &brokenDisk{Dir: audit.OSDir(filepath.Join(dir, datadir.AuditFolder))}
			config := aloneConfig(t, dir)
			withTestClock(audit.SegmentLevelMin)(&config)
			config.History, config.Fatal = disk, gave.fatal
			n, err := Open(config)
			require.NoError(t, err)
			t.Cleanup(func() { _ = n.Close() })
			awaitReady(t, n)
			propose(t, n, wire.KindRegister, register("before"))
			require.Empty(t, gave.all())
			cause(t, &stopped{n, dir, disk})
			requireEnd(t, gave, reason)
			require.Equal(t, "stopped", n.Role())
		})
	}
}

const otherLeaves = 50

// another returns a history of other leaves, on the disk that is to break.
func (n *stopped) another(t *testing.T) *audit.Store {
	n.disk = &brokenDisk{Dir: audit.OSDir(t.TempDir())}
	store, err := audit.Open(n.disk, audit.Options{SegmentLevel: audit.SegmentLevelMin})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	var leaves []audit.Leaf
	for range otherLeaves {
		leaves = append(leaves, audit.Leaf{Time: 1, Data: []byte("{}")})
	}
	require.NoError(t, store.Append(0, leaves))
	store.Prune(otherLeaves)
	return store
}

// write puts a record into the log, whose outcome stays open.
func (n *stopped) write(t *testing.T) {
	_, err := n.Propose(t.Context(), wire.KindRegister, register("lost"))
	require.Error(t, err)
}

// block puts a folder in the place of a file, which no write replaces.
func (n *stopped) block(t *testing.T, file string) {
	require.NoError(t, os.RemoveAll(filepath.Join(n.dir, file)))
	require.NoError(t, os.Mkdir(filepath.Join(n.dir, file), 0o700))
}

func requireEnd(t *testing.T, gave *gaveUp, reason string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(gave.all()) > 0 }, groupPatience, time.Millisecond)
	require.True(t, strings.HasPrefix(gave.all()[0], reason), gave.all()[0])
	require.Len(t, gave.all(), 1)
}

// TestStopsOfAState: a node whose first record, or whose recovery's record, the state machine
// refuses serves nothing, and no node reads past an entry of a later release.
func TestStopsOfAState(t *testing.T) {
	open := func(t *testing.T, dir string, change func(*Config)) (*Node, *gaveUp) {
		gave := &gaveUp{}
		config := aloneConfig(t, dir)
		config.Fatal = gave.fatal
		change(&config)
		n, err := Open(config)
		require.NoError(t, err)
		t.Cleanup(func() { _ = n.Close() })
		return n, gave
	}
	t.Run("genesis", func(t *testing.T) {
		_, gave := open(t, t.TempDir(), func(c *Config) { c.Genesis = func() wire.Genesis { return wire.Genesis{} } })
		requireEnd(t, gave, "the genesis of this cluster was refused by the state machine")
	})
	t.Run("recovery", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, openAlone(t, dir).Close())
		record := datadir.Record{Format: datadir.Format, State: datadir.RecoveryWaiting, Lineage: strings.Repeat("long", 1000)}
		require.NoError(t, record.Save(dir))
		_, gave := open(t, dir, func(*Config) {})
		requireEnd(t, gave, "the state machine refuses the leaf of the recovery (")
	})
	t.Run("format", func(t *testing.T) {
		n, gave := open(t, t.TempDir(), func(*Config) {})
		awaitReady(t, n)
		entry := wire.Seal(wire.AppendHeader(nil, wire.Header{Format: engine.FormatNewest + 1, Term: n.replica.raft.CurrentTerm()}), 0)
		n.replica.raft.Apply(entry, time.Second)
		requireEnd(t, gave, "log entry ")
		require.Contains(t, gave.all()[0], ": entry of a newer format than this state: upgrade this node")
	})
}
