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
	digestEvery = 4 * engine.Second // A time of log time, so that the indices are the same on every node.
	digestsKept = 32

	// A state of more rows is digested only at every second, fourth, ... instant. The cost of
	// hashing grows with what has changed since the last time, but finding that grows with the
	// state, and the first digest after a start hashes everything.
	digestRows     = 16_000_000
	digestScaleMax = 8

	disputesKept = 4
)

// digests has the digests by which the states of nodes, and a node's state and its own past,
// are compared off the hot path. When log time crosses a multiple of digestEvery, the state is
// frozen and the digester hashes it. The leader's next Tick has the newest digest as a claim,
// and every node compares the claim with its own digest.
//
// The instants follow from the state alone, so all nodes have the same ones. A node that is too
// busy leaves an instant out.
type digests struct {
	views chan *fsm.View // Views for the digester. If it is busy, the view is dropped.

	mu     sync.Mutex
	known  []wire.Tick // Own digests, oldest first.
	claims []wire.Tick // Claims that wait for the own digest.
	told   uint64      // Highest index claimed by this node.

	disputed []dispute // Only the newest ones.
	settling bool      // settleDisputes is running.
}

// dispute is an index at which another digest contradicts the own one.
type dispute struct {
	index  uint64
	logged bool // The contradicting digest is in the log, and not only a peer's.
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

// nextClaim returns the newest own digest to publish, or nil if it was published already.
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

// addDigest records an own digest. It returns a waiting claim that differs from it, or nil.
func (d *digests) addDigest(own wire.Tick) (claimed []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = keepNewest(append(d.known, own))
	if digest, ok := findDigest(d.claims, own.Index); ok && !bytes.Equal(digest, own.Digest) {
		return digest
	}
	return nil
}

// checkClaim compares a claim in the log with the own digest, and returns false if they differ.
// If there is no own digest yet, the claim waits for it.
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

// digestDue reports whether an entry that moved log time makes a digest due, in a state with so
// many rows.
func digestDue(before, after engine.Time, rows int) bool {
	scale := 0
	for scale < digestScaleMax && rows > digestRows<<scale {
		scale++
	}
	return before/digestEvery>>scale != after/digestEvery>>scale
}

// watchEntry freezes the state if a digest is due, and compares the entry's claim, if it has
// one, with the own digest. The adapter calls it with each entry.
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

// listDisputes returns the disputed indices and the index of the newest own digest.
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

// reportMismatch is called when another node claims another digest at an index, in the log or
// in a call. The majority decides which one is right, and a node of the minority stops.
func (d *digester) reportMismatch(index uint64, logged bool) {
	digestMismatches.Inc()
	if d.addDispute(dispute{index, logged}) {
		d.life.log.Error("BUG: states differ between nodes", "index", index)
		go d.settleDisputes()
	}
}

// settleDisputes asks all voters for their digests until one digest has a majority. It asks at
// the disputed indices and at the newest ones that come, since a voter that was away at the
// former may have those. A majority against this node ends it; silence of the others never
// does.
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
		case open.logged && d.replica.onlyVoter(): // There is nobody to ask: the own log contradicts the own state.
			d.life.endProcess(fmt.Sprintf("BUG: state diverged at index %d: it is not this node's past. If folders were put back on the others, this one may be the only right one; else keep its folder aside and let it join with an empty one", open.index))
			return true
		case own >= quorum:
			d.life.log.Error("BUG: another node's state has diverged; this one is with the majority", "index", open.index)
			d.endDisputes()
			return true
		case against >= quorum:
			d.life.endProcess(fmt.Sprintf("BUG: state diverged at index %d: a majority has another one. If folders were put back on the others, this one may be the only right one; else keep its folder aside and let it join with an empty one", open.index))
			return true
		}
	}
	return false
}

// countDigests returns how many voters have our digest at an index, how many share one other
// digest, and the quorum. If we have none there, it counts nothing.
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

// answerDigest tells a peer our digest at an index. If the peer's differs, this node reports a
// mismatch too.
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
