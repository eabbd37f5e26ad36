package keyindex

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"time"

	"railguard/audit"
)

const (
	suffix    = ".keys"
	temporary = ".tmp"

	bufferSize = 64 << 10
	restRows   = 1 << 15               // After so many rows the writer rests.
	restMost   = 20 * time.Millisecond // The longest rest.
	restTimes  = 3                     // A rest is so many times as long as the work before it, so that no verdict waits for it.
)

var errEnded = errors.New("key index: the node has ended")

func nameOf(s *stretch) string { return fmt.Sprintf("%012x-%012x%s", s.first, s.next, suffix) }

// isOwn tells whether a file of the folder is one that the index has made.
func isOwn(name string) bool {
	first, next, found := strings.Cut(strings.TrimSuffix(name, suffix), "-")
	_, wrongFirst := strconv.ParseUint(first, 16, 64)
	_, wrongNext := strconv.ParseUint(next, 16, 64)
	return found && strings.HasSuffix(name, suffix) && wrongFirst == nil && wrongNext == nil
}

// rowReader gives rows in their order, and io.EOF after the last one.
type rowReader interface{ nextRow() (row, error) }

// listed reads rows from memory.
type listed struct{ rows []row }

func (l *listed) nextRow() (row, error) {
	if len(l.rows) == 0 {
		return row{}, io.EOF
	}
	r := l.rows[0]
	l.rows = l.rows[1:]
	return r, nil
}

// stored reads the rows of a file.
type stored struct {
	file   *file
	next   uint64 // The next page.
	memory buffer
	rows   []byte
	place  int
}

func (s *stored) nextRow() (row, error) {
	if s.place == len(s.rows)/rowSize {
		if s.next == s.file.pages() {
			return row{}, io.EOF
		}
		rows, err := s.file.readRows(s.next, &s.memory)
		if err != nil {
			return row{}, err
		}
		s.rows, s.place = rows, 0
		s.next++
	}
	s.place++
	return rowAt(s.rows, s.place-1), nil
}

// merged reads the rows of several readers in their order.
type merged struct {
	readers []rowReader
	heads   []row
}

func mergeRows(readers []rowReader) (*merged, error) {
	m := &merged{}
	for _, reader := range readers {
		head, err := reader.nextRow()
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.readers, m.heads = append(m.readers, reader), append(m.heads, head)
	}
	return m, nil
}

func (m *merged) nextRow() (row, error) {
	if len(m.heads) == 0 {
		return row{}, io.EOF
	}
	least := 0
	for i := range m.heads { // Of eight or so.
		if m.heads[i].compare(m.heads[least]) < 0 {
			least = i
		}
	}
	first := m.heads[least]
	head, err := m.readers[least].nextRow()
	switch {
	case errors.Is(err, io.EOF):
		last := len(m.heads) - 1
		m.heads[least], m.readers[least] = m.heads[last], m.readers[last]
		m.heads, m.readers = m.heads[:last], m.readers[:last]
	case err != nil:
		return row{}, err
	default:
		m.heads[least] = head
	}
	return first, nil
}

// part writes one part of a file, in pages that begin with their checksum.
type part struct {
	out   *bufio.Writer
	page  []byte
	bytes int // Of a full page, without its checksum.
}

func newPart(f audit.File, offset int64, bytes int) *part {
	return &part{bufio.NewWriterSize(io.NewOffsetWriter(f, offset), bufferSize), make([]byte, 0, bytes), bytes}
}

func (p *part) add(b []byte) error {
	p.page = append(p.page, b...)
	if len(p.page) < p.bytes {
		return nil
	}
	return p.endPage()
}

func (p *part) endPage() error {
	var sum [4]byte
	binary.LittleEndian.PutUint32(sum[:], crc32.Checksum(p.page, castagnoli))
	_, err := p.out.Write(sum[:])
	if err == nil {
		_, err = p.out.Write(p.page)
	}
	p.page = p.page[:0]
	return err
}

func (p *part) end() error {
	if len(p.page) > 0 {
		if err := p.endPage(); err != nil {
			return err
		}
	}
	return p.out.Flush()
}

// fileWriter writes the rows of a file and its filter in one pass.
type fileWriter struct {
	filter, rows *part
	blocks       uint32
	block        [blockSize]byte // The block that keys are added to.
	at           uint32          // Its number.
}

func (w *fileWriter) addRow(r row) error {
	for place := uint32(placeOf(r.key, uint64(w.blocks))); w.at < place; {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	for i, set := range filterBits(r.key) {
		word := w.block[4*i:]
		binary.LittleEndian.PutUint32(word, binary.LittleEndian.Uint32(word)|set)
	}
	var b [rowSize]byte
	binary.LittleEndian.PutUint64(b[:], r.key)
	binary.LittleEndian.PutUint64(b[8:], r.leaf)
	return w.rows.add(b[:])
}

func (w *fileWriter) endBlock() error {
	err := w.filter.add(w.block[:])
	w.block = [blockSize]byte{}
	w.at++
	return err
}

func (w *fileWriter) end() error {
	for w.at < w.blocks {
		if err := w.endBlock(); err != nil {
			return err
		}
	}
	return errors.Join(w.filter.end(), w.rows.end())
}

// writeRows writes the file of a stretch that has so many rows, makes it durable and opens it.
func (x *Index) writeRows(of stretch, count uint64, rows rowReader) (*file, error) {
	f := &file{stretch: of, name: nameOf(&of), rows: count, blocks: blocksFor(count)}
	out, err := x.dir.Create(f.name + temporary)
	if err != nil {
		return nil, err
	}
	if err = out.Truncate(0); err == nil {
		err = x.fill(out, f, rows)
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = x.dir.Rename(f.name+temporary, f.name)
	}
	if err == nil {
		err = x.dir.Sync("")
	}
	if err != nil {
		return nil, err
	}
	return openFile(x.dir, f.name)
}

func (x *Index) fill(out audit.File, f *file, rows rowReader) error {
	if _, err := out.WriteAt(f.appendHeader(nil), 0); err != nil {
		return err
	}
	w := &fileWriter{
		filter: newPart(out, headerSize, pageBlocks*blockSize), rows: newPart(out, f.rowsAt(), pageRows*rowSize), blocks: f.blocks,
	}
	began := time.Now()
	for n := uint64(0); ; n++ {
		r, err := rows.nextRow()
		if errors.Is(err, io.EOF) {
			if n != f.rows {
				return fmt.Errorf("%w: %s has %d rows of %d", errFile, f.name, n, f.rows)
			}
			return w.end()
		}
		if err != nil {
			return err
		}
		if err := w.addRow(r); err != nil {
			return err
		}
		if n%restRows == restRows-1 {
			if x.hasEnded() {
				return errEnded
			}
			x.rest(time.Since(began))
			began = time.Now()
		}
	}
}

// rest makes way for verdicts after a step of work.
func (x *Index) rest(work time.Duration) {
	if x.hurries() {
		return
	}
	select {
	case <-x.stop:
	case <-time.After(min(restTimes*work, restMost)):
	}
}
