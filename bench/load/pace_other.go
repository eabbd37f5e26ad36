//go:build !linux

package load

import "time"

func sharpen() {}

func rest(wait time.Duration) { time.Sleep(wait) }
