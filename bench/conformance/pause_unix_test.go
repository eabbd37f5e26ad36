//go:build unix

package conformance

import "syscall"

const canPause = true

// pauseProcess stops a process that the test started, or lets it go on.
func pauseProcess(pid int, stop bool) error {
	if stop {
		return syscall.Kill(pid, syscall.SIGSTOP)
	}
	return syscall.Kill(pid, syscall.SIGCONT)
}
