package fsm

import (
	"crypto/sha256"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Acts of two persons (decision 96). Some acts one person must not do alone; the policy names
// them. Every such act is a record of its own kind, and its part of the state machine asks
// settlePersons just before it changes anything. The first person's record becomes a
// proposal; the second person's record with the same content, or his wire.Confirm, is applied
// with both persons in its leaf.

// personYoung is how long a new key, or a key whose person or roles were changed, does not
// second what another person proposed.
const personYoung = engine.DayLength

// act is what a record would do.
type act struct {
	kind   wire.Kind
	names  engine.Acts // What it is called in the policy's twoPersons.
	always bool        // Two persons must do it, whatever the policy says.
	said   any         // What the record does, without what says who sent it. Two records with the same said do the same.
	// topic is what the act is about, if one thing has at most one proposal: a record under
	// review, or the number of a kind of which there is one. Without one, said is the topic.
	topic uint64
	whole bool // The kind of record is itself the topic.
	signs bool // A passkey must sign it, whatever the policy says.

	against *wire.APIKey // Whom it ends, and who is no second person then; nil: nobody.

	record      any    // The record to be kept for a wire.Confirm; nil: the second person sends his own.
	reviewed    uint64 // The record under review; 0: none.
	disposition uint8  // The proposed disposition; 0: it is another act.

	event leaf.ActProposed // What Apply says of another act than a disposition: Kind, KeyID, From, To.
}

// hash is the hash that both persons stand for.
func (a *act) hash() [32]byte {
	return sha256.Sum256(append([]byte{byte(a.kind)}, wire.Encode(a.said)...))
}

// topicHash identifies what an act is about. It has at most one open proposal.
func (a *act) topicHash(hash [32]byte) (topic [16]byte) {
	if a.whole || a.topic != 0 {
		hash = sha256.Sum256(wire.Encode([]uint64{uint64(a.kind), a.topic}))
	}
	return [16]byte(hash[:16])
}

// subjectOf returns who sent a record.
func (m *core) subjectOf(common *wire.Common) wire.Subject {
	return m.callerKey(common).Subject()
}

// holdsRole tells whether a key is the institution's and has one of the roles. A key without
// roles is an admin's, and an admin has all roles.
func holdsRole(key *wire.APIKey, roles uint16) bool {
	return key.Owner == "" && (key.Roles == 0 || key.Roles&(roles|wire.RoleAdmin) != 0)
}

// keyEnded tells since when a key is not valid any more; 0: it is valid. Who signed in is there
// although a session is over: the person comes back.
func keyEnded(now engine.Time, key *wire.APIKey) engine.Time {
	if key.RevokedAt == 0 && key.SignedIn != "" {
		if kept := key.ExpiresAt + personKept; kept <= now {
			return kept
		}
		return 0
	}
	if key.RevokedAt == 0 && key.ExpiresAt != 0 && key.ExpiresAt <= now {
		return key.ExpiresAt
	}
	return key.RevokedAt
}

// hasSecond tells whether two persons hold one of the roles: the caller and somebody else, or,
// since the machine is no person, two others. A key that ended counts for another day, so that
// nobody becomes the only one by revoking the keys of others. Whom the act ends is no second.
func (s *Settings) hasSecond(now engine.Time, mine, against *wire.APIKey, roles uint16) bool {
	first := mine
	for _, key := range s.Keys {
		if ended := keyEnded(now, key); ended != 0 && now >= ended+personYoung || !holdsRole(key, roles) || samePerson(key, first) || against != nil && samePerson(key, against) {
			continue
		}
		if first != nil {
			return true
		}
		first = key
	}
	return false
}

// Seconds tells why the holder of one key (nil: the machine) may not second at a time what the
// holder of another proposed; 0: he may. A key that names nobody may be a second key of the
// person whom the other one names, so the two together are not two persons.
func Seconds(now engine.Time, proposer, key *wire.APIKey) wire.Refusal {
	switch {
	case key == nil:
		return wire.RefusedNoPerson
	case samePerson(key, proposer):
		return wire.RefusedSamePerson
	case key.Subject().Kind != proposer.Subject().Kind:
		return wire.RefusedUnnamed
	case now < key.ChangedAt+personYoung:
		return wire.RefusedYoung
	case key.MadeBy == proposer.Subject().String(), proposer.MadeBy == key.Subject().String():
		return wire.RefusedMaker
	}
	return 0
}

// ActRoles are the roles that may do, and so confirm, an act of two persons.
func ActRoles(kind wire.Kind) uint16 {
	switch kind {
	case wire.KindAPIKey, wire.KindTime, wire.KindPersonEnd:
		return wire.RoleAdmin
	case wire.KindPolicy, wire.KindWhitelist, wire.KindListActivate:
		return wire.RolePolicy
	}
	return wire.RoleReviewer
}

// settlePersons decides whether an act counts now. It does if the policy lets one person do
// it, if it confirms an open proposal, or if nobody else could. Otherwise it becomes a
// proposal or is refused, and r holds the answer. who belongs into the act's leaf. Confirming
// uses the proposal up, so a part asks only when nothing can refuse the act any more.
func (m *desk) settlePersons(a *act, common *wire.Common, r *wire.Result) (who leaf.Persons, counts bool) {
	at, why := m.signature(common)
	if why == 0 && at < 0 && m.mustSign(a) {
		why = wire.RefusedUnsigned
	}
	if why != 0 {
		refuse(r, why)
		return who, false
	}
	who, counts = m.countPersons(a, common, r)
	if at >= 0 && (counts || r.Refusal == 0) {
		m.useSignature(at, common.Signed)
	}
	return who, counts
}

// countPersons is settlePersons without the signature.
func (m *desk) countPersons(a *act, common *wire.Common, r *wire.Result) (who leaf.Persons, counts bool) {
	hash := a.hash()
	at, open := m.proposalOn(a.topicHash(hash))
	names := m.settings.Policy.Demands(a.names)
	if a.always {
		names = a.names
	}
	if names == 0 { // A proposal may be open because the policy demanded two persons before.
		if open && !a.whole { // Otherwise dropTopic tells that it lapses.
			m.closeProposal(at)
		}
		return who, true
	}
	mine := m.subjectOf(common)
	who.Acts = names.Names()
	if open {
		row := *m.proposals.At(at)
		proposer := m.proposerOf(&row)
		why := (&Waiting{Key: proposer, Against: a.against}).Seconds(m.now, m.callerKey(common))
		if why == 0 && row.Hash != hash {
			why = wire.RefusedProposed
		}
		if why != 0 {
			r.Value = row.Later
			refuse(r, why)
			return who, false
		}
		m.closeProposal(at)
		who.Persons, who.ProposedLeaf = []string{proposer.Subject().String(), mine.String()}, row.Later
		return who, true
	}
	switch {
	case !m.settings.hasSecond(m.now, m.callerKey(common), a.against, ActRoles(a.kind)):
		who.Persons, who.Alone = []string{mine.String()}, true
		return who, true
	case mine.Kind == wire.SubjectMachine:
		refuse(r, wire.RefusedNoPerson)
	default:
		m.openProposal(a, hash, names, common, r)
	}
	return who, false
}

// writeAct writes the leaf of an act. If one person did alone what needs two, an alert tells
// of it.
func (m *desk) writeAct(kind string, event any, who *leaf.Persons, common *wire.Common, r *wire.Result, filters ...uint64) {
	m.writeEvent(kind, event, common, r, filters...)
	if !who.Alone {
		return
	}
	m.openAlert(&alarm{
		kind: wire.AlertAlone, subject: wire.AlertSubject(0, r.Leaf),
		event: leaf.AlertOpened{Acts: who.Acts, Person: who.Persons[0], ActLeaf: r.Leaf},
	}, &wire.Common{})
}
