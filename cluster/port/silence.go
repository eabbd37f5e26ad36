package port

import (
	"errors"
	"io"

	"github.com/hashicorp/raft"
)

// errSilent is the answer to raft while its node's disk hangs.
var errSilent = errors.New("cluster: this node's disk does not answer: it does not lead and asks for no votes")

// Silenced keeps a node from leading while Silent returns true. A leader's heartbeats come from
// goroutines of their own and would go on while its main loop waits for the disk, so that the
// group would stand still as long as that disk does.
type Silenced struct {
	Transport
	Silent func() bool
}

// AppendEntries implements raft.Transport.
func (s Silenced) AppendEntries(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	if s.Silent() {
		return errSilent
	}
	return s.Transport.AppendEntries(id, target, request, response)
}

// RequestVote implements raft.Transport.
func (s Silenced) RequestVote(id raft.ServerID, target raft.ServerAddress, request *raft.RequestVoteRequest, response *raft.RequestVoteResponse) error {
	if s.Silent() {
		return errSilent
	}
	return s.Transport.RequestVote(id, target, request, response)
}

// RequestPreVote implements raft.WithPreVote.
func (s Silenced) RequestPreVote(id raft.ServerID, target raft.ServerAddress, request *raft.RequestPreVoteRequest, response *raft.RequestPreVoteResponse) error {
	if s.Silent() {
		return errSilent
	}
	return s.Transport.RequestPreVote(id, target, request, response)
}

// InstallSnapshot implements raft.Transport.
func (s Silenced) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, request *raft.InstallSnapshotRequest, response *raft.InstallSnapshotResponse, data io.Reader) error {
	if s.Silent() {
		return errSilent
	}
	return s.Transport.InstallSnapshot(id, target, request, response, data)
}
