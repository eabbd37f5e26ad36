//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// filesAllowed is how many files and connections this process may have open; Go has raised
// the soft limit to the hard one by now.
func filesAllowed() (most uint64, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return limit.Cur, true
}

// inOwnGroup keeps a terminal's Ctrl-C from the child, and ends it with us if we
// are killed (Linux).
func inOwnGroup(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(child)
}
