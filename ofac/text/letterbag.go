package text

import "math/bits"

// LetterBag has three sets of letters: those that a word has, those that it has at least twice,
// and those that sound like one that it has. A set has a bit for each letter, numbered by the
// byte's low five bits. Each letter that only one of two words has costs an edit. So most words
// that are far apart need not be compared.
type LetterBag struct{ Once, twice, alike uint32 }

func BagOf(word []byte) (bag LetterBag) {
	for _, c := range word {
		bit := uint32(1) << (c & 31)
		bag.twice |= bag.Once & bit
		bag.Once |= bit
	}
	for _, mask := range alikeMasks {
		if bag.Once&mask != 0 {
			bag.alike |= mask
		}
	}
	return bag
}

// alikeMasks are the groups of consonants that replace one another at costClass.
var alikeMasks = [...]uint32{
	1<<('b'&31) | 1<<('p'&31),
	1<<('d'&31) | 1<<('t'&31),
	1<<('g'&31) | 1<<('k'&31) | 1<<('q'&31) | 1<<('c'&31),
	1<<('s'&31) | 1<<('z'&31) | 1<<('x'&31),
	1<<('v'&31) | 1<<('w'&31) | 1<<('f'&31),
	1<<('m'&31) | 1<<('n'&31),
	1<<('c'&31) | 1<<('s'&31),
	1<<('j'&31) | 1<<('g'&31),
	1<<('j'&31) | 1<<('y'&31),
	1<<('j'&31) | 1<<('i'&31),
	1<<('j'&31) | 1<<('x'&31),
}

// Letters whose cheapest edit is neither costClass nor costKey: vowels, and h.
const (
	vowelsMask = 1<<('a'&31) | 1<<('e'&31) | 1<<('i'&31) | 1<<('o'&31) | 1<<('u'&31) | 1<<('y'&31)
	breathMask = 1 << ('h' & 31)
)

// FartherThan reports whether two words with these bags surely differ by more than limit.
func (a LetterBag) FartherThan(b LetterBag, limit int32) bool {
	return a.surplusCost(b) > limit || b.surplusCost(a) > limit
}

// surplusCost is the least cost of the letters that the other word has fewer of: each must
// be left out or replaced. A letter that a word has twice may be doubled, and leaving out
// one of a double is cheapest.
func (a LetterBag) surplusCost(b LetterBag) int32 {
	once := a.Once &^ b.Once
	doubled := bits.OnesCount32(once&a.twice) + bits.OnesCount32(a.twice&^b.twice)
	once &^= a.twice
	others := once &^ (vowelsMask | breathMask)
	cost := doubled*costDouble + bits.OnesCount32(once&vowelsMask)*CostVowels
	cost += bits.OnesCount32(others&b.alike)*costClass + bits.OnesCount32(others&^b.alike)*costKey
	if once&breathMask != 0 {
		cost += CostWeak
	}
	return int32(cost)
}
