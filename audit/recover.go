package audit

import (
	"errors"
	"fmt"

	"railguard/audit/merkle"
)

// recoverTail reads a tail file at start. It takes every whole frame, cuts a torn end, and
// reports damage in bytes that a mark declares durable. If readOnly is set, it cuts nothing.
func recoverTail(d Dir, form geometry, number uint64, readOnly bool) (t *tail, report *TailReport, err error) {
	take := d.Create
	if readOnly {
		take = d.Open
	}
	f, err := take(tailName(number))
	if err != nil {
		return nil, nil, err
	}
	t = newTail(form, number, f)
	report, err = t.recoverFrames(readOnly)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", t.name, err), f.Close())
	}
	return t, report, nil
}

// TailReport is what Open found in one tail file.
type TailReport struct {
	File   string
	Leaves int   // readable leaves
	Cut    int64 // bytes cut from the end: torn by a crash, written again by the log's replay
	// Damaged counts ranges of bytes that were durable and cannot be read any more, and whose
	// leaves are nowhere else in the file. Missing reports these leaves.
	Damaged int
	At      int64 // The byte where the first of the bytes begins that were cut or cannot be read; 0: there are none.
	// Dropped counts the whole leaves behind the first byte of Cut that cannot be read. A crash of
	// the process leaves none; a power loss may leave some, and so does a byte that rotted.
	Dropped int
	Places  []Place // The first of the ranges that Damaged counts, placesMax at most.
	// Settled counts ranges of bytes that cannot be read and lack nothing: a leaf that was written
	// again since, or a mark.
	Settled int
}

// Place is a range of bytes of a tail that were durable and cannot be read any more.
type Place struct {
	At, End     int64  // Bytes, End excluded.
	First, Last uint64 // The first and the last leaf that stood there.
}

// placesMax bounds how many places of one tail are told one by one.
const placesMax = 16

func (t *tail) recoverFrames(readOnly bool) (*TailReport, error) {
	size, err := t.file.Size()
	if err != nil {
		return nil, err
	}
	mark, err := lastMark(t.file, size)
	if err != nil {
		return nil, err
	}
	durable := mark.durable
	report := &TailReport{File: t.name}
	scan := &frameScanner{file: t.file, size: size}
	hash, next := new(merkle.Hasher), t.first
	var bad []Place
	for t.end < size {
		f, start, n, err := scan.nextFrame(t.end)
		if err != nil {
			return nil, err
		}
		if start > t.end || n == 0 {
			if t.end >= durable {
				if report.Dropped, err = scan.countLeaves(start); err != nil {
					return nil, err
				}
				break // A torn end: nothing from here on was durable.
			}
			if n == 0 {
				bad = append(bad, Place{t.end, durable, next, max(mark.index, 1) - 1})
				t.end = durable // The rest of the durable bytes is lost.
				break
			}
			bad = append(bad, Place{t.end, start, next, max(f.index, 1) - 1})
		}
		t.end = start + int64(n)
		if f.kind != frameMark {
			next = f.index + 1
		}
		if f.kind != frameMark && t.form.segmentOf(f.index) == t.number {
			if err := t.publishFound(&f, start, n, hash); err != nil {
				return nil, err
			}
		}
	}
	t.tellBad(report, bad, mark)
	if t.end < size {
		report.Cut = size - t.end
		if report.Damaged == 0 {
			report.At = t.end
		}
	}
	if t.end < size && !readOnly {
		if err := t.truncateTorn(mark); err != nil {
			return nil, err
		}
	}
	t.written.Store(t.end)
	report.Leaves = int(t.form.leaves()) - t.absent
	return report, nil
}

// tellBad puts what is lost of the bytes that cannot be read into the report.
func (t *tail) tellBad(report *TailReport, bad []Place, mark tailMark) {
	for _, p := range bad {
		if p.First > p.Last { // Frames stand in any order where leaves were written again.
			p.First, p.Last = t.first, max(mark.index, t.endIndex(), 1)-1
		}
		if !t.narrowToAbsent(&p) {
			report.Settled++
			continue
		}
		if report.Damaged++; report.Damaged == 1 {
			report.At = p.At
		}
		if len(report.Places) < placesMax {
			report.Places = append(report.Places, p)
		}
	}
}

// narrowToAbsent narrows a place to the leaves that the file lacks, and reports whether there are
// any.
func (t *tail) narrowToAbsent(p *Place) bool {
	end := min(p.Last+1, t.first+t.form.leaves())
	first, last := end, uint64(0)
	for i := max(p.First, t.first); i < end; i++ {
		if !t.hasLeaf(int(i - t.first)) {
			first, last = min(first, i), i
		}
	}
	p.First, p.Last = first, last
	return first < end
}

// publishFound makes a frame that was found in the file readable.
func (t *tail) publishFound(f *frame, start int64, size int, hash *merkle.Hasher) error {
	k := t.form.placeInSegment(f.index)
	h := f.leafHash(hash)
	if t.hasLeaf(k) && h != t.hashes[k] {
		return fmt.Errorf("leaf %d stands twice with different bytes: %w", f.index, ErrDiverged)
	}
	t.publishFrame(k, framePlace(start, size, f.kind == frameErased), &h, f.time)
	return nil
}

// truncateTorn cuts the file after the last whole frame. If the mark lies after the cut, it
// first writes the mark again before it. Without a mark the next start would take damage of
// durable bytes for a torn end and drop everything after it.
func (t *tail) truncateTorn(mark tailMark) error {
	if mark.end > t.end {
		again := appendFrame(nil, frameMark, mark.index, &Leaf{Time: mark.durable})
		if err := t.appendFrames(again); err != nil {
			return err
		}
		if err := t.file.Sync(); err != nil {
			return err
		}
	}
	if err := t.file.Truncate(t.end); err != nil {
		return err
	}
	// Synced, because otherwise after a second crash the cut bytes could return behind the
	// frames that will be written over them.
	return t.file.Sync()
}

// tailMark says which part of a tail file is durable.
type tailMark struct {
	durable int64  // Bytes below it were synced.
	index   uint64 // Leaves below it were synced.
	end     int64  // Where the mark's own frame ends; 0: the file has no mark.
}

// lastMark finds the whole mark that declares the most bytes durable.
func lastMark(f File, size int64) (mark tailMark, err error) {
	scan := &frameScanner{file: f, size: size}
	for offset := int64(0); offset < size; {
		frame, start, n, err := scan.nextFrame(offset)
		if err != nil {
			return tailMark{}, err
		}
		if n == 0 {
			break
		}
		offset = start + int64(n)
		if frame.kind == frameMark && frame.time >= mark.durable && frame.time <= start {
			mark = tailMark{durable: frame.time, index: frame.index, end: offset}
		}
	}
	return mark, nil
}
