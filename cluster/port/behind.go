package port

import "github.com/hashicorp/raft"

// Behind reports whether this node's log begins right behind an entry, which is the last one in
// its newest snapshot.
//
// Raft on the leader sends entries behind the one before them, and raft on a follower looks for
// that one in the log, unless its log ends there. It does not look at its snapshot, although it
// has the entry in it. So a follower whose log goes on behind an installed snapshot refuses an
// append that follows that snapshot; the leader then goes further back, where its own log ends,
// and sends the snapshot once more. An installed snapshot empties the log, but raft remembers its
// former end and refuses again, for ever (guard G6, next of kin to hashicorp/raft issue 697). One
// lost answer, to the first append behind a snapshot, and a restart of the follower are enough.
type Behind func(index, term uint64) bool

// AcceptAppend makes raft accept an append that follows the newest snapshot. An append behind no
// entry at all is compared with the log entry by entry, and that is what is left to do: what is in
// a snapshot is committed, and no leader's log differs from it. If the log has been cut meanwhile,
// raft finds no entry to compare and refuses.
func (b Behind) AcceptAppend(request *raft.AppendEntriesRequest) {
	if b == nil || request.PrevLogEntry == 0 || !b(request.PrevLogEntry, request.PrevLogTerm) {
		return
	}
	// Raft would take the leader's commit index for all of its own log, of which only this much is
	// compared.
	request.LeaderCommitIndex = min(request.LeaderCommitIndex, endOf(request).index)
	request.PrevLogEntry, request.PrevLogTerm = 0, 0
}
