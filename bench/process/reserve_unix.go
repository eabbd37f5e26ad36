//go:build unix

package process

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// reserve keeps a port from other processes that choose theirs here, as long as this one
// lives: between the choice and the use nothing listens on it yet. False: it is another's.
func reserve(port int) bool {
	folder := filepath.Join(os.TempDir(), "railguard-ports")
	if os.MkdirAll(folder, 0o777) != nil {
		return true // Nobody can reserve there: then chance must do.
	}
	file, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666) //nolint:gosec // It holds nothing.
	if err != nil {
		return true
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = file.Close()
		return false
	}
	reserved.Store(port, file) // Open until the process ends, whatever the collector thinks.
	return true
}
