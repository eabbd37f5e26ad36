package fsm

import (
	"encoding/binary"
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Each part of the state declares its tables once, beside their rows. What is done to
// all tables (New, Freeze, snapshot, Restore, digest, expiry, gauges) is one loop over
// these declarations.

// tables are all tables of the state: the Machine's own, or those of a View, frozen.
type tables struct {
	coreTables
	registryTables
	ledgerTables
	deskTables
	calendarTables
	rulebookTables
	keyTables
}

// declaration declares what has a section of its own in a snapshot.
type declaration interface {
	number() uint16
	write(b *blockWriter, t *tables, s *Settings)
	read(s *restorer, r *rowReader, rows uint32) error
	gauge(t *tables, s *Settings, limits *engine.Limits) (fill Fill, shown bool)
}

// tableDeclaration declares a table.
type tableDeclaration interface {
	declaration
	begin(t *tables)
	start(t *tables, meta *snapshotMeta)
	note(t *tables, meta *snapshotMeta)
	freeze(from, to *tables)
	count(t *tables) int
	sum(d *Digester, dst []byte, t *tables) []byte
	expire(m *Machine)
}

// settingsDeclaration declares a list of the settings.
type settingsDeclaration interface {
	declaration
	inSettings()
}

// declarations are those of all parts, in the order of their sections.
var declarations = func() []declaration {
	all := slices.Concat(coreDeclarations, registryDeclarations, ledgerDeclarations, deskDeclarations, calendarDeclarations, rulebookDeclarations, keyDeclarations)
	slices.SortFunc(all, func(a, b declaration) int { return int(a.number()) - int(b.number()) })
	return all
}()

// declaredTables are the tables among the declarations.
var declaredTables = func() (all []tableDeclaration) {
	for _, one := range declarations {
		if table, is := one.(tableDeclaration); is {
			all = append(all, table)
		}
	}
	return all
}()

// declared returns the declaration of a section, nil where no part has it.
func declared(section uint16) declaration {
	at, found := slices.BinarySearchFunc(declarations, section, func(one declaration, section uint16) int {
		return int(one.number()) - int(section)
	})
	if !found {
		return nil
	}
	return declarations[at]
}

// codec writes and reads one row.
type codec[R any] struct {
	write func([]byte, *R) []byte
	read  func(*rowReader) R
}

// tableOf declares one table. What a declaration leaves out, the table does not have.
type tableOf[R any, P pageOf[R]] struct {
	section uint16
	of      func(*tables) *Table[R, P]
	codec   codec[R]
	most    func(*engine.Limits) int // How many rows a restored state may have.

	from  uint64 // The position of the first row of all.
	queue int    // Its place, from 1 on, in snapshotMeta.Firsts; 0: its front is always at from.

	// stored says of a table with gaps whether a row stands in the snapshot, and placed
	// that it stands there behind its position. readAll then reads what was written.
	stored  func(*R) bool
	placed  bool
	readAll func(s *restorer, r *rowReader, rows uint32) error

	taken func(*Machine, R) // Called with each row that Restore has read; nil: nothing to do.

	// Expiry at every entry: the oldest row is forgotten once it is over. The oldest row
	// of a table is the one at its front, unless oldest says otherwise.
	over   func(*Machine, *R) bool
	oldest func(*tables) uint64
	forget func(*Machine)

	// The gauge of how full the table is; "": nobody meets its bound. It counts all rows
	// and shows the bound of Restore, unless filled says otherwise.
	shownAs string
	filled  func(t *tables, limits *engine.Limits) (rows, most int)
}

func (d *tableOf[R, P]) number() uint16 { return d.section }

// begin makes the table of a new state.
func (d *tableOf[R, P]) begin(t *tables) { d.of(t).startAt(d.from) }

// start makes the empty table of a restored state begin where the snapshot says.
func (d *tableOf[R, P]) start(t *tables, meta *snapshotMeta) {
	if d.queue > 0 {
		d.of(t).startAt(meta.Firsts[d.queue-1])
	}
}

// note tells the snapshot where the table begins.
func (d *tableOf[R, P]) note(t *tables, meta *snapshotMeta) {
	if d.queue > 0 {
		meta.Firsts[d.queue-1] = d.of(t).first
	}
}

func (d *tableOf[R, P]) freeze(from, to *tables) { *d.of(to) = d.of(from).Freeze() }

func (d *tableOf[R, P]) count(t *tables) int { return d.of(t).Len() }

func (d *tableOf[R, P]) sum(by *Digester, dst []byte, t *tables) []byte {
	return sumTable(by, dst, d.section, d.of(t), d.codec.write)
}

// write writes the rows to a snapshot.
func (d *tableOf[R, P]) write(b *blockWriter, t *tables, _ *Settings) {
	table := d.of(t)
	b.begin(d.section)
	next := func(i uint64) uint64 { return i }
	if d.stored != nil {
		next = table.skip
	}
	for i := next(table.First()); i < table.Next(); i = next(i + 1) {
		row := table.At(i)
		if d.stored != nil && !d.stored(row) {
			continue
		}
		if d.placed {
			b.payload = binary.AppendUvarint(b.payload, i)
		}
		b.payload = d.codec.write(b.payload, row)
		b.row()
	}
}

// read reads rows out of a snapshot.
func (d *tableOf[R, P]) read(s *restorer, r *rowReader, rows uint32) error {
	if d.readAll != nil {
		return d.readAll(s, r, rows)
	}
	table, most := d.of(&s.m.tables), d.most(s.m.limits)
	for range rows {
		row := d.codec.read(r)
		if r.bad || table.Len() >= most {
			return errRow
		}
		if d.taken != nil {
			d.taken(s.m, row)
		}
		table.Append(row)
	}
	return r.end()
}

// expire forgets the oldest rows that are over, a bounded number an entry.
func (d *tableOf[R, P]) expire(m *Machine) {
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

func (d *tableOf[R, P]) gauge(t *tables, _ *Settings, limits *engine.Limits) (Fill, bool) {
	fill := Fill{Table: d.shownAs, Rows: d.of(t).Len(), Most: d.most(limits)}
	if d.filled != nil {
		fill.Rows, fill.Most = d.filled(t, limits)
	}
	return fill, d.shownAs != ""
}

// valueCodec writes and reads pointers to immutable values: deterministic CBOR with its
// length before it; nil is one zero byte.
func valueCodec[V any]() codec[*V] {
	return codec[*V]{appendValue[V], readPointer[V]}
}

func appendValue[V any](dst []byte, value **V) []byte {
	if *value == nil {
		return append(dst, 0)
	}
	data := wire.Encode(*value)
	return append(binary.AppendUvarint(dst, uint64(len(data))), data...)
}

func readPointer[V any](r *rowReader) *V {
	if len(r.data) > 0 && r.data[0] == 0 {
		r.data = r.data[1:]
		return nil
	}
	value := new(V)
	readValue(r, value)
	return value
}

// readValue reads a value that appendValue wrote.
func readValue(r *rowReader, value any) {
	if data := r.bytes(); !r.bad {
		r.bad = wire.DecodeBody(data, value) != nil
	}
}

// settingsList declares a long list of the settings. A snapshot has a row for each value.
type settingsList[V any] struct {
	section uint16
	of      func(*Settings) *[]*V
	most    func(*engine.Limits) int
	shownAs string // The gauge of how full the list is; "": it has none.
}

func (d *settingsList[V]) number() uint16 { return d.section }

func (d *settingsList[V]) write(b *blockWriter, _ *tables, s *Settings) {
	b.begin(d.section)
	for _, value := range *d.of(s) {
		b.value(value)
	}
}

func (d *settingsList[V]) read(s *restorer, r *rowReader, rows uint32) error {
	list := d.of(s.m.settings)
	for range rows {
		var value *V // null stays nil.
		if readValue(r, &value); r.bad || value == nil || len(*list) >= d.most(s.m.limits) {
			return errRow
		}
		*list = append(*list, value)
	}
	return r.end()
}

func (d *settingsList[V]) gauge(_ *tables, s *Settings, limits *engine.Limits) (Fill, bool) {
	return Fill{Table: d.shownAs, Rows: len(*d.of(s)), Most: d.most(limits)}, d.shownAs != ""
}

// inSettings tells the digest, which hashes the lists apart, that this is one.
func (d *settingsList[V]) inSettings() {}

// longBytes declares a long run of bytes. A snapshot has rows of at most one block.
type longBytes struct {
	section uint16
	of      func(*tables) *[]byte
}

func (d *longBytes) number() uint16 { return d.section }

func (d *longBytes) write(b *blockWriter, t *tables, _ *Settings) {
	b.begin(d.section)
	for data := *d.of(t); len(data) > 0; {
		n := min(len(data), snapshotBlock)
		b.payload = append(b.payload, data[:n]...)
		b.row()
		data = data[n:]
	}
}

func (d *longBytes) read(s *restorer, r *rowReader, _ uint32) error {
	run := d.of(&s.m.tables)
	if len(*run)+len(r.data) > s.m.limits.ListBytes {
		return errRow
	}
	*run = append(*run, r.data...)
	return nil
}

func (d *longBytes) gauge(*tables, *Settings, *engine.Limits) (Fill, bool) { return Fill{}, false }

// The pages of the tables: a few hundred bytes to one KiB, so that a freeze costs
// little where few rows change. The digest of a state is made page by page
// (digest.go): how many rows a page has belongs to the format.
type (
	agentPage       = [8]engine.AgentRow
	profilePage     = [16]*engine.AgentProfile
	activityPage    = [2]activityRow
	attestationPage = [64]*[]engine.Attestation
	userPage        = [8]engine.UserRow
	userProfilePage = [16]*engine.UserProfile

	fleetPage           = [16]engine.FleetRow
	fleetProfilePage    = [16]*engine.FleetProfile
	operatorPage        = [16]engine.OperatorRow
	operatorProfilePage = [16]*engine.OperatorProfile

	reviewPage      = [16]ReviewRow
	openPage        = [16]uint64
	dispositionPage = [16]dispositionRow
	idemPage        = [16]idemRow
	structuringPage = [4]structuringRow
	dayPage         = [16]dayRow
	statusPage      = [64]statusRow

	holdPage       = [16]holdRow
	outcomePage    = [16]outcomeRow
	referencePage  = [16]referenceRow
	duePage        = [16]dueRow
	proposalPage   = [16]proposalRow
	alertPage      = [16]AlertRow
	sarPage        = [16]SARRow
	cursorPage     = [16]cursorRow
	deadLetterPage = [16]deadLetterRow
)
