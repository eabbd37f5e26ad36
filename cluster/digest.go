package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
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

	// A state of more rows is digested at every second, fourth, ... instant. Hashing
	// costs as much as has changed since the last time, but looking for it grows with
	// the state, and the first digest after a start hashes everything.
	digestRows     = 16_000_000
	digestScaleMax = 8

	disputesKept = 4
)

// digests compares states between nodes, and between a node and its own past,
// off the hot path. At entries that cross a multiple of digestEvery in log time
// the state is frozen; the digester hashes it; the leader's next Tick claims the
// newest one; every node compares the claim with its own.
//
// The instants follow from the state alone, so that all nodes have the same ones; a
// node that is too busy for one leaves it out.
type digests struct {
	views chan *fsm.View // Waiting for the digester; a busy one is not waited for.

	mu     sync.Mutex
	known  []wire.Tick // Own digests, oldest first.
	claims []wire.Tick // Claims for which the own digest is not there yet.
	told   uint64      // Highest index claimed by this node.

	disputed []dispute // The newest ones.
	settling bool      // Somebody looks for the majority.
}

// dispute is an index at which the own state is not what somebody says.
type dispute struct {
	index  uint64
	logged bool // The own log says it, and not only a peer.
}

// digester compares this node's digests with the log's and with the other voters'.
type digester struct {
	*digests

	life    *life
	replica *replica
	peers   *peers
}

func newDigester(l *life, r *replica, p *peers) *digester {
	return &digester{digests: newDigests(), life: l, replica: r, peers: p}
}

func newDigests() *digests { return &digests{views: make(chan *fsm.View, 1)} }

// nextClaim returns the newest own digest to publish; nil where that was published already.
func (d *digests) nextClaim() *wire.Tick {
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

// newestDigest returns the newest own digest.
func (d *digests) newestDigest() (wire.Tick, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) == 0 {
		return wire.Tick{}, false
	}
	return d.known[len(d.known)-1], true
}

// digestAt returns the own digest at an index.
func (d *digests) digestAt(index uint64) ([]byte, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return findDigest(d.known, index)
}

func findDigest(ticks []wire.Tick, index uint64) ([]byte, bool) {
	for i := range ticks {
		if ticks[i].Index == index {
			return ticks[i].Digest, true
		}
	}
	return nil, false
}

// addDigest records an own digest and returns a waiting claim that differs from it; nil: none does.
func (d *digests) addDigest(own wire.Tick) (claimed []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = keepNewest(append(d.known, own))
	if digest, ok := findDigest(d.claims, own.Index); ok && !bytes.Equal(digest, own.Digest) {
		return digest
	}
	return nil
}

// checkClaim compares a claim in the log with the own digest; false: they differ. Where there is
// no own digest yet, the claim waits for it.
func (d *digests) checkClaim(index uint64, claimed []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if own, ok := findDigest(d.known, index); ok {
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

// digestDue says whether an entry that moved log time makes a digest due, in a state
// of so many rows.
func digestDue(before, after engine.Time, rows int) bool {
	scale := 0
	for scale < digestScaleMax && rows > digestRows<<scale {
		scale++
	}
	return before/digestEvery>>scale != after/digestEvery>>scale
}

// watchEntry is called by the adapter with each entry. It freezes the state where a digest is
// due, and compares the claim that the entry carries with the own digest.
func (d *digester) watchEntry(a *adapter, out *fsm.Effects, before engine.Time) {
	if digestDue(before, out.Time, a.machine.Rows()) {
		select {
		case d.views <- a.Freeze():
		default:
		}
	}
	if len(out.CheckDigest) > 0 && !d.checkClaim(out.CheckIndex, out.CheckDigest) {
		d.reportMismatch(out.CheckIndex, true)
	}
}

// compareDigests is the digester's goroutine.
func (d *digester) compareDigests() {
	parts := fsm.NewDigester()
	for {
		select {
		case view := <-d.views:
			digest := parts.Digest(view)
			if d.addDigest(wire.Tick{Index: view.Index, Digest: digest[:]}) != nil {
				d.reportMismatch(view.Index, true)
			}
		case <-d.life.stop:
			return
		}
	}
}

// addDispute records a disputed digest and reports whether the caller must start the check with
// the majority.
func (d *digests) addDispute(in dispute) (begin bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.disputed, in) {
		d.disputed = append(d.disputed, in)
		if len(d.disputed) > disputesKept {
			d.disputed = slices.Delete(d.disputed, 0, 1)
		}
	}
	begin = !d.settling
	d.settling = true
	return begin
}

// listDisputes returns the disputed indices, and that of the newest own digest.
func (d *digests) listDisputes() []dispute {
	d.mu.Lock()
	defer d.mu.Unlock()
	open := slices.Clone(d.disputed)
	if len(d.known) > 0 {
		open = append(open, dispute{index: d.known[len(d.known)-1].Index})
	}
	return open
}

// endDisputes ends all disputes.
func (d *digests) endDisputes() {
	d.mu.Lock()
	d.disputed, d.settling = nil, false
	d.mu.Unlock()
}

// inDispute returns the oldest index in question.
func (d *digests) inDispute() (uint64, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.disputed) == 0 {
		return 0, false
	}
	return d.disputed[0].index, true
}

// reportMismatch is called where this node's state at an index differs from what another node
// claims, in the log or when asked. The majority decides which of them is right: a node of the
// minority stops.
func (d *digester) reportMismatch(index uint64, logged bool) {
	digestMismatches.Inc()
	if d.addDispute(dispute{index, logged}) {
		d.life.log.Error("BUG: states differ between nodes", "index", index)
		go d.settleDisputes()
	}
}

// settleDisputes asks all voters for their digests until one of them has a majority:
// at the indices in question, and at the newest ones that come, since whoever was
// away at the first may have those. A majority against it ends this node; that others
// are silent never does.
func (d *digester) settleDisputes() {
	for !d.settleOnce() {
		select {
		case <-time.After(pingEvery):
		case <-d.life.stop:
			return
		}
	}
}

// settleOnce reports whether the disputes are over.
func (d *digester) settleOnce() bool {
	for _, open := range d.listDisputes() {
		own, against, quorum := d.countDigests(open.index)
		switch {
		case open.logged && d.replica.onlyVoter(): // Nobody to ask: the own log contradicts the own state.
			d.life.endProcess(fmt.Sprintf("BUG: state diverged at index %d: it is not this node's past. If folders were put back on the others, this one may be the only right one; else wipe it and let it join anew", open.index))
			return true
		case own >= quorum:
			d.life.log.Error("BUG: another node's state has diverged; this one is with the majority", "index", open.index)
			d.endDisputes()
			return true
		case against >= quorum:
			d.life.endProcess(fmt.Sprintf("BUG: state diverged at index %d: a majority has another one. If folders were put back on the others, this one may be the only right one; else wipe it and let it join anew", open.index))
			return true
		}
	}
	return false
}

// countDigests returns how many voters have our digest at an index, how many share
// one other, and the quorum. Where we have none there is nothing to be for or against.
func (d *digester) countDigests(index uint64) (own, against, quorum int) {
	mine, known := d.digestAt(index)
	if !known {
		return 0, 0, len(d.replica.listServers()) + 1
	}
	counts, voters := map[string]int{}, 0
	for _, server := range d.replica.listServers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if server.ID == d.replica.self {
			counts[string(mine)]++
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		r, err := port.Ask(ctx, d.peers.linkTo(string(server.ID), linkControl), &port.DigestCall{Index: index, Digest: mine})
		cancel()
		if err == nil && r.Code == 0 {
			counts[string(r.Digest)]++
		}
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
func (d *digester) answerDigest(_ context.Context, _ string, q *port.DigestCall) (*port.DigestReply, error) {
	own, ok := d.digestAt(q.Index)
	if !ok {
		return &port.DigestReply{Code: port.CodeMissing}, nil
	}
	if len(q.Digest) > 0 && !bytes.Equal(own, q.Digest) {
		d.reportMismatch(q.Index, false)
	}
	return &port.DigestReply{Digest: own}, nil
}
