package fsm

import (
	"encoding/base64"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Confirm and redeem (decision 136): a recorded payment is judged again before it is made, by the
// list, the policy and the state of now, and one that is redeemed is consumed at one log index. The
// payment counts already, so nothing is counted again. While it waits to be made it is a hold: one
// that was allowed without a hold gets one when it is first confirmed.

// applyPay confirms or redeems a payment.
func (m *ledger) applyPay(b *wire.Pay, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	s := &m.screen
	var hits engine.Hits
	if !m.soundPay(b, s, &hits) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.expireOver(b.Leaf)
	past, ended, stale := m.pastOf(b.Leaf, b.Past)
	if stale {
		goStale(r, m.endedFrom)
		return
	}
	if refusal := m.refusePay(b, &past, ended, r); refusal != 0 {
		refuse(r, refusal)
		return
	}
	if isStale(m.registry, s) {
		r.Code = wire.Stale
		return
	}
	if !hits.Has(engine.RuleNoCredential) && !partiesKnown(m.registry, s, &hits) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	decision, leftOut := m.judgeAgain(b, s, &hits)
	if m.refusePayRoom(b, s, &hits, &decision, r) {
		return
	}
	m.describeCall(s, &decision)
	returns := decision.Verdict == engine.Block && m.cannotBePaid(b)
	m.watchPayment(b)
	m.writePay(b, s, &decision, leftOut, returns, r)
	if returns {
		m.withdrawLeave(b)
	}
	if decision.Verdict == engine.Block {
		if m.operatorListed(&hits) {
			m.officers.alertOperator(s.Agent)
		}
		if decision.OpensCase() {
			m.officers.enterCases(s, b.Leaf, r.Leaf, r.Time)
		}
	}
}

// soundPay reads the judgement of a Pay, and tells whether an edge can have written it.
func (m *ledger) soundPay(b *wire.Pay, s *wire.Screen, hits *engine.Hits) bool {
	return m.hasLeaf(b.Leaf) && b.Amount >= 0 && b.Verdict <= engine.Unknown && b.Op != 0 && b.Op <= wire.PayConfirm|wire.PayRedeem &&
		m.fitsBytes(2*len(b.Now), 0) && // In base64 it is a third longer, and Apply adds to it.
		wire.DecodeScreen(b.Now, s) == nil && wire.UnpackHits(s, hits) &&
		soundHits(s, hits.Mask|b.Seen) && s.Amount == b.Amount && (s.Agent == b.Agent || hits.Has(engine.RuleNoCredential)) && m.soundPayer(b) && s.Idem == nil && s.Hold == 0 &&
		m.soundPermit(s.Permit) && soundCauses(s.Causes) && leaf.SoundFragment(s.Fragment) && m.soundPast(b.Leaf, b.Past)
}

// soundHits tells whether the rule set of a judgement has some rules. A rule set that is not in
// force makes the judgement stale.
func soundHits(s *wire.Screen, mask uint32) bool {
	rules := engine.RuleSetNumbered(s.Basis.Rules)
	return rules == nil || rules.HasAll(mask)
}

// soundPayer tells whether those exist whom the record of a payment names.
func (m *ledger) soundPayer(b *wire.Pay) bool {
	return (b.Agent == 0 || m.registry.agents.Has(uint64(b.Agent))) && (b.Operator == 0 || m.registry.operators.Has(uint64(b.Operator)))
}

// soundConfirms tells whether a payment can have been confirmed so often.
func (m *ledger) soundConfirms(times uint8) bool { return times <= m.limits.ConfirmsMost }

// refusePay returns why a payment can be neither confirmed nor redeemed; 0: it can.
func (m *ledger) refusePay(b *wire.Pay, past *outcomeRow, ended bool, r *wire.Result) wire.Refusal {
	if ended {
		r.Value = past.told()
		if past.State == HoldSettled || past.Late != 0 {
			return wire.RefusedUsed
		}
		return wire.RefusedEnded
	}
	if refusal := m.refuseLeave(b, r.Time); refusal != 0 {
		return refusal
	}
	at, open := m.holdAt[b.Leaf]
	if !open {
		return 0
	}
	switch row := m.holds.At(at); {
	case row.Redeemed != 0:
		r.Value = row.Redeemed - 1
		return wire.RefusedUsed
	case row.Unresolved != 0:
		return wire.RefusedLapsed
	case b.Op&wire.PayConfirm != 0 && !m.soundConfirms(row.Confirms+1):
		return wire.RefusedConfirms
	}
	return 0
}

// refuseLeave returns why nobody gave the payment leave, or why that leave has ended; 0: it has leave.
// Whether nobody has decided a review, or whether it was escalated, is answered alike.
func (m *ledger) refuseLeave(b *wire.Pay, now engine.Time) wire.Refusal {
	if b.Until != 0 && now >= b.Until {
		return wire.RefusedPermitOver
	}
	_, open := m.holdAt[b.Leaf]
	switch b.Verdict {
	case engine.Proceed:
		if !open && now.Day() > b.ScreenedAt.Day()+1 {
			return wire.RefusedLapsed
		}
		return 0
	case engine.Review:
		switch decided := m.officers.decisionOn(b.Leaf); {
		case !decided.made || decided.escalated:
			return wire.RefusedWaiting
		case !decided.approved:
			return wire.RefusedRejected
		case now >= decided.payBy:
			return wire.RefusedLapsed
		}
		return 0
	}
	return wire.RefusedNoLeave
}

// countedOn returns the date on which a payment that has leave counts.
func (m *ledger) countedOn(b *wire.Pay) engine.Day {
	if at, open := m.holdAt[b.Leaf]; open {
		return m.holds.At(at).Day
	}
	if b.Verdict == engine.Review {
		return m.officers.decisionOn(b.Leaf).day
	}
	return b.ScreenedAt.Day()
}

// judgeAgain judges a payment that counts already. leftOut are the rules without effect.
func (m *ledger) judgeAgain(b *wire.Pay, s *wire.Screen, hits *engine.Hits) (decision engine.Decision, leftOut uint32) {
	if hits.Has(engine.RuleNoCredential) {
		return m.judgeNobody(hits), 0
	}
	rules := engine.RuleSetNumbered(s.Basis.Rules) // It is in force, or the judgement would be stale.
	observeCall(&m.moment, m.registry, noCounter{}, s)
	m.moment.Counted = true
	live := rules.JudgeLive(&m.moment)
	hits.Merge(&live)
	leftOut = rules.LeftOutAgain(b.Seen, m.countedOn(b) != m.moment.Now.Day(), b.Op == wire.PayRedeem)
	hits.Leave(leftOut)
	decision = rules.Decide(hits, m.moment.Policy)
	decision.LeaveOut(leftOut)
	return decision, leftOut
}

// noCounter counts nothing: the payment was counted when it was screened.
type noCounter struct{}

func (noCounter) countCall(*engine.Moment, *engine.AgentProfile, *wire.Screen) {}

// refusePayRoom refuses what has no room: the hold of a payment that has none, or the case that a
// BLOCK opens.
func (m *ledger) refusePayRoom(b *wire.Pay, s *wire.Screen, hits *engine.Hits, d *engine.Decision, r *wire.Result) bool {
	_, open := m.holdAt[b.Leaf]
	switch {
	case !open && m.refuseShare(wire.TableHolds, m.ownerAt(b.Screener), oneRow, r):
		return true
	case d.Verdict != engine.Block:
		return false
	case m.operatorListed(hits) && !m.officers.listedRoom(s.Agent):
		m.refuseTable(wire.TableSanctions, r)
		return true
	case d.OpensCase() && !m.officers.casesRoom(s):
		m.refuseTable(wire.TableCases, r)
		return true
	}
	return false
}

// watchPayment makes a payment that was allowed without a hold a held one: what it counts on its day
// as spent it counts there as held.
func (m *ledger) watchPayment(b *wire.Pay) {
	if _, open := m.holdAt[b.Leaf]; open {
		return
	}
	row := holdRow{
		Leaf: b.Leaf, ExpiresAt: (b.ScreenedAt.Day() + 2).Start(), Amount: b.Amount, Agent: b.Agent, Fleet: b.Fleet, Operator: b.Operator,
		Day: m.countedOn(b), Screener: b.Screener, Spent: true,
	}
	if b.Verdict == engine.Review {
		row.Approved, row.ExpiresAt = true, m.officers.decisionOn(b.Leaf).payBy
	}
	if by, used, _ := m.referenceUsed(b.Reference); used && by == b.Leaf {
		row.Reference = b.Reference
	}
	m.registry.changeBooks(row.payer(), func(s *engine.Spend) {
		if s.Day == row.Day { // A counter of another day has forgotten it.
			s.Return(row.Day, row.Amount)
			s.Hold(row.Day, row.Amount)
		}
	})
	m.holdHeap.add(row)
	m.countHold(&row)
}

// writePay writes the leaf of a judgement, and notes in the payment's hold what it says.
func (m *ledger) writePay(b *wire.Pay, s *wire.Screen, d *engine.Decision, leftOut uint32, returns bool, r *wire.Result) {
	c, state := &m.written, HoldOpen
	at, open := m.holdAt[b.Leaf]
	if returns {
		state = HoldReleased
	}
	if d.Verdict == engine.Proceed {
		c.HoldUntil = m.holds.At(at).ExpiresAt
		if b.Op&wire.PayRedeem != 0 {
			state = HoldRedeemed
		}
	}
	m.nameProfiles(s) // It may write profiles first, so that the leaf of the judgement is known only after it.
	c.Leaf = m.size
	m.ids.putTxn(&c.Txn, b.Leaf)
	event := leaf.Confirmed{
		Payment: m.paymentOf(b.Leaf, b.Agent, state, b.Amount), Verdict: d.Verdict.String(), Rule: d.Code(),
		ListVersion: c.ListVersion, PolicyVersion: c.PolicyVersion, Until: c.HoldUntil, Approved: b.Verdict == engine.Review, LeftOut: leftOut,
		Judged: base64.StdEncoding.EncodeToString(leaf.AppendScreen(nil, c)),
	}
	kind := leaf.KindPaymentConfirmed
	if b.Op == wire.PayRedeem {
		kind = leaf.KindPaymentRedeemed
	}
	if open {
		row := m.holds.Edit(at)
		row.Newest = m.size
		if b.Op&wire.PayConfirm != 0 && d.Verdict != engine.Unknown {
			row.Confirms++
		}
		row.Given = row.Given || d.Verdict == engine.Proceed
		if state == HoldRedeemed {
			row.Redeemed = m.size + 1
		}
		m.out.Outcomes = append(m.out.Outcomes, LeafLink{Leaf: b.Leaf, Later: m.size})
	}
	filters := append(m.filters(len(b.Filters)+8), engine.FilterKey(engine.FilterTxn, event.TxnID), engine.EndingFilter(b.Leaf))
	if event.AgentID != "" {
		filters = append(filters, engine.FilterKey(engine.FilterAgent, event.AgentID))
	}
	if d.OpensCase() {
		filters = m.officers.caseFilters(filters, s)
	}
	m.writeEvent(kind, event, &b.Common, r, filters...)
}

// cannotBePaid tells whether a payment that is a BLOCK now cannot have been made: nobody had leave to
// make it, as of an approval that was never confirmed, or none can be made that was not redeemed. Any
// other one goes on counting until a settler says what became of it, because whoever spends does not
// say what was spent.
func (m *ledger) cannotBePaid(b *wire.Pay) bool {
	at, open := m.holdAt[b.Leaf]
	given := b.Verdict == engine.Proceed || open && m.holds.At(at).Given
	return open && (!given || m.policy().PermitNeed == engine.PermitOfAll) && !m.holds.At(at).Counts
}

// withdrawLeave gives back the hold of a payment that is a BLOCK now, and never had leave.
func (m *ledger) withdrawLeave(b *wire.Pay) {
	row, freed := m.endHold(m.holdAt[b.Leaf], HoldReleased)
	event := m.paymentOf(b.Leaf, b.Agent, HoldReleased, row.Amount)
	filters := append(m.filters(len(freed)+4), freed...)
	filters = append(filters, engine.FilterKey(engine.FilterKind, leaf.KindHoldReleased), engine.FilterKey(engine.FilterTxn, event.TxnID), engine.EndingFilter(b.Leaf))
	if event.AgentID != "" {
		filters = append(filters, engine.FilterKey(engine.FilterAgent, event.AgentID))
	}
	m.appendLeaf(append(leaf.AppendEvent(m.head(leaf.KindHoldReleased), leaf.KindHoldReleased, event), '}'), filters)
}
