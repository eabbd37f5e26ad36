package index

import (
	"slices"

	"railguard/ofac/text"
)

// WordRecord is one word of the possible matcher's vocabulary: all that is asked
// of a word before its letters are, side by side.
type WordRecord struct {
	letters uint32 // where its text begins, followed by its spelling fold
	Text    uint8  // length of the text
	fold    uint8  // length of the fold
	begins  uint8  // first letter of the fold, 0 if the word is too short to be compared loosely
	Flags   uint8
	Weight  uint16
	Group   uint16 // of respellings, 0 if none
	textBag text.LetterBag
	foldBag text.LetterBag
}

// Flags of a word.
const (
	WordWhole    = 1 << iota // the word stands alone in some name; otherwise only as a join
	WordSyllable             // it is one Chinese or Korean syllable
)

// Holder is a listed name that holds a word, and what tells without a look at its words
// that most queries cannot mean it: from the lowest bit the row of its first word; whether
// it has as many words as a whole name; the most its words weigh; and the first letters of
// them, a bit for each.
type Holder uint64

const (
	holderRowBits    = 23 // See tokenRowsMax.
	holderLong       = 1 << holderRowBits
	holderWeightAt   = holderRowBits + 1
	holderWeightMost = 255 // stands for whatever is more, too
	holderWeightUnit = 512
	holderLettersAt  = 32
)

func (h Holder) Row() uint32     { return uint32(h) & (1<<holderRowBits - 1) }
func (h Holder) Long() bool      { return h&holderLong != 0 }
func (h Holder) Letters() uint32 { return uint32(h >> holderLettersAt) }

// Weight is the most the words of the name may weigh.
func (h Holder) Weight() int32 {
	if units := int32(h >> holderWeightAt & holderWeightMost); units < holderWeightMost {
		return units * holderWeightUnit
	}
	return holderWeightMost * text.ScoreOne
}

// LetterBit is the bit of a word's first letter.
func LetterBit(begins uint8) uint32 { return 1 << (begins & 31) }

// noteRemainders notes which checks stand in each bucket of the deletion table: most forms of a
// word are nobody's, and their buckets need not be read.
func (l *WordLayer) noteRemainders() {
	l.remainders = make([]uint8, l.buckets)
	for bucket, row := uint32(0), uint32(0); bucket < l.buckets; bucket++ {
		for end := l.deletionOffsets[bucket+1]; row < end; row++ {
			l.remainders[bucket] |= 1 << (l.deletionRows[row].filed & 7)
		}
	}
}

// noteHolders makes what is known of the names of each word.
func (l *WordLayer) noteHolders() {
	byRow := make([]Holder, len(l.Tokens))
	l.Begins = make([]uint8, l.Count)
	for row := 0; row < len(byRow); {
		first, words, weight, letters := row, 0, int32(0), uint32(0)
		for last := false; !last; row++ {
			token := l.Tokens[row].Read()
			if token.Count == 1 {
				words++
				weight += max(token.Weight, ImpreciseWeight)
			}
			l.Begins[token.Word] = token.pairLetter()
			letters |= LetterBit(token.pairLetter())
			last = token.last
		}
		h := Holder(letters)<<holderLettersAt | Holder(min((weight+holderWeightUnit-1)/holderWeightUnit, holderWeightMost))<<holderWeightAt | Holder(first)
		if words >= WholeNameWords {
			h |= holderLong
		}
		byRow[first] = h
	}
	l.holders = make([]Holder, len(l.postings))
	for i := range l.holders {
		l.holders[i] = byRow[l.postings[i]]
	}
}

// WithoutNotes are tables without what is noted of names and words to read less of them, so
// that all of them are read. Tests compare what is found in both.
func (x *Tables) WithoutNotes() Tables {
	whole := *x
	whole.beginnings = make([]beginnings, len(x.beginnings))
	whole.Words.remainders = nil
	whole.Words.holders = slices.Clone(x.Words.holders)
	for i := range whole.Words.holders {
		whole.Words.holders[i] |= Holder(1<<32-1)<<holderLettersAt | holderWeightMost<<holderWeightAt | holderLong
	}
	return whole
}
