package leaf

import (
	"slices"

	"railguard/fsm/wire"
)

// Kinds of event leaves about payments, the desk and time. Those that no release writes
// yet are marked; docs/FORMATS.md has their members.
const (
	KindScreen  = "screen"  // A record of FormScreen.
	KindProfile = "profile" // A record of FormProfile.

	KindHoldSettled  = "hold.settled"
	KindHoldReleased = "hold.released"

	// KindClusterLineage is the first leaf of a restored backup's epoch.
	KindClusterLineage = "cluster.restored"

	// KindDue is what log time alone brought about, written by the tick at which it fell
	// due; member type says what, one of the names of dueNames.
	KindDue = "due"

	KindDispositioned = "review.dispositioned"
	KindClaimed       = "review.claimed"
	KindReleased      = "review.released"
	KindAssigned      = "review.assigned"
	KindCommented     = "review.commented"
	KindProposed      = "review.proposed"
	KindWithdrawn     = "review.withdrawn" // Taken back by a person; what lapses is due.
	KindAlertOpened   = "alert.opened"
	KindAcknowledged  = "alert.acknowledged"
	KindSARMoved      = "sar.moved"
	KindWebhook       = "webhook.changed" // Written: created, changed, given another secret, deleted, to be sent something again.
	KindDeadLetter    = "webhook.dead_letter"
	KindRetroBegun    = "retro.begun"
	KindRetroHit      = "retro.hit"
	KindRetroEnded    = "retro.ended"

	KindResealed = "cluster.resealed" // So many values are sealed under another cluster secret.
)

// Words of an officer's answer to a review. Names are for ever.
const (
	WordApproved    = "APPROVED"
	WordRejected    = "REJECTED"
	WordEscalateSAR = "ESCALATE_SAR"
)

// Dispositions are wire's numbers of these words.
var Dispositions = map[string]uint8{WordApproved: wire.Approved, WordRejected: wire.Rejected, WordEscalateSAR: wire.EscalateSAR}

// Escalates reports whether a disposition tells of suspicion.
func (d *Dispositioned) Escalates() bool { return d.Disposition == WordEscalateSAR }

// Due numbers what falls due. Numbers and names are for ever.
type Due uint8

// What falls due.
const (
	DueHold                Due = 1
	DueAttestationExpiring Due = 2
	DueAttestationStale    Due = 3
	DueAgentExpiring       Due = 4
	DueAgentExpired        Due = 5
	DueReviewSLA           Due = 6
	DueProposal            Due = 7
	DueSAR                 Due = 8
	DueListStale           Due = 9
	DueSigningKey          Due = 10
	DueAPIKey              Due = 11
	DueOwnership           Due = 12
	DueCleared             Due = 13
	DueUserErased          Due = 14 // Never waits in the heap: told by the tick that erases.
)

var dueNames = [...]string{
	DueHold: "hold.expired", DueAttestationExpiring: "attestation.expiring", DueAttestationStale: "attestation.stale",
	DueAgentExpiring: "agent.expiring", DueAgentExpired: "agent.expired", DueReviewSLA: "review.sla_breached", DueProposal: "review.proposal_lapsed",
	DueSAR: "sar.due_soon", DueListStale: "list.stale", DueSigningKey: "signing_key.active", DueAPIKey: "key.expiring",
	DueOwnership: "agent.ownership_effective", DueCleared: "cleared.expired", DueUserErased: "user.erased",
}

// alertNames are the kinds of alert, by wire's numbers. Names are for ever.
var alertNames = [...]string{
	wire.AlertRetroHit: "retro_hit", wire.AlertLate: "late_settle", wire.AlertOverLimit: "over_limit", wire.AlertNotAllowed: "not_allowed",
	wire.AlertQuarantine: "list_quarantine", wire.AlertOperator: "operator_listed",
}

// AlertName is an alert's kind as leaves and answers name it; "" for a number that is none.
func AlertName(kind uint8) string {
	if int(kind) >= len(alertNames) {
		return ""
	}
	return alertNames[kind]
}

// AlertKind is the number of a kind of alert; false for a name that is none.
func AlertKind(name string) (uint8, bool) {
	at := slices.Index(alertNames[:], name)
	return uint8(max(at, 0)), at > 0
}

// String is the leaf's member type, and the type of the event.
func (d Due) String() string {
	if int(d) >= len(dueNames) {
		return ""
	}
	return dueNames[d]
}

// dueKinds are the names in the registry of what falls due.
var dueKinds = func() (all [len(dueNames)]string) {
	for due := DueHold; due.String() != ""; due++ {
		all[due] = KindDue + ":" + due.String()
	}
	return all
}()
