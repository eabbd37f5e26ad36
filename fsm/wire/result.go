package wire

import "railguard/engine"

// Code is the outcome of a record.
type Code uint8

// The codes.
const (
	Applied   Code = iota + 1
	Unchanged      // The state was so already: no event, no leaf.
	Replayed       // The Idempotency-Key was used before, for the same body: Leaf is that call's.
	Conflict       // The Idempotency-Key was used before for another body.
	Stale          // It was judged with an older basis: judge again.
	Fenced         // The entry's term was not its raft term: nothing happened, propose again.
	Refused        // See Refusal.
	KeyMoved       // The API key has changed, was revoked or has expired: authenticate again.
)

// Refusal says why a record was refused.
type Refusal uint8

// The refusals.
const (
	RefusedMalformed Refusal = iota + 1
	RefusedNotFound
	RefusedTransition    // The change is not possible in the current state. Result.State has the state, or Value has that of a report or a sanctions case, or a leaf.
	RefusedDispositioned // There is a disposition already.
	RefusedInFleet       // An agent is in another fleet.
	RefusedNotInFleet
	RefusedParent  // The parent is not effectively ACTIVE. Its status is in Result.State.
	RefusedFull    // A table is full (decision 59): 503 or 409, depending on the endpoint.
	RefusedClaimed // Another reviewer has claimed the review.
	RefusedVersion // BaseRev or If-Match differs. The current one is in Result.Value.
	RefusedNotAutonomous
	RefusedOperator // The operators differ.
	RefusedDepth
	RefusedList // The list is unknown, incomplete or not allowed.
	RefusedExists
	RefusedNotDev      // A test clock or the sample list was used in a cluster that is not for development.
	RefusedGenesis     // There is no genesis yet, or this is a second one.
	RefusedInactive    // The agent is revoked or expired.
	RefusedNotOpen     // The record is not an open review.
	RefusedScope       // The key's rights do not allow it, such as lifting the institution's suspension.
	RefusedTransfer    // An ownership transfer to another operator is flagged.
	RefusedEnded       // A payment's hold has ended in another way. Result.Value is the leaf that ended it.
	RefusedNotHeld     // Nothing that counts of the payment can be released.
	RefusedLate        // It is too late to release a payment without a hold.
	RefusedProposed    // Something else is proposed for the same thing; Result.Value is the proposal's leaf.
	RefusedSamePerson  // The proposer cannot confirm or withdraw; Result.Value is the proposal's leaf.
	RefusedNotProposed // No proposal is open.
	RefusedSettler     // The key may not give back what counts of a payment.
	RefusedLapsed      // The approval of the payment is no longer good.
	RefusedShare       // The owner has used its share of a table.
	RefusedYoung       // The key of the second person, or what it says of him, is younger than a day; Result.Value is the proposal's leaf.
	RefusedMaker       // One of the two persons made or changed the key of the other; Result.Value is the proposal's leaf.
	RefusedNoPerson    // Two persons must do it, and the machine's admin token names none.
	RefusedUnnamed     // One of the two keys names a person and the other does not; Result.Value is the proposal's leaf.
	RefusedAmbiguous   // Several operators have the legal name.
	RefusedUsed        // The payment was redeemed or settled; Result.Value is the leaf that says so.
	RefusedWaiting     // Nobody has decided the review of the payment, or what was decided may not be told.
	RefusedRejected    // An officer rejected the payment.
	RefusedNoLeave     // The payment was a BLOCK or UNKNOWN.
	RefusedConfirms    // The payment was confirmed as often as it can be.
	RefusedPermitOver  // The permit has ended.
	RefusedUnsigned    // The person must sign it with a passkey, or what was signed does not count.
	RefusedOwnEnd      // It ends the caller, who has no say in it.
	RefusedLastAdmin   // Nobody would be an admin any more.
	RefusedUnfinished  // Nobody has finished the narrative of the report.
)

// Result is the outcome of one record, handed back to its proposer.
type Result struct {
	Code    Code          `cbor:"1,keyasint"`
	Refusal Refusal       `cbor:"2,keyasint,omitempty"`
	Origin  uint16        `cbor:"3,keyasint,omitempty"`
	Seq     uint64        `cbor:"4,keyasint,omitempty"`
	Index   uint64        `cbor:"5,keyasint"`           // Raft index of the entry.
	Term    uint64        `cbor:"6,keyasint,omitempty"` // Raft term of the entry.
	Leaf    uint64        `cbor:"7,keyasint,omitempty"` // The leaf that this record wrote, or the earlier one that answers it.
	Data    []byte        `cbor:"8,keyasint,omitempty"` // The leaf's bytes when this record wrote one.
	Time    engine.Time   `cbor:"9,keyasint,omitempty"` // Log time of the record; for Unchanged the time of the state.
	State   engine.Status `cbor:"10,keyasint,omitempty"`
	Value   uint64        `cbor:"11,keyasint,omitempty"`
}

// NoListYet is the Base of a ListActivate that was checked while there was no list.
const NoListYet = 1<<64 - 1

// ListBase returns the Base for a list version; 0 means that there is no list.
func ListBase(version uint64) uint64 {
	if version == 0 {
		return NoListYet
	}
	return version
}
