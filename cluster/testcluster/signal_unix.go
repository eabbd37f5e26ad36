//go:build unix

package testcluster

import (
	"os"
	"syscall"
)

// The signals that pause a process and let it go on.
var (
	SignalPause  os.Signal = syscall.SIGSTOP
	SignalResume os.Signal = syscall.SIGCONT
	SignalEnd    os.Signal = syscall.SIGTERM
)

// CanPause tells that SignalPause pauses a process here.
const CanPause = true
