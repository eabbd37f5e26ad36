package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	dutyEvery      = 100 * time.Millisecond
	housekeepEvery = time.Hour
)

// runDuties is the goroutine of what has to be done now and then.
func (n *Node) runDuties() {
	defer n.life.running.Done()
	fast := time.NewTicker(dutyEvery)
	slow := time.NewTicker(tickEvery)
	rare := time.NewTicker(housekeepEvery)
	defer fast.Stop()
	defer slow.Stop()
	defer rare.Stop()
	n.disk.check()
	for {
		select {
		case <-n.life.stop:
			return
		case <-n.replica.changes:
			n.lookAtLeader()
		case <-fast.C:
			n.lookAtLeader()
			n.failWhenLeaderless()
		case now := <-slow.C:
			n.disk.check()
			n.compactWhenDue(now)
			n.membership.promoteCaughtUp(now)
			n.membership.watchDead(now)
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
	if !n.replica.refresh(time.Now()) {
		return
	}
	leaderChanges.Inc()
	n.sequencer.signal()
}

// failWhenLeaderless answers what waits for a leader in vain: certainly nothing of
// it happened, and the caller can go to another node.
func (n *Node) failWhenLeaderless() {
	if err := n.peers.leaderless(); err != nil {
		n.waiters.failQueued(err)
	}
}

// serving says why this node takes no proposals at all, or nil.
func (n *Node) serving() error {
	if n.life.dead.Load() != nil {
		return wire.ErrShuttingDown
	}
	if n.disk.low() && n.replica.alone.Load() {
		return wire.ErrOverloaded
	}
	return n.peers.leaderless()
}

// unserved is the error of a proposal that was still queued at its deadline: no
// leader, one that does not answer this node, or too much to do.
func (n *Node) unserved() error {
	leader, _, without := n.replica.current(time.Now())
	if without > 0 || !n.peers.answers(string(leader)) {
		return n.peers.noLeaderError()
	}
	return wire.ErrOverloaded
}

// yieldWhenLow hands leadership on while the disk is nearly full.
func (n *Node) yieldWhenLow() {
	if !n.disk.low() || !n.replica.leads() || n.replica.voterCount() < 2 {
		return
	}
	n.life.running.Go(func() {
		if err := n.membership.transfer(context.Background(), ""); err != nil {
			n.log.Warn("leadership not handed on though the disk is nearly full", "error", err)
		}
	})
}

// stopWhenShut ends a node whose replica has stopped: it was removed while it led.
func (n *Node) stopWhenShut() {
	if n.replica.raft.State() == raft.Shutdown {
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
