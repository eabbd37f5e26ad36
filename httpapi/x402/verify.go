package x402

import (
	"context"
	"errors"
)

// verdictShown is what an answer says of the screening, beside the protocol's members.
type verdictShown struct {
	Verdict       string `json:"verdict"`
	TxnID         string `json:"txnId"`
	Rule          string `json:"rule,omitempty"`
	Reason        string `json:"reason,omitempty"`
	HoldExpiresAt string `json:"holdExpiresAt,omitempty"`
}

func show(v *verdict) map[string]*verdictShown {
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

	outcome string // For the metrics.
}

func notValid(outcome, reason, message string) *verifyAnswer {
	return &verifyAnswer{InvalidReason: reason, InvalidMessage: message, outcome: outcome}
}

// verify screens the payment with a hold, and has the facilitator behind look at it. Asked
// again, it goes by the hold that is open.
func (g *guestCall) verify(ctx context.Context, p *payment) *verifyAnswer {
	v, bad := g.heldFor(ctx, p)
	if bad != nil {
		return bad
	}
	answer := &verifyAnswer{Payer: p.payer, Extensions: show(v)}
	switch o, reason, message := g.f.verifyBehind(ctx, p); o {
	case done:
		answer.IsValid, answer.outcome = true, "valid"
	case failed:
		answer.InvalidReason, answer.InvalidMessage, answer.outcome = reason, message, "invalid"
		// What is being settled is its settlement's to release.
		if settlement, err := g.uses(ctx, p.settleReference(), 0); err == nil && settlement == nil {
			g.giveBack(ctx, v.TxnID, reason)
		}
	default: // The hold stays: who asks again finds it.
		answer.InvalidReason, answer.outcome = ours+"upstream_unavailable", "unavailable"
		answer.InvalidMessage = errUpstream.Error()
	}
	return answer
}

// heldFor returns the verdict that opened the payment's hold, now or before; or why
// there is none.
func (g *guestCall) heldFor(ctx context.Context, p *payment) (*verdict, *verifyAnswer) {
	before, err := g.uses(ctx, p.holdReference(), 0)
	if err == nil && before == nil {
		var settlement *record
		if settlement, err = g.uses(ctx, p.settleReference(), 0); settlement != nil {
			return nil, notValid("refused", ours+"already_settled", "this payment was sent for settlement before")
		}
	}
	switch {
	case err != nil:
		return nil, unscreened(err)
	case before != nil && before.settled() != nil:
		return nil, notValid("refused", ours+"already_settled", "this payment was settled before")
	case before != nil && before.open():
		return &before.verdict, nil
	}
	v, err := g.hold(ctx, p, "x402:verify:"+p.hash, p.holdReference())
	if err != nil {
		return nil, unscreened(err)
	}
	if v.Verdict != "PROCEED" {
		bad := notValid("refused", refusal(v), said(v))
		bad.Payer, bad.Extensions = p.payer, show(v)
		return nil, bad
	}
	if !v.replayed {
		return v, nil
	}
	// The answer of an earlier call with this body; its hold may have ended.
	first, err := g.record(ctx, "/v1/audit/"+v.TxnID+"?consistency=leader", 0)
	switch {
	case err != nil || first == nil:
		return nil, unscreened(errUnavailable)
	case first.open():
		return v, nil
	case first.Payment != nil && first.Payment.State == "released":
		return nil, notValid("invalid", released(first.Payment.Reason), "as this payment was answered before")
	}
	return nil, notValid("refused", ours+"hold_ended", "the hold of this payment has ended: sign another payment")
}

// giveBack releases a hold. Where that cannot be done, it ends by itself.
func (g *guestCall) giveBack(ctx context.Context, txnID, reason string) {
	if err := g.bookReleased(ctx, txnID, releasePrefix+reason); err != nil {
		g.f.config.Logger.Warn("a hold of an x402 payment was not released; it expires", "txnId", txnID, "error", err)
	}
}

// ours stands before reasons that are ours, not the protocol's.
const ours = "railguard_"

// releasePrefix stands before the facilitator's reason in what a release says.
const releasePrefix = "x402: "

// refusal is the protocol's reason for a verdict that is not PROCEED.
func refusal(v *verdict) string {
	switch v.Verdict {
	case "REVIEW":
		return ours + "review"
	case "BLOCK":
		return ours + "block"
	}
	return ours + "unknown"
}

// said is what a person is told of a verdict.
func said(v *verdict) string {
	text := v.TxnID
	if v.Rule != nil {
		text = *v.Rule + " " + text
	}
	return text + ": " + v.Reason
}

// unscreened is the answer where no verdict could be had.
func unscreened(err error) *verifyAnswer {
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
