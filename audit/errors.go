package audit

import (
	"errors"
	"fmt"
)

var (
	// ErrNotYet: the leaf, or the tree size, is beyond what this store has.
	ErrNotYet = errors.New("audit: not appended yet")
	// ErrPruned: the leaf is older than the retention; its hash may remain.
	ErrPruned = errors.New("audit: leaf is past its retention")
	// ErrMissing: the leaf (or a hash above it) has not been fetched from a
	// peer yet. Ask a peer.
	ErrMissing = errors.New("audit: leaf is being caught up")
	// ErrCorrupt: the bytes on this disk are damaged. Errors of this kind are
	// *DamageError and name the leaves.
	ErrCorrupt = errors.New("audit: damaged on disk")
	// ErrDiverged: a replayed or fetched leaf differs from the one stored, or a
	// tree head differs from the store's. The node must stop.
	ErrDiverged = errors.New("audit: history diverged")
	// ErrTime: a new leaf's log time is before that of the leaf before it. This is a bug of the
	// caller, and the node must stop.
	ErrTime = errors.New("audit: log time went back")
	// ErrGap: Append would leave a hole that no Adopt has declared.
	ErrGap = errors.New("audit: append beyond the end")
	// ErrBroken: an earlier write or sync failed; the store refuses to go on.
	ErrBroken = errors.New("audit: store is broken")
	// ErrLimit: a leaf or a request is larger than a limit of this package.
	ErrLimit = errors.New("audit: limit exceeded")
	// ErrUnproven: fetched bytes do not lead to the trusted root.
	ErrUnproven = errors.New("audit: not proven by the trusted root")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("audit: store is closed")
)

// DamageError names what is damaged: leaves First to Last, both included.
// It matches ErrCorrupt.
type DamageError struct {
	File  string // name in the Dir
	First uint64
	Last  uint64
	What  string
	At    int64 // The byte of the file where what is damaged begins.
}

func (e *DamageError) Error() string {
	if e.First == e.Last {
		return fmt.Sprintf("audit: leaf %d damaged in %s from byte %d: %s", e.First, e.File, e.At, e.What)
	}
	return fmt.Sprintf("audit: leaves %d to %d damaged in %s from byte %d: %s", e.First, e.Last, e.File, e.At, e.What)
}

// Is makes errors.Is(err, ErrCorrupt) hold.
func (e *DamageError) Is(target error) bool { return target == ErrCorrupt }

// ErrReadOnly answers every write to a store of OpenReadOnly.
var ErrReadOnly = errors.New("audit: the store was opened read-only")
