//go:build !linux

package load

import "time"

func sharpen() {}

func rest(wait time.Duration) { time.Sleep(wait) }

var started = time.Now()

// threadTime: only Linux tells a thread's own; elsewhere it is the clock's.
func threadTime() time.Duration { return time.Since(started) }
