package index

import (
	_ "embed"
	"strconv"
	"strings"

	"railguard/ofac/text"
)

// How much the presence of a word says is counted in bits: a word that one of 1,024 ordinary names has
// says ten. The tables of ordinary words are counted from ordinary names by `railguard-bench names
// --count` (docs/matching.md says from which); the list itself says how often its own names have a word.

// Bit is one bit in the numbers of the matcher, which are hundredths.
const Bit = 100

//go:embed people.txt
var peopleTable string

//go:embed companies.txt
var companiesTable string

var ordinaryPeople, ordinaryCompanies = readOrdinary(peopleTable), readOrdinary(companiesTable)

// readOrdinary reads lines of a class and its words: one of 2 to the power of the class names has the word.
func readOrdinary(table string) map[string]int32 {
	classes := map[string]int32{}
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		class, err := strconv.Atoi(words[0])
		if err != nil {
			panic("ofac/index: a table of ordinary words has the line " + line)
		}
		for _, word := range words[1:] {
			classes[word] = int32(class)
		}
	}
	return classes
}

// The numbers by which the rarity of a word that no ordinary name has follows from its length.
var (
	UnseenBits   int32 = 1300 // A word of UnseenLetters letters.
	UnseenLetter int32 = 80   // More for each letter more, and less for each letter less.
	UnseenMost   int32 = 2200
	ListedBonus  int32 = 200 // A word that several listed entries have is so much rarer among ordinary names.
)

const unseenLetters = 6

// WordBits returns how many bits the presence of a word says in the name of a person, or of something
// else. entries is how many of all listed entries have it.
func WordBits(word []byte, entries, all uint32, person bool) int32 {
	table := ordinaryCompanies
	if person {
		table = ordinaryPeople
	}
	most := UnseenMost
	if entries > 1 && all > 1 {
		most = min(most, int32((int64(log2Fixed(all))-int64(log2Fixed(entries)))*Bit>>16)+ListedBonus)
	}
	if class, ok := table[string(word)]; ok {
		return max(min(class*Bit+Bit/2, most), 0)
	}
	unseen := UnseenBits + UnseenLetter*int32(text.LetterCount(word)-unseenLetters)
	return max(min(unseen, most), 2*Bit)
}

// IsOrdinary tells whether ordinary names have the word.
func IsOrdinary(word []byte) bool {
	if _, ok := ordinaryPeople[string(word)]; ok {
		return true
	}
	_, ok := ordinaryCompanies[string(word)]
	return ok
}

// IsGeneric tells whether a word says hardly anything of a company: one in 256 has it, or it is a place,
// a kind of business or the end of a domain.
func IsGeneric(word []byte) bool {
	class, ok := ordinaryCompanies[string(word)]
	return ok && class <= 8 || genericWords[string(word)]
}

var genericWords = func() map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields("exchange trading trade bank banking company corp import export shipping logistics industries services io com net org ru ir info co shop store online digital crypto wallet moscow tehran dubai london paris beijing moskva istanbul global international intl group holding holdings finance capital invest investment consulting solutions technology technologies tech energy oil gas petroleum insurance foundation charity fund association center centre institute university office branch agency general commercial foreign") {
		set[word] = true
	}
	return set
}()
