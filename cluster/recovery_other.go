//go:build !unix

package cluster

import "os"

func holdPath(string) (*os.File, error) { return nil, errUnix }
