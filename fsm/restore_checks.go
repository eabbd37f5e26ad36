package fsm

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"railguard/fsm/wire"
)

// What Restore demands of a state whose bytes are whole: that Apply can follow
// every slot, position and pointer without asking.

var errPositions = errors.New("positions do not fit the leaves")

// checkAgents demands of every agent a chain that ends at its root.
func (m *registry) checkAgents() error {
	for i := m.profiles.First(); i < m.profiles.Next(); i++ {
		p := *m.profiles.At(i)
		if p == nil || uint64(p.Slot) != i || !m.operators.Has(uint64(p.Operator)) || p.Fleet != 0 && !m.fleets.Has(uint64(p.Fleet)) {
			return errors.New("agent: broken link")
		}
		if p.Parent == 0 {
			if p.Root != p.Slot || p.Depth != 0 {
				return errors.New("agent: broken chain")
			}
			continue
		}
		if uint64(p.Parent) >= i || p.Fleet != 0 { // Parents come first; their own chains were found good.
			return errors.New("agent: broken chain")
		}
		if parent := *m.profiles.At(uint64(p.Parent)); p.Depth != parent.Depth+1 || p.Depth > m.limits.Depth || p.Root != parent.Root {
			return errors.New("agent: broken chain")
		}
	}
	return nil
}

// checkActivity demands that every row is one agent's, and tells the agents where
// their rows are.
func (m *ledger) checkActivity() error {
	for i := m.activity.First(); i < m.activity.Next(); i++ {
		row := m.activity.At(i)
		if !m.registry.agents.Has(uint64(row.Agent)) || m.registry.agents.At(uint64(row.Agent)).Activity != 0 || m.registry.agents.At(uint64(row.Agent)).CountedFrom <= 0 {
			return errors.New("activity: broken link")
		}
		m.registry.placeActivity(row.Agent, uint32(i))
	}
	if m.activitySweep < m.activity.First() || m.activitySweep > m.activity.Next() {
		return errors.New("activity sweep outside the rows")
	}
	return nil
}

// checkBands demands that the pairs of R25 are one chain, and finds its ends.
func (m *ledger) checkBands() error {
	broken := errors.New("structuring: broken chain")
	t := &m.structuring
	for i := t.First(); i < t.Next(); i++ {
		row := t.At(i)
		if row.Older == 0 {
			m.bandEnds.oldest = i
		} else if !t.Has(uint64(row.Older)) || uint64(t.At(uint64(row.Older)).Newer) != i {
			return broken
		}
		if row.Newer == 0 {
			m.bandEnds.newest = i
		} else if !t.Has(uint64(row.Newer)) || uint64(t.At(uint64(row.Newer)).Older) != i {
			return broken
		}
	}
	count := 0
	for at := m.bandEnds.oldest; at != 0 && count <= t.Len(); at = uint64(t.At(at).Newer) {
		m.structuringBy[t.At(at).Key] = at
		count++
	}
	if count != t.Len() {
		return broken
	}
	return eachOnce(len(m.structuringBy), t.Len())
}

// checkLinks demands that every other profile stands at its slot and names slots
// that exist.
func (m *registry) checkLinks() error {
	for i := m.userProfiles.skip(m.userProfiles.First()); i < m.userProfiles.Next(); i = m.userProfiles.skip(i + 1) {
		p := *m.userProfiles.At(i)
		if p == nil {
			continue // Erased.
		}
		if uint64(p.Slot) != i {
			return errors.New("user: broken link")
		}
		for _, slot := range p.Agents {
			if !m.agents.Has(uint64(slot)) {
				return errors.New("user: broken link")
			}
		}
	}
	for i := m.fleetProfiles.First(); i < m.fleetProfiles.Next(); i++ {
		if p := *m.fleetProfiles.At(i); p == nil || uint64(p.Slot) != i || !m.operators.Has(uint64(p.Operator)) {
			return errors.New("fleet: broken link")
		}
	}
	for i := m.operatorProfiles.First(); i < m.operatorProfiles.Next(); i++ {
		if p := *m.operatorProfiles.At(i); p == nil || uint64(p.Slot) != i {
			return errors.New("operator: broken link")
		}
	}
	if m.userSweep < m.users.First() || m.userSweep > m.users.Next() {
		return errors.New("user sweep outside the users")
	}
	return nil
}

// rebuildOperators finds the operators by their keys.
func (m *registry) rebuildOperators() error {
	for i := m.operatorProfiles.First(); i < m.operatorProfiles.Next(); i++ {
		profile := *m.operatorProfiles.At(i)
		m.operatorByKey[profile.Key] = profile.Slot
	}
	return eachOnce(len(m.operatorByKey), m.operators.Len())
}

var errKeys = errors.New("two rows of one key")

// eachOnce fails where fewer keys were found than there are rows.
func eachOnce(found, rows int) error {
	if found != rows {
		return errKeys
	}
	return nil
}

// rebuildIdempotency finds the idempotency keys, and demands that they name leaves.
func (m *core) rebuildIdempotency() error {
	if m.idem.Next() > m.size {
		return errPositions
	}
	for i := m.idem.First(); i < m.idem.Next(); i++ {
		row := m.idem.At(i)
		if row.Leaf >= m.size {
			return errPositions
		}
		m.idemByKey[row.Key] = i
	}
	return eachOnce(len(m.idemByKey), m.idem.Len())
}

// checkDays demands that days and their first leaves rise.
func (m *core) checkDays() error {
	if m.days.Next() > m.size {
		return errPositions
	}
	for i := m.days.First(); i < m.days.Next(); i++ {
		row := m.days.At(i)
		if row.First >= m.size || i > m.days.First() && (row.Day <= m.days.At(i-1).Day || row.First <= m.days.At(i-1).First) {
			return errPositions
		}
	}
	return nil
}

// rebuildReviews finds the open reviews, and demands that reviews name leaves that were
// written, in their order.
func (m *desk) rebuildReviews() error {
	if m.reviews.Next() > m.size || m.overdueTold > m.reviews.Next() {
		return errPositions
	}
	m.open.startAt(m.reviews.First() / openWord)
	after := uint64(0) // One past the leaf before.
	for i := m.reviews.First(); i < m.reviews.Next(); i++ {
		row := m.reviews.At(i)
		if row.Leaf < after || row.Leaf >= m.size {
			return errPositions
		}
		after = row.Leaf + 1
		m.openWordOf(i)
		if row.State == ReviewOpen {
			m.reviewOpened(i)
		}
	}
	return nil
}

// rebuildDispositions finds the dispositions by what they decide, and demands their order.
func (m *desk) rebuildDispositions() error {
	if m.dispositions.Next() > m.size {
		return errPositions
	}
	after := uint64(0) // One past the leaf before.
	for i := m.dispositions.First(); i < m.dispositions.Next(); i++ {
		row := m.dispositions.At(i)
		if row.Later < after || row.Later >= m.size || row.Leaf >= row.Later {
			return errPositions
		}
		m.disposedBy[row.Leaf], after = i, row.Later+1
	}
	return eachOnce(len(m.disposedBy), m.dispositions.Len())
}

// checkSettings demands of every key what Apply demanded of it.
func (m *keys) checkSettings() error {
	for _, key := range m.settings.Keys {
		if key.RevokedAt == 0 && (len(key.Hashes) == 0 || len(key.Hashes) > 2) {
			return errors.New("API key without secrets")
		}
	}
	for _, key := range m.settings.SigningKeys {
		if !m.soundSigningKey(key) {
			return errors.New("signing key broken")
		}
	}
	return nil
}

// checkEpochs demands that numbers and places of epochs rise and have begun.
func (m *Machine) checkEpochs() error {
	last := &wire.Epoch{}
	if len(m.settings.Epochs) > m.limits.Epochs {
		return errors.New("too many epochs")
	}
	for _, e := range m.settings.Epochs {
		switch {
		case e.Number <= last.Number, e.Number > epochMax, e.Leaf < last.Leaf, e.Agents < last.Agents,
			e.Users < last.Users, e.Fleets < last.Fleets, e.Operators < last.Operators:
			return errors.New("epochs out of order")
		case e.Leaf >= m.size, uint64(e.Agents) > m.registry.agents.Next(), uint64(e.Users) > m.registry.users.Next(),
			uint64(e.Fleets) > m.registry.fleets.Next(), uint64(e.Operators) > m.registry.operators.Next():
			return errors.New("epoch that has not begun")
		}
		last = e
	}
	return nil
}

// checkLists demands that the bytes of the active and the staged list are those
// of their digests, and rebuilds the running hash of the staged one.
func (m *rulebook) checkLists() error {
	if list := m.settings.List; list == nil && len(m.listData) > 0 || list != nil && sha256.Sum256(m.listData) != list.Digest {
		return errors.New("list does not match its digest")
	}
	s := &m.staged
	if uint64(len(s.data)) > uint64(s.total) || s.whole != (s.total > 0 && len(s.data) == int(s.total)) {
		return errors.New("staged list is not as long as it should be")
	}
	if s.total > 0 {
		s.sum = sha256.New()
		s.sum.Write(s.data)
	}
	if s.whole && !bytes.Equal(s.sum.Sum(nil), s.digest[:]) {
		return errors.New("staged list does not match its digest")
	}
	if len(m.settings.Staged) > 1 || len(m.settings.Staged) == 1 && (!s.whole || m.settings.Staged[0].Digest != s.digest) {
		return errors.New("staged list is not there")
	}
	return nil
}
