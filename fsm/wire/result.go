package wire

import "railguard/engine"

// Code says what became of a record.
type Code uint8

// The codes.
const (
	Applied   Code = iota + 1
	Unchanged      // The state was so already: no event, no leaf.
	Replayed       // The Idempotency-Key was used before, for the same body: Leaf is that call's.
	Conflict       // The Idempotency-Key was used before for another body.
	Stale          // Judged with an older basis: judge again.
	Fenced         // The entry's term was not its raft term: nothing happened, propose again.
	Refused        // See Refusal.
	KeyMoved       // The API key was changed, revoked or expired since: authenticate again.
)

// Refusal says why a record was refused.
type Refusal uint8

// The refusals.
const (
	RefusedMalformed Refusal = iota + 1
	RefusedNotFound
	RefusedTransition    // Current status in Result.State.
	RefusedDispositioned // A disposition exists.
	RefusedInFleet       // An agent is in another fleet.
	RefusedNotInFleet
	RefusedParent   // Parent not effectively ACTIVE; its status in Result.State.
	RefusedFull     // A table's limit (decision 59): 503 or 409 by the endpoint.
	RefusedKeyTable // Idempotency table full of young keys: 503 overloaded.
	RefusedClaimed  // Claimed by another reviewer.
	RefusedVersion  // BaseRev or If-Match differs; current one in Result.Value.
	RefusedNotAutonomous
	RefusedOperator // Operators differ.
	RefusedDepth
	RefusedList // Digest unknown, incomplete or not allowed.
	RefusedExists
	RefusedNotDev      // Test clock or sample outside dev.
	RefusedGenesis     // No genesis yet, or a second one.
	RefusedInactive    // Agent revoked or expired where it must not be.
	RefusedNotOpen     // Not an open review.
	RefusedScope       // What a key of the institution suspended, lifted by one with an operator's scope.
	RefusedTransfer    // An ownership transfer to another operator is flagged.
	RefusedUnbuilt     // The record can be decoded, but this release does not apply its kind.
	RefusedEnded       // A payment's hold has ended in another way; the leaf that ended it in Result.Value.
	RefusedNotHeld     // Nothing of a payment counts that could be released.
	RefusedLate        // The time in which a payment without a hold could be released is over.
	RefusedProposed    // Another disposition is proposed; its leaf in Result.Value.
	RefusedSamePerson  // Who proposed cannot confirm or withdraw; the proposal's leaf in Result.Value.
	RefusedNotProposed // No proposal is open.
)

// Result is the outcome of one record, handed back to its proposer.
type Result struct {
	Code    Code          `cbor:"1,keyasint"`
	Refusal Refusal       `cbor:"2,keyasint,omitempty"`
	Origin  uint16        `cbor:"3,keyasint,omitempty"`
	Seq     uint64        `cbor:"4,keyasint,omitempty"`
	Index   uint64        `cbor:"5,keyasint"`           // Raft index of the entry.
	Term    uint64        `cbor:"6,keyasint,omitempty"` // Raft term of the entry.
	Leaf    uint64        `cbor:"7,keyasint,omitempty"` // Leaf index; meaningful when Data or Replayed.
	Data    []byte        `cbor:"8,keyasint,omitempty"` // The leaf's bytes when this record wrote one.
	Time    engine.Time   `cbor:"9,keyasint,omitempty"` // Log time of the record; for Unchanged the time of the state.
	State   engine.Status `cbor:"10,keyasint,omitempty"`
	Value   uint64        `cbor:"11,keyasint,omitempty"`
}

// NoListYet as the Base of a ListActivate is of a cluster that has had no list.
const NoListYet = 1<<64 - 1

// ListBase is the Base of a swap that was checked against a list version, 0 where there
// is no list.
func ListBase(version uint64) uint64 {
	if version == 0 {
		return NoListYet
	}
	return version
}
