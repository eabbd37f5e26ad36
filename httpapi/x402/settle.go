package x402

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A payment is forwarded by one caller, whatever number of them ask at how many nodes:
// the log says which. Who screens it for settlement first uses the payment's settlement
// reference, and forwards; everybody else finds the reference used and goes by what became
// of that. An outcome that is not known leaves the hold as it is, and is asked for again
// once the first attempt is certainly over. From then on a failure tells nothing any more:
// the attempt before may have succeeded, so only a success ends it.

// settleAnswer is the protocol's answer to settle.
type settleAnswer struct {
	Success      bool                     `json:"success"`
	ErrorReason  string                   `json:"errorReason,omitempty"`
	ErrorMessage string                   `json:"errorMessage,omitempty"`
	Payer        string                   `json:"payer,omitempty"`
	Transaction  string                   `json:"transaction"`
	Network      string                   `json:"network"`
	Extensions   map[string]*verdictShown `json:"extensions,omitempty"`

	outcome string // For the metrics.
}

// bookingTime is what an attempt may take besides the facilitator behind.
const bookingTime = 2*apiPatience + 2*time.Second

// now has no reading of a clock that stands still while the machine sleeps.
func (f *Facilitator) now() time.Time { return f.config.Now().Round(0) }

// patience is how long after it was screened an attempt is certainly over.
func (f *Facilitator) patience() time.Duration { return f.config.SettleTimeout + bookingTime }

func (p *payment) notSettled(outcome, reason, message string, v *verdict) *settleAnswer {
	return &settleAnswer{ErrorReason: reason, ErrorMessage: message, Payer: p.payer, Network: p.network, Extensions: show(v), outcome: outcome}
}

func (p *payment) settledBy(outcome, transaction string, v *verdict) *settleAnswer {
	return &settleAnswer{Success: true, Payer: p.payer, Transaction: transaction, Network: p.network, Extensions: show(v), outcome: outcome}
}

func (p *payment) pending(v *verdict, message string) *settleAnswer {
	return p.notSettled("pending", "settlement_pending", message, v)
}

func (p *payment) unsettled(err error) *settleAnswer {
	outcome, reason, message := noVerdict(err)
	return p.notSettled(outcome, reason, message, nil)
}

// settlement is one payment on its way to be settled.
type settlement struct {
	*guestCall
	p     *payment
	began time.Time

	claim *verdict // What the payment was screened as, for settlement.
	held  *record  // The hold that verify opened; nil: the claim holds it.
}

// settle judges the payment again and, on PROCEED, has it made.
func (g *guestCall) settle(ctx context.Context, p *payment) *settleAnswer {
	s := &settlement{guestCall: g, p: p, began: g.f.now()}
	before, err := g.uses(ctx, p.settleReference(), 0)
	if err != nil {
		return p.unsettled(err)
	}
	if before != nil {
		return s.again(ctx, before)
	}
	if answer := s.screen(ctx); answer != nil {
		return answer
	}
	return s.forward(ctx)
}

// screen screens the payment for settlement and claims it. The answer is nil when it is
// this caller's to forward.
func (s *settlement) screen(ctx context.Context) *settleAnswer {
	g, p, key := s.guestCall, s.p, "x402:settle:"+s.p.hash
	var err error
	if s.held, err = g.uses(ctx, p.holdReference(), 0); err != nil {
		return p.unsettled(err)
	}
	switch {
	case s.held != nil && s.held.settled() != nil:
		return p.settledBy("repeated", s.held.settled().RailRef, &s.held.verdict)
	case s.held != nil && !s.held.open():
		s.held = nil
	}
	// A body that came before found the hold open or not: its answer is found in either form.
	for _, holds := range []bool{s.held == nil, s.held != nil} {
		if holds {
			s.claim, err = g.hold(ctx, p, key, p.settleReference())
		} else {
			s.claim, err = g.judgeAgain(ctx, p, key, p.settleReference())
		}
		if !errors.Is(err, errConflict) {
			break
		}
	}
	if errors.Is(err, errConflict) {
		return s.another(ctx, p.unsettled(err))
	}
	if err != nil {
		return p.unsettled(err)
	}
	if s.claim.replayed {
		return s.replayed(ctx)
	}
	winner, err := g.uses(ctx, p.settleReference(), s.claim.Index)
	switch {
	case err != nil:
		return p.unsettled(err) // Nothing was sent; who asks again finds the claim.
	case winner != nil && winner.TxnID != s.claim.TxnID:
		if s.claim.Verdict == "PROCEED" {
			g.giveBack(ctx, s.claim.TxnID, "another call settles this payment")
		}
		return s.again(ctx, winner)
	case s.claim.Verdict != "PROCEED":
		if s.held != nil {
			g.giveBack(ctx, s.held.TxnID, refusal(s.claim))
		}
		return p.notSettled("refused", refusal(s.claim), said(s.claim), s.claim)
	}
	return nil
}

// replayed answers a body that was sent before, and whose claim no longer uses the
// settlement reference, or never did.
func (s *settlement) replayed(ctx context.Context) *settleAnswer {
	if s.claim.Verdict != "PROCEED" {
		return s.p.notSettled("refused", refusal(s.claim), said(s.claim), s.claim)
	}
	first, err := s.guestCall.record(ctx, "/v1/audit/"+s.claim.TxnID+"?consistency=leader", 0)
	if err != nil || first == nil {
		return s.p.pending(s.claim, "this payment was sent for settlement before")
	}
	return s.again(ctx, first)
}

// another answers by the claim that uses the settlement reference, or with otherwise.
func (s *settlement) another(ctx context.Context, otherwise *settleAnswer) *settleAnswer {
	winner, err := s.guestCall.uses(ctx, s.p.settleReference(), 0)
	if err != nil || winner == nil {
		return otherwise
	}
	return s.again(ctx, winner)
}

// forward has the payment made, and books what became of it.
func (s *settlement) forward(ctx context.Context) *settleAnswer {
	o, transaction, reason, message := s.f.settleBehind(ctx, s.p)
	switch {
	case o == done:
		s.book(ctx, transaction)
		return s.p.settledBy("settled", transaction, s.claim)
	case o == failed && s.f.now().Sub(s.began) < s.f.patience()-bookingTime+apiPatience: // Nobody else can have tried meanwhile.
		if s.held != nil {
			s.giveBack(ctx, s.held.TxnID, reason)
		}
		s.giveBack(ctx, s.claim.TxnID, reason)
		return s.p.notSettled("failed", reason, message, s.claim)
	}
	s.f.config.Logger.Warn("whether an x402 payment was made is not known; its hold stays", "txnId", s.claim.TxnID, "reason", reason)
	return s.p.pending(s.claim, "whether the payment was made is not known: ask again")
}

// book settles the hold of a payment that was made.
func (s *settlement) book(ctx context.Context, transaction string) {
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

// again answers a payment that was claimed before: by what became of it, or, when that is
// not known and the attempt is over, by asking the facilitator behind once more.
func (s *settlement) again(ctx context.Context, claim *record) *settleAnswer {
	s.claim = &claim.verdict
	if claim.Verdict != "PROCEED" {
		return s.p.notSettled("refused", refusal(s.claim), said(s.claim), s.claim)
	}
	held, err := s.guestCall.uses(ctx, s.p.holdReference(), 0)
	if err != nil {
		return s.p.unsettled(err)
	}
	for _, r := range []*record{held, claim} {
		if r != nil && r.settled() != nil {
			return s.p.settledBy("repeated", r.settled().RailRef, s.claim)
		}
	}
	if s.held = nil; held != nil && held.open() {
		s.held = held
	}
	if claim.Payment != nil && claim.Payment.State == "released" {
		return s.p.notSettled("repeated", released(claim.Payment.Reason), "as this payment was answered before", s.claim)
	}
	if s.began.Sub(claim.ScreenedAt) < s.f.patience() {
		return s.p.pending(s.claim, "this payment is being settled")
	}
	now, err := s.guestCall.judgeAgain(ctx, s.p, "", "")
	switch {
	case err != nil:
		return s.p.pending(s.claim, "whether the payment was made is not known, and it cannot be screened again now")
	case now.Verdict != "PROCEED":
		return s.p.pending(now, "whether the payment was made is not known, and now it would not be: "+said(now))
	}
	if o, transaction, _, _ := s.f.settleBehind(ctx, s.p); o == done {
		s.book(ctx, transaction)
		return s.p.settledBy("settled", transaction, s.claim)
	}
	return s.p.pending(s.claim, "whether the payment was made is not known")
}

// released is the facilitator's reason in what a release says.
func released(reason string) string {
	if text, ours := strings.CutPrefix(reason, releasePrefix); ours && text != "" {
		return text
	}
	return ours + "released"
}
