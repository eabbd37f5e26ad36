package fsm

import (
	"slices"
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

func (m *registry) applyRegister(b *wire.Register, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	profile := b.Profile
	var revs engine.Basis
	foldAgent(m, &revs, profile.Parent)
	if b.Basis.List != m.settings.ListVersion || b.Basis.Revs != revs.Revs {
		goStale(r, 0)
		return
	}
	if !m.soundAgent(&profile) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	signing := m.settings.ActiveKey(m.now)
	switch {
	case m.agents.Next() > userSlots || m.statusesFull() || signing == nil:
		refuse(r, wire.RefusedFull)
		return
	case m.refuseShare(wire.TableAgents, Owner(m.operatorMeant(&b.Operator)), agentPart(&profile, nil), r),
		m.refuseShare(wire.TableStatuses, Owner(m.operatorMeant(&b.Operator)), oneRow, r):
		return
	case profile.Parent != 0 && !m.adoptDelegate(&profile, r):
		return
	}
	if profile.Fleet != 0 && !m.mayJoin(profile.Fleet, &b.Operator, profile.Parent, r) {
		return
	}
	if !m.walletFits(m.operatorMeant(&b.Operator), profile.OperatorWallet) {
		refuse(r, wire.RefusedFull)
		return
	}
	if profile.Operator = m.enterOperator(&b.Operator, r); profile.Operator == 0 {
		return
	}
	m.enrolAgent(&profile, b, signing)
	kind := "agent.registered"
	if profile.Parent != 0 {
		kind = "delegate.created"
	}
	credential := m.credentialOf(&profile)
	m.writeEvent(kind, credential, &b.Common, r, engine.FilterKey(engine.FilterAgent, credential.AgentID), m.operatorFilter(profile.Operator))
}

// adoptDelegate checks a delegate's parent and copies what the delegate inherits.
func (m *registry) adoptDelegate(profile *engine.AgentProfile, r *wire.Result) bool {
	if !m.hasAgent(profile.Parent) {
		refuse(r, wire.RefusedNotFound)
		return false
	}
	parent := *m.profiles.At(uint64(profile.Parent))
	if status := effectiveStatus(m, profile.Parent); status != engine.Active {
		r.State = status
		refuse(r, wire.RefusedParent)
		return false
	}
	if parent.Depth >= m.limits.Depth {
		refuse(r, wire.RefusedDepth)
		return false
	}
	if m.agents.At(uint64(profile.Parent)).Children >= m.limits.Children {
		refuse(r, wire.RefusedFull)
		return false
	}
	profile.Depth, profile.Root, profile.Fleet = parent.Depth+1, parent.Root, 0
	return true
}

// mayJoin checks that a new root agent may join a fleet.
func (m *registry) mayJoin(fleet engine.FleetSlot, operator *wire.OperatorRef, parent engine.AgentSlot, r *wire.Result) bool {
	switch {
	case parent != 0 || !m.hasFleet(fleet):
		refuse(r, wire.RefusedNotFound)
	case m.operatorMeant(operator) != (*m.fleetProfiles.At(uint64(fleet))).Operator:
		refuse(r, wire.RefusedOperator)
	case int(m.fleets.At(uint64(fleet)).Agents) >= m.limits.FleetAgents:
		refuse(r, wire.RefusedFull)
	default:
		return true
	}
	return false
}

// enrolAgent gives a checked profile its slot and times and enters it into the tables.
func (m *registry) enrolAgent(profile *engine.AgentProfile, b *wire.Register, signing *wire.SigningKey) {
	profile.Slot, profile.Rev = engine.AgentSlot(m.agents.Next()), 1
	if profile.Parent == 0 {
		profile.Root, profile.Depth = profile.Slot, 0
	}
	profile.CredentialVersion, profile.KeyID = 1, signing.KID
	profile.Epochs = profile.Epochs.WithIssued(1, m.epochNumber())
	profile.OwnershipTransfer = engine.OwnershipTransfer{}
	institutions := m.isInstitutions(&b.Common)
	profile.PolicyInstitutions, profile.FleetInstitutions = institutions && len(profile.PolicyJSON) > 0, institutions && profile.Fleet != 0
	profile.IssuedAt, profile.RegisteredAt = m.now, m.now
	profile.ExpiresAt = m.expiryOf(profile.Parent, b.ExpiresAt)
	m.enterAgentStatus(profile, 0)
	row := engine.AgentRow{MinVersion: 1, StatusAt: m.now}
	if m.settings.Policy.IssuanceAttests && profile.Type == engine.Autonomous {
		row.AttestedAt = m.now
	}
	m.agents.Append(row)
	m.shared.shareProfile(profile)
	m.profiles.Append(profile)
	m.attestations.Append(nil)
	m.take(wire.TableAgents, agentOwner(profile), agentPart(profile, nil))
	m.operators.Edit(uint64(profile.Operator)).Agents++
	m.noteWallet(profile, 1)
	m.noteTax(profile.Operator, false, profile.TaxMatched)
	if profile.Parent != 0 {
		m.agents.Edit(uint64(profile.Parent)).Children++
	}
	if profile.Fleet != 0 {
		m.fleets.Edit(uint64(profile.Fleet)).Agents++
	}
	m.out.Agents = append(m.out.Agents, profile)
	m.remindOfAgent(profile)
	m.remindOfAttestation(profile.Slot)
}

// expiryOf returns when a credential that is issued now expires: after 91 days, with the
// parent's, or at the time asked for, whichever is first. It is in whole seconds, as in the
// credential.
func (m *registry) expiryOf(parent engine.AgentSlot, asked engine.Time) engine.Time {
	at := m.now + m.limits.AgentValidity
	if parent != 0 {
		at = min(at, (*m.profiles.At(uint64(parent))).ExpiresAt)
	}
	if asked != 0 {
		at = min(at, asked)
	}
	return at / engine.Second * engine.Second
}

// credentialOf is an agent's credential as the leaf that is written next shows it.
func (m *registry) credentialOf(p *engine.AgentProfile) leaf.Credential {
	c := leaf.Credential{
		AgentID: m.ids.AgentID(uint32(p.Slot)), Link: m.linkAgent(p.Slot),
		CredentialID: m.ids.CredentialID(CredentialAgent, uint32(p.Slot), p.Epochs.EpochOf(p.CredentialVersion), p.CredentialVersion),
		Version:      p.CredentialVersion, IssuedAt: p.IssuedAt, ExpiresAt: p.ExpiresAt, KID: p.KeyID, StatusPlace: m.placeOfStatus(p.Status),
		OperatorID: m.ids.OperatorID(uint32(p.Operator)), WalletMatched: p.WalletMatched, NameMatched: p.NameMatched, TaxMatched: p.TaxMatched,
	}
	if p.Parent != 0 {
		c.ParentAgentID, c.RootAgentID, c.Depth = m.ids.AgentID(uint32(p.Parent)), m.ids.AgentID(uint32(p.Root)), p.Depth
		for slot := p.Parent; slot != 0 && len(c.Chain) < engine.DepthMax; slot = (*m.profiles.At(uint64(slot))).Parent {
			c.Chain = append(c.Chain, m.ids.AgentID(uint32(slot)))
		}
		slices.Reverse(c.Chain)
	}
	if p.Fleet != 0 {
		c.FleetID = m.ids.FleetID(uint32(p.Fleet))
	}
	return c
}

// placeOfStatus returns where the status at a position is published.
func (m *registry) placeOfStatus(position uint32) leaf.StatusPlace {
	list, index := m.ids.StatusEntry(position)
	return leaf.StatusPlace{StatusList: list, StatusIndex: uint64(index)}
}

func (m *registry) applyReissue(b *wire.Reissue, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasAgent(b.Agent) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	old := *m.profiles.At(uint64(b.Agent))
	row := m.agents.At(uint64(b.Agent))
	signing := m.settings.ActiveKey(m.now)
	switch {
	case row.Status == engine.Revoked || old.CredentialVersion == 1<<16-1:
		r.State = engine.Revoked
		refuse(r, wire.RefusedTransition)
		return
	case row.Status == engine.Suspended && row.Institutions && !m.isInstitutions(&b.Common):
		r.State = engine.Suspended
		refuse(r, wire.RefusedScope)
		return
	case row.OwnershipFrom != 0 && !m.endsTransfer(&b.Operator, old) && !m.isOfficers(&b.Common):
		refuse(r, wire.RefusedTransfer)
		return
	case old.Rev != b.BaseRev || b.List != m.settings.ListVersion:
		goStale(r, 0)
		return
	case signing == nil || m.statusesFull():
		refuse(r, wire.RefusedFull)
		return
	case old.Parent != 0 && effectiveStatus(m, old.Parent) != engine.Active:
		r.State = effectiveStatus(m, old.Parent)
		refuse(r, wire.RefusedParent)
		return
	}
	profile := b.Profile
	if !m.soundAgent(&profile) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if m.refuseProfile(b.Agent, old, &profile, m.operatorMeant(&b.Operator), r) || m.refuseShare(wire.TableStatuses, Owner(m.operatorMeant(&b.Operator)), oneRow, r) {
		return
	}
	if !m.keepIdentity(&profile, old, &b.Operator, r) {
		return
	}
	profile.PolicyInstitutions = old.PolicyInstitutions || profile.Policy != old.Policy && m.isInstitutions(&b.Common)
	previous := effectiveStatus(m, b.Agent)
	profile.CredentialVersion, profile.KeyID = old.CredentialVersion+1, signing.KID
	profile.Epochs = old.Epochs.WithIssued(profile.CredentialVersion, m.epochNumber())
	profile.IssuedAt, profile.ExpiresAt = m.now, m.expiryOf(old.Parent, 0)
	m.agentStatusMoved(b.Agent, old.Status, row.MinVersion)
	m.enterAgentStatus(&profile, old.Status)
	superseded := m.renewCredential(b, &profile)
	m.replaceWallet(old, &profile)
	m.noteTax(profile.Operator, old.TaxMatched && old.Operator == profile.Operator, profile.TaxMatched)
	event := leaf.Reissued{Credential: m.credentialOf(&profile), Previous: previous.String(), Superseded: superseded}
	if !superseded {
		event.OverlapUntil = m.agents.At(uint64(b.Agent)).OverlapUntil
	}
	m.writeEvent("agent.reissued", event, &b.Common, r, engine.FilterKey(engine.FilterAgent, event.AgentID), m.operatorFilter(profile.Operator))
}

// keepIdentity carries over what a re-issue cannot change, and counts the agent for its new
// operator.
func (m *registry) keepIdentity(profile, old *engine.AgentProfile, operator *wire.OperatorRef, r *wire.Result) bool {
	profile.Slot, profile.Rev = old.Slot, old.Rev+1
	profile.Parent, profile.Root, profile.Depth = old.Parent, old.Root, old.Depth
	profile.RegisteredAt, profile.Fleet, profile.FleetInstitutions = old.RegisteredAt, old.Fleet, old.FleetInstitutions
	if !m.walletFits(m.operatorMeant(operator), profile.OperatorWallet) {
		refuse(r, wire.RefusedFull)
		return false
	}
	if profile.Operator = m.enterOperator(operator, r); profile.Operator == 0 {
		return false
	}
	if profile.Operator != old.Operator {
		m.operators.Edit(uint64(old.Operator)).Agents--
		m.operators.Edit(uint64(profile.Operator)).Agents++
		if profile.Fleet != 0 { // The fleet belongs to the old operator.
			m.fleets.Edit(uint64(profile.Fleet)).Agents--
			profile.Fleet, profile.FleetInstitutions = 0, false
		}
	}
	return true
}

// renewCredential enters the new version. A plain renewal keeps older tokens valid for the
// overlap. Any other re-issue, or one while an ownership transfer is flagged, supersedes them
// at once.
func (m *registry) renewCredential(b *wire.Reissue, profile *engine.AgentProfile) (superseded bool) {
	row := m.agents.Edit(uint64(b.Agent))
	superseded = !b.Plain || row.OwnershipFrom != 0 || b.Overlap <= 0
	overlap := b.Overlap
	if superseded {
		overlap = 0
	}
	row.MinVersion, row.OverlapUntil = m.overlapVersions(row.MinVersion, profile.CredentialVersion, row.OverlapUntil, overlap)
	if row.OwnershipFrom != 0 {
		row.OwnershipFrom, row.OwnershipAt, row.AttestedAt = 0, 0, 0
	}
	profile.OwnershipTransfer = engine.OwnershipTransfer{}
	row.Status, row.Institutions, row.StatusReason, row.StatusAt = engine.Active, false, 0, m.now
	before := (*m.profiles.At(uint64(b.Agent))).ExpiresAt
	m.replaceProfile(profile)
	if before <= m.now || profile.ExpiresAt < before {
		m.remindOfAgent(profile) // Otherwise the reminder for the previous version still fits this one.
	}
	return superseded
}

// overlapVersions returns the lowest valid version and the end of the overlap, once version
// is issued with an overlap (0: none). A version whose own overlap has ended stays
// superseded; the overlap of a later renewal does not bring it back.
func (m *registry) overlapVersions(least, version uint16, until, overlap engine.Time) (uint16, engine.Time) {
	if overlap <= 0 {
		return version, 0
	}
	if m.now >= until {
		least = version - 1
	}
	return least, m.now + min(overlap, m.limits.Overlap)
}

// refuseProfile refuses to give an agent a profile with which its operator would have more than
// its share. It returns true if r holds the refusal.
func (m *registry) refuseProfile(slot engine.AgentSlot, old, profile *engine.AgentProfile, operator engine.OperatorSlot, r *wire.Result) bool {
	attested := *m.attestations.At(uint64(slot))
	more := agentPart(profile, attested)
	if Owner(operator) == agentOwner(old) {
		more = more.minus(agentPart(old, attested))
	}
	return m.refuseShare(wire.TableAgents, Owner(operator), more, r)
}

// replaceProfile publishes an agent's new profile.
func (m *registry) replaceProfile(profile *engine.AgentProfile) {
	m.shared.shareProfile(profile)
	old, attested := *m.profiles.At(uint64(profile.Slot)), *m.attestations.At(uint64(profile.Slot))
	m.giveBack(wire.TableAgents, agentOwner(old), agentPart(old, attested))
	m.take(wire.TableAgents, agentOwner(profile), agentPart(profile, attested))
	*m.profiles.Edit(uint64(profile.Slot)) = profile
	m.out.Agents = append(m.out.Agents, profile)
}

func (m *registry) applySettings(b *wire.Settings, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasAgent(b.Agent) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	old := *m.profiles.At(uint64(b.Agent))
	if old.Rev != b.BaseRev {
		r.Value = uint64(old.Rev)
		refuse(r, wire.RefusedVersion)
		return
	}
	if !eventOf(b.Event, "agent.", leaf.AgentChanged{}) || !m.soundSettings(&b.Settings) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	profile := *old
	profile.Rev++
	profile.Settings = b.Settings
	if m.refuseProfile(b.Agent, old, &profile, old.Operator, r) {
		return
	}
	m.replaceProfile(&profile)
	event := leaf.AgentChanged{AgentID: m.ids.AgentID(uint32(b.Agent)), Link: m.linkAgent(b.Agent), Rev: uint64(profile.Rev)}
	m.writeNamed(b.Event, event, &b.Common, r, engine.FilterKey(engine.FilterAgent, event.AgentID))
}

// eventOf tells whether an edge's leaf kind may be used for this struct: it must be a subject
// ("agent."), then lower-case letters, dots and underscores.
func eventOf(event, subject string, of any) bool {
	if !strings.HasPrefix(event, subject) || !leaf.MayBe(event, of) {
		return false
	}
	for i := 0; i < len(event); i++ {
		if c := event[i]; (c < 'a' || c > 'z') && c != '.' && c != '_' {
			return false
		}
	}
	return len(event) > len(subject) && len(event) <= 40
}

func (m *registry) applyAttest(b *wire.Attest, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.hasAgent(b.Agent) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	profile := *m.profiles.At(uint64(b.Agent))
	if profile.Type != engine.Autonomous {
		refuse(r, wire.RefusedNotAutonomous)
		return
	}
	if status := effectiveStatus(m, b.Agent); status == engine.Revoked || status == engine.Expired {
		r.State = status
		refuse(r, wire.RefusedInactive)
		return
	}
	kept := []engine.Attestation{{AttestedBy: b.AttestedBy, Note: b.Note, At: m.now, Leaf: m.size}}
	if old := *m.attestations.At(uint64(b.Agent)); old != nil {
		for _, a := range *old {
			if len(kept) < m.limits.Attestations && m.now < a.At+m.limits.AttestationStored {
				kept = append(kept, a)
			}
		}
	}
	if m.refuseShare(wire.TableAgents, agentOwner(profile), agentPart(profile, &kept).minus(agentPart(profile, *m.attestations.At(uint64(b.Agent)))), r) {
		return
	}
	m.replaceAttestations(b.Agent, &kept)
	row := m.agents.Edit(uint64(b.Agent))
	before := row.AttestedAt
	row.AttestedAt = m.now
	if before == 0 || before+m.limits.AttestationValidity <= m.now {
		m.remindOfAttestation(b.Agent) // Otherwise the reminder for the previous attestation still fits this one.
	}
	id := m.ids.AgentID(uint32(b.Agent))
	m.writeEvent("attestation.recorded", leaf.Attested{
		AgentID: id, Link: m.linkAgent(b.Agent), AttestationID: m.ids.EventID(m.size, 0), AttestedAt: m.now,
		ValidUntil: m.now + m.limits.AttestationValidity, RecordExpiresAt: m.now + m.limits.AttestationStored,
	}, &b.Common, r, engine.FilterKey(engine.FilterAgent, id))
}

func (m *registry) replaceAttestations(slot engine.AgentSlot, kept *[]engine.Attestation) {
	profile, place := *m.profiles.At(uint64(slot)), m.attestations.Edit(uint64(slot))
	m.giveBack(wire.TableAgents, agentOwner(profile), agentPart(profile, *place))
	*place = kept
	m.take(wire.TableAgents, agentOwner(profile), agentPart(profile, kept))
}
