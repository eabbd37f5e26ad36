package ofac

import (
	"encoding/binary"
	"math/bits"
)

// hashPair is the 128-bit hash of a key: place picks the slot of a perfect
// hash, print is stored there and tells the key from every other.
type hashPair struct{ place, print uint64 }

const (
	hashOdd1 = 0x9E3779B97F4A7C15
	hashOdd2 = 0xD1B54A32D192ED03
	hashOdd3 = 0xA0761D6478BD642F
	hashOdd4 = 0xE7037ED1A0B428DB
)

// hashBytes hashes a key. Multiply-and-fold over words of eight bytes, two
// lanes with different odd constants. It is not a cryptographic hash: whoever
// makes a name collide with a listed one only gets that name flagged.
func hashBytes(key []byte) hashPair {
	a, b := uint64(len(key))^hashOdd1, uint64(len(key))^hashOdd3
	for len(key) >= 8 {
		word := binary.LittleEndian.Uint64(key)
		a = fold64(a^word, hashOdd2)
		b = fold64(b^word, hashOdd4)
		key = key[8:]
	}
	if len(key) > 0 {
		word := uint64(0)
		for i, c := range key {
			word |= uint64(c) << (8 * i)
		}
		a = fold64(a^word, hashOdd2)
		b = fold64(b^word, hashOdd4)
	}
	return hashPair{place: fold64(a, hashOdd3) ^ a>>32, print: fold64(b, hashOdd1) ^ b>>32}
}

func fold64(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// reduce maps a hash to [0, n) without division.
func reduce(hash uint64, n uint32) uint32 {
	high, _ := bits.Mul64(hash, uint64(n))
	return uint32(high)
}
