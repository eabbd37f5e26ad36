package fsm

import (
	"github.com/transparency-dev/merkle/compact"

	"railguard/audit/merkle"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// core is what all parts share: the entry that is being applied, log time, the settings, ids,
// and the leaves that are written. A part may read all of it. Only the core's own methods
// change it, except for the settings, where each field has one owner
// (TestPartsOwnTheirFields).
type core struct {
	format engine.Format
	index  uint64
	term   uint64
	now    engine.Time    // Log time: the highest stamp seen.
	lived  engine.Time    // How much of log time the group lived through; a leap adds an hour at most.
	limits *engine.Limits // The limits of the format.

	settings *Settings // Immutable; changed through editSettings.
	edited   bool      // The entry being applied has replaced settings.

	*coreTables
	idemByKey map[[16]byte]uint64 // Position in idem; rebuilt by Restore, never iterated.
	keysFrom  uint64              // The leaf from which on idem has the Idempotency-Key of every call; see replayCall.

	owners  owners                        // Follows from the settings.
	counted [wire.SharedTables + 1]shares // Counted from the rows.

	ids      *IDs
	ratchet  leaf.Ratchet // Salts of leaves.
	frontier *compact.Range
	size     uint64 // The number of leaves written.
	oldest   uint64 // First leaf within retention.

	hash        merkle.Hasher
	filterBlock []uint64 // The unused rest of the block for filters.
	out         *Effects // Only during Apply.
	identity    *identity
}

// coreTables holds the tables that every record and every leaf uses.
type coreTables struct {
	idem Table[idemRow, idemPage] // The newest idempotency keys, in the order of their calls.
	days Table[dayRow, dayPage]   // The first leaf of each UTC date.
}

var coreDeclarations = []declaration{
	&tableOf[idemRow, idemPage]{
		section: section{number: sectionIdempotency, most: func(l *engine.Limits) int { return l.Idempotency }},
		of:      func(t *tables) *Table[idemRow, idemPage] { return &t.idem }, code: codeIdemRow, queue: true,
		fits:   func(m *Machine) fitting[idemRow] { return m.fitsKey },
		over:   func(m *Machine, row *idemRow) bool { return row.At+m.limits.IdempotencyKept <= m.now },
		forget: func(m *Machine) { m.forgetOldestKey() },
	},
	&tableOf[dayRow, dayPage]{
		section: section{number: sectionDays, most: func(*engine.Limits) int { return 1 << 20 }},
		of:      func(t *tables) *Table[dayRow, dayPage] { return &t.days }, code: codeDayRow, queue: true,
		fits: func(m *Machine) fitting[dayRow] { return m.fitsDay },
	},
}

func codeIdemRow(c *coder, row *idemRow) {
	c.codeRaw(row.Key[:])
	c.codeRaw(row.Body[:])
	codeUnsigned(c, &row.Leaf)
	codeSigned(c, &row.At)
}

func codeDayRow(c *coder, row *dayRow) {
	codeUnsigned(c, &row.Day)
	codeUnsigned(c, &row.First)
	codeSigned(c, &row.Ends)
}

type idemRow struct {
	Key  [16]byte
	Body [16]byte
	Leaf uint64
	At   engine.Time
}

type dayRow struct {
	Day   engine.Day
	First uint64 // First leaf of that UTC date.
	// Ends is the lived time at which the date ends if all of it is lived through from the first
	// leaf on. Lived time never runs faster than log time, so no leaf of the date is younger.
	Ends engine.Time
}

// beginCluster takes over the ids' key and the salts' key from the genesis.
func (m *core) beginCluster(b *wire.Genesis) {
	m.ratchet = leaf.Ratchet{Key: b.SaltKey}
	m.ratchet.Turn(m.now.Day())
	genesis := *b
	genesis.SaltKey = [16]byte{} // The ratchet has moved on from this key, and nobody may find it again.
	m.replaceGenesis(&genesis)
	m.beginIDs()
}

func (m *core) replaceGenesis(genesis *wire.Genesis) { m.editSettings().Genesis = genesis }

// beginIDs makes the ids from the cluster's key and its epochs.
func (m *core) beginIDs() {
	if m.settings.Genesis != nil {
		m.ids = NewIDs(m.settings.Genesis.IDKey, m.settings.Epochs...)
	}
}

func (m *core) nameLineage(lineage string) { m.editSettings().Lineage = lineage }

// enterEpoch begins an epoch of ids.
func (m *core) enterEpoch(epoch *wire.Epoch) {
	s := m.editSettings()
	s.Epochs = append(append([]*wire.Epoch(nil), s.Epochs...), epoch)
	m.beginIDs()
}

// callerKey returns the API key that a record was admitted with, or nil for the node itself
// and for the person at its own machine. The key must not have moved.
func (m *core) callerKey(common *wire.Common) *wire.APIKey {
	if common.Key == nil || *common.Key == (wire.KeyRef{}) {
		return nil
	}
	return m.keyAt(common.Key.Row)
}

// keyAt returns the API key of a row, nil if there is none.
func (m *core) keyAt(row uint32) *wire.APIKey {
	if row == 0 || uint64(row) > uint64(len(m.settings.Keys)) {
		return nil
	}
	return m.settings.Keys[row-1]
}

// keyRow returns the row of the API key that a call came with; 0: the node itself.
func keyRow(common *wire.Common) uint32 {
	if common.Key == nil {
		return 0
	}
	return common.Key.Row
}

// isInstitutions tells whether a record comes from the node itself or from a key without an
// operator's scope.
func (m *core) isInstitutions(common *wire.Common) bool {
	key := m.callerKey(common)
	return key == nil || key.Owner == ""
}

// isOfficers tells whether a record comes from the node itself, or from a key without an
// operator's scope that has the role policy or admin.
func (m *core) isOfficers(common *wire.Common) bool {
	key := m.callerKey(common)
	return key == nil || key.Owner == "" && key.Roles&(wire.RolePolicy|wire.RoleAdmin) != 0
}

// policy returns the policy in force.
func (m *core) policy() *engine.Policy { return m.settings.Policy }

// ownerOf returns the owner of a row of the API keys, "" for the institution. It returns false
// if there is no such key, so that nobody knows whose call it was.
func (m *core) ownerOf(row uint32) (owner string, known bool) {
	if row == 0 {
		return "", true // The node itself.
	}
	key := m.keyAt(row)
	if key == nil {
		return "", false
	}
	return key.Owner, true
}

// settlesFor tells whether a record comes from a key that may say what became of a payment that
// another key screened (decision 94). It has the role settler, is its owner's or the
// institution's, and is none with which that owner can screen too.
func (m *core) settlesFor(common *wire.Common, screener uint32) bool {
	key := m.callerKey(common)
	if key == nil || key.Roles&wire.RoleSettler == 0 || keyRow(common) == screener {
		return false
	}
	owner, known := m.ownerOf(screener)
	if known && owner != key.Owner {
		return key.Owner == ""
	}
	return key.Roles&(wire.RoleScreener|wire.RoleGateway|wire.RoleAdmin) == 0 && (known || key.Owner == "")
}

// recordEnds returns when the retention of a record ends if the group lives through the time
// until then; otherwise it ends later. It is now if it is over already.
func (m *core) recordEnds(record uint64) engine.Time {
	at, first := searchReviews(m.days.First(), m.days.Next(), record, func(i uint64) uint64 { return m.days.At(i).First })
	if !first {
		at--
	}
	if !m.days.Has(at) {
		return m.now
	}
	return m.now + max(m.days.At(at).Ends+m.limits.Retention-m.lived, 0)
}

// expireDays forgets the days whose leaves have expired: the group has lived through 90 days
// since the day's end. A leap of log time brings no leaf nearer to that, so wrong clocks erase
// nothing (decision 111).
func (m *core) expireDays() {
	for n := 0; n < m.limits.ForgottenAtOneTime && m.days.Len() > 0; n++ {
		if m.lived < m.days.At(m.days.First()).Ends+m.limits.Retention {
			return
		}
		m.days.DropFront()
		m.oldest = m.size
		if m.days.Len() > 0 {
			m.oldest = m.days.At(m.days.First()).First
		}
	}
}

// oldestDay returns the date of the oldest leaves within retention; without any, today's.
func (m *core) oldestDay(now engine.Time) engine.Day {
	if m.days.Len() == 0 {
		return now.Day()
	}
	return m.days.At(m.days.First()).Day
}

func (m *core) enterEntry(index, term uint64, out *Effects) {
	m.index, m.term, m.out = index, term, out
}

// moveTime moves log time on to an entry's stamp; log time never goes back. Of the time between
// two entries, an hour at most counts as lived through: while a group serves it ticks every
// second, so more than that is an outage or a wrong clock, and nobody can tell which.
func (m *core) moveTime(stamp engine.Time) {
	now := max(m.now, stamp+m.settings.ClockOffset)
	m.lived += min(now-m.now, m.limits.LivedAtOnce)
	m.now = now
}

// liveThrough counts a time as lived through that entries do not show.
func (m *core) liveThrough(span engine.Time) { m.lived += max(span, 0) }

// leaveEntry ends the entry and publishes the settings that it changed.
func (m *core) leaveEntry() {
	m.out.Time, m.out.Oldest, m.out.OldestDay, m.out.KeysFrom = m.now, m.oldest, m.oldestDay(m.now), m.keysFrom
	if m.edited {
		m.edited, m.out.Settings = false, m.settings
	}
	m.out = nil
}

// editSettings returns settings that this entry may change.
func (m *core) editSettings() *Settings {
	if !m.edited {
		clone := *m.settings
		clone.Index = m.index
		m.settings, m.edited = &clone, true
	}
	return m.settings
}

// keyMoved tells whether an API key was changed or revoked, or has expired by log time, since
// a record was admitted with it.
func (m *core) keyMoved(ref wire.KeyRef) bool {
	if ref == (wire.KeyRef{}) {
		return false // The node itself.
	}
	key := m.keyAt(ref.Row)
	return key == nil || key.Rev != ref.Rev || key.RevokedAt != 0 || key.ExpiresAt != 0 && m.now >= key.ExpiresAt
}

// refuseOrReplay refuses a record if its API key has moved or its part of the leaf is too
// long, and answers a repeated keyed call as before. It returns true if r holds the answer.
func (m *core) refuseOrReplay(common *wire.Common, r *wire.Result) bool {
	if common.Key != nil && m.keyMoved(*common.Key) {
		r.Code = wire.KeyMoved
		return true
	}
	if !m.fitsLeaf(common.Fragment, common.Filters) {
		refuse(r, wire.RefusedMalformed)
		return true
	}
	return m.replayCall(common.Idem, r)
}

// replayCall answers a repeated keyed call with the result of the first one. It returns true if r
// holds the answer.
//
// The state has the keys of the newest calls only (decision 125). The key of an older call is
// found by the edge, in files beside the state, and the record says up to which leaf it looked. A
// record whose edge looked less far than the state needs is stale: its edge looks again.
func (m *core) replayCall(idem *wire.Idem, r *wire.Result) bool {
	if idem == nil {
		return false
	}
	first, at, same := idem.Found, idem.FoundAt, !idem.Differs
	if place, known := m.idemByKey[idem.Key]; known {
		row := m.idem.At(place)
		first, at, same = row.Leaf+1, row.At, row.Body == idem.Body
	} else if idem.Looked < m.keysFrom {
		r.Code, r.Value = wire.Stale, m.keysFrom
		return true
	}
	switch {
	case first == 0:
		return false
	case first > m.size:
		refuse(r, wire.RefusedMalformed)
		return true
	}
	r.Leaf, r.Time = first-1, at
	r.Code = wire.Replayed
	if !same {
		r.Code = wire.Conflict
	}
	return true
}

// rememberCall keeps an idempotency key with the leaf its call wrote.
func (m *core) rememberCall(idem *wire.Idem, leaf uint64) {
	if idem == nil {
		return
	}
	if m.idem.Len() >= m.limits.Idempotency { // From now on the oldest key is found in the files alone.
		m.keysFrom = m.idem.At(m.idem.First()).Leaf + 1
		m.forgetOldestKey()
	}
	m.idemByKey[idem.Key] = m.idem.Append(idemRow{Key: idem.Key, Body: idem.Body, Leaf: leaf, At: m.now})
}

func (m *core) forgetOldestKey() {
	delete(m.idemByKey, m.idem.At(m.idem.First()).Key)
	m.idem.DropFront()
}
