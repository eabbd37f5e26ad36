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
	if len(body) > engine.PolicyRecordMax || wire.DecodeBody(body, s) != nil || !wire.UnpackHits(s, &hits) ||
		s.Amount < 0 || !fitsLeaf(s.Fragment, s.Filters) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if m.replay(s.Idem, r) {
		return
	}
	if m.stale(s) {
		r.Code = wire.Stale
		return
	}
	if hits.Has(1) {
		m.screenUnknown(s, &hits, r)
		return
	}
	alone := s.Agent == 0 && s.User != 0 && hits.Has(24) // A user credential without an agent never passes R24.
	if !m.agents.Has(uint64(s.Agent)) && !alone || s.User != 0 && !m.users.Has(uint64(s.User)) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.observe(s)
	live := engine.JudgeLive(&m.moment)
	hits.Merge(&live)
	decision := engine.Decide(&hits, m.settings.Policy)
	leaf := m.screenLeaf(s, &decision, r)
	if decision.Verdict == engine.Proceed {
		m.spend(s.Agent, s.Amount, m.fleetOf(s.Agent))
	}
	m.finishScreen(leaf, s, &decision, r)
}

// stale compares the record's basis with the state's own.
func (m *Machine) stale(s *wire.Screen) bool {
	if s.Basis.List != m.settings.ListVersion || s.Basis.Policy != m.settings.Policy.Version {
		return true
	}
	if s.ValidUntil != 0 && m.now >= s.ValidUntil {
		return true
	}
	var own engine.Basis
	m.foldAgent(&own, s.Agent)
	if s.User != 0 {
		own.Fold(engine.RevUser, uint32(s.User), m.userRev(s.User))
	}
	return own.Revs != s.Basis.Revs
}

// foldAgent folds the revisions of an agent, its ancestors and its root's fleet,
// in that order; an unknown agent counts with revision 0. Slot 0 folds nothing.
func (m *Machine) foldAgent(b *engine.Basis, slot engine.AgentSlot) {
	var fleet engine.FleetSlot
	for range engine.DepthMax + 1 {
		if slot == 0 {
			break
		}
		if !m.profiles.Has(uint64(slot)) {
			b.Fold(engine.RevAgent, uint32(slot), 0)
			return
		}
		profile := *m.profiles.At(uint64(slot))
		b.Fold(engine.RevAgent, uint32(slot), profile.Rev)
		slot, fleet = profile.Parent, profile.Fleet
	}
	if fleet != 0 && m.fleetProfiles.Has(uint64(fleet)) {
		b.Fold(engine.RevFleet, uint32(fleet), (*m.fleetProfiles.At(uint64(fleet))).Rev)
	}
}

func (m *Machine) userRev(slot engine.UserSlot) uint32 {
	if !m.userProfiles.Has(uint64(slot)) || *m.userProfiles.At(uint64(slot)) == nil {
		return 0
	}
	return (*m.userProfiles.At(uint64(slot))).Rev
}

// fleetOf returns the fleet of an agent's root, 0 for none.
func (m *Machine) fleetOf(slot engine.AgentSlot) engine.FleetSlot {
	root := (*m.profiles.At(uint64(slot))).Root
	return (*m.profiles.At(uint64(root))).Fleet
}

// observe fills the moment with what the live rules may see. Version 0 is a token
// of a signing key that was revoked: it names no version that could pass R2.
func (m *Machine) observe(s *wire.Screen) {
	o := &m.moment
	*o = engine.Moment{
		Now: m.now, Amount: s.Amount, Policy: m.settings.Policy,
		Version: s.Version, Expires: s.Expires, KeyRevoked: s.Version == 0, ListStale: m.listStale(),
	}
	m.observeUser(s)
	if s.Agent != 0 {
		m.observeAgent(s)
	}
}

func (m *Machine) observeUser(s *wire.Screen) {
	if s.User == 0 {
		return
	}
	o := &m.moment
	o.User, o.UserVersion, o.UserExpires = m.users.At(uint64(s.User)), s.UserVersion, s.UserExpires
	if profile := *m.userProfiles.At(uint64(s.User)); profile != nil {
		o.UserCurrent = profile.CredentialVersion
	}
}

// observeAgent fills in the delegation chain, its operator and fleet, and counts
// the call.
func (m *Machine) observeAgent(s *wire.Screen) {
	o := &m.moment
	slot := s.Agent
	for slot != 0 && o.LevelCount < len(o.Levels) {
		profile := *m.profiles.At(uint64(slot))
		o.Levels[o.LevelCount] = engine.Level{Row: m.agents.At(uint64(slot)), Profile: profile}
		o.LevelCount++
		slot = profile.Parent
	}
	root := o.Levels[o.LevelCount-1].Profile
	o.Operator = m.operatorOf(o)
	if root.Fleet != 0 {
		fleet := *m.fleetProfiles.At(uint64(root.Fleet))
		o.Fleet, o.FleetLimit = m.fleets.At(uint64(root.Fleet)), fleet.DailyLimit
		o.FleetHours, o.FleetPace = fleet.Hours, fleet.Velocity
	}
	pace := m.velocity.Edit(uint64(s.Agent)).Add(m.now)
	o.Minute, o.PerHour, o.DayMeanX100 = pace.Minute, pace.PerHour, pace.DayMeanX100
	if s.Party != (engine.PartyKey{}) && m.settings.Policy.InBand(s.Amount) {
		o.Structuring = m.countBand(structuringKey{Root: root.Slot, Party: s.Party})
	}
}

// operatorOf returns the operator that R2 looks at: the first suspended one of
// the chain, else the root's. They differ when a parent was re-issued to another.
func (m *Machine) operatorOf(o *engine.Moment) (row *engine.OperatorRow) {
	for i := range o.LevelCount {
		if row = m.operators.At(uint64(o.Levels[i].Profile.Operator)); row.Suspended {
			break
		}
	}
	return row
}

func (m *Machine) listStale() bool {
	age := m.settings.Policy.ListAgeMax
	return age > 0 && m.now-age > m.settings.ListSynced
}

// countBand counts one call into R25's bounded table: when it is full the row
// that was begun first makes room.
func (m *Machine) countBand(key structuringKey) uint8 {
	at, known := m.structuringBy[key]
	if !known {
		if m.structuring.Len() >= engine.StructuringMax {
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
	m.moment = engine.Moment{Now: m.now, ListStale: m.listStale()}
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
	if d.Verdict == engine.Review && m.openReviews < engine.OpenReviewsMax {
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
