package fsm

import "math"

// Table is a growing array of rows that can be frozen in O(1).
//
// Rows are in pages, pages in chunks, and chunks under one root slice. Every page and chunk
// has the epoch in which the writer made it. Freeze hands out the root and starts a new
// epoch. The writer then clones a page (and its chunk, and once the root) before it changes
// the page for the first time. So a frozen table never changes, the writer copies no more
// than it changes, and neither waits for the other.
//
// Rows have rising positions. DropFront drops the oldest position, which makes the table a
// queue too. DropBack drops the newest, which makes it a dense set whose last row moves into
// a gap. A page whose rows are all gone can be released: its positions stay, its memory is
// freed.
//
// P is the page. Its length says how many rows are copied when one is changed. Large rows
// have small pages (declare.go).
type Table[R any, P pageOf[R]] struct {
	root  []*chunk[R, P]
	owned bool   // root was made in this epoch, so it is not shared.
	epoch uint64 // Rises with every Freeze; frozenEpoch of a frozen table.
	first uint64 // The oldest position held.
	next  uint64 // The position of the next Append.
}

// frozenEpoch is the epoch of a frozen table. No page has this epoch, so an edit of a frozen
// table would first copy a page, and ownRoot panics.
const frozenEpoch = math.MaxUint64

const chunkPages = 128

// pageOf lists the possible sizes of pages.
type pageOf[R any] interface {
	[2]R | [4]R | [8]R | [16]R | [64]R
}

type page[R any, P pageOf[R]] struct {
	epoch uint64
	rows  P
}

type chunk[R any, P pageOf[R]] struct {
	epoch uint64
	pages [chunkPages]*page[R, P]
}

// pageRows returns how many rows a page has; chunkRows how many a chunk has.
func pageRows[R any, P pageOf[R]]() uint64 {
	var p P
	return uint64(len(p))
}

func chunkRows[R any, P pageOf[R]]() uint64 { return chunkPages * pageRows[R, P]() }

// First returns the oldest position held.
func (t *Table[R, P]) First() uint64 { return t.first }

// Next returns the position that the next Append takes.
func (t *Table[R, P]) Next() uint64 { return t.next }

// Len returns the number of positions held.
func (t *Table[R, P]) Len() int { return int(t.next - t.first) }

// Has reports whether position i is held.
func (t *Table[R, P]) Has(i uint64) bool { return i >= t.first && i < t.next }

func (t *Table[R, P]) base() uint64 { return t.first / chunkRows[R, P]() * chunkRows[R, P]() }

// At returns the row at position i for reading only; of a released page, a zero
// row. It panics outside the table.
func (t *Table[R, P]) At(i uint64) *R {
	if !t.Has(i) {
		panic("BUG: table position out of range")
	}
	at := i - t.base()
	if c := t.root[at/chunkRows[R, P]()]; c != nil {
		if p := c.pages[at%chunkRows[R, P]()/pageRows[R, P]()]; p != nil {
			return &p.rows[at%pageRows[R, P]()]
		}
	}
	return new(R)
}

// Edit returns the row at position i for changing. It clones the row's page if a frozen table
// shares it.
func (t *Table[R, P]) Edit(i uint64) *R {
	if !t.Has(i) {
		panic("BUG: table position out of range")
	}
	at := i - t.base()
	if c := t.root[at/chunkRows[R, P]()]; c != nil && c.epoch == t.epoch {
		if p := c.pages[at%chunkRows[R, P]()/pageRows[R, P]()]; p != nil && p.epoch == t.epoch {
			return &p.rows[at%pageRows[R, P]()]
		}
	}
	return t.ownRow(i)
}

// Append adds a row and returns its position.
func (t *Table[R, P]) Append(row R) uint64 {
	i := t.next
	t.next++
	*t.ownRow(i) = row
	return i
}

// ownRow returns the row at position i for writing. It makes a missing chunk or page, and
// clones those that a frozen table shares.
func (t *Table[R, P]) ownRow(i uint64) *R {
	at := i - t.base()
	c := t.ownChunk(at)
	place := &c.pages[at%chunkRows[R, P]()/pageRows[R, P]()]
	p := *place
	switch {
	case p == nil:
		p = &page[R, P]{epoch: t.epoch}
		*place = p
	case p.epoch != t.epoch:
		clone := *p
		clone.epoch = t.epoch
		p = &clone
		*place = p
	}
	return &p.rows[at%pageRows[R, P]()]
}

// ownChunk returns a row's chunk for writing; at is the row's distance from the first row of
// the root.
func (t *Table[R, P]) ownChunk(at uint64) *chunk[R, P] {
	t.ownRoot()
	number := at / chunkRows[R, P]()
	for uint64(len(t.root)) <= number {
		t.root = append(t.root, nil)
	}
	c := t.root[number]
	switch {
	case c == nil:
		c = &chunk[R, P]{epoch: t.epoch}
		t.root[number] = c
	case c.epoch != t.epoch:
		clone := *c
		clone.epoch = t.epoch
		c = &clone
		t.root[number] = c
	}
	return c
}

// ownRoot makes sure that the root is not shared. Every change of a table goes through here.
func (t *Table[R, P]) ownRoot() {
	if t.epoch == frozenEpoch {
		panic("BUG: a frozen table is changed")
	}
	if !t.owned {
		t.root = append(make([]*chunk[R, P], 0, len(t.root)+1), t.root...)
		t.owned = true
	}
}

// DropBack drops the newest row. The next Append takes its position.
func (t *Table[R, P]) DropBack() {
	if t.first == t.next {
		panic("BUG: drop from an empty table")
	}
	var none R
	*t.ownRow(t.next - 1) = none // The write marks the page and the chunk as changed, for frozen tables and for the digest.
	t.next--
	at := t.next - t.base()
	if at%pageRows[R, P]() == 0 {
		t.freePage(at)
	}
}

// Release frees the page of position i if all of its held rows are gone. These positions then
// read as zero rows.
func (t *Table[R, P]) Release(i uint64, gone func(*R) bool) {
	rows := pageRows[R, P]()
	for n := max(i/rows*rows, t.first); n < min(i/rows*rows+rows, t.next); n++ {
		if !gone(t.At(n)) {
			return
		}
	}
	t.freePage(i - t.base())
}

// freePage drops a row's page, and a chunk without pages; at is the row's distance from the
// first row of the root.
func (t *Table[R, P]) freePage(at uint64) {
	c := t.ownChunk(at)
	c.pages[at%chunkRows[R, P]()/pageRows[R, P]()] = nil
	for _, p := range c.pages {
		if p != nil {
			return
		}
	}
	t.root[at/chunkRows[R, P]()] = nil
}

// skipTo makes next the position of the next Append. The skipped positions are held and read
// as zero rows.
func (t *Table[R, P]) skipTo(next uint64) {
	if next < t.next {
		panic("BUG: table skips back")
	}
	t.next = next
	if t.first == next {
		return
	}
	t.ownRoot()
	for at := next - 1 - t.base(); uint64(len(t.root)) <= at/chunkRows[R, P](); {
		t.root = append(t.root, nil)
	}
}

// skipGaps returns the first position from i on that has a page, or the end of the table.
func (t *Table[R, P]) skipGaps(i uint64) uint64 {
	rows, many := pageRows[R, P](), chunkRows[R, P]()
	for i < t.next {
		at := i - t.base()
		switch c := t.root[at/many]; {
		case c == nil:
			i = (i/many + 1) * many
		case c.pages[at%many/rows] == nil:
			i = (i/rows + 1) * rows
		default:
			return i
		}
	}
	return t.next
}

// dropTo forgets every row before position first.
func (t *Table[R, P]) dropTo(first uint64) {
	if first < t.first || first > t.next || t.epoch == frozenEpoch {
		panic("BUG: drop outside the table, or of a frozen one")
	}
	gone := (first/chunkRows[R, P]()*chunkRows[R, P]() - t.base()) / chunkRows[R, P]()
	t.first = first
	if gone = min(gone, uint64(len(t.root))); gone > 0 {
		t.root = append([]*chunk[R, P](nil), t.root[gone:]...)
		t.owned = true
	}
}

// DropFront drops the oldest row. Memory is freed by whole chunks.
func (t *Table[R, P]) DropFront() {
	if t.first == t.next {
		panic("BUG: drop from an empty table")
	}
	t.dropTo(t.first + 1)
}

// Freeze returns the table as it is now, in O(1). Any number of readers may use the result;
// nobody may change it.
func (t *Table[R, P]) Freeze() Table[R, P] {
	t.epoch++
	t.owned = false
	return Table[R, P]{root: t.root, epoch: frozenEpoch, first: t.first, next: t.next}
}

// startAt makes an empty table begin at position first; for Restore and for
// tables whose position 0 means "none".
func (t *Table[R, P]) startAt(first uint64) {
	if t.next != t.first || len(t.root) != 0 {
		panic("BUG: startAt on a used table")
	}
	t.first, t.next = first, first
}
