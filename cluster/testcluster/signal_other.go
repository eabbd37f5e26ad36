//go:build !unix

package testcluster

import "os"

// No process can be paused here; os.Process.Signal says so.
var (
	SignalPause  os.Signal = os.Interrupt
	SignalResume os.Signal = os.Interrupt
	SignalEnd    os.Signal = os.Interrupt
)

// CanPause tells that SignalPause pauses a process here.
const CanPause = false
