package cluster

import (
	"context"
	"time"

	"railguard/fsm/wire"
)

const (
	dutyEvery      = 100 * time.Millisecond
	housekeepEvery = time.Hour
)

// duties are jobs that run now and then. Those that may wait for the disk (upkeep) have a
// goroutine of their own, like the watch of the disk: a hanging file must not keep this node
// from seeing that its leader is gone or its disk full.
type duties struct {
	life       *life
	state      *state
	replica    *replica
	peers      *peers
	clocks     *clocks
	waiters    *waiters
	signal     func() // Wakes the sequencer.
	membership *membership
	disk       *disk
	compaction *compaction
	lists      *listKeeper
	scrubber   *scrubber
	askGroup   func() // Asks whether this node is still a member.
	measure    func(now time.Time)
}

// doDuties is the goroutine of the duties.
func (d *duties) doDuties() {
	fast := time.NewTicker(dutyEvery)
	slow := time.NewTicker(tickEvery)
	defer fast.Stop()
	defer slow.Stop()
	for {
		select {
		case <-d.life.stop:
			return
		case <-d.replica.changes:
			d.lookAtLeader()
		case <-fast.C:
			d.lookAtLeader()
			d.clocks.lookAtTime()
			d.failWhenLeaderless()
		case now := <-slow.C:
			d.compaction.takeWhenDue(now)
			d.state.views.dropOldViews(now)
			d.membership.promoteCaughtUp(now)
			d.membership.watchDead(now)
			d.yieldWhenLow()
			d.askWhenLeftOut()
		}
	}
}

// doUpkeep is the goroutine of those duties that may wait for the disk.
func (d *duties) doUpkeep() {
	slow := time.NewTicker(tickEvery)
	rare := time.NewTicker(housekeepEvery)
	defer slow.Stop()
	defer rare.Stop()
	for {
		select {
		case <-d.life.stop:
			return
		case now := <-slow.C:
			d.scrubber.tellDamage()
			d.measure(now)
		case <-rare.C:
			d.dropOldFiles()
		}
	}
}

func (d *duties) lookAtLeader() {
	if !d.replica.refreshLeader(time.Now()) {
		return
	}
	leaderChanges.Inc()
	d.signal()
}

// failWhenLeaderless answers the proposals that have waited too long for a leader, or for one that
// opens its term. Certainly
// nothing of them happened, and the caller can go to another node.
func (d *duties) failWhenLeaderless() {
	err := d.peers.leaderlessError()
	if err == nil && d.clocks.waiting.Load() != nil {
		err = wire.ErrTimeUncertain
	}
	if err != nil {
		d.waiters.failQueued(err)
	}
}

// yieldWhenLow hands leadership to a voter with room while this node's disk is nearly full. If
// no voter has room, it does nothing, as handing leadership round would help nobody.
func (d *duties) yieldWhenLow() {
	if !d.disk.isLow() || !d.replica.isLeader() || d.replica.voterCount() < 2 {
		return
	}
	to := d.peers.findRoomiest()
	if to == "" {
		return
	}
	d.life.running.Go(func() {
		if err := d.membership.transferLeadership(context.Background(), to); err != nil {
			d.life.log.Warn("leadership not handed on though the disk is nearly full", "error", err)
		}
	})
}

// askWhenLeftOut asks the other nodes when the configuration does not name this node any more:
// it was removed, and perhaps not told.
func (d *duties) askWhenLeftOut() {
	if len(d.replica.listServers()) == 0 {
		return
	}
	if _, member := d.replica.findServer(d.replica.self); !member {
		d.askGroup()
	}
}

// dropOldFiles deletes files whose retention has ended, and forgets old outcomes.
func (d *duties) dropOldFiles() {
	d.state.published.Load().forgetOutcomes()
	settings := d.state.Settings()
	if settings.List == nil {
		return
	}
	now := d.state.LogTime()
	if err := d.lists.touchActive(settings.List.Digest, now); err != nil {
		d.life.log.Error("list file not marked as in use", "error", err)
	}
	if err := d.lists.pruneLists(settings.List.Digest, now); err != nil {
		d.life.log.Error("old lists not deleted", "error", err)
	}
}
