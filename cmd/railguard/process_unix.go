//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inOwnGroup keeps a terminal's Ctrl-C from the child, and ends it with us if we
// are killed (Linux).
func inOwnGroup(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(child)
}
