package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/hashicorp/raft"

	"railguard/engine"
)

const (
	never = 24 * 365 * time.Hour
	// snapshotsAnAge is how many snapshots are taken within the age that the log may
	// reach: none of the files that raft keeps is older then.
	snapshotsAnAge = 3
)

// compaction decides when the log is cut: by bytes, since entries are batches,
// and not too often, so that a peer that needs a snapshot can finish installing
// one before the next (guard G3).
type compaction struct {
	policy  SnapshotPolicy
	life    *life
	replica *replica
	peers   *peers
	disk    *disk
	taken   *metrics.Gauge // Unix seconds.

	bytes atomic.Int64 // Applied since the last snapshot.
	size  atomic.Int64 // Of the last snapshot.
	ages  ages

	gate gate // One snapshot at a time.
	last time.Time

	installs    int    // Snapshots in a row. Of the apply goroutine, like installedAt.
	installedAt uint64 // Index of the last entry of our own kind after the last of them.
}

func (c *compaction) applied(index uint64, at engine.Time, size int) {
	c.bytes.Add(int64(size))
	c.ages.applied(index, at, int64(size))
}

// takeWhenDue is a duty. The snapshot itself runs beside the duties.
func (c *compaction) takeWhenDue(now time.Time) {
	overdue := c.bytes.Load() >= overdueTimes*c.due()
	if c.bytes.Load() < c.due() || !overdue && !c.mayBegin() || !c.disk.fits(c.size.Load()) || !c.gate.tryEnter() {
		return
	}
	if now.Sub(c.last) < c.policy.Interval {
		c.gate.leave()
		return
	}
	c.life.running.Add(1)
	go func() {
		defer c.life.running.Done()
		defer c.gate.leave()
		if _, err := c.take(); err != nil {
			c.life.log.Error("snapshot not taken", "error", err)
		}
	}()
}

// overdueTimes what is due, no node waits for its turn any longer.
const overdueTimes = 8

// mayBegin reports whether it is this node's turn: writing a snapshot slows a disk down,
// and a quorum's disks are not to be slow together.
func (c *compaction) mayBegin() bool {
	return turn(c.ages.now(), engine.Time(c.policy.Interval), c.membersBefore(), int64(len(c.replica.servers())))
}

// due is how many bytes of log make a snapshot due. All nodes apply the same bytes, so
// each waits an eighth more than the member before it.
func (c *compaction) due() int64 {
	return c.policy.LogBytes / 8 * (8 + c.membersBefore())
}

// membersBefore is how many members stand before this one in the order of ids.
func (c *compaction) membersBefore() (before int64) {
	for _, server := range c.replica.servers() {
		if server.ID < c.replica.self {
			before++
		}
	}
	return before
}

// takeByAge takes a snapshot, and so has the log cut, some times within the age the
// log may reach. The nodes' turns come one after the other.
func (c *compaction) takeByAge() error {
	if !c.disk.fits(c.size.Load()) || !c.gate.tryEnter() {
		return nil
	}
	defer c.gate.leave()
	every := max(c.policy.LogAge/snapshotsAnAge, 1)
	turn := every / engine.Time(len(c.replica.servers())+1) * engine.Time(c.membersBefore())
	if (c.ages.now()+turn)/every <= (engine.Time(c.ages.snapshot.Load())+turn)/every {
		return nil
	}
	_, err := c.take()
	return err
}

// take has raft write a snapshot and cut the log behind it. Called with
// gate held.
func (c *compaction) take() (*raft.SnapshotMeta, error) {
	c.last = time.Now()
	now := c.ages.now()
	bytes := c.bytes.Load()
	c.keepTrailing()
	future := c.replica.raft.Snapshot()
	if err := future.Error(); err != nil {
		snapshotErrors.Inc()
		return nil, err
	}
	c.ages.snapshot.Store(int64(now))
	c.bytes.Add(-bytes)
	snapshotsTaken.Inc()
	snapshotSeconds.Observe(time.Since(c.last))
	c.taken.Set(float64(time.Now().Unix()))
	meta, source, err := future.Open()
	if err != nil {
		return nil, fmt.Errorf("snapshot cannot be opened again: %w", err)
	}
	c.size.Store(meta.Size)
	return meta, source.Close()
}

// installsMax is how many snapshots in a row a node installs without applying an
// entry in between.
const installsMax = 3

// countInstall ends a node that gets one snapshot after another and never an entry
// (guard G3, hashicorp/raft issue 697): raft has a wrong idea of its own log then,
// and a start from the disk mends that.
func (c *compaction) countInstall(commands uint64) {
	if !c.replica.started.Load() {
		return
	}
	snapshotsRestored.Inc()
	if c.installedAt != commands {
		c.installs = 0
	}
	c.installs++
	if c.installs > installsMax {
		c.life.die("snapshots are installed again and again without progress: restart this node")
	}
}
