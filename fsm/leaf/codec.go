package leaf

import (
	"encoding/binary"
	"errors"

	"railguard/engine"
)

// Form is a leaf's first byte.
type Form byte

// The forms. A number is for ever: 0.2.0 and every later release reads it.
const (
	FormEvent   Form = '{' // One JSON object.
	FormScreen  Form = 1
	FormProfile Form = 2
)

// ErrForm means bytes that no encoder of this binary's forms has written. It is
// also what a newer release's leaf gives: upgrade to read it.
var ErrForm = errors.New("leaf: not a form this release can read")

// SaltSize is the length of a leaf's salt.
const SaltSize = 16

// FormOf returns the form of a leaf's bytes; 0 for none.
func FormOf(data []byte) Form {
	if len(data) == 0 {
		return 0
	}
	return Form(data[0])
}

// reader takes a leaf apart. After an error everything reads as zero.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) fail() { r.rest, r.bad = nil, true }

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	head := r.rest[:n:n]
	r.rest = r.rest[n:]
	return head
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// unsigned reads a uvarint in its shortest form: every value has one encoding.
func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// limited is unsigned with an upper bound.
func (r *reader) limited(max uint64) uint64 {
	v := r.unsigned()
	if v > max {
		r.fail()
		return 0
	}
	return v
}

func (r *reader) signed() int64 {
	v := r.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) time() engine.Time { return engine.Time(r.signed()) }

func (r *reader) fill(dst []byte) { copy(dst, r.take(uint64(len(dst)))) }
