package fsm

import (
	"slices"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Sign-ins by an identity provider (decision 150). A person has one row among the API keys, which
// is found by the provider's own name for the person. Each sign-in gives the row another secret, the
// roles that the provider's groups have now, and an end. The row stays when the session ends, so a
// person keeps age, proposals and passkeys from one day to the next.

// personKept is how long somebody who signed in counts among those who hold a role. A provider says
// nothing of people who left; who comes back after that is counted again.
const personKept = 90 * engine.DayLength

// applySignIn lets a person in whom the node's identity provider named.
func (m *keys) applySignIn(b *wire.SignIn, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if b.Common.Key != nil || !m.soundSignIn(&b.Key) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	keys := m.settings.Keys
	at := slices.IndexFunc(keys, func(key *wire.APIKey) bool { return key.SignedIn == b.Key.SignedIn })
	switch {
	case at >= 0 && keys[at].RevokedAt != 0, at < 0 && slices.ContainsFunc(keys, func(key *wire.APIKey) bool { return key.Gone && samePerson(key, &b.Key) }):
		refuse(r, wire.RefusedTransition)
		return
	case at < 0 && len(keys) >= m.limits.APIKeys:
		refuse(r, wire.RefusedFull)
		return
	case hashKnown(keys, b.Key.Hashes[0]), at < 0 && slices.ContainsFunc(keys, func(key *wire.APIKey) bool { return key.ID == b.Key.ID }):
		refuse(r, wire.RefusedExists)
		return
	}
	next := append([]*wire.APIKey(nil), keys...)
	var changed wire.APIKey
	widened := at < 0 || b.Key.Roles&^keys[at].Roles != 0
	if at < 0 {
		changed = b.Key
		changed.CreatedAt, changed.ChangedAt, changed.Rev = m.now, m.now, 1
		next = append(next, &changed)
	} else {
		changed = m.signInAgain(keys[at], &b.Key, widened)
		next[at] = &changed
	}
	m.editSettings().Keys = next
	m.writeEvent(leaf.KindSignedIn, leaf.SignedIn{
		Key: leaf.Key{ID: changed.ID, Prefix: changed.Prefix}, Subject: changed.Subject().String(), Widened: widened, Until: changed.ExpiresAt,
	}, &b.Common, r)
}

// soundSignIn tells whether a sign-in names a person and roles, and ends. A key without roles would
// be an admin's.
func (m *keys) soundSignIn(key *wire.APIKey) bool {
	return m.soundAPIKey(key) && key.SignedIn != "" && len(key.SignedIn) <= 2*m.limits.FieldBytes && key.PersonKey != "" && len(key.Alias) <= m.limits.FieldBytes &&
		key.Owner == "" && key.Roles != 0 && key.ExpiresAt > m.now && key.ExpiresAt <= m.now+m.limits.SessionMost &&
		key.RevokedAt == 0 && key.OldUntil == 0 && key.UsedAt == 0 && key.Sessions == 0 && key.MadeBy == "" && len(key.Networks) == 0 && !key.Gone
}

// signInAgain returns a person's row after another sign-in. Another browser's session goes on until
// its own end. The person is as old as before, unless the groups give a role that the row had not.
func (m *keys) signInAgain(before, said *wire.APIKey, widened bool) wire.APIKey {
	changed := *before
	changed.Name, changed.Person, changed.Alias, changed.Prefix = said.Name, said.Person, said.Alias, said.Prefix
	changed.Hashes, changed.OldUntil = [][]byte{said.Hashes[0]}, 0
	if len(before.Hashes) > 0 && before.ExpiresAt > m.now {
		changed.Hashes, changed.OldUntil = append(changed.Hashes, before.Hashes[0]), before.ExpiresAt
	}
	if widened {
		changed.ChangedAt = m.now
	}
	changed.Roles, changed.ExpiresAt = said.Roles, said.ExpiresAt
	changed.Rev++
	return changed
}

// changeSignIn is what an operation on the row of somebody's sign-ins makes of it, in place of what
// it makes of a key: there is no secret that anybody could renew or hand out.
func (m *keys) changeSignIn(op uint8, before *wire.APIKey) (kind string, changed wire.APIKey, why wire.Refusal) {
	changed = *before
	if before.SignedIn == "" { // A key of a person who was ended: it stays revoked, and the person may sign in.
		changed.Gone = false
		return "key.reinstated", changed, 0
	}
	changed.Hashes, changed.OldUntil, changed.ExpiresAt = nil, 0, m.now // No session goes on.
	switch {
	case op == wire.KeyReinstate && before.RevokedAt != 0:
		changed.RevokedAt, changed.Gone = 0, false
		return "key.reinstated", changed, 0
	case before.RevokedAt != 0, op == wire.KeyReinstate:
		return "", changed, wire.RefusedTransition
	case op == wire.KeyRevoke:
		changed.RevokedAt = m.now
		return "key.revoked", changed, 0
	case op == wire.KeySignOut:
		return "key.sessions_ended", changed, 0
	}
	return "", changed, wire.RefusedMalformed
}

// samePerson tells whether two keys are one person's: they name the same one, or the identity
// provider calls somebody as another key names its person. nil is the machine, which is nobody.
func samePerson(a, b *wire.APIKey) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Subject() == b.Subject() || aliasOf(a) != "" && aliasOf(a) == aliasOf(b)
}

func aliasOf(key *wire.APIKey) string {
	if key.SignedIn != "" {
		return key.Alias
	}
	return key.PersonKey
}
