package fsm

import (
	"encoding/binary"
	"errors"

	"railguard/engine"
)

// What became of payments: open holds, how each ended, and the payment references
// that were used.

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

type (
	holdPage      = [16]holdRow
	outcomePage   = [16]outcomeRow
	referencePage = [16]referenceRow
)

// paymentTables are the tables of them.
type paymentTables struct {
	holds      Table[holdRow, holdPage] // From position 1 on: a binary heap by expiry and leaf.
	outcomes   Table[outcomeRow, outcomePage]
	references Table[referenceRow, referencePage]

	// Private to Apply, rebuilt by Restore, never iterated.
	holdAt      map[uint64]uint64 // By the screening record's leaf.
	outcomeAt   map[uint64]uint64
	referenceAt map[engine.ReferenceKey]uint64
}

// frozenPayments are they in a View, beside the other tables of calls.
type frozenPayments struct {
	idem        Frozen[idemRow, idemPage]
	structuring Frozen[structuringRow, structuringPage]

	holds      Frozen[holdRow, holdPage]
	outcomes   Frozen[outcomeRow, outcomePage]
	references Frozen[referenceRow, referencePage]
}

func (p *paymentTables) begin() {
	p.holds.startAt(1)
	p.holdAt, p.outcomeAt, p.referenceAt = map[uint64]uint64{}, map[uint64]uint64{}, map[engine.ReferenceKey]uint64{}
}

// The open holds are a binary heap: none expires before the one at half its position.

func (r *holdRow) before(other *holdRow) bool {
	return r.ExpiresAt < other.ExpiresAt || r.ExpiresAt == other.ExpiresAt && r.Leaf < other.Leaf
}

func (p *paymentTables) raiseHold(at uint64) {
	for ; at > 1 && p.holds.At(at).before(p.holds.At(at/2)); at /= 2 {
		p.swapHolds(at, at/2)
	}
}

func (p *paymentTables) sinkHold(at uint64) {
	for {
		least := at
		for _, child := range [2]uint64{2 * at, 2*at + 1} {
			if p.holds.Has(child) && p.holds.At(child).before(p.holds.At(least)) {
				least = child
			}
		}
		if least == at {
			return
		}
		p.swapHolds(at, least)
		at = least
	}
}

func (p *paymentTables) swapHolds(a, b uint64) {
	one, other := *p.holds.At(a), *p.holds.At(b)
	*p.holds.Edit(a), *p.holds.Edit(b) = other, one
	p.holdAt[other.Leaf], p.holdAt[one.Leaf] = a, b
}

// dropHold takes a hold out; the last one takes its place and finds its own.
func (p *paymentTables) dropHold(at uint64) {
	delete(p.holdAt, p.holds.At(at).Leaf)
	last := p.holds.Next() - 1
	if at != last {
		moved := *p.holds.At(last)
		*p.holds.Edit(at) = moved
		p.holdAt[moved.Leaf] = at
	}
	p.holds.DropBack()
	if at != last {
		p.raiseHold(at)
		p.sinkHold(at)
	}
}

// rebuild fills the private maps of a restored state and demands what Apply relies on.
func (p *paymentTables) rebuild(m *Machine) error {
	for i := p.holds.First(); i < p.holds.Next(); i++ {
		row := p.holds.At(i)
		if row.Leaf >= m.size || i > 1 && row.before(p.holds.At(i/2)) || row.Agent != 0 && !m.agents.Has(uint64(row.Agent)) {
			return errors.New("holds: broken row")
		}
		p.holdAt[row.Leaf] = i
	}
	after := uint64(0)
	for i := p.outcomes.First(); i < p.outcomes.Next(); i++ {
		row := p.outcomes.At(i)
		if _, open := p.holdAt[row.Leaf]; open || row.Later < after || row.Later >= m.size || row.Late >= m.size || row.Leaf >= row.Later {
			return errPositions
		}
		p.outcomeAt[row.Leaf], after = i, row.Later+1
	}
	used := 0
	for i := p.references.First(); i < p.references.Next(); i++ {
		row := p.references.At(i)
		if row.Leaf >= m.size || i > p.references.First() && row.At < p.references.At(i-1).At {
			return errPositions
		}
		if row.Key != (engine.ReferenceKey{}) {
			p.referenceAt[row.Key] = i
			used++
		}
	}
	if len(p.holdAt) != p.holds.Len() || len(p.outcomeAt) != p.outcomes.Len() || len(p.referenceAt) != used {
		return errors.New("payments: two rows of one key")
	}
	return nil
}

func (m *Machine) freezePayments() frozenPayments {
	return frozenPayments{
		idem: m.idem.Freeze(), structuring: m.structuring.Freeze(),
		holds: m.holds.Freeze(), outcomes: m.outcomes.Freeze(), references: m.references.Freeze(),
	}
}

func (p *frozenPayments) write(b *blockWriter) {
	rowsOf(b, sectionHolds, &p.holds, appendHoldRow)
	rowsOf(b, sectionOutcomes, &p.outcomes, appendOutcomeRow)
	rowsOf(b, sectionReferences, &p.references, appendReferenceRow)
}

func (p *frozenPayments) sum(by *Digester, out []byte) []byte {
	out = sumTable(by, out, sectionHolds, &p.holds, appendHoldRow)
	out = sumTable(by, out, sectionOutcomes, &p.outcomes, appendOutcomeRow)
	return sumTable(by, out, sectionReferences, &p.references, appendReferenceRow)
}

// read reads rows of the three sections.
func (p *paymentTables) read(section uint16, r *rowReader, rows uint32, limits *engine.Limits) error {
	switch section {
	case sectionHolds:
		return readRows(r, rows, &p.holds, limits.Holds, readHoldRow)
	case sectionOutcomes:
		return readRows(r, rows, &p.outcomes, limits.Outcomes, readOutcomeRow)
	case sectionReferences:
		return readRows(r, rows, &p.references, limits.References, readReferenceRow)
	}
	return errSection
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
