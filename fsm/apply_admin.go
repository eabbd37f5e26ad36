package fsm

import (
	"bytes"
	"strings"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

func (m *Machine) applyGenesis(b *wire.Genesis, r *wire.Result) {
	if m.settings.Genesis != nil {
		refuse(r, wire.RefusedGenesis)
		return
	}
	if b.ClusterID == "" || len(b.ClusterID) > m.limits.FieldBytes || !m.keys.soundSigningKey(&b.SigningKey) || !m.rulebook.soundPolicy(&b.Policy) ||
		b.APIKey != nil && (!m.keys.soundAPIKey(b.APIKey) || !wire.MayHold(b.APIKey.Owner, b.APIKey.Roles)) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.beginCluster(b)
	m.rulebook.beginPolicy(&b.Policy)
	key := m.keys.beginKeys(b)
	m.writeEvent("cluster.created", leaf.ClusterCreated{ClusterID: b.ClusterID, Dev: b.Dev, KID: key.KID}, &wire.Common{}, r)
}

// beginPolicy takes over the policy of the genesis.
func (m *rulebook) beginPolicy(first *engine.Policy) {
	policy := *first
	policy.Version = 1
	m.editSettings().Policy = &policy
}

// beginKeys takes over the keys of the genesis, and returns the one that signs.
func (m *keys) beginKeys(b *wire.Genesis) *wire.SigningKey {
	key := b.SigningKey
	key.ActivateAt, key.RevokedAt = 0, 0
	signing := []*wire.SigningKey{&key}
	if permits := b.PermitKey; permits.KID != "" {
		permits.ActivateAt, permits.RevokedAt, permits.For = 0, 0, wire.ForPermits
		signing = append(signing, &permits)
	}
	m.editSettings().SigningKeys = signing
	if b.APIKey != nil {
		api := *b.APIKey
		api.CreatedAt, api.ChangedAt, api.RevokedAt, api.Rev, api.MadeBy = m.now, m.now, 0, 1, ""
		m.editSettings().Keys = []*wire.APIKey{&api}
		m.remindOfKey(0, &api)
	}
	return &key
}

// applyPolicy replaces the institution's policy; its whitelist stays.
func (m *rulebook) applyPolicy(b *wire.PolicyPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) || !m.baseIs(b.Base, r) {
		return
	}
	policy := b.Policy
	policy.Whitelist = m.settings.Policy.Whitelist
	if !m.soundPolicy(&policy) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	said := wire.PolicyPut{Policy: b.Policy, Acts: b.Acts}
	a := &act{kind: wire.KindPolicy, said: &said.Policy, record: &said, names: b.Acts, signs: policy.Passkeys != 0}
	if policy.AlwaysTwo(m.settings.Policy) {
		a.names, a.always = a.names|engine.ActPolicyWiden, true
	}
	m.putPolicy(&policy, "policy.activated", a, &b.Common, r)
}

func (m *rulebook) applyWhitelist(b *wire.WhitelistPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) || !m.baseIs(b.Base, r) {
		return
	}
	policy := *m.settings.Policy
	policy.Whitelist = b.Whitelist
	if !m.soundPolicy(&policy) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	said := wire.WhitelistPut{Whitelist: b.Whitelist, Acts: b.Acts}
	m.putPolicy(&policy, "policy.whitelist", &act{kind: wire.KindWhitelist, said: b.Whitelist, record: &said, names: b.Acts}, &b.Common, r)
}

func (m *rulebook) baseIs(base uint64, r *wire.Result) bool {
	if base == 0 || base == m.settings.Policy.Version {
		return true
	}
	r.Value = m.settings.Policy.Version
	refuse(r, wire.RefusedVersion)
	return false
}

// putPolicy puts a policy in force, if it counts. What was proposed against the one before
// lapses: a confirmation would take this change back.
func (m *rulebook) putPolicy(policy *engine.Policy, kind string, a *act, common *wire.Common, r *wire.Result) {
	a.whole, a.event.Kind = true, kind
	who, counts := m.desk.settlePersons(a, common, r)
	if !counts {
		return
	}
	m.desk.dropTopic(a.kind)
	policy.Version = m.settings.Policy.Version + 1
	m.editSettings().Policy = policy
	m.remindOfList()
	m.desk.writeAct(kind, leaf.PolicyChanged{Version: policy.Version, Persons: who}, &who, common, r)
}

func (m *keys) applyAPIKey(b *wire.APIKeyPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	keys := m.settings.Keys
	at := -1
	for i, key := range keys {
		if key.ID == b.Key.ID {
			at = i
		}
	}
	kind, why := "", wire.Refusal(0)
	var changed wire.APIKey
	switch {
	case b.Op == wire.KeyCreate:
		kind, changed, why = m.createKey(b, keys, at)
		changed.CreatedAt, changed.RevokedAt, changed.OldUntil, changed.UsedAt, changed.Sessions, changed.Gone = m.now, 0, 0, 0, 0, false
	case at < 0:
		why = wire.RefusedNotFound
	case keys[at].SignedIn != "", b.Op == wire.KeyReinstate && keys[at].Gone:
		kind, changed, why = m.changeSignIn(b.Op, keys[at])
	case keys[at].RevokedAt != 0:
		why = wire.RefusedTransition
	case b.Op == wire.KeyRotate && m.soundAPIKey(&b.Key) && hashKnown(keys, b.Key.Hashes[0]):
		why = wire.RefusedExists
	case b.Op == wire.KeyRotate && m.soundAPIKey(&b.Key):
		kind, changed = "key.rotated", *keys[at]
		changed.Hashes, changed.OldUntil = [][]byte{b.Key.Hashes[0]}, 0
		if overlap := min(b.Overlap, m.limits.Overlap); overlap > 0 {
			changed.Hashes, changed.OldUntil = append(changed.Hashes, keys[at].Hashes[0]), m.now+overlap
		}
		changed.Prefix = b.Key.Prefix
	case b.Op == wire.KeyRevoke:
		kind, changed = "key.revoked", *keys[at]
		changed.Hashes, changed.RevokedAt, changed.OldUntil = nil, m.now, 0
	case b.Op == wire.KeySignOut:
		kind, changed = "key.sessions_ended", *keys[at]
	default:
		why = wire.RefusedMalformed
	}
	named := b.Op == wire.KeyCreate && b.Operator != (wire.OperatorRef{})
	if why == 0 && named { // Before two persons are asked: a refusal must not use their proposal up.
		_, why = m.registry.findOperator(&b.Operator)
	}
	if why != 0 {
		refuse(r, why)
		return
	}
	who, counts := m.settleKey(b, kind, &changed, r)
	if !counts {
		return
	}
	changed.Rev = 1
	if at >= 0 {
		changed.Rev, changed.Sessions = keys[at].Rev+1, keys[at].Sessions+1
	}
	if named {
		changed.Owner = m.registry.operatorID(m.registry.enterOperator(&b.Operator, r))
	}
	next := append([]*wire.APIKey(nil), keys...)
	if at < 0 {
		m.remindOfKey(len(next), &changed)
		next = append(next, &changed)
	} else {
		next[at] = &changed
	}
	m.editSettings().Keys = next
	m.rulebook.desk.writeAct(kind, leaf.KeyChanged{Key: leaf.Key{ID: changed.ID, Prefix: changed.Prefix}, Owner: changed.Owner, Persons: who}, &who, &b.Common, r)
}

// settleKey decides whether a change of a key counts now, and says in the key who made it.
// Whoever makes a key, or renews the secret of somebody else's, knows the secret: so he and
// the key's holder are no two persons, although another may have confirmed the change. A key is
// as young as its newest secret, and while a secret before that one is good, younger: whoever
// made that one may still use it.
func (m *keys) settleKey(b *wire.APIKeyPut, kind string, changed *wire.APIKey, r *wire.Result) (who leaf.Persons, counts bool) {
	mine := m.subjectOf(&b.Common)
	if b.Op != wire.KeyCreate && b.Op != wire.KeyReinstate && (b.Op != wire.KeyRotate || changed.Subject() == mine || changed.Owner != "") {
		return who, true
	}
	said := wire.APIKeyPut{Op: b.Op, Key: b.Key, Overlap: b.Overlap, Operator: b.Operator}
	who, counts = m.rulebook.desk.settlePersons(&act{
		kind: wire.KindAPIKey, names: engine.ActKeyCreate, said: &said, record: &said, event: leaf.ActProposed{Kind: kind, KeyID: b.Key.ID},
	}, &b.Common, r)
	maker := mine.String()
	if len(who.Persons) > 0 {
		maker = who.Persons[0] // The proposer has the secret; who confirms has not.
	}
	if changed.ChangedAt, changed.MadeBy = max(m.now, changed.OldUntil), maker; maker == (wire.Subject{}).String() {
		changed.MadeBy = ""
	}
	if changed.SignedIn != "" {
		changed.MadeBy = "" // Nobody but the person gets the secret of a sign-in.
	}
	return who, counts
}

func (m *keys) createKey(b *wire.APIKeyPut, keys []*wire.APIKey, at int) (string, wire.APIKey, wire.Refusal) {
	switch {
	case at >= 0:
		return "", b.Key, wire.RefusedExists
	case len(keys) >= m.limits.APIKeys:
		return "", b.Key, wire.RefusedFull
	case !m.soundAPIKey(&b.Key) || b.Key.SignedIn != "" || !wire.MayHold(b.Key.Owner, b.Key.Roles), !soundOwner(b.Key.Owner),
		b.Operator != (wire.OperatorRef{}) && (b.Key.Owner != "" || b.Key.Roles&^wire.RolesOfOutsiders != 0):
		return "", b.Key, wire.RefusedMalformed
	case hashKnown(keys, b.Key.Hashes[0]):
		return "", b.Key, wire.RefusedExists
	}
	return "key.created", b.Key, 0
}

// soundOwner tells whether a new key may name its owner: nobody but the institution ("") and
// callers. An operator is named by APIKeyPut.Operator.
func soundOwner(owner string) bool {
	return owner == "" || strings.HasPrefix(owner, wire.OwnerCallerPrefix) && len(owner) > len(wire.OwnerCallerPrefix)
}

// hashKnown tells whether a key already has this secret. A secret must belong to one key only.
func hashKnown(keys []*wire.APIKey, wanted []byte) bool {
	for _, key := range keys {
		for _, hash := range key.Hashes {
			if bytes.Equal(hash, wanted) {
				return true
			}
		}
	}
	return false
}

// signingNotice is how long a new signing key is published before it signs.
const signingNotice = engine.DayLength

// applySigningKey adds or revokes a signing key. After a revocation, or when a key signs at
// once, it moves the policy's version, so that what edges judged before is stale. A key that
// waits a day needs no move: every edge knows it before it signs.
func (m *keys) applySigningKey(b *wire.SigningKeyPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	at := -1
	for i, key := range m.settings.SigningKeys {
		if key.KID == b.Key.KID {
			at = i
		}
	}
	next := append([]*wire.SigningKey(nil), m.settings.SigningKeys...)
	kind := "signing_key.added"
	var changed wire.SigningKey
	switch {
	case b.Op == wire.SigningAdd && at >= 0:
		refuse(r, wire.RefusedExists)
		return
	case b.Op == wire.SigningAdd && len(next) >= m.limits.SigningKeys:
		refuse(r, wire.RefusedFull)
		return
	case b.Op == wire.SigningAdd && !m.soundSigningKey(&b.Key):
		refuse(r, wire.RefusedMalformed)
		return
	case b.Op == wire.SigningAdd:
		changed = b.Key
		changed.RevokedAt, changed.ActivateAt = 0, m.now
		if !b.Now {
			changed.ActivateAt = m.now + signingNotice
		}
		next = append(next, &changed)
		m.remindOfSigningKey(&changed)
	case b.Op == wire.SigningRevoke && at >= 0 && next[at].RevokedAt == 0:
		kind, changed = "signing_key.revoked", *next[at]
		changed.RevokedAt = m.now
		next[at] = &changed
		if changed.For == wire.ForCredentials {
			m.registry.allStatusesMoved()
		}
	default:
		refuse(r, wire.RefusedNotFound)
		return
	}
	m.editSettings().SigningKeys = next
	if changed.For == wire.ForCredentials && (b.Op == wire.SigningRevoke || b.Now) { // Edges check tokens with this key, so calls in progress must be judged again.
		m.rulebook.movePolicy()
	}
	m.writeEvent(kind, leaf.SigningKeyChanged{KID: changed.KID, ActivateAt: changed.ActivateAt}, &b.Common, r)
}

// applyCleared adds or removes a cleared pair. Either moves the version of the cleared pairs, so
// that calls that they may have a say in are judged again (isStale), and no others.
func (m *rulebook) applyCleared(b *wire.ClearedPut, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	old := m.settings.Cleared
	next := make([]*wire.ClearedPair, 0, len(old)+1)
	found := false
	for _, pair := range old {
		if b.Remove && pair.ID == b.Pair.ID {
			found = true
			continue
		}
		if pair.ExpiresAt == 0 || pair.ExpiresAt > m.now {
			next = append(next, pair)
		}
	}
	pair := b.Pair
	var who leaf.Persons
	switch {
	case b.Remove && !found:
		refuse(r, wire.RefusedNotFound)
		return
	case !b.Remove && len(next) >= m.limits.Cleared:
		refuse(r, wire.RefusedFull)
		return
	case !b.Remove:
		said := wire.ClearedPut{Pair: b.Pair}
		var counts bool
		if who, counts = m.desk.settlePersons(&act{
			kind: wire.KindCleared, names: engine.ActClear, said: &said, record: &said, event: leaf.ActProposed{Kind: "cleared.added"},
		}, &b.Common, r); !counts {
			return
		}
		pair.ID, pair.At = m.settings.ClearedLast+1, m.now // Each change raises ClearedLast, so no id is given out twice.
		next = append(next, &pair)
		m.calendar.addReminder(pair.ExpiresAt, leaf.DueCleared, uint64(pair.ID), 0)
	}
	s := m.editSettings()
	s.Cleared = next
	s.ClearedLast++
	kind := "cleared.added"
	if b.Remove {
		kind = "cleared.removed"
	}
	m.desk.writeAct(kind, leaf.PairChanged{Pair: leaf.Pair{ID: uint64(pair.ID)}, Persons: who}, &who, &b.Common, r)
}

// movePolicy gives the policy a new version and changes nothing else.
func (m *rulebook) movePolicy() {
	s := m.editSettings()
	policy := *s.Policy
	policy.Version++
	s.Policy = &policy
}

func (m *core) applyClock(b *wire.Clock, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !m.settings.Genesis.TestClock {
		refuse(r, wire.RefusedNotDev)
		return
	}
	if b.Advance <= 0 || b.Advance > 1000*engine.DayLength || m.settings.ClockOffset > 20_000*engine.DayLength {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.editSettings().ClockOffset += b.Advance
	m.now += b.Advance
	m.lived += b.Advance // Whoever moves the test clock wants the days to have passed.
	r.Time = m.now
	m.writeEvent("clock.advanced", leaf.ClockAdvanced{LogTime: m.now}, &b.Common, r)
}

// applyTime lets log time leap up to an instant. It moves nothing itself: the leader's next stamp
// does, if the clocks of a quorum say so too. Two persons must do it, whatever the policy says: a
// leap begins the day's limits anew and ends credentials.
func (m *Machine) applyTime(b *wire.TimeConfirm, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch until := m.settings.LeapUntil; {
	case b.NotAfter <= 0:
		refuse(r, wire.RefusedMalformed)
		return
	case b.NotAfter <= until || b.NotAfter+m.settings.ClockOffset <= m.now:
		r.Code = wire.Unchanged
		return
	}
	said := wire.TimeConfirm{NotAfter: b.NotAfter}
	who, counts := m.desk.settlePersons(&act{
		kind: wire.KindTime, names: engine.ActTime, always: true, said: &said, record: &said, whole: true,
		event: leaf.ActProposed{Kind: leaf.KindTimeConfirmed},
	}, &b.Common, r)
	if !counts {
		return
	}
	m.allowLeap(b.NotAfter)
	m.desk.writeAct(leaf.KindTimeConfirmed, leaf.TimeConfirmed{LeapUntil: b.NotAfter, LogTime: m.now, Persons: who}, &who, &b.Common, r)
}

func (m *core) allowLeap(until engine.Time) { m.editSettings().LeapUntil = until }

// applyFormat raises the format; it never falls.
func (m *core) applyFormat(b *wire.FormatRaise, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	switch {
	case b.To > engine.FormatNewest:
		m.out.Stop = "format raised above what this binary knows: upgrade this node"
	case b.To <= m.format:
		r.Code = wire.Unchanged
	default:
		m.format, m.limits = b.To, engine.LimitsOf(b.To)
		m.editSettings().Format = b.To
		m.writeEvent("format.raised", leaf.FormatRaised{Format: uint16(b.To)}, &b.Common, r)
	}
}

// applyNote writes a leaf. A note about the recovery of a lost majority also begins a new
// line of the log.
func (m *Machine) applyNote(b *wire.Note, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	if !eventOf(b.Event, "agent.", leaf.Note{}) && !eventOf(b.Event, "user.", leaf.Note{}) && b.Event != wire.EventReconciled && b.Event != wire.EventRecovered {
		refuse(r, wire.RefusedMalformed)
		return
	}
	if b.Event == wire.EventRecovered && b.Lineage != "" {
		m.applyRecovered(b, r)
		return
	}
	if b.Event == wire.EventReconciled {
		m.writeEvent(leaf.KindReconciled, leaf.Reconciled{}, &b.Common, r)
		return
	}
	m.writeNamed(b.Event, leaf.Note{}, &b.Common, r)
}

// applyMember remembers the incarnation of a node that was removed or superseded. No node of
// the cluster admits it again, and a node that finds its own incarnation here stops. In a
// full list the oldest one is dropped. Of a member that a caller changes otherwise it writes the
// leaf alone.
func (m *core) applyMember(b *wire.Member, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	gone := b.Incarnation != ""
	if b.ID == "" || len(b.ID) > m.limits.KeyIDBytes || len(b.Incarnation) > m.limits.KeyIDBytes || gone == isMemberChange(b.Change) || gone && b.Change != "" {
		refuse(r, wire.RefusedMalformed)
		return
	}
	subject := ""
	if key := b.Key; key != nil && key.Row != 0 && int(key.Row) <= len(m.settings.Keys) {
		subject = m.settings.Keys[key.Row-1].Subject().String()
	}
	if !gone {
		m.writeEvent("cluster.member_changed", leaf.MemberChanged{NodeID: b.ID, Change: b.Change, Subject: subject}, &b.Common, r)
		return
	}
	for _, gone := range m.settings.Removed {
		if gone.Incarnation == b.Incarnation {
			r.Code, r.Time = wire.Unchanged, gone.At
			return
		}
	}
	removed := append([]*wire.Removed(nil), m.settings.Removed...)
	if len(removed) >= m.limits.Removed {
		removed = removed[1:]
	}
	m.editSettings().Removed = append(removed, &wire.Removed{ID: b.ID, Incarnation: b.Incarnation, At: m.now})
	m.writeEvent("cluster.member_removed", leaf.MemberRemoved{NodeID: b.ID, Incarnation: b.Incarnation, Subject: subject}, &b.Common, r)
}

func isMemberChange(change string) bool {
	return change == wire.MemberAdmitted || change == wire.MemberPromoted || change == wire.MemberDemoted
}
