//go:build !linux

package testcluster

import "os/exec"

// ownGroup does nothing: only on Linux can a child die with its parent.
func ownGroup(*exec.Cmd) {}
