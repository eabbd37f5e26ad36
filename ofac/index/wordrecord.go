package index

import (
	"slices"

	"railguard/ofac/text"
)

// WordRecord is one word of the possible matcher's vocabulary. It holds together everything
// that is read before the word's letters.
type WordRecord struct {
	letters uint32 // start of its text, which its spelling fold follows
	Text    uint8  // length of the text
	fold    uint8  // length of the fold
	begins  uint8  // first letter of the fold, 0 if the word is too short to be compared loosely
	Flags   uint8
	Person  uint16 // Its bits in the name of a person; see WordBits.
	Other   uint16 // The same in any other name.
	Group   uint16 // group of respellings, 0 if none
	textBag text.LetterBag
	foldBag text.LetterBag
}

// BitsOf returns the word's bits in the name of a person, or of something else.
func (w *WordRecord) BitsOf(person bool) int32 {
	if person {
		return int32(w.Person)
	}
	return int32(w.Other)
}

// Flags of a word.
const (
	WordWhole    = 1 << iota // a whole word of some name; otherwise only a join
	WordSyllable             // it is one Chinese or Korean syllable
)

// Holder is a listed name that holds a word. It has a summary that rules out most names
// without reading their words. From the lowest bit: the row of its first word; whether it is
// a person's; the bits of its words; a bit for each of their first letters.
type Holder uint64

const (
	holderRowBits    = 23 // See tokenRowsMax.
	holderPerson     = 1 << holderRowBits
	holderWeightAt   = holderRowBits + 1
	holderWeightMost = 255 // also stands for any greater weight
	holderWeightUnit = 64
	holderLettersAt  = 32
)

func (h Holder) Row() uint32     { return uint32(h) & (1<<holderRowBits - 1) }
func (h Holder) Person() bool    { return h&holderPerson != 0 }
func (h Holder) Letters() uint32 { return uint32(h >> holderLettersAt) }

// Weight is an upper bound on the bits of the name's words.
func (h Holder) Weight() int32 {
	if units := int32(h >> holderWeightAt & holderWeightMost); units < holderWeightMost {
		return units * holderWeightUnit
	}
	return holderWeightMost * text.ScoreOne
}

// LetterBit is the bit of a word's first letter.
func LetterBit(begins uint8) uint32 { return 1 << (begins & 31) }

// noteRemainders stores which remainders of checks stand in each bucket of the deletion
// table. A search then skips the buckets that cannot hold a form of its word.
func (l *WordLayer) noteRemainders() {
	l.remainders = make([]uint8, l.buckets)
	for bucket, row := uint32(0), uint32(0); bucket < l.buckets; bucket++ {
		for end := l.deletionOffsets[bucket+1]; row < end; row++ {
			l.remainders[bucket] |= 1 << (l.deletionRows[row].filed & 7)
		}
	}
}

// noteHolders makes the summary of the names that hold each word.
func (l *WordLayer) noteHolders() {
	byRow := make([]Holder, len(l.Tokens))
	l.Begins = make([]uint8, l.Count)
	for row := 0; row < len(byRow); {
		first, person, weight, letters := row, false, int32(0), uint32(0)
		for last := false; !last; row++ {
			token := l.Tokens[row].Read()
			if token.Count == 1 {
				weight += max(token.Weight, PairLeast)
			}
			l.Begins[token.Word] = l.Begins[token.Word]&BeginsJoin | token.pairLetter()
			if token.Count > 1 {
				l.Begins[token.Word] |= BeginsJoin
			}
			person = person || token.Part != PartNone
			letters |= LetterBit(token.pairLetter())
			last = token.last
		}
		h := Holder(letters)<<holderLettersAt | Holder(min((weight+holderWeightUnit-1)/holderWeightUnit, holderWeightMost))<<holderWeightAt | Holder(first)
		if person {
			h |= holderPerson
		}
		byRow[first] = h
	}
	l.holders = make([]Holder, len(l.postings))
	for i := range l.holders {
		l.holders[i] = byRow[l.postings[i]]
	}
}

// WithoutNotes returns tables without the summaries of names and words (the notes), so that a search
// skips nothing. Tests compare searches with and without them.
func (x *Tables) WithoutNotes() Tables {
	whole := *x
	whole.beginnings = make([]beginnings, len(x.beginnings))
	whole.Words.remainders = nil
	for i := range whole.Natives {
		whole.Natives[i] = ^uint64(0)
	}
	whole.Words.holders = slices.Clone(x.Words.holders)
	for i := range whole.Words.holders {
		whole.Words.holders[i] |= Holder(1<<32-1)<<holderLettersAt | holderWeightMost<<holderWeightAt
	}
	return whole
}
