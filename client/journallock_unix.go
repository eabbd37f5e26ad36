//go:build unix

package client

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed, or the process dies.
func lockFile(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// lives reports whether a process is there, even if it is somebody else's.
func lives(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
