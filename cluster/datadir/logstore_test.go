package datadir

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// memoryLog is a log store in memory whose writes can be made to fail or stall.
type memoryLog struct {
	*raft.InmemStore
	fail  atomic.Pointer[error]
	stall atomic.Pointer[chan struct{}]
}

func newMemoryLog() *memoryLog { return &memoryLog{InmemStore: raft.NewInmemStore()} }

func (m *memoryLog) trouble() error {
	if release := m.stall.Load(); release != nil {
		<-*release
	}
	if err := m.fail.Load(); err != nil {
		return *err
	}
	return nil
}

func (m *memoryLog) StoreLogs(logs []*raft.Log) error {
	if err := m.trouble(); err != nil {
		return err
	}
	return m.InmemStore.StoreLogs(logs)
}

func (m *memoryLog) Close() error { return nil }

// fatalities receives the reasons for which a store gave up.
type fatalities chan string

func (g fatalities) fatal(reason string) { g <- reason }

func (g fatalities) all() (reasons []string) {
	for range len(g) {
		reason := <-g
		reasons = append(reasons, reason)
		g <- reason
	}
	return reasons
}

func guardOver(store LogStore, limit time.Duration) (*Guarded, fatalities) {
	g := make(fatalities, 8)
	return &Guarded{store: store, limit: func() time.Duration { return limit }, fatal: g.fatal}, g
}

func TestGuardedStoreFails(t *testing.T) {
	memory := newMemoryLog()
	store, gave := guardOver(memory, time.Second)
	require.NoError(t, store.StoreLog(&raft.Log{Index: 1}))
	broken := errors.New("input/output error")
	memory.fail.Store(&broken)
	require.ErrorIs(t, store.StoreLog(&raft.Log{Index: 2}), broken)
	require.Len(t, gave.all(), 1)
	require.Contains(t, gave.all()[0], "disk failed")
	memory.fail.Store(nil)
	require.ErrorIs(t, store.StoreLog(&raft.Log{Index: 2}), ErrGaveUp, "a failed sync is never tried again")
	require.ErrorIs(t, store.SetUint64([]byte("CurrentTerm"), 9), ErrGaveUp)
	require.Len(t, gave.all(), 1)
}

// TestGuardG4StalledDisk: a write that does not return within the limit ends the node at the
// limit, to the nanosecond of a virtual clock.
func TestGuardG4StalledDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := newMemoryLog()
		store, gave := guardOver(memory, time.Second)
		release := make(chan struct{})
		memory.stall.Store(&release)
		result := make(chan error)
		go func() { result <- store.StoreLog(&raft.Log{Index: 1}) }()
		time.Sleep(time.Second - 1)
		synctest.Wait()
		require.Empty(t, gave.all())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Len(t, gave.all(), 1)
		require.Contains(t, gave.all()[0], "disk stalled")
		close(release)
		require.ErrorIs(t, <-result, ErrGaveUp, "what the disk answers later is not believed")
	})
}
