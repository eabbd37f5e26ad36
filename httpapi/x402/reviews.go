package x402

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// A payment that is a REVIEW has no second review while the first one waits for an officer, or is
// approved and not used yet (decision 138). Which review that is, the API knows: it answers with it in
// place of a new verdict. When it is approved, verify confirms it and settle takes its leave, whatever
// the nonce: the log gives the leave to one payment.

// confirmed is the API's answer to a confirmation.
type confirmed struct {
	verdict
	At      time.Time `json:"confirmedAt"`
	Payment struct {
		Until string `json:"until"`
	} `json:"payment"`
}

var errReviewOver = errors.New("the review is over")

// confirmReview has the payment of an approved review judged again. redeem takes its leave too: then
// the answer is repeated to a call that repeats the first one, and every other call is told that the
// review is over.
func (g *guestCall) confirmReview(ctx context.Context, p *payment, txnID string, redeem bool) (*confirmed, error) {
	call := struct {
		Token  string         `json:"token"`
		Redeem bool           `json:"redeem,omitempty"`
		X402   *signedPayment `json:"x402"`
		Permit *permitAsked   `json:"permit,omitempty"`
	}{p.token, redeem, p.sign(""), nil}
	key := sha256.New()
	if redeem {
		key.Write([]byte(g.keyID + "\x00" + p.callID() + "\x00"))
	} else {
		call.Permit = p.askPermit()
	}
	body, err := json.Marshal(call)
	if err != nil {
		return nil, err
	}
	key.Write(body)
	answer, err := g.askUntilAnswered(p.proving(ctx), http.MethodPost, "/v1/transactions/"+url.PathEscape(txnID)+"/confirm", "x402:confirm:"+hex.EncodeToString(key.Sum(nil)), 0, body)
	var no *refused
	if errors.As(err, &no) {
		switch no.code {
		case "approval_lapsed", "permit_used", "invalid_transition", "not_found":
			return nil, errReviewOver
		}
	}
	if err != nil {
		return nil, err
	}
	c := new(confirmed)
	if err := json.Unmarshal(answer.Body.Bytes(), c); err != nil || c.Verdict == "" || c.TxnID == "" {
		return nil, errUnavailable
	}
	c.replayed = answer.Head.Get("Idempotent-Replayed") == "true"
	c.Hold = &held{State: "held", ExpiresAt: c.Payment.Until}
	return c, nil
}

// describeReview says what a review means for the payment.
func describeReview(v *verdict) string {
	text := describeVerdict(v)
	if v.review == reviewOther {
		text += " An officer approved it, and this payment tells what that officer did not see."
	}
	return text // While it waits, as the first answer.
}

// verifyReviewed uses the review that the payment has already.
func (g *guestCall) verifyReviewed(ctx context.Context, p *payment, v *verdict) (*verdict, *verifyAnswer) {
	switch v.review {
	case reviewUsed:
		return nil, notValid("refused", ours+"already_settled", "this payment was sent for settlement before")
	case reviewApproved:
	default:
		return nil, p.refusedBy(v, describeReview(v))
	}
	c, err := g.confirmReview(ctx, p, v.TxnID, false)
	switch {
	case err == errReviewOver: // Another payment has just taken its leave. The next call is screened anew.
		return nil, verifyWithoutVerdict(errUnavailable)
	case err != nil:
		return nil, verifyWithoutVerdict(err)
	case c.Verdict != "PROCEED":
		return nil, p.refusedBy(&c.verdict, describeVerdict(&c.verdict))
	}
	c.review = reviewApproved
	return &c.verdict, nil
}

func (p *payment) refusedBy(v *verdict, message string) *verifyAnswer {
	reason, message := p.refusal(v, message)
	bad := notValid("refused", reason, message)
	bad.Payer, bad.Extensions = p.payer, showVerdict(v)
	return bad
}

// overReview returns why a review gives no leave to this payment; "": it is none that is over. A call
// whose body came before gets the review that it had.
func (r *record) overReview() (reason, message string) {
	switch {
	case r == nil || r.Verdict != "REVIEW":
		return "", ""
	case r.settledEnding() != nil:
		return ours + "already_settled", "this payment was settled before"
	case r.isUnresolved():
		return ours + unresolved, unresolvedMessage
	case r.Disposition == "REJECTED":
		return ours + "review", r.TxnID + ": an officer rejected this payment"
	case r.Disposition == "APPROVED" || r.Payment != nil:
		return ours + "hold_ended", r.TxnID + ": the approval of this payment has ended: sign another payment"
	}
	return "", ""
}

// nameReview returns the review whose leave the payment must take: the one that it names, or the one that
// has its reference since an officer approved it. "": any.
func (p *payment) nameReview(before *record) string {
	if before != nil && before.Verdict == "REVIEW" {
		return cmp.Or(p.review, before.TxnID)
	}
	return p.review
}

// isOver tells whether the API refused a payment because the review that it must take is over, or is
// none of this payment.
func isOver(err error) bool {
	var no *refused
	return errors.As(err, &no) && no.code == "not_found"
}

// settleReviewed takes the leave of the review that the payment has already. It returns nil if this caller
// got it and must forward the payment.
func (s *settlement) settleReviewed(ctx context.Context) *settleAnswer {
	p := s.p
	s.held, s.reviewed = nil, true
	if s.claim.review != reviewApproved && s.claim.review != reviewUsed {
		return s.answerWaiting(ctx)
	}
	taken, err := s.confirmReview(ctx, p, s.claim.TxnID, true)
	switch {
	case err == errReviewOver && s.claim.review == reviewUsed: // Another call took it for this payment.
		return s.answerTaken(ctx, nil)
	case err == errReviewOver: // Another payment has just taken it. The next call is screened anew.
		return p.settleWithoutVerdict(errUnavailable)
	case err != nil:
		return p.settleWithoutVerdict(err)
	case taken.Verdict != "PROCEED":
		return p.refuseToSettle(&taken.verdict, describeVerdict(&taken.verdict))
	case taken.replayed:
		return s.answerTaken(ctx, taken)
	}
	s.claim, s.ownClaim = &taken.verdict, true
	return nil
}

// answerWaiting answers for a payment whose review gives it no leave. The review may be that of a call
// which another call of this payment has just outrun: then the claim of the payment answers.
func (s *settlement) answerWaiting(ctx context.Context) *settleAnswer {
	winner, err := s.readByReference(ctx, s.p.settleReference(), 0)
	switch {
	case err != nil:
		return s.p.settleWithoutVerdict(err) // Nothing was sent.
	case winner != nil && winner.Verdict == "PROCEED":
		s.reviewed = false
		return s.answerClaimed(ctx, winner)
	}
	return s.p.refuseToSettle(s.claim, describeReview(s.claim))
}

// answerTaken answers for a payment that took the leave of its review before. taken is the repeated
// answer to a call that repeats the one that took it; nil: this call is another one.
func (s *settlement) answerTaken(ctx context.Context, taken *confirmed) *settleAnswer {
	record, err := s.readRecord(ctx, "/v1/audit/"+url.PathEscape(s.claim.TxnID)+"?consistency=leader", 0)
	if err != nil || record == nil {
		return s.p.settleWithoutVerdict(errUnavailable)
	}
	s.ownClaim = true // The API tells of no other owner's review.
	if taken != nil {
		s.claim, s.repeatsClaim, record.ScreenedAt = &taken.verdict, s.keyID != "", taken.At
	}
	return s.answerOutcome(ctx, record)
}
