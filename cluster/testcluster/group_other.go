//go:build !linux

package testcluster

import "os/exec"

// ownGroup: only Linux lets a child die with its parent.
func ownGroup(*exec.Cmd) {}
