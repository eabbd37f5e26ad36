package ofac

import "math/bits"

// log2Fixed returns log2(n) in 1/65536, for n > 0, by integers alone: the
// same on every machine.
func log2Fixed(n uint32) uint32 {
	whole := uint32(31 - bits.LeadingZeros32(n))
	fraction := uint32(0)
	mantissa := uint64(n) << (31 - whole) // 1.0 is 1<<31
	for bit := uint32(1 << 15); bit > 0; bit >>= 1 {
		mantissa = mantissa * mantissa >> 31
		if mantissa >= 1<<32 {
			mantissa >>= 1
			fraction |= bit
		}
	}
	return whole<<16 | fraction
}

// rarity is the weight of a word that stands in df of n entries, 1e-4:
// log(n/(df+1)) / log(n), at least weightFloor.
func rarity(df, n uint32) int32 {
	if n < 2 || df == 0 {
		return scoreOne
	}
	all := int64(log2Fixed(n))
	weight := (all - int64(log2Fixed(df+1))) * scoreOne / all
	return int32(max(weight, weightFloor))
}

const weightFloor = 1500
