//go:build unix

package datadir

import (
	"errors"
	"os"
	"syscall"
)

// FileLock is a lock that ends with the process, however that ends.
type FileLock struct{ file *os.File }

// Lock takes the lock of a file, which is made if it is missing.
func Lock(path string) (*FileLock, error) { return lockFile(path, os.O_RDWR|os.O_CREATE) }

// Hold takes a node's lock without opening anything for writing. So a reader keeps a node from
// starting on the folder, and writes nothing.
func Hold(path string) (*FileLock, error) { return lockFile(path, os.O_RDONLY) }

// lockFile opens a file and locks it.
func lockFile(path string, flags int) (*FileLock, error) {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return &FileLock{file: f}, nil
}

// Close gives the lock back. It does not leave that to the end of the file: a child process that
// is just being started has the file open too, until it runs its own program.
func (l *FileLock) Close() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}

// FreeSpace asks the file system of dir; free is the space that an unprivileged process may
// use.
func FreeSpace(dir string) (free, total uint64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), stat.Blocks * uint64(stat.Bsize), nil
}
