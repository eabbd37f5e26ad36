//go:build unix

package datadir

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock that was given back is free, though a child process has the file open for a moment: it
// was being started when the lock ended.
func TestALockEndsBeforeItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockFile)
	lock, err := Lock(path)
	require.NoError(t, err)
	inherited, err := syscall.Dup(int(lock.file.Fd()))
	require.NoError(t, err)
	defer syscall.Close(inherited)
	_, err = Hold(path)
	require.Error(t, err)
	require.NoError(t, lock.Close())
	again, err := Hold(path)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
