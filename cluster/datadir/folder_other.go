//go:build !unix

package datadir

import "errors"

var errUnix = errors.New("only Unix systems are supported as servers")

// FileLock is not supported.
type FileLock struct{}

// Close does nothing.
func (*FileLock) Close() error { return nil }

// Lock is not supported.
func Lock(string) (*FileLock, error) { return nil, errUnix }

// FreeSpace is not supported.
func FreeSpace(string) (free, total uint64, err error) { return 0, 0, errUnix }

// Hold is not supported.
func Hold(string) (*FileLock, error) { return nil, errUnix }
