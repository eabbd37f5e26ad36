//go:build !linux

package load

import "errors"

var errNoUsage = errors.New("what a process uses is not known on this system")

func processUsage(int) (usage, error) { return usage{}, errNoUsage }
