package port

import (
	"sync"

	"github.com/hashicorp/raft"
)

// How followers learn what is committed.
//
// Raft tells it with the next append, or after its commit timeout with one that has
// nothing else in it: two messages to every follower, a hundred times a second, where
// there is little to do. Here heartbeats carry it, which are sent anyway; and a node that
// asked its leader for something (a frame of records, a read index) takes the leader's
// word for it at once, as one more append that says what the leader said.
//
// Nothing is told that raft would not tell: an index that the leader of a term knows to be
// committed, to a follower whose log up to there is known to be that leader's.

// acked is the newest entry of which a follower said, in a term of this node's
// leadership, that its log is the leader's up to it.
type acked struct {
	term             uint64 // Of the leadership.
	index, indexTerm uint64
}

// acks are those of all followers.
type acks struct {
	mu     sync.Mutex
	newest map[raft.ServerID]acked
	commit func() uint64 // This node's; nil: heartbeats carry nothing.
}

// isHeartbeat tells raft's heartbeats from its appends.
func isHeartbeat(request *raft.AppendEntriesRequest) bool {
	return request.PrevLogEntry == 0 && request.PrevLogTerm == 0 && len(request.Entries) == 0 && request.LeaderCommitIndex == 0
}

// loadHeartbeat adds to a heartbeat what is committed, where something can be said. term
// is asked after the commit index was read: what this node knew to be committed while it
// led the heartbeat's term is committed in the log of that leader.
func (a *acks) loadHeartbeat(id raft.ServerID, request *raft.AppendEntriesRequest, term func() uint64) *raft.AppendEntriesRequest {
	if a.commit == nil {
		return request
	}
	a.mu.Lock()
	last := a.newest[id]
	a.mu.Unlock()
	if last.term != request.Term || last.index == 0 {
		return request
	}
	committed := min(a.commit(), last.index)
	if term() != request.Term {
		return request
	}
	more := *request // Raft uses its own again.
	more.PrevLogEntry, more.PrevLogTerm, more.LeaderCommitIndex = last.index, last.indexTerm, committed
	return &more
}

// noteAnswer takes a follower's answer to an append.
func (a *acks) noteAnswer(id raft.ServerID, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) {
	newest := endOf(request)
	if newest.index == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.newest[id]
	switch {
	case !response.Success || response.Term != request.Term:
		delete(a.newest, id)
	case newest.term > last.term || newest.term == last.term && newest.index > last.index:
		if a.newest == nil {
			a.newest = make(map[raft.ServerID]acked)
		}
		a.newest[id] = newest
	}
}

// endOf is the last entry that an append is about.
func endOf(request *raft.AppendEntriesRequest) acked {
	if n := len(request.Entries); n > 0 {
		return acked{request.Term, request.Entries[n-1].Index, request.Entries[n-1].Term}
	}
	return acked{request.Term, request.PrevLogEntry, request.PrevLogTerm}
}

// heard is what a peer that leads said of its commit index beside its appends, and the
// newest append of its own.
type heard struct {
	wake chan struct{} // Holds one.

	mu           sync.Mutex
	term, commit uint64 // Its word.
	header       raft.RPCHeader
	last         acked  // Not certainly in the log here: raft may have refused it.
	told         uint64 // What raft here was told of it.

	asked   chan raft.RPCResponse // Of the last append of our own.
	refused uint64                // An append of our own behind this entry was refused.
}

// learnCommitted takes the peer's word: as leader of a term it knows index to be committed.
func (h *heard) learnCommitted(term, index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if term < h.term || term == h.term && index <= h.commit {
		return
	}
	h.term, h.commit = term, index
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// notePassing notes an append on its way to raft, and has it tell what is known better.
func (h *heard) notePassing(request *raft.AppendEntriesRequest) {
	end := endOf(request)
	if end.index == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if end.term != h.last.term {
		h.told, h.refused, h.last = 0, 0, acked{}
	}
	if end.index >= h.last.index { // A heartbeat may be older than the append before it.
		h.header, h.last = request.RPCHeader, end
	}
	if h.term == request.Term {
		request.LeaderCommitIndex = max(request.LeaderCommitIndex, min(h.commit, end.index))
	}
	h.told = max(h.told, request.LeaderCommitIndex)
}

// appendOf is the peer's word as an append, behind the last one of its own.
func (h *heard) appendOf() (raft.RPC, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case answer := <-h.asked:
		if told, ok := answer.Response.(*raft.AppendEntriesResponse); ok && !told.Success {
			h.refused = h.last.index // This node is behind; its leader sends what it lacks.
		}
	default:
	}
	committed := min(h.commit, h.last.index)
	if h.term != h.last.term || committed <= h.told || h.last.index <= h.refused {
		return raft.RPC{}, false
	}
	h.told, h.asked = committed, make(chan raft.RPCResponse, 1)
	return raft.RPC{
		Command: &raft.AppendEntriesRequest{
			RPCHeader: h.header, Term: h.last.term,
			PrevLogEntry: h.last.index, PrevLogTerm: h.last.indexTerm, LeaderCommitIndex: committed,
		},
		RespChan: h.asked,
	}, true
}
