package x402

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Many callers may ask, at several nodes, to settle one payment; the log decides which of them
// forwards it. The first one that screens the payment for settlement takes its settlement
// reference, and forwards. Every other caller finds the reference taken, and answers by the
// outcome of the first one's attempt. An attempt whose outcome is unknown leaves the hold as it
// is, and the hold never returns by itself: at its end the payment is unresolved and goes on
// counting. Once the attempt is certainly over, the facilitator behind is asked again. From then on
// only a success ends the payment: a failure may be that of the second attempt, after a first one
// that succeeded.
//
// A resource server gives out its resource on success. So only one call gets the success, and
// every other call gets duplicate_settlement, as the protocol says. The exception is a call that
// repeats the first one, with the same payment-identifier, API key and resource: it gets the
// first answer, marked as replayed.
//
// The reference is that of the signed payment, whatever the credential. A call that has the same one
// with another credential, or for another payee or amount, gets railguard_conflict: the chain makes one
// payment of them, and the first one that was sent on is judged and booked.

// settleAnswer is the protocol's answer to settle.
type settleAnswer struct {
	Success      bool                     `json:"success"`
	ErrorReason  string                   `json:"errorReason,omitempty"`
	ErrorMessage string                   `json:"errorMessage,omitempty"`
	Payer        string                   `json:"payer,omitempty"`
	Transaction  string                   `json:"transaction"`
	Network      string                   `json:"network"`
	Extensions   map[string]*verdictShown `json:"extensions,omitempty"`

	outcome string // The outcome that the metrics count.
}

// bookingTime is how long an attempt may take beyond the call of the facilitator behind.
const bookingTime = 2*apiPatience + 2*time.Second

// now returns the wall clock's time without its monotonic reading, which stands still while the
// machine sleeps.
func (f *Facilitator) now() time.Time { return f.config.Now().Round(0) }

// patience is the time after its screening when an attempt is certainly over.
func (f *Facilitator) patience() time.Duration { return f.config.SettleTimeout + bookingTime }

func (p *payment) notSettled(outcome, reason, message string, v *verdict) *settleAnswer {
	return &settleAnswer{ErrorReason: reason, ErrorMessage: message, Payer: p.payer, Network: p.network, Extensions: showVerdict(v), outcome: outcome}
}

// refuseToSettle is the answer to a payment whose verdict is not PROCEED.
func (p *payment) refuseToSettle(v *verdict, message string) *settleAnswer {
	reason, message := p.refusal(v, message)
	return p.notSettled("refused", reason, message, v)
}

func (p *payment) settledBy(outcome, transaction string, v *verdict) *settleAnswer {
	return &settleAnswer{Success: true, Payer: p.payer, Transaction: transaction, Network: p.network, Extensions: showVerdict(v), outcome: outcome}
}

// answerSettled answers for a payment that was settled before.
func (s *settlement) answerSettled(transaction string) *settleAnswer {
	if s.p.travelRule == "" || !s.repeatsClaim {
		return s.answerDuplicate()
	}
	answer := s.p.settledBy("repeated", transaction, s.claim)
	answer.Extensions[extension].Replayed = true
	return answer
}

// answerDuplicate tells only the key that made the claim which transaction it is.
func (s *settlement) answerDuplicate() *settleAnswer {
	const message = "an earlier call settled this payment, or tries to"
	if !s.ownClaim {
		return s.p.notSettled("duplicate", "duplicate_settlement", message, nil)
	}
	return s.p.notSettled("duplicate", "duplicate_settlement", message, s.claim)
}

func (p *payment) pendingAnswer(v *verdict, message string) *settleAnswer {
	return p.notSettled("pending", "settlement_pending", message, v)
}

// pendingOutcome is pendingAnswer for a payment that was sent on, whose outcome is unknown.
func (s *settlement) pendingOutcome(v *verdict, message string) *settleAnswer {
	answer := s.p.pendingAnswer(v, message)
	answer.Extensions[extension].State = unresolved
	return answer
}

func (p *payment) settleWithoutVerdict(err error) *settleAnswer {
	outcome, reason, message := noVerdict(err)
	return p.notSettled(outcome, reason, message, nil)
}

// settlement is one payment on its way to be settled.
type settlement struct {
	*guestCall
	p     *payment
	began time.Time

	claim *verdict // The verdict that took the settlement reference.
	held  *record  // The hold that verify opened; nil: the claim itself holds the amount.
	named *record  // The review that has a reference of this payment since an officer approved it; nil: there is none.

	reviewed     bool // The claim is the leave of an approved review.
	ownClaim     bool // The caller's key made the claim.
	repeatsClaim bool // The caller's key made the claim for the same resource and payment-identifier.
}

// settlePayment judges the payment again and, on PROCEED, has it made.
func (g *guestCall) settlePayment(ctx context.Context, p *payment) *settleAnswer {
	s := &settlement{guestCall: g, p: p, began: g.f.now()}
	g.requestID = p.callID()
	before, err := g.readByReference(ctx, p.settleReference(), 0)
	if err != nil {
		return p.settleWithoutVerdict(err)
	}
	if before != nil && before.isOf(p) && before.Verdict == "REVIEW" && before.Disposition == "APPROVED" {
		s.named = before
	} else if before != nil {
		return s.answerClaimed(ctx, before)
	}
	if answer := s.claimPayment(ctx); answer != nil {
		return answer
	}
	return s.forwardPayment(ctx)
}

// claimPayment screens the payment for settlement, which claims it. It returns nil if this caller
// has the claim and must forward the payment. Otherwise it returns the answer.
func (s *settlement) claimPayment(ctx context.Context) *settleAnswer {
	g, p, key := s.guestCall, s.p, "x402:settle:"+s.p.hash
	var err error
	if s.held, err = g.readByReference(ctx, p.holdReference(), 0); err != nil {
		return p.settleWithoutVerdict(err)
	}
	if s.held != nil && s.held.Verdict == "REVIEW" {
		s.named, s.held = s.held, nil
	}
	switch {
	case s.held != nil && s.held.settledEnding() != nil:
		s.claim, s.ownClaim = &s.held.verdict, s.keyID != "" && s.held.KeyID == s.keyID
		return s.answerDuplicate() // Somebody booked it without settling it here.
	case s.held != nil && s.held.isUnresolved(): // It was not sent on from here; somebody else may have made it.
		return p.notSettled("refused", ours+unresolved, unresolvedMessage, &s.held.verdict)
	case s.held != nil && !s.held.holdIsOpen():
		s.held = nil
	}
	// A body has one answer. If it came before, it was screened with a hold or without one: so a
	// conflict in one form is tried in the other.
	for _, holds := range []bool{s.held == nil, s.held != nil} {
		if holds {
			s.claim, err = g.screenWithHold(ctx, p, key, p.settleReference(), p.nameReview(s.named), nil)
		} else {
			s.claim, err = g.judgeAgain(ctx, p, key, p.settleReference())
		}
		if !errors.Is(err, errConflict) {
			break
		}
	}
	switch {
	case errors.Is(err, errConflict):
		return s.answerByWinner(ctx, p.settleWithoutVerdict(err))
	case isOver(err):
		return s.answerOver()
	case err != nil:
		return p.settleWithoutVerdict(err)
	case s.claim.review != "":
		return s.settleReviewed(ctx)
	case s.claim.replayed:
		return s.answerReplayed(ctx)
	}
	return s.checkClaim(ctx)
}

// answerOver answers for a payment that must take the leave of a review that is over.
func (s *settlement) answerOver() *settleAnswer {
	if s.named != nil && s.named.settledEnding() != nil { // For another payment, or somebody booked it without settling it here.
		s.claim, s.ownClaim = &s.named.verdict, s.keyID != "" && s.named.KeyID == s.keyID
		return s.answerDuplicate()
	}
	outcome, reason, message := overAnswer(s.named)
	return s.p.notSettled(outcome, reason, message, nil)
}

// checkClaim returns nil if the claim has the settlement reference and lets the payment through.
func (s *settlement) checkClaim(ctx context.Context) *settleAnswer {
	g, p := s.guestCall, s.p
	winner, err := g.readByReference(ctx, p.settleReference(), s.claim.Index)
	switch {
	case err != nil:
		return p.settleWithoutVerdict(err) // Nothing was sent. A caller that asks again finds the claim.
	case winner != nil && winner.TxnID != s.claim.TxnID:
		if s.claim.Verdict == "PROCEED" {
			g.releaseHold(ctx, s.claim.TxnID, "another call settles this payment")
		}
		return s.answerClaimed(ctx, winner)
	case s.claim.Verdict != "PROCEED":
		if s.held != nil {
			g.releaseHold(ctx, s.held.TxnID, refusalReason(s.claim))
		}
		return p.refuseToSettle(s.claim, describeVerdict(s.claim))
	case p.payer == "":
		if s.held != nil {
			g.releaseHold(ctx, s.held.TxnID, payerUnread)
		}
		g.releaseHold(ctx, s.claim.TxnID, payerUnread)
		return p.notSettled("refused", ours+payerUnread, unreadPayer, s.claim)
	}
	return nil
}

// answerReplayed answers a body that was sent before and whose claim does not hold the
// settlement reference now: the claim was released, or another body has the reference.
func (s *settlement) answerReplayed(ctx context.Context) *settleAnswer {
	if s.claim.Verdict != "PROCEED" {
		return s.p.refuseToSettle(s.claim, describeVerdict(s.claim))
	}
	first, err := s.guestCall.readRecord(ctx, "/v1/audit/"+s.claim.TxnID+"?consistency=leader", 0)
	if err != nil || first == nil {
		return s.p.pendingAnswer(s.claim, "this payment was sent for settlement before")
	}
	return s.answerClaimed(ctx, first)
}

// answerByWinner answers by the claim that holds the settlement reference. If no claim holds it,
// or the claim cannot be read, it returns otherwise.
func (s *settlement) answerByWinner(ctx context.Context, otherwise *settleAnswer) *settleAnswer {
	winner, err := s.guestCall.readByReference(ctx, s.p.settleReference(), 0)
	if err != nil || winner == nil {
		return otherwise
	}
	return s.answerClaimed(ctx, winner)
}

// forwardPayment asks the facilitator behind to make the payment, and books the outcome.
func (s *settlement) forwardPayment(ctx context.Context) *settleAnswer {
	o, transaction, reason, message := s.f.settleBehind(ctx, s.p)
	switch {
	case o == done:
		s.bookPayment(ctx, transaction)
		return s.p.settledBy("settled", transaction, s.claim)
	case o == failed && s.f.now().Sub(s.began) < s.f.patience()-bookingTime+apiPatience: // Nobody else can have tried meanwhile.
		if s.held != nil {
			s.releaseHold(ctx, s.held.TxnID, reason)
		}
		s.releaseHold(ctx, s.claim.TxnID, reason)
		return s.p.notSettled("failed", reason, message, s.claim)
	}
	s.f.config.Logger.Warn("whether an x402 payment was made is not known; its hold stays", "txnId", s.claim.TxnID, "reason", reason)
	return s.pendingOutcome(s.claim, "whether the payment was made is not known: ask again")
}

// bookPayment settles the hold of a payment that was made.
func (s *settlement) bookPayment(ctx context.Context, transaction string) {
	txnID := s.claim.TxnID
	if s.held != nil {
		txnID = s.held.TxnID
	}
	if err := s.bookSettled(ctx, s.p, txnID, transaction); err != nil {
		unbooked.Inc()
		s.f.config.Logger.Error("an x402 payment was made and is not booked: settle it by hand",
			"txnId", txnID, "transaction", transaction, "network", s.p.asset.Network, "error", err)
	}
}

// answerClaimed answers for a payment that was claimed before, by the outcome of the claim. If
// that is unknown and the attempt is over, it asks the facilitator behind once more.
func (s *settlement) answerClaimed(ctx context.Context, claim *record) *settleAnswer {
	if !claim.isOf(s.p) {
		s.releaseOutrun(ctx, s.p)
		return s.p.settleWithoutVerdict(errOutrun)
	}
	s.claim = &claim.verdict
	s.ownClaim = s.keyID != "" && claim.KeyID == s.keyID
	s.repeatsClaim = s.ownClaim && claim.RequestID == s.requestID
	switch {
	case claim.Verdict != "PROCEED" && !s.ownClaim: // Perhaps another owner's, of which this caller learns nothing.
		return s.answerDuplicate()
	case claim.Verdict != "PROCEED":
		return s.p.refuseToSettle(s.claim, describeVerdict(s.claim))
	}
	return s.answerOutcome(ctx, claim)
}

// answerOutcome is answerClaimed for a claim that let the payment through.
func (s *settlement) answerOutcome(ctx context.Context, claim *record) *settleAnswer {
	held, err := s.guestCall.readByReference(ctx, s.p.holdReference(), 0)
	if err != nil {
		return s.p.settleWithoutVerdict(err)
	}
	for _, r := range []*record{held, claim} {
		switch {
		case r == nil || r.settledEnding() == nil:
		case !r.settledEnding().Forwarded: // Somebody says that it was made, and this facilitator has not seen it.
			return s.answerDuplicate()
		default:
			return s.answerSettled(r.settledEnding().RailRef)
		}
	}
	if s.held = nil; held != nil && (held.holdIsOpen() || held.isUnresolved()) {
		s.held = held
	}
	if claim.Payment != nil && claim.Payment.State == "released" {
		return s.p.notSettled("repeated", releasedReason(claim.Payment.Reason), "as this payment was answered before", s.claim)
	}
	if !s.repeatsClaim {
		return s.answerDuplicate()
	}
	if s.began.Sub(claim.ScreenedAt) < s.f.patience() {
		return s.p.pendingAnswer(s.claim, "this payment is being settled")
	}
	if s.p.payer == "" { // Another node, of an earlier version, may have sent it on.
		return s.pendingOutcome(s.claim, unreadPayer)
	}
	if answer := s.forbidNow(ctx); answer != nil {
		return answer
	}
	if o, transaction, _, _ := s.f.settleBehind(ctx, s.p); o == done {
		s.bookPayment(ctx, transaction)
		return s.p.settledBy("settled", transaction, s.claim)
	}
	return s.pendingOutcome(s.claim, "whether the payment was made is not known")
}

// forbidNow judges the payment again before the facilitator behind is asked once more; nil: it may be
// made. Of a review that an officer approved only a BLOCK counts, and no other review is opened.
func (s *settlement) forbidNow(ctx context.Context) *settleAnswer {
	var now *verdict
	var err error
	if s.reviewed {
		now, err = s.foresee(ctx, s.p)
	} else {
		now, err = s.guestCall.judgeAgain(ctx, s.p, "", "")
	}
	switch {
	case err != nil:
		return s.pendingOutcome(s.claim, "whether the payment was made is not known, and it cannot be screened again now")
	case now.Verdict != "PROCEED" && !(s.reviewed && now.Verdict == "REVIEW"):
		if s.reviewed {
			now.TxnID = s.claim.TxnID // Nothing is recorded of what was foreseen.
		}
		return s.pendingOutcome(now, "whether the payment was made is not known, and now it would not be: "+describeVerdict(now))
	}
	return nil
}

// releasedReason returns the reason of the facilitator behind from the text of a release.
func releasedReason(reason string) string {
	if text, ours := strings.CutPrefix(reason, releasePrefix); ours && text != "" {
		return text
	}
	return ours + "released"
}
