package port

import (
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestAppendsBehindASnapshot: an append that follows the newest snapshot reaches raft as one that
// follows nothing, and commits no more than it brings. All others reach raft as they are.
func TestAppendsBehindASnapshot(t *testing.T) {
	from, to := transportPair(t)
	to.AcceptBehind(func(index, term uint64) bool { return index == 40 && term == 3 })
	appendOf := func(index, term, commit uint64, entries ...*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{RPCHeader: headerOfN1(), Term: 5, PrevLogEntry: index, PrevLogTerm: term, LeaderCommitIndex: commit, Entries: entries}
	}
	tell := func(request *raft.AppendEntriesRequest) []uint64 {
		got := exchanged(t, from, to, request, true)
		require.Len(t, got.Entries, len(request.Entries))
		return []uint64{got.PrevLogEntry, got.PrevLogTerm, got.LeaderCommitIndex}
	}
	two := []*raft.Log{{Index: 41, Term: 5}, {Index: 42, Term: 5}}
	require.Equal(t, []uint64{0, 0, 42}, tell(appendOf(40, 3, 50, two...)), "the node's log may be longer and another one behind that")
	require.Equal(t, []uint64{0, 0, 41}, tell(appendOf(40, 3, 41, two...)))
	require.Equal(t, []uint64{0, 0, 40}, tell(appendOf(40, 3, 50)))
	require.Equal(t, []uint64{40, 4, 50}, tell(appendOf(40, 4, 50, two...)), "the snapshot's entry is of another term")
	require.Equal(t, []uint64{41, 5, 50}, tell(appendOf(41, 5, 50, two[1])))
	require.Equal(t, []uint64{0, 0, 0}, tell(appendOf(0, 0, 0)))

	from, to = transportPair(t)
	to.AcceptBehind(func(uint64, uint64) bool { return true })
	exchanged(t, from, to, appendOf(40, 3, 30), true)
	to.Committed("n1", 5, 60)
	word := (<-to.Consumer()).Command.(*raft.AppendEntriesRequest)
	require.Equal(t, []uint64{0, 0, 40}, []uint64{word.PrevLogEntry, word.PrevLogTerm, word.LeaderCommitIndex}, "also what a leader tells outside its appends")
}
