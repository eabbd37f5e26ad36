package fsm

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Passkeys (decision 151). A person registers passkeys, and the policy names acts that count only if
// the person signed them. The edge checks what was signed; here is judged whose the passkey is, since
// when it counts, and that no signature counts twice: what a person signs is numbered.

// passkeyWaits is how long a new passkey signs nothing, unless one that counts vouches for it: so
// long others see that it was registered, and by whose session.
const passkeyWaits = engine.DayLength

// applyPasskey registers the caller's passkey, or removes one: his own, or, for an admin, anybody's.
func (m *keys) applyPasskey(b *wire.PasskeyPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	all := m.settings.Passkeys
	at := slices.IndexFunc(all, func(p *wire.Passkey) bool { return bytes.Equal(p.ID, b.Passkey.ID) })
	switch b.Op {
	case wire.PasskeyAdd:
		m.addPasskey(b, at, r)
	case wire.PasskeyRemove:
		m.removePasskey(b, all, at, r)
	default:
		refuse(r, wire.RefusedMalformed)
	}
}

func (m *keys) addPasskey(b *wire.PasskeyPut, at int, r *wire.Result) {
	caller := m.callerKey(&b.Common)
	vouched, why := m.signature(&b.Common)
	switch {
	case caller == nil || caller.Subject().Kind != wire.SubjectPerson || caller.Owner != "":
		why = wire.RefusedNoPerson
	case !m.soundPasskey(&b.Passkey):
		why = wire.RefusedMalformed
	case at >= 0:
		why = wire.RefusedExists
	case len(m.settings.Passkeys) >= m.limits.Passkeys || passkeysOf(m.settings.Passkeys, caller.Subject().String()) >= m.limits.PasskeysOfPerson:
		why = wire.RefusedFull
	}
	if why != 0 {
		refuse(r, why)
		return
	}
	if vouched >= 0 {
		m.useSignature(vouched, b.Signed)
	}
	added := b.Passkey
	// Leaves are written more often than statements are signed, so a passkey that is registered
	// again gives no number a second time.
	added.Subject, added.AddedAt, added.CountsFrom, added.Number, added.Leaf = caller.Subject().String(), m.now, m.now+passkeyWaits, m.size, m.size
	added.Last, added.Many = [32]byte{}, false
	if vouched >= 0 {
		added.CountsFrom = m.now
	}
	m.putPasskeys(append(slices.Clone(m.settings.Passkeys), &added))
	m.writeEvent(leaf.KindPasskeyAdded, leaf.PasskeyAdded{Subject: added.Subject, CountsFrom: added.CountsFrom}, &b.Common, r)
}

func (m *keys) removePasskey(b *wire.PasskeyPut, all []*wire.Passkey, at int, r *wire.Result) {
	if at < 0 {
		refuse(r, wire.RefusedNotFound)
		return
	}
	gone := all[at]
	if caller := m.callerKey(&b.Common); caller != nil && caller.Subject().String() != gone.Subject && !holdsRole(caller, wire.RoleAdmin) {
		refuse(r, wire.RefusedNotFound)
		return
	}
	m.putPasskeys(slices.Delete(slices.Clone(all), at, at+1))
	m.writeEvent(leaf.KindPasskeyRemoved, leaf.PasskeyRemoved{Subject: gone.Subject}, &b.Common, r)
}

func (m *keys) soundPasskey(p *wire.Passkey) bool {
	return len(p.ID) > 0 && len(p.ID) <= m.limits.FieldBytes && soundKey(p.Key) && len(p.Key) > 0 && p.Site != "" && len(p.Site) <= m.limits.FieldBytes && len(p.Name) <= m.limits.FieldBytes
}

// fitsPasskey tells whether a passkey of a snapshot is one.
func (m *keys) fitsPasskey(p, _ *wire.Passkey) bool {
	return m.soundPasskey(p) && p.Subject != "" && p.Leaf < m.size && p.Number <= m.size
}

func passkeysOf(all []*wire.Passkey, subject string) (count int) {
	for _, p := range all {
		if p.Subject == subject {
			count++
		}
	}
	return count
}

// PasskeyHash is how a record names a passkey.
func PasskeyHash(id []byte) [16]byte {
	sum := sha256.Sum256(id)
	return [16]byte(sum[:16])
}

// signature finds the passkey that signed a record; -1: none did. why says that what was signed does
// not count: it is another person's, too young, or was signed for something before. What many records
// of one call share, counts for each of them.
func (m *core) signature(common *wire.Common) (at int, why wire.Refusal) {
	signed := common.Signed
	if signed == nil {
		return -1, 0
	}
	at = slices.IndexFunc(m.settings.Passkeys, func(p *wire.Passkey) bool { return PasskeyHash(p.ID) == signed.Passkey })
	if at < 0 {
		return -1, wire.RefusedUnsigned
	}
	p := m.settings.Passkeys[at]
	next := NextStatement(m.settings.Passkeys, p.Subject)
	again := signed.Many && p.Many && signed.Number == p.Number && signed.Number+1 == next && signed.Digest == p.Last
	if p.Subject != m.subjectOf(common).String() || m.now < p.CountsFrom || signed.Number != next && !again {
		return -1, wire.RefusedUnsigned
	}
	if p.Count != 0 && signed.Count <= p.Count && !again { // Another authenticator has its key.
		return -1, wire.RefusedUnsigned
	}
	return at, 0
}

// NextStatement returns the number of the statement that a person signs next, with whichever passkey.
func NextStatement(passkeys []*wire.Passkey, subject string) (number uint64) {
	for _, p := range passkeys {
		if p.Subject == subject {
			number = max(number, p.Number)
		}
	}
	return number + 1
}

// useSignature notes that a passkey signed a statement.
func (m *core) useSignature(at int, signed *wire.Signed) {
	used := *m.settings.Passkeys[at]
	used.Number, used.Last, used.Many, used.Count = signed.Number, signed.Digest, signed.Many, max(used.Count, signed.Count)
	list := slices.Clone(m.settings.Passkeys)
	list[at] = &used
	m.putPasskeys(list)
}

// putPasskeys replaces the passkeys. They are the core's, because every part that asks for a signature
// notes that it was used.
func (m *core) putPasskeys(list []*wire.Passkey) { m.editSettings().Passkeys = list }

// signedNames returns what an act is called in the policy's passkeys. second says that it confirms
// what another person proposed.
func (a *act) signedNames(second bool) engine.Acts {
	names := a.names
	switch a.kind {
	case wire.KindDisposition:
		names |= engine.ActDisposition
	case wire.KindPolicy, wire.KindWhitelist:
		names |= engine.ActPolicy
	case wire.KindSAR:
		names |= engine.ActSARMove
	case wire.KindSanctions:
		names |= engine.ActSanctionsClose
	}
	if second {
		names |= engine.ActSecond
	}
	return names
}

// mustSign tells whether an act counts only if the caller signed it. Whoever brings passkeys into the
// policy signs too: so nobody demands what nobody has.
func (m *desk) mustSign(a *act) bool {
	at, open := m.proposalOn(a.topicHash(a.hash()))
	second := open && m.proposals.At(at).Kind == a.kind
	return m.settings.Policy.Passkeys&a.signedNames(second) != 0 || a.signs
}
