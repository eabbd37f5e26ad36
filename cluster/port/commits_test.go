package port

import (
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

func headerOfN1() raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: 3, ID: []byte("n1"), Addr: []byte("127.0.0.1:2/bb")}
}

// exchanged sends one append and returns what raft on the other side receives.
func exchanged(t *testing.T, from, to *PeerTransport, request *raft.AppendEntriesRequest, success bool) raft.AppendEntriesRequest {
	got := make(chan raft.AppendEntriesRequest, 1)
	go func() {
		rpc := <-to.Consumer()
		got <- *rpc.Command.(*raft.AppendEntriesRequest)
		rpc.Respond(&raft.AppendEntriesResponse{Term: request.Term, Success: success}, nil)
	}()
	var response raft.AppendEntriesResponse
	require.NoError(t, from.AppendEntries("n2", "127.0.0.1:1/aa", request, &response))
	return <-got
}

// TestHeartbeatsTellWhatIsCommitted: heartbeats carry the commit index up to the entry that the
// follower has confirmed, as long as the term is the heartbeat's.
func TestHeartbeatsTellWhatIsCommitted(t *testing.T) {
	from, to := transportPair(t) // The node is in term 5.
	from.TellCommits(func() uint64 { return 42 })
	heartbeat := func(term uint64) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{RPCHeader: headerOfN1(), Term: term}
	}
	entries := func(indices ...uint64) *raft.AppendEntriesRequest {
		request := &raft.AppendEntriesRequest{RPCHeader: headerOfN1(), Term: 5, PrevLogEntry: indices[0] - 1, PrevLogTerm: 3}
		for _, index := range indices {
			request.Entries = append(request.Entries, &raft.Log{Index: index, Term: 4})
		}
		return request
	}
	plain := func(request raft.AppendEntriesRequest) {
		require.True(t, isHeartbeat(&request), "%+v", request)
	}
	plain(exchanged(t, from, to, heartbeat(5), true))

	exchanged(t, from, to, entries(39, 40), true)
	raftsOwn := heartbeat(5)
	got := exchanged(t, from, to, raftsOwn, true)
	require.Equal(t, []uint64{40, 4, 40}, []uint64{got.PrevLogEntry, got.PrevLogTerm, got.LeaderCommitIndex}, "no further than the follower's log is known")
	require.True(t, isHeartbeat(raftsOwn), "raft uses it again")
	exchanged(t, from, to, entries(41, 42, 43), true)
	got = exchanged(t, from, to, heartbeat(5), true)
	require.Equal(t, []uint64{43, 42}, []uint64{got.PrevLogEntry, got.LeaderCommitIndex}, "no further than it is committed")

	plain(exchanged(t, from, to, heartbeat(4), true)) // A confirmation in another term says nothing.
	from.acks.newest["n2"] = acked{term: 4, index: 43, indexTerm: 4}
	plain(exchanged(t, from, to, heartbeat(4), true)) // The node is in term 5 by now, so its commit index may be another leader's.

	exchanged(t, from, to, entries(44), true)
	exchanged(t, from, to, entries(45), false)
	plain(exchanged(t, from, to, heartbeat(5), true)) // A follower that refused an append no longer has what it had confirmed.
}

// TestLeadersWordIsAnAppend: a commit index that a leader tells outside its appends reaches raft
// once, and only after the append with that entry, in whatever order the two arrive.
func TestLeadersWordIsAnAppend(t *testing.T) {
	from, to := transportPair(t)
	to.Committed("n1", 5, 7) // No node of that name has connected.
	entries := func(index, commit uint64) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{
			RPCHeader: headerOfN1(), Term: 5, PrevLogEntry: index - 1, PrevLogTerm: 5, LeaderCommitIndex: commit, Entries: []*raft.Log{{Index: index, Term: 5}},
		}
	}
	require.EqualValues(t, 6, exchanged(t, from, to, entries(7, 6), true).LeaderCommitIndex)

	to.Committed("n1", 5, 7)
	word := <-to.Consumer()
	got := word.Command.(*raft.AppendEntriesRequest)
	require.Equal(t, []uint64{5, 7, 5, 7}, []uint64{got.Term, got.PrevLogEntry, got.PrevLogTerm, got.LeaderCommitIndex})
	require.Empty(t, got.Entries)
	require.Equal(t, "n1", string(got.ID))
	word.Respond(&raft.AppendEntriesResponse{Success: true}, nil)

	to.Committed("n1", 5, 9) // The commit index comes before the entries.
	require.EqualValues(t, 8, exchanged(t, from, to, entries(8, 7), true).LeaderCommitIndex)
	require.EqualValues(t, 9, exchanged(t, from, to, entries(9, 7), true).LeaderCommitIndex)

	to.Committed("n1", 6, 20) // A commit index of another term says nothing about this term's entries.
	require.EqualValues(t, 9, exchanged(t, from, to, entries(10, 9), true).LeaderCommitIndex)
	in := to.inbound["n1"]
	_, any := in.heard.appendOf()
	require.False(t, any)
}

// TestLeadersWordIsNotRepeatedToWhoIsBehind: a refused append is not repeated, since raft logs
// each refusal.
func TestLeadersWordIsNotRepeatedToWhoIsBehind(t *testing.T) {
	h := &heard{wake: make(chan struct{}, 1)}
	h.notePassing(&raft.AppendEntriesRequest{Term: 5, PrevLogEntry: 100, PrevLogTerm: 4})
	h.learnCommitted(5, 90)
	word, any := h.appendOf()
	require.True(t, any)
	word.Respond(&raft.AppendEntriesResponse{Success: false}, nil)
	h.learnCommitted(5, 95)
	_, any = h.appendOf()
	require.False(t, any)
	h.notePassing(&raft.AppendEntriesRequest{Term: 5, PrevLogEntry: 100, PrevLogTerm: 4, Entries: []*raft.Log{{Index: 101, Term: 5}}})
	h.learnCommitted(5, 101)
	word, any = h.appendOf()
	require.True(t, any)
	require.EqualValues(t, 101, word.Command.(*raft.AppendEntriesRequest).LeaderCommitIndex)
}
