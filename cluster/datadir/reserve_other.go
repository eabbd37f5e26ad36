//go:build !linux

package datadir

import "os"

// reserve gives a file its size.
func reserve(f *os.File, size int64) error { return f.Truncate(size) }

// syncData makes what was written durable.
func syncData(f *os.File) error { return f.Sync() }
