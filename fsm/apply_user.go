package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

func (m *Machine) applyUser(b *wire.User, r *wire.Result) {
	if m.settled(&b.Common, r) {
		return
	}
	profile := b.Profile
	if len(profile.Agents) > m.limits.UserAgents {
		refuse(r, wire.RefusedMalformed)
		return
	}
	var revs engine.Basis
	for _, slot := range profile.Agents {
		foldAgent(m, &revs, slot)
	}
	if b.Basis.List != m.settings.ListVersion || b.Basis.Revs != revs.Revs {
		r.Code = wire.Stale
		return
	}
	for _, slot := range profile.Agents {
		if !m.agents.Has(uint64(slot)) {
			refuse(r, wire.RefusedNotFound)
			return
		}
	}
	signing := m.settings.ActiveKey(m.now)
	if m.usersFull() || m.statusesFull() || signing == nil {
		refuse(r, wire.RefusedFull)
		return
	}
	profile.Slot, profile.Rev, profile.CredentialVersion = engine.UserSlot(m.users.Next()), 1, 1
	profile.Line = profile.Line.Issued(1, m.epoch())
	m.dateUser(&profile, signing)
	m.enterUserStatus(&profile, 0)
	m.enterUser(&profile)
	m.out.Users = append(m.out.Users, &profile)
	m.writeUser("user.registered", &profile, &b.Common, r)
}

func (m *Machine) dateUser(profile *engine.UserProfile, signing *wire.SigningKey) {
	profile.KeyID, profile.IssuedAt = signing.KID, m.now
	profile.ExpiresAt = (m.now + m.limits.UserValidity) / engine.Second * engine.Second
	profile.StoredUntil = m.now + m.limits.UserStored
}

func (m *Machine) writeUser(kind string, p *engine.UserProfile, common *wire.Common, r *wire.Result) {
	id := m.ids.UserID(uint32(p.Slot))
	head := plain(m.head(kind), "userId", id)
	head = plain(head, "credentialId", m.ids.CredentialID(CredentialUser, uint32(p.Slot), p.Line.EpochOf(p.CredentialVersion), p.CredentialVersion))
	head = number(head, "credentialVersion", int64(p.CredentialVersion))
	head = instant(head, "issuedAt", p.IssuedAt)
	head = instant(head, "expiresAt", p.ExpiresAt)
	head = instant(head, "storedUntil", p.StoredUntil)
	head = plain(head, "kid", p.KeyID)
	head = m.appendStatus(head, p.Status)
	head = truth(head, "nameMatched", p.NameMatched)
	m.write(head, common, kind, r, engine.FilterKey(engine.FilterAgent, id))
}

// userHeld returns a user's profile while its record is stored (31 days), nil after.
func (m *Machine) userHeld(slot engine.UserSlot) *engine.UserProfile {
	if !m.users.Has(uint64(slot)) {
		return nil
	}
	profile := *m.userProfiles.At(uint64(slot))
	if profile == nil || m.now >= profile.StoredUntil {
		return nil
	}
	return profile
}

func (m *Machine) applyUserReissue(b *wire.UserReissue, r *wire.Result) {
	if m.settled(&b.Common, r) {
		return
	}
	old := m.userHeld(b.User)
	signing := m.settings.ActiveKey(m.now)
	switch {
	case old == nil:
		refuse(r, wire.RefusedNotFound)
		return
	case m.users.At(uint64(b.User)).Status == engine.Revoked || old.CredentialVersion == 1<<16-1:
		r.State = engine.Revoked
		refuse(r, wire.RefusedTransition)
		return
	case m.users.At(uint64(b.User)).Status == engine.Suspended && m.users.At(uint64(b.User)).Institutions && !m.institutions(&b.Common):
		r.State = engine.Suspended
		refuse(r, wire.RefusedScope)
		return
	case old.Rev != b.BaseRev:
		r.Code = wire.Stale
		return
	case signing == nil || m.statusesFull():
		refuse(r, wire.RefusedFull)
		return
	}
	profile := *old
	profile.Rev, profile.CredentialVersion, profile.NameMatched = old.Rev+1, old.CredentialVersion+1, b.NameMatched
	profile.Line = old.Line.Issued(profile.CredentialVersion, m.epoch())
	m.dateUser(&profile, signing)
	row := m.users.Edit(uint64(b.User))
	m.touchStatuses(old.Status, row.MinVersion)
	m.enterUserStatus(&profile, old.Status)
	row.Status, row.Institutions, row.StatusReason, row.StatusAt = engine.Active, false, 0, m.now
	row.MinVersion, row.OverlapUntil = m.overlap(row.MinVersion, profile.CredentialVersion, row.OverlapUntil, b.Overlap)
	*m.userProfiles.Edit(uint64(b.User)) = &profile
	m.out.Users = append(m.out.Users, &profile)
	m.writeUser("user.reissued", &profile, &b.Common, r)
}
