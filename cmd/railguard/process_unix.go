//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// filesAllowed returns how many files and connections this process may have open. Go has
// raised the soft limit to the hard one at start.
func filesAllowed() (most uint64, known bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return limit.Cur, true
}

// inOwnGroup puts a child in its own process group, so that Ctrl-C on the terminal does not
// reach it. On Linux the child also ends when this process is killed.
func inOwnGroup(child *exec.Cmd) {
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(child)
}
