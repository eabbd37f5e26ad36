package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// applyScreen decides one screening call: fence and basis, live rules on rows,
// decision, spend, leaf. This is the hot path of the whole service: nothing is
// looked up by name here, nothing formatted but fixed text and integers.
func (m *Machine) applyScreen(body []byte, r *wire.Result) {
	s := &m.screen
	*s = wire.Screen{Subs: s.Subs[:0]}
	var hits engine.Hits
	if len(body) > m.limits.RecordBytes || wire.DecodeBody(body, s) != nil || !wire.UnpackHits(s, &hits) ||
		s.Amount < 0 || !m.fitsLeaf(s.Fragment, s.Filters) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if m.replay(s.Idem, r) {
		return
	}
	if stale(m, s) {
		r.Code = wire.Stale
		return
	}
	if hits.Has(1) {
		m.screenUnknown(s, &hits, r)
		return
	}
	if !partiesKnown(m, s, &hits) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	observe(&m.moment, m, s)
	live := engine.JudgeLive(&m.moment)
	hits.Merge(&live)
	decision := engine.Decide(&hits, m.settings.Policy)
	leaf := m.screenLeaf(s, &decision, r)
	if decision.Verdict == engine.Proceed {
		m.spend(s.Agent, s.Amount, m.fleetOf(s.Agent))
	}
	m.finishScreen(leaf, s, &decision, r)
}

// fleetOf returns the fleet of an agent's root, 0 for none.
func (m *Machine) fleetOf(slot engine.AgentSlot) engine.FleetSlot {
	root := (*m.profiles.At(uint64(slot))).Root
	return (*m.profiles.At(uint64(root))).Fleet
}

// countBand counts one call into R25's bounded table: when it is full the row
// that was begun first makes room.
func (m *Machine) countBand(key structuringKey) uint8 {
	at, known := m.structuringBy[key]
	if !known {
		if m.structuring.Len() >= m.limits.Structuring {
			delete(m.structuringBy, m.structuring.At(m.structuring.First()).Key)
			m.structuring.DropFront()
		}
		at = m.structuring.Append(structuringRow{Key: key})
		m.structuringBy[key] = at
	}
	return m.structuring.Edit(at).Band.Add(m.now, m.settings.Policy.StructuringWindow)
}

// spend books an amount on an agent, its ancestors and a fleet, on today's date.
func (m *Machine) spend(slot engine.AgentSlot, amount engine.USD, fleet engine.FleetSlot) {
	day := m.now.Day()
	for range engine.DepthMax + 1 {
		if slot == 0 {
			break
		}
		m.agents.Edit(uint64(slot)).Spend.Add(day, amount)
		slot = (*m.profiles.At(uint64(slot))).Parent
	}
	if fleet != 0 && m.fleets.Has(uint64(fleet)) {
		m.fleets.Edit(uint64(fleet)).Spend.Add(day, amount)
	}
}

// screenUnknown writes the record of a call without a usable credential.
func (m *Machine) screenUnknown(s *wire.Screen, hits *engine.Hits, r *wire.Result) {
	decision := engine.Decide(hits, m.settings.Policy)
	m.moment = engine.Moment{Now: m.now, ListStale: listStale(m.settings, m.now)}
	m.finishScreen(m.screenLeaf(s, &decision, r), s, &decision, r)
}

func (m *Machine) finishScreen(leaf []byte, s *wire.Screen, d *engine.Decision, r *wire.Result) {
	filters := append(m.filters(len(s.Filters)+3), s.Filters...)
	filters = append(filters, screenFilter, verdictFilters[d.Verdict])
	if d.Rule != 0 {
		filters = append(filters, ruleFilters[d.Rule])
	}
	if len(s.Fragment) > 0 {
		leaf = append(append(leaf, ','), s.Fragment...)
	}
	m.close(leaf, filters, r)
	m.remember(s.Idem, r.Leaf)
	if d.Verdict == engine.Review && m.openReviews < m.limits.OpenReviews {
		m.reviews.Append(ReviewRow{Leaf: r.Leaf, At: m.now, Amount: s.Amount, Agent: s.Agent, Rule: d.Rule})
		m.openReviews++
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
	ruleFilters = func() (keys [engine.RuleCount + 1]uint64) {
		for i := range engine.Rules {
			rule := &engine.Rules[i]
			keys[rule.ID] = engine.FilterKey(engine.FilterRule, rule.Code)
		}
		return keys
	}()
)

// screenLeaf writes the head of a screening record and its evidence.
func (m *Machine) screenLeaf(s *wire.Screen, d *engine.Decision, _ *wire.Result) []byte {
	dst := make([]byte, 0, 1024+len(s.Fragment))
	dst = append(dst, `{"kind":"screen","txnId":"`...)
	dst = m.ids.AppendTxnID(dst, m.size)
	dst = append(dst, `","verdict":"`...)
	dst = append(dst, d.Verdict.String()...)
	if d.Rule == 0 {
		dst = append(dst, `","rule":null`...)
	} else {
		dst = append(dst, `","rule":"`...)
		dst = append(dst, d.Code()...)
		dst = append(dst, '"')
	}
	dst = plain(dst, "reason", d.Reason())
	dst = instant(dst, "screenedAt", m.now)
	dst = m.place(dst)
	if s.Agent != 0 && d.Verdict != engine.Unknown {
		dst = plain(dst, "credentialStatus", engine.EffectiveStatus(&m.moment).String())
	}
	dst = rules(dst, "triggered", d.Triggered)
	dst = rules(dst, "shadow", d.Shadow)
	if m.moment.ListStale {
		dst = truth(dst, "ofacStale", true)
	}
	dst = number(dst, "policyVersion", int64(m.settings.Policy.Version))
	dst = number(dst, "listVersion", int64(m.settings.ListVersion))
	dst = plain(dst, "ruleSet", engine.RuleSet)
	if d.Verdict != engine.Unknown {
		dst = m.evidence(dst, s)
	}
	return dst
}

// evidence writes what the live rules saw, in integers: micro-dollars, nanoseconds
// of log time, counts. With it the decision can be replayed without the state.
func (m *Machine) evidence(dst []byte, s *wire.Screen) []byte {
	o := &m.moment
	dst = append(name(dst, "evidence"), `{"now":`...)
	dst = appendInt(dst, int64(o.Now))
	dst = number(dst, "amount", int64(o.Amount))
	dst = number(dst, "staticMask", int64(s.Mask))
	dst = append(name(dst, "levels"), '[')
	day := o.Now.Day()
	for i := range o.LevelCount {
		level := &o.Levels[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"agentId":"`...)
		dst = m.ids.AppendAgentID(dst, uint32(level.Profile.Slot))
		dst = append(dst, '"')
		dst = number(dst, "rev", int64(level.Profile.Rev))
		dst = number(dst, "status", int64(level.Row.Status))
		dst = number(dst, "version", int64(level.Profile.CredentialVersion))
		dst = number(dst, "minVersion", int64(level.Row.MinVersion))
		dst = number(dst, "overlapUntil", int64(level.Row.OverlapUntil))
		dst = number(dst, "expires", int64(level.Profile.ExpiresAt))
		dst = number(dst, "ownershipFrom", int64(level.Row.OwnershipFrom))
		dst = number(dst, "attestedAt", int64(level.Row.AttestedAt))
		dst = number(dst, "limit", int64(level.Profile.Policy.DailyLimit))
		dst = number(dst, "spent", int64(level.Row.Spend.On(day)))
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if o.Fleet != nil {
		dst = append(name(dst, "fleet"), `{"limit":`...)
		dst = appendInt(dst, int64(o.FleetLimit))
		dst = number(dst, "spent", int64(o.Fleet.Spend.On(day)))
		dst = append(dst, '}')
	}
	dst = truth(dst, "operatorSuspended", o.Operator != nil && o.Operator.Suspended)
	dst = number(dst, "tokenVersion", int64(o.Version))
	dst = number(dst, "tokenExpires", int64(o.Expires))
	if o.User != nil {
		dst = append(name(dst, "user"), `{"status":`...)
		dst = appendInt(dst, int64(o.User.Status))
		dst = number(dst, "version", int64(o.UserCurrent))
		dst = number(dst, "minVersion", int64(o.User.MinVersion))
		dst = number(dst, "overlapUntil", int64(o.User.OverlapUntil))
		dst = number(dst, "tokenVersion", int64(o.UserVersion))
		dst = number(dst, "tokenExpires", int64(o.UserExpires))
		dst = append(dst, '}')
	}
	dst = number(dst, "minute", int64(o.Minute))
	dst = number(dst, "hour", int64(o.PerHour))
	dst = number(dst, "dayMeanX100", int64(o.DayMeanX100))
	dst = number(dst, "structuring", int64(o.Structuring))
	return append(dst, '}')
}
