package load

import (
	"syscall"
	"time"
)

const setTimerSlack = 29 // PR_SET_TIMERSLACK

// sharpen lets the calling thread sleep to the microsecond.
func sharpen() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0) // Without this call the slack is 50 µs.
}

// rest sleeps on the thread. The runtime's timers are only good to a millisecond in an
// idle process, which would count as the service's latency.
func rest(wait time.Duration) {
	t := syscall.NsecToTimespec(int64(wait))
	_ = syscall.Nanosleep(&t, nil) // A signal may wake it, and the call is sent early. Signals are rare.
}

const ofThread = 1 // RUSAGE_THREAD

// threadTime is the CPU time of the calling thread so far.
func threadTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(ofThread, &u); err != nil {
		panic("FATAL: the system does not tell a thread's CPU time: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
