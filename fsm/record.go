package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// This file writes screening records and the profiles that they refer to (fsm/leaf).

// describeCall fills in what is known of a call before it is booked. It is the last reader of
// the rows in the moment.
func (m *ledger) describeCall(s *wire.Screen, d *engine.Decision) {
	c := &m.written
	*c = leaf.Screen{
		Index: m.index, At: m.now, Verdict: d.Verdict, Rule: d.Rule, Sub: d.Sub, Triggered: d.Triggered, Shadow: d.Shadow, Idle: d.Idle,
		PolicyVersion: m.settings.Policy.Version, ListVersion: m.settings.ListVersion, Matcher: m.settings.Matcher,
		Rules: m.settings.Rules().Number, ListStale: m.moment.ListStale, ListOld: m.moment.ListOld, Edge: s.Fragment,
	}
	if m.settings.List != nil {
		c.ListDigest = m.settings.List.Digest
	}
	if d.Verdict != engine.Unknown {
		m.describeEvidence(c, s)
	}
	if d.Verdict == engine.Proceed && s.Permit != 0 {
		c.PermitSeconds, c.ListAge = s.Permit, max(m.now-m.settings.ListSynced, 0)
	}
}

// describeEvidence fills in what the live rules saw. With this and the profile the decision
// can be made again without the state.
func (m *ledger) describeEvidence(c *leaf.Screen, s *wire.Screen) {
	o := &m.moment
	c.Judged, c.Status, c.StaticMask, c.Amount = true, engine.EffectiveStatus(o), s.Mask, o.Amount
	c.LevelCount = uint8(o.LevelCount)
	day := o.Now.Day()
	for i := range o.LevelCount {
		row := o.Levels[i].Row
		c.Levels[i] = leaf.Level{
			Status: row.Status, MinVersion: row.MinVersion, OverlapUntil: row.OverlapUntil,
			OwnershipFrom: row.OwnershipFrom, AttestedAt: row.AttestedAt, Spent: row.Spend.SpentOn(day), Held: row.Spend.HeldOn(day),
			KeyRevoked: o.Levels[i].KeyRevoked,
		}
	}
	if o.Fleet != nil {
		c.InFleet, c.FleetSpent, c.FleetHeld = true, o.Fleet.Spend.SpentOn(day), o.Fleet.Spend.HeldOn(day)
	}
	if o.Owner != nil {
		c.InOperator, c.OperatorSpent, c.OperatorHeld = true, o.Owner.SpentOn(day), o.Owner.HeldOn(day)
	}
	c.OperatorSuspended = o.Operator != nil && o.Operator.Suspended
	if o.LevelCount > 0 && o.Version == o.Levels[0].Profile.CredentialVersion && o.Expires == o.Levels[0].Profile.ExpiresAt {
		c.SameToken = true
	} else {
		c.TokenVersion, c.TokenExpires = o.Version, o.Expires
	}
	if o.User != nil {
		c.WithUser = true
		c.UserSeen = leaf.UserSeen{
			Status: o.User.Status, MinVersion: o.User.MinVersion, OverlapUntil: o.User.OverlapUntil,
			Version: o.UserVersion, Expires: o.UserExpires,
		}
	}
	c.Minute, c.Hour, c.DayMeanX100, c.Structuring = o.Minute, o.PerHour, o.DayMeanX100, o.Structuring
	c.AgentNear, c.OperatorNear = o.AgentNear, o.OperatorNear
	if o.Root != nil {
		c.WithRoot, c.Root = true, *o.Root
	}
}

// placeRecord gives the record its leaf index, its number in the agent's sequence and its
// profiles, and returns its bytes.
func (m *ledger) placeRecord(s *wire.Screen) []byte {
	c := &m.written
	m.nameProfiles(s)
	if c.Judged {
		if s.Agent != 0 {
			link := m.registry.linkAgent(s.Agent)
			c.Sequence, c.Previous = link.AgentSequence, link.AgentPrevious
		}
	}
	c.Leaf, c.Salt = m.size, m.nextSalt()
	m.ids.putTxn(&c.Txn, m.size)
	if cap(m.recordBlock)-len(m.recordBlock) < recordRoom+len(c.Edge) {
		m.recordBlock = make([]byte, 0, max(recordsBlock, recordRoom+len(c.Edge)))
	}
	from := len(m.recordBlock)
	m.recordBlock = leaf.AppendScreen(m.recordBlock, c)
	return m.recordBlock[from:len(m.recordBlock):len(m.recordBlock)]
}

// nameProfiles gives the record its profiles.
func (m *ledger) nameProfiles(s *wire.Screen) {
	c := &m.written
	if c.Judged && s.Agent != 0 {
		c.Profile = m.profileOf(s.Agent)
	}
	if c.Judged && s.User != 0 {
		c.User = m.profileOfUser(s.User)
	}
}

const (
	// recordRoom is more than Apply's part of a screening record takes.
	recordRoom = 512
	// recordsBlock is the size of the blocks that hold about forty records each. A block is
	// freed with the last of them.
	recordsBlock = 24 << 10
)

// profileOf returns today's profile leaf of an agent's chain. It writes the leaf at the first
// record since midnight or since a change.
func (m *ledger) profileOf(slot engine.AgentSlot) leaf.Ref {
	var basis engine.Basis
	foldAgent(m.registry, &basis, slot)
	m.foldPolicy(&basis)
	day := m.now.Day()
	active := uint64(m.registry.agents.At(uint64(slot)).Activity) // 0: it was idle for a day, and what is written now is not kept for the next record.
	if active != 0 {
		if use := &m.activity.At(active).Judged; use.Day == day && use.Revs == basis.Revs {
			return leaf.Ref{Leaf: use.Leaf, Hash: use.Hash}
		}
	}
	p := m.newProfile()
	for at := slot; at != 0 && len(p.Agents) <= engine.DepthMax; {
		profile := *m.registry.profiles.At(uint64(at))
		p.Agents = append(p.Agents, leaf.ReduceAgent(profile, m.now))
		p.AgentIDs = append(p.AgentIDs, m.ids.AgentID(uint32(at)))
		at = profile.Parent
	}
	if fleet := m.registry.fleetOf(slot); fleet != 0 && m.registry.fleetProfiles.Has(uint64(fleet)) {
		p.Fleet = leaf.ReduceFleet(*m.registry.fleetProfiles.At(uint64(fleet)), m.now)
		p.FleetID = m.ids.FleetID(uint32(fleet))
	}
	operator := p.Agents[0].Operator
	p.OperatorID, p.Operator = m.ids.OperatorID(uint32(operator)), leaf.ReduceOperator(*m.registry.operatorProfiles.At(uint64(operator)))
	ref := m.writeProfile(p, engine.FilterKey(engine.FilterAgent, p.AgentIDs[0]), engine.FilterKey(engine.FilterOperator, p.OperatorID))
	if active != 0 {
		m.activity.Edit(active).Judged = engine.ProfileUse{Day: day, Revs: basis.Revs, Leaf: ref.Leaf, Hash: ref.Hash}
	}
	return ref
}

// profileOfUser is profileOf for a user credential.
func (m *ledger) profileOfUser(slot engine.UserSlot) leaf.Ref {
	var basis engine.Basis
	basis.Fold(engine.RevUser, uint32(slot), userRev(m.registry, slot))
	m.foldPolicy(&basis)
	day := m.now.Day()
	_, profile := m.registry.userAt(slot)
	if profile == nil {
		return leaf.Ref{} // Erased: the basis has revision 0, and R2 blocks the call.
	}
	if use := &m.registry.users.At(uint64(slot)).Judged; use.Day == day && use.Revs == basis.Revs {
		return leaf.Ref{Leaf: use.Leaf, Hash: use.Hash}
	}
	p := m.newProfile()
	p.User, p.UserID, p.OperatorID = leaf.ReduceUser(profile), m.ids.UserID(uint32(slot)), m.registry.operatorID(profile.Operator)
	ref := m.writeProfile(p, engine.FilterKey(engine.FilterAgent, p.UserID))
	m.registry.noteProfile(slot, engine.ProfileUse{Day: day, Revs: basis.Revs, Leaf: ref.Leaf, Hash: ref.Hash})
	return ref
}

func (m *ledger) foldPolicy(b *engine.Basis) {
	version := m.settings.Policy.Version
	b.Fold(engine.RevPolicy, uint32(version>>32), uint32(version))
}

func (m *ledger) newProfile() *leaf.Profile {
	return &leaf.Profile{
		Salt: m.nextSalt(), Leaf: m.size, Index: m.index, At: m.now, Policy: leaf.ReducePolicy(m.settings.Policy, m.now),
	}
}

// profileFilter is the filter key of profiles among the leaves.
var profileFilter = engine.FilterKey(engine.FilterKind, "profile")

func (m *ledger) writeProfile(p *leaf.Profile, keys ...uint64) leaf.Ref {
	p.Policy.Possession = p.Policy.Possession.For(p.OperatorID)
	at := m.size
	hash := m.appendLeaf(leaf.AppendProfile(nil, p), append(append(m.filters(len(keys)+1), profileFilter), keys...))
	return leaf.Ref{Leaf: at, Hash: hash}
}
