package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapHeadroom is how much a heap may grow at least before garbage is collected. A node
	// with little state holds 30 MB and would collect twice a second under load: one
	// twentieth of its CPU. From this size on a heap may double, as Go has it.
	heapHeadroom = 128 << 20
	collectPer   = 100 // Percent, of large heaps: Go's own.
	collectMax   = 400
	collectEvery = 5 * time.Second
)

// paceCollector fits the garbage collector to the size of the heap until stop, unless
// whoever started this process has set GOGC.
func paceCollector(stop <-chan struct{}) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	set := collectPer
	for {
		metrics.Read(live)
		if want := collectPercent(live[0].Value.Uint64()); want*10 > set*11 || want*11 < set*10 {
			debug.SetGCPercent(want)
			set = want
		}
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
	}
}

// collectPercent is by how much a heap of so many live bytes may grow.
func collectPercent(live uint64) int {
	return int(min(max(collectPer*heapHeadroom/max(live, 1), collectPer), collectMax))
}
