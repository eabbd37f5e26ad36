package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
)

const (
	never = 24 * 365 * time.Hour
)

// compaction decides when the log is cut: by bytes, since entries are batches,
// and not too often, so that a peer that needs a snapshot can finish installing
// one before the next (guard G3).
type compaction struct {
	bytes   atomic.Int64 // Applied since the last snapshot.
	entries atomic.Int64

	gate gate // One snapshot at a time.
	last time.Time
}

func (c *compaction) applied(size int) {
	c.bytes.Add(int64(size))
	c.entries.Add(1)
}

// compactWhenDue is a duty. The snapshot itself runs beside the duties.
func (n *Node) compactWhenDue(now time.Time) {
	c := &n.compaction
	if c.bytes.Load() < n.compactionDue() || n.disk.low() || !c.gate.tryEnter() {
		return
	}
	if now.Sub(c.last) < n.config.Snapshot.Interval {
		c.gate.leave()
		return
	}
	n.life.running.Add(1)
	go func() {
		defer n.life.running.Done()
		defer c.gate.leave()
		if _, err := n.takeSnapshot(); err != nil {
			n.log.Error("snapshot not taken", "error", err)
		}
	}()
}

// compactionDue is how many bytes of log make a snapshot due. All nodes apply the
// same bytes, so each waits an eighth more than the member before it: writing a
// snapshot slows a disk down, and a quorum's disks are not to be slow together.
func (n *Node) compactionDue() int64 {
	before := int64(0)
	for _, server := range n.replica.servers() {
		if string(server.ID) < n.config.ID {
			before++
		}
	}
	return n.config.Snapshot.LogBytes / 8 * (8 + before)
}

// takeSnapshot has raft write a snapshot and cut the log behind it. Called with
// compaction.gate held.
func (n *Node) takeSnapshot() (*raft.SnapshotMeta, error) {
	c := &n.compaction
	c.last = time.Now()
	bytes, entries := c.bytes.Load(), c.entries.Load()
	n.keepTrailing(bytes, entries)
	future := n.replica.raft.Snapshot()
	if err := future.Error(); err != nil {
		snapshotErrors.Inc()
		return nil, err
	}
	c.bytes.Add(-bytes)
	c.entries.Add(-entries)
	snapshotsTaken.Inc()
	snapshotSeconds.UpdateDuration(c.last)
	n.gauges.snapshotTime.Set(float64(time.Now().Unix()))
	meta, source, err := future.Open()
	if err != nil {
		return nil, fmt.Errorf("snapshot cannot be opened again: %w", err)
	}
	return meta, source.Close()
}

// installsMax is how many snapshots in a row a node installs without applying an
// entry in between.
const installsMax = 3

// countInstall ends a node that gets one snapshot after another and never an entry
// (guard G3, hashicorp/raft issue 697): raft has a wrong idea of its own log then,
// and a start from the disk mends that.
func (n *Node) countInstall() {
	if !n.replica.started.Load() {
		return
	}
	snapshotsRestored.Inc()
	commands := n.commands.Load()
	if n.installedAt != commands {
		n.installs = 0
	}
	n.installs++
	if n.installs > installsMax {
		n.life.die("snapshots are installed again and again without progress: restart this node")
	}
}

// dropSupersededLog finishes what a kill in the middle of installing a snapshot left
// (guard G3): the snapshot stands and the log before it too, all or in part. Raft
// cuts it only while it installs. Entries that a former leader never got committed
// may be among them, and the log would go on behind a hole.
func (n *Node) dropSupersededLog(store *datadir.Guarded) error {
	metas, err := n.snaps.List()
	if err != nil || len(metas) == 0 {
		return err
	}
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil || last == 0 || last >= metas[0].Index {
		return err
	}
	_, source, err := n.snaps.Open(metas[0].ID)
	if err != nil {
		return nil //nolint:nilerr // Raft starts from an older one, and needs these entries.
	}
	if err := source.Close(); err != nil {
		return err
	}
	n.log.Warn("the log ends before the snapshot that was being installed: it is cut", "last", last, "snapshot", metas[0].Index)
	return store.DeleteRange(first, last)
}

// keepTrailing turns the bytes of log to keep into raft's count of entries.
func (n *Node) keepTrailing(bytes, entries int64) {
	if entries == 0 {
		return
	}
	reload := n.replica.raft.ReloadableConfig()
	wanted := n.config.Snapshot.TrailingBytes / max(bytes/entries, 1)
	reload.TrailingLogs = uint64(min(max(wanted, trailingEntriesMin), trailingEntriesMax))
	if err := n.replica.raft.ReloadConfig(reload); err != nil {
		n.log.Error("trailing log not set", "error", err)
	}
}
