package fsm

import (
	"encoding/binary"
	"errors"

	"railguard/engine"
	"railguard/fsm/wire"
)

// The codec of a row is one function that names the row's fields in their order. A coder
// calls it to write the row and to read it, so the two cannot differ.

var errRow = errors.New("row broken")

// coder appends rows to data, or reads them from its front. It reads exactly what it wrote
// and remembers the first failure. While it writes, it changes no row.
type coder struct {
	data    []byte
	reading bool
	bad     bool
}

// failReading marks the data as broken. All later reads return zero.
func (c *coder) failReading() { c.bad, c.data = true, nil }

// endReading fails if bytes are left over, or if a read failed.
func (c *coder) endReading() error {
	if c.bad || len(c.data) != 0 {
		return errRow
	}
	return nil
}

// takeBytes returns the next n bytes; nil: fewer are left.
func (c *coder) takeBytes(n uint64) []byte {
	if n > uint64(len(c.data)) {
		c.failReading()
		return nil
	}
	taken := c.data[:n]
	c.data = c.data[n:]
	return taken
}

func codeUnsigned[N ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, field *N) {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, uint64(*field))
		return
	}
	v, n := binary.Uvarint(c.data)
	if *field = N(v); n <= 0 || uint64(*field) != v {
		c.failReading()
		return
	}
	c.data = c.data[n:]
}

func codeSigned[N ~int64](c *coder, field *N) {
	if !c.reading {
		c.data = binary.AppendVarint(c.data, int64(*field))
		return
	}
	v, n := binary.Varint(c.data)
	if *field = N(v); n <= 0 {
		c.failReading()
		return
	}
	c.data = c.data[n:]
}

// codeByte codes a number of one byte.
func codeByte[N ~uint8](c *coder, field *N) {
	if !c.reading {
		c.data = append(c.data, byte(*field))
	} else if taken := c.takeBytes(1); taken != nil {
		*field = N(taken[0])
	}
}

func (c *coder) codeFlag(field *bool) {
	var v byte
	if *field {
		v = 1
	}
	if codeByte(c, &v); v > 1 {
		c.failReading()
	}
	if c.reading {
		*field = v == 1
	}
}

// codeRaw codes bytes of a known length, without the length.
func (c *coder) codeRaw(field []byte) {
	if !c.reading {
		c.data = append(c.data, field...)
		return
	}
	copy(field, c.takeBytes(uint64(len(field))))
}

// codeFixed codes a number as size bytes, little-endian.
func codeFixed[N ~uint32 | ~uint64](c *coder, field *N, size int) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], uint64(*field))
	c.codeRaw(bytes[:size])
	if c.reading {
		*field = N(binary.LittleEndian.Uint64(bytes[:]))
	}
}

// readBytes reads a length and as many bytes.
func (c *coder) readBytes() []byte {
	var n uint64
	codeUnsigned(c, &n)
	return c.takeBytes(n)
}

// codeText codes a text after its length.
func (c *coder) codeText(field *string) {
	if c.reading {
		*field = string(c.readBytes())
		return
	}
	c.data = append(binary.AppendUvarint(c.data, uint64(len(*field))), *field...)
}

// codeStatus codes a status that a row may have: EXPIRED is derived, never stored.
func (c *coder) codeStatus(field *engine.Status) {
	if codeByte(c, field); c.reading && *field > engine.Revoked {
		c.failReading()
	}
}

func (c *coder) codeSpend(s *engine.Spend) {
	codeUnsigned(c, &s.Day)
	codeSigned(c, &s.Spent)
	codeSigned(c, &s.Held)
}

// codeUse codes which profile leaf a day's records refer to; one zero byte if none.
func (c *coder) codeUse(use *engine.ProfileUse) {
	if codeUnsigned(c, &use.Day); use.Day == 0 {
		return
	}
	codeFixed(c, &use.Revs, 8)
	codeUnsigned(c, &use.Leaf)
	c.codeRaw(use.Hash[:])
}

// codeValue codes a pointer to an immutable value as deterministic CBOR after its length; nil
// is one zero byte.
func codeValue[V any](c *coder, field **V) {
	switch {
	case c.reading && len(c.data) > 0 && c.data[0] == 0:
		*field, c.data = nil, c.data[1:]
	case c.reading:
		*field = new(V)
		c.decodeValue(*field)
	case *field == nil:
		c.data = append(c.data, 0)
	default:
		c.encodeValue(*field)
	}
}

// encodeValue writes a value as CBOR after its length.
func (c *coder) encodeValue(value any) {
	data := wire.Encode(value)
	c.data = append(binary.AppendUvarint(c.data, uint64(len(data))), data...)
}

func (c *coder) decodeValue(value any) {
	if data := c.readBytes(); !c.bad && wire.DecodeBody(data, value) != nil {
		c.failReading()
	}
}
