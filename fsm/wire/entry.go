package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"railguard/engine"
)

const (
	entryHead  = 2 + 8 + 8 + 2
	entryTail  = 4
	recordHead = 1 + 1 + 2 + 8 + 4
)

// Errors of Decode. Each means that no leader wrote the bytes, and a node that meets one
// stops.
var (
	ErrShort    = errors.New("entry: truncated")
	ErrChecksum = errors.New("entry: checksum mismatch")
	ErrFrame    = errors.New("entry: record frame broken")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Header is the fixed front of an entry.
type Header struct {
	Format engine.Format
	Term   uint64      // The raft term of the sequencer; Apply rejects the entry in another term.
	Time   engine.Time // The leader's stamp; Apply uses max(last, Time).
}

// Record is one framed record of an entry. Body aliases the entry's bytes.
type Record struct {
	Kind    Kind
	Version uint8
	Origin  uint16 // The node that proposed it.
	Seq     uint64 // Origin's own number of the proposal.
	Body    []byte
}

// Batch is a decoded entry: a header and an iterator over its records.
type Batch struct {
	Header Header
	Count  int
	rest   []byte
	left   int
}

// AppendHeader begins an entry in dst; count is patched by Seal.
func AppendHeader(dst []byte, h Header) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(h.Format))
	dst = binary.LittleEndian.AppendUint64(dst, h.Term)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Time))
	return binary.LittleEndian.AppendUint16(dst, 0)
}

// AppendRecord frames one record.
func AppendRecord(dst []byte, r Record) []byte {
	dst = append(dst, byte(r.Kind), r.Version)
	dst = binary.LittleEndian.AppendUint16(dst, r.Origin)
	dst = binary.LittleEndian.AppendUint64(dst, r.Seq)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Body)))
	return append(dst, r.Body...)
}

// Seal writes the record count into the header and appends the checksum.
// entry must begin with AppendHeader's bytes.
func Seal(entry []byte, count int) []byte {
	binary.LittleEndian.PutUint16(entry[18:], uint16(count))
	return binary.LittleEndian.AppendUint32(entry, crc32.Checksum(entry, castagnoli))
}

// Decode checks the checksum and the bounds of an entry. Records are framed
// lazily by Next; their bodies alias entry.
func Decode(entry []byte) (Batch, error) {
	if len(entry) < entryHead+entryTail {
		return Batch{}, ErrShort
	}
	body := entry[:len(entry)-entryTail]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(entry[len(body):]) {
		return Batch{}, ErrChecksum
	}
	b := Batch{
		Header: Header{
			Format: engine.Format(binary.LittleEndian.Uint16(body)),
			Term:   binary.LittleEndian.Uint64(body[2:]),
			Time:   engine.Time(binary.LittleEndian.Uint64(body[10:])),
		},
		Count: int(binary.LittleEndian.Uint16(body[18:])),
		rest:  body[entryHead:],
	}
	b.left = b.Count
	if b.Count > engine.EntryRecordsMax {
		return Batch{}, fmt.Errorf("%w: %d records", ErrFrame, b.Count)
	}
	return b, b.checkFrames()
}

// Framed does the same as Decode for records that are not in an entry yet. There must be
// exactly count of them.
func Framed(records []byte, count int) (Batch, error) {
	b := Batch{Count: count, rest: records, left: count}
	if count < 0 || count > engine.EntryRecordsMax {
		return Batch{}, fmt.Errorf("%w: %d records", ErrFrame, count)
	}
	return b, b.checkFrames()
}

// checkFrames walks all frames once, so that Next cannot fail in the middle of an entry.
func (b *Batch) checkFrames() error {
	rest := b.rest
	for range b.Count {
		if len(rest) < recordHead {
			return ErrFrame
		}
		size := uint64(binary.LittleEndian.Uint32(rest[12:]))
		if uint64(len(rest)-recordHead) < size {
			return ErrFrame
		}
		rest = rest[recordHead+size:]
	}
	if len(rest) != 0 {
		return ErrFrame
	}
	return nil
}

// Next returns the next record, or false at the end.
func (b *Batch) Next() (Record, bool) {
	if b.left == 0 {
		return Record{}, false
	}
	b.left--
	r := Record{
		Kind:    Kind(b.rest[0]),
		Version: b.rest[1],
		Origin:  binary.LittleEndian.Uint16(b.rest[2:]),
		Seq:     binary.LittleEndian.Uint64(b.rest[4:]),
	}
	size := binary.LittleEndian.Uint32(b.rest[12:])
	r.Body = b.rest[recordHead : recordHead+size]
	b.rest = b.rest[recordHead+size:]
	return r, true
}
