//go:build unix

package watch

import (
	"os"
	"syscall"
)

// lockFile takes the lock of a folder, which ends with the process.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
