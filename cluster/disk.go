package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"railguard/cluster/recorder"
	"railguard/engine"
)

// diskLevel says how much room is left (decision 59).
type diskLevel int32

const (
	diskFine diskLevel = iota
	diskWarn
	diskLow  // The node takes no leadership. If no voter has more room, it takes no writes either.
	diskFull // The node stops while there is still room to stop cleanly.
)

// disk is the last look at the data folder's file system.
type disk struct {
	life *life
	dir  string
	free func(dir string) (free, total uint64, err error)

	level   atomic.Int32
	percent atomic.Int32 // Free percent, 0 to 100; -1: not known.
	bytes   atomic.Int64 // Free bytes.
	total   atomic.Int64 // Bytes; 0: not known.
	spare   atomic.Int64 // Bytes above the mark at which this node stops.
}

// levelOf judges free space. Each mark is a share of the disk or a fixed size, whichever is
// less.
func levelOf(free, total uint64) diskLevel {
	mark := func(percent, bytes uint64) bool { return free < min(total/100*percent, bytes) }
	switch {
	case mark(5, 256*engine.MiB):
		return diskFull
	case mark(10, 1024*engine.MiB):
		return diskLow
	case mark(20, 5*1024*engine.MiB):
		return diskWarn
	}
	return diskFine
}

// watchDisk is the goroutine that watches the disk.
func (d *disk) watchDisk() {
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		d.checkSpace()
		select {
		case <-d.life.stop:
			return
		case <-ticker.C:
		}
	}
}

// checkSpace measures the free space, and logs a new level or ends the node.
func (d *disk) checkSpace() {
	free, total, err := d.free(d.dir)
	if err != nil || total == 0 {
		d.percent.Store(-1)
		d.life.log.Error("free space of the data folder is not known", "error", err)
		return
	}
	d.percent.Store(int32(float64(free) / float64(total) * 100))
	d.bytes.Store(int64(free))
	d.total.Store(int64(total))
	level := levelOf(free, total)
	d.spare.Store(int64(free) - int64(min(total/100*5, 256*engine.MiB)))
	before := diskLevel(d.level.Swap(int32(level)))
	if level == before {
		return
	}
	d.life.note(recorder.Disk, fmt.Sprintf("%d of %d MiB free", free/engine.MiB, total/engine.MiB))
	switch level {
	case diskFull:
		d.life.endProcess(fmt.Sprintf("disk full: %d of %d bytes free under %s: make room, then start again", free, total, d.dir))
	case diskLow:
		d.life.log.Error("disk nearly full: this node takes no leadership, and no writes where no voter has room", "freeBytes", free)
	case diskWarn:
		d.life.log.Warn("disk is getting full", "freeBytes", free)
	case diskFine:
		d.life.log.Info("disk has room again", "freeBytes", free)
	}
}

// hasRoomFor reports whether a file of so many bytes may be written. On a nearly full disk it may
// use the room above the mark at which the node stops: on such a disk the snapshot by which the
// log is cut is needed most.
func (d *disk) hasRoomFor(bytes int64) bool { return !d.isLow() || bytes < d.spare.Load() }

// setDiskMetrics shows the free space in the metrics; -1 means that it is not known.
func (d *disk) setDiskMetrics(g *gauges) {
	percent := d.percent.Load()
	if percent < 0 {
		g.diskFree.Set(-1)
		g.diskBytes.Set(-1)
		g.diskLevel.Set(-1)
		return
	}
	g.diskFree.Set(float64(percent) / 100)
	g.diskBytes.Set(float64(d.bytes.Load()))
	g.diskLevel.Set(float64(d.level.Load()))
}

func (d *disk) isLow() bool { return diskLevel(d.level.Load()) >= diskLow }
