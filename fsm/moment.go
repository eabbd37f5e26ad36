package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// parties is what a screening call is judged against: the registry while Apply runs, or a
// View of it. The pointers point into tables and are for reading only. The same functions
// read both, so a dry run sees what Apply would see.
type parties interface {
	logTime() engine.Time
	inForce() *Settings
	agentAt(engine.AgentSlot) (*engine.AgentRow, *engine.AgentProfile) // nil: no such agent.
	operatorAt(engine.OperatorSlot) (*engine.OperatorRow, *engine.OperatorProfile)
	fleetAt(engine.FleetSlot) (*engine.FleetRow, *engine.FleetProfile) // nil: no such fleet.
	userAt(engine.UserSlot) (*engine.UserRow, *engine.UserProfile)     // nil: no such user; no profile: erased.
}

// counter fills in what a call counts: the pace of the agent and of its root, and R25's counts,
// this call included. The ledger books all; a View books nothing, and looks up no pair of R25.
type counter interface {
	countCall(o *engine.Moment, root *engine.AgentProfile, s *wire.Screen)
}

// isStale tells whether the record's basis differs from the state's, or is no longer valid.
func isStale(from parties, s *wire.Screen) bool {
	settings := from.inForce()
	if s.Basis.List != settings.ListVersion || s.Basis.Policy != settings.Policy.Version || s.Basis.Matcher != settings.Matcher ||
		s.Basis.Rules != settings.Rules().Number || s.Basis.Cleared != 0 && s.Basis.Cleared != settings.ClearedVersion() {
		return true
	}
	if s.ValidUntil != 0 && from.logTime() >= s.ValidUntil {
		return true
	}
	var own engine.Basis
	foldAgent(from, &own, s.Agent)
	if s.User != 0 {
		own.Fold(engine.RevUser, uint32(s.User), userRev(from, s.User))
	}
	return own.Revs != s.Basis.Revs
}

// foldAgent folds the revisions of an agent, its ancestors, its root's fleet and its operator,
// in that order; an unknown agent counts with revision 0. Slot 0 folds nothing.
func foldAgent(from parties, b *engine.Basis, slot engine.AgentSlot) {
	var fleet engine.FleetSlot
	var operator engine.OperatorSlot
	for range engine.DepthMax + 1 {
		if slot == 0 {
			break
		}
		_, profile := from.agentAt(slot)
		if profile == nil {
			b.Fold(engine.RevAgent, uint32(slot), 0)
			break
		}
		b.Fold(engine.RevAgent, uint32(slot), profile.Rev)
		slot, fleet = profile.Parent, profile.Fleet
		if operator == 0 {
			operator = profile.Operator
		}
	}
	if fleet != 0 {
		if _, profile := from.fleetAt(fleet); profile != nil {
			b.Fold(engine.RevFleet, uint32(fleet), profile.Rev)
		}
	}
	if operator != 0 {
		_, profile := from.operatorAt(operator)
		b.Fold(engine.RevOperator, uint32(operator), profile.Rev)
	}
}

func userRev(from parties, slot engine.UserSlot) uint32 {
	if _, profile := from.userAt(slot); profile != nil {
		return profile.Rev
	}
	return 0
}

// standsAlone tells whether a call has a user credential and no agent, which never passes
// R23.
func standsAlone(s *wire.Screen, hits *engine.Hits) bool {
	return s.Agent == 0 && s.User != 0 && hits.Has(engine.RuleCredentialContext)
}

// partiesKnown tells whether the agent and the user of a record exist.
func partiesKnown(from parties, s *wire.Screen, hits *engine.Hits) bool {
	if row, _ := from.agentAt(s.Agent); row == nil && !standsAlone(s, hits) {
		return false
	}
	row, _ := from.userAt(s.User)
	return s.User == 0 || row != nil
}

// observeCall fills a moment with what the live rules may see of a call whose agent and user
// exist. A token of a revoked signing key has version 0, which never passes R2.
func observeCall(o *engine.Moment, from parties, by counter, s *wire.Screen) {
	settings, now := from.inForce(), from.logTime()
	*o = engine.Moment{
		Now: now, Amount: s.Amount, Policy: settings.Policy,
		Version: s.Version, Expires: s.Expires, KeyRevoked: s.Version == 0, ListStale: listStale(settings, now), ListOld: listOld(settings, now),
	}
	if s.User != 0 {
		row, profile := from.userAt(s.User)
		o.User, o.UserVersion, o.UserExpires = row, s.UserVersion, s.UserExpires
		if profile != nil {
			o.UserCurrent = profile.CredentialVersion
		}
	}
	if s.Agent == 0 {
		return
	}
	climbChain(o, from, s.Agent)
	row, operator := from.operatorAt(o.Levels[0].Profile.Operator)
	o.Owner, o.OwnerLimit = &row.Spend, operator.DailyLimit
	root := o.Levels[o.LevelCount-1].Profile
	if root.Fleet != 0 {
		row, fleet := from.fleetAt(root.Fleet)
		o.Fleet, o.FleetLimit = row, fleet.DailyLimit
		o.FleetHours, o.FleetPace = fleet.Hours, fleet.Velocity
	}
	by.countCall(o, root, s)
}

// climbChain fills in the delegation chain of an agent, own level first, and the operator
// that R2 looks at: the first suspended one in the chain, otherwise the root's. Operators
// differ within a chain if a parent was re-issued to another operator.
func climbChain(o *engine.Moment, from parties, slot engine.AgentSlot) {
	for slot != 0 && o.LevelCount < len(o.Levels) {
		row, profile := from.agentAt(slot)
		above := o.LevelCount > 0
		o.Levels[o.LevelCount] = engine.Level{Row: row, Profile: profile, KeyRevoked: above && from.inForce().KeyRevoked(profile.KeyID)}
		o.LevelCount++
		slot = profile.Parent
	}
	for i := range o.LevelCount {
		if o.Operator, _ = from.operatorAt(o.Levels[i].Profile.Operator); o.Operator.Suspended {
			break
		}
	}
}

// effectiveStatus returns the status of an agent's current credential, as R2 would see it.
func effectiveStatus(from parties, slot engine.AgentSlot) engine.Status {
	o := engine.Moment{Now: from.logTime()}
	climbChain(&o, from, slot)
	own := o.Levels[0].Profile
	o.Version, o.Expires, o.KeyRevoked = own.CredentialVersion, own.ExpiresAt, from.inForce().KeyRevoked(own.KeyID)
	return engine.EffectiveStatus(&o)
}

func listStale(settings *Settings, now engine.Time) bool {
	age := settings.Policy.ListAgeMax
	return age > 0 && now-age > settings.ListSynced
}

// listOld tells whether nobody has fetched, imported or confirmed a list for so long that payments
// are reviewed (ofac.reviewAge).
func listOld(settings *Settings, now engine.Time) bool {
	age := settings.Policy.ListReviewAge
	return age > 0 && now-age > settings.ListSynced
}

// These methods make the core and the registry parties.

func (m *core) logTime() engine.Time { return m.now }

func (m *core) inForce() *Settings { return m.settings }

func (m *registry) agentAt(slot engine.AgentSlot) (*engine.AgentRow, *engine.AgentProfile) {
	if !m.hasAgent(slot) {
		return nil, nil
	}
	return m.agents.At(uint64(slot)), *m.profiles.At(uint64(slot))
}

func (m *registry) operatorAt(slot engine.OperatorSlot) (*engine.OperatorRow, *engine.OperatorProfile) {
	return m.operators.At(uint64(slot)), *m.operatorProfiles.At(uint64(slot))
}

func (m *registry) fleetAt(slot engine.FleetSlot) (*engine.FleetRow, *engine.FleetProfile) {
	if !m.hasFleet(slot) {
		return nil, nil
	}
	return m.fleets.At(uint64(slot)), *m.fleetProfiles.At(uint64(slot))
}

func (m *registry) userAt(slot engine.UserSlot) (*engine.UserRow, *engine.UserProfile) {
	return userRowAt(m.users.First(), m.users.Next(), slot, m.heldUser)
}

func (m *registry) heldUser(slot uint64) (*engine.UserRow, *engine.UserProfile) {
	return m.users.At(slot), *m.userProfiles.At(slot)
}

func (m *ledger) countCall(o *engine.Moment, root *engine.AgentProfile, s *wire.Screen) {
	pace, policy := m.countPace(s.Agent, o.Now), m.settings.Policy
	o.Minute, o.PerHour, o.DayMeanX100 = pace.Minute, pace.PerHour, pace.DayMeanX100
	if root.Slot != s.Agent {
		m.rootPace = m.countPace(root.Slot, o.Now)
		o.Root = &m.rootPace
	}
	if !policy.NearLimit(s.Amount) {
		return
	}
	if s.Party != (engine.PartyKey{}) && policy.InBand(s.Amount) {
		o.Structuring = m.countBand(structuringKey{Root: root.Slot, Party: s.Party})
	}
	o.AgentNear = m.activityOf(root.Slot).Near.Add(o.Now, policy, s.Amount)
	o.OperatorNear = m.registry.countNear(root.Operator, o.Now, policy, s.Amount)
}

// glance is a View as parties and counter, at the reader's time if that is later.
type glance struct {
	*View
	at engine.Time
}

func (g *glance) logTime() engine.Time { return max(g.at, g.Time) }

func (g *glance) inForce() *Settings { return g.settings }

func (g *glance) agentAt(slot engine.AgentSlot) (*engine.AgentRow, *engine.AgentProfile) {
	if !g.hasAgent(slot) {
		return nil, nil
	}
	return g.agents.At(uint64(slot)), *g.profiles.At(uint64(slot))
}

func (g *glance) operatorAt(slot engine.OperatorSlot) (*engine.OperatorRow, *engine.OperatorProfile) {
	return g.operators.At(uint64(slot)), *g.operatorProfiles.At(uint64(slot))
}

func (g *glance) fleetAt(slot engine.FleetSlot) (*engine.FleetRow, *engine.FleetProfile) {
	if !g.hasFleet(slot) {
		return nil, nil
	}
	return g.fleets.At(uint64(slot)), *g.fleetProfiles.At(uint64(slot))
}

func (g *glance) userAt(slot engine.UserSlot) (*engine.UserRow, *engine.UserProfile) {
	return userRowAt(g.users.First(), g.users.Next(), slot, g.heldUser)
}

func (v *View) heldUser(slot uint64) (*engine.UserRow, *engine.UserProfile) {
	return v.users.At(slot), *v.userProfiles.At(slot)
}

func (g *glance) countCall(o *engine.Moment, root *engine.AgentProfile, s *wire.Screen) {
	pace, policy := g.paceWith(s.Agent, o.Now), g.settings.Policy
	o.Minute, o.PerHour, o.DayMeanX100 = pace.Minute, pace.PerHour, pace.DayMeanX100
	if root.Slot != s.Agent {
		pace = g.paceWith(root.Slot, o.Now)
		o.Root = &pace
	}
	if policy.NearLimit(s.Amount) {
		agent, operator := g.activityRowOf(root.Slot).Near, g.operators.At(uint64(root.Operator)).Near
		o.AgentNear, o.OperatorNear = agent.Add(o.Now, policy, s.Amount), operator.Add(o.Now, policy, s.Amount)
	}
}

// paceWith returns an agent's pace with one more call.
func (g *glance) paceWith(slot engine.AgentSlot, now engine.Time) engine.Pace {
	row, from := g.velocityOf(slot), g.agents.At(uint64(slot)).CountedFrom
	if from == 0 {
		from = engine.UnixSecond(now)
	}
	return row.Add(now, from)
}

// Moment returns what the live rules would see of a call at the later of now and the view's
// time. This is what Apply would see if the record came next, except for R25, whose counts a
// view does not look up. ok is false if Apply would not judge the record: its basis differs
// from the view's, or a party is unknown.
func (v *View) Moment(now engine.Time, s *wire.Screen, hits *engine.Hits) (o *engine.Moment, ok bool) {
	from := &glance{v, now}
	if isStale(from, s) || !partiesKnown(from, s, hits) {
		return nil, false
	}
	o = new(engine.Moment)
	observeCall(o, from, from, s)
	return o, true
}

// Effective returns the status of an agent's current credential as R2 would see it at the
// view's time: the worst of its own, its signing key's, its ancestors' and its operator's.
// For an unknown agent it returns REVOKED.
func (v *View) Effective(slot engine.AgentSlot) engine.Status {
	if !v.hasAgent(slot) {
		return engine.Revoked
	}
	return effectiveStatus(&glance{v, v.Time}, slot)
}
