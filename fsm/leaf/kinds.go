package leaf

import (
	"slices"

	"railguard/fsm/wire"
)

// Kinds of leaves; docs/FORMATS.md has their members.
const (
	KindScreen  = "screen"  // A record of FormScreen.
	KindProfile = "profile" // A record of FormProfile.

	KindHoldSettled  = "hold.settled"
	KindHoldReleased = "hold.released"

	KindPaymentConfirmed = "payment.confirmed" // A recorded payment was judged again, and perhaps redeemed at once.
	KindPaymentRedeemed  = "payment.redeemed"

	// KindClusterLineage is the first leaf of a restored backup's epoch.
	KindClusterLineage = "cluster.restored"

	// KindDue is an event that log time alone brought about. Its member type is one of
	// dueNames.
	KindDue = "due"

	KindDispositioned   = "review.dispositioned"
	KindClaimed         = "review.claimed"
	KindReleased        = "review.released"
	KindAssigned        = "review.assigned"
	KindCommented       = "review.commented"
	KindProposed        = "review.proposed"
	KindWithdrawn       = "review.withdrawn" // A person withdrew it; one that lapses is KindDue.
	KindActProposed     = "act.proposed"     // Any other act of two persons than a disposition.
	KindActWithdrawn    = "act.withdrawn"
	KindAlertOpened     = "alert.opened"
	KindAcknowledged    = "alert.acknowledged"
	KindWorked          = "work.changed"
	KindSAROpened       = "sar.opened" // An officer opened a report; what an escalation opens, the disposition tells of.
	KindSARWritten      = "sar.narrative"
	KindSARMoved        = "sar.moved"
	KindSanctionsOpened = "sanctions.opened"
	KindSanctionsAgain  = "sanctions.blocked_again"
	KindSanctionsMoved  = "sanctions.moved"
	KindLookAnswered    = "second_look.answered"
	KindLookLapsed      = KindDue + ":second_look.lapsed"
	KindWebhook         = "webhook.changed" // Created, changed, rotated, deleted, gone or redelivered.
	KindDeadLetter      = "webhook.dead_letter"
	KindRetroBegun      = "retro.begun"
	KindRetroHit        = "retro.hit"
	KindRetroEnded      = "retro.ended"

	KindReconciled = wire.EventReconciled

	KindLooked   = "key.looked"
	KindSignedIn = "key.signed_in"

	KindPasskeyAdded   = "passkey.added"
	KindPasskeyRemoved = "passkey.removed"
	KindPersonEnded    = "person.ended"

	KindBackupSchedule = "backup.schedule_changed"
	KindBackupTaken    = "backup.taken"
	KindBackupDrilled  = "backup.drilled"

	KindResealed = "cluster.resealed" // Values were sealed again under another cluster secret.
)

// The officers' answers to a review. The names never change.
const (
	WordApproved    = "APPROVED"
	WordRejected    = "REJECTED"
	WordEscalateSAR = "ESCALATE_SAR"
)

// Dispositions maps these words to wire's numbers.
var Dispositions = map[string]uint8{WordApproved: wire.Approved, WordRejected: wire.Rejected, WordEscalateSAR: wire.EscalateSAR}

// DispositionWord returns the word of a number of wire's.
func DispositionWord(disposition uint8) string {
	return [...]string{wire.Approved: WordApproved, wire.Rejected: WordRejected, wire.EscalateSAR: WordEscalateSAR}[disposition]
}

// Escalates reports whether a disposition escalates a case as suspicious.
func (d *Dispositioned) Escalates() bool { return d.Disposition == WordEscalateSAR }

// Due numbers the events of log time. Numbers and names never change.
type Due uint8

// The events of log time.
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
	DueUnresolved          Due = 15 // The end of a hold that nobody ended, where it goes on counting.
	DueApproval            Due = 16 // The end of an approval that nobody used.
	DueUserErased          Due = 14 // Never in the heap: the tick that erases the user tells it.
	DueAct                 Due = 17 // Never in the heap: the tick that lapses the proposal tells it.
	DueSanctionsSoon       Due = 18 // The report of a sanctions case is due soon.
	DueSanctionsLate       Due = 19 // It is overdue.
	DueLook                Due = 20 // Never in the heap: the tick that lapses a second look tells it.
)

var dueNames = [...]string{
	DueHold: "hold.expired", DueAttestationExpiring: "attestation.expiring", DueAttestationStale: "attestation.stale",
	DueAgentExpiring: "agent.expiring", DueAgentExpired: "agent.expired", DueReviewSLA: "review.sla_breached", DueProposal: "review.proposal_lapsed",
	DueSAR: "sar.due_soon", DueListStale: "list.stale", DueSigningKey: "signing_key.active", DueAPIKey: "key.expiring",
	DueOwnership: "agent.ownership_effective", DueCleared: "cleared.expired", DueUserErased: "user.erased",
	DueUnresolved: "hold.unresolved", DueApproval: "review.approval_lapsed",
	DueAct: "act.lapsed", DueSanctionsSoon: "sanctions.due_soon", DueSanctionsLate: "sanctions.overdue",
	DueLook: "second_look.lapsed",
}

// alertNames are the kinds of alert, by wire's numbers. The names never change.
var alertNames = [...]string{
	wire.AlertRetroHit: "retro_hit", wire.AlertLate: "late_settle", wire.AlertOverLimit: "over_limit", wire.AlertNotAllowed: "not_allowed",
	wire.AlertQuarantine: "list_quarantine", wire.AlertOperator: "operator_listed", wire.AlertLeft: "list_left",
	wire.AlertUnresolved: "unresolved_payment", wire.AlertAlone: "done_alone",
	wire.AlertToken: "admin_token_used", wire.AlertDryRuns: "many_dry_runs", wire.AlertProbe: "names_probed", wire.AlertReport: "sanctions_report",
	wire.AlertUnpermitted: "unpermitted", wire.AlertReconciled: "reconciliation_fault",
	wire.AlertSecondLook: "second_look",
}

// lookNames are the kinds of look, by wire's numbers. The names never change.
var lookNames = [...]string{
	wire.LookSuspicion: "suspicion", wire.LookExport: "export", wire.LookNames: "names", wire.LookMatch: "match", wire.LookSignIn: "sign_in",
	wire.LookAdminToken: "admin_token", wire.LookDryRun: "dry_run", wire.LookProbe: "probe", wire.LookRecords: "records",
}

// LookName returns the name of a kind of look, or "" for an unknown number.
func LookName(kind uint8) string {
	if int(kind) >= len(lookNames) {
		return ""
	}
	return lookNames[kind]
}

// LookKind returns the number of a kind of look, or 0 for an unknown name.
func LookKind(name string) uint8 { return uint8(max(slices.Index(lookNames[:], name), 0)) }

// AlertName returns the name of a kind of alert in leaves and answers, or "" for an unknown
// number.
func AlertName(kind uint8) string {
	if int(kind) >= len(alertNames) {
		return ""
	}
	return alertNames[kind]
}

// AlertKind returns the number of a kind of alert, and false for an unknown name.
func AlertKind(name string) (uint8, bool) {
	at := slices.Index(alertNames[:], name)
	return uint8(max(at, 0)), at > 0
}

// String returns the member type of the leaf, which is also the type of the event.
func (d Due) String() string {
	if int(d) >= len(dueNames) {
		return ""
	}
	return dueNames[d]
}

// dueKinds are the names of due events in Kinds.
var dueKinds = func() (all [len(dueNames)]string) {
	for due := DueHold; due.String() != ""; due++ {
		all[due] = KindDue + ":" + due.String()
	}
	return all
}()
