package main

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func endWithParent(child *exec.Cmd) { child.SysProcAttr.Pdeathsig = syscall.SIGTERM }

// timerSlack is how much later than asked the kernel may wake a node's threads, and
// watchSlack the same of the one thread of Go's runtime that wants to look every 20 µs
// whether a system call takes long. A node that syncs its log makes it look all the time:
// every second switch between threads was its own. What it looks for, the other threads
// see sooner while one of them is free; where all wait for the disk, what else is to be
// done waits as long as it does anyway in a process that has been calm: 10 ms.
const (
	timerSlack = 1_000_000 // Nanoseconds; 50,000 is the kernel's.
	watchSlack = 10_000_000
)

const (
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// eased tells that this process was begun anew with watchSlack.
var eased bool

// init keeps the main goroutine on the main thread until easeTimers has run: whoever asked
// to be ended with its parent asked it for that thread. A thread inherits its slack from
// the one that starts it: the runtime's watch was started before, what is started from here
// on has the smaller one. The runtime starts a thread for starting others with the lock.
func init() {
	if eased = slackHere() == watchSlack; eased {
		setSlackHere(timerSlack)
	}
	runtime.LockOSThread()
}

// easeTimers has this process begin anew with the slack of its timers, which a thread
// inherits from the one that starts it, and a program from the one before it. Where that
// cannot be, or one processor is all there is, everything is as it was.
func easeTimers(args []string) {
	defer runtime.UnlockOSThread()
	if eased {
		easeThreads()
		return
	}
	if len(args) < 2 || args[1] != "serve" || runtime.GOMAXPROCS(0) < 2 || slackHere() >= timerSlack {
		return
	}
	if !setSlackHere(watchSlack) {
		return
	}
	_ = syscall.Exec("/proc/self/exe", args, os.Environ()) // It returns only when it failed.
	setSlackHere(timerSlack)
}

// easeThreads gives the smaller slack to those threads that the runtime has started for
// goroutines before anything of ours ran. More goroutines than there are threads take one
// each and hold it until all have; once more for those that were asleep for a moment in
// search of work, as the runtime has them be, and what they started. One that is missed
// all the same is later than need be, and nothing else.
func easeThreads() {
	holdThreads()
	time.Sleep(2 * watchSlack)
	holdThreads()
}

func holdThreads() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	var taken, left sync.WaitGroup
	release := make(chan struct{})
	for range threads {
		taken.Add(1)
		left.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			setSlackHere(timerSlack)
			taken.Done()
			<-release
		})
	}
	taken.Wait()
	close(release)
	left.Wait()
}

// slackHere is the slack of the thread that asks; 0: it is not known.
func slackHere() uintptr {
	slack, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if failed != 0 {
		return 0
	}
	return slack
}

// setSlackHere reports whether the thread that asks has this slack now.
func setSlackHere(slack uintptr) bool {
	_, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, slack, 0)
	return failed == 0
}
