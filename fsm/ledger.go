package fsm

import (
	"slices"

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
	officers officers
	holdHeap heapOf[holdRow, holdPage]

	// Rebuilt by Restore, never iterated.
	structuringBy map[structuringKey]uint64
	holdAt        map[uint64]uint64 // Position in holds, by the leaf of the screening record.
	outcomeAt     map[uint64]uint64 // Position in outcomes, by the leaf of the screening record.
	referenceAt   map[engine.ReferenceKey]uint64
	unresolvedOf  map[engine.AgentSlot]UnresolvedTotal
	unresolvedAt  map[uint64]uint64 // Position in unresolved, by the leaf of the screening record.

	// Scratch space of applyScreen.
	screen      wire.Screen
	moment      engine.Moment
	rootPace    engine.Pace
	written     leaf.Screen
	recordBlock []byte // The block that records are cut from; its length is the part in use.
}

// officers is the part of the desk that the ledger uses.
type officers interface {
	enterReview(row ReviewRow)
	listedRoom(slot engine.AgentSlot) bool
	decisionOn(record uint64) decision
	alertOperator(slot engine.AgentSlot)
	alertPayment(kind uint8, b *wire.Hold, settled uint64)
	casesRoom(s *wire.Screen) bool
	enterCases(s *wire.Screen, record, blocked uint64, now engine.Time)
	caseFilters(filters []uint64, s *wire.Screen) []uint64
	markEnded(record uint64)
	hasEnded(record uint64) bool
	linkRecord(record uint64, agent engine.AgentSlot) leaf.RecordLink
	alertUnresolved(row *holdRow, of UnresolvedTotal)
}

func newLedger(c *core, t *ledgerTables, registry *registry) *ledger {
	m := &ledger{
		core: c, ledgerTables: t, registry: registry,
		structuringBy: map[structuringKey]uint64{}, holdAt: map[uint64]uint64{}, outcomeAt: map[uint64]uint64{},
		referenceAt: map[engine.ReferenceKey]uint64{}, unresolvedOf: map[engine.AgentSlot]UnresolvedTotal{},
		unresolvedAt: map[uint64]uint64{},
	}
	m.beginHeap()
	return m
}

func (m *ledger) beginHeap() {
	m.holdHeap = heapOf[holdRow, holdPage]{&m.holds, (*holdRow).before, m.placeHold}
}

// ledgerTables holds the tables of payments: open holds, how payments ended, the payment
// references in use, recent activity, and the pairs of R25.
type ledgerTables struct {
	holds       Table[holdRow, holdPage]               // A binary heap by expiry and leaf, from position 1 on.
	outcomes    Table[outcomeRow, outcomePage]         // The newest endings, in the order of the leaves that told of them.
	endedFrom   uint64                                 // The leaf from which on outcomes has every ending; see pastOf.
	references  Table[referenceRow, referencePage]     // The newest uses, in their order.
	usedFrom    uint64                                 // The leaf from which on references has every use; see useOf.
	activity    Table[activityRow, activityPage]       // From position 1 on, in no order.
	structuring Table[structuringRow, structuringPage] // From position 1 on, in no order.

	bandEnds      bandEnds // Derived from structuring.
	activitySweep uint64   // The next row of activity to check for expiry.

	unresolved      Table[UnresolvedRow, unresolvedPage] // Derived from holds, see unresolved.go.
	unresolvedTotal UnresolvedTotal                      // Of all agents; derived from holds.
}

var ledgerDeclarations = []declaration{
	&tableOf[activityRow, activityPage]{
		section: section{
			number: sectionActivity, most: func(l *engine.Limits) int { return l.Agents },
			sound: func(m *Machine) error { return m.ledger.checkActivitySweep() },
		},
		of: func(t *tables) *Table[activityRow, activityPage] { return &t.activity }, code: codeActivityRow, from: 1,
		mark: func(t *tables, meta *snapshotMeta) (held, noted *uint64) { return &t.activitySweep, &meta.Sweep },
		fits: func(m *Machine) fitting[activityRow] { return m.ledger.fitsActivity },
	},
	&tableOf[structuringRow, structuringPage]{
		section: section{
			number: sectionStructuring, most: func(l *engine.Limits) int { return l.Structuring }, shownAs: "structuring",
			sound: func(m *Machine) error { return m.ledger.checkBands() },
		},
		of: func(t *tables) *Table[structuringRow, structuringPage] { return &t.structuring }, code: codeStructuringRow, from: 1,
		over:   func(m *Machine, row *structuringRow) bool { return m.ledger.bandOver(row) },
		oldest: func(t *tables) uint64 { return t.bandEnds.oldest }, forget: func(m *Machine) { m.ledger.dropOldestBand() },
	},
	&tableOf[holdRow, holdPage]{
		section: section{
			number: sectionHolds, most: func(l *engine.Limits) int { return l.Holds },
			sound: func(m *Machine) error { return m.ledger.checkUnresolved() },
		},
		of: func(t *tables) *Table[holdRow, holdPage] { return &t.holds }, code: codeHoldRow, from: 1,
		fits: func(m *Machine) fitting[holdRow] { return m.ledger.fitsHold },
	},
	&tableOf[outcomeRow, outcomePage]{
		section: section{
			number: sectionOutcomes, most: func(l *engine.Limits) int { return l.Outcomes },
			sound: func(m *Machine) error { return m.ledger.checkEndedFrom() },
		},
		of: func(t *tables) *Table[outcomeRow, outcomePage] { return &t.outcomes }, code: codeOutcomeRow, queue: true,
		fits:   func(m *Machine) fitting[outcomeRow] { return m.ledger.fitsOutcome },
		over:   func(m *Machine, row *outcomeRow) bool { return row.told() < m.oldest },
		forget: func(m *Machine) { m.ledger.forgetOutcome() },
	},
	&tableOf[referenceRow, referencePage]{
		section: section{number: sectionReferences, most: func(l *engine.Limits) int { return l.References }},
		of:      func(t *tables) *Table[referenceRow, referencePage] { return &t.references }, code: codeReferenceRow, queue: true,
		fits:   func(m *Machine) fitting[referenceRow] { return m.ledger.fitsReference },
		over:   func(m *Machine, row *referenceRow) bool { return row.At+m.limits.ReferenceKept <= m.now },
		forget: func(m *Machine) { m.ledger.forgetReference() },
	},
}

// ledgerDerived are the tables that are derived from others.
var ledgerDerived = []derivation{
	&derivedOf[UnresolvedRow, unresolvedPage]{
		of: func(t *tables) *Table[UnresolvedRow, unresolvedPage] { return &t.unresolved }, from: func(*tables) uint64 { return 0 },
	},
}

// bandEnds are the positions of the oldest and the newest pair; 0: there are none.
type bandEnds struct{ oldest, newest uint64 }

// holdRow is a payment that counts as held. When its time is over and nobody has ended it, it
// becomes unresolved: it goes on counting, and waits as long as its record is kept for
// somebody who says what became of it.
type holdRow struct {
	Leaf       uint64      // The screening record.
	ExpiresAt  engine.Time // The end of its time; if it is unresolved, the end of its record.
	Amount     engine.USD
	Reference  engine.ReferenceKey // The reference that the payment uses; zero: none.
	Agent      engine.AgentSlot
	Fleet      engine.FleetSlot    // The fleet of the agent's root when the payment was held.
	Operator   engine.OperatorSlot // The agent's, likewise.
	Day        engine.Day          // The date it counts on.
	Screener   uint32              // The row of the API key that made the screening call; 0: the node itself.
	Unresolved uint64              // The leaf that says that it is unresolved; 0: its time is not over.
	Approved   bool                // An approval opened it.
	Redeemed   uint64              // 1 + the leaf that says that it was redeemed; 0: it was not. A redeemed payment never returns by itself.
	Newest     uint64              // The newest leaf by which it was confirmed or redeemed; 0: none.
	Confirms   uint8               // How often it was confirmed.
	Given      bool                // A confirmation gave leave, so that it may have been paid.
	Spent      bool                // It counted as spent before it was confirmed, so it never returns by itself.
	Counts     bool                // Whoever has the signed payment can make it: it never returns by itself, whatever the policy says.
}

// told returns the newest leaf that says what the payment is; 0: none does but its record.
func (r *holdRow) told() uint64 { return max(r.Unresolved, r.Newest) }

// HoldState is the state of a payment that was held, settled or released.
type HoldState uint8

// The states. A number never changes its meaning.
const (
	HoldOpen     HoldState = 0
	HoldSettled  HoldState = 1
	HoldReleased HoldState = 2
	HoldExpired  HoldState = 3

	HoldUnresolved HoldState = 4

	HoldRedeemed HoldState = 5
)

var holdStates = [...]string{
	HoldOpen: "held", HoldSettled: "settled", HoldReleased: "released", HoldExpired: "expired", HoldUnresolved: "unresolved",
	HoldRedeemed: "redeemed",
}

// HoldStateNamed returns the state with a word of the API; HoldOpen for any other text.
func HoldStateNamed(text string) HoldState {
	return HoldState(max(slices.Index(holdStates[:], text), 0))
}

// String is the word of the API.
func (s HoldState) String() string { return holdStates[s] }

// outcomeRow says how a payment ended. A late settle adds another row for its payment.
type outcomeRow struct {
	Leaf  uint64 // The screening record.
	Later uint64 // The leaf that ended it.
	Late  uint64 // The leaf of a settle after a release or an expiry; 0: none.
	At    engine.Time
	State HoldState

	Before uint64 // The newest leaf that said before what the payment was: confirmed, redeemed or unresolved; 0: none.
}

// told returns the leaf that told of what the row says.
func (r *outcomeRow) told() uint64 { return max(r.Later, r.Late) }

// referenceRow says that a payment reference was used, or is free again; the newest row of a
// reference holds.
type referenceRow struct {
	Key  engine.ReferenceKey
	Leaf uint64 // The screening record that uses or used it.
	Told uint64 // The leaf that tells of it.
	At   engine.Time
	Free bool
}

func codeHoldRow(c *coder, row *holdRow) {
	codeUnsigned(c, &row.Leaf)
	codeSigned(c, &row.ExpiresAt)
	codeSigned(c, &row.Amount)
	c.codeRaw(row.Reference[:])
	codeUnsigned(c, &row.Agent)
	codeUnsigned(c, &row.Fleet)
	codeUnsigned(c, &row.Operator)
	codeUnsigned(c, &row.Day)
	codeUnsigned(c, &row.Screener)
	codeUnsigned(c, &row.Unresolved)
	c.codeFlag(&row.Approved)
	codeUnsigned(c, &row.Redeemed)
	codeUnsigned(c, &row.Newest)
	codeByte(c, &row.Confirms)
	c.codeFlag(&row.Given)
	c.codeFlag(&row.Spent)
	c.codeFlag(&row.Counts)
}

func codeOutcomeRow(c *coder, row *outcomeRow) {
	codeUnsigned(c, &row.Leaf)
	codeUnsigned(c, &row.Later)
	codeUnsigned(c, &row.Late)
	codeSigned(c, &row.At)
	codeByte(c, &row.State)
	codeUnsigned(c, &row.Before)
}

func codeReferenceRow(c *coder, row *referenceRow) {
	c.codeRaw(row.Key[:])
	codeUnsigned(c, &row.Leaf)
	codeUnsigned(c, &row.Told)
	codeSigned(c, &row.At)
	c.codeFlag(&row.Free)
}

// codeActivityRow codes a row. Of each of the three rings it codes only the buckets that are not
// empty.
func codeActivityRow(c *coder, row *activityRow) {
	codeUnsigned(c, &row.Agent)
	c.codeUse(&row.Judged)
	codeSigned(c, &row.Velocity.Second)
	codeRing(c, row.Velocity.Seconds[:])
	codeRing(c, row.Velocity.Minutes[:])
	codeRing(c, row.Velocity.Hours[:])
	codeNear(c, &row.Near)
}

// codeRing codes the number of non-empty buckets, and for each the number of empty ones
// before it and its count.
func codeRing[N uint16 | uint32](c *coder, ring []N) {
	filled := byte(0)
	for _, n := range ring {
		if n != 0 {
			filled++
		}
	}
	codeByte(c, &filled)
	for at := 0; filled > 0; filled-- {
		gap := byte(0)
		for !c.reading && ring[at+int(gap)] == 0 {
			gap++
		}
		codeByte(c, &gap)
		if at += int(gap); at >= len(ring) {
			c.failReading()
			return
		}
		if codeUnsigned(c, &ring[at]); ring[at] == 0 {
			c.failReading()
			return
		}
		at++
	}
}

func codeStructuringRow(c *coder, row *structuringRow) {
	codeUnsigned(c, &row.Key.Root)
	c.codeRaw(row.Key.Party[:])
	codeUnsigned(c, &row.Older)
	codeUnsigned(c, &row.Newer)
	if codeByte(c, &row.Band.Next); row.Band.Next >= engine.StructuringCallsMax {
		c.failReading()
	}
	for i := range row.Band.Times {
		codeSigned(c, &row.Band.Times[i])
	}
}

// activityRow is an agent's recent activity. Only agents that were screened within the last
// 24 hours have one.
type activityRow struct {
	Agent    engine.AgentSlot
	Judged   engine.ProfileUse
	Velocity engine.VelocityRow // Of a root agent also the calls of its delegates.
	Near     engine.NearRow     // R25, of a root agent and its delegates.
}

type structuringKey struct {
	Root  engine.AgentSlot
	Party engine.PartyKey
}

type structuringRow struct {
	Key   structuringKey
	Older uint32 // The pair that is next in the order of newest calls, on the older side; 0: none.
	Newer uint32
	Band  engine.BandRow
}
