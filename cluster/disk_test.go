package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm/wire"
)

// stuckLog is a raft log whose first index cannot be read any more, as on a disk that hangs.
type stuckLog struct {
	datadir.LogStore
	stuck   atomic.Bool
	reading chan struct{}
	release chan struct{}
}

func (l *stuckLog) FirstIndex() (uint64, error) {
	if l.stuck.Load() {
		select {
		case l.reading <- struct{}{}:
		default:
		}
		<-l.release
	}
	return l.LogStore.FirstIndex()
}

// TestDiskIsWatchedBesideASlowDuty: while a duty waits for the disk, the node still sees that
// the disk is full, and still looks for its leader.
func TestDiskIsWatchedBesideASlowDuty(t *testing.T) {
	log := &stuckLog{reading: make(chan struct{}, 1), release: make(chan struct{})}
	var free atomic.Uint64
	free.Store(100 * engine.MiB)
	gave := &gaveUp{}
	n := openAlone(t, t.TempDir(), func(c *Config) {
		c.Fatal = gave.fatal
		c.FreeSpace = func(string) (uint64, uint64, error) { return free.Load(), 200 * engine.MiB, nil }
		c.OpenLog = func(dir string) (store datadir.LogStore, err error) {
			log.LogStore, err = datadir.OpenLog(dir)
			return log, err
		}
	})
	defer close(log.release) // It must be released before the node is closed.
	propose(t, n, wire.KindRegister, register("a"))
	log.stuck.Store(true)
	<-log.reading
	free.Store(5 * engine.MiB)
	require.Eventually(t, func() bool { return len(gave.all()) == 1 }, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, gave.all()[0], "disk full")
}

// A file system that does not report its size must not count as one with a small share free.
func TestUnknownDiskIsMeasuredAsUnknown(t *testing.T) {
	g := newGauges("unknown disk")
	d := &disk{}
	d.percent.Store(-1)
	d.setDiskMetrics(g)
	for _, gauge := range []*metrics.Gauge{g.diskFree, g.diskBytes, g.diskLevel} {
		require.Equal(t, -1.0, gauge.Get())
	}
	d.percent.Store(8)
	d.bytes.Store(90 << 30)
	d.setDiskMetrics(g)
	require.Equal(t, 0.08, g.diskFree.Get())
	require.Equal(t, float64(90<<30), g.diskBytes.Get())
	require.Zero(t, g.diskLevel.Get(), "90 GiB are room")
}

// TestASnapshotKeepsNoCaller: who asked for a snapshot waits no longer than its context while the
// disk hangs.
func TestASnapshotKeepsNoCaller(t *testing.T) {
	log := &stuckLog{reading: make(chan struct{}, 1), release: make(chan struct{})}
	n := openAlone(t, t.TempDir(), func(c *Config) {
		c.OpenLog = func(dir string) (store datadir.LogStore, err error) {
			log.LogStore, err = datadir.OpenLog(dir)
			return log, err
		}
	})
	let := sync.OnceFunc(func() { close(log.release) })
	defer let()
	propose(t, n, wire.KindRegister, register("a"))
	log.stuck.Store(true)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	asked := make(chan error, 1)
	go func() {
		_, err := n.Snapshot(short)
		asked <- err
	}()
	select {
	case err := <-asked:
		require.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(10 * time.Second):
		let()
		require.Fail(t, "the caller waits for the disk")
	}
	_, err := n.Snapshot(short)
	require.Error(t, err, "the first one is not done")
	log.stuck.Store(false)
	let()
	propose(t, n, wire.KindRegister, register("b"))
	_, err = n.Snapshot(t.Context())
	require.NoError(t, err)
}
