package fsm

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
)

// The digest of a state is a hash over hashes of its parts:
//
//	page    the first 16 bytes of sha256 of its rows, as a snapshot writes them; zero rows
//	        for positions without one; 16 zero bytes if none has one
//	chunk   sha256 of its pages, 128 in a row; 32 zero bytes if none has a row
//	table   section u16 | first position u64 | next position u64 | its chunks
//	state   sha256 of the first blocks, the tables, the lists
//
// So it follows from the content alone, and a page that has not changed since the
// last time need not be hashed again. Whether there is memory for a position without a row is no
// content: a machine may have a page there that a restored one has not.

// identity identifies one Machine in a process: epochs of different Machines cannot be compared.
type identity struct{ _ byte }

// Digester makes the digests of one Machine's views and remembers the hashes of their parts.
// One goroutine uses it.
type Digester struct {
	of     *identity
	tables map[uint16]*tableSums // By section.

	settings *Settings // The settings that lists was made of.
	lists    [sha256.Size]byte
	buffer   []byte // Reused for the tables.
	rows     coder  // Reused for one page.
}

// tableSums holds the remembered hashes of one table, from the chunk with number first on.
type tableSums struct {
	first  uint64
	chunks []*chunkSums // nil for a released chunk.
}

// A sum is valid as long as the epoch and the rows of its page or chunk have not changed.
type chunkSums struct {
	held  span
	sum   [sha256.Size]byte
	pages [chunkPages]pageSum
}

type pageSum struct {
	held span
	sum  [pageSumSize]byte
}

// span tells which rows of a page or chunk are held, and the epoch of its last change plus
// one.
type span struct {
	epoch    uint64
	from, to uint16
}

const pageSumSize = 16

// NewDigester returns an empty digester.
func NewDigester() *Digester { return &Digester{tables: map[uint16]*tableSums{}} }

// Digest is the hash over the whole state: equal on every node at one index. It is
// made off the hot path.
func (v *View) Digest() [32]byte { return NewDigester().Digest(v) }

// Digest returns v's digest. It does not hash again what it remembers of an earlier view of
// the same Machine.
func (d *Digester) Digest(v *View) [32]byte {
	if d.of != v.identity {
		*d = *NewDigester()
		d.of = v.identity
	}
	sum := sha256.New()
	b := &blockWriter{w: sum, sum: sha256.New()}
	v.writeHead(b)
	b.flushBlock()
	out := d.buffer[:0]
	for _, table := range planned.digest {
		if v.Format >= table.said().since {
			out = table.sumRows(d, out, &v.tables)
		}
	}
	sum.Write(out)
	d.buffer = out
	sum.Write(d.sumLists(v))
	return [32]byte(sum.Sum(nil))
}

// sumLists hashes the settings' long lists, once for each settings, and the staged list's
// bytes. The active list's bytes are covered by their digest in the settings.
func (d *Digester) sumLists(v *View) []byte {
	if d.settings != v.settings {
		b := &blockWriter{w: io.Discard, sum: sha256.New()}
		for _, one := range planned.all {
			if list, is := one.(settingsDeclaration); is && v.Format >= list.said().since {
				b.beginSection(list.said().number)
				list.writeRows(b, &v.tables, v.settings)
			}
		}
		b.flushBlock()
		d.settings, d.lists = v.settings, [32]byte(b.sum.Sum(nil))
	}
	staged := sha256.Sum256(v.staged.data)
	return append(d.lists[:len(d.lists):len(d.lists)], staged[:]...)
}

// pageCoder encodes the rows of a table.
type pageCoder[R any] struct {
	code func(*coder, *R)
	gaps *gapsOf[R] // nil: all positions have a row.
}

func sumTable[R any, P pageOf[R]](d *Digester, dst []byte, section uint16, f *Table[R, P], codes pageCoder[R]) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, section)
	dst = binary.LittleEndian.AppendUint64(dst, f.first)
	dst = binary.LittleEndian.AppendUint64(dst, f.next)
	if f.first == f.next {
		return dst
	}
	rows := chunkRows[R, P]()
	sums := d.tables[section]
	if sums == nil {
		sums = new(tableSums)
		d.tables[section] = sums
	}
	sums.fitChunks(f.first/rows, (f.next-1)/rows+1)
	for n := range sums.chunks {
		c := f.root[n]
		if c == nil {
			sums.chunks[n] = nil
			dst = append(dst, make([]byte, sha256.Size)...)
			continue
		}
		base := (sums.first + uint64(n)) * rows
		held := span{c.epoch + 1, uint16(max(f.first, base) - base), uint16(min(f.next, base+rows) - base)}
		if sums.chunks[n] == nil {
			sums.chunks[n] = new(chunkSums)
		}
		if one := sums.chunks[n]; one.held != held {
			one.held = held
			sumChunk(d, one, c, codes)
		}
		dst = append(dst, sums.chunks[n].sum[:]...)
	}
	return dst
}

// fitChunks makes the sums those of chunks first to end-1.
func (s *tableSums) fitChunks(first, end uint64) {
	if first < s.first || first >= s.first+uint64(len(s.chunks)) {
		s.first, s.chunks = first, nil
	}
	if gone := first - s.first; gone > 0 {
		s.first, s.chunks = first, append([]*chunkSums(nil), s.chunks[gone:]...)
	}
	for uint64(len(s.chunks)) < end-first {
		s.chunks = append(s.chunks, nil)
	}
	s.chunks = s.chunks[:end-first]
}

func sumChunk[R any, P pageOf[R]](d *Digester, s *chunkSums, c *chunk[R, P], codes pageCoder[R]) {
	sum, empty := sha256.New(), true
	rows := int(pageRows[R, P]())
	for n := int(s.held.from) / rows; n < (int(s.held.to)+rows-1)/rows; n++ {
		held := span{from: uint16(max(int(s.held.from), n*rows) - n*rows), to: uint16(min(int(s.held.to), n*rows+rows) - n*rows)}
		one := &s.pages[n]
		p := c.pages[n]
		switch {
		case p == nil:
			*one = pageSum{}
		case one.held != (span{p.epoch + 1, held.from, held.to}):
			one.held = span{p.epoch + 1, held.from, held.to}
			one.sum = sumPage(d, p, held, codes)
		}
		sum.Write(one.sum[:])
		empty = empty && one.sum == [pageSumSize]byte{}
	}
	if s.sum = [sha256.Size]byte{}; !empty {
		sum.Sum(s.sum[:0])
	}
}

func sumPage[R any, P pageOf[R]](d *Digester, p *page[R, P], held span, codes pageCoder[R]) [pageSumSize]byte {
	d.rows.data = d.rows.data[:0]
	none, empty := new(R), true
	for n := held.from; n < held.to; n++ {
		row := &p.rows[n]
		if codes.gaps != nil && !codes.gaps.held(row) {
			row = none
		} else {
			empty = false
		}
		codes.code(&d.rows, row)
	}
	if empty {
		return [pageSumSize]byte{}
	}
	sum := sha256.Sum256(d.rows.data)
	return [pageSumSize]byte(sum[:pageSumSize])
}
