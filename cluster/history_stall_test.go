package cluster

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/fsm/wire"
)

// hangingDir is a disk whose writes hang from a moment on until they are released.
type hangingDir struct {
	audit.Dir
	hangs   chan struct{} // Closed when writes hang.
	release chan struct{}
}

type hangingFile struct {
	audit.File
	dir *hangingDir
}

func (d *hangingDir) Create(name string) (audit.File, error) {
	file, err := d.Dir.Create(name)
	return hangingFile{file, d}, err
}

func (f hangingFile) WriteAt(p []byte, off int64) (int, error) {
	select {
	case <-f.dir.hangs:
		<-f.dir.release
	default:
	}
	return f.File.WriteAt(p, off)
}

// TestHistoryStalls: a disk that hangs under the audit history, and not under the raft log,
// ends the node too. Its log would never be written to again, as all entries in flight wait for
// the history, and a leader would go on sending heartbeats.
func TestHistoryStalls(t *testing.T) {
	gave := &gaveUp{}
	config := aloneConfig(t, t.TempDir())
	disk := &hangingDir{Dir: audit.OSDir(t.TempDir()), hangs: make(chan struct{}), release: make(chan struct{})}
	config.History, config.Fatal = disk, gave.fatal
	config.Timing.Stall, config.Timing.StallEnds, config.Timing.StallNever = 50*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond
	n, err := Open(config)
	require.NoError(t, err)
	letGo := sync.OnceFunc(func() { close(disk.release) })
	t.Cleanup(func() { letGo(); _ = n.Close() })
	awaitReady(t, n)
	propose(t, n, wire.KindRegister, register("before"))
	require.Empty(t, gave.all())

	close(disk.hangs)
	_, err = n.Propose(context.Background(), wire.KindRegister, register("lost"))
	require.Error(t, err)
	require.Eventually(t, func() bool { return len(gave.all()) > 0 }, 30*time.Second, time.Millisecond)
	require.Contains(t, gave.all()[0], "disk stalled: append to history")
	applied := n.Applied()
	letGo()
	time.Sleep(50 * time.Millisecond)
	require.Equal(t, applied, n.Applied(), "what the disk answers later is not applied")
}
