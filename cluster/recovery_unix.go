//go:build unix

package cluster

import (
	"os"
	"syscall"
)

// holdPath takes a node's lock without opening anything for writing: a reader of a
// folder keeps a node from starting on it, and writes nothing.
func holdPath(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
