//go:build !unix

package cluster

import (
	"errors"
	"os"
)

var errUnix = errors.New("only Unix systems are supported as servers")

func lockPath(string) (*os.File, error) { return nil, errUnix }

func freeSpace(string) (free, total uint64, err error) { return 0, 0, errUnix }
