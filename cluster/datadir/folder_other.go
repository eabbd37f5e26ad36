//go:build !unix

package datadir

import (
	"errors"
	"os"
)

var errUnix = errors.New("only Unix systems are supported as servers")

// Lock is not supported.
func Lock(string) (*os.File, error) { return nil, errUnix }

// FreeSpace is not supported.
func FreeSpace(string) (free, total uint64, err error) { return 0, 0, errUnix }

// Hold is not supported.
func Hold(string) (*os.File, error) { return nil, errUnix }
