package cluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	dutyEvery        = 100 * time.Millisecond
	leaderlessMax    = time.Second // Longer without a leader: calls fail at once instead of waiting.
	housekeepEvery   = time.Hour
	observationsKept = 64
)

// leadership is what this node believes of who leads. It decides where proposals
// go and what errors say; it never decides what happened.
type leadership struct {
	observer *raft.Observer
	changes  chan raft.Observation

	alone atomic.Bool // The only voter.

	mu        sync.Mutex
	leaderID  raft.ServerID
	leader    raft.ServerAddress
	lostSince time.Time // Zero while a leader is known.
	voters    int
}

// watch subscribes to raft's changes; a full channel drops them, and the duties
// look again anyway.
func (l *leadership) watch(r *raft.Raft) {
	l.changes = make(chan raft.Observation, observationsKept)
	l.observer = raft.NewObserver(l.changes, false, func(o *raft.Observation) bool {
		switch what := o.Data.(type) {
		case raft.RaftState:
			if what == raft.Candidate {
				elections.Inc()
			}
			return true
		case raft.LeaderObservation:
			return true
		case raft.FailedHeartbeatObservation:
			heartbeatsFailed.Inc()
		}
		return false
	})
	r.RegisterObserver(l.observer)
}

func (l *leadership) unwatch(r *raft.Raft) { r.DeregisterObserver(l.observer) }

func (l *leadership) lost(now time.Time) {
	l.mu.Lock()
	l.lostSince = now
	l.mu.Unlock()
}

// refresh looks at raft and reports whether the leader is another one than before.
func (l *leadership) refresh(r *raft.Raft, self raft.ServerID, now time.Time) (changed bool) {
	address, id := r.LeaderWithID()
	voters, mine := 0, false
	for _, server := range r.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			voters++
			mine = mine || server.ID == self
		}
	}
	l.alone.Store(voters == 1 && mine)
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = id != l.leaderID || address != l.leader
	l.voters, l.leaderID, l.leader = voters, id, address
	switch {
	case address != "":
		l.lostSince = time.Time{}
	case l.lostSince.IsZero():
		l.lostSince = now
	}
	return changed
}

// current returns the leader, if one is known, and for how long none was.
func (l *leadership) current(now time.Time) (id raft.ServerID, address raft.ServerAddress, without time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lostSince.IsZero() {
		without = max(now.Sub(l.lostSince), 1)
	}
	return l.leaderID, l.leader, without
}

func (l *leadership) voterCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.voters
}

// runDuties is the goroutine of what has to be done now and then.
func (n *Node) runDuties() {
	defer n.life.running.Done()
	fast := time.NewTicker(dutyEvery)
	slow := time.NewTicker(tickEvery)
	rare := time.NewTicker(housekeepEvery)
	defer fast.Stop()
	defer slow.Stop()
	defer rare.Stop()
	n.checkDisk()
	for {
		select {
		case <-n.life.stop:
			return
		case <-n.leadership.changes:
			n.lookAtLeader()
		case <-fast.C:
			n.lookAtLeader()
			n.failWhenLeaderless()
		case now := <-slow.C:
			n.checkDisk()
			n.compactWhenDue(now)
			n.promoteCaughtUp(now)
			n.watchDead(now)
			n.yieldWhenLow()
			n.stopWhenShut()
			n.tellDamage()
			n.measure(now)
		case <-rare.C:
			n.housekeep()
		}
	}
}

func (n *Node) lookAtLeader() {
	if !n.leadership.refresh(n.raft, raft.ServerID(n.config.ID), time.Now()) {
		return
	}
	leaderChanges.Inc()
	n.sequencer.signal()
}

// failWhenLeaderless answers what waits for a leader in vain: certainly nothing of
// it happened, and the caller can go to another node.
func (n *Node) failWhenLeaderless() {
	if err := n.leaderless(); err != nil {
		n.waiters.failQueued(err)
	}
}

// leaderless is the error of a node that has been without a leader for too long.
func (n *Node) leaderless() error {
	if _, _, without := n.leadership.current(time.Now()); without > leaderlessMax {
		return n.noLeaderError()
	}
	return nil
}

// noLeaderError tells a group that elects from one that cannot.
func (n *Node) noLeaderError() error {
	if answering, voters := n.reachable(); voters > 0 && answering < voters/2+1 {
		return wire.ErrNoQuorum
	}
	return wire.ErrNoLeader
}

// serving says why this node takes no proposals at all, or nil.
func (n *Node) serving() error {
	if n.life.dead.Load() != nil {
		return wire.ErrShuttingDown
	}
	if n.diskIsLow() && n.leadership.alone.Load() {
		return wire.ErrOverloaded
	}
	return n.leaderless()
}

// unserved is the error of a proposal that was still queued at its deadline: no
// leader, one that does not answer this node, or too much to do.
func (n *Node) unserved() error {
	leader, _, without := n.leadership.current(time.Now())
	if without > 0 || !n.answers(string(leader)) {
		return n.noLeaderError()
	}
	return wire.ErrOverloaded
}

// leading is called by the sequencer when a term of its own is open.
func (n *Node) leading() {
	select {
	case n.pingNow <- struct{}{}:
	default:
	}
}

// yieldWhenLow hands leadership on while the disk is nearly full.
func (n *Node) yieldWhenLow() {
	if !n.diskIsLow() || n.raft.State() != raft.Leader || n.leadership.voterCount() < 2 {
		return
	}
	n.life.running.Go(func() {
		if err := n.transfer(context.Background(), ""); err != nil {
			n.log.Warn("leadership not handed on though the disk is nearly full", "error", err)
		}
	})
}

// stopWhenShut ends a node whose replica has stopped: it was removed while it led.
func (n *Node) stopWhenShut() {
	if n.raft.State() == raft.Shutdown {
		n.life.die("this node was removed from the cluster")
	}
}

// housekeep drops what left its retention.
func (n *Node) housekeep() {
	n.published.Load().forget()
	n.eraseHistory()
	settings := n.Settings()
	if settings.List == nil {
		return
	}
	now := n.LogTime()
	if err := n.lists.used(settings.List.Digest, now); err != nil {
		n.log.Error("list file not marked as in use", "error", err)
	}
	if err := n.lists.prune(settings.List.Digest, now); err != nil {
		n.log.Error("old lists not deleted", "error", err)
	}
}

// retentionMark says what was the oldest leaf to be kept at a log time.
type retentionMark struct {
	at     engine.Time
	oldest uint64
}

// erasePause is how long segments stay on disk after their leaves left retention.
const erasePause = engine.SegmentsKept - engine.Retention

const eraseStep = 16 // Segments in one go.

// eraseHistory deletes segments whose leaves left retention two days ago. After a
// start it waits these two days anew.
func (n *Node) eraseHistory() {
	now := n.LogTime()
	n.retention = append(n.retention, retentionMark{now, n.published.Load().oldest.Load()})
	due := uint64(0)
	for len(n.retention) > 0 && n.retention[0].at+erasePause <= now {
		due = n.retention[0].oldest
		n.retention = n.retention[1:]
	}
	for due > 0 {
		erased, err := n.audit.Erase(due, eraseStep)
		if err != nil {
			n.life.die(fmt.Sprintf("history past its retention cannot be deleted: %v", err))
			return
		}
		if erased < eraseStep {
			return
		}
	}
}
