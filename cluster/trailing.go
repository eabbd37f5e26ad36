package cluster

import (
	"railguard/engine"
)

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
	from := c.ages.before(c.policy.TrailingAge)
	if behind > 0 {
		from = min(from, max(behind, c.ages.before(trailingAgeBehind)))
	}
	from = max(from, c.ages.beyond(bytesMax))
	from = min(from, last-min(last, trailingEntriesMin))
	from = max(from, last-min(last, trailingEntriesMax))
	return max(from, c.ages.before(c.policy.LogAge))
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
	if c.disk.low() {
		bytes = min(bytes, c.policy.LogBytes)
	}
	return bytes
}

// furthestBehind is how far the member is that has applied least, by what each said
// last, where that is well behind the log's end; 0: none is. A member that never
// answered says nothing.
func (c *compaction) furthestBehind(last uint64) (behind uint64) {
	for _, id := range c.replica.others() {
		sample, known := c.peers.last(string(id))
		if applied := sample.pong.Applied; known && applied > 0 && applied+behindMin < last && (behind == 0 || applied < behind) {
			behind = applied
		}
	}
	return behind
}

// turn says whether a moment of log time is one at which this node may begin a snapshot:
// the members, in the order of their ids, divide the time between two snapshots among
// them, and each begins in the first half of its part. Where a part is shorter than two
// looks at the clock, it is always.
func turn(now, interval engine.Time, place, members int64) bool {
	part := interval / engine.Time(max(members, 1))
	if members < 2 || part < 2*engine.Time(tickEvery) {
		return true
	}
	within := now%(part*engine.Time(members)) - part*engine.Time(place)
	return within >= 0 && within < max(part/2, engine.Time(tickEvery)*2)
}
