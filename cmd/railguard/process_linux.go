package main

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

func endWithParent(child *exec.Cmd) { child.SysProcAttr.Pdeathsig = syscall.SIGTERM }

// timerSlack is how much later than asked the kernel may wake a node's threads. Go's
// runtime has a thread of its own that wants to look every 20 µs whether a system call
// takes long, and a node that syncs its log a thousand times a second makes it look all
// the time: at 1,000 verdicts a second it was four of ten switches between threads. Within
// a millisecond the other threads of the node have taken over what waits.
const timerSlack = 1_000_000 // Nanoseconds; 50,000 is the kernel's.

const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// init keeps the main goroutine on the main thread until easeTimers has run: whoever asked
// to be ended with its parent asked it for that thread.
func init() { runtime.LockOSThread() }

// easeTimers has this process begin anew with the slack of its timers, which a thread
// inherits from the one that starts it, and a program from the one before it. Where that
// cannot be, or one processor is all there is, everything is as it was.
func easeTimers(args []string) {
	defer runtime.UnlockOSThread()
	if len(args) < 2 || args[1] != "serve" || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	if slack, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0); failed != 0 || slack >= timerSlack {
		return
	}
	if _, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, timerSlack, 0); failed != 0 {
		return
	}
	_ = syscall.Exec("/proc/self/exe", args, os.Environ()) // It returns only when it failed.
}
