package fsm

import (
	"math"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// A user's slot is given out once. Its rows are kept for 31 days after the last issuance and
// then erased. A page without rows frees its memory, and the tables begin at the first stored
// user. A read of an erased user returns the same row whether its page still exists or not.

// erasedUser is the row of any erased user. It must not be changed.
var erasedUser = engine.UserRow{Purged: true}

// isUser tells whether a row is a user's, and not an erased one; isUserProfile tells it of a
// profile.
func isUser(row *engine.UserRow) bool { return *row != engine.UserRow{} }

func isUserProfile(profile **engine.UserProfile) bool { return *profile != nil }

// userSlots is the highest slot that can be given out.
const userSlots = math.MaxUint32

func (m *registry) enterUser(profile *engine.UserProfile) {
	m.users.Append(engine.UserRow{MinVersion: 1, StatusAt: m.now})
	m.userProfiles.Append(profile)
	m.usersHeld++
	m.take(wire.TableUsers, Owner(profile.Operator), userPart(profile))
}

// sweepUsers erases users whose 31 days are over. Each tick looks at a bounded number of
// users and goes on where the last one stopped.
func (m *registry) sweepUsers() {
	for range min(m.limits.ForgottenAtOneTime, m.users.Len()) {
		if m.userSweep >= m.users.Next() {
			m.userSweep = m.users.First()
		}
		slot := m.userProfiles.skipGaps(m.userSweep)
		if m.userSweep = slot; slot == m.users.Next() {
			continue
		}
		m.userSweep++
		profile := *m.userProfiles.At(slot)
		if profile == nil || m.now < profile.StoredUntil {
			continue
		}
		m.writeErased(profile)
		m.eraseUser(slot)
		m.out.UsersGone = append(m.out.UsersGone, engine.UserSlot(slot))
	}
}

// writeErased writes the leaf of a user's erasure. From now on R2 blocks the user's
// credential, and only a new user record helps.
func (m *registry) writeErased(p *engine.UserProfile) {
	id := m.ids.UserID(uint32(p.Slot))
	m.writeDueEvent(leaf.DueUserErased, leaf.UserErased{
		UserID: id, OperatorID: m.operatorID(p.Operator), OperatorLegalName: p.OperatorLegalName, StoredUntil: p.StoredUntil,
	}, m.filtersOf(id, p.Operator)...)
}

func (m *registry) eraseUser(slot uint64) {
	profile := *m.userProfiles.At(slot)
	m.giveBack(wire.TableUsers, Owner(profile.Operator), userPart(profile))
	*m.users.Edit(slot), *m.userProfiles.Edit(slot) = engine.UserRow{}, nil
	m.users.Release(slot, func(row *engine.UserRow) bool { return !isUser(row) })
	m.userProfiles.Release(slot, func(profile **engine.UserProfile) bool { return !isUserProfile(profile) })
	m.usersHeld--
	if slot > m.users.First() {
		return
	}
	for slot < m.users.Next() && *m.userProfiles.At(slot) == nil {
		slot = m.userProfiles.skipGaps(slot + 1)
	}
	m.users.dropTo(slot)
	m.userProfiles.dropTo(slot)
	m.userSweep = max(m.userSweep, slot)
}

// userRowAt returns a user's row and profile: a nil row for a slot that was never given out,
// a nil profile for an erased user.
func userRowAt(first, next uint64, slot engine.UserSlot, held func(uint64) (*engine.UserRow, *engine.UserProfile)) (*engine.UserRow, *engine.UserProfile) {
	if slot == 0 || uint64(slot) >= next {
		return nil, nil
	}
	if uint64(slot) >= first {
		if row, profile := held(uint64(slot)); profile != nil {
			return row, profile
		}
	}
	return &erasedUser, nil
}

// placeAt makes a position the next one of a table that Restore fills. Positions between
// the last row and it hold no row.
func placeAt[R any, P pageOf[R]](t *Table[R, P], position uint64) {
	if t.Len() == 0 { // Its old pages hold rows that were dropped.
		t.root, t.owned, t.first, t.next = nil, false, position, position
		return
	}
	t.skipTo(position)
}

func (m *registry) applyUser(b *wire.User, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
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
		goStale(r, 0)
		return
	}
	for _, slot := range profile.Agents {
		if !m.hasAgent(slot) {
			refuse(r, wire.RefusedNotFound)
			return
		}
	}
	signing := m.settings.ActiveKey(m.now)
	if m.users.Next() > userSlots || m.statusesFull() || signing == nil {
		refuse(r, wire.RefusedFull)
		return
	}
	owner := Owner(m.operatorMeant(&b.Operator))
	if m.refuseShare(wire.TableUsers, owner, userPart(&profile), r) || m.refuseShare(wire.TableStatuses, owner, oneRow, r) {
		return
	}
	if profile.Operator = 0; b.Operator != (wire.OperatorRef{}) {
		if profile.Operator = m.enterOperator(&b.Operator, r); profile.Operator == 0 {
			return
		}
	}
	profile.Slot, profile.Rev, profile.CredentialVersion = engine.UserSlot(m.users.Next()), 1, 1
	profile.Epochs = profile.Epochs.WithIssued(1, m.epochNumber())
	m.dateUser(&profile, signing)
	m.enterUserStatus(&profile, 0)
	m.enterUser(&profile)
	m.out.Users = append(m.out.Users, &profile)
	m.writeUser("user.registered", &profile, &b.Common, r)
}

func (m *registry) dateUser(profile *engine.UserProfile, signing *wire.SigningKey) {
	profile.KeyID, profile.IssuedAt = signing.KID, m.now
	profile.ExpiresAt = (m.now + m.limits.UserValidity) / engine.Second * engine.Second
	profile.StoredUntil = m.now + m.limits.UserStored
}

func (m *registry) writeUser(kind string, p *engine.UserProfile, common *wire.Common, r *wire.Result) {
	id := m.ids.UserID(uint32(p.Slot))
	m.writeEvent(kind, leaf.UserCredential{
		UserID:       id,
		CredentialID: m.ids.CredentialID(CredentialUser, uint32(p.Slot), p.Epochs.EpochOf(p.CredentialVersion), p.CredentialVersion),
		Version:      p.CredentialVersion, IssuedAt: p.IssuedAt, ExpiresAt: p.ExpiresAt, StoredUntil: p.StoredUntil,
		KID: p.KeyID, StatusPlace: m.placeOfStatus(p.Status), NameMatched: p.NameMatched,
		OperatorID: m.operatorID(p.Operator),
	}, common, r, m.filtersOf(id, p.Operator)...)
}

// userHeld returns a user's profile while its record is stored (31 days), nil after.
func (m *registry) userHeld(slot engine.UserSlot) *engine.UserProfile {
	if !m.users.Has(uint64(slot)) {
		return nil
	}
	profile := *m.userProfiles.At(uint64(slot))
	if profile == nil || m.now >= profile.StoredUntil {
		return nil
	}
	return profile
}

func (m *registry) applyUserReissue(b *wire.UserReissue, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
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
	case m.users.At(uint64(b.User)).Status == engine.Suspended && m.users.At(uint64(b.User)).Institutions && !m.isInstitutions(&b.Common):
		r.State = engine.Suspended
		refuse(r, wire.RefusedScope)
		return
	case old.Rev != b.BaseRev:
		goStale(r, 0)
		return
	case signing == nil || m.statusesFull():
		refuse(r, wire.RefusedFull)
		return
	}
	if m.refuseShare(wire.TableStatuses, Owner(old.Operator), oneRow, r) {
		return
	}
	profile := *old
	profile.Rev, profile.CredentialVersion, profile.NameMatched = old.Rev+1, old.CredentialVersion+1, b.NameMatched
	profile.Epochs = old.Epochs.WithIssued(profile.CredentialVersion, m.epochNumber())
	m.dateUser(&profile, signing)
	row := m.users.Edit(uint64(b.User))
	m.touchStatuses(old.Status, row.MinVersion)
	m.enterUserStatus(&profile, old.Status)
	row.Status, row.Institutions, row.StatusReason, row.StatusAt = engine.Active, false, 0, m.now
	row.MinVersion, row.OverlapUntil = m.overlapVersions(row.MinVersion, profile.CredentialVersion, row.OverlapUntil, b.Overlap)
	m.take(wire.TableUsers, Owner(profile.Operator), userPart(&profile).minus(userPart(old)))
	*m.userProfiles.Edit(uint64(b.User)) = &profile
	m.out.Users = append(m.out.Users, &profile)
	m.writeUser("user.reissued", &profile, &b.Common, r)
}
