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
func (m *Machine) checkAgents() error {
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
func (m *Machine) checkActivity() error {
	for i := m.activity.First(); i < m.activity.Next(); i++ {
		row := m.activity.At(i)
		if !m.agents.Has(uint64(row.Agent)) || m.agents.At(uint64(row.Agent)).Activity != 0 || m.agents.At(uint64(row.Agent)).CountedFrom <= 0 {
			return errors.New("activity: broken link")
		}
		m.agents.Edit(uint64(row.Agent)).Activity = uint32(i)
	}
	if m.activitySweep < m.activity.First() || m.activitySweep > m.activity.Next() {
		return errors.New("activity sweep outside the rows")
	}
	return nil
}

// checkBands demands that the pairs of R25 are one chain, and finds its ends.
func (m *Machine) checkBands() error {
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
		count++
	}
	if count != t.Len() {
		return broken
	}
	return nil
}

// checkLinks demands that every other profile stands at its slot and names slots
// that exist.
func (m *Machine) checkLinks() error {
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

// checkQueues demands that rows of leaves name leaves that were written, and
// rise where Apply searches by halving or forgets from the front.
func (m *Machine) checkQueues() error {
	for _, next := range []uint64{m.reviews.Next(), m.dispositions.Next(), m.idem.Next(), m.days.Next()} {
		if next > m.size {
			return errPositions
		}
	}
	if m.overdueTold > m.reviews.Next() {
		return errPositions
	}
	after := uint64(0) // One past the leaf before.
	for i := m.reviews.First(); i < m.reviews.Next(); i++ {
		leaf := m.reviews.At(i).Leaf
		if leaf < after || leaf >= m.size {
			return errPositions
		}
		after = leaf + 1
	}
	after = 0
	for i := m.dispositions.First(); i < m.dispositions.Next(); i++ {
		row := m.dispositions.At(i)
		if row.Later < after || row.Later >= m.size || row.Leaf >= row.Later {
			return errPositions
		}
		after = row.Later + 1
	}
	for i := m.idem.First(); i < m.idem.Next(); i++ {
		if m.idem.At(i).Leaf >= m.size {
			return errPositions
		}
	}
	for i := m.days.First(); i < m.days.Next(); i++ {
		row := m.days.At(i)
		if row.First >= m.size || i > m.days.First() && (row.Day <= m.days.At(i-1).Day || row.First <= m.days.At(i-1).First) {
			return errPositions
		}
	}
	return nil
}

// checkPayments demands that the tables of payments, proposals and alerts fit one another and the leaves.
func (m *Machine) checkPayments() error {
	if err := m.rebuildProposals(); err != nil {
		return err
	}
	if err := errors.Join(m.rebuildAlerts(), m.checkSARs()); err != nil {
		return err
	}
	return m.rebuildPayments()
}

// checkSettings demands of every key what Apply demanded of it.
func (m *Machine) checkSettings() error {
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
	return m.checkEpochs()
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
		case e.Leaf >= m.size, uint64(e.Agents) > m.agents.Next(), uint64(e.Users) > m.users.Next(),
			uint64(e.Fleets) > m.fleets.Next(), uint64(e.Operators) > m.operators.Next():
			return errors.New("epoch that has not begun")
		}
		last = e
	}
	return nil
}

// checkLists demands that the bytes of the active and the staged list are those
// of their digests, and rebuilds the running hash of the staged one.
func (m *Machine) checkLists() error {
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
