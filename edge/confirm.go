package edge

import (
	"errors"
	"fmt"

	"railguard/engine"
	"railguard/engine/permit"
	"railguard/engine/possession"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// Confirm and redeem (decision 136): a recorded payment is judged again before it is made. The edge
// judges the recorded request by the list, the policy and the profiles of now; Apply judges the rest.

// PayAsked is what a call asks of a recorded payment.
type PayAsked struct {
	Op    uint8       // Of wire.
	Token string      // The agent's credential; "": that of the registry is judged.
	Until engine.Time // The end of the permit that is redeemed; 0: there is none.

	permit permitAsked
	x402   *x402Terms
}

// AskPermit reads the member permit of a confirmation; false means that it is not valid.
func (a *PayAsked) AskPermit(raw []byte) (ok bool) {
	a.permit, ok = readPermit(raw)
	return ok
}

// TellX402 reads the member x402 of a confirmation by this service's own facilitator: which signed
// payment is to be made. False means that it is not valid.
func (a *PayAsked) TellX402(raw []byte) (ok bool) {
	a.x402, ok = readX402(raw)
	return ok
}

// PayRecord makes the record by which a payment is confirmed or redeemed.
func PayRecord(j *Judge, l *Leaf, asked *PayAsked) (*wire.Pay, error) {
	list, err := j.ActiveList()
	if err != nil {
		return nil, err
	}
	of, err := Settlement(j, l, &Outcome{}) // What the log keeps of the payment is the same.
	if err != nil {
		return nil, err
	}
	b := &wire.Pay{
		Common: of.Common, Op: asked.Op, Leaf: of.Leaf, Agent: of.Agent, Fleet: of.Fleet, Operator: of.Operator, Verdict: of.Verdict, ScreenedAt: of.ScreenedAt,
		Amount: of.Recorded, Reference: of.Reference, Screener: of.Screener, Past: of.Past, Until: asked.Until,
	}
	if b.Verdict == engine.Review {
		b.Seen = l.Record.Triggered
	}
	if err := j.judgeRecorded(l, b.Agent, list, asked); err != nil {
		return nil, err
	}
	b.Idem = j.keyed() // A good proof is the call's key.
	b.Now = wire.AppendScreen(nil, &j.screen.record)
	if operator := l.Text("operatorId"); operator != "" {
		b.Filters = append(b.Filters, engine.FilterKey(engine.FilterOperator, operator))
	}
	if asked.x402 != nil && asked.Op&wire.PayRedeem != 0 { // So that the payment finds the review whose leave it took.
		b.Filters = append(b.Filters, engine.ReferenceFilter(engine.ReviewKey(b.Agent, j.screen.request.PartyKey(), b.Amount)))
	}
	return b, nil
}

// judgeRecorded judges what cannot change of a recorded payment, as of now, and leaves the judgement in
// the judge's record.
func (j *Judge) judgeRecorded(l *Leaf, slot engine.AgentSlot, list *ofac.Index, asked *PayAsked) error {
	s := &j.screen
	s.request, s.context, s.permit, s.x402, s.again = requestOfRecord(l), contextOfRecord(l), asked.permit, asked.x402, true
	if err := j.beginFacts(list); err != nil {
		return err
	}
	if err := j.loadRecorded(l, slot, asked.Token); err != nil {
		return err
	}
	if err := j.endedByClocks(); err != nil {
		return err
	}
	if asked.Op&wire.PayConfirm == 0 {
		s.facts.Proven = true // Whoever redeems has the permit, and need not be the agent.
	} else if err := j.prove(possession.ActConfirm(l.Text("txnId"))); err != nil {
		return err
	}
	j.lookUpCleared(list)
	looker, err := j.lookUp(func() {
		s.hits = engine.RuleSetNumbered(s.record.Basis.Rules).JudgeStatic(&s.facts)
		j.buildRecord(list)
		s.record.Filters = nil // The leaf is found by its payment.
	})
	if err == nil {
		lookers.Put(looker)
	}
	return err
}

// loadRecorded loads the parties of a recorded payment. Without a token the credentials count that the
// registry has for them now.
func (j *Judge) loadRecorded(l *Leaf, slot engine.AgentSlot, token string) error {
	s := &j.screen
	profile, err := j.agentProfile(slot)
	if err != nil {
		return err
	}
	if profile == nil {
		return Conflict("invalid_transition", "the agent of this payment is not known any more", nil)
	}
	version, expires := profile.CredentialVersion, profile.ExpiresAt
	user, hasUser := j.Terms.ParseUser(l.Text("userId"))
	if token != "" {
		claims, state, err := j.Claims(token)
		if err != nil {
			return err
		}
		if state != engine.TokenGood {
			s.facts.Token = state
			return nil
		}
		switch {
		case claims.kind == kindAgent && engine.AgentSlot(claims.slot) == slot:
			s.agent, version, expires = claims, claims.version, claims.expires
		case claims.kind == kindUser && hasUser && engine.UserSlot(claims.slot) == user: // It stood for the agent when the payment was screened.
			s.user = claims
		default:
			return InvalidField("token", "is not a credential of the payment's agent")
		}
	}
	if hasUser {
		profile, err := j.UserProfile(user)
		if err != nil {
			return err
		}
		if profile == nil {
			return Conflict("invalid_transition", "the user of this payment is not known any more", nil)
		}
		if s.user.kind == 0 {
			s.user = credentialClaims{kind: kindUser, slot: uint32(user), version: profile.CredentialVersion, expires: profile.ExpiresAt, kid: profile.KeyID}
		}
	}
	return j.loadParties(slot, version, expires)
}

// ReadPermit judges a permit that is to be redeemed, and returns the record of its payment. The record
// may be anybody's: whoever has the permit has its leave. pay is what the caller is about to let
// happen; nil: it does not say.
func (j *Judge) ReadPermit(raw string, pay *Paying) (l Leaf, until engine.Time, err error) {
	terms := j.shared.Now() // With the newest keys, whenever the call began.
	want := &permit.Want{Keys: terms.Signing.Permits, Issuer: permitIssuer(terms.Signing.genesis), Now: j.LogTime()}
	if pay != nil {
		want.Pay = pay.Statement
	}
	claims, err := permit.Verify(raw, want)
	if refused := (*permit.Error)(nil); errors.As(err, &refused) {
		return Leaf{}, 0, refusePermit(refused, pay != nil)
	}
	if err != nil {
		return Leaf{}, 0, err
	}
	index, ok := terms.IDs.ParseTxn(claims.TxnID)
	if !ok {
		return Leaf{}, 0, Refuse("permit_invalid", "the permit names no payment of this log")
	}
	l, err = j.LoadLeaf(index)
	if IsGone(err) || err == nil && l.Kind() != leaf.KindScreen {
		return Leaf{}, 0, Refuse("permit_invalid", "the permit names no payment of this log")
	}
	return l, claims.Expires, err
}

// refusePermit says why a permit is not redeemed.
func refusePermit(refused *permit.Error, compared bool) error {
	switch {
	case refused.Reason == permit.Expired:
		return Conflict("permit_expired", "the permit has ended: confirm the payment for another one", nil)
	case refused.Reason == permit.Payment && compared && refused.Param != "":
		mismatch := Refuse("permit_mismatch", refused.Said)
		mismatch.Param = "pay." + refused.Param
		return mismatch
	case refused.Reason == permit.Early:
		return &Refusal{Code: "permit_invalid", Message: refused.Said, Changeable: true}
	}
	return Refuse("permit_invalid", refused.Said)
}

// OpenJudgement opens the judgement in the leaf of a payment that was confirmed or redeemed. What the call
// had told is taken from the payment's own record.
func (j *Judge) OpenJudgement(l *Leaf) (*leafjson.Screen, error) {
	x := new(leafjson.Screen)
	err := x.OpenPaid(l.Data)
	if err == nil {
		err = readProfiles(j.ctx, j.shared, x)
	}
	if err != nil {
		return nil, fmt.Errorf("leaf %d: %w", l.Index, err)
	}
	record, err := j.LoadLeaf(x.Paid.Said.ScreenedLeaf)
	if err != nil {
		return nil, err
	}
	if record.Record == nil {
		return nil, fmt.Errorf("leaf %d: %w", l.Index, leaf.ErrForm)
	}
	x.Adopt(record.Record)
	return x, nil
}

// JudgementLeaf returns such a leaf as the screening record that its judgement is.
func JudgementLeaf(j *Judge, l *Leaf) (Leaf, error) {
	x, err := j.OpenJudgement(l)
	if err != nil {
		return Leaf{}, err
	}
	return j.parsed(&Leaf{Index: l.Index, Data: l.Data, Record: x})
}

// IsJudgement reports whether a leaf holds the judgement of a payment that was confirmed or redeemed.
func (l *Leaf) IsJudgement() bool {
	kind := l.Kind()
	return kind == leaf.KindPaymentConfirmed || kind == leaf.KindPaymentRedeemed
}
