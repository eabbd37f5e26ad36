package index

import (
	_ "embed"
	"math/bits"
	"strconv"
	"strings"

	"railguard/ofac/text"
)

// What the presence of a word says is counted in bits: a word that one of 1,024 ordinary names has says
// ten. The tables of ordinary words are counted from ordinary names by `railguard-bench names --count`
// (docs/matching.md says from which); frequent.txt adds the frequent names of further peoples. The list says how often its own entries have a word.

// Bit is one bit in the numbers of the matcher, which are hundredths.
const Bit = 100

//go:embed people.txt
var peopleTable string

//go:embed frequent.txt
var frequentTable string

//go:embed companies.txt
var companiesTable string

var ordinaryPeople, ordinaryCompanies = readOrdinary(peopleTable + frequentTable), readOrdinary(companiesTable)

// readOrdinary reads lines of a class and its words: one of 2 to the power of the class names has the
// word. Of two classes of a word the one of more names counts.
func readOrdinary(table string) map[string]int32 {
	classes := map[string]int32{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		class, err := strconv.Atoi(words[0])
		if err != nil {
			panic("ofac/index: a table of ordinary words has the line " + line)
		}
		for _, word := range words[1:] {
			if known, ok := classes[word]; !ok || int32(class) < known {
				classes[word] = int32(class)
			}
		}
	}
	return classes
}

// IsOrdinary tells whether ordinary names have the word.
func IsOrdinary(word []byte) bool {
	if _, ok := ordinaryPeople[string(word)]; ok {
		return true
	}
	_, ok := ordinaryCompanies[string(word)]
	return ok
}

// genericClass is the class up to which a word says hardly anything of a company.
const genericClass = 6

// IsGeneric tells whether a word says hardly anything of a company: one in some hundred has it, or it
// names a business, a place of business or a domain.
func IsGeneric(word []byte) bool {
	class, ok := ordinaryCompanies[string(word)]
	return ok && class <= genericClass || text.BusinessWords.Has(word) || text.PlaceWords.Has(word)
}

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
	table, most := ordinaryCompanies, int32(unseenMost)
	if person {
		table = ordinaryPeople
	}
	if entries > 1 {
		most = min(most, int32((int64(log2Fixed(max(all, listedLeast)))-int64(log2Fixed(entries)))*Bit>>16)+listedBonus)
	}
	if class, ok := table[string(word)]; ok {
		most = min(most, class*Bit+Bit/2)
	} else {
		most = min(most, unseenBits+unseenLetter*int32(text.LetterCount(word)-unseenLetters))
	}
	switch {
	case text.FunctionWords.Has(word):
		most = min(most, GrammarBits)
	case text.IsLegalWord(word, entries > 0):
		most = min(most, legalBits)
	case text.GenericWords.Has(word):
		most = min(most, groupBits)
	case text.TitleWords.Has(word):
		most = min(most, titleBits)
	case len(word) == 1:
		most = min(most, letterBits)
	}
	return max(most, GrammarBits/2)
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
