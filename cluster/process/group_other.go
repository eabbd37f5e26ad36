//go:build !linux

package process

import "os/exec"

// ownGroup: only Linux lets a child die with its parent.
func ownGroup(*exec.Cmd) {}
