package port

import (
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// TestEntriesOfALaterTerm (guard G7): an append or a snapshot that brings entries of a later term than
// its own is neither sent nor taken.
func TestEntriesOfALaterTerm(t *testing.T) {
	of := func(term, previous uint64, terms ...uint64) *raft.AppendEntriesRequest {
		request := &raft.AppendEntriesRequest{RPCHeader: headerOfN1(), Term: term, PrevLogEntry: 40, PrevLogTerm: previous}
		for i, term := range terms {
			request.Entries = append(request.Entries, &raft.Log{Index: 41 + uint64(i), Term: term})
		}
		return request
	}
	for name, c := range map[string]struct {
		command any
		refused bool
	}{
		"of its own term":              {of(5, 5, 5, 5), false},
		"of earlier ones":              {of(5, 3, 3, 4), false},
		"a heartbeat":                  {&raft.AppendEntriesRequest{Term: 5}, false},
		"the last entry of a later":    {of(5, 5, 5, 6), true},
		"an entry between":             {of(5, 5, 6, 5), true},
		"the entry before of a later":  {of(5, 6), true},
		"a snapshot":                   {&raft.InstallSnapshotRequest{Term: 5, LastLogTerm: 5}, false},
		"a snapshot of a later":        {&raft.InstallSnapshotRequest{Term: 5, LastLogTerm: 6}, true},
		"a vote is no matter of these": {&raft.RequestVoteRequest{Term: 5, LastLogTerm: 6}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckTerms(c.command); c.refused {
				require.ErrorContains(t, err, "leads no more")
			} else {
				require.NoError(t, err)
			}
		})
	}
	from, to := transportPair(t)
	var response raft.AppendEntriesResponse
	require.ErrorContains(t, from.AppendEntries("n2", "127.0.0.1:1/aa", of(5, 5, 6), &response), "leads no more", "it is not sent")
	require.ErrorContains(t, from.NetworkTransport.AppendEntries("n2", "127.0.0.1:1/aa", of(5, 5, 6), &response), "leads no more", "it is not taken")
	exchanged(t, from, to, of(5, 5, 5), true)
}
