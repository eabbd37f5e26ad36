package leaf

import (
	"encoding/json"

	"railguard/engine"
)

// The structs of events hold the members of each kind. The tag leaf names a member. Apply
// writes the members in the order of the fields, except those with the option edge: the edge
// wrote these, after the others, and they are listed here if somebody reads them by kind. The
// tag event is the member's place in the data of an event, which does not show a member
// without one. The tag doc is the note on the member in docs/FORMATS.md.

// Link places a leaf among all that are about its agent: decisions, what became of them, and
// changes of the agent. A leaf that is left out shows in the next one.
type Link struct {
	AgentSequence uint64 `leaf:"agentSequence,omitempty"`
	AgentPrevious uint64 `leaf:"agentPrevious,omitempty"`
}

// RecordLink places a leaf among those about its record, and among those about the agent whose
// call it was.
type RecordLink struct {
	AgentID string `leaf:"agentId,omitempty"`
	Link
	RecordPrevious uint64 `leaf:"recordPrevious"`
}

// Payment says which payment a leaf is about, how it ended, and an amount.
type Payment struct {
	TxnID        string `leaf:"txnId" event:"1"`
	ScreenedLeaf uint64 `leaf:"screenedLeaf"`
	RecordLink
	State  string     `leaf:"state" event:"2" doc:"how its hold ended, or what it is now"`
	Amount engine.USD `leaf:"amount" event:"3" doc:"settled: what was paid; released: what returned; expired: what counted; unresolved, confirmed, redeemed: what counts"`

	RailRef string `leaf:"railRef,edge"`
	Reason  string `leaf:"reason,edge"`
}

// Settled is a payment that went through.
type Settled struct {
	Payment
	Counted    engine.USD `leaf:"countedUSDC" event:"4" doc:"what counted until then"`
	Late       bool       `leaf:"late,omitempty" event:"6"`
	OverLimit  bool       `leaf:"overLimit,omitempty" event:"7"`
	NotAllowed bool       `leaf:"notAllowed,omitempty" event:"8"`
	Forwarded  bool       `leaf:"forwarded,omitempty" event:"9" doc:"this product's x402 facilitator sent the payment on and was told that it was made"`

	Unpermitted bool `leaf:"unpermitted,omitempty" event:"10" doc:"the policy wants such a payment redeemed before it is settled, and it was not"`
}

// Confirmed is a recorded payment that was judged again. State says what it is now: held, redeemed,
// or released where it is a BLOCK now.
type Confirmed struct {
	Payment
	Verdict       string      `leaf:"verdict" event:"4"`
	Rule          string      `leaf:"rule,omitempty" event:"5"`
	ListVersion   uint64      `leaf:"listVersion" event:"6"`
	PolicyVersion uint64      `leaf:"policyVersion" event:"7"`
	Until         engine.Time `leaf:"expiresAt,omitempty" event:"8" doc:"of a payment that may be made: the end of its hold"`
	Approved      bool        `leaf:"approved,omitempty" event:"9" doc:"an officer had approved it"`
	LeftOut       uint32      `leaf:"leftOut" doc:"the rules that were not judged again; bit n is rule Rn"`
	Judged        string      `leaf:"judged" doc:"the judgement in the form of a screening record, in base64: without what the call told, which the payment's record has"`
}

// HoldOver is a hold or an approval whose time is over. Its state says whether the payment
// still counts (unresolved) or not (expired).
type HoldOver struct {
	Payment
	ExpiredAt engine.Time `leaf:"expiredAt" event:"5"`
	Redeemed  bool        `leaf:"redeemed,omitempty" event:"6" doc:"it was redeemed before"`
}

// Reviewed is which review a leaf is about.
type Reviewed struct {
	TxnID        string `leaf:"txnId" event:"1"`
	ReviewedLeaf uint64 `leaf:"reviewedLeaf"`
	RecordLink
}

// Persons says of an act that one person must not do alone who did it (decision 96). It is
// empty where the policy lets one person do it. Acts names the act as twoPersons does; Persons
// are the two, the proposer first, or the one who was alone.
type Persons struct {
	Acts         []string `leaf:"twoPersons,omitempty"`
	Persons      []string `leaf:"persons,omitempty"`
	ProposedLeaf uint64   `leaf:"proposedLeaf,omitempty"`
	Alone        bool     `leaf:"alone,omitempty"`
}

// Dispositioned is an officer's answer to a review.
type Dispositioned struct {
	Reviewed
	Disposition  string      `leaf:"disposition" event:"3"`
	ReviewedAt   engine.Time `leaf:"reviewedAt" event:"4"`
	SAREscalated bool        `leaf:"sarEscalated" event:"5"`
	Persons
	OverLimitApproved *bool       `leaf:"overLimitApproved,omitempty" event:"6" doc:"of an approval"`
	PayBy             engine.Time `leaf:"payBy,omitempty" event:"7" doc:"of an approval: when it ends"`
	NotHeld           bool        `leaf:"notHeld,omitempty" doc:"of an approval: there was no room to hold the payment: it counts as spent"`
	HadReport         bool        `leaf:"hadReport,omitempty" doc:"of an escalation: an officer had opened a report, which goes on"`
	SecondLook        bool        `leaf:"secondLook,omitempty" doc:"another officer looks at it again, as the leaf's salt drew"`

	Officer
	Recheck json.RawMessage `leaf:"recheck,edge" event:"8"`
}

// Officer is who answered a review, and why.
type Officer struct {
	ReviewedBy    string `leaf:"reviewedBy,edge"`
	ReviewedByKey string `leaf:"reviewedByKey,edge"`
	Notes         string `leaf:"notes,edge"`
}

// Proposal is an act that waits for a second person.
type Proposal struct {
	ProposalID string   `leaf:"proposalId" event:"10"`
	Acts       []string `leaf:"twoPersons" event:"11"`
	Hash       [32]byte `leaf:"proposalHash"` // Of the record that would be applied, without what says who sent it.
	ProposedBy string   `leaf:"proposedBy"`
}

// Proposed is a disposition that another person has to confirm.
type Proposed struct {
	Reviewed
	Disposition string      `leaf:"disposition" event:"3"`
	LapsesAt    engine.Time `leaf:"lapsesAt"`
	Proposal

	Officer
}

// Withdrawn is a proposal that was taken back.
type Withdrawn struct {
	Reviewed
	Disposition  string `leaf:"disposition" event:"3"`
	ProposedLeaf uint64 `leaf:"proposedLeaf"`
	Proposal

	ReviewedBy string `leaf:"reviewedBy,edge"`
	Reason     string `leaf:"reason,edge"`
}

// Case is the record whose report an act moves; it is empty for an act of another kind.
type Case struct {
	TxnID        string `leaf:"txnId,omitempty" event:"1"`
	ReviewedLeaf uint64 `leaf:"reviewedLeaf,omitempty"`
}

// ActProposed is an act, other than a disposition, that another person has to confirm. The
// edge's members are those of the act's own leaf.
type ActProposed struct {
	Case
	Kind     string      `leaf:"act" event:"2" doc:"the kind of the leaf that it will have"`
	LapsesAt engine.Time `leaf:"lapsesAt" event:"12"`
	Proposal
	KeyID  string `leaf:"keyId,omitempty"`
	CaseID string `leaf:"caseId,omitempty" event:"3" doc:"of a sanctions case's step"`
	From   string `leaf:"from,omitempty" doc:"this and to: of the step of a report or of a sanctions case"`
	To     string `leaf:"to,omitempty"`
}

// ActWithdrawn is a proposed act that was taken back, or that lapsed.
type ActWithdrawn struct {
	Case
	ProposedLeaf uint64 `leaf:"proposedLeaf"`
	Proposal

	Reason string `leaf:"reason,edge"`
}

// ReviewDue is a review that is due.
type ReviewDue struct {
	Reviewed
	DueAt engine.Time `leaf:"dueAt" event:"2"`
}

// Claimed is who works on a review from now on; nobody if Assignee is nil.
type Claimed struct {
	Reviewed
	Assignee   *string     `leaf:"assignee,omitempty" event:"4" doc:"nobody where it is absent"`
	LeaseUntil engine.Time `leaf:"leaseExpiresAt,omitempty" event:"5"`

	By      string `leaf:"by,edge"`
	Comment string `leaf:"comment,edge"`
}

// WebhookChanged is a change of a webhook, or a redelivery. A redelivery has no Rev; if it is
// of a single event, Seq and N name the event.
type WebhookChanged struct {
	WebhookID string  `leaf:"webhookId" event:"1"`
	Op        string  `leaf:"op" event:"2" doc:"created, changed, rotated, deleted, gone (its receiver said so) or redelivered"`
	Rev       *uint64 `leaf:"rev,omitempty" doc:"but of a redelivery"`
	Seq       *uint64 `leaf:"seq,omitempty" event:"3" doc:"of a redelivery of one event, with n; else all dead letters"`
	N         *uint64 `leaf:"n,omitempty" event:"4"`
	Count     *uint64 `leaf:"count,omitempty" doc:"of a redelivery"`
}

// DeadLetter is an event that a receiver did not take.
type DeadLetter struct {
	WebhookID string `leaf:"webhookId" event:"1"`
	Seq       uint64 `leaf:"seq" event:"3"`
	N         uint64 `leaf:"n" event:"4"`
	Attempts  uint64 `leaf:"attempts" event:"5"`
	Status    uint64 `leaf:"status" event:"6" doc:"of the last attempt; 0: no answer"`
}

// Acknowledged is an alert that somebody took note of.
type Acknowledged struct {
	Alert     string `leaf:"alert" event:"1"`
	AlertID   string `leaf:"alertId" event:"2"`
	AlertLeaf uint64 `leaf:"alertLeaf"`

	By     string `leaf:"by,edge"`
	Reason string `leaf:"reason,edge"`
}

// Worked is who works from now on on an alert, a sanctions case, a report or a BLOCK, or a comment
// on it.
type Worked struct {
	Op         string      `leaf:"op" event:"1" doc:"claimed, released, assigned or commented"`
	TxnID      string      `leaf:"txnId,omitempty" event:"2"`
	Report     bool        `leaf:"report,omitempty" event:"3" doc:"it is about the report on the transaction"`
	AlertID    string      `leaf:"alertId,omitempty" event:"4"`
	CaseID     string      `leaf:"caseId,omitempty" event:"5"`
	LookID     string      `leaf:"lookId,omitempty" event:"8" doc:"of a second look: it does not say at which record"`
	Assignee   *string     `leaf:"assignee,omitempty" event:"6" doc:"empty where nobody is; absent from a comment"`
	LeaseUntil engine.Time `leaf:"leaseExpiresAt,omitempty" event:"7"`

	By      string `leaf:"by,edge"`
	Comment string `leaf:"comment,edge"`
}

// LookAnswered is what another officer would have decided, who did not know what was.
type LookAnswered struct {
	Reviewed
	LookID       string `leaf:"lookId" event:"2"`
	DecisionLeaf uint64 `leaf:"decisionLeaf" doc:"the disposition that was looked at again"`
	First        string `leaf:"firstDisposition" event:"3" doc:"what was decided"`
	Second       string `leaf:"secondDisposition" event:"4"`
	Agrees       bool   `leaf:"agrees" event:"5" doc:"the two are the same"`

	ReviewedBy    string `leaf:"reviewedBy,edge"`
	ReviewedByKey string `leaf:"reviewedByKey,edge"`
	Reason        string `leaf:"reason,edge"`
}

// LookLapsed is a second look that nobody answered in time.
type LookLapsed struct {
	Reviewed
	LookID       string `leaf:"lookId" event:"2"`
	DecisionLeaf uint64 `leaf:"decisionLeaf"`
}

// Run says which run of retro-screening a leaf belongs to.
type Run struct {
	RetroID string `leaf:"retroId" doc:"the event id of the first leaf of the run"`
	List    uint64 `leaf:"listVersion" event:"3"`
	Against uint64 `leaf:"against" event:"4" doc:"0: all of the list"`
}

// RetroBegun is a run that began.
type RetroBegun struct {
	Run
	Asked bool        `leaf:"asked"`
	From  engine.Time `leaf:"from"`
}

// RetroEnded is a run that ended.
type RetroEnded struct {
	Run
	Hits  uint64 `leaf:"hits" event:"5"`
	Known uint64 `leaf:"known,omitempty" doc:"hits that earlier runs of the list told of"`
}

// PolicyChanged is the version of a policy or of the institution's whitelist.
type PolicyChanged struct {
	Version uint64 `leaf:"policyVersion" event:"1"`
	Persons
}

// Key is an API key.
type Key struct {
	ID     string `leaf:"keyId" event:"1"`
	Prefix string `leaf:"prefix" event:"2"`
}

// SigningKeyChanged is a key that credentials are signed with.
type SigningKeyChanged struct {
	KID        string      `leaf:"kid" event:"1"`
	ActivateAt engine.Time `leaf:"activateAt" event:"2"`
}

// Pair is a cleared pair.
type Pair struct {
	ID uint64 `leaf:"clearedId" event:"2"`
}

// PairChanged is a pair that was cleared, or whose clearing was removed.
type PairChanged struct {
	Pair
	Persons

	ListVersion uint64          `leaf:"listVersion,edge" event:"1"`
	ExpiresAt   json.RawMessage `leaf:"expiresAt,edge" event:"3"`
}

// ClockAdvanced is the log time to which a test clock was moved.
type ClockAdvanced struct {
	LogTime engine.Time `leaf:"logTime"`
}

// KindTimeConfirmed is the kind of the leaf by which persons let log time leap.
const KindTimeConfirmed = "clock.confirmed"

// TimeConfirmed is the instant up to which log time may leap, and log time until then.
type TimeConfirmed struct {
	LeapUntil engine.Time `leaf:"leapExpiresAt" event:"1"`
	LogTime   engine.Time `leaf:"logTime"`
	Persons
}

// Subject is the payment or party that an alert or a hit is about. It is empty if the subject
// is the list itself.
type Subject struct {
	UserID       string  `leaf:"userId,omitempty" event:"7"`
	OperatorID   string  `leaf:"operatorId,omitempty" event:"8"`
	AgentID      string  `leaf:"agentId,omitempty" event:"6"` // In an alert about a listed operator: the agent whose payment was blocked.
	TxnID        string  `leaf:"txnId,omitempty" event:"5"`
	ScreenedLeaf *uint64 `leaf:"screenedLeaf,omitempty"`
}

// AlertOpened is an alert for a person.
type AlertOpened struct {
	Alert       string `leaf:"alert" event:"1" doc:"its kind"`
	AlertID     string `leaf:"alertId" event:"2"`
	ListVersion uint64 `leaf:"listVersion,omitempty" event:"3" doc:"the list that is the reason"`
	Subject
	SettledLeaf uint64      `leaf:"settledLeaf,omitempty" doc:"of a settle"`
	Amount      *engine.USD `leaf:"amount,omitempty" event:"9"` // Amount of a settle, or of a payment that a run found.
	Entries     uint32      `leaf:"entries,omitempty" event:"10" doc:"of a list: how many were put aside"`
	HitLeaf     uint64      `leaf:"hitLeaf,omitempty" doc:"of a run"`
	LeftParties uint32      `leaf:"leftParties,omitempty" doc:"this and the three behind it: who left the list"`
	LeftNames   uint32      `leaf:"leftNames,omitempty"`
	LeftWallets uint32      `leaf:"leftWallets,omitempty"`
	Left        []string    `leaf:"left,omitempty"`
	Payments    uint32      `leaf:"payments,omitempty" event:"11" doc:"of unresolved payments: how many the agent has; of an overdue report: how many the case has"`
	PaymentsSum *engine.USD `leaf:"paymentsUSDC,omitempty" event:"28" doc:"their sum"`
	LookedBy    string      `leaf:"lookedBy,omitempty" event:"12" doc:"this and the four behind it: of what a key or an admin token did, as in its key.looked"`
	LookedOn    string      `leaf:"lookedOn,omitempty" event:"13"`
	LookedAt    engine.Time `leaf:"lookedAt,omitempty" event:"14"`
	LookCount   uint32      `leaf:"lookCount,omitempty" event:"15"`
	UID         uint32      `leaf:"uid,omitempty" event:"16"`
	Acts        []string    `leaf:"twoPersons,omitempty" event:"17" doc:"of an act that one person did alone"`
	Person      string      `leaf:"person,omitempty" event:"18" doc:"who did it"`
	ActLeaf     uint64      `leaf:"actLeaf,omitempty"`
	CaseID      string      `leaf:"caseId,omitempty" event:"19" doc:"of a sanctions case whose report is overdue"`

	LookID     string `leaf:"lookId,omitempty" event:"25" doc:"this and the three behind it: of a second look that did not agree"`
	First      string `leaf:"firstDisposition,omitempty" event:"26" doc:"what was decided"`
	Second     string `leaf:"secondDisposition,omitempty" event:"27" doc:"what the second officer would have decided"`
	AnswerLeaf uint64 `leaf:"answerLeaf,omitempty"`

	ReconciliationID string   `leaf:"reconciliationId,edge" event:"20" doc:"this and the six behind it: of a fault that a reconciliation found"`
	Rail             string   `leaf:"rail,edge" event:"21"`
	Class            string   `leaf:"class,edge" event:"22"`
	Settlement       string   `leaf:"settlement,edge" doc:"its id in the extract; absent: the rail has none"`
	TxnIDs           []string `leaf:"txnIds,edge" event:"23" doc:"the first 16"`
	Gap              string   `leaf:"gap,edge" event:"24" doc:"what is missing"`
	Statement        string   `leaf:"statement,edge" doc:"which statement"`
}

// RetroHit is a payment or a party that a run found.
type RetroHit struct {
	Run
	Subject
	Verdict    string       `leaf:"verdict,omitempty" doc:"this and the two behind it: of a payment"`
	ScreenedAt *engine.Time `leaf:"screenedAt,omitempty"`
	Amount     *engine.USD  `leaf:"amount,omitempty" event:"9"`
	Entries    []uint32     `leaf:"entries" event:"10"`
	Wallet     bool         `leaf:"wallet"`
	Listed     bool         `leaf:"listed" doc:"by name, wallet or tax number, not only alike"`
	Tax        bool         `leaf:"taxNumber,omitempty" doc:"by the operator's tax number"`
}

// RetroSuspension is written by Apply in place of an edge's part when retro-screening
// suspends a party.
type RetroSuspension struct {
	Reason            string `leaf:"reason"`
	OperatorLegalName string `leaf:"operatorLegalName,omitempty"`
}

// Reconciled is a comparison of a rail's extract with the log that ended. All of it is the edge's.
type Reconciled struct {
	ReconciliationID string      `leaf:"reconciliationId,edge" event:"1"`
	ActorKeyID       string      `leaf:"actorKeyId,edge" doc:"who asked"`
	Rail             string      `leaf:"rail,edge" event:"2"`
	From             engine.Time `leaf:"from,edge" event:"3"`
	To               engine.Time `leaf:"to,edge" event:"4"`
	Settlements      uint64      `leaf:"settlements,edge" event:"5" doc:"payments of the extract"`
	Findings         uint64      `leaf:"findings,edge" event:"6"`
	Faults           uint64      `leaf:"faults,edge" event:"7"`
	FindingsDigest   string      `leaf:"findingsDigest,edge" event:"8"`
}

// Note is a leaf with the edge's members only.
type Note struct{}
