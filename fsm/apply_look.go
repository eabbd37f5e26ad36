package fsm

import (
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// applyLooks writes what a node counted: a leaf for each API key, kind of look and hour. It keeps
// the hour in which each key was last used, and opens alerts about what a key must not do often.
func (m *keys) applyLooks(b *wire.Looks, r *wire.Result) {
	if m.refuseOrReplay(&b.Common, r) {
		return
	}
	known := m.inForce().Keys
	if !m.soundLooks(b, uint64(len(known))) {
		refuse(r, wire.RefusedMalformed)
		return
	}
	m.noteUse(b.Used, known)
	if len(b.Rows) == 0 {
		r.Code = wire.Unchanged
		return
	}
	for i := range b.Rows {
		var key *wire.APIKey
		if row := b.Rows[i].Key; row != 0 {
			key = known[row-1]
		}
		m.writeLook(b.Node, &b.Rows[i], key, r)
	}
	m.rememberCall(b.Idem, r.Leaf)
}

func (m *keys) soundLooks(b *wire.Looks, known uint64) bool {
	if b.Node == "" || len(b.Node) > m.limits.KeyIDBytes || len(b.Rows) > m.limits.RecordTargets || len(b.Used) > m.limits.RecordTargets ||
		len(b.Rows)+len(b.Used) == 0 {
		return false
	}
	for i := range b.Rows {
		row := &b.Rows[i]
		if leaf.LookName(row.Kind) == "" || row.Count == 0 || row.Hour < 0 || uint64(row.Key) > known || (row.Key == 0) != (row.Kind == wire.LookAdminToken) ||
			(row.UID != 0) != (row.Kind == wire.LookProbe) || row.Reason != "" && row.Kind != wire.LookExport || len(row.Reason) > m.limits.FieldBytes || len(row.First) > m.limits.FieldBytes || len(row.Last) > m.limits.FieldBytes {
			return false
		}
	}
	for i := range b.Used {
		if used := &b.Used[i]; used.Key == 0 || uint64(used.Key) > known || used.Hour < 0 {
			return false
		}
	}
	return true
}

// hourOf returns the beginning of the hour of a time. A node's clock may be ahead of log time,
// and nothing was looked at or used after now.
func (m *core) hourOf(at engine.Time) engine.Time { return min(at, m.now) / engine.Hour * engine.Hour }

// noteUse keeps when keys were last used. It is no change of a key: revisions stay.
func (m *keys) noteUse(used []wire.KeyUsed, known []*wire.APIKey) {
	next := append([]*wire.APIKey(nil), known...)
	changed := false
	for i := range used {
		at, hour := used[i].Key-1, m.hourOf(used[i].Hour)
		if next[at].UsedAt >= hour {
			continue
		}
		key := *next[at]
		key.UsedAt = hour
		next[at], changed = &key, true
	}
	if changed {
		m.editSettings().Keys = next
	}
}

// writeLook writes the leaf of a row, and opens the alert that it is a reason for. key is nil for
// the admin token.
func (m *keys) writeLook(node string, row *wire.Look, key *wire.APIKey, r *wire.Result) {
	event := leaf.Looked{
		Look: leaf.LookName(row.Kind), Node: node, Hour: m.hourOf(row.Hour), Count: row.Count,
		FirstAddress: row.First, LastAddress: row.Last, UID: row.UID, Reason: row.Reason,
	}
	if key != nil {
		event.KeyID, event.Subject = key.ID, key.Subject().String()
	}
	m.writeEvent(leaf.KindLooked, event, &wire.Common{}, r)
	a := alarm{event: leaf.AlertOpened{LookedBy: event.KeyID, LookedOn: node, LookedAt: event.Hour, LookCount: row.Count, UID: row.UID}}
	a.owner = m.ownerAt(row.Key)
	switch {
	case row.Kind == wire.LookAdminToken:
		a.kind, a.subject = wire.AlertToken, uint64(event.Hour/engine.Hour)
	case row.Kind == wire.LookDryRun && int(row.Count) >= m.limits.DryRuns && !seesMatches(key):
		a.kind, a.subject = wire.AlertDryRuns, uint64(event.Hour.Day())<<keyBits|uint64(row.Key)
	case row.Kind == wire.LookProbe && !seesMatches(key):
		day := uint64(event.Hour.Day()) % (1 << dayBits)
		a.kind, a.subject = wire.AlertProbe, day<<(keyBits+uidBits)|uint64(row.UID)<<keyBits|uint64(row.Key)
	default:
		return
	}
	m.rulebook.desk.openAlert(&a, &wire.Common{})
}

// Bits in the subject of an alert, which has 56: for the row of a key, for a listed party, and for
// a day, which comes again after 1,024 days.
const (
	keyBits = 14
	uidBits = 32
	dayBits = 10
)

// seesMatches reports whether a key is shown matches with the list anyway. It learns nothing by
// trying names.
func seesMatches(key *wire.APIKey) bool {
	return key.Owner == "" && key.Roles&(wire.RoleReviewer|wire.RoleAuditor|wire.RolePolicy|wire.RoleAdmin) != 0
}

// isAboutLook reports whether alerts of a kind are about what a key or an admin token did. Their
// subjects are no leaves: the hour, or the key with the day and a listed party.
func isAboutLook(kind uint8) bool {
	return kind == wire.AlertToken || kind == wire.AlertDryRuns || kind == wire.AlertProbe
}
