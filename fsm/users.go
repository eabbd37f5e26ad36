package fsm

import (
	"errors"
	"math"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// A user's slot is given out once; its rows are there for 31 days after the last
// issuance. Then they go: a page of which nothing is left gives its memory back, and
// the tables begin at the first user that is held. To whoever asks, an erased user
// is the same row, wherever it stood.

// erasedUser is the row of a user whose 31 days are over. Not to be changed.
var erasedUser = engine.UserRow{Purged: true}

// userSlots is how many slots there are ever.
const userSlots = math.MaxUint32

// enterUser enters a new user into the tables.
func (m *Machine) enterUser(profile *engine.UserProfile) {
	m.users.Append(engine.UserRow{MinVersion: 1, StatusAt: m.now})
	m.userProfiles.Append(profile)
	m.usersHeld++
}

// usersFull tells whether there is no place for another user.
func (m *Machine) usersFull() bool {
	return m.usersHeld >= m.limits.Users || m.users.Next() > userSlots
}

// sweepUsers erases users whose 31 days are over, a bounded number a tick, round and
// round.
func (m *Machine) sweepUsers() {
	for range min(m.limits.ForgottenAtOneTime, m.users.Len()) {
		if m.sweep.users >= m.users.Next() {
			m.sweep.users = m.users.First()
		}
		slot := m.userProfiles.skip(m.sweep.users)
		if m.sweep.users = slot; slot == m.users.Next() {
			continue
		}
		m.sweep.users++
		profile := *m.userProfiles.At(slot)
		if profile == nil || m.now < profile.StoredUntil {
			continue
		}
		m.writeErased(profile)
		m.eraseUser(slot)
		m.out.UsersGone = append(m.out.UsersGone, engine.UserSlot(slot))
	}
}

// writeErased tells that a user's record is gone: from now on its credential is R2, and
// only an issuance of a new one helps.
func (m *Machine) writeErased(p *engine.UserProfile) {
	id := m.ids.UserID(uint32(p.Slot))
	head := plain(plain(m.head(leaf.KindDue), "type", leaf.DueUserErased.String()), "userId", id)
	if p.OperatorLegalName != "" {
		head = quoted(head, "operatorLegalName", p.OperatorLegalName)
	}
	m.writeDue(instant(head, "storedUntil", p.StoredUntil), engine.FilterKey(engine.FilterAgent, id))
}

func (m *Machine) eraseUser(slot uint64) {
	*m.users.Edit(slot), *m.userProfiles.Edit(slot) = engine.UserRow{}, nil
	m.users.Release(slot, func(row *engine.UserRow) bool { return *row == engine.UserRow{} })
	m.userProfiles.Release(slot, func(profile **engine.UserProfile) bool { return *profile == nil })
	m.usersHeld--
	if slot > m.users.First() {
		return
	}
	for slot < m.users.Next() && *m.userProfiles.At(slot) == nil {
		slot = m.userProfiles.skip(slot + 1)
	}
	m.users.dropTo(slot)
	m.userProfiles.dropTo(slot)
	m.sweep.users = max(m.sweep.users, slot)
}

// userRowAt returns what is known of a user: nil where the slot was never given out,
// no profile where it was erased.
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

// placeAt makes a table go on at a position, with none held between; for Restore.
func placeAt[R any, P pageOf[R]](t *Table[R, P], position uint64) {
	if t.Len() == 0 {
		t.first, t.next = position, position
		return
	}
	t.skipTo(position)
}

// readUsers reads rows that say themselves which slot is theirs.
func readUsers(r *rowReader, rows uint32, m *Machine, end uint64) error {
	for range rows {
		slot := r.unsigned()
		row := readUserRow(r)
		if r.bad || slot < m.users.Next() || slot >= end || m.usersHeld >= m.limits.Users || row.MinVersion == 0 {
			return errRow
		}
		placeAt(&m.users, slot)
		m.users.Append(row)
		m.usersHeld++
	}
	if len(r.data) != 0 {
		return errRow
	}
	return nil
}

// readUserProfiles reads the profiles of the users that are held.
func readUserProfiles(r *rowReader, rows uint32, m *Machine, end uint64) error {
	for range rows {
		profile := new(engine.UserProfile)
		if err := readValue(r, profile); err != nil {
			return err
		}
		slot := uint64(profile.Slot)
		if slot < m.userProfiles.Next() || slot >= end || !m.users.Has(slot) || m.users.At(slot).MinVersion == 0 {
			return errRow
		}
		placeAt(&m.userProfiles, slot)
		m.userProfiles.Append(profile)
	}
	if len(r.data) != 0 {
		return errRow
	}
	return nil
}

// finishUsers ends the tables of users at the next slot to be given out.
func (m *Machine) finishUsers(next uint64) error {
	if next < m.users.Next() {
		return errors.New("users: next slot")
	}
	placeAt(&m.users, next)
	placeAt(&m.userProfiles, next)
	count := 0
	for i := m.userProfiles.skip(m.userProfiles.First()); i < m.userProfiles.Next(); i = m.userProfiles.skip(i + 1) {
		if *m.userProfiles.At(i) != nil {
			count++
		}
	}
	if count != m.usersHeld || m.users.First() != m.userProfiles.First() {
		return errors.New("users: rows and profiles of different slots")
	}
	return nil
}
