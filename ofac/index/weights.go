package index

import (
	"math/bits"

	"railguard/ofac/text"
)

// log2Fixed returns log2(n) in 1/65536, for n > 0. It uses integers only, so it is the same
// on every machine.
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

// rarityOf is the weight, in 1e-4, of a word that stands in df of n entries: log(n/(df+1))
// / log(n), at least WeightFloor.
func rarityOf(df, n uint32) int32 {
	if n < 2 || df == 0 {
		return text.ScoreOne
	}
	all := int64(log2Fixed(n))
	weight := (all - int64(log2Fixed(df+1))) * text.ScoreOne / all
	return int32(max(weight, WeightFloor))
}

const WeightFloor = 1500

// GrammarWeight is the greatest weight of an article or a particle.
const GrammarWeight = 1200

// legalWordWeight is the greatest weight of a word of a legal form.
const legalWordWeight = 1000

// WordWeight is how strongly a word identifies a name: its rarity, capped for titles,
// generic words, legal forms, articles and particles.
func WordWeight(word []byte, entries, of uint32) int32 {
	weight := rarityOf(entries, of)
	switch {
	case text.FunctionWords.Has(word):
		return min(weight, GrammarWeight)
	case text.IsLegalWord(word, entries > 0):
		return min(weight, legalWordWeight)
	case text.GenericWords.Has(word):
		return min(weight, 2000)
	case text.TitleWords.Has(word):
		return min(weight, 2500)
	}
	return weight
}

// WholeNameWords is the least number of words by which a listed name is recognised among
// other words.
const WholeNameWords = 3

// bothListed lowers the similarity of two words that are both listed, since a misspelling
// seldom makes another listed word. 0 means that they are not close.
func bothListed(similarity int32) int32 {
	if similarity == text.SameSpelling {
		return similarity
	}
	similarity = text.ScoreOne - (text.ScoreOne-similarity)*5/4
	if similarity < text.WordFloor {
		return 0
	}
	return similarity
}

// ImpreciseWeight is the least weight of a pair of words that are hardly close, however
// common the word is.
const ImpreciseWeight = 4000
