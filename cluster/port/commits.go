package port

import (
	"sync"

	"github.com/hashicorp/raft"
)

// This file is about how followers learn the commit index.
//
// Raft sends it with the next append, or after its commit timeout with an empty append. That
// would be two messages to every follower, a hundred times a second, on a group with little to
// do. Here heartbeats, which are sent anyway, carry it. And a node that asked its leader for
// something (a frame of records, a read index) uses the commit index in the answer at once, by
// giving raft one more append.
//
// Followers learn nothing that raft would not tell them: the leader of a term knows that the
// index is committed, and the follower's log is known to be that leader's up to there.

// acked is the newest entry up to which a follower has confirmed, in a term of this node's
// leadership, that its log is the leader's.
type acked struct {
	term             uint64 // The term of the leadership.
	index, indexTerm uint64
}

// acks has the acked entries of all followers.
type acks struct {
	mu     sync.Mutex
	newest map[raft.ServerID]acked
	commit func() uint64 // Returns this node's commit index; nil: heartbeats carry none.
}

// isHeartbeat reports whether a request is one of raft's heartbeats and no append.
func isHeartbeat(request *raft.AppendEntriesRequest) bool {
	return request.PrevLogEntry == 0 && request.PrevLogTerm == 0 && len(request.Entries) == 0 && request.LeaderCommitIndex == 0
}

// loadHeartbeat adds the commit index to a heartbeat, if the follower's log is known. It asks
// for the term after it has read the commit index: an index that this node knew to be committed
// while it led the heartbeat's term is committed in the log of that leader.
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
	more := *request // A copy, because raft uses its request again.
	more.PrevLogEntry, more.PrevLogTerm, more.LeaderCommitIndex = last.index, last.indexTerm, committed
	return &more
}

// noteAnswer records a follower's answer to an append.
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

// endOf returns the last entry that an append covers.
func endOf(request *raft.AppendEntriesRequest) acked {
	if n := len(request.Entries); n > 0 {
		return acked{request.Term, request.Entries[n-1].Index, request.Entries[n-1].Term}
	}
	return acked{request.Term, request.PrevLogEntry, request.PrevLogTerm}
}

// heard is what a leading peer said of its commit index outside its appends, and the newest of
// its appends.
type heard struct {
	wake chan struct{} // Holds one signal.

	mu           sync.Mutex
	term, commit uint64 // The peer's term, and its commit index in it.
	header       raft.RPCHeader
	last         acked  // This entry may be missing in this node's log, because raft may have refused it.
	told         uint64 // The commit index that raft here has been told.

	asked   chan raft.RPCResponse // The answer to the last append that was made here.
	refused uint64                // Index of the last entry behind which an append that was made here was refused.
}

// learnCommitted records the peer's statement that, as leader of a term, it knows index to be
// committed.
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

// notePassing records an append on its way to raft, and raises its commit index to the one
// known here.
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

// appendOf makes an append of what the peer said, behind the peer's own last append. It returns
// false if there is nothing new to tell raft.
func (h *heard) appendOf() (raft.RPC, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case answer := <-h.asked:
		if told, ok := answer.Response.(*raft.AppendEntriesResponse); ok && !told.Success {
			h.refused = h.last.index // This node is behind; its leader sends the missing entries.
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
