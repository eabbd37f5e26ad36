//go:build !linux

package load

func processUsage(int) (usage, error) { return usage{}, errNoUsage }
