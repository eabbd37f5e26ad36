package fsm

import (
	"encoding/binary"
	"errors"

	"railguard/engine"
)

// Row codecs of the snapshot: varints in field order. A decoder reads exactly
// what its encoder wrote and fails on anything else.

var errRow = errors.New("row broken")

// rowReader reads varints and remembers the first failure.
type rowReader struct {
	data []byte
	bad  bool
}

func (r *rowReader) unsigned() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *rowReader) signed() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *rowReader) byte() byte {
	if len(r.data) == 0 {
		r.bad = true
		return 0
	}
	v := r.data[0]
	r.data = r.data[1:]
	return v
}

// end fails when anything is left to read, or what was read was broken.
func (r *rowReader) end() error {
	if r.bad || len(r.data) != 0 {
		return errRow
	}
	return nil
}

func (r *rowReader) time() engine.Time { return engine.Time(r.signed()) }

// status reads a status that a row may have: EXPIRED is derived, never stored.
func (r *rowReader) status() engine.Status {
	status := engine.Status(r.byte())
	if status > engine.Revoked {
		r.bad = true
		return engine.Active
	}
	return status
}

func (r *rowReader) fill(dst []byte) {
	if len(r.data) < len(dst) {
		r.bad = true
		return
	}
	copy(dst, r.data)
	r.data = r.data[len(dst):]
}

func (r *rowReader) bytes() []byte {
	n := r.unsigned()
	if n > uint64(len(r.data)) {
		r.bad = true
		return nil
	}
	v := r.data[:n]
	r.data = r.data[n:]
	return v
}

func appendSpend(dst []byte, s *engine.Spend) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.Day))
	dst = binary.AppendVarint(dst, int64(s.Spent))
	return binary.AppendVarint(dst, int64(s.Held))
}

func (r *rowReader) spend() engine.Spend {
	return engine.Spend{Day: engine.Day(r.unsigned()), Spent: engine.USD(r.signed()), Held: engine.USD(r.signed())}
}

// appendUse writes which profile leaf a day's records refer to; one byte for none.
func appendUse(dst []byte, use *engine.ProfileUse) []byte {
	dst = binary.AppendUvarint(dst, uint64(use.Day))
	if use.Day == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, use.Revs)
	dst = binary.AppendUvarint(dst, use.Leaf)
	return append(dst, use.Hash[:]...)
}

func readUse(r *rowReader) (use engine.ProfileUse) {
	if use.Day = engine.Day(r.unsigned()); use.Day == 0 {
		return use
	}
	var revs [8]byte
	r.fill(revs[:])
	use.Revs, use.Leaf = binary.LittleEndian.Uint64(revs[:]), r.unsigned()
	r.fill(use.Hash[:])
	return use
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}
