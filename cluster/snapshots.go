package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/hashicorp/raft"

	"railguard/cluster/recorder"
	"railguard/engine"
)

const (
	never = 24 * 365 * time.Hour
	// snapshotsAnAge is how many snapshots are taken within the age that the log may reach. So
	// none of the files that raft keeps gets older.
	snapshotsAnAge = 3
)

// compaction decides when the log is cut: by bytes, since entries are batches, and not too
// often, so that a peer that needs a snapshot can finish installing one before the next (guard
// G3).
type compaction struct {
	policy  SnapshotPolicy
	life    *life
	replica *replica
	peers   *peers
	disk    *disk

	installing *installing // While a snapshot is being installed, none is taken.

	taken *metrics.Gauge // Unix seconds.

	bytes atomic.Int64 // Bytes applied since the last snapshot.
	size  atomic.Int64 // Size of the last snapshot.
	ages  ages

	snaps raft.SnapshotStore
	// fetching is, for each member that has applied nothing yet, the newest snapshot when it was
	// first seen so: it installs that one or a newer one, and then needs the log from there on.
	// Whoever holds gate owns it.
	fetching map[raft.ServerID]uint64

	gate gate // Only one snapshot at a time.
	last time.Time

	installs    int    // Snapshots installed in a row. Owned by the apply goroutine, like installedAt.
	installedAt uint64 // Index of our last entry applied after the last of them.
}

func (c *compaction) noteApplied(index uint64, at engine.Time, size int) {
	c.bytes.Add(int64(size))
	c.ages.noteApplied(index, at, int64(size))
}

// takeWhenDue is a duty. It takes a snapshot on a goroutine of its own.
func (c *compaction) takeWhenDue(now time.Time) {
	if c.installing.underWay() {
		return
	}
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

// At overdueTimes the due bytes a node no longer waits for its turn.
const overdueTimes = 8

// mayBegin reports whether it is this node's turn. Writing a snapshot slows a disk down, and
// the disks of a quorum must not be slow together.
func (c *compaction) mayBegin() bool {
	return isSnapshotTurn(c.ages.latestTime(), engine.Time(c.policy.Interval), c.membersBefore(), int64(len(c.replica.listServers())))
}

// bytesDue returns how many bytes of log make a snapshot due. All nodes apply the same bytes,
// so each waits an eighth more than the member before it.
func (c *compaction) bytesDue() int64 {
	return c.policy.LogBytes / 8 * (8 + c.membersBefore())
}

// membersBefore returns how many members come before this one in the order of ids.
func (c *compaction) membersBefore() (before int64) {
	for _, server := range c.replica.listServers() {
		if server.ID < c.replica.self {
			before++
		}
	}
	return before
}

// takeByAge takes a snapshot, which cuts the log, several times within the age that the log may
// reach. The nodes take turns.
func (c *compaction) takeByAge() error {
	if c.installing.underWay() || !c.disk.hasRoomFor(c.size.Load()) || !c.gate.tryEnter() {
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

// takeSnapshot makes raft write a snapshot and cut the log behind it. Called with gate held.
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
	c.life.record.Note(recorder.Entry{Kind: recorder.Snapshot, Text: "taken", Term: meta.Term, Index: meta.Index, TookMs: time.Since(c.last).Milliseconds()})
	return meta, source.Close()
}

// installsMax is how many snapshots in a row a node installs without progress and without an
// entry applied in between. Some are harmless: a leader whose call timed out while a slow
// machine installed sends the same snapshot again.
const installsMax = 8

// countInstall ends a node that gets one snapshot after another and never an entry (guard G3,
// hashicorp/raft issue 697): then raft is wrong about its own log, and a start from the disk
// repairs that. commands is the last entry that was applied before the install, index is the
// snapshot's.
func (c *compaction) countInstall(commands, index uint64) {
	if !c.replica.started.Load() {
		return
	}
	snapshotsRestored.Inc()
	c.life.record.Note(recorder.Entry{Kind: recorder.Snapshot, Text: "received from the leader", Index: index})
	if c.installedAt != commands || index > c.installedAt {
		c.installs = 0
	}
	c.installs++
	if c.installs > installsMax {
		c.life.endProcess("snapshots are installed again and again without progress: restart this node")
	}
}

const (
	// trailingAge is how long a peer may be away and still find all it missed in the log.
	// trailingAgeBehind is the same while a member is behind: it should not need another
	// snapshot when it has just installed one.
	trailingAge       = 10 * engine.Minute
	trailingAgeBehind = engine.Hour
	// trailingShare is the part of the disk that the log may take, up to trailingBytesMax.
	trailingShare    = 10
	trailingBytesMax = 2048 * engine.MiB
	// behindMin is by how many entries a member must be behind to count as behind.
	behindMin = 2048
)

// keepTrailing sets how many entries raft keeps behind the next snapshot: as long as the policy
// says, longer for a member that is behind, and always within a bound of bytes and the age that
// the log may reach.
func (c *compaction) keepTrailing() {
	last := c.replica.raft.LastIndex()
	from := c.keptFrom(last, c.bytesMax(), c.furthestBehind(c.replica.otherIDs(), last))
	reload := c.replica.raft.ReloadableConfig()
	reload.TrailingLogs = max(last-min(from, last), 1)
	if err := c.replica.raft.ReloadConfig(reload); err != nil {
		c.life.log.Error("trailing log not set", "error", err)
	}
}

// keptFrom returns the index of the newest entry that the log need not have. behind is the
// index of the member that is furthest behind; 0: none is.
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

// bytesMax returns how much of the disk the log may take: little if the disk is nearly full.
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

// furthestBehind returns the applied index of that other member which has applied least, by the last
// answers. It returns 0 if that is close to the log's end. A member that never answered does
// not count, and one that still installs its first snapshot stands where that ends.
func (c *compaction) furthestBehind(others []raft.ServerID, last uint64) (behind uint64) {
	fetching := map[raft.ServerID]uint64{}
	for _, id := range others {
		sample, known := c.peers.lastSample(string(id))
		if !known {
			continue
		}
		at := sample.pong.Applied
		if at == 0 {
			if at = c.fetching[id]; at == 0 {
				at = max(newestSnapshot(c.snaps), 1)
			}
			fetching[id] = at
		}
		if at+behindMin < last && (behind == 0 || at < behind) {
			behind = at
		}
	}
	c.fetching = fetching
	return behind
}

// isSnapshotTurn reports whether this node may begin a snapshot at a moment of log time. The
// members, in the order of their ids, divide the time between two snapshots among them, and
// each begins in the first half of its part. If a part is shorter than two looks at the clock,
// it is always this node's turn.
func isSnapshotTurn(now, interval engine.Time, place, members int64) bool {
	part := interval / engine.Time(max(members, 1))
	if members < 2 || part < 2*engine.Time(tickEvery) {
		return true
	}
	within := now%(part*engine.Time(members)) - part*engine.Time(place)
	return within >= 0 && within < max(part/2, engine.Time(tickEvery)*2)
}
