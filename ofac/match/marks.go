package match

import (
	"math/bits"

	"railguard/ofac/index"
	"railguard/ofac/text"
)

// joinSimilarity is the similarity of words that are equal when joined.
const joinSimilarity = 9800

// markJoins marks the listed words equal to two neighbouring query words written as one, or
// to three around an article.
func (c *scorer) markJoins(l *index.WordLayer) {
	first := len(c.marks)
	for i := 0; i+1 < c.count; i++ {
		c.join = append(append(c.join[:0], c.textOf(i)...), c.textOf(i+1)...)
		c.markJoin(l, 3<<i)
		if i+2 < c.count && text.IsArticle(string(c.textOf(i+1))) {
			c.join = append(c.join, c.textOf(i+2)...)
			c.markJoin(l, 7<<i)
		}
	}
	c.markCut(l)
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
	c.markFold(l, mask, joinSimilarity-text.ScoreOne+text.SameSpelling)
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

// markCut joins the two words of a query, as a name may have been cut in two, and marks the
// listed words that are close to the joined word. It does so only if neither of the two words is
// a listed word.
func (c *scorer) markCut(l *index.WordLayer) {
	if c.count != 2 || c.list[0].listed || c.list[1].listed || len(c.textOf(0))+len(c.textOf(1)) < cutLettersMin {
		return
	}
	c.join = append(append(c.join[:0], c.textOf(0)...), c.textOf(1)...)
	if len(c.join) > text.WordBytesMax {
		return
	}
	c.fold = text.AppendSpelling(c.fold[:0], c.join)
	word := text.SpelledWord{Text: c.join, Fold: c.fold, TextBag: text.BagOf(c.join), FoldBag: text.BagOf(c.fold)}
	for _, near := range l.Near(&c.finder, &word) {
		c.addMark(near.Word, 3, near.Similarity*joinSimilarity/text.ScoreOne)
	}
}

// cutLettersMin is how many letters a name needs to be found when it is cut in two and
// misspelt: as many as a one-word name that may be misspelt, see oneWordClose.
const cutLettersMin = 9

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
