package datadir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A folder's key is made with it, is its own, and only its owner can read it.
func TestAFolderHasAKey(t *testing.T) {
	dir := t.TempDir()
	f, err := Open(SystemDisk{}, dir, "n1")
	require.NoError(t, err)
	key := f.Key()
	require.Equal(t, f.Identity().Incarnation, key.Digest())
	require.NoError(t, f.Close())
	require.NoError(t, os.Chmod(filepath.Join(dir, KeyFile), 0o644))
	f, err = Open(SystemDisk{}, dir, "n1")
	require.NoError(t, err)
	require.Equal(t, key, f.Key())
	require.NoError(t, f.Close())
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(dir, KeyFile))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	// A start that ended before node.json was written leaves no node behind.
	require.NoError(t, os.Remove(filepath.Join(dir, IdentityFile)))
	f, err = Open(SystemDisk{}, dir, "n2")
	require.NoError(t, err)
	require.NotEqual(t, key, f.Key())
	require.NoError(t, f.Close())
}

// settle makes a new node's folder, which nobody uses.
func settle(t *testing.T) string {
	dir := t.TempDir()
	f, err := Open(SystemDisk{}, dir, "n1")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return dir
}

func TestFolderRefusesOtherKeys(t *testing.T) {
	t.Run("no key", func(t *testing.T) {
		dir := settle(t)
		require.NoError(t, os.Remove(filepath.Join(dir, KeyFile)))
		_, err := Open(SystemDisk{}, dir, "n1")
		require.ErrorContains(t, err, "has no node.key")
	})
	t.Run("another's key", func(t *testing.T) {
		dir, other := settle(t), settle(t)
		require.NoError(t, os.Rename(filepath.Join(other, KeyFile), filepath.Join(dir, KeyFile)))
		_, err := Open(SystemDisk{}, dir, "n1")
		require.ErrorContains(t, err, "the key of another folder")
	})
	t.Run("broken key", func(t *testing.T) {
		dir := settle(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, KeyFile), []byte("x"), 0o600))
		_, err := Open(SystemDisk{}, dir, "n1")
		require.ErrorContains(t, err, "node.key")
	})
}

func TestFolderRefuses(t *testing.T) {
	t.Run("own id", func(t *testing.T) {
		dir := settle(t)
		f, err := Open(SystemDisk{}, dir, "n1")
		require.NoError(t, err)
		require.False(t, f.fresh)
		require.Len(t, f.identity.Incarnation, 32)
		require.NoError(t, f.Close())
	})
	t.Run("foreign id", func(t *testing.T) {
		_, err := Open(SystemDisk{}, settle(t), "n2")
		require.ErrorContains(t, err, `belongs to node "n1"`)
	})
	for format, words := range map[int]string{Format + 1: "a newer release wrote it", Format - 1: "start with an empty folder"} {
		t.Run(fmt.Sprintf("format %d", format), func(t *testing.T) {
			dir := settle(t)
			path := filepath.Join(dir, IdentityFile)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			changed := strings.Replace(string(data), fmt.Sprintf(`"format": %d`, Format), fmt.Sprintf(`"format": %d`, format), 1)
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
			_, err = Open(SystemDisk{}, dir, "n1")
			require.ErrorContains(t, err, words)
			_, err = ReadIdentity(dir)
			require.ErrorContains(t, err, words)
		})
	}
	t.Run("broken identity", func(t *testing.T) {
		dir := settle(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, IdentityFile), []byte("{"), 0o600))
		_, err := Open(SystemDisk{}, dir, "n1")
		require.ErrorContains(t, err, "cannot be read")
	})
	t.Run("data without identity", func(t *testing.T) {
		dir := settle(t)
		require.NoError(t, os.Remove(filepath.Join(dir, IdentityFile)))
		require.NoError(t, os.WriteFile(filepath.Join(dir, RaftFolder, LogFile), []byte("x"), 0o600))
		_, err := Open(SystemDisk{}, dir, "n1")
		require.ErrorContains(t, err, "has data but no node.json")
	})
	t.Run("in use", func(t *testing.T) {
		dir := t.TempDir()
		f, err := Open(SystemDisk{}, dir, "n1")
		require.NoError(t, err)
		_, err = Open(SystemDisk{}, dir, "n1")
		require.ErrorContains(t, err, "in use by another process")
		require.NoError(t, f.Close())
	})
	t.Run("other cluster", func(t *testing.T) {
		f, err := Open(SystemDisk{}, t.TempDir(), "n1")
		require.NoError(t, err)
		require.NoError(t, f.BelongTo("one"))
		require.NoError(t, f.BelongTo("one"))
		require.ErrorContains(t, f.BelongTo("two"), "two clusters are mixed")
		require.NoError(t, f.Close())
	})
}

// hungDisk is a disk on which small files wait until it is released.
type hungDisk struct {
	SystemDisk
	hangs, release chan struct{}
}

func (d *hungDisk) SyncFile(file *os.File) error {
	select {
	case <-d.hangs:
		<-d.release
	default:
	}
	return d.SystemDisk.SyncFile(file)
}

// TestIdentityWhileTheDiskHangs: who meets another node asks who this node is, and must not wait
// for a disk that hangs; and nothing is told that is not on the disk yet.
func TestIdentityWhileTheDiskHangs(t *testing.T) {
	disk := &hungDisk{hangs: make(chan struct{}), release: make(chan struct{})}
	f, err := Open(disk, t.TempDir(), "n1")
	require.NoError(t, err)
	defer f.Close()
	release := sync.OnceFunc(func() { close(disk.release) })
	defer release()
	close(disk.hangs)
	began, written := make(chan struct{}), make(chan error, 1)
	f.Watched = func(string) func() { close(began); return func() {} }
	go func() { written <- f.BelongTo("c1") }()
	<-began
	time.Sleep(50 * time.Millisecond)
	asked := make(chan Identity, 1)
	go func() { asked <- f.Identity() }()
	select {
	case who := <-asked:
		require.Empty(t, who.ClusterID)
	case <-time.After(5 * time.Second):
		require.Fail(t, "it waits for the disk")
	}
	release()
	require.NoError(t, <-written)
	require.Equal(t, "c1", f.Identity().ClusterID)
}
