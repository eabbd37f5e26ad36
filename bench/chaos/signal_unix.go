//go:build unix

package chaos

import (
	"os"
	"syscall"
)

// The signals that stop a process in its tracks and let it go on.
var (
	signalPause  os.Signal = syscall.SIGSTOP
	signalResume os.Signal = syscall.SIGCONT
	signalEnd    os.Signal = syscall.SIGTERM
)
