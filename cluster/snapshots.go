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

func (c *compaction) noteApplied(index uint64, at engine.Time, size int) {
	c.bytes.Add(int64(size))
	c.ages.noteApplied(index, at, int64(size))
}

// takeWhenDue is a duty. The snapshot itself runs beside the duties.
func (c *compaction) takeWhenDue(now time.Time) {
	overdue := c.bytes.Load() >= overdueTimes*c.bytesDue()
	if c.bytes.Load() < c.bytesDue() || !overdue && !c.mayBegin() || !c.disk.hasRoomFor(c.size.Load()) || !c.gate.tryEnter() {
		return
	}
	if now.Sub(c.last) < c.policy.Interval {
		c.gate.leaveGate()
		return
	}
	c.life.running.Add(1)
	go func() {
		defer c.life.running.Done()
		defer c.gate.leaveGate()
		if _, err := c.takeSnapshot(); err != nil {
			c.life.log.Error("snapshot not taken", "error", err)
		}
	}()
}

// overdueTimes what is due, no node waits for its turn any longer.
const overdueTimes = 8

// mayBegin reports whether it is this node's turn: writing a snapshot slows a disk down,
// and a quorum's disks are not to be slow together.
func (c *compaction) mayBegin() bool {
	return isSnapshotTurn(c.ages.latestTime(), engine.Time(c.policy.Interval), c.membersBefore(), int64(len(c.replica.listServers())))
}

// bytesDue is how many bytes of log make a snapshot due. All nodes apply the same bytes, so
// each waits an eighth more than the member before it.
func (c *compaction) bytesDue() int64 {
	return c.policy.LogBytes / 8 * (8 + c.membersBefore())
}

// membersBefore is how many members stand before this one in the order of ids.
func (c *compaction) membersBefore() (before int64) {
	for _, server := range c.replica.listServers() {
		if server.ID < c.replica.self {
			before++
		}
	}
	return before
}

// takeByAge takes a snapshot, and so has the log cut, some times within the age the
// log may reach. The nodes' turns come one after the other.
func (c *compaction) takeByAge() error {
	if !c.disk.hasRoomFor(c.size.Load()) || !c.gate.tryEnter() {
		return nil
	}
	defer c.gate.leaveGate()
	every := max(c.policy.LogAge/snapshotsAnAge, 1)
	turn := every / engine.Time(len(c.replica.listServers())+1) * engine.Time(c.membersBefore())
	if (c.ages.latestTime()+turn)/every <= (engine.Time(c.ages.snapshot.Load())+turn)/every {
		return nil
	}
	_, err := c.takeSnapshot()
	return err
}

// takeSnapshot has raft write a snapshot and cut the log behind it. Called with
// gate held.
func (c *compaction) takeSnapshot() (*raft.SnapshotMeta, error) {
	c.last = time.Now()
	now := c.ages.latestTime()
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

// installsMax is how many snapshots in a row a node installs that bring it no further,
// without applying an entry in between. A leader whose call ran out of time while a slow
// machine installed sends the same one again: that is no harm, and heals.
const installsMax = 8

// countInstall ends a node that gets one snapshot after another and never an entry
// (guard G3, hashicorp/raft issue 697): raft has a wrong idea of its own log then,
// and a start from the disk mends that. Commands is the last entry that was applied
// before the install, index the snapshot's.
func (c *compaction) countInstall(commands, index uint64) {
	if !c.replica.started.Load() {
		return
	}
	snapshotsRestored.Inc()
	if c.installedAt != commands || index > c.installedAt {
		c.installs = 0
	}
	c.installs++
	if c.installs > installsMax {
		c.life.endProcess("snapshots are installed again and again without progress: restart this node")
	}
}

const (
	// trailingAge is how long a peer may be away and still find all it missed in the log;
	// trailingAgeBehind the same while a member is behind: it is not to need a snapshot
	// anew when it has just installed one.
	trailingAge       = 10 * engine.Minute
	trailingAgeBehind = engine.Hour
	// trailingShare of the disk is what the log may take, and trailingBytesMax.
	trailingShare    = 10
	trailingBytesMax = 2048 * engine.MiB
	// behindMin is by how many entries a member is behind to count as that.
	behindMin = 2048
)

// keepTrailing has raft keep so much log behind the next snapshot, in entries: as long
// as the policy says, longer for a member that is behind, and in any case within a
// bound of bytes and the age the log may reach.
func (c *compaction) keepTrailing() {
	last := c.replica.raft.LastIndex()
	from := c.keptFrom(last, c.bytesMax(), c.furthestBehind(last))
	reload := c.replica.raft.ReloadableConfig()
	reload.TrailingLogs = max(last-min(from, last), 1)
	if err := c.replica.raft.ReloadConfig(reload); err != nil {
		c.life.log.Error("trailing log not set", "error", err)
	}
}

// keptFrom is the index of the newest entry that the log need not have. behind is how far
// the member is that is furthest behind; 0: none is.
func (c *compaction) keptFrom(last uint64, bytesMax int64, behind uint64) uint64 {
	from := c.ages.indexBefore(c.policy.TrailingAge)
	if behind > 0 {
		from = min(from, max(behind, c.ages.indexBefore(trailingAgeBehind)))
	}
	from = max(from, c.ages.indexBeyond(bytesMax))
	from = min(from, last-min(last, trailingEntriesMin))
	from = max(from, last-min(last, trailingEntriesMax))
	return max(from, c.ages.indexBefore(c.policy.LogAge))
}

// bytesMax is what the log may take on the disk: little on one that is nearly full.
func (c *compaction) bytesMax() int64 {
	bytes := c.policy.TrailingBytes
	if bytes == 0 {
		bytes = trailingBytesMax
		if total := c.disk.total.Load(); total > 0 {
			bytes = min(bytes, total/trailingShare)
		}
	}
	if c.disk.isLow() {
		bytes = min(bytes, c.policy.LogBytes)
	}
	return bytes
}

// furthestBehind is how far the member is that has applied least, by what each said
// last, where that is well behind the log's end; 0: none is. A member that never
// answered says nothing.
func (c *compaction) furthestBehind(last uint64) (behind uint64) {
	for _, id := range c.replica.otherIDs() {
		sample, known := c.peers.lastSample(string(id))
		if applied := sample.pong.Applied; known && applied > 0 && applied+behindMin < last && (behind == 0 || applied < behind) {
			behind = applied
		}
	}
	return behind
}

// isSnapshotTurn says whether a moment of log time is one at which this node may begin a snapshot:
// the members, in the order of their ids, divide the time between two snapshots among
// them, and each begins in the first half of its part. Where a part is shorter than two
// looks at the clock, it is always.
func isSnapshotTurn(now, interval engine.Time, place, members int64) bool {
	part := interval / engine.Time(max(members, 1))
	if members < 2 || part < 2*engine.Time(tickEvery) {
		return true
	}
	within := now%(part*engine.Time(members)) - part*engine.Time(place)
	return within >= 0 && within < max(part/2, engine.Time(tickEvery)*2)
}
