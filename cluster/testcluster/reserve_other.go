//go:build !unix

package testcluster

import (
	"io"
	"strings"
)

// hold does nothing: files are not locked here, so only chance keeps other processes away.
func hold(int) (io.Closer, bool) { return io.NopCloser(strings.NewReader("")), true }
