package wire

import "errors"

// Errors of a proposal, for proposers and for those who answer callers. All except ErrUnknown
// mean that nothing happened.
var (
	ErrNoQuorum      = errors.New("no quorum")
	ErrNoLeader      = errors.New("no leader")
	ErrOverloaded    = errors.New("overloaded")
	ErrStorageLow    = errors.New("storage low")    // No voter has room on its disk.
	ErrTimeUncertain = errors.New("time uncertain") // No leader opens its term before persons confirm the time.
	ErrShuttingDown  = errors.New("shutting down")
	ErrUnknown       = errors.New("outcome unknown") // It may or may not have happened.
	ErrTooLarge      = errors.New("record too large")
)
