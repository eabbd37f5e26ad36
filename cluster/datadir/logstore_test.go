package datadir

import (
	"errors"
	"os"
	"path/filepath"
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

func (m *memoryLog) DeleteRange(low, high uint64) error {
	if err := m.trouble(); err != nil {
		return err
	}
	return m.InmemStore.DeleteRange(low, high)
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

// guardOver returns a guarded store whose node ends at the limit if ending helps, and at four
// times the limit in any case. It ends after the test.
func guardOver(t *testing.T, store LogStore, limit time.Duration) (*Guarded, fatalities) {
	g := make(fatalities, 8)
	guarded := Guard(store, NewStalls(func() Patience { return Patience{Lead: limit / 2, End: limit, Never: 4 * limit} }, g.fatal), g.fatal)
	t.Cleanup(guarded.Release)
	return guarded, g
}

// standsStill runs an operation, and requires that it does not return until the store is
// released.
func standsStill(t *testing.T, store *Guarded, what string, do func() error) {
	t.Helper()
	returned := make(chan error, 1)
	go func() { returned <- do() }()
	select {
	case err := <-returned:
		require.Fail(t, "it returned to raft", "%s: %v", what, err)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestGuardedStoreFails(t *testing.T) {
	memory := newMemoryLog()
	store, gave := guardOver(t, memory, time.Second)
	require.NoError(t, store.StoreLog(&raft.Log{Index: 1}))
	broken := errors.New("input/output error")
	memory.fail.Store(&broken)
	standsStill(t, store, "what fails", func() error { return store.StoreLog(&raft.Log{Index: 2}) })
	require.Len(t, gave.all(), 1)
	require.Contains(t, gave.all()[0], "disk failed")
	memory.fail.Store(nil)
	standsStill(t, store, "a failed sync is never tried again", func() error { return store.StoreLog(&raft.Log{Index: 2}) })
	standsStill(t, store, "raft panics if its term cannot be written", func() error { return store.SetUint64(RaftTermKey, 9) })
	require.Len(t, gave.all(), 1)
	last, err := memory.LastIndex()
	require.NoError(t, err)
	require.Equal(t, uint64(1), last)
}

// TestACutIsAnsweredAfterTheEnd: raft cuts its log on the goroutine that answers who asked for a
// snapshot. In a process that goes on after its node ended, that answer must come.
func TestACutIsAnsweredAfterTheEnd(t *testing.T) {
	memory := newMemoryLog()
	store, gave := guardOver(t, memory, time.Second)
	require.NoError(t, store.StoreLog(&raft.Log{Index: 1}))
	broken := errors.New("input/output error")
	memory.fail.Store(&broken)
	answer := make(chan error, 1)
	go func() { answer <- store.DeleteRange(1, 1) }()
	require.Eventually(t, func() bool { return len(gave) == 1 }, 10*time.Second, time.Millisecond)
	require.Empty(t, answer, "it stands still until then")
	store.Release()
	require.ErrorIs(t, <-answer, errReleased)
}

// TestGuardG4StalledDisk: a write that does not return takes the leadership, and ends the node at
// the limit if that helps, else much later; to the nanosecond of a virtual clock.
func TestGuardG4StalledDisk(t *testing.T) {
	for _, helps := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			memory := newMemoryLog()
			store, gave := guardOver(t, memory, time.Second)
			store.stalls.Helps = func() bool { return helps }
			release := make(chan struct{})
			memory.stall.Store(&release)
			returned := make(chan error, 1)
			go func() { returned <- store.StoreLog(&raft.Log{Index: 1}) }()
			time.Sleep(time.Second/2 - 1)
			synctest.Wait()
			require.False(t, store.stalls.Standing())
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.True(t, store.stalls.Standing(), "it does not lead")
			end := time.Second
			if !helps {
				end = 4 * time.Second
			}
			time.Sleep(end - time.Second/2 - 1)
			synctest.Wait()
			require.Empty(t, gave.all())
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.Len(t, gave.all(), 1)
			require.Contains(t, gave.all()[0], "disk stalled")
			store.End() // As the node's end does.
			close(release)
			synctest.Wait()
			require.Empty(t, returned, "what the disk answers later is not believed")
			require.True(t, store.stalls.Standing())
			store.Release()
		})
	}
}

// TestSlowDiskOnlyDelays: a write that returns before the end of the patience gives the
// leadership back and says so.
func TestSlowDiskOnlyDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := newMemoryLog()
		store, gave := guardOver(t, memory, time.Second)
		told := make(fatalities, 8)
		store.stalls.Noticed = func(what string) { told.fatal("hangs: " + what) }
		store.stalls.Mended = func(_ string, lasted time.Duration) { told.fatal(lasted.String()) }
		release := make(chan struct{})
		memory.stall.Store(&release)
		time.AfterFunc(3*time.Second, func() { close(release) })
		require.NoError(t, store.StoreLog(&raft.Log{Index: 1}))
		synctest.Wait()
		require.False(t, store.stalls.Standing())
		require.Empty(t, gave.all())
		require.Equal(t, []string{"hangs: append to the log", "3s"}, told.all())
		memory.stall.Store(nil)
		require.NoError(t, store.StoreLog(&raft.Log{Index: 2}), "and it goes on")
	})
}

// notingDisk notes what is synced.
type notingDisk struct {
	SystemDisk
	synced []string
}

func (d *notingDisk) SyncFile(file *os.File) error {
	d.synced = append(d.synced, file.Name())
	return d.SystemDisk.SyncFile(file)
}

func (d *notingDisk) SyncFolder(path string) error {
	d.synced = append(d.synced, path)
	return d.SystemDisk.SyncFolder(path)
}

// TestVotesAreSyncedWhereTheyAreRead: opening the log makes durable what it read of term and vote, and
// the name of their file: a killed process may have left them unsynced, and the node acts on them.
func TestVotesAreSyncedWhereTheyAreRead(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		disk := &notingDisk{}
		store, err := OpenLogOn(Seams{Disk: disk, Room: testRoom}, dir)
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(dir, LogFile), dir}, disk.synced)
		require.NoError(t, store.Close())
	}
}
