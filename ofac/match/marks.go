package match

import (
	"math/bits"

	"railguard/ofac/index"
	"railguard/ofac/text"
)

// joinSimilarity is the similarity of words that are equal when joined.
const joinSimilarity = 9800

// joinedSpelling is the similarity of words that have the same spelling fold when joined.
const joinedSpelling = joinSimilarity - text.ScoreOne + text.SameSpelling

// markJoins marks the listed words equal to two neighbouring query words written as one, or
// to three around an article.
func (c *scorer) markJoins(l *index.WordLayer) {
	first := len(c.marks)
	for i := 0; i+1 < c.count; i++ {
		if c.list[i].abjad || c.list[i+1].abjad {
			c.markAbjadJoins(l, i)
			continue
		}
		c.join = append(append(c.join[:0], c.textOf(i)...), c.textOf(i+1)...)
		c.markJoin(l, 3<<i)
		if i+2 < c.count && text.IsArticle(string(c.textOf(i+1))) {
			c.join = append(c.join, c.textOf(i+2)...)
			c.markJoin(l, 7<<i)
		}
	}
	// A join adds to the cost of each of its words.
	for k := first; k < len(c.marks); k++ {
		cost := l.NameCount(c.marks[k].word)
		for mask := c.marks[k].mask; mask != 0; mask &= mask - 1 {
			c.list[bits.TrailingZeros32(mask)].cost += cost
		}
	}
}

func (c *scorer) markJoin(l *index.WordLayer, mask uint32) {
	if len(c.join) > text.WordBytesMax {
		return
	}
	if id, ok := l.Find(c.join); ok {
		c.addMark(id, mask, joinSimilarity)
	}
	c.fold = text.AppendSpelling(c.fold[:0], c.join)
	c.markFold(l, mask, joinedSpelling)
	for _, near := range l.SameSyllables(&c.finder, c.join) {
		c.addMark(near.Word, mask, joinSimilarity-text.ScoreOne+near.Similarity)
	}
}

// markFold marks the listed words with the spelling fold in c.fold, except the word in
// c.join.
func (c *scorer) markFold(l *index.WordLayer, mask uint32, similarity int32) {
	for _, id := range l.WordsOfFold(&c.finder, c.fold, c.join) {
		c.addMark(id, mask, similarity)
	}
}

// markSlip marks the listed respellings of a name when word i of the query is one edit away
// from a known respelling. The finder must have the forms of word i.
func (c *scorer) markSlip(l *index.WordLayer, i int) {
	if c.list[i].group != 0 {
		return
	}
	for _, slip := range c.finder.Slips(c.textOf(i)) {
		c.join = append(c.join[:0], slip.Word...)
		c.fold, c.join = text.AppendSpelling(c.fold[:0], c.join), c.join[:0]
		c.markFold(l, 1<<i, slip.Similarity)
	}
}

// markSounds marks the listed words of which Kana keep the same sounds as of word i.
func (c *scorer) markSounds(l *index.WordLayer, i int) {
	for _, near := range l.SameSounds(&c.finder, c.textOf(i)) {
		c.addMark(near.Word, 1<<i, near.Similarity)
	}
}
