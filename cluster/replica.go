package cluster

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/cluster/recorder"
)

const (
	leaderlessMax    = time.Second // After so long without a leader, calls do not wait but fail at once.
	observationsKept = 64
)

// replica is this node's place in the raft group: its members and its leader. It decides where
// proposals go and which errors callers get. It never decides what happened to a proposal.
type replica struct {
	self raft.ServerID

	started atomic.Bool // raft is set.
	raft    *raft.Raft

	observer *raft.Observer
	changes  chan raft.Observation

	alone        atomic.Bool          // This node is the only voter.
	opened       atomic.Uint64        // This node's term that is open for proposals; 0: none. Only the sequencer sets it.
	settled      atomic.Uint64        // This node's term whose first entry is applied here, so that reads can be confirmed; 0: none. It may not be open for proposals yet.
	leap         atomic.Pointer[leap] // This node leads, and its term is not opened until persons confirm this. Only the sequencer sets it.
	transferring atomic.Bool          // Leadership is being handed over.
	led          atomic.Bool          // Raft's last state of this node was that of a leader.
	record       *recorder.Recorder   // nil: nothing is recorded.

	mu        sync.Mutex
	leaderID  raft.ServerID
	leader    raft.ServerAddress
	lostSince time.Time // When the last leader was lost; zero while one is known.
	foundAt   time.Time // When the present leader was first known, after none was.
	voters    int
}

func newReplica(id string, now time.Time) *replica {
	return &replica{self: raft.ServerID(id), lostSince: now}
}

// beginWith sets raft. It is called once, when raft runs.
func (r *replica) beginWith(running *raft.Raft) {
	r.raft = running
	r.started.Store(true)
}

// listServers returns the members of the newest configuration, or none before raft runs.
func (r *replica) listServers() []raft.Server {
	if !r.started.Load() {
		return nil
	}
	return r.raft.GetConfiguration().Configuration().Servers
}

// otherIDs returns the ids of all members but this node.
func (r *replica) otherIDs() (ids []raft.ServerID) {
	for _, server := range r.listServers() {
		if server.ID != r.self {
			ids = append(ids, server.ID)
		}
	}
	return ids
}

func (r *replica) findServer(id raft.ServerID) (raft.Server, bool) {
	for _, server := range r.listServers() {
		if server.ID == id {
			return server, true
		}
	}
	return raft.Server{}, false
}

// addressOf returns a member's address in the present configuration.
func (r *replica) addressOf(id raft.ServerID) (port.Address, error) {
	server, known := r.findServer(id)
	if !known {
		return port.Address{}, fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	return port.ParseAddress(string(server.Address))
}

// onlyVoter reports whether this node is the only voter in the present configuration; alone may
// be out of date.
func (r *replica) onlyVoter() bool {
	voters, mine := 0, false
	for _, server := range r.listServers() {
		if server.Suffrage == raft.Voter {
			voters++
			mine = mine || server.ID == r.self
		}
	}
	return voters == 1 && mine
}

// isLeader reports whether this node leads, even if its term is not open for proposals yet.
func (r *replica) isLeader() bool { return r.raft.State() == raft.Leader }

// remoteLeader returns the leader and its term, or "" if there is none or it is this node.
func (r *replica) remoteLeader() (raft.ServerID, uint64) {
	if !r.started.Load() {
		return "", 0
	}
	term := r.raft.CurrentTerm()
	_, id := r.raft.LeaderWithID()
	if id == "" || id == r.self || r.raft.CurrentTerm() != term {
		return "", 0
	}
	return id, term
}

// watchLeader subscribes to raft's changes. A full channel drops them; the duties look again
// anyway.
func (r *replica) watchLeader() {
	r.changes = make(chan raft.Observation, observationsKept)
	r.observer = raft.NewObserver(r.changes, false, func(o *raft.Observation) bool {
		switch what := o.Data.(type) {
		case raft.RaftState:
			r.noteState(what)
			return true
		case raft.LeaderObservation:
			return true
		case raft.FailedHeartbeatObservation:
			heartbeatsFailed.Inc()
		}
		return false
	})
	r.raft.RegisterObserver(r.observer)
}

// noteState records an election, or the end of this node's leadership, and why.
func (r *replica) noteState(state raft.RaftState) {
	term := r.raft.CurrentTerm()
	if state == raft.Candidate {
		elections.Inc()
		why := "no leader was heard"
		if id, _, _ := r.currentLeader(time.Now()); id != "" {
			why = fmt.Sprintf("nothing was heard of leader %s for %v", id, time.Since(r.raft.LastContact()).Round(time.Millisecond))
		}
		r.record.Note(recorder.Entry{Kind: recorder.Election, Term: term, Text: why})
	}
	if was := r.led.Swap(state == raft.Leader); was && state != raft.Leader {
		why := "it reached no quorum, or another node has a newer term"
		if r.transferring.Load() {
			why = "it handed leadership on"
		}
		r.record.Note(recorder.Entry{Kind: recorder.Lost, Term: term, Text: why})
	}
}

func (r *replica) stopWatching() { r.raft.DeregisterObserver(r.observer) }

// refreshLeader asks raft for the leader and the voters, and reports whether the leader changed.
func (r *replica) refreshLeader(now time.Time) (changed bool) {
	address, id := r.raft.LeaderWithID()
	voters, mine := 0, false
	for _, server := range r.listServers() {
		if server.Suffrage == raft.Voter {
			voters++
			mine = mine || server.ID == r.self
		}
	}
	r.alone.Store(voters == 1 && mine)
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = id != r.leaderID || address != r.leader
	if changed {
		r.noteLeader(id, now)
	}
	r.voters, r.leaderID, r.leader = voters, id, address
	switch {
	case address != "" && !r.lostSince.IsZero():
		r.lostSince, r.foundAt = time.Time{}, now
	case address != "":
	case r.lostSince.IsZero():
		r.lostSince = now
	}
	return changed
}

// noteLeader records that another leader is known, or none. Called with mu held.
func (r *replica) noteLeader(id raft.ServerID, now time.Time) {
	entry := recorder.Entry{Kind: recorder.Leader, Term: r.raft.CurrentTerm(), Text: string(id)}
	if id != "" && !r.lostSince.IsZero() {
		entry.TookMs = now.Sub(r.lostSince).Milliseconds()
	}
	r.record.Note(entry)
}

// currentLeader returns the leader, if one is known, and otherwise for how long none has been.
func (r *replica) currentLeader(now time.Time) (id raft.ServerID, address raft.ServerAddress, without time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lostSince.IsZero() {
		without = max(now.Sub(r.lostSince), 1)
	}
	return r.leaderID, r.leader, without
}

// wasUnled reports whether there was no leader for a part of the time before now.
func (r *replica) wasUnled(now time.Time, before time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.lostSince.IsZero() || now.Sub(r.foundAt) < before
}

func (r *replica) voterCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.voters
}
