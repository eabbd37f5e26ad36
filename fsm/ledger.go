package fsm

import (
	"encoding/binary"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// ledger is the part that knows payments: it decides screening calls, and keeps holds,
// endings, references, activity and the pairs of R25.
type ledger struct {
	*core
	*ledgerTables
	registry *registry
	desk     *desk

	// Rebuilt by Restore, never iterated.
	structuringBy map[structuringKey]uint64
	holdAt        map[uint64]uint64 // By the screening record's leaf.
	outcomeAt     map[uint64]uint64 // Likewise.
	referenceAt   map[engine.ReferenceKey]uint64

	// Reused by applyScreen.
	screen      wire.Screen
	moment      engine.Moment
	written     leaf.Screen
	recordBlock []byte // The block that records are cut from, up to where it is taken.
}

func newLedger(c *core, t *ledgerTables, registry *registry) *ledger {
	return &ledger{
		core: c, ledgerTables: t, registry: registry,
		structuringBy: map[structuringKey]uint64{}, holdAt: map[uint64]uint64{}, outcomeAt: map[uint64]uint64{},
		referenceAt: map[engine.ReferenceKey]uint64{},
	}
}

// ledgerTables are the tables of payments: open holds, how payments ended, the payment
// references that were used, what agents did of late, and the pairs of R25.
type ledgerTables struct {
	holds       Table[holdRow, holdPage] // From position 1 on: a binary heap by expiry and leaf.
	outcomes    Table[outcomeRow, outcomePage]
	references  Table[referenceRow, referencePage]
	activity    Table[activityRow, activityPage]       // From position 1 on, in no order.
	structuring Table[structuringRow, structuringPage] // From position 1 on, in no order.

	bandEnds      bandEnds // Of structuring; follows from its rows.
	activitySweep uint64   // The next row of activity that retention looks at.
}

var ledgerDeclarations = []declaration{
	&tableOf[activityRow, activityPage]{
		section: sectionActivity, of: func(t *tables) *Table[activityRow, activityPage] { return &t.activity },
		codec: codec[activityRow]{appendActivityRow, readActivityRow}, from: 1,
		most: func(l *engine.Limits) int { return l.Agents },
	},
	&tableOf[structuringRow, structuringPage]{
		section: sectionStructuring, of: func(t *tables) *Table[structuringRow, structuringPage] { return &t.structuring },
		codec: codec[structuringRow]{appendStructuringRow, readStructuringRow}, from: 1,
		most:   func(l *engine.Limits) int { return l.Structuring },
		over:   func(m *Machine, row *structuringRow) bool { return m.ledger.bandOver(row) },
		oldest: func(t *tables) uint64 { return t.bandEnds.oldest }, forget: func(m *Machine) { m.ledger.dropOldestBand() },
	},
	&tableOf[holdRow, holdPage]{
		section: sectionHolds, of: func(t *tables) *Table[holdRow, holdPage] { return &t.holds },
		codec: codec[holdRow]{appendHoldRow, readHoldRow}, from: 1,
		most: func(l *engine.Limits) int { return l.Holds }, shownAs: "holds",
	},
	&tableOf[outcomeRow, outcomePage]{
		section: sectionOutcomes, of: func(t *tables) *Table[outcomeRow, outcomePage] { return &t.outcomes },
		codec: codec[outcomeRow]{appendOutcomeRow, readOutcomeRow}, queue: 5,
		most:   func(l *engine.Limits) int { return l.Outcomes },
		over:   func(m *Machine, row *outcomeRow) bool { return row.Later < m.oldest },
		forget: func(m *Machine) { m.ledger.forgetOutcome() },
	},
	&tableOf[referenceRow, referencePage]{
		section: sectionReferences, of: func(t *tables) *Table[referenceRow, referencePage] { return &t.references },
		codec: codec[referenceRow]{appendReferenceRow, readReferenceRow}, queue: 6,
		most:   func(l *engine.Limits) int { return l.References },
		over:   func(m *Machine, row *referenceRow) bool { return m.ledger.referenceOver(row) },
		forget: func(m *Machine) { m.ledger.forgetReference() },
	},
}

// bandEnds are the positions of the oldest and the newest pair; 0 where there are
// none.
type bandEnds struct{ oldest, newest uint64 }

// holdRow is one open hold.
type holdRow struct {
	Leaf      uint64 // The screening record.
	ExpiresAt engine.Time
	Amount    engine.USD
	Reference engine.ReferenceKey // Zero: none was given.
	Agent     engine.AgentSlot
	Fleet     engine.FleetSlot // Of the agent's root when the payment was held.
	Day       engine.Day       // The date it counts on.
}

// HoldState is where a payment stands that was held, settled or released.
type HoldState uint8

// The states; a number is for ever.
const (
	HoldOpen     HoldState = 0
	HoldSettled  HoldState = 1
	HoldReleased HoldState = 2
	HoldExpired  HoldState = 3
)

var holdStates = [...]string{HoldOpen: "held", HoldSettled: "settled", HoldReleased: "released", HoldExpired: "expired"}

// String is the word of the API.
func (s HoldState) String() string { return holdStates[s] }

// outcomeRow says how a payment ended, in the order of the leaves that say so.
type outcomeRow struct {
	Leaf  uint64 // The screening record.
	Later uint64 // The leaf that ended it.
	Late  uint64 // Of a settle after a release or an expiry; 0: there was none.
	At    engine.Time
	State HoldState
}

// referenceRow is a payment reference that was used, in the order of use.
type referenceRow struct {
	Key  engine.ReferenceKey // Zero: it is free again.
	Leaf uint64              // The screening record that used it.
	At   engine.Time
}

func appendHoldRow(dst []byte, row *holdRow) []byte {
	dst = binary.AppendUvarint(dst, row.Leaf)
	dst = binary.AppendVarint(dst, int64(row.ExpiresAt))
	dst = binary.AppendVarint(dst, int64(row.Amount))
	dst = append(dst, row.Reference[:]...)
	dst = binary.AppendUvarint(dst, uint64(row.Agent))
	dst = binary.AppendUvarint(dst, uint64(row.Fleet))
	return binary.AppendUvarint(dst, uint64(row.Day))
}

func readHoldRow(r *rowReader) (row holdRow) {
	row.Leaf, row.ExpiresAt, row.Amount = r.unsigned(), r.time(), engine.USD(r.signed())
	r.fill(row.Reference[:])
	row.Agent, row.Fleet, row.Day = engine.AgentSlot(r.unsigned()), engine.FleetSlot(r.unsigned()), engine.Day(r.unsigned())
	if row.Amount < 0 {
		r.bad = true
	}
	return row
}

func appendOutcomeRow(dst []byte, row *outcomeRow) []byte {
	dst = binary.AppendUvarint(dst, row.Leaf)
	dst = binary.AppendUvarint(dst, row.Later)
	dst = binary.AppendUvarint(dst, row.Late)
	return append(binary.AppendVarint(dst, int64(row.At)), byte(row.State))
}

func readOutcomeRow(r *rowReader) outcomeRow {
	row := outcomeRow{Leaf: r.unsigned(), Later: r.unsigned(), Late: r.unsigned(), At: r.time(), State: HoldState(r.byte())}
	if row.State == HoldOpen || row.State > HoldExpired {
		r.bad = true
	}
	return row
}

func appendReferenceRow(dst []byte, row *referenceRow) []byte {
	dst = append(dst, row.Key[:]...)
	return binary.AppendVarint(binary.AppendUvarint(dst, row.Leaf), int64(row.At))
}

func readReferenceRow(r *rowReader) (row referenceRow) {
	r.fill(row.Key[:])
	row.Leaf, row.At = r.unsigned(), r.time()
	return row
}

// appendActivityRow writes of the three rings only the buckets that counted.
func appendActivityRow(dst []byte, row *activityRow) []byte {
	dst = binary.AppendUvarint(dst, uint64(row.Agent))
	dst = appendUse(dst, &row.Judged)
	dst = binary.AppendVarint(dst, row.Velocity.Second)
	dst = appendRing(dst, row.Velocity.Seconds[:])
	dst = appendRing(dst, row.Velocity.Minutes[:])
	return appendRing(dst, row.Velocity.Hours[:])
}

func readActivityRow(r *rowReader) (row activityRow) {
	row.Agent, row.Judged = engine.AgentSlot(r.unsigned()), readUse(r)
	if row.Velocity.Second = r.signed(); row.Velocity.Second <= 0 {
		r.bad = true
	}
	readRing(r, row.Velocity.Seconds[:])
	readRing(r, row.Velocity.Minutes[:])
	readRing(r, row.Velocity.Hours[:])
	return row
}

// appendRing writes how many buckets are not empty, and of each how many empty ones
// stand before it and its count.
func appendRing[N uint16 | uint32](dst []byte, ring []N) []byte {
	filled := 0
	for _, n := range ring {
		if n != 0 {
			filled++
		}
	}
	dst = append(dst, byte(filled))
	gap := byte(0)
	for _, n := range ring {
		if n == 0 {
			gap++
			continue
		}
		dst = binary.AppendUvarint(append(dst, gap), uint64(n))
		gap = 0
	}
	return dst
}

func readRing[N uint16 | uint32](r *rowReader, ring []N) {
	at := 0
	for range r.byte() {
		at += int(r.byte())
		n := r.unsigned()
		if at >= len(ring) || n == 0 || uint64(N(n)) != n {
			r.bad = true
			return
		}
		ring[at] = N(n)
		at++
	}
}

func appendStructuringRow(dst []byte, row *structuringRow) []byte {
	dst = binary.AppendUvarint(dst, uint64(row.Key.Root))
	dst = append(dst, row.Key.Party[:]...)
	dst = binary.AppendUvarint(dst, uint64(row.Older))
	dst = binary.AppendUvarint(dst, uint64(row.Newer))
	dst = append(dst, row.Band.Next)
	for _, at := range row.Band.Times {
		dst = binary.AppendVarint(dst, int64(at))
	}
	return dst
}

func readStructuringRow(r *rowReader) (row structuringRow) {
	row.Key.Root = engine.AgentSlot(r.unsigned())
	r.fill(row.Key.Party[:])
	row.Older, row.Newer = uint32(r.unsigned()), uint32(r.unsigned())
	row.Band.Next = r.byte()
	if row.Band.Next >= engine.StructuringCallsMax {
		r.bad = true
	}
	for i := range row.Band.Times {
		row.Band.Times[i] = r.time()
	}
	return row
}

// activityRow is what an agent did of late. Only agents that were screened within
// the last 24 hours have one.
type activityRow struct {
	Agent    engine.AgentSlot
	Judged   engine.ProfileUse
	Velocity engine.VelocityRow
}

type structuringKey struct {
	Root  engine.AgentSlot
	Party engine.PartyKey
}

type structuringRow struct {
	Key   structuringKey
	Older uint32 // The pair whose newest call came before this one's; 0: none did.
	Newer uint32
	Band  engine.BandRow
}
