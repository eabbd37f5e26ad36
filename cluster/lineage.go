package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// The lineage tells the members of a recovered group from those of the group as it
// was before, who have the same cluster id, secret and names, and may come back. It
// is in node.json and in every hello and welcome. Nodes of two lineages never
// talk. A node that hears, from one that proved the secret, that its group was
// recovered without it stops for good: the two halves must not serve side by side.

// lineageKeeper is what a running node knows of recoveries.
type lineageKeeper struct {
	record  *datadir.Record // nil: none was begun on this folder.
	waiting atomic.Bool     // Its leaf is not in the log yet.

	mu   sync.Mutex
	told time.Time // When a stranger was last logged.
}

const (
	probePatience     = time.Second
	strangerToldEvery = 10 * time.Second
)

var errStranger = errors.New("cluster: the node is of another recovery of this cluster")

// errLeafDue is told to who would join before the recovery is on record.
var errLeafDue = errors.New("cluster: this recovered node has not written down its recovery yet: try again")

// loadRecovery refuses a folder on which no node must start.
func (n *Node) loadRecovery() (err error) {
	if reason := n.folder.Identity().Superseded; reason != "" {
		return fmt.Errorf("cluster: data folder %s was left behind: %s", n.config.DataDir, reason)
	}
	if n.recovery.record, err = datadir.ReadRecord(n.config.DataDir); err != nil {
		return err
	}
	if n.recovery.record.Begun() {
		return fmt.Errorf("cluster: a recovery of data folder %s was begun at %s and not finished: run `railguard cluster recover` on it again",
			n.config.DataDir, n.recovery.record.DecidedAt)
	}
	n.recovery.waiting.Store(n.recovery.record.Waits())
	return nil
}

// descent fills a hello with what this node's folder says of cluster and lineage. A
// node that has not applied its log yet is known by its folder.
func (n *Node) descent(h *port.Hello) {
	clusterID, recovery, lineage := n.folder.Known()
	if h.ClusterID == "" {
		h.ClusterID = clusterID
	}
	h.Recovery, h.Lineage = recovery, lineage
	h.Recorded = lineage != "" && !n.recovery.waiting.Load()
}

// kin says why two nodes must not talk to each other, or "". A node without data is
// kin to everybody: it will be of the group that takes it in.
func (n *Node) kin(own, other *port.Hello) string {
	fresh := func(h *port.Hello) bool { return h.ClusterID == "" && h.Lineage == "" }
	switch {
	case own.Lineage == other.Lineage:
		return ""
	case fresh(other), fresh(own) && len(n.replica.servers()) == 0:
		return ""
	case own.Recovery > other.Recovery:
		return leftBehind(other.ID, own)
	case own.Recovery < other.Recovery:
		return leftBehind(own.ID, other)
	}
	return fmt.Sprintf("cluster %s was recovered twice, from different survivors: node %q is of recovery %d/%s, node %q of %d/%s. Decide which one stays, stop and wipe the others and let them join it",
		own.ClusterID, own.ID, own.Recovery, own.Lineage, other.ID, other.Recovery, other.Lineage)
}

func leftBehind(id string, by *port.Hello) string {
	return fmt.Sprintf("cluster %s was recovered without node %q (recovery %d, lineage %s): what %q has decided since is not part of it. Stop %q, keep or wipe its data folder, and let it join anew with an empty one",
		by.ClusterID, id, by.Recovery, by.Lineage, id, id)
}

// meet judges another node by its lineage. A node without data takes the lineage of
// the group that speaks raft with it.
func (n *Node) meet(own, other *port.Hello, protocol byte) string {
	stranger := n.kin(own, other)
	switch {
	case stranger != "":
		n.tellStranger(stranger)
		n.yieldTo(own, other)
	case protocol == port.ProtocolRaft && own.Lineage == "" && other.Lineage != "":
		if err := n.folder.Inherit(other.Recovery, other.Lineage); err != nil {
			return fmt.Sprintf("node %q cannot write down of which recovery it is: %v", own.ID, err)
		}
	}
	return stranger
}

// refusesKin is meet at the door: true when the dialler is refused.
func (n *Node) refusesKin(own, h *port.Hello, protocol byte, w *port.Welcome) bool {
	w.Refused = n.meet(own, h, protocol)
	return w.Refused != ""
}

func (n *Node) tellStranger(what string) {
	n.recovery.mu.Lock()
	defer n.recovery.mu.Unlock()
	if time.Since(n.recovery.told) >= strangerToldEvery {
		n.recovery.told = time.Now()
		n.log.Error("nodes of two recoveries meet", "reason", what)
	}
}

// yieldTo ends a node whose group was recovered without it, once that recovery is on
// record: before, it could still be given up.
func (n *Node) yieldTo(own, other *port.Hello) {
	if own.ClusterID != other.ClusterID || other.Recovery <= own.Recovery || !other.Recorded {
		return
	}
	reason := leftBehind(own.ID, other)
	if err := n.folder.Supersede(reason); err != nil {
		n.log.Error("not written down that this node was left behind", "error", err)
	}
	n.life.die(reason)
}

// checkWelcome is the dialler's side of meet. After a refusal there is nothing left
// to be refused, but something to be learnt from it.
func (n *Node) checkWelcome(w *port.Welcome, refused bool) error {
	own := n.hello()
	other := w.AsHello()
	if other.ClusterID == "" || own.ClusterID == "" || other.ClusterID != own.ClusterID {
		return nil
	}
	if stranger := n.meet(&own, other, port.ProtocolCalls); stranger != "" && !refused {
		return fmt.Errorf("%w: %s", errStranger, stranger)
	}
	return nil
}

// newestGroup picks whom a node without data joins: a recovered group before the one
// that it left behind. nil: nobody knows a cluster.
func newestGroup(seen map[string]*port.Pong) (through *port.Pong) {
	for _, p := range seen {
		if p.ClusterID != "" && (through == nil || p.Recovery > through.Recovery) {
			through = p
		}
	}
	return through
}

// probeFormer keeps a recovered node from its first start while a member of the old
// group answers: then the majority may not be lost at all. Nothing has been
// applied or promised yet, so the recovery can still be given up.
func (n *Node) probeFormer() error {
	if !n.recovery.waiting.Load() {
		return nil
	}
	if n.mux == nil {
		n.log.Warn("this node has no port between nodes: nobody can be asked whether the old group is still alive")
		return nil
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var alive []string
	for _, m := range n.recovery.record.Former {
		if m.ID == n.config.ID || m.ID == n.recovery.record.Node || slices.Contains(n.recovery.record.Kept, m.ID) {
			continue
		}
		all.Go(func() {
			if n.stillOld(m.Addr) {
				mu.Lock()
				alive = append(alive, m.ID+" at "+m.Addr)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(alive) == 0 {
		return nil
	}
	return fmt.Errorf("cluster: the group was recovered without them, and yet they answer: %s. Stop them (and wipe them, to join anew), or give the recovery up",
		strings.Join(alive, ", "))
}

// stillOld reports whether a node of the old group answers at an address.
func (n *Node) stillOld(host string) bool {
	conn, w, err := n.mux.Dial(host, port.ProtocolCalls, n.hello, "", "", probePatience)
	if err == nil {
		err = conn.Close()
	}
	if err != nil && w.ID == "" {
		n.log.Info("a former member does not answer", "addr", host, "error", err)
	}
	own := n.hello()
	return w.ID != "" && w.ClusterID == own.ClusterID && w.Lineage != own.Lineage
}

// recordRecovery writes the leaf of a recovery: the first record of the recovered
// group, before anybody else's is taken.
func (s *sequencer) recordRecovery(term uint64) bool {
	n := s.node
	if !n.recovery.waiting.Load() {
		return true
	}
	note, err := noteOf(n.recovery.record)
	if err != nil {
		n.life.die("BUG: the leaf of the recovery cannot be made: " + err.Error())
		return false
	}
	result, done := s.proposeOne(term, wire.KindNote, wire.Encode(note))
	if done && result.Refusal == wire.RefusedKeyTable { // Better twice than not at all.
		note.Idem = nil
		result, done = s.proposeOne(term, wire.KindNote, wire.Encode(note))
	}
	if !done {
		return false
	}
	if result.Code != wire.Applied && result.Code != wire.Replayed {
		n.life.die(fmt.Sprintf("the state machine refuses the leaf of the recovery (%d, %d): this node serves nothing without it", result.Code, result.Refusal))
		return false
	}
	return n.recorded(result.Leaf)
}

// recorded remembers that the leaf is in the log. leaf is 0 where another node wrote it.
func (n *Node) recorded(leaf uint64) bool {
	if !n.recovery.waiting.Load() {
		return true
	}
	n.recovery.mu.Lock()
	defer n.recovery.mu.Unlock()
	if !n.recovery.waiting.Load() {
		return true
	}
	record := *n.recovery.record
	record.State, record.Leaf = datadir.RecoveryRecorded, leaf
	if err := record.Save(n.config.DataDir); err != nil {
		n.life.die("disk failed: " + datadir.RecoveryFile + ": " + err.Error())
		return false
	}
	n.recovery.waiting.Store(false)
	n.log.Warn("the recovery of this cluster is on record", "leaf", leaf, "lineage", record.Lineage)
	return true
}
