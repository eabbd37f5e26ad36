package wire

import "encoding/binary"

// Reader reads bytes of a hand-written encoding: fixed fields, and varints in their shortest
// form, so that every value has one encoding. After the first bad or missing field all reads
// return zero, and Broken returns true.
type Reader struct {
	rest []byte
	bad  bool
}

// NewReader returns a reader of data. Results may alias data.
func NewReader(data []byte) Reader { return Reader{rest: data} }

// Broken tells whether a field was missing or invalid.
func (r *Reader) Broken() bool { return r.bad }

// Rest returns the unread bytes.
func (r *Reader) Rest() []byte { return r.rest }

// Fail marks the reader as broken, because a field has an invalid value.
func (r *Reader) Fail() { r.rest, r.bad = nil, true }

// Take returns the next n bytes, which alias data.
func (r *Reader) Take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.Fail()
		return nil
	}
	head := r.rest[:n:n]
	r.rest = r.rest[n:]
	return head
}

// Byte returns the next byte.
func (r *Reader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Fill copies the next bytes into dst.
func (r *Reader) Fill(dst []byte) { copy(dst, r.Take(uint64(len(dst)))) }

// Word returns eight bytes, little-endian.
func (r *Reader) Word() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Unsigned returns a uvarint.
func (r *Reader) Unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.Fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Limited is Unsigned with an upper bound.
func (r *Reader) Limited(most uint64) uint64 {
	v := r.Unsigned()
	if v > most {
		r.Fail()
		return 0
	}
	return v
}

// Signed returns a zigzag varint.
func (r *Reader) Signed() int64 {
	v := r.Unsigned()
	return int64(v>>1) ^ -int64(v&1)
}
