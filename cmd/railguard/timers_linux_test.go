package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestServeBeginsWithEasedTimers: a serving process has timerSlack, is still the same process,
// and ends with its parent. Other verbs keep their slack.
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

// TestWatchHasTheLargerSlack: in an eased process the runtime's watch thread may be later than
// the others. One other thread may have been missed and be as late.
func TestWatchHasTheLargerSlack(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: timers are left alone")
	}
	child := exec.Command(os.Args[0], "serve")
	child.Env = append(os.Environ(), "RAILGUARD_TEST_TIMERS=held")
	hold, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = out.Read(make([]byte, 512)) // The process has been executed again and its slack is final.
	require.NoError(t, err)
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", child.Process.Pid))
	require.NoError(t, err)
	slacks := make(map[string]int)
	for _, thread := range threads {
		slack, err := os.ReadFile(filepath.Join("/proc", thread.Name(), "timerslack_ns"))
		if errors.Is(err, os.ErrPermission) {
			t.Skip("the slack of another process may not be read here")
		}
		require.NoError(t, err)
		slacks[strings.TrimSpace(string(slack))]++
	}
	require.Len(t, slacks, 2, "%v", slacks)
	require.Contains(t, slacks, strconv.Itoa(watchSlack))
	require.GreaterOrEqual(t, slacks[strconv.Itoa(timerSlack)], 4, "%v", slacks)
	require.NoError(t, hold.Close())
	require.NoError(t, child.Wait())
}

// init turns the test binary into that child process.
func init() {
	if os.Getenv("RAILGUARD_TEST_TIMERS") == "" {
		return
	}
	easeTimers(os.Args)
	if os.Getenv("RAILGUARD_TEST_TIMERS") == "held" {
		fmt.Println("begun")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	runtime.LockOSThread()
	slack, _, _ := syscall.RawSyscall(syscall.SYS_PRCTL, prGetTimerSlack, 0, 0)
	var signal int32
	const prGetDeathSignal = 2
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prGetDeathSignal, uintptr(unsafe.Pointer(&signal)), 0)
	fmt.Printf("%d %d %d %v", slack, signal, os.Getpid(), os.Args[1:])
	os.Exit(0)
}
