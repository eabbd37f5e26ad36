package cluster

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

const (
	digestEvery = 4 * engine.Second // Of log time: the indices are the same on every node.
	digestsKept = 32

	digestScaleMax = 8
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

// mismatch says that this node's state at an index is not what the log claims.
func (n *Node) mismatch(index uint64) {
	digestMismatches.Inc()
	n.die(fmt.Sprintf("BUG: state diverged at index %d: this node's digest is not the one in the log", index))
}
