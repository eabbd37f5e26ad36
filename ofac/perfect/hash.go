package perfect

import (
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Key is the 128-bit hash of a key. place picks the slot of a perfect hash. print is stored
// in the slot and distinguishes the key from every other one.
type Key struct{ place, print uint64 }

// Odd constants that mix bits.
const (
	Odd1 = 0x9E3779B97F4A7C15
	Odd2 = 0xD1B54A32D192ED03
	odd3 = 0xA0761D6478BD642F
	odd4 = 0xE7037ED1A0B428DB
)

// KeyOf hashes a key by multiply-and-fold over words of eight bytes, in two lanes with
// different odd constants. The hash is not cryptographic: anyone who makes a name collide
// with a listed one only gets that name flagged.
func KeyOf(key []byte) Key {
	a, b := uint64(len(key))^Odd1, uint64(len(key))^odd3
	for len(key) >= 8 {
		word := binary.LittleEndian.Uint64(key)
		a = Fold(a^word, Odd2)
		b = Fold(b^word, odd4)
		key = key[8:]
	}
	if len(key) > 0 {
		word := uint64(0)
		for i, c := range key {
			word |= uint64(c) << (8 * i)
		}
		a = Fold(a^word, Odd2)
		b = Fold(b^word, odd4)
	}
	return Key{place: Fold(a, odd3) ^ a>>32, print: Fold(b, Odd1) ^ b>>32}
}

// Fold multiplies to 128 bits and xors the halves.
func Fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// Reduce maps a hash to [0, n) without division.
func Reduce(hash uint64, n uint32) uint32 {
	high, _ := bits.Mul64(hash, uint64(n))
	return uint32(high)
}

// Compare orders keys so that equal keys are adjacent.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.place, other.place), cmp.Compare(k.print, other.print))
}

// Print distinguishes a key from every other one of its set.
func (k Key) Print() uint64 { return k.print }
