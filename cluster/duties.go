package cluster

import (
	"context"
	"time"
)

const (
	dutyEvery      = 100 * time.Millisecond
	housekeepEvery = time.Hour
)

// duties are what has to be done now and then. What may wait for the disk, upkeep,
// has a goroutine of its own, as the watch of the disk has: no file that hangs keeps
// this node from seeing that its leader is gone or its disk full.
type duties struct {
	life       *life
	state      *state
	replica    *replica
	peers      *peers
	waiters    *waiters
	signal     func() // Wakes the sequencer.
	membership *membership
	disk       *disk
	compaction *compaction
	lists      *listKeeper
	scrubber   *scrubber
	askGroup   func() // Whether this node is a member still.
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

// failWhenLeaderless answers what waits for a leader in vain: certainly nothing of
// it happened, and the caller can go to another node.
func (d *duties) failWhenLeaderless() {
	if err := d.peers.leaderlessError(); err != nil {
		d.waiters.failQueued(err)
	}
}

// yieldWhenLow hands leadership on while the disk is nearly full, to a voter with room:
// where none has, leadership that goes round would help nobody.
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

// askWhenLeftOut has a node that the configuration does not name any more ask the
// others: it was removed, and perhaps not told.
func (d *duties) askWhenLeftOut() {
	if len(d.replica.listServers()) == 0 {
		return
	}
	if _, member := d.replica.findServer(d.replica.self); !member {
		d.askGroup()
	}
}

// dropOldFiles deletes the files whose retention has ended.
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
