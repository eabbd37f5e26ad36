package fsm

// Table is a growing array of rows that can be frozen in O(1).
//
// Rows live in pages, pages in chunks, chunks under one root slice. Every page
// and chunk carries the epoch in which the writer made it. Freeze hands out the
// root and starts a new epoch; the writer then clones a page (and its chunk, and
// once the root) the first time it touches it. So a frozen table never changes,
// the writer never copies more than it touches, and neither waits for the other.
//
// Rows are addressed by a rising position. DropFront forgets the oldest
// positions, which makes the table a queue too.
type Table[R any] struct {
	root  []*chunk[R]
	owned bool   // root belongs to this epoch alone.
	epoch uint64 // Rises with every Freeze.
	first uint64 // Oldest position still held.
	next  uint64 // Position that the next Append takes.
}

const (
	pageRows   = 16
	chunkPages = 256
	chunkRows  = pageRows * chunkPages
)

type page[R any] struct {
	epoch uint64
	rows  [pageRows]R
}

type chunk[R any] struct {
	epoch uint64
	pages [chunkPages]*page[R]
}

// Frozen is a Table at one instant. It is safe for any number of readers.
type Frozen[R any] struct {
	root  []*chunk[R]
	base  uint64 // Position of root[0]'s first row.
	first uint64
	next  uint64
}

// First returns the oldest position held; Next the one after the newest.
func (t *Table[R]) First() uint64 { return t.first }

// Next returns the position that the next Append takes.
func (t *Table[R]) Next() uint64 { return t.next }

// Len returns how many rows are held.
func (t *Table[R]) Len() int { return int(t.next - t.first) }

// Has reports whether position i is held.
func (t *Table[R]) Has(i uint64) bool { return i >= t.first && i < t.next }

func (t *Table[R]) base() uint64 { return t.first / chunkRows * chunkRows }

// At returns the row at position i for reading only. It panics outside the table.
func (t *Table[R]) At(i uint64) *R {
	if !t.Has(i) {
		panic("BUG: table position out of range")
	}
	at := i - t.base()
	return &t.root[at/chunkRows].pages[at%chunkRows/pageRows].rows[at%pageRows]
}

// Edit returns the row at position i for changing, cloning its page if a frozen
// table still shares it.
func (t *Table[R]) Edit(i uint64) *R {
	if !t.Has(i) {
		panic("BUG: table position out of range")
	}
	return t.slot(i)
}

// Append adds a row and returns its position.
func (t *Table[R]) Append(row R) uint64 {
	i := t.next
	t.next++
	*t.slot(i) = row
	return i
}

// slot returns the writable place of position i, making what is missing and
// cloning what is shared.
func (t *Table[R]) slot(i uint64) *R {
	if !t.owned {
		t.root = append(make([]*chunk[R], 0, len(t.root)+1), t.root...)
		t.owned = true
	}
	at := i - t.base()
	for uint64(len(t.root)) <= at/chunkRows {
		t.root = append(t.root, &chunk[R]{epoch: t.epoch})
	}
	c := t.root[at/chunkRows]
	if c.epoch != t.epoch {
		clone := *c
		clone.epoch = t.epoch
		c = &clone
		t.root[at/chunkRows] = c
	}
	p := c.pages[at%chunkRows/pageRows]
	switch {
	case p == nil:
		p = &page[R]{epoch: t.epoch}
		c.pages[at%chunkRows/pageRows] = p
	case p.epoch != t.epoch:
		clone := *p
		clone.epoch = t.epoch
		p = &clone
		c.pages[at%chunkRows/pageRows] = p
	}
	return &p.rows[at%pageRows]
}

// DropFront forgets the oldest row. Its memory goes when its chunk is empty.
func (t *Table[R]) DropFront() {
	if t.first == t.next {
		panic("BUG: drop from an empty table")
	}
	before := t.base()
	t.first++
	if t.base() != before && len(t.root) > 0 {
		t.root = append([]*chunk[R](nil), t.root[1:]...)
		t.owned = true
	}
}

// Freeze returns the table as it is now. O(1).
func (t *Table[R]) Freeze() Frozen[R] {
	t.epoch++
	t.owned = false
	return Frozen[R]{root: t.root, base: t.base(), first: t.first, next: t.next}
}

// startAt makes an empty table begin at position first; for Restore and for
// tables whose position 0 means "none".
func (t *Table[R]) startAt(first uint64) {
	if t.next != t.first || len(t.root) != 0 {
		panic("BUG: startAt on a used table")
	}
	t.first, t.next = first, first
}

// First returns the oldest position held.
func (f *Frozen[R]) First() uint64 { return f.first }

// Next returns the position after the newest.
func (f *Frozen[R]) Next() uint64 { return f.next }

// Len returns how many rows are held.
func (f *Frozen[R]) Len() int { return int(f.next - f.first) }

// Has reports whether position i is held.
func (f *Frozen[R]) Has(i uint64) bool { return i >= f.first && i < f.next }

// At returns the row at position i; it must be held.
func (f *Frozen[R]) At(i uint64) *R {
	if !f.Has(i) {
		panic("BUG: frozen table position out of range")
	}
	at := i - f.base
	return &f.root[at/chunkRows].pages[at%chunkRows/pageRows].rows[at%pageRows]
}
