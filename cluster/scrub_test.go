package cluster

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// TestRotIsFoundUnasked: one byte of history changes on one node's disk. Nobody asks for the
// record. The scrubber finds the damage, the node logs it, and a peer's copy repairs it.
func TestRotIsFoundUnasked(t *testing.T) {
	g := newGroup(t, func(c *Config) { c.ScrubEvery = 20 * time.Millisecond })
	g.form(3)
	for range 20 {
		propose(t, g.leader(), wire.KindRegister, register("a name that stands in the leaf"))
	}
	g.awaitEqual()
	rotten := g.follower()
	name := filepath.Join(rotten.folder.Sub(datadir.AuditFolder), "tail", "000000000.log")
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	at := strings.LastIndex(string(data), "agent.registered")
	require.Positive(t, at)
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt([]byte{data[at] ^ 1}, int64(at))
	require.NoError(t, errors.Join(err, file.Close()))
	before := rotten.audit.Size()
	require.Eventually(t, func() bool {
		again, err := os.ReadFile(name)
		return err == nil && len(again) > len(data) && len(rotten.audit.Damage()) == 0
	}, 20*time.Second, 10*time.Millisecond)
	for i := range before {
		own, err := rotten.audit.Leaf(i)
		require.NoError(t, err)
		right, err := g.leader().audit.Leaf(i)
		require.NoError(t, err)
		require.Equal(t, right, own)
	}
}

// TestPaceOfScrubbing: a process begins with a pass, and reads one segment each tick. A pass
// takes at least half an hour. So a short history is not read over and over, and after a long
// one the next pass begins without a pause.
func TestPaceOfScrubbing(t *testing.T) {
	const every = 10 * time.Second
	for name, c := range map[string]struct {
		segments uint64
		every    time.Duration
		wants    map[time.Duration]int // Segments that have been read so long after the start.
	}{
		"a short history":       {1, every, map[time.Duration]int{every: 1, 180 * every: 1, 181 * every: 2, 361 * every: 3}},
		"some segments":         {3, every, map[time.Duration]int{every: 1, 2 * every: 2, 3 * every: 3, 180 * every: 3, 181 * every: 4, 184 * every: 6}},
		"as long as a pass":     {180, every, map[time.Duration]int{180 * every: 180, 181 * every: 181, 360 * every: 360}},
		"longer than a pass":    {200, every, map[time.Duration]int{199 * every: 199, 201 * every: 201, 400 * every: 400}},
		"another span":          {1, time.Second, map[time.Duration]int{time.Second: 1, 180 * time.Second: 1, 181 * time.Second: 2}},
		"never":                 {3, -1, map[time.Duration]int{time.Hour: 0}},
		"nothing before a tick": {3, every, map[time.Duration]int{every - time.Millisecond: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read := 0
				s := newScrubber(newLife(slog.New(slog.DiscardHandler), func(string) {}), nil, c.every)
				s.verify = func(number uint64) (uint64, error) {
					require.Equal(t, uint64(read)%c.segments, number, "each in turn")
					read++
					return (number + 1) % c.segments, nil
				}
				began := time.Now()
				go s.scrubHistory()
				for _, at := range slices.Sorted(maps.Keys(c.wants)) {
					time.Sleep(time.Until(began.Add(at)))
					synctest.Wait()
					require.Equal(t, c.wants[at], read, "%v after the start", at)
				}
				close(s.life.stop)
			})
		})
	}
}

// TestLogBeforeAnInstalledSnapshotGoes (guard G3): a kill between the installation of a
// snapshot and the cut of the log leaves old entries, and raft would keep them with a hole
// behind them.
func TestLogBeforeAnInstalledSnapshotGoes(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	for range 5 {
		propose(t, n, wire.KindRegister, register("a"))
	}
	meta, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, n.Close())
	for name, c := range map[string]struct {
		last uint64
		kept bool
	}{
		"behind it":         {meta.Index + 2, true},
		"up to it":          {meta.Index, true},
		"before it":         {meta.Index - 1, false},
		"long gone entries": {2, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := raft.NewInmemStore()
			for index := uint64(1); index <= c.last; index++ {
				require.NoError(t, store.StoreLog(&raft.Log{Index: index, Term: 1, Data: []byte("x")}))
			}
			guarded := datadir.Guard(inmemLog{store}, n.storage.Stalls, func(reason string) { t.Error(reason) })
			require.NoError(t, n.dropSupersededLog(guarded, n.life.log))
			last, err := store.LastIndex()
			require.NoError(t, err)
			if c.kept {
				require.Equal(t, c.last, last)
			} else {
				require.Zero(t, last)
			}
		})
	}
	t.Run("the snapshot does not open", func(t *testing.T) {
		name := filepath.Join(dir, datadir.RaftFolder, datadir.SnapshotFolder, meta.ID, datadir.SnapshotStateFile)
		data := mustRead(t, name)
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(name, data, 0o600))
		store := raft.NewInmemStore()
		require.NoError(t, store.StoreLog(&raft.Log{Index: 1, Term: 1}))
		require.NoError(t, n.dropSupersededLog(datadir.Guard(inmemLog{store}, n.storage.Stalls, n.life.endProcess), n.life.log))
		last, err := store.LastIndex()
		require.NoError(t, err)
		require.Equal(t, uint64(1), last, "an older snapshot needs it")
	})
}

// TestLostSnapshotsAreNamed: if the log begins behind every snapshot, the start ends with an
// error and not with a panic of raft.
func TestLostSnapshotsAreNamed(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	propose(t, n, wire.KindRegister, register("a"))
	_, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	propose(t, n, wire.KindRegister, register("b"))
	first, err := n.store.FirstIndex()
	require.NoError(t, err)
	require.NoError(t, n.store.DeleteRange(first, first)) // As after a snapshot of a long log.
	require.NoError(t, n.Close())
	require.NoError(t, os.RemoveAll(filepath.Join(dir, datadir.RaftFolder, datadir.SnapshotFolder)))
	_, err = Open(n.config)
	require.ErrorIs(t, err, datadir.ErrDamaged)
	require.ErrorContains(t, err, "no snapshot that can be read reaches to where the log begins")

	store, err := datadir.OpenLog(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(t, err)
	last, err := store.LastIndex()
	require.NoError(t, err)
	require.NoError(t, store.DeleteRange(first, last))
	require.NoError(t, store.Close())
	_, err = Open(n.config)
	require.ErrorIs(t, err, datadir.ErrDamaged, "raft would begin anew, with no state")
	require.ErrorContains(t, err, "log and snapshots in")
}

type inmemLog struct{ *raft.InmemStore }

func (inmemLog) Close() error { return nil }
