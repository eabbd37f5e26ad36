package cluster

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

const (
	digestEvery = 4 * engine.Second // Of log time: the indices are the same on every node.
	digestsKept = 32

	digestScaleMax = 8
	disputeRounds  = 20
)

// digests compares states between nodes, and between a node and its own past,
// off the hot path. At entries that cross a multiple of digestEvery in log time
// the state is frozen; the digester hashes it; the leader's next Tick claims the
// newest one; every node compares the claim with its own.
//
// Hashing costs as much as the state is large, so a node with a large one does it
// at every second, fourth, ... of these instants only, which it still shares
// with every faster node.
type digests struct {
	views chan *fsm.View // Waiting for the digester; a busy one is not waited for.
	scale atomic.Uint32  // The node digests at every 2^scale-th instant.

	mu     sync.Mutex
	known  []wire.Tick // Own digests, oldest first.
	claims []wire.Tick // Claims for which the own digest is not there yet.
	told   uint64      // Highest index claimed by this node.

	disputed uint64 // The last index at which another node differs.
}

func newDigests() *digests { return &digests{views: make(chan *fsm.View, 1)} }

// claim returns a digest to publish, once each; nil when there is nothing new.
func (d *digests) claim() *wire.Tick {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) == 0 {
		return nil
	}
	newest := d.known[len(d.known)-1]
	if newest.Index <= d.told {
		return nil
	}
	d.told = newest.Index
	return &newest
}

// last returns the newest own digest.
func (d *digests) last() (wire.Tick, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) == 0 {
		return wire.Tick{}, false
	}
	return d.known[len(d.known)-1], true
}

// at returns the own digest at an index.
func (d *digests) at(index uint64) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return find(d.known, index)
}

func find(ticks []wire.Tick, index uint64) ([]byte, bool) {
	for i := range ticks {
		if ticks[i].Index == index {
			return ticks[i].Digest, true
		}
	}
	return nil, false
}

// add records an own digest and returns a claim that contradicts it, if one waits.
func (d *digests) add(own wire.Tick) (claimed []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = keepNewest(append(d.known, own))
	if digest, ok := find(d.claims, own.Index); ok && !bytes.Equal(digest, own.Digest) {
		return digest
	}
	return nil
}

// check compares a claim of the log; false means that it contradicts the own digest.
func (d *digests) check(index uint64, claimed []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if own, ok := find(d.known, index); ok {
		return bytes.Equal(own, claimed)
	}
	d.claims = keepNewest(append(d.claims, wire.Tick{Index: index, Digest: bytes.Clone(claimed)}))
	return true
}

func keepNewest(ticks []wire.Tick) []wire.Tick {
	if len(ticks) > digestsKept {
		return append(ticks[:0:0], ticks[len(ticks)-digestsKept:]...)
	}
	return ticks
}

// pace keeps digests under a twentieth of one core.
func (d *digests) pace(took time.Duration) {
	scale := uint32(0)
	for scale < digestScaleMax && took*20 > time.Duration(digestEvery)<<scale {
		scale++
	}
	d.scale.Store(scale)
}

// watchDigest is the adapter's: it freezes where a digest is due and looks at the
// claim an entry carries.
func (n *Node) watchDigest(a *adapter, out *fsm.Effects, before engine.Time) {
	if scale := n.digests.scale.Load(); before/digestEvery>>scale != out.Time/digestEvery>>scale {
		select {
		case n.digests.views <- a.Freeze():
		default:
		}
	}
	if len(out.CheckDigest) > 0 && !n.digests.check(out.CheckIndex, out.CheckDigest) {
		n.mismatch(out.CheckIndex)
	}
}

// digestStates is the digester's goroutine.
func (n *Node) digestStates() {
	defer n.running.Done()
	for {
		select {
		case view := <-n.digests.views:
			start := time.Now()
			digest := view.Digest()
			n.digests.pace(time.Since(start))
			if n.digests.add(wire.Tick{Index: view.Index, Digest: digest[:]}) != nil {
				n.mismatch(view.Index)
			}
		case <-n.stop:
			return
		}
	}
}

// mismatch says that this node's state at an index is not what another one claims.
// Who is right is for the majority to say: the minority stops.
func (n *Node) mismatch(index uint64) {
	digestMismatches.Inc()
	n.digests.mu.Lock()
	known := n.digests.disputed == index
	n.digests.disputed = index
	n.digests.mu.Unlock()
	if known {
		return
	}
	n.log.Error("BUG: states differ between nodes", "index", index)
	go n.settleDispute(index)
}

// settleDispute asks all voters for their digests at an index until one digest has
// a majority. Alone there is nobody to ask: the own log contradicts the own state.
func (n *Node) settleDispute(index uint64) {
	for range disputeRounds {
		own, against, quorum := n.countDigests(index)
		switch {
		case quorum > 1 && own >= quorum:
			n.log.Error("BUG: another node's state has diverged; this one is with the majority", "index", index)
			return
		case against >= quorum:
			n.die(fmt.Sprintf("BUG: state diverged at index %d: a majority has another one; wipe this node and let it join anew", index))
			return
		}
		select {
		case <-time.After(pingEvery):
		case <-n.stop:
			return
		}
	}
	n.die(fmt.Sprintf("BUG: state diverged at index %d: it is not this node's past, or no majority could be asked", index))
}

// countDigests returns how many voters have our digest at an index, how many share
// one other, and the quorum.
func (n *Node) countDigests(index uint64) (own, against, quorum int) {
	mine, known := n.digests.at(index)
	counts, voters := map[string]int{}, 0
	for _, server := range n.servers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if string(server.ID) == n.config.ID {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		r, err := port.Ask(ctx, n.peers.link(string(server.ID), linkControl), &port.DigestCall{Index: index, Digest: mine})
		cancel()
		if err == nil && r.Code == 0 {
			counts[string(r.Digest)]++
		}
	}
	if known {
		counts[string(mine)]++
	}
	for digest, count := range counts {
		if digest != string(mine) {
			against = max(against, count)
		}
	}
	return counts[string(mine)], against, voters/2 + 1
}

// answerDigest tells a peer our digest at an index; one that differs is our matter
// too.
func (n *Node) answerDigest(_ context.Context, _ string, q *port.DigestCall) (*port.DigestReply, error) {
	own, ok := n.digests.at(q.Index)
	if !ok {
		return &port.DigestReply{Code: port.CodeMissing}, nil
	}
	if len(q.Digest) > 0 && !bytes.Equal(own, q.Digest) {
		n.mismatch(q.Index)
	}
	return &port.DigestReply{Digest: own}, nil
}
