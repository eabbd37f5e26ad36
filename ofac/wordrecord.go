package ofac

import "math/bits"

// wordRecord is one word of the possible matcher's vocabulary: all that is asked
// of a word before its letters are, side by side.
type wordRecord struct {
	letters uint32 // where its text begins, followed by its spelling fold
	text    uint8  // length of the text
	fold    uint8  // length of the fold
	begins  uint8  // first letter of the fold, 0 if the word is too short to be compared loosely
	flags   uint8
	weight  uint16
	group   uint16 // of respellings, 0 if none
	textBag letterBag
	foldBag letterBag
}

// Flags of a word.
const (
	wordWhole    = 1 << iota // the word stands alone in some name; otherwise only as a join
	wordSyllable             // it is one Chinese or Korean syllable
)

// letterBag says which letters a word has, which at least twice, and which sound
// like one it has: a bit for each, the byte's low five bits. What one of two words
// has more than the other costs edits, so that most words that are far apart need
// not be compared.
type letterBag struct{ once, twice, alike uint32 }

func bagOf(word []byte) (bag letterBag) {
	for _, c := range word {
		bit := uint32(1) << (c & 31)
		bag.twice |= bag.once & bit
		bag.once |= bit
	}
	for _, mask := range alikeMasks {
		if bag.once&mask != 0 {
			bag.alike |= mask
		}
	}
	return bag
}

// alikeMasks are the consonants that stand for one another at costClass.
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

// Letters whose cheapest edit is neither costClass nor costKey.
const (
	vowelsMask = 1<<('a'&31) | 1<<('e'&31) | 1<<('i'&31) | 1<<('o'&31) | 1<<('u'&31) | 1<<('y'&31)
	breathMask = 1 << ('h' & 31)
)

// farther reports whether two words with these bags must differ by more than limit.
func (a letterBag) farther(b letterBag, limit int32) bool {
	return a.surplus(b) > limit || b.surplus(a) > limit
}

// surplus is the least that the letters cost which the other word has fewer of:
// each must be left out, or another put for it. A letter a word has twice may
// stand beside itself, where to leave it out is cheapest.
func (a letterBag) surplus(b letterBag) int32 {
	once := a.once &^ b.once
	doubled := bits.OnesCount32(once&a.twice) + bits.OnesCount32(a.twice&^b.twice)
	once &^= a.twice
	others := once &^ (vowelsMask | breathMask)
	cost := doubled*costDouble + bits.OnesCount32(once&vowelsMask)*costVowels
	cost += bits.OnesCount32(others&b.alike)*costClass + bits.OnesCount32(others&^b.alike)*costKey
	if once&breathMask != 0 {
		cost += costWeak
	}
	return int32(cost)
}

// holder is a listed name that holds a word, and what tells without a look at its words
// that most queries cannot mean it: from the lowest bit the row of its first word; whether
// it has as many words as a whole name; the most its words weigh; and the first letters of
// them, a bit for each.
type holder uint64

const (
	holderRowBits    = 23 // See tokenRowsMax.
	holderLong       = 1 << holderRowBits
	holderWeightAt   = holderRowBits + 1
	holderWeightMost = 255 // stands for whatever is more, too
	holderWeightUnit = 512
	holderLettersAt  = 32
)

func (h holder) row() uint32     { return uint32(h) & (1<<holderRowBits - 1) }
func (h holder) long() bool      { return h&holderLong != 0 }
func (h holder) letters() uint32 { return uint32(h >> holderLettersAt) }

// weight is the most the words of the name may weigh.
func (h holder) weight() int32 {
	if units := int32(h >> holderWeightAt & holderWeightMost); units < holderWeightMost {
		return units * holderWeightUnit
	}
	return holderWeightMost * scoreOne
}

// letterBit is the bit of a word's first letter.
func letterBit(begins uint8) uint32 { return 1 << (begins & 31) }

// noteRemainders notes which checks stand in each bucket of the deletion table: most forms of a
// word are nobody's, and their buckets need not be read.
func (l *wordLayer) noteRemainders() {
	l.remainders = make([]uint8, l.buckets)
	for bucket, row := uint32(0), uint32(0); bucket < l.buckets; bucket++ {
		for end := l.deletionOffsets[bucket+1]; row < end; row++ {
			l.remainders[bucket] |= 1 << (l.deletionRows[row].filed & 7)
		}
	}
}

// noteHolders makes what is known of the names of each word.
func (l *wordLayer) noteHolders() {
	byRow := make([]holder, len(l.tokens))
	l.begins = make([]uint8, l.count)
	for row := 0; row < len(byRow); {
		first, words, weight, letters := row, 0, int32(0), uint32(0)
		for last := false; !last; row++ {
			token := l.tokens[row].read()
			if token.count == 1 {
				words++
				weight += max(token.weight, shipped.impreciseWeight)
			}
			l.begins[token.word] = token.letter()
			letters |= letterBit(token.letter())
			last = token.last
		}
		h := holder(letters)<<holderLettersAt | holder(min((weight+holderWeightUnit-1)/holderWeightUnit, holderWeightMost))<<holderWeightAt | holder(first)
		if words >= wholeNameWords {
			h |= holderLong
		}
		byRow[first] = h
	}
	l.holders = make([]holder, len(l.postings))
	for i := range l.holders {
		l.holders[i] = byRow[l.postings[i]]
	}
}
