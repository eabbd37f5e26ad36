package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// TestRotIsFoundUnasked: one byte of history turns on one node's disk. Nobody asks
// for the record; the scrubber finds it, the node says so, and has it mended by a
// peer.
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

// TestLogBeforeAnInstalledSnapshotGoes (guard G3): a kill between a snapshot's
// installation and the cut of the log leaves entries that raft would keep before a
// hole.
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
			guarded := datadir.Guard(inmemLog{store}, n.stallLimit, func(reason string) { t.Error(reason) })
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
		require.NoError(t, n.dropSupersededLog(datadir.Guard(inmemLog{store}, n.stallLimit, n.life.die), n.life.log))
		last, err := store.LastIndex()
		require.NoError(t, err)
		require.Equal(t, uint64(1), last, "an older snapshot needs it")
	})
}

type inmemLog struct{ *raft.InmemStore }

func (inmemLog) Close() error { return nil }
