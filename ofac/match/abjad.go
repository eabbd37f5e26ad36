package match

import (
	"railguard/ofac/index"
	"railguard/ofac/text"
)

// possibleAbjad scores a name in an abjad, with words translated and without. It returns false for any other
// name.
func (x *Index) possibleAbjad(name string, q *Query, s *Scratch) (truncated, ok bool) {
	c := &s.scorer
	for _, translate := range [...]bool{true, false} {
		var read bool
		if s.other, read = text.AppendAbjad(s.other[:0], name, translate); !read {
			break
		}
		c.words, s.other, ok = s.other, c.words, true
		truncated = x.possibleWords(q, s) || truncated
	}
	return truncated, ok
}

// An abjad word stands for any listed word that may be written so. How much it says follows from the most
// frequent of those it fits well: whoever wrote it most likely meant that one.

// abjadFits is the similarity from which a listed word fits an abjad word well.
const abjadFits = 9000

// markAbjad marks the listed words that abjad word i may write, and weighs the word by them.
func (c *scorer) markAbjad(l *index.WordLayer, i int) {
	w := &c.list[i]
	for _, near := range l.NearAbjad(&c.finder, c.textOf(i)) {
		record := l.Word(near.Word)
		if record.Flags&index.WordWhole != 0 && near.Similarity >= abjadFits && !text.IsFormal(l.TextOf(&record)) {
			w.bitsPerson, w.bitsOther, w.ordinary = min(w.bitsPerson, int32(record.Person)), min(w.bitsOther, int32(record.Other)), true
		}
		c.addMark(near.Word, 1<<i, near.Similarity)
	}
	if weight := min(w.weight, w.bitsPerson, w.bitsOther); weight < w.weight {
		c.total -= w.weight - weight
		w.weight, w.whole = weight, weight
	}
}

// markAbjadJoins marks the listed words that word i and the one or two words behind it may write together,
// as in Abd al-Rahman.
func (c *scorer) markAbjadJoins(l *index.WordLayer, i int) {
	c.join = c.join[:0]
	for k := i; k < min(i+3, c.count); k++ {
		if c.list[k].initial || !c.list[k].abjad && !text.JoinsAbjad(c.textOf(k)) {
			return
		}
		for _, letter := range c.textOf(k) {
			if !c.list[k].abjad {
				letter -= 'a' - 'A'
			}
			c.join = append(c.join, letter)
		}
		if len(c.join) > text.WordBytesMax {
			return
		}
		if k == i || k == i+2 && c.list[i+1].abjad {
			continue
		}
		for _, near := range l.NearAbjad(&c.finder, c.join) {
			c.addMark(near.Word, (2<<k)-(1<<i), joinSimilarity-text.ScoreOne+near.Similarity)
		}
	}
}
