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

// coder writes rows to the end of data, or reads them from its beginning. It reads exactly
// what it wrote and remembers the first failure. While it writes, it changes no row.
type coder struct {
	data    []byte
	reading bool
	bad     bool
}

// fail ends the reading. What is read afterwards is zero.
func (c *coder) fail() { c.bad, c.data = true, nil }

// end fails when anything is left to read, or what was read was broken.
func (c *coder) end() error {
	if c.bad || len(c.data) != 0 {
		return errRow
	}
	return nil
}

// take returns the next n bytes, nil where fewer are left.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.data)) {
		c.fail()
		return nil
	}
	taken := c.data[:n]
	c.data = c.data[n:]
	return taken
}

// unsigned codes a number as a varint.
func unsigned[N ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, field *N) {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, uint64(*field))
		return
	}
	v, n := binary.Uvarint(c.data)
	if *field = N(v); n <= 0 || uint64(*field) != v {
		c.fail()
		return
	}
	c.data = c.data[n:]
}

// signed codes a time or an amount as a varint.
func signed[N ~int64](c *coder, field *N) {
	if !c.reading {
		c.data = binary.AppendVarint(c.data, int64(*field))
		return
	}
	v, n := binary.Varint(c.data)
	if *field = N(v); n <= 0 {
		c.fail()
		return
	}
	c.data = c.data[n:]
}

// octet codes a number of one byte.
func octet[N ~uint8](c *coder, field *N) {
	if !c.reading {
		c.data = append(c.data, byte(*field))
	} else if taken := c.take(1); taken != nil {
		*field = N(taken[0])
	}
}

// flag codes a bool as a byte, 0 or 1.
func (c *coder) flag(field *bool) {
	var v byte
	if *field {
		v = 1
	}
	if octet(c, &v); v > 1 {
		c.fail()
	}
	if c.reading {
		*field = v == 1
	}
}

// raw codes bytes whose number is known.
func (c *coder) raw(field []byte) {
	if !c.reading {
		c.data = append(c.data, field...)
		return
	}
	copy(field, c.take(uint64(len(field))))
}

// fixed codes a number as so many bytes, little-endian.
func fixed[N ~uint32 | ~uint64](c *coder, field *N, size int) {
	var bytes [8]byte
	binary.LittleEndian.PutUint64(bytes[:], uint64(*field))
	c.raw(bytes[:size])
	if c.reading {
		*field = N(binary.LittleEndian.Uint64(bytes[:]))
	}
}

// bytes reads bytes behind their length.
func (c *coder) bytes() []byte {
	var n uint64
	unsigned(c, &n)
	return c.take(n)
}

// text codes a text behind its length.
func (c *coder) text(field *string) {
	if c.reading {
		*field = string(c.bytes())
		return
	}
	c.data = append(binary.AppendUvarint(c.data, uint64(len(*field))), *field...)
}

// status codes a status that a row may have: EXPIRED is derived, never stored.
func (c *coder) status(field *engine.Status) {
	if octet(c, field); c.reading && *field > engine.Revoked {
		c.fail()
	}
}

func (c *coder) spend(s *engine.Spend) {
	unsigned(c, &s.Day)
	signed(c, &s.Spent)
	signed(c, &s.Held)
}

// use codes which profile leaf a day's records refer to: one byte for none.
func (c *coder) use(use *engine.ProfileUse) {
	if unsigned(c, &use.Day); use.Day == 0 {
		return
	}
	fixed(c, &use.Revs, 8)
	unsigned(c, &use.Leaf)
	c.raw(use.Hash[:])
}

// codeValue codes a pointer to an immutable value: deterministic CBOR behind its length; nil
// is one zero byte.
func codeValue[V any](c *coder, field **V) {
	switch {
	case c.reading && len(c.data) > 0 && c.data[0] == 0:
		*field, c.data = nil, c.data[1:]
	case c.reading:
		*field = new(V)
		c.decode(*field)
	case *field == nil:
		c.data = append(c.data, 0)
	default:
		c.encode(*field)
	}
}

// encode writes a value as CBOR behind its length; decode reads it.
func (c *coder) encode(value any) {
	data := wire.Encode(value)
	c.data = append(binary.AppendUvarint(c.data, uint64(len(data))), data...)
}

func (c *coder) decode(value any) {
	if data := c.bytes(); !c.bad && wire.DecodeBody(data, value) != nil {
		c.fail()
	}
}
