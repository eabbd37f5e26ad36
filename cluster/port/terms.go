package port

import (
	"fmt"

	"github.com/hashicorp/raft"
)

// CheckTerms refuses an append or a snapshot that brings entries of a later term than its leader's
// (guard G7). No leader has such entries. But raft's replication to a peer that does not answer waits up
// to 10 s between attempts, and then sends what is in the log, under its old term, although the node leads
// no more and follows another leader, whose entries it sends. A peer that has not heard of the new
// term takes them without learning it: its log is ahead of its term. After a restart that cannot be
// told from a node that has lost its term and its vote, and such a node must not start.
func CheckTerms(command any) error {
	var leader, entries uint64
	switch command := command.(type) {
	case *raft.AppendEntriesRequest:
		leader, entries = command.Term, command.PrevLogTerm
		for _, entry := range command.Entries {
			entries = max(entries, entry.Term)
		}
	case *raft.InstallSnapshotRequest:
		leader, entries = command.Term, command.LastLogTerm
	}
	if entries > leader {
		return fmt.Errorf("a leader of term %d has no entries of term %d: it leads no more", leader, entries)
	}
	return nil
}
