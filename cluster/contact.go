package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/cluster/report"
)

// contact knows whether this node may answer from its own state: it has applied what the group
// had committed when this node first reached the leader, and a quorum has confirmed since, not
// long ago, how far the log goes, and all of that is applied here.
//
// It asks at most a few times a second. Any read that must be the newest counts as well.
type contact struct {
	life     *life
	reads    *readRounds
	progress *progress
	within   time.Duration // How long a node answers without a confirmation.

	caughtUp atomic.Bool // What was committed at the first contact is applied.

	reached uint64 // What replays saw last; only the goroutine that calls it uses these two.
	moved   time.Time
}

// replayPatience is how long a node that reaches no leader counts as one that reads its log
// although it applies nothing any more.
const replayPatience = 2 * time.Second

// replays reports whether the node is still reading its log after its start.
func (c *contact) replays() bool {
	if c.caughtUp.Load() {
		return false
	}
	if at := c.progress.noteReached(); at != c.reached || c.moved.IsZero() {
		c.reached, c.moved = at, time.Now()
	}
	return time.Since(c.moved) < replayPatience
}

// silentDefault is how long a node that nobody confirms goes on answering from its state. An
// election takes a second at most, and one question more.
const silentDefault = 2 * time.Second

// state returns whether this node may answer.
func (c *contact) state() report.Currentness {
	switch {
	case !c.caughtUp.Load():
		return report.Starting
	case c.reads.sinceConfirmed() > c.within:
		return report.CutOff
	}
	return report.Current
}

// keepContact is the goroutine that asks.
func (c *contact) keepContact() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.life.running.Go(func() { <-c.life.stop; cancel() })
	for !c.life.hasEnded() {
		pause := c.within / 20
		if c.isConfirmed(ctx) {
			pause = c.within/4 - c.reads.sinceConfirmed()
		}
		select {
		case <-time.After(pause):
		case <-c.life.stop:
		}
	}
}

// isConfirmed reports whether the newest confirmation is young enough, and asks for one if it is
// not. A node that starts waits, however long its log is, for what the leader had committed when
// it first answered: under load the newest index would always be a little further.
func (c *contact) isConfirmed(ctx context.Context) bool {
	if c.caughtUp.Load() && c.reads.sinceConfirmed() < c.within/4 {
		return true
	}
	began := time.Now()
	asked, cancel := context.WithTimeout(ctx, c.reads.patience)
	defer cancel()
	index, err := c.reads.shareReadIndex(asked)
	if err != nil || c.progress.awaitIndex(ctx, index) != nil {
		return false
	}
	c.reads.noteConfirmed(began)
	c.caughtUp.Store(true)
	return true
}

// Currentness says whether this node may answer from its own state.
func (n *Node) Currentness() report.Currentness { return n.contact.state() }

// checkCurrent fails for a node that is silent: it would answer 503 to whatever rests on the
// replicated state.
func (n *Node) checkCurrent() report.ReadyCheck {
	switch n.contact.state() {
	case report.Starting:
		return report.ReadyCheck{Name: "current", Text: "reading what the group has committed"}
	case report.CutOff:
		return report.ReadyCheck{Name: "current", Text: fmt.Sprintf("not confirmed for %v", n.reads.sinceConfirmed().Round(time.Millisecond))}
	}
	return report.ReadyCheck{Name: "current", OK: true, Text: "ok"}
}

// checkVote fails for a node without its vote. So an operator who replaces one node after the
// other by their readiness waits for the vote.
func (n *Node) checkVote() report.ReadyCheck {
	server, known := n.replica.findServer(n.replica.self)
	to, err := port.ParseAddress(string(server.Address))
	switch {
	case !known || err != nil:
		return report.ReadyCheck{Name: "vote", Text: "no member yet"}
	case to.Incarnation != n.folder.Identity().Incarnation:
		return report.ReadyCheck{Name: "vote", Text: "none: the member of this name is another, or this node before its folder was lost"}
	case server.Suffrage != raft.Voter && !to.Hold:
		return report.ReadyCheck{Name: "vote", Text: "none yet: catching up"}
	case server.Suffrage != raft.Voter:
		return report.ReadyCheck{Name: "vote", OK: true, Text: "held without one"}
	}
	return report.ReadyCheck{Name: "vote", OK: true, Text: "ok"}
}
