package wire

import "errors"

// Errors of a proposal, shared by who proposes and who answers callers. All but
// ErrUnknown mean that certainly nothing happened.
var (
	ErrNoQuorum     = errors.New("no quorum")
	ErrNoLeader     = errors.New("no leader")
	ErrOverloaded   = errors.New("overloaded")
	ErrStorageLow   = errors.New("storage low") // No voter's disk has room.
	ErrShuttingDown = errors.New("shutting down")
	ErrUnknown      = errors.New("outcome unknown") // It may or may not have happened.
	ErrTooLarge     = errors.New("record too large")
)
