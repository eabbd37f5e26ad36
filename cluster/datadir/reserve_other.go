//go:build !linux

package datadir

import "os"

// reserveRoom gives a file its size.
func reserveRoom(f *os.File, size int64) error { return f.Truncate(size) }

// syncData makes what was written durable.
func syncData(f *os.File) error { return f.Sync() }
