package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyScreen decides one screening call: it checks the basis, runs the live rules on rows,
// decides, books the amount and writes the leaf. This is the hot path of the whole service:
// it looks nothing up by name and formats only fixed text and integers.
func (m *ledger) applyScreen(body []byte, r *wire.Result) {
	s := &m.screen
	var hits engine.Hits
	rules := m.settings.Rules()
	if len(body) > m.limits.RecordBytes || wire.DecodeScreen(body, s) != nil || !wire.UnpackHits(s, &hits) ||
		s.Basis.Rules == rules.Number && !rules.HasAll(hits.Mask) || s.Amount < 0 || !m.soundUsed(s.Used) || !m.soundHold(s.Hold) || !m.soundPermit(s.Permit) || !soundCauses(s.Causes) || !m.fitsLeaf(s.Fragment, s.Filters) || !leaf.SoundFragment(s.Fragment) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if m.keyMoved(s.Key) {
		r.Code = wire.KeyMoved
		return
	}
	if m.replayCall(s.Idem, r) {
		return
	}
	if isStale(m.registry, s) {
		r.Code = wire.Stale
		return
	}
	if hits.Has(engine.RuleNoCredential) {
		m.screenUnknown(s, &hits, r)
		return
	}
	if !partiesKnown(m.registry, s, &hits) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	owner := m.ownerAt(s.Key.Row)
	usedBy, used, stale := m.useOf(s.Reference, s.Used)
	if stale {
		goStale(r, m.usedFrom)
		return
	}
	if m.refuseHold(s, owner, r) {
		return
	}
	observeCall(&m.moment, m.registry, m, s)
	m.moment.Duplicate = used
	live := rules.JudgeLive(&m.moment)
	hits.Merge(&live)
	decision := rules.Decide(&hits, m.settings.Policy)
	if decision.Verdict == engine.Review && m.refuseShare(wire.TableReviews, owner, oneRow, r) {
		return // Nobody answers REVIEW to what no officer will see. The attempt counts in the agent's pace.
	}
	listed := decision.Verdict != engine.Proceed && m.operatorListed(&hits)
	if listed && !m.officers.listedRoom(s.Agent) {
		m.refuseTable(wire.TableSanctions, r)
		return
	}
	if decision.OpensCase() && !m.officers.casesRoom(s) {
		m.refuseTable(wire.TableCases, r)
		return
	}
	m.describeCall(s, &decision) // Before the booking, because the record shows what was spent before it.
	m.written.Used, m.written.UsedBy = used, usedBy
	if decision.Verdict != engine.Proceed {
		m.finishScreen(s, &hits, &decision, r)
		if listed {
			m.officers.alertOperator(s.Agent)
		}
		if decision.OpensCase() {
			m.officers.enterCases(s, r.Leaf, r.Leaf, m.moment.Now)
		}
		return
	}
	m.bookScreen(s, &hits, &decision, r)
}

// bookScreen books a payment that proceeds, or holds it, and writes its record.
func (m *ledger) bookScreen(s *wire.Screen, hits *engine.Hits, d *engine.Decision, r *wire.Result) {
	by := m.registry.payerOf(s.Agent)
	held := engine.Time(m.holdOf(s)) * engine.Second
	if held == 0 {
		m.registry.bookSpend(by, s.Amount)
	} else {
		m.written.HoldUntil = m.now + held
	}
	m.finishScreen(s, hits, d, r)
	reference := s.Reference
	if m.written.Used {
		reference = engine.ReferenceKey{} // It is another payment's, whatever the policy says of that.
	} else if reference != (engine.ReferenceKey{}) {
		m.takeReference(referenceRow{Key: reference, Leaf: r.Leaf, Told: r.Leaf})
	}
	if held != 0 {
		m.openHold(holdRow{
			Leaf: r.Leaf, ExpiresAt: m.now + held, Amount: s.Amount, Reference: reference,
			Agent: s.Agent, Fleet: by.fleet, Operator: by.operator, Screener: s.Key.Row, Counts: s.Counts,
		})
	}
}

// screenUnknown writes the record of a call without a usable credential.
func (m *ledger) screenUnknown(s *wire.Screen, hits *engine.Hits, r *wire.Result) {
	decision := m.judgeNobody(hits)
	m.describeCall(s, &decision)
	m.finishScreen(s, hits, &decision, r)
}

// judgeNobody decides a call without a usable credential.
func (m *ledger) judgeNobody(hits *engine.Hits) engine.Decision {
	m.moment = engine.Moment{Now: m.now, ListStale: listStale(m.settings, m.now)}
	return m.settings.Rules().Decide(hits, m.settings.Policy)
}

func (m *ledger) finishScreen(s *wire.Screen, hits *engine.Hits, d *engine.Decision, r *wire.Result) {
	data := m.placeRecord(s) // It may write profiles first, so the record's leaf index is known only after it.
	filters := appendKeyed(append(m.filters(len(s.Filters)+5), s.Filters...), s.Idem)
	if d.OpensCase() {
		filters = m.officers.caseFilters(filters, s)
	}
	filters = append(filters, screenFilter, verdictFilters[d.Verdict])
	if d.Verdict == engine.Proceed && !m.written.Used && s.Reference != (engine.ReferenceKey{}) {
		filters = append(filters, engine.ReferenceFilter(s.Reference))
	}
	if d.Verdict == engine.Review && s.Counts {
		filters = append(filters, engine.ReferenceFilter(engine.ReviewKey(s.Agent, s.Party, s.Amount)))
	}
	if d.Rule != 0 {
		filters = append(filters, ruleFilters[d.Rule])
	}
	m.endRecord(data, filters, r)
	m.rememberCall(s.Idem, r.Leaf)
	if d.Verdict == engine.Review {
		gravest, gravity := m.inForce().Rules().Gravest(hits, d.Triggered)
		m.officers.enterReview(ReviewRow{
			Leaf: r.Leaf, At: m.now, Amount: s.Amount, Agent: s.Agent, Rule: d.Rule, Rules: d.Triggered, Gravest: gravest, Gravity: gravity,
			Party: s.Party, Owner: m.ownerAt(s.Key.Row),
		})
	}
}

// Filter keys of fixed texts, made once.
var (
	screenFilter   = engine.FilterKey(engine.FilterKind, "screen")
	verdictFilters = func() (keys [4]uint64) {
		for v := range keys {
			keys[v] = engine.FilterKey(engine.FilterVerdict, engine.Verdict(v).String())
		}
		return keys
	}()
	ruleFilters = func() (keys [engine.RuleBits]uint64) {
		for i := range engine.Rules {
			rule := &engine.Rules[i]
			keys[rule.ID] = engine.FilterKey(engine.FilterRule, rule.Code)
		}
		return keys
	}()
)
