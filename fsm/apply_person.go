package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// A person is ended by one act (decision 157): the keys and sign-ins that name the person, with the
// sessions that were begun with them, the passkeys, and what the person has claimed or proposed. So
// nothing is left over because nobody thought of it.

// keysNamed is how many of the ended keys a leaf names.
const keysNamed = 100

// applyPersonEnd ends the person whom a key names; of a key that names nobody, that key.
func (m *keys) applyPersonEnd(b *wire.PersonEnd, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	s := m.settings
	at := slices.IndexFunc(s.Keys, func(key *wire.APIKey) bool { return key.ID == b.KeyID })
	if at < 0 {
		refuse(r, wire.RefusedNotFound)
		return
	}
	person := s.Keys[at]
	if why := s.mayEnd(person, r.Time); why != 0 {
		refuse(r, why)
		return
	}
	said := wire.PersonEnd{KeyID: b.KeyID}
	who, counts := m.rulebook.desk.settlePersons(&act{
		kind: wire.KindPersonEnd, names: engine.ActPersonEnd, said: &said, record: &said, against: person,
		event: leaf.ActProposed{Kind: leaf.KindPersonEnded, KeyID: b.KeyID},
	}, &b.Common, r)
	if !counts {
		return
	}
	s = m.settings // The caller's passkey has signed since.
	event := leaf.PersonEnded{Subject: person.Subject().String(), KeyIDs: []string{}, Persons: who}
	gone := m.endKeys(s.Keys, person, r.Time, &event)
	event.Passkeys = m.endPasskeys(s.Passkeys, gone)
	event.Claims = m.rulebook.desk.giveBackClaims(gone)
	event.Proposals = m.rulebook.desk.lapseProposalsOf(gone)
	m.rulebook.desk.writeAct(leaf.KindPersonEnded, event, &who, &b.Common, r)
}

// mayEnd tells why a person cannot be ended; 0: it can be done. Somebody else must be an admin then.
func (s *Settings) mayEnd(person *wire.APIKey, now engine.Time) wire.Refusal {
	acts, admin, others := passkeysOf(s.Passkeys, person.Subject().String()) > 0, false, false
	for _, key := range s.Keys {
		live := keyEnded(now, key) == 0
		same := samePerson(key, person)
		acts = acts || same && (live || !key.Gone)
		admin = admin || same && live && holdsRole(key, wire.RoleAdmin)
		others = others || !same && live && holdsRole(key, wire.RoleAdmin)
	}
	switch {
	case !acts:
		return wire.RefusedTransition
	case admin && !others:
		return wire.RefusedLastAdmin
	}
	return 0
}

// endKeys revokes all keys of a person, and returns them as they were.
func (m *keys) endKeys(all []*wire.APIKey, person *wire.APIKey, now engine.Time, event *leaf.PersonEnded) (gone []*wire.APIKey) {
	next := slices.Clone(all)
	for i, key := range next {
		if !samePerson(key, person) {
			continue
		}
		gone = append(gone, key)
		changed := *key
		changed.Hashes, changed.OldUntil, changed.Gone = nil, 0, true
		if changed.RevokedAt == 0 {
			changed.RevokedAt = now
			if event.Keys++; len(event.KeyIDs) < keysNamed {
				event.KeyIDs = append(event.KeyIDs, key.ID)
			}
		}
		if changed.SignedIn != "" {
			changed.ExpiresAt = min(changed.ExpiresAt, now)
		}
		changed.Rev, changed.Sessions = key.Rev+1, key.Sessions+1
		next[i] = &changed
	}
	m.editSettings().Keys = next
	return gone
}

// endPasskeys removes the passkeys of the persons of keys.
func (m *keys) endPasskeys(all []*wire.Passkey, of []*wire.APIKey) uint32 {
	kept := slices.DeleteFunc(slices.Clone(all), func(p *wire.Passkey) bool {
		return slices.ContainsFunc(of, func(key *wire.APIKey) bool { return key.Subject().String() == p.Subject })
	})
	count := len(all) - len(kept)
	if count > 0 {
		m.putPasskeys(kept)
	}
	return uint32(count)
}

// giveBackClaims frees what is claimed by, or assigned to, somebody under the name of one of these
// keys or of its person. A claim is advice and has no other owner than a name.
func (m *desk) giveBackClaims(of []*wire.APIKey) (count uint32) {
	free := func(c *Claim) *Claim {
		if !m.isHeld(c) || !slices.ContainsFunc(of, func(key *wire.APIKey) bool {
			return c.Assignee == key.Person || c.Assignee == key.Name || c.Assignee == key.ID
		}) {
			return nil
		}
		count++
		return &Claim{Comments: c.Comments}
	}
	for word := m.open.First(); word < m.open.Next(); word++ {
		for bit, set := uint64(0), *m.open.At(word); set != 0; bit, set = bit+1, set>>1 {
			if at := word*openWord + bit; set&1 != 0 {
				if freed := free(m.reviews.At(at).Claim); freed != nil {
					m.reviews.Edit(at).Claim = freed
				}
			}
		}
	}
	for at := m.works.First(); at < m.works.Next(); at++ {
		if freed := free(m.works.At(at).Claim); freed != nil {
			m.works.Edit(at).Claim = freed
		}
	}
	return count
}

// lapseProposalsOf lapses what was proposed with these keys, a bounded number. Whatever is left
// counts no more and lapses when somebody asks for it, as the proposer's key has ended.
func (m *desk) lapseProposalsOf(of []*wire.APIKey) (count uint32) {
	most := engine.LimitsOf(m.format).ExpiredAtOneTick
	for at := m.proposals.First(); at < m.proposals.Next() && int(count) < most; at++ {
		row := m.proposals.At(at)
		if row.Kind == 0 {
			continue
		}
		by := m.proposerOf(row)
		if slices.ContainsFunc(of, func(key *wire.APIKey) bool { return by != nil && by.ID == key.ID }) {
			m.lapseProposal(at)
			count++
		}
	}
	return count
}

// endedBy returns whom a proposal would end: a key of the person; nil: nobody.
func (s *Settings) endedBy(row *proposalRow) *wire.APIKey {
	if row.Kind != wire.KindPersonEnd {
		return nil
	}
	var said wire.PersonEnd
	if err := wire.DecodeBody(row.Act.Body, &said); err != nil {
		panic("BUG: a kept record that cannot be read: " + err.Error())
	}
	if at := slices.IndexFunc(s.Keys, func(key *wire.APIKey) bool { return key.ID == said.KeyID }); at >= 0 {
		return s.Keys[at]
	}
	return nil
}
