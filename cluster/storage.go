package cluster

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/cluster/datadir"
	"railguard/cluster/recorder"
)

// storage watches this node's writes (guard G4). While one of them hangs, the node does not lead:
// it sends no heartbeats and asks for no votes, so the others elect if they can. It ends only
// where others go on without it, so that its callers go to them, or after stallNever.
type storage struct {
	*datadir.Stalls
	life    *life
	replica *replica
	peers   *peers
	stands  *metrics.Gauge // Whether a write hangs. It is set here: what measures a node may wait for the disk.

	seen atomic.Uint64 // The group's commit index, as far as it was known when a write began to hang.
}

// stallNever is how long a write may take where ending helps nobody. The start after it opens the
// files anew, which helps if not the disk hangs but what is in front of it.
const stallNever = 5 * time.Minute

func newStorage(config *Config, l *life, r *replica, stands *metrics.Gauge) *storage {
	s := &storage{life: l, replica: r, stands: stands}
	patience := datadir.Patience{Lead: config.Timing.Stall, End: config.Timing.StallEnds, Never: config.Timing.StallNever}
	s.Stalls = datadir.NewStalls(func() datadir.Patience { return patience }, l.endProcess)
	s.Helps, s.Noticed, s.Mended = s.endingHelps, s.noteStall, s.noteMended
	return s
}

// noteStall notes how far the group was when this node's disk began to hang.
func (s *storage) noteStall(what string) {
	s.seen.Store(s.newestCommit())
	diskStalls.Inc()
	s.stands.Set(truthGauge(s.Standing()))
	s.life.note(recorder.Stall, "the disk does not answer: "+what)
	s.life.log.Error("the disk does not answer: this node does not lead until it does", "write", what)
}

func (s *storage) noteMended(what string, lasted time.Duration) {
	s.stands.Set(truthGauge(s.Standing()))
	s.life.record.Note(recorder.Entry{Kind: recorder.Stall, Text: "the disk answers again: " + what, TookMs: max(lasted.Milliseconds(), 1)})
	s.life.log.Warn("the disk answers again", "write", what, "took", lasted.Round(time.Millisecond))
}

func (s *storage) newestCommit() (newest uint64) {
	if !s.replica.started.Load() {
		return 0
	}
	newest = s.replica.raft.CommitIndex()
	for _, id := range s.replica.otherIDs() {
		if last, known := s.peers.lastSample(string(id)); known {
			newest = max(newest, last.pong.Commit)
		}
	}
	return newest
}

// endingHelps reports whether another node leads whose disk answers, and the group has committed
// something since this node's disk hung; or whether this node is being stopped anyway.
func (s *storage) endingHelps() bool {
	if s.life.hasEnded() {
		return true
	}
	if !s.replica.started.Load() {
		return false
	}
	for _, id := range s.replica.otherIDs() {
		if one, fresh := s.peers.freshSample(string(id)); fresh && !one.silent && one.pong.Leads && one.pong.Commit > s.seen.Load() {
			return true
		}
	}
	return false
}

// watchFile watches a write of a small file of the data folder.
func (s *storage) watchFile(name string) func() { return s.Watch("write of " + name) }

// describeStall says which write hangs, and for how long.
func (s *storage) describeStall() string {
	what, since, _ := s.Stand()
	return fmt.Sprintf("the disk does not answer: %s for %v", what, time.Since(since).Round(100*time.Millisecond))
}
