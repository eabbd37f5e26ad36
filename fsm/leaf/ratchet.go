package leaf

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/dchest/siphash"

	"railguard/engine"
)

// Ratchet makes the salts of leaves. Each UTC day has a key that is computed from the day
// before's, and no earlier key can be computed from it. Once a day's leaves are erased, their
// salts cannot be found, so a leaf hash, which stays for ever, cannot confirm a guess of the
// leaf.
type Ratchet struct {
	Key [16]byte
	Day engine.Day // The UTC date of Key; 0 before the first leaf.
}

// Turn moves the ratchet forward to a day; it never goes back. A ratchet at day 0 begins with
// the given day.
func (r *Ratchet) Turn(day engine.Day) {
	if r.Day == 0 {
		r.Day = day
	}
	for r.Day < day {
		sum := sha256.Sum256(append([]byte("railguard salt ratchet v1\n"), r.Key[:]...))
		copy(r.Key[:], sum[:])
		r.Day++
	}
}

// Salt returns the salt of a leaf written on the ratchet's day: SipHash-128 of
// its index under the day's key.
func (r *Ratchet) Salt(leaf uint64) (salt [SaltSize]byte) {
	var in [8]byte
	binary.LittleEndian.PutUint64(in[:], leaf)
	low, high := binary.LittleEndian.Uint64(r.Key[:8]), binary.LittleEndian.Uint64(r.Key[8:])
	first, second := siphash.Hash128(low, high, in[:])
	binary.BigEndian.PutUint64(salt[:8], first)
	binary.BigEndian.PutUint64(salt[8:], second)
	return salt
}
