package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

func endWithParent(child *exec.Cmd) { child.SysProcAttr.Pdeathsig = syscall.SIGTERM }

// timerSlack is how late the kernel may wake a node's threads. watchSlack is the same for the
// watch thread of Go's runtime, which checks every 20 µs for system calls that take long. A
// node that syncs its log keeps that thread busy: it caused every second switch between
// threads. While another thread is free, that thread finds the same work sooner. If all
// threads wait for the disk, other work waits up to 10 ms, as it does anyway in a process that
// was idle.
const (
	timerSlack = 1_000_000 // Nanoseconds; the kernel's default is 50,000.
	watchSlack = 10_000_000
)

const (
	prSetName       = 15
	prSetTimerSlack = 29
	prGetTimerSlack = 30
)

// eased reports whether this process was executed again, with watchSlack.
var eased bool

// init keeps the main goroutine on the main thread until easeTimers has run, because the
// request to end with the parent belongs to that thread. A thread inherits the slack of the
// thread that starts it: the runtime's watch thread was started before and keeps the larger
// slack; threads started from here on have the smaller one. The lock makes the runtime start a
// thread for starting others.
func init() {
	if eased = slackHere() == watchSlack; eased {
		setSlackHere(timerSlack)
		nameProcess()
	}
	runtime.LockOSThread()
}

// easeTimers executes this program again with a larger timer slack. Threads inherit the slack
// from the thread that starts them, and a program inherits it from the one before it. If that
// fails, or there is only one processor, everything stays as it was.
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
	_ = syscall.Exec("/proc/self/exe", args, os.Environ()) // Returns only if it fails.
	setSlackHere(timerSlack)
}

// easeThreads gives the smaller slack to the threads that the runtime started for goroutines
// before our code ran. holdThreads runs more goroutines than there are threads, and each holds
// its thread until all have one. The second call is for threads that were asleep for a moment
// in search of work, and for threads that they started. A thread that is missed only wakes
// later.
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

// slackHere returns the timer slack of the calling thread; 0: unknown.
func slackHere() uintptr {
	slack, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	if failed != 0 {
		return 0
	}
	return slack
}

// nameProcess gives the process, which was executed again by way of a link, the name of its file,
// as ps, top and the names of core files show it. It must run on the main thread, before others
// are started, which inherit the name.
func nameProcess() {
	file, err := os.Executable()
	if err != nil {
		return
	}
	name := append([]byte(filepath.Base(file)), 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetName, uintptr(unsafe.Pointer(&name[0])), 0) // The kernel cuts it at 15 bytes.
}

// setSlackHere sets the timer slack of the calling thread and reports whether that worked.
func setSlackHere(slack uintptr) bool {
	_, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, prSetTimerSlack, slack, 0)
	return failed == 0
}
