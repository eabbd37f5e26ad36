package port

import (
	"errors"
	"fmt"
	"strings"

	"railguard/cluster/report"
	"railguard/fsm/wire"
)

// Errors of the cluster's verbs that go through the port and keep their meaning.
var (
	ErrNotLeader = errors.New("cluster: this node does not lead")
	ErrNoPeer    = errors.New("cluster: no such peer")
	ErrAlone     = errors.New("cluster: there is no other voter")
	ErrWentBack  = errors.New("cluster: the node's log ends before what it had applied: its folder is an older copy")
	ErrCopy      = errors.New("cluster: the member of this name and folder answers at its own address: this one runs on a copy of its folder")
	// ErrNotAdmitted: a node asks to join a group that does not know its id.
	ErrNotAdmitted = errors.New("cluster: no admin has admitted this node yet: railguard cluster admit with its id")
	// ErrForeignKey: a node shows another key than the one by which the group knows its name.
	ErrForeignKey = errors.New("cluster: the node has another key than the member of that name, or is no member: an admin must admit it")
	ErrTooOld     = errors.New("cluster: this release is too old for the format that the group computes by: upgrade this node")
)

// remoteErrors are the errors that keep their meaning over the wire.
var remoteErrors = []error{
	wire.ErrNoLeader, wire.ErrNoQuorum, wire.ErrOverloaded, wire.ErrStorageLow, wire.ErrTimeUncertain, wire.ErrShuttingDown, wire.ErrUnknown,
	ErrNotLeader, ErrNoPeer, ErrAlone, ErrWentBack, ErrCopy, ErrTooOld, ErrNotAdmitted, ErrForeignKey, report.ErrNotWaiting, report.ErrOtherKey,
}

// remoteError makes an error of the text that a peer answered instead of a reply.
func remoteError(text []byte) error {
	for _, known := range remoteErrors {
		if string(text) == known.Error() {
			return known
		}
	}
	said := strings.TrimPrefix(Plain(string(text)), peerSays) // A peer may pass on the error of another one.
	return fmt.Errorf("cluster: "+peerSays+"%.512s", said)
}

const peerSays = "the peer says: "

// Plain returns an error's text without the room's name, with which each error of a chain
// begins.
func Plain(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, ": cluster: ", ": "), "cluster: ")
}
