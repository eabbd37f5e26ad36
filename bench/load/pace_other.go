//go:build !linux

package load

import "time"

func sharpen() {}

func rest(wait time.Duration) { time.Sleep(wait) }

var started = time.Now()

// threadTime is the time since the start: only Linux tells a thread's CPU time.
func threadTime() time.Duration { return time.Since(started) }
