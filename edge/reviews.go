package edge

import (
	"github.com/valyala/fastjson"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// This file finds the review that a payment over x402 has already (decision 138): a REVIEW of the same
// payer, payee, token, units, agent and owner that nobody has decided, or that an officer approved and
// nobody has used. Its leaf, and the one by which its leave is taken, have a filter among those of payment
// references, so they are found on every node as long as those are.

// The words that tell the facilitator what a review means for its payment.
const (
	ReviewWaiting  = "waiting"  // No officer has approved it.
	ReviewApproved = "approved" // It may be confirmed, and redeemed, for this payment.
	ReviewOther    = "other"    // It is approved, and this payment shows what the officer did not see.
	ReviewUsed     = "used"     // This payment took its leave.
)

// ReviewFound answers a call of the facilitator: there is a review of its payment already. It is no
// error of anybody, and goes where errors do because nothing is proposed then.
type ReviewFound struct {
	Leaf Leaf
	Word string // One of those above.
}

func (r *ReviewFound) Error() string { return "there is a review of this payment: " + r.Word }

// ScreenUnreviewed is Screen, but for a payment over x402 of which there is a review already it returns a
// *ReviewFound. The facilitator has asked the leader before, so that this node knows of every review that
// was answered.
func (j *Judge) ScreenUnreviewed() (any, error) {
	record, err := j.Screen()
	s := &j.screen
	if err != nil || s.x402 == nil || s.record.Hold == 0 || s.record.Agent == 0 {
		return record, err
	}
	found, err := j.findReview()
	if err != nil {
		return nil, err
	}
	switch {
	case found != nil && (s.x402.Review == "" || s.x402.Review == found.Leaf.Text("txnId")):
		return nil, found
	case s.x402.Review != "":
		return nil, NotFound("the review that the payment names is none of this payment, or it is over")
	}
	return record, nil
}

// findReview returns the review whose leave this payment took; else the oldest one in force; else nil.
func (j *Judge) findReview() (*ReviewFound, error) {
	s := &j.screen
	leaves, _, err := j.records().ReferenceLeaves(engine.ReviewKey(s.record.Agent, s.record.Party, s.record.Amount))
	if err != nil {
		return nil, noHistoryYet()
	}
	var found *ReviewFound
	for i := range leaves { // Newest first.
		l, err := j.OpenLeaf(leaves[i].Index, leaves[i].Data)
		if err != nil {
			return nil, err
		}
		if engine.Time(leaves[i].Time) <= j.LogTime()-engine.ReferenceKept {
			break
		}
		if used, err := j.tookLeave(&l); err != nil || used != nil {
			return used, err
		}
		if !j.reviews(&l) {
			continue
		}
		word, err := j.wordOf(&l)
		if err != nil {
			return nil, err
		}
		if word != "" {
			found = &ReviewFound{Leaf: l, Word: word}
		}
	}
	return found, nil
}

// reviews tells whether a leaf is a review of the payment of this call, whatever its nonce.
func (j *Judge) reviews(l *Leaf) bool {
	s, x := &j.screen, l.Record
	if x == nil || x.Verdict != engine.Review {
		return false
	}
	told := toldPayment(x)
	agent, ok := j.Terms.ParseAgent(x.AgentID())
	return ok && agent == s.record.Agent && x.Amount == s.record.Amount && s.x402.sameButNonce(toldOverX402(x)) && j.Terms.ownCall(j.call.Caller, l) &&
		engine.CanonicalWallet(told.Wallet) == engine.CanonicalWallet(s.request.Wallet) && engine.CanonicalWallet(told.Payer) == engine.CanonicalWallet(s.request.Payer)
}

// wordOf says what a review means for the payment of this call; "": it is over.
func (j *Judge) wordOf(l *Leaf) (string, error) {
	d, err := j.Disposition(l, false)
	if err != nil {
		return "", err
	}
	switch {
	case len(d.Payment) == 0 && (!d.Present || d.Said.Escalates()): // Both are answered alike.
		return ReviewWaiting, nil
	case !d.Present || d.Said.Disposition != leaf.WordApproved:
		return "", nil
	case d.HoldState() == "held" && j.LogTime() < d.Said.PayBy:
		if j.showsMore(l) {
			return ReviewOther, nil
		}
		return ReviewApproved, nil
	}
	return "", nil
}

// tookLeave returns the review whose leave the payment of this call took, if the leaf says so. Whoever
// redeemed a permit told nothing of a payment.
func (j *Judge) tookLeave(l *Leaf) (*ReviewFound, error) {
	if l.Record != nil || l.Text("state") != "redeemed" || !l.Has("judged") {
		return nil, nil
	}
	x, err := j.OpenJudgement(l)
	if err != nil {
		return nil, err
	}
	if told := toldOverX402(x); told == nil || told.Nonce != j.screen.x402.Nonce {
		return nil, nil
	}
	record, err := j.LoadLeaf(l.Number("screenedLeaf"))
	if err != nil || !j.reviews(&record) {
		return nil, err
	}
	return &ReviewFound{Leaf: record, Word: ReviewUsed}, nil
}

func noHistoryYet() *Refusal {
	return Refuse("overloaded", "this node is still reading its history back, so it cannot tell whether there is a review of this payment: ask another node")
}

// showsMore tells whether a call shows what the officer who approved a review did not see: a rule that
// fires, an entry of a list, or a place.
func (j *Judge) showsMore(l *Leaf) bool {
	s, seen := &j.screen, l.Record
	decision := engine.RuleSetNumbered(s.record.Basis.Rules).Decide(&s.hits, j.Terms.Policy())
	return decision.Triggered&^(seen.Triggered|seen.Shadow) != 0 ||
		showsOther(s.members.Get(leaf.TagMatches), seen.Edge.Get(leaf.TagMatches), "party", "uid", "outcome") ||
		showsOther(s.members.Get(leaf.TagPlaces), seen.Edge.Get(leaf.TagPlaces), "read", "outcome")
}

// showsOther tells whether a list of objects has one that none of the list seen is like, as far as the
// named members say.
func showsOther(list, seen []byte, names ...string) bool {
	if list == nil {
		return false
	}
	shown, err := fastjson.ParseBytes(list)
	if err != nil {
		return true
	}
	known := map[string]bool{}
	if before, err := fastjson.ParseBytes(seen); err == nil {
		for _, item := range before.GetArray() {
			known[textsOf(item, names)] = true
		}
	}
	for _, item := range shown.GetArray() {
		if !known[textsOf(item, names)] {
			return true
		}
	}
	return false
}

func textsOf(item *fastjson.Value, names []string) (texts string) {
	for _, name := range names {
		texts += string(item.GetStringBytes(name)) + "\n"
	}
	return texts
}
