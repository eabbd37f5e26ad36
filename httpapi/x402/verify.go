package x402

import (
	"context"
	"errors"
)

// verdictShown are the members about the screening, beside the protocol's own.
type verdictShown struct {
	Verdict       string `json:"verdict"`
	TxnID         string `json:"txnId"`
	Rule          string `json:"rule,omitempty"`
	Reason        string `json:"reason,omitempty"`
	HoldExpiresAt string `json:"holdExpiresAt,omitempty"`
	State         string `json:"state,omitempty"`    // unresolved: whether the payment was made is not known, and it counts.
	Replayed      bool   `json:"replayed,omitempty"` // The answer of an earlier call.
	Permit        string `json:"permit,omitempty"`
	PermitExpires string `json:"permitExpiresAt,omitempty"`
}

func showVerdict(v *verdict) map[string]*verdictShown {
	if v == nil {
		return nil
	}
	shown := &verdictShown{Verdict: v.Verdict, TxnID: v.TxnID, Reason: v.Reason, Permit: v.Permit, PermitExpires: v.PermitExpires}
	if v.Rule != nil {
		shown.Rule = *v.Rule
	}
	if v.Hold != nil {
		shown.HoldExpiresAt = v.Hold.ExpiresAt
	}
	return map[string]*verdictShown{extension: shown}
}

// verifyAnswer is the protocol's answer to verify.
type verifyAnswer struct {
	IsValid        bool                     `json:"isValid"`
	InvalidReason  string                   `json:"invalidReason,omitempty"`
	InvalidMessage string                   `json:"invalidMessage,omitempty"`
	Payer          string                   `json:"payer,omitempty"`
	Extensions     map[string]*verdictShown `json:"extensions,omitempty"`

	outcome string // The outcome that the metrics count.
}

func notValid(outcome, reason, message string) *verifyAnswer {
	return &verifyAnswer{InvalidReason: reason, InvalidMessage: message, outcome: outcome}
}

// verifyPayment screens the payment with a hold, and asks the facilitator behind whether it would
// be made. When it is called again, it uses the hold that is open.
func (g *guestCall) verifyPayment(ctx context.Context, p *payment) *verifyAnswer {
	v, bad := g.findHold(ctx, p)
	if bad != nil {
		return bad
	}
	if p.payer == "" {
		g.releaseHold(ctx, v.TxnID, payerUnread)
		bad := notValid("refused", ours+payerUnread, unreadPayer)
		bad.Extensions = showVerdict(v)
		return bad
	}
	answer := &verifyAnswer{Payer: p.payer, Extensions: showVerdict(v)}
	switch o, reason, message := g.f.verifyBehind(ctx, p); o {
	case done:
		answer.IsValid, answer.outcome = true, "valid"
	case failed:
		answer.InvalidReason, answer.InvalidMessage, answer.outcome = reason, message, "invalid"
		if v.review != "" { // The leave of its review stays, for a payment that can be made.
			break
		}
		// If the payment is being settled with this credential, the settlement releases the hold.
		if settlement, err := g.readByReference(ctx, p.settleReference(), 0); err == nil && (settlement == nil || !settlement.isOf(p)) {
			g.releaseHold(ctx, v.TxnID, reason)
		}
	default: // The hold stays, and the next call uses it.
		answer.InvalidReason, answer.outcome = ours+"upstream_unavailable", "unavailable"
		answer.InvalidMessage = errUpstream.Error()
	}
	return answer
}

// findHold returns the verdict of the payment's open hold, or of its approved review. If there is none,
// it opens a hold. If it cannot, it returns the reason.
func (g *guestCall) findHold(ctx context.Context, p *payment) (*verdict, *verifyAnswer) {
	before, err := g.readByReference(ctx, p.holdReference(), 0)
	if err == nil && before == nil {
		before, err = g.readByReference(ctx, p.settleReference(), 0)
		switch {
		case before == nil:
		case !before.isOf(p):
			return nil, verifyWithoutVerdict(errOutrun)
		case before.Verdict != "REVIEW":
			return nil, notValid("refused", ours+"already_settled", "this payment was sent for settlement before")
		}
	}
	switch {
	case err != nil:
		return nil, verifyWithoutVerdict(err)
	case before != nil && before.Verdict == "REVIEW": // It has the reference since it was approved.
	case before != nil && before.settledEnding() != nil:
		return nil, notValid("refused", ours+"already_settled", "this payment was settled before")
	case before != nil && before.holdIsOpen():
		return g.repeatPermit(ctx, p, before), nil
	case before != nil && before.isUnresolved():
		return nil, notValid("refused", ours+unresolved, unresolvedMessage)
	}
	v, err := g.screenToVerify(ctx, p, p.nameReview(before))
	switch {
	case isOver(err):
		return nil, notValid(overAnswer(before))
	case err != nil:
		return nil, verifyWithoutVerdict(err)
	case v.review != "":
		return g.verifyReviewed(ctx, p, v)
	case v.Verdict == "PROCEED" && !v.replayed:
		return v, nil
	case v.Verdict != "PROCEED" && !(v.replayed && v.Verdict == "REVIEW"):
		return nil, p.refusedBy(v, describeVerdict(v))
	}
	return g.readReplayed(ctx, p, v)
}

// overAnswer is the answer to a payment that must take the leave of a review that is over.
func overAnswer(before *record) (outcome, reason, message string) {
	if reason, message = before.overReview(); reason == "" {
		reason, message = ours+"hold_ended", "the review that the payment names is none of this payment, or it is over"
	}
	return "refused", reason, message
}

// readReplayed answers by an earlier call with this body, whose hold or review may have ended since.
func (g *guestCall) readReplayed(ctx context.Context, p *payment, v *verdict) (*verdict, *verifyAnswer) {
	first, err := g.readRecord(ctx, "/v1/audit/"+v.TxnID+"?consistency=leader", 0)
	switch {
	case err != nil || first == nil:
		return nil, verifyWithoutVerdict(errUnavailable)
	case v.Verdict == "REVIEW":
		if reason, message := first.overReview(); reason != "" {
			bad := notValid("refused", reason, message)
			bad.Payer, bad.Extensions = p.payer, showVerdict(v)
			return nil, bad
		}
		return nil, p.refusedBy(v, describeVerdict(v))
	case first.holdIsOpen():
		return v, nil
	case first.isUnresolved():
		return nil, notValid("refused", ours+unresolved, unresolvedMessage)
	case first.Payment != nil && first.Payment.State == "released":
		return nil, notValid("invalid", releasedReason(first.Payment.Reason), "as this payment was answered before")
	}
	return nil, notValid("refused", ours+"hold_ended", "the hold of this payment has ended: sign another payment")
}

// screenToVerify screens the payment with a hold, and with a permit if it asks for one.
func (g *guestCall) screenToVerify(ctx context.Context, p *payment, review string) (*verdict, error) {
	permit := p.askPermit()
	if permit != nil { // The record says which body had the permit: only that one can have it again.
		g.requestID = p.verifyID()
		defer func() { g.requestID = "" }()
	}
	return g.screenWithHold(ctx, p, "x402:verify:"+p.hash, p.holdReference(), review, permit)
}

// verifyID identifies a call of verify by its body.
func (p *payment) verifyID() string { return "x402-verify-" + p.hash }

// repeatPermit returns the verdict of an open hold, with the permit that the same body got before: the API
// repeats its answer.
func (g *guestCall) repeatPermit(ctx context.Context, p *payment, before *record) *verdict {
	if p.askPermit() == nil || before.RequestID != p.verifyID() || g.f.now().Sub(before.ScreenedAt) > permitMost {
		return &before.verdict
	}
	if v, err := g.screenToVerify(ctx, p, p.review); err == nil && v.replayed && v.TxnID == before.TxnID {
		return v
	}
	return &before.verdict
}

const unresolvedMessage = "whether this payment was made is not known: a settler must say what became of it"

// releaseHold releases a hold. If that fails, a settler must release it.
func (g *guestCall) releaseHold(ctx context.Context, txnID, reason string) {
	if err := g.bookReleased(ctx, txnID, releasePrefix+reason); err != nil {
		g.f.config.Logger.Warn("a hold of an x402 payment was not released; a settler must release it", "txnId", txnID, "error", err)
	}
}

// releaseOutrun releases the payment's own hold. The same signed payment was sent on with another
// credential, and it is made once and booked there.
func (g *guestCall) releaseOutrun(ctx context.Context, p *payment) {
	if held, err := g.readByReference(ctx, p.holdReference(), 0); err == nil && held != nil && held.holdIsOpen() {
		g.releaseHold(ctx, held.TxnID, errOutrun.Error())
	}
}

// ours is the prefix of reasons that are ours, not the protocol's.
const ours = "railguard_"

// releasePrefix is the prefix of the facilitator's reason in a release.
const releasePrefix = "x402: "

// refusalReason is the protocol's reason for a verdict that is not PROCEED.
func refusalReason(v *verdict) string {
	switch v.Verdict {
	case "REVIEW":
		return ours + "review"
	case "BLOCK":
		return ours + "block"
	}
	return ours + "unknown"
}

// lacksCredential says what a payment without a credential needs.
const lacksCredential = " The payment names no agent: put its token into extensions.railguard.info.token of the payment, or into the header X-Railguard-Token."

// refusal returns the reason for which this payment is refused by a verdict, and what is said of it.
func (p *payment) refusal(v *verdict, message string) (reason, said string) {
	if reason = refusalReason(v); p.token == "" && reason == ours+"unknown" {
		return ours + "credential_missing", message + lacksCredential
	}
	return reason, message
}

// describeVerdict describes a verdict for a person.
func describeVerdict(v *verdict) string {
	text := v.TxnID
	if v.Rule != nil {
		text = *v.Rule + " " + text
	}
	return text + ": " + v.Reason
}

// verifyWithoutVerdict returns the answer for a payment that got no verdict.
func verifyWithoutVerdict(err error) *verifyAnswer {
	outcome, reason, message := noVerdict(err)
	return notValid(outcome, reason, message)
}

func noVerdict(err error) (outcome, reason, message string) {
	var no *refused
	switch {
	case errors.As(err, &no) && no.code == "forbidden":
		return "refused", ours + "forbidden", no.message
	case errors.As(err, &no):
		return "refused", ours + "refused", no.code + ": " + no.message
	case errors.Is(err, errConflict), errors.Is(err, errOutrun):
		return "refused", ours + "conflict", err.Error()
	}
	return "unavailable", ours + "unavailable", errUnavailable.Error()
}
