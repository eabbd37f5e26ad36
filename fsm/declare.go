package fsm

import (
	"encoding/binary"
	"slices"

	"railguard/engine"
)

// Each part of the state declares its tables once, beside their rows. What is done to
// all tables (New, Freeze, snapshot, Restore, digest, expiry, gauges) is one loop over
// these declarations.

// tables holds all tables of the state: the Machine's own, or the frozen ones of a View.
type tables struct {
	coreTables
	registryTables
	ledgerTables
	deskTables
	calendarTables
	rulebookTables
	keyTables
}

// section is common to all declarations: each has one section of a snapshot.
type section struct {
	number uint16
	since  engine.Format // The first format that has the section; 0: all formats have it.

	most  func(*engine.Limits) int // How many rows a restored state may have.
	sound func(*Machine) error     // What Restore demands of all rows together; may be nil.

	// The gauge of how full it is; "": no gauge, because nobody reaches the bound. It counts
	// all rows and shows the bound of Restore, unless filled says otherwise.
	shownAs string
	filled  func(t *tables, limits *engine.Limits) (rows, most int)

	summedBehind uint16 // The section that this table follows in the digest; 0: the order of sections.
}

// said returns what all declarations have in common.
func (s *section) said() *section { return s }

// declaration declares a table, a list of the settings or a long run of bytes.
type declaration interface {
	said() *section
	freezeRows(from, to *tables)
	countRows(t *tables, s *Settings) int
	writeRows(b *blockWriter, t *tables, s *Settings)
	readRows(s *restorer, c *coder, rows int) error
	checkRows(m *Machine) error
}

type tableDeclaration interface {
	declaration
	beginTable(t *tables)
	startTable(t *tables, meta *snapshotMeta) error
	noteTable(t *tables, meta *snapshotMeta)
	endTable(t *tables, meta *snapshotMeta) error
	sumRows(d *Digester, dst []byte, t *tables) []byte
	expireRows(m *Machine)
}

// settingsDeclaration declares a list of the settings.
type settingsDeclaration interface {
	declaration
	inSettings()
}

// derivation declares a table that is derived from others. A snapshot does not hold it.
type derivation interface {
	beginTable(t *tables)
	freezeRows(from, to *tables)
}

// plan holds all parts' declarations in the orders that the loops need.
type plan struct {
	all    []declaration      // In the order of their sections.
	tables []tableDeclaration // Those of tables, in the order of their sections.
	digest []tableDeclaration // In the order of the digest.
	shown  []declaration      // Those with a gauge.

	derived []derivation
}

var planned = newPlan(slices.Concat(coreDeclarations, registryDeclarations, ledgerDeclarations, deskDeclarations, calendarDeclarations, rulebookDeclarations, keyDeclarations), slices.Concat(deskDerived, ledgerDerived)...)

func newPlan(all []declaration, derived ...derivation) *plan {
	p := &plan{all: all, derived: derived}
	slices.SortFunc(p.all, func(a, b declaration) int { return int(a.said().number) - int(b.said().number) })
	for _, one := range p.all {
		if table, is := one.(tableDeclaration); is {
			p.tables = append(p.tables, table)
		}
		if one.said().shownAs != "" {
			p.shown = append(p.shown, one)
		}
	}
	p.digest = slices.Clone(p.tables)
	slices.SortFunc(p.digest, func(a, b tableDeclaration) int { return a.said().digestPlace() - b.said().digestPlace() })
	return p
}

// digestPlace is the sort key of a table in the digest.
func (s *section) digestPlace() int {
	if s.summedBehind != 0 {
		return 2*int(s.summedBehind) + 1
	}
	return 2 * int(s.number)
}

// findDeclaration returns the declaration of a section, or nil if the format has no such
// section.
func findDeclaration(number uint16, format engine.Format) declaration {
	at, found := slices.BinarySearchFunc(planned.all, number, func(one declaration, number uint16) int {
		return int(one.said().number) - int(number)
	})
	if !found || planned.all[at].said().since > format {
		return nil
	}
	return planned.all[at]
}

// tableOf declares one table. A nil or zero field means that the table does not have that
// feature.
type tableOf[R any, P pageOf[R]] struct {
	section
	of   func(*tables) *Table[R, P]
	code func(*coder, *R)

	from     uint64 // The position of the very first row.
	queue    bool   // Rows are dropped at the front, so a snapshot says where the table begins. Each row came with a leaf, but of a leafless table.
	leafless bool   // Its rows come without leaves, so their positions are bounded by leaflessMost alone.
	gaps     *gapsOf[R]

	// mark returns a position up to which a tick has looked at the rows, and the member of
	// snapshotMeta that stores it.
	mark func(*tables, *snapshotMeta) (held, noted *uint64)

	// Restore calls taken with each row that it has read. When all rows are read, it calls
	// fits with each row in order and the row before (nil for the first). fits enters the row
	// into its part's private maps, and reports whether Apply can rely on it.
	taken func(*Machine, *R)
	fits  func(*Machine) fitting[R]

	// At every entry, forget drops the oldest row if over says that its time is over. The
	// oldest row is the one at the front, unless oldest says otherwise.
	over   func(*Machine, *R) bool
	oldest func(*tables) uint64
	forget func(*Machine)
}

// fitting reports whether Apply can rely on a restored row.
type fitting[R any] func(at uint64, row, before *R) bool

// gapsOf declares a table with positions that have no row.
type gapsOf[R any] struct {
	held  func(*R) bool               // Whether the position has a row; a snapshot holds only these.
	place func(*R) uint64             // The position that is stored in the row; nil: the position is written before the row.
	first func(*snapshotMeta) *uint64 // The member that stores the first position; nil: the table begins with its first row.
	next  func(*snapshotMeta) *uint64 // The member that stores the position after the last.
}

func (d *tableOf[R, P]) beginTable(t *tables) {
	d.of(t).startAt(d.from)
	if d.mark != nil {
		held, _ := d.mark(t, &snapshotMeta{})
		*held = d.from
	}
}

// noteTable stores in a snapshot's first row where the table begins and ends.
func (d *tableOf[R, P]) noteTable(t *tables, meta *snapshotMeta) {
	table := d.of(t)
	if d.queue {
		meta.Firsts = append(meta.Firsts, table.first)
	}
	if d.mark != nil {
		held, noted := d.mark(t, meta)
		*noted = *held
	}
	if d.gaps == nil {
		return
	}
	if *d.gaps.next(meta) = table.next; d.gaps.first != nil {
		*d.gaps.first(meta) = table.first
	}
}

// leaflessMost is more positions than records can ever take, and far from where positions overflow.
const leaflessMost = 1 << 56

// positionsMost bounds the positions of a table that is dropped at the front.
func (d *tableOf[R, P]) positionsMost(size uint64) uint64 {
	if d.leafless {
		return leaflessMost
	}
	return size
}

// startTable makes a restored table begin where noteTable stored.
func (d *tableOf[R, P]) startTable(t *tables, meta *snapshotMeta) error {
	first := d.from
	if d.queue {
		if len(meta.Firsts) == 0 || meta.Firsts[0] > d.positionsMost(meta.Size) {
			return errRow
		}
		first, meta.Firsts = meta.Firsts[0], meta.Firsts[1:]
	}
	if d.gaps != nil && d.gaps.first != nil {
		first = *d.gaps.first(meta)
	}
	d.of(t).startAt(first)
	if d.mark != nil {
		held, noted := d.mark(t, meta)
		*held = *noted
	}
	return nil
}

// endTable makes a restored table end where noteTable stored.
func (d *tableOf[R, P]) endTable(t *tables, meta *snapshotMeta) error {
	if d.gaps == nil {
		return nil
	}
	return d.goTo(d.of(t), *d.gaps.next(meta))
}

// goTo moves the end of a table with gaps to a position.
func (d *tableOf[R, P]) goTo(table *Table[R, P], position uint64) error {
	if position < table.Next() {
		return errRow
	}
	if d.gaps.first == nil {
		placeAt(table, position)
	} else {
		table.skipTo(position)
	}
	return nil
}

func (d *tableOf[R, P]) freezeRows(from, to *tables) { *d.of(to) = d.of(from).Freeze() }

func (d *tableOf[R, P]) countRows(t *tables, _ *Settings) int { return d.of(t).Len() }

func (d *tableOf[R, P]) sumRows(by *Digester, dst []byte, t *tables) []byte {
	return sumTable(by, dst, d.number, d.of(t), pageCoder[R]{d.code, d.gaps})
}

func (d *tableOf[R, P]) writeRows(b *blockWriter, t *tables, _ *Settings) {
	table := d.of(t)
	next := func(i uint64) uint64 { return i }
	if d.gaps != nil {
		next = table.skipGaps
	}
	for i := next(table.First()); i < table.Next(); i = next(i + 1) {
		row := table.At(i)
		if d.gaps != nil {
			if !d.gaps.held(row) {
				continue
			}
			if d.gaps.place == nil {
				b.data = binary.AppendUvarint(b.data, i)
			}
		}
		d.code(&b.coder, row)
		b.endRow()
	}
}

func (d *tableOf[R, P]) readRows(s *restorer, c *coder, rows int) error {
	if !s.hasRoom(&d.section, rows) {
		return errRow
	}
	table, row := d.of(&s.m.tables), new(R)
	for range rows {
		var none R
		*row = none
		if err := d.readOne(s, c, table, row); err != nil {
			return err
		}
		if d.taken != nil {
			d.taken(s.m, row)
		}
		table.Append(*row)
	}
	return c.endReading()
}

// readOne reads a row, and moves the end of the table to its position.
func (d *tableOf[R, P]) readOne(s *restorer, c *coder, table *Table[R, P], row *R) error {
	at := table.Next()
	if d.gaps != nil && d.gaps.place == nil {
		codeUnsigned(c, &at)
	}
	if d.code(c, row); c.bad {
		return errRow
	}
	if d.gaps == nil {
		return nil
	}
	if !d.gaps.held(row) {
		return errRow
	}
	if d.gaps.place != nil {
		at = d.gaps.place(row)
	}
	if at >= *d.gaps.next(s.meta) {
		return errRow
	}
	return d.goTo(table, at)
}

// checkRows checks that Apply can rely on the rows of a restored state.
func (d *tableOf[R, P]) checkRows(m *Machine) error {
	table := d.of(&m.tables)
	if d.queue && table.Next() > d.positionsMost(m.size) {
		return errPositions
	}
	if d.mark != nil {
		if held, _ := d.mark(&m.tables, &snapshotMeta{}); *held > table.Next() {
			return errPositions
		}
	}
	if d.fits == nil {
		return nil
	}
	fits, before := d.fits(m), (*R)(nil)
	for i := table.skipGaps(table.First()); i < table.Next(); i = table.skipGaps(i + 1) {
		row := table.At(i)
		if !fits(i, row, before) {
			return misfit(i)
		}
		before = row
	}
	return nil
}

// expireRows forgets the oldest rows that are over, a bounded number an entry.
func (d *tableOf[R, P]) expireRows(m *Machine) {
	if d.over == nil {
		return
	}
	table := d.of(&m.tables)
	for n := 0; n < m.limits.ForgottenAtOneTime && table.Len() > 0; n++ {
		oldest := table.First()
		if d.oldest != nil {
			oldest = d.oldest(&m.tables)
		}
		if !d.over(m, table.At(oldest)) {
			return
		}
		d.forget(m)
	}
}

// settingsList declares a long list of the settings. A snapshot has a row for each value.
type settingsList[V any] struct {
	section
	of    func(*Settings) *[]*V
	share *shareOf[V]
	fits  func(*Machine) func(value, before *V) bool // See tableOf.
}

// shareOf bounds how many values of a list one owner may have.
type shareOf[V any] struct {
	most  func(*engine.Limits) int
	owner func(*V) string // "": no owner, and no bound.
}

// isFull reports whether the list has no room for another value of this owner.
func (d *settingsList[V]) isFull(s *Settings, limits *engine.Limits, owner string) bool {
	list := *d.of(s)
	if len(list) >= d.most(limits) {
		return true
	}
	return d.share != nil && owner != "" && d.ownedBy(list, owner) >= d.share.most(limits)
}

func (d *settingsList[V]) ownedBy(list []*V, owner string) (count int) {
	for _, value := range list {
		if d.share.owner(value) == owner {
			count++
		}
	}
	return count
}

// freezeRows does nothing: settings never change.
func (d *settingsList[V]) freezeRows(_, _ *tables) {}

func (d *settingsList[V]) countRows(_ *tables, s *Settings) int { return len(*d.of(s)) }

func (d *settingsList[V]) writeRows(b *blockWriter, _ *tables, s *Settings) {
	for _, value := range *d.of(s) {
		b.writeValue(value)
	}
}

func (d *settingsList[V]) readRows(s *restorer, c *coder, rows int) error {
	if !s.hasRoom(&d.section, rows) {
		return errRow
	}
	list := d.of(s.m.settings)
	for range rows {
		var value *V // A CBOR null leaves it nil.
		if c.decodeValue(&value); c.bad || value == nil {
			return errRow
		}
		*list = append(*list, value)
	}
	return c.endReading()
}

func (d *settingsList[V]) checkRows(m *Machine) error {
	if d.fits == nil {
		return nil
	}
	fits, before := d.fits(m), (*V)(nil)
	for i, value := range *d.of(m.settings) {
		if !fits(value, before) {
			return misfit(uint64(i))
		}
		before = value
	}
	return nil
}

// inSettings marks the declaration as a list: the digest hashes lists separately.
func (d *settingsList[V]) inSettings() {}

// longBytes declares a long run of bytes. A snapshot has rows of at most one block.
type longBytes struct {
	section
	of func(*tables) *[]byte
}

// freezeRows gives readers the bytes so far. Bytes beyond their length may still be written.
func (d *longBytes) freezeRows(from, to *tables) { *d.of(to) = slices.Clip(*d.of(from)) }

func (d *longBytes) countRows(*tables, *Settings) int { return 0 }

func (d *longBytes) writeRows(b *blockWriter, t *tables, _ *Settings) { writeRun(b, *d.of(t)) }

// writeRun writes a run of bytes in rows of at most one block.
func writeRun(b *blockWriter, data []byte) {
	for len(data) > 0 {
		n := min(len(data), snapshotBlock)
		b.data = append(b.data, data[:n]...)
		b.endRow()
		data = data[n:]
	}
}

func (d *longBytes) readRows(s *restorer, c *coder, _ int) error {
	run := d.of(&s.m.tables)
	if len(*run)+len(c.data) > d.most(s.m.limits) {
		return errRow
	}
	*run = append(*run, c.data...)
	return nil
}

func (d *longBytes) checkRows(*Machine) error { return nil }

// derivedOf declares one table that is derived from others.
type derivedOf[R any, P pageOf[R]] struct {
	of   func(*tables) *Table[R, P]
	from func(*tables) uint64 // The position of its first row, valid once the tables it is derived from begin.
}

func (d *derivedOf[R, P]) beginTable(t *tables) { d.of(t).startAt(d.from(t)) }

func (d *derivedOf[R, P]) freezeRows(from, to *tables) { *d.of(to) = d.of(from).Freeze() }
