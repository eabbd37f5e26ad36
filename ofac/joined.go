package ofac

import "math/bits"

// joinSimilarity is the similarity of words that are equal when joined.
const joinSimilarity = 9800

// markJoins marks listed words equal to two neighbouring query words written
// as one, or three around an article.
func (c *scorer) markJoins(l *wordLayer) {
	first := len(c.marks)
	for i := 0; i+1 < c.count; i++ {
		c.join = append(append(c.join[:0], c.text(i)...), c.text(i+1)...)
		c.markJoin(l, 3<<i)
		if i+2 < c.count && isArticle(string(c.text(i+1))) {
			c.join = append(c.join, c.text(i+2)...)
			c.markJoin(l, 7<<i)
		}
	}
	c.markCut(l)
	// A join counts for each of its words.
	for k := first; k < len(c.marks); k++ {
		cost := l.names(c.marks[k].word)
		for mask := c.marks[k].mask; mask != 0; mask &= mask - 1 {
			c.list[bits.TrailingZeros32(mask)].cost += cost
		}
	}
}

func (c *scorer) markJoin(l *wordLayer, mask uint32) {
	if len(c.join) > wordBytesMax {
		return
	}
	if id, ok := l.find(c.join); ok {
		c.mark(id, mask, joinSimilarity)
	}
	c.fold = appendSpelling(c.fold[:0], c.join)
	c.markFold(l, mask, joinSimilarity-scoreOne+sameSpelling)
	c.finder.found = c.finder.found[:0]
	c.finder.seen.begin(l.count)
	c.finder.seekSyllables(c.join)
	l.probeSyllables(&c.finder, c.join)
	for _, near := range c.finder.found {
		c.mark(near.word, mask, joinSimilarity-scoreOne+near.similarity)
	}
}

// markFold marks the listed words whose spelling fold is the one in c.fold, that in c.join aside.
func (c *scorer) markFold(l *wordLayer, mask uint32, similarity int32) {
	hash := formHash(deletedFold, c.fold)
	first, end := l.bucket(hash)
	for i := first; i < end; i++ {
		id, ok := l.filed(i, uint32(hash))
		if !ok {
			continue
		}
		record := l.word(id)
		if word := l.spelled(&record); string(word.fold) == string(c.fold) && string(word.text) != string(c.join) {
			c.mark(id, mask, similarity)
		}
	}
}

// markCut marks the listed words close to a name that was cut in two: its two words, of
// which neither is listed, written as one.
func (c *scorer) markCut(l *wordLayer) {
	if c.count != 2 || c.list[0].listed || c.list[1].listed || len(c.text(0))+len(c.text(1)) < cutLettersMin {
		return
	}
	c.join = append(append(c.join[:0], c.text(0)...), c.text(1)...)
	if len(c.join) > wordBytesMax {
		return
	}
	c.fold = appendSpelling(c.fold[:0], c.join)
	for _, near := range l.near(&c.finder, &spelledWord{c.join, c.fold, bagOf(c.join), bagOf(c.fold)}) {
		c.mark(near.word, 3, near.similarity*joinSimilarity/scoreOne)
	}
}

// cutLettersMin is how many letters a name has at least that is known with a slip when it is
// cut in two: that of a one-word name which may be misspelt at all, see oneWordClose.
const cutLettersMin = 9
