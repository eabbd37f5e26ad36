package cluster

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/engine"
)

const (
	retainEvery = time.Minute
	eraseStep   = 16 // Segments erased at a time.
)

// retention erases from this node's disk what is past retention by the time that the group lived
// through (decision 111), whatever the node has been through. The replicated state says which leaves are past it, and the entries say how
// old the log is. So a node that was restarted, away or wiped knows it as soon as it has the
// state. Without a quorum log time stands still and nothing is erased.
type retention struct {
	life       *life
	dataDir    string
	audit      *audit.Store
	snaps      *datadir.Snapshots
	state      *state
	lineage    *lineage
	compaction *compaction
}

// enforceRetention is the goroutine that erases.
func (r *retention) enforceRetention() {
	ticker := time.NewTicker(retainEvery)
	defer ticker.Stop()
	for {
		select {
		case <-r.life.stop:
			return
		case <-ticker.C:
			r.applyRetention()
		}
	}
}

// applyRetention erases leaves that are past retention, and drops log entries that are too old.
func (r *retention) applyRetention() {
	if err := r.compaction.takeByAge(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		r.life.log.Error("snapshot not taken", "error", err)
	}
	r.compaction.ages.forgetMarks(r.compaction.policy.LogAge)
	if err := r.snaps.Forget(r.compaction.ages.indexBefore(r.compaction.policy.LogAge)); err != nil {
		r.life.log.Error("old snapshots not deleted", "error", err)
	}
	r.forgetBackups()
	r.eraseHistory()
}

// forgetBackups deletes what a restore moved aside, and the copy of the log that a recovery
// made, before records in them are past retention: the copies have their texts too.
func (r *retention) forgetBackups() {
	record, now := r.lineage.record, r.state.logTime.Load()
	if now == nil {
		return
	}
	// Log time may have leapt past the retention of records that are kept, so a copy of them is
	// kept as long as the oldest of them.
	oldest := engine.Day(r.state.published.Load().oldestDay.Load()).Start()
	before := min(now.time-engine.Retention, oldest) + r.compaction.policy.LogAge
	gone, err := datadir.ForgetRestoredOver(r.dataDir, time.Unix(0, int64(before)))
	if err != nil {
		r.life.log.Error("what a restore moved aside is past its retention and not deleted", "error", err)
	}
	if gone > 0 {
		r.life.log.Warn("what a restore moved aside is past its retention: deleted", "folders", gone)
	}
	if record == nil {
		return
	}
	at, err := time.Parse(time.RFC3339, record.LastTime)
	if err != nil || before < engine.Time(at.UnixNano()) {
		return
	}
	forgotten, err := datadir.ForgetBackups(r.dataDir)
	if err != nil {
		r.life.log.Error("what a recovery kept is past its retention and not deleted", "error", err)
	}
	if forgotten > 0 {
		r.life.log.Warn("what a recovery kept is past its retention: deleted", "folders", forgotten)
	}
}

// eraseHistory deletes the leaves that are past retention, except for their hashes.
func (r *retention) eraseHistory() {
	oldest := r.state.published.Load().oldest.Load()
	for !r.life.hasEnded() {
		erased, err := r.audit.Erase(oldest, eraseStep)
		if errors.Is(err, audit.ErrBroken) {
			r.life.endProcess(fmt.Sprintf("history past its retention cannot be deleted: %v", err))
			return
		}
		if err != nil { // A full disk or a damaged file: everything is tried again in a minute.
			r.life.log.Error("history past its retention cannot be deleted", "error", err)
			return
		}
		if erased < eraseStep {
			return
		}
	}
}
