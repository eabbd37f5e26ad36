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
}

func showVerdict(v *verdict) map[string]*verdictShown {
	if v == nil {
		return nil
	}
	shown := &verdictShown{Verdict: v.Verdict, TxnID: v.TxnID, Reason: v.Reason}
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
		// If the payment is being settled, the settlement releases the hold.
		if settlement, err := g.readByReference(ctx, p.settleReference(), 0); err == nil && settlement == nil {
			g.releaseHold(ctx, v.TxnID, reason)
		}
	default: // The hold stays, and the next call uses it.
		answer.InvalidReason, answer.outcome = ours+"upstream_unavailable", "unavailable"
		answer.InvalidMessage = errUpstream.Error()
	}
	return answer
}

// findHold returns the verdict of the payment's open hold. If there is no hold, it opens one. If
// it cannot, it returns the reason.
func (g *guestCall) findHold(ctx context.Context, p *payment) (*verdict, *verifyAnswer) {
	before, err := g.readByReference(ctx, p.holdReference(), 0)
	if err == nil && before == nil {
		var settlement *record
		if settlement, err = g.readByReference(ctx, p.settleReference(), 0); settlement != nil {
			return nil, notValid("refused", ours+"already_settled", "this payment was sent for settlement before")
		}
	}
	switch {
	case err != nil:
		return nil, verifyWithoutVerdict(err)
	case before != nil && before.settledEnding() != nil:
		return nil, notValid("refused", ours+"already_settled", "this payment was settled before")
	case before != nil && before.holdIsOpen():
		return &before.verdict, nil
	case before != nil && before.isUnresolved():
		return nil, notValid("refused", ours+unresolved, unresolvedMessage)
	}
	v, err := g.screenWithHold(ctx, p, "x402:verify:"+p.hash, p.holdReference())
	if err != nil {
		return nil, verifyWithoutVerdict(err)
	}
	if v.Verdict != "PROCEED" {
		bad := notValid("refused", refusalReason(v), describeVerdict(v))
		bad.Payer, bad.Extensions = p.payer, showVerdict(v)
		return nil, bad
	}
	if !v.replayed {
		return v, nil
	}
	// The verdict is that of an earlier call with this body, whose hold may have ended since.
	first, err := g.readRecord(ctx, "/v1/audit/"+v.TxnID+"?consistency=leader", 0)
	switch {
	case err != nil || first == nil:
		return nil, verifyWithoutVerdict(errUnavailable)
	case first.holdIsOpen():
		return v, nil
	case first.isUnresolved():
		return nil, notValid("refused", ours+unresolved, unresolvedMessage)
	case first.Payment != nil && first.Payment.State == "released":
		return nil, notValid("invalid", releasedReason(first.Payment.Reason), "as this payment was answered before")
	}
	return nil, notValid("refused", ours+"hold_ended", "the hold of this payment has ended: sign another payment")
}

const unresolvedMessage = "whether this payment was made is not known: a settler must say what became of it"

// releaseHold releases a hold. If that fails, a settler must release it.
func (g *guestCall) releaseHold(ctx context.Context, txnID, reason string) {
	if err := g.bookReleased(ctx, txnID, releasePrefix+reason); err != nil {
		g.f.config.Logger.Warn("a hold of an x402 payment was not released; a settler must release it", "txnId", txnID, "error", err)
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
	case errors.Is(err, errConflict):
		return "refused", ours + "conflict", err.Error()
	}
	return "unavailable", ours + "unavailable", errUnavailable.Error()
}
