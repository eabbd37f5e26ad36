package fsm

import (
	"errors"

	"railguard/engine"
	"railguard/fsm/wire"
)

// SanctionsRow is a sanctions case (decision 131). Rows are in the order of Leaf. What is known of
// the payments stands in their records; the row has what must outlive them.
type SanctionsRow struct {
	Leaf   uint64 // The leaf that opened it.
	At     engine.Time
	DueAt  engine.Time // When its report is overdue.
	Root   uint64      // Whose payments were blocked, a value of wire.AlertSubject: the root agent, or a user without one.
	Cause  wire.Cause
	First  uint64 // The record that opened it.
	Last   uint64 // The newest record of it.
	Count  uint64
	Amount engine.USD // Of all its payments.
	Before uint64     // The leaf that opened the case of the same pair before it; 0: there was none.
	Later  uint64     // The newest leaf about it.
	State  uint8
	Kind   uint8       // wire.SanctionsRejected and so on; 0: no officer told it.
	Paid   bool        // An officer opened it of one payment that went ahead. No other joins it.
	Told   bool        // Since NOT_THE_PARTY a BLOCK of the pair was told of.
	Ended  engine.Time // When it was closed.
	Owner  Owner

	Facts *SanctionsFacts // nil: there are none yet.
}

// SanctionsFacts is what officers told of a case. It is immutable; a change replaces it.
type SanctionsFacts struct {
	Reference string                `cbor:"1,keyasint,omitempty"` // What OFAC's system gave.
	Property  *wire.BlockedProperty `cbor:"2,keyasint,omitempty"`
}

func codeSanctionsRow(c *coder, row *SanctionsRow) {
	codeUnsigned(c, &row.Leaf)
	codeSigned(c, &row.At)
	codeSigned(c, &row.DueAt)
	codeUnsigned(c, &row.Root)
	codeUnsigned(c, &row.Cause)
	codeUnsigned(c, &row.First)
	codeUnsigned(c, &row.Last)
	codeUnsigned(c, &row.Count)
	codeSigned(c, &row.Amount)
	codeUnsigned(c, &row.Before)
	codeUnsigned(c, &row.Later)
	codeByte(c, &row.State)
	codeByte(c, &row.Kind)
	c.codeFlag(&row.Paid)
	c.codeFlag(&row.Told)
	codeSigned(c, &row.Ended)
	codeUnsigned(c, &row.Owner)
	codeValue(c, &row.Facts)
}

// caseKey is the pair that a case is about, and of a payment that went ahead its record, because each
// such payment is a case of its own. Of a pair at most one case takes payments.
type caseKey struct {
	root  uint64
	cause wire.Cause
	paid  uint64 // 0: it is about BLOCKs.
}

func (r *SanctionsRow) key() caseKey {
	if r.Paid {
		return caseKey{r.Root, r.Cause, r.First}
	}
	return caseKey{r.Root, r.Cause, 0}
}

// joins tells whether a later BLOCK of the pair belongs to the case. Once a case is reported or
// closed, the next BLOCK is another action with a report of its own.
func (r *SanctionsRow) joins() bool { return r.State < wire.SanctionsReported }

// isUnreported tells whether a report is still to be made.
func (r *SanctionsRow) isUnreported() bool {
	return r.State == wire.SanctionsOpen || r.State == wire.SanctionsTrueMatch
}

// isHeld tells whether the row must be kept, whatever comes after it: a report is still to be made,
// or property is blocked.
func (r *SanctionsRow) isHeld() bool {
	return r.isUnreported() || r.State == wire.SanctionsReported && r.Kind == wire.SanctionsProperty
}

// sanctionsRowsMax is how many rows there are, those held and others.
func sanctionsRowsMax(limits *engine.Limits) int { return 2 * limits.SanctionsCases }

var sanctionsDeclaration = &tableOf[SanctionsRow, sanctionsPage]{
	section: section{
		number: sectionSanctions, most: sanctionsRowsMax,
		sound: func(m *Machine) error { return m.desk.checkCases() },
	},
	of: func(t *tables) *Table[SanctionsRow, sanctionsPage] { return &t.cases }, code: codeSanctionsRow, queue: true,
	fits: func(m *Machine) fitting[SanctionsRow] { return m.desk.fitsCase },
	over: func(m *Machine, row *SanctionsRow) bool {
		// Blocked property stands in the register of its last year.
		return !row.isHeld() && max(row.Last, row.Later) < m.oldest && (row.Kind != wire.SanctionsProperty || m.now >= row.Ended+registerKept)
	},
	forget: func(m *Machine) { m.desk.forgetCase() },
}

// registerKept is how long a case of blocked property is kept after its end, so that the annual
// report as of the 30 June before still has it until 30 September.
const registerKept = 2 * 366 * engine.DayLength

// fitsCase checks that a case names written leaves in order, and that only the newest of a pair
// takes payments.
func (m *desk) fitsCase(at uint64, row, before *SanctionsRow) bool {
	if !m.hasLeaf(row.Leaf) || before != nil && row.Leaf <= before.Leaf || row.First >= row.Leaf || row.Last < row.First || !m.hasLeaf(row.Last) ||
		row.Before >= row.Leaf || row.Later < row.Leaf || !m.hasLeaf(row.Later) || SanctionsState(row.State) == "" || row.Kind > wire.SanctionsProcessed ||
		row.Count == 0 || row.Amount < 0 || row.Cause != 0 && !row.Cause.Sound() || !row.soundFacts() {
		return false
	}
	if known, found := m.caseAt[row.key()]; found && m.cases.At(known).joins() {
		return false
	}
	m.caseAt[row.key()] = at
	if row.isHeld() {
		m.take(wire.TableCases, row.Owner, oneRow)
	}
	return true
}

// soundFacts tells whether a row has the facts that its state and its kind need.
func (r *SanctionsRow) soundFacts() bool {
	switch r.State {
	case wire.SanctionsOpen, wire.SanctionsNotTheParty:
		return r.Kind == 0 && r.Facts == nil
	}
	return r.Facts != nil && r.suits(r.Kind) && (r.Kind == wire.SanctionsProperty) == (r.Facts.Property != nil)
}

// suits tells whether a finding of a kind can be true of the case: what was rejected did not go ahead.
// Of a payment that went ahead property may be blocked all the same, if some of it came back.
func (r *SanctionsRow) suits(kind uint8) bool {
	switch kind {
	case wire.SanctionsRejected:
		return !r.Paid
	case wire.SanctionsProcessed:
		return r.Paid
	}
	return kind == wire.SanctionsProperty
}

func (m *desk) checkCases() error {
	if m.sharesOf(wire.TableCases).all.Rows > int64(m.limits.SanctionsCases) {
		return errors.New("too many sanctions cases are open")
	}
	return nil
}

func (m *desk) forgetCase() {
	first := m.cases.First()
	m.dropCaseKey(first)
	m.cases.DropFront()
}

// dropCaseKey forgets that the row at a position is the newest case of its pair, if it is.
func (m *desk) dropCaseKey(at uint64) {
	if key := m.cases.At(at).key(); m.caseAt[key] == at {
		delete(m.caseAt, key)
	}
}

// packCases drops the older half of the rows that need not be kept. At most half of all rows are
// held, so this makes room, and only after many cases again. The rows keep their order.
func (m *desk) packCases() {
	drop := (m.cases.Len()-int(m.sharesOf(wire.TableCases).all.Rows))/2 + 1
	to := m.cases.First()
	for i := to; i < m.cases.Next(); i++ {
		row := *m.cases.At(i)
		if !row.isHeld() && drop > 0 {
			m.dropCaseKey(i)
			drop--
			continue
		}
		if to != i {
			*m.cases.Edit(to) = row
			if m.caseAt[row.key()] == i {
				m.caseAt[row.key()] = to
			}
		}
		to++
	}
	for m.cases.Next() > to {
		m.cases.DropBack()
	}
}

// caseOf finds the case that a leaf opened.
func (m *desk) caseOf(opened uint64) (at uint64, found bool) {
	return searchReviews(m.cases.First(), m.cases.Next(), opened, func(i uint64) uint64 { return m.cases.At(i).Leaf })
}

// SanctionsCase returns the case that a leaf opened.
func (v *View) SanctionsCase(opened uint64) (SanctionsRow, bool) {
	at, found := v.caseFrom(opened)
	if !found {
		return SanctionsRow{}, false
	}
	return *v.cases.At(at), true
}

func (v *View) caseFrom(opened uint64) (at uint64, found bool) {
	return searchReviews(v.cases.First(), v.cases.Next(), opened, func(i uint64) uint64 { return v.cases.At(i).Leaf })
}

// SanctionsCases calls fn with cases until fn returns false: those opened by leaves before one,
// newest first, or, if ascending, by leaves after it, oldest first, which is the order in which
// their reports are due.
func (v *View) SanctionsCases(opened uint64, ascending bool, fn func(SanctionsRow) bool) {
	at, found := v.caseFrom(opened)
	if ascending {
		if found {
			at++
		}
		for ; at < v.cases.Next() && fn(*v.cases.At(at)); at++ {
		}
		return
	}
	for ; at > v.cases.First() && fn(*v.cases.At(at - 1)); at-- {
	}
}

// SanctionsCounts are the cases whose report is still to be made, those of them that are due soon
// or overdue, and those of property that is blocked.
type SanctionsCounts struct{ Open, Soon, Late, Blocked int }

// SanctionsOpen counts cases.
func (v *View) SanctionsOpen() (n SanctionsCounts) {
	for i := v.cases.First(); i < v.cases.Next(); i++ {
		row := v.cases.At(i)
		if row.isUnreported() {
			n.Open++
			switch {
			case v.Time >= row.DueAt:
				n.Late++
			case v.Time >= row.DueAt-sanctionsSoon:
				n.Soon++
			}
		}
		if row.BlockedAt(v.Time) {
			n.Blocked++
		}
	}
	return n
}

// BlockedAt tells whether the case's property was blocked at an instant.
func (r *SanctionsRow) BlockedAt(at engine.Time) bool {
	return r.Kind == wire.SanctionsProperty && r.At <= at && (r.Ended == 0 || r.Ended > at)
}
