package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestServeBeginsWithEasedTimers: a process that serves has the slack, is the same
// process, and still ends with its parent; one that does something else is left alone.
func TestServeBeginsWithEasedTimers(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: timers are left alone")
	}
	for verb, want := range map[string]string{"serve": "1000000", "status": "50000"} {
		child := exec.Command(os.Args[0], verb, "arg with spaces")
		child.Env = append(os.Environ(), "RAILGUARD_TEST_TIMERS=1")
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGUSR1}
		out, err := child.Output()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%s %d %d [%s arg with spaces]", want, syscall.SIGUSR1, child.Process.Pid, verb), string(out))
	}
}

// init is that child.
func init() {
	if os.Getenv("RAILGUARD_TEST_TIMERS") == "" {
		return
	}
	easeTimers(os.Args)
	runtime.LockOSThread()
	slack, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	var signal int32
	const prGetDeathSignal = 2
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prGetDeathSignal, uintptr(unsafe.Pointer(&signal)), 0)
	fmt.Printf("%d %d %d %v", slack, signal, os.Getpid(), os.Args[1:])
	os.Exit(0)
}
