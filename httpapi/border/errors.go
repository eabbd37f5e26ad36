package border

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"railguard/audit"
	"railguard/edge"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Error is the answer to a call that does not succeed (decision 32). It never holds
// internals.
type Error struct {
	Status  int
	Code    string
	Message string
	Param   string
	Details []strictjson.Finding
	Extra   strictjson.Members // Further members of the flat body: the current state of a conflict.
	TxnID   string
	Outcome string // In a 503: "none" or "unknown".
	Retry   int    // Seconds; 0 sends no Retry-After.
	Allow   string // The Allow header of a 405.
}

func (e *Error) Error() string { return strconv.Itoa(e.Status) + " " + e.Code + ": " + e.Message }

// Outcomes of a 503 (decision 31, "Deadlines and outcomes"): nothing happened, or it is
// unknown.
const (
	OutcomeNone    = "none"
	OutcomeUnknown = "unknown"
)

// codeText describes a code for the page /docs/errors.
type codeText struct {
	Code   string
	Status int
	Text   string
}

// CodeTable is every code of the service, in the order of the documentation.
var CodeTable = []codeText{
	{"missing_token", 400, "The body has no member token. A token that is there but not a valid credential is not an error: it gives the verdict UNKNOWN."},
	{"invalid_json", 400, "The body is not one JSON object: broken syntax, a duplicate name, invalid UTF-8, a lone surrogate, trailing bytes, too deep, too many members or values."},
	{"missing_amount", 400, "The body of a screening call has no member amount."},
	{"invalid_amount", 400, "The amount is not a JSON number from 0 to 1e12."},
	{"not_reviewable", 400, "Only a transaction whose verdict was REVIEW can be dispositioned."},
	{"bad_request", 400, "The HTTP request itself is not acceptable: a query parameter that is unknown, unreadable, empty or has no meaning here (param names it), a duplicate Authorization, Content-Type or Host, or an absolute-form target, a body that never came whole."},
	{"unauthorized", 401, "No API key, or not a valid one."},
	{"forbidden", 403, "The API key is valid but lacks the role, or the operator is outside of its scope."},
	{"not_found", 404, "No such path, or no such record, or one past its retention."},
	{"method_not_allowed", 405, "The path exists, the method does not. See the Allow header."},
	{"passkey_required", 403, "The policy demands that the caller signs this act with a passkey. The body has the statement, its challenge and the caller's passkeys that count; send the assertion in X-Railguard-Passkey."},
	{"second_look_in_hand", 403, "The caller has a second look in hand and must not learn what was decided: he answers it (lookId) or gives it back first. It ends by itself at leaseExpiresAt."},
	{"passkey_refused", 403, "What was signed with a passkey does not count: another statement, another person's passkey, another site, or used before."},
	{"settler_required", 403, "What counts of a payment is given back by a settler: a key with the role settler, of the owner that screened or of the institution, and none with which that owner can screen too. Policy settlement: self lifts it. Settling the amount that was allowed, or more, needs no settler."},
	{"approval_lapsed", 409, "The approval of this payment has ended (payBy), or the hold of a PROCEED has. A settler says what became of the payment; to pay, screen it anew."},
	{"permit_expired", 409, "The permit has ended. A confirmation of its payment gives another one."},
	{"permit_used", 409, "The payment of this permit was redeemed or settled already; redeemedAt says when. A retry with the Idempotency-Key of the first call gets its answer."},
	{"already_dispositioned", 409, "The transaction has a disposition already."},
	{"already_exists", 409, "There is one like it already. The body has its id."},
	{"already_open", 409, "The transaction has such a report or case already, and it is open."},
	{"did_not_go_ahead", 409, "The payment was not made, so no money has gone."},
	{"narrative_changed", 409, "Somebody has written another narrative since it was read: read it again."},
	{"narrative_unfinished", 409, "The report needs a narrative that somebody wrote and that leaves nothing open."},
	{"invalid_transition", 409, "The current status does not allow this change. The body holds it (state, of a payment: waiting, rejected, not_allowed, released)."},
	{"parent_not_active", 409, "The parent, one of its ancestors or their operator is not ACTIVE."},
	{"already_in_fleet", 409, "The agent is in another fleet."},
	{"idempotency_in_flight", 409, "A call with this Idempotency-Key is still running."},
	{"claimed_by_other", 409, "Another reviewer holds the claim."},
	{"refresh_running", 409, "A list synchronisation is running already."},
	{"lists_staged", 409, "As many uploaded lists are staged as may be; `replace=true` gives up the oldest."},
	{"job_running", 409, "A backtest or a shadow runs on this node already, or a retro-screening on the leader: one of each at a time."},
	{"matcher_not_ready", 409, "Not every voter answers, carries that version of the matcher and has compiled the active list for it. The message names one."},
	{"format_not_ready", 409, "A member does not answer, or runs a release that does not know that format. The message names one."},
	{"limit_reached", 409, "A table or an answer is full: children of one parent, agents of one fleet, what was written about one record, confirmations of one payment."},
	{"version_mismatch", 412, "If-Match does not name the current version."},
	{"payload_too_large", 413, "The body is larger than the limit of this path."},
	{"unsupported_encoding", 415, "The body is compressed. It is read as it comes: send it without Content-Encoding."},
	{"invalid_field", 422, "A member has the wrong type or value (400 on a screening call)."},
	{"missing_field", 422, "A required member is missing."},
	{"unknown_field", 422, "The body has a member that is not known here; didYouMean names the one it is near to. On a screening call 400, and only for such a member unless strictness was asked for."},
	{"invalid_disposition", 422, "disposition must be APPROVED, REJECTED or ESCALATE_SAR."},
	{"permit_invalid", 422, "This is no permit of this service: its form, its signature, its issuer or its content."},
	{"permit_mismatch", 422, "The permit is for another payment than pay says; param names the member that differs."},
	{"role_not_allowed", 422, "A key of an operator or a caller may have the roles operator, screener, settler, viewer and gateway. All others are the institution's."},
	{"policy_widening", 422, "A delegate may only narrow its parent's policy, and an operator's key may not give limits above the caps that the institution's policy sets (operators.caps)."},
	{"delegation_depth_exceeded", 422, "A delegation chain has at most three generations below the root."},
	{"agent_not_autonomous", 422, "Only autonomous agents are attested."},
	{"agent_not_supervised", 422, "A user credential is for supervised agents only."},
	{"operator_mismatch", 422, "The operators of fleet and agent, or of parent and delegate, or of operatorId and operatorLegalName, differ."},
	{"operator_ambiguous", 422, "Several operators have this legal name: name the operator by its id."},
	{"operator_sanctioned", 422, "The operator matches the sanctions list and this institution refuses such registrations."},
	{"idempotency_conflict", 422, "This Idempotency-Key was used for another body."},
	{"list_rejected", 422, "The list is empty, unreadable, older than the active one, or shrank too much."},
	{"rate_limited", 429, "Too many calls with this key. See Retry-After."},
	{"share_used", 429, "The owner of these rows (the institution, an operator or a caller) has used its share of a table, and what is lent beyond the shares is in use. `table` names the table. Nothing was changed. Other owners are not affected."},
	{"headers_too_large", 431, "The request's headers are larger than 16 KiB."},
	{"internal_error", 500, "A fault of ours. Give support the requestId."},
	{"time_not_supported", 501, "Status lists are kept of the running minute alone: the parameter time is not served."},
	{"no_quorum", 503, "Too few nodes answer. Nothing is decided until they are back."},
	{"no_leader", 503, "The cluster is choosing a leader."},
	{"sanctions_data_unavailable", 503, "No published sanctions list is loaded: no verdict can be given."},
	{"overloaded", 503, "A queue or table of this node is full, more calls come than it answers, or it is fetching the history asked for from another node."},
	{"node_away", 503, "The one node that keeps this backtest or shadow does not answer. Its jobs are there again when it is."},
	{"time_uncertain", 503, "The clocks and the log disagree about the time: no leader opens its term before persons confirm the clocks, or the credential has ended by the clocks alone."},
	{"storage_low", 503, "No voter's disk has room. Reads go on; writes come back by themselves when there is room."},
	{"shutting_down", 503, "This node is going down."},
	{"outcome_unknown", 503, "It is not known whether the call took effect. Retry with the same Idempotency-Key."},
}

func NewError(status int, code, message string) *Error {
	return &Error{Status: status, Code: code, Message: message}
}

func NotFound(message string) *Error { return NewError(http.StatusNotFound, "not_found", message) }

// InvalidField is a 422 about one parameter.
func InvalidField(param, message string) *Error {
	return &Error{
		Status: http.StatusUnprocessableEntity, Code: "invalid_field", Message: param + " " + message, Param: param,
		Details: []strictjson.Finding{{Param: param, Message: message}},
	}
}

// BadFields is the answer to an invalid body: 422, but 400 on a screening call.
func BadFields(status int, e *strictjson.InvalidBody) *Error {
	answer := &Error{Status: status, Code: e.Code, Message: e.Error(), Param: e.Findings[0].Param, Details: e.Findings}
	if e.Code == "unknown_field" {
		answer.Extra = e.Findings[0].Extra
	}
	return answer
}

// Conflict is a 409 whose body carries the current state in extra.
func Conflict(code, message string, extra strictjson.Members) *Error {
	return &Error{Status: http.StatusConflict, Code: code, Message: message, Extra: extra}
}

// Unavailable is a 503 for a call that did nothing.
func Unavailable(code, message string) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: code, Message: message, Outcome: OutcomeNone, Retry: 1}
}

// afterTheFact replaces the error of a call that is in the log already: the answer must not
// say that nothing happened (decision 31, "Deadlines and outcomes").
func afterTheFact() *Error {
	e := Unavailable("outcome_unknown", "the call took effect and its record cannot be read here now; retry with the same Idempotency-Key")
	e.Outcome = OutcomeUnknown
	return e
}

// ProposalError turns an error of a Proposer, or of a read of the log, into the answer of
// decision 32. Only wire.ErrUnknown leaves the outcome open.
func ProposalError(err error) error {
	var known *Error
	var refused *edge.Refusal
	var unread *edge.ReadError
	var invalid *strictjson.InvalidBody
	switch {
	case errors.As(err, &invalid):
		return BadFields(http.StatusUnprocessableEntity, invalid)
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return answerOf(refused)
	case errors.As(err, &unread):
		return UnreadableError(unread.Cause)
	case errors.Is(err, wire.ErrUnknown):
		e := Unavailable("outcome_unknown", "the outcome is unknown; retry with the same Idempotency-Key")
		e.Outcome = OutcomeUnknown
		return e
	case errors.Is(err, wire.ErrNoQuorum):
		return Unavailable("no_quorum", "too few nodes answer")
	case errors.Is(err, wire.ErrNoLeader):
		return Unavailable("no_leader", "the cluster is choosing a leader")
	case errors.Is(err, wire.ErrOverloaded):
		return Unavailable("overloaded", "too many calls wait")
	case errors.Is(err, wire.ErrStorageLow):
		return Unavailable("storage_low", "the disks of the cluster are nearly full: reads go on, writes wait for room")
	case errors.Is(err, wire.ErrTimeUncertain):
		return Unavailable("time_uncertain", "the clocks are further beyond the log than is credible: readiness says what to do")
	case errors.Is(err, wire.ErrShuttingDown):
		return Unavailable("shutting_down", "this node is going down")
	case errors.Is(err, wire.ErrTooLarge):
		return NewError(http.StatusRequestEntityTooLarge, "payload_too_large", "the record is larger than the log takes")
	}
	return err
}

// endError is ProposalError for errors that no endpoint handled: a call that ended with its
// deadline or with its node is not our fault, and its caller may retry on another node.
func endError(err error) error {
	known := ProposalError(err)
	var e *Error
	switch {
	case errors.As(known, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return Unavailable("overloaded", "the call was not done in its time")
	case errors.Is(err, audit.ErrBroken), errors.Is(err, audit.ErrClosed):
		return Unavailable("shutting_down", "this node is going down")
	case errors.Is(err, audit.ErrMissing), errors.Is(err, audit.ErrCorrupt):
		return ProposalError(edge.LeafError(err))
	}
	return err
}

// UnreadableError is ProposalError for reads. A read has no outcome, so a passed deadline
// only says that the leader did not answer in time.
func UnreadableError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrUnknown) {
		return Unavailable("no_quorum", "the leader did not answer in time")
	}
	return ProposalError(err)
}

// answerOf turns a refusal of the edge into an Error; CodeTable gives its status.
func answerOf(r *edge.Refusal) *Error {
	e := &Error{Status: StatusOf(r.Code), Code: r.Code, Message: r.Message, Param: r.Param, Details: r.Details, Extra: r.Extra}
	if r.BadRequest {
		e.Status = http.StatusBadRequest
	}
	if e.Status == http.StatusServiceUnavailable {
		e.Outcome, e.Retry = OutcomeNone, 1
	}
	return e
}

// StatusOf returns the status that CodeTable has for a code.
func StatusOf(code string) int {
	for i := range CodeTable {
		if CodeTable[i].Code == code {
			return CodeTable[i].Status
		}
	}
	return http.StatusInternalServerError
}

// RefusalOf is the common answer for a refused record. Endpoints that know more about a
// refusal answer it themselves.
func RefusalOf(key *Key, r wire.Result) error {
	switch r.Refusal {
	case wire.RefusedNotFound:
		return NotFound("no such resource")
	case wire.RefusedTransition, wire.RefusedInactive:
		return Conflict("invalid_transition", "the current status does not allow this", StatusMember(r))
	case wire.RefusedDispositioned:
		return Conflict("already_dispositioned", "a disposition was recorded already", nil)
	case wire.RefusedInFleet:
		return Conflict("already_in_fleet", "an agent is in another fleet", nil)
	case wire.RefusedNotInFleet:
		return NotFound("the agent is not in this fleet")
	case wire.RefusedParent:
		return Conflict("parent_not_active", "the parent is not effectively ACTIVE", StatusMember(r))
	case wire.RefusedFull:
		return Unavailable("overloaded", "a table of the cluster is full")
	case wire.RefusedClaimed:
		return Conflict("claimed_by_other", "another reviewer holds the claim", nil)
	case wire.RefusedVersion:
		return VersionMismatch(r.Value)
	case wire.RefusedNotAutonomous:
		return NewError(http.StatusUnprocessableEntity, "agent_not_autonomous", "the agent is not autonomous")
	case wire.RefusedOperator:
		return NewError(http.StatusUnprocessableEntity, "operator_mismatch", "the operators differ")
	case wire.RefusedAmbiguous:
		return edge.AmbiguousOperator()
	case wire.RefusedDepth:
		return NewError(http.StatusUnprocessableEntity, "delegation_depth_exceeded", "delegation goes at most three levels deep")
	case wire.RefusedList:
		return NewError(http.StatusUnprocessableEntity, "list_rejected", "the list is unknown, incomplete or not allowed")
	case wire.RefusedExists:
		return Conflict("invalid_transition", "it exists already", nil)
	case wire.RefusedNotDev:
		return NewError(http.StatusForbidden, "forbidden", "only a development cluster allows this")
	case wire.RefusedGenesis:
		return Unavailable("no_leader", "the cluster is not bootstrapped")
	case wire.RefusedScope:
		return &Error{
			Status: http.StatusForbidden, Code: "forbidden", Extra: StatusMember(r),
			Message: "the institution suspended it: a key with an operator's scope may not lift that",
		}
	case wire.RefusedTransfer:
		return NewError(http.StatusForbidden, "forbidden", "an ownership transfer is flagged: name its new operator, or use a key of the institution with the role policy")
	case wire.RefusedEnded:
		return Conflict("invalid_transition", "the payment was settled, or its hold has expired", nil)
	case wire.RefusedNotHeld:
		return Conflict("invalid_transition", "nothing of this payment counts: there is nothing to release", nil)
	case wire.RefusedLate:
		return Conflict("invalid_transition", "a payment without a hold can be released until the end of the next UTC day", nil)
	case wire.RefusedProposed:
		return Conflict("invalid_transition", "something else is proposed for it: confirm that, or withdraw it first", nil)
	case wire.RefusedSamePerson, wire.RefusedYoung, wire.RefusedMaker, wire.RefusedNoPerson, wire.RefusedUnnamed, wire.RefusedOwnEnd, wire.RefusedLastAdmin:
		return Conflict("invalid_transition", whyNotSecond[r.Refusal], nil)
	case wire.RefusedNotProposed:
		return Conflict("invalid_transition", "nothing is proposed: it was confirmed, withdrawn, or has lapsed", nil)
	case wire.RefusedSettler:
		return NewError(http.StatusForbidden, "settler_required", "only a settler gives back what counts of this payment: a key with the role settler, and none with which the owner of the screening call can screen too")
	case wire.RefusedShare:
		return shareUsed(key, wire.SharedTable(r.Value))
	case wire.RefusedLapsed:
		return Conflict("approval_lapsed", "the approval of this payment has ended: a settler says what became of it", nil)
	case wire.RefusedUnsigned:
		return NewError(http.StatusForbidden, "passkey_required", "the policy demands that you sign this with a passkey that counts")
	case wire.RefusedNotOpen:
		return Conflict("invalid_transition", "the review is not open", nil)
	}
	return errors.New("BUG: record refused as malformed")
}

// whyNotSecond says why the caller is not the second person of an act, or does not end that person.
var whyNotSecond = map[wire.Refusal]string{
	wire.RefusedSamePerson: "another person with another API key has to confirm or withdraw what is proposed",
	wire.RefusedYoung:      "this key, its person or its newest secret is younger than 24 hours, or a secret before it was good until then: it does not second what another person proposed",
	wire.RefusedMaker:      "one of the two persons made or changed the other's key: a third person has to confirm or withdraw what is proposed",
	wire.RefusedNoPerson:   "two persons have to do this, and the admin token names none: use an API key that names its person",
	wire.RefusedUnnamed:    "one of the two keys names a person and the other does not, so it may be a second key of the same person: use a key that names its person",
	wire.RefusedOwnEnd:     "it ends you: another person confirms or withdraws it",
	wire.RefusedLastAdmin:  "nobody would be an admin any more: give somebody else that role first",
}

// madeRoomBy says for each shared table what makes room in it.
var madeRoomBy = [wire.SharedTables + 1]string{
	wire.TableAgents:    "agents, or the bytes of their whitelists, hours and texts: shorten these, or retire agents that are revoked for long",
	wire.TableFleets:    "fleets, or the bytes of their whitelists and hours: shorten these, or retire fleets without agents",
	wire.TableUsers:     "users: each is erased 31 days after its last issuance",
	wire.TableStatuses:  "credential versions that have not ended: each re-issue is one, and ends with its validity",
	wire.TableHolds:     "payments that are held or unresolved: settle or release some",
	wire.TableReviews:   "open reviews: an officer decides some first",
	wire.TableAlerts:    "open alerts: an officer acknowledges some first",
	wire.TableSanctions: "open alerts about the sanctions list: an officer acknowledges some first",
	wire.TableCases:     "sanctions cases: an officer decides some first",
}

// officersTables are filled by what officers look at, of which whoever was screened must not learn.
var officersTables = [wire.SharedTables + 1]bool{wire.TableAlerts: true, wire.TableSanctions: true, wire.TableCases: true}

// shareUsed is the answer to a call whose owner has used its share of a table.
func shareUsed(key *Key, table wire.SharedTable) error {
	if table > wire.SharedTables {
		table = 0
	}
	if officersTables[table] && (key == nil || !key.SeesAll()) {
		return &Error{
			Status: http.StatusTooManyRequests, Code: "share_used", Retry: shareRetry,
			Message: "this owner has used its share of a table: whoever runs the service makes room first",
		}
	}
	e := &Error{
		Status: http.StatusTooManyRequests, Code: "share_used", Retry: shareRetry,
		Message: "this owner has used its share of " + madeRoomBy[table],
	}
	e.Extra.Text("table", table.String())
	return e
}

// shareRetry is after how many seconds a call may be tried again whose owner has used its share.
const shareRetry = 60

func StatusMember(r wire.Result) strictjson.Members {
	var m strictjson.Members
	m.Text("credentialStatus", r.State.String())
	return m
}

// VersionMismatch is the 412 of an If-Match that does not name the current version.
func VersionMismatch(current uint64) *Error { return answerOf(edge.VersionMismatch(current)) }

func NotBootstrapped() error { return Unavailable("no_leader", "the cluster is not bootstrapped") }
