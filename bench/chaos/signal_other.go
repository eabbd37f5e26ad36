//go:build !unix

package chaos

import "os"

// No process can be paused here; os.Process.Signal says so.
var (
	signalPause  os.Signal = os.Interrupt
	signalResume os.Signal = os.Interrupt
	signalEnd    os.Signal = os.Interrupt
)
