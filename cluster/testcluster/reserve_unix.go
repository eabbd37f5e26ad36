//go:build unix

package testcluster

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// hold keeps a port from other processes that choose ports here, until it is closed or this
// process ends. This is needed because nothing listens on the port between the choice and its
// use. It returns false if another process has the port.
func hold(port int) (io.Closer, bool) {
	chance := io.NopCloser(strings.NewReader("")) // Used where a port cannot be reserved.
	folder := filepath.Join(os.TempDir(), "railguard-ports")
	if os.MkdirAll(folder, 0o777) != nil {
		return chance, true
	}
	file, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666) //nolint:gosec // It holds nothing.
	if err != nil {
		return chance, true
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = file.Close()
		return nil, false
	}
	return file, true
}
