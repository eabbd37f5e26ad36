package index

import (
	"math/bits"

	"railguard/ofac/text"
)

// What the presence of a word says is counted in bits: a word that one of 1,024 ordinary names has says
// ten. The tables of ordinary words are counted from ordinary names by `railguard-bench names --count`
// (docs/matching.md says from which); frequent.txt adds the frequent names of further peoples. The list says how often its own entries have a word.

// Bit is one bit in the numbers of the matcher, which are hundredths.
const Bit = 100

// BitsMost is the most that a word says, and PairLeast the least by which a name is bounded for each of
// its words: an initial that fits says no more.
const (
	BitsMost  = 2200
	PairLeast = 600
)

// The most bits of words that say little.
const (
	GrammarBits = 170 // An article or a particle.
	legalBits   = 140 // A word of a legal form.
	titleBits   = 350
	groupBits   = 280 // GenericWords.
	letterBits  = 210 // A single letter or digit, which is often left out.
)

// A word that no ordinary name has is the rarer the longer it is.
const (
	unseenLetters = 6
	unseenBits    = 1300 // Of a word of so many letters.
	unseenLetter  = 80   // For each letter more or less.
	unseenMost    = BitsMost
	listedLeast   = 1 << 14 // A shorter list counts as one of so many entries.
	listedBonus   = 200     // A word that several listed entries have is so much rarer among ordinary names.
)

// WordBits returns how many bits the presence of a word says in the name of a person, or of something
// else. entries is how many of all listed entries have it.
func WordBits(word []byte, entries, all uint32, person bool) int32 {
	o, most := OrdinaryOf(word), int32(unseenMost)
	class := o.other
	if person {
		class = o.person
	}
	if entries > 1 {
		most = min(most, int32((int64(log2Fixed(max(all, listedLeast)))-int64(log2Fixed(entries)))*Bit>>16)+listedBonus)
	}
	return max(min(most, classBits(word, class), formalBits(word, entries > 0)), GrammarBits/2)
}

// UnlistedBits returns WordBits of a word that no listed entry has, in the name of a person and of something
// else.
func UnlistedBits(word []byte, o Ordinary) (person, other int32) {
	most := min(unseenMost, formalBits(word, false))
	return max(min(most, classBits(word, o.person)), GrammarBits/2), max(min(most, classBits(word, o.other)), GrammarBits/2)
}

// classBits returns the bits of a word of a class of ordinary names, 0 if it is in none.
func classBits(word []byte, class int32) int32 {
	if class != 0 {
		return class*Bit + Bit/2
	}
	return unseenBits + unseenLetter*int32(text.LetterCount(word)-unseenLetters)
}

// formalBits returns the most that a word says because of what it is: an article, a legal form, a title.
func formalBits(word []byte, listed bool) int32 {
	switch {
	case text.FunctionWords.Has(word):
		return GrammarBits
	case text.IsLegalWord(word, listed):
		return legalBits
	case text.GenericWords.Has(word):
		return groupBits
	case text.TitleWords.Has(word):
		return titleBits
	case len(word) == 1:
		return letterBits
	}
	return unseenMost
}

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
