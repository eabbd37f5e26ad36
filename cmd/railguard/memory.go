package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// heapHeadroom is the least growth of the heap, in bytes, between two garbage collections.
	// A node with little state holds 30 MB and would collect twice a second under load, which
	// costs 5 % of its CPU. A heap of at least this size may double, as is Go's default.
	heapHeadroom = 128 << 20
	collectPer   = 100 // Percent, for large heaps: Go's default.
	collectMax   = 400
	collectEvery = 5 * time.Second
)

// paceCollector adapts the garbage collector to the size of the heap until stop is closed. It
// does nothing if GOGC is set in the environment.
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

// collectPercent returns by how many percent a heap of so many live bytes may grow.
func collectPercent(live uint64) int {
	return int(min(max(collectPer*heapHeadroom/max(live, 1), collectPer), collectMax))
}
