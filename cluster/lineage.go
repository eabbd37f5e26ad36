package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// The lineage tells the members of a recovered group from those of the group before the
// recovery, which have the same cluster id, secret and names, and may come back. It is in
// node.json and in every hello and welcome. Nodes of two lineages never talk. If a node that
// proved the secret shows that the group was recovered without this node, this node stops for
// good: the two halves must not serve side by side. A node behind which a majority stands does
// not: its group lives, so the other was made by mistake, or by a thief of the secret. It refuses
// the other, says so in its status, and goes on until a person decides (decision 117).

// lineage is what a running node records of recoveries.
type lineage struct {
	id      string
	dataDir string
	log     *slog.Logger
	life    *life
	folder  *datadir.Folder
	replica *replica

	// lives reports whether a majority stands behind this node: it applies entries as they come,
	// or a member of its lineage says that it stays.
	lives     func() bool
	outranked atomic.Pointer[string] // A group was recovered without this node; nil: none that this process has met.
	stays     atomic.Bool            // And this node stays nevertheless.

	record  *datadir.Record // nil: no recovery was begun on this folder.
	waiting atomic.Bool     // The leaf of the recovery is not in the log yet.

	mu       sync.Mutex
	told     time.Time // When a stranger was last logged.
	stranger string    // What was last said of one.
	met      time.Time // When.
}

const (
	probePatience     = time.Second
	strangerToldEvery = 10 * time.Second
	yieldAfter        = 2 * time.Second // How long a node that was left behind looks for a majority of its own.
	strangerShown     = 5 * time.Minute // How long the status warns of a node of another recovery after it was met.
)

var errStranger = errors.New("cluster: the node is of another recovery of this cluster")

// errLeafDue is the answer to a node that would join before the recovery is on record.
var errLeafDue = errors.New("cluster: this recovered node has not written down its recovery yet: try again")

// openLineage refuses a folder on which no node may start.
func openLineage(dataDir, id string, folder *datadir.Folder, r *replica, l *life) (*lineage, error) {
	if reason := folder.Identity().Superseded; reason != "" {
		return nil, fmt.Errorf("cluster: data folder %s was left behind: %s", dataDir, reason)
	}
	record, err := datadir.ReadRecord(dataDir)
	if err != nil {
		return nil, err
	}
	if record.Begun() {
		return nil, fmt.Errorf("cluster: a recovery of data folder %s was begun at %s and not finished: run `railguard cluster recover` on it again",
			dataDir, record.DecidedAt)
	}
	k := &lineage{id: id, dataDir: dataDir, log: l.log, life: l, folder: folder, replica: r, record: record}
	k.waiting.Store(record.Waits())
	return k, nil
}

// fillHello fills a hello with the cluster and lineage in this node's folder. A node that has
// not applied its log yet takes its cluster id from there too.
func (k *lineage) fillHello(h *port.Hello) {
	clusterID, recovery, line := k.folder.Known()
	if h.ClusterID == "" {
		h.ClusterID = clusterID
	}
	h.Recovery, h.Lineage = recovery, line
	h.Recorded = line != "" && k.isRecorded()
}

// isRecorded reports whether this node's recovery or restore can no longer be given up: its leaf is
// in the log, and the node has started.
func (k *lineage) isRecorded() bool { return !k.waiting.Load() && k.folder.Identity().Restored == nil }

// refuseStranger returns why two nodes must not talk to each other, or "". A node without data
// may talk to everybody: it will be of the group that takes it in.
func (k *lineage) refuseStranger(own, other *port.Hello) string {
	fresh := func(h *port.Hello) bool { return h.ClusterID == "" && h.Lineage == "" }
	switch {
	case own.Lineage == other.Lineage:
		return ""
	case fresh(other), fresh(own) && len(k.replica.listServers()) == 0:
		return ""
	case own.Recovery > other.Recovery:
		return leftBehind(other.ID, own)
	case own.Recovery < other.Recovery:
		return leftBehind(own.ID, other)
	}
	return fmt.Sprintf("cluster %s was recovered twice, from different survivors: node %q is of recovery %d/%s, node %q of %d/%s. Decide which one stays, stop the others, keep their folders aside, and let them join it with empty ones",
		own.ClusterID, own.ID, own.Recovery, own.Lineage, other.ID, other.Recovery, other.Lineage)
}

func leftBehind(id string, by *port.Hello) string {
	return fmt.Sprintf("cluster %s was recovered without node %q (recovery %d, lineage %s): what %q has decided since is not part of it. Find out which of the two is the right one; if not %q, stop it, keep its data folder aside, and let it join anew with an empty one",
		by.ClusterID, id, by.Recovery, by.Lineage, id, id)
}

// judgeLineage judges another node by its lineage. A node without data takes the lineage of
// the group that speaks raft with it.
func (k *lineage) judgeLineage(own, other *port.Hello, protocol byte) string {
	stranger := k.refuseStranger(own, other)
	switch {
	case stranger != "":
		k.tellStranger(stranger)
		k.yieldTo(own, other)
	case protocol == port.ProtocolRaft && own.Lineage == "" && other.Lineage != "":
		if err := k.folder.Inherit(other.Recovery, other.Lineage); err != nil {
			return fmt.Sprintf("node %q cannot write down of which recovery it is: %v", own.ID, err)
		}
	}
	return stranger
}

// refusesKin judges a dialler by its lineage, and reports whether it is refused.
func (k *lineage) refusesKin(own, h *port.Hello, protocol byte, w *port.Welcome) bool {
	w.Refused = k.judgeLineage(own, h, protocol)
	return w.Refused != ""
}

func (k *lineage) tellStranger(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stranger, k.met = what, time.Now()
	if time.Since(k.told) >= strangerToldEvery {
		k.told = time.Now()
		k.log.Error("nodes of two recoveries meet", "reason", what)
	}
}

// strangerLately returns what was said of a node of another recovery that was met lately, or "".
func (k *lineage) strangerLately() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.met.IsZero() || time.Since(k.met) > strangerShown {
		return ""
	}
	return k.stranger
}

// yieldTo hears of a group that was recovered without this node, if that recovery is on record:
// before, it could still be given up. Until it is settled which of the two groups lives, this
// node opens no term.
func (k *lineage) yieldTo(own, other *port.Hello) {
	if own.ClusterID != other.ClusterID || other.Recovery <= own.Recovery || !other.Recorded {
		return
	}
	reason := leftBehind(own.ID, other)
	if !k.outranked.CompareAndSwap(nil, &reason) || k.maySpeak() {
		return
	}
	k.life.running.Go(func() {
		timer := time.NewTimer(yieldAfter)
		defer timer.Stop()
		select {
		case <-k.life.stop:
		case <-timer.C:
			k.yieldNow(reason)
		}
	})
}

// maySpeak reports whether this node may open a term and goes on: no group was recovered without
// it, or a majority stands or stood behind it or a member of its group since. The first such
// answer after a meeting holds as long as the process lives.
func (k *lineage) maySpeak() bool {
	if k.outranked.Load() == nil || k.stays.Load() {
		return true
	}
	if k.lives() {
		k.stays.Store(true)
	}
	return k.stays.Load()
}

// yieldNow ends this node, unless its group lives.
func (k *lineage) yieldNow(reason string) {
	if k.maySpeak() {
		return
	}
	if err := k.folder.Supersede(reason); err != nil {
		k.log.Error("not written down that this node was left behind", "error", err)
	}
	k.life.endProcess(reason)
}

// recordRecovery writes the leaf of a recovery as the first record of the recovered group,
// before any other record is taken.
func (s *sequencer) recordRecovery(term uint64) bool {
	k := s.lineage
	if !k.waiting.Load() {
		return true
	}
	note, err := noteOf(k.record)
	if err != nil {
		k.life.endProcess("BUG: the leaf of the recovery cannot be made: " + err.Error())
		return false
	}
	result, done := s.proposeOne(term, wire.KindNote, wire.Encode(note))
	if !done {
		return false
	}
	if result.Code != wire.Applied && result.Code != wire.Replayed {
		k.life.endProcess(fmt.Sprintf("the state machine refuses the leaf of the recovery (%d, %d): this node serves nothing without it", result.Code, result.Refusal))
		return false
	}
	return k.noteRecorded(result.Leaf)
}

// noteRecorded records on disk that the leaf is in the log. leaf is 0 if another node wrote it.
func (k *lineage) noteRecorded(leaf uint64) bool {
	if !k.waiting.Load() {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.waiting.Load() {
		return true
	}
	record := *k.record
	record.State, record.Leaf = datadir.RecoveryRecorded, leaf
	if err := record.Save(k.dataDir); err != nil {
		k.life.endProcess("disk failed: " + datadir.RecoveryFile + ": " + err.Error())
		return false
	}
	k.waiting.Store(false)
	k.log.Warn("the recovery of this cluster is on record", "leaf", leaf, "lineage", record.Lineage)
	return true
}
