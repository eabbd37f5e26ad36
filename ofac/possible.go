package ofac

import (
	"bytes"
	"math/bits"
)

// queryWord is one word of the name being screened.
type queryWord struct {
	start, end   uint16 // bytes of scorer.words
	fold, folded uint16 // bytes of scorer.folds: its spelling fold
	weight       int32
	known        bool   // a listed word
	initial      bool   // one letter
	title        bool   // does not belong to the name
	syllable     bool   // one Chinese or Korean syllable
	group        uint32 // of respellings, 0 if none
	cost         uint32
	firstMark    int32 // its marks are marks[firstMark:endMark]
	endMark      int32
}

// mark says that a listed word is close to one or more neighbouring query words.
type mark struct {
	word       uint32
	mask       uint32 // the query words
	similarity int32
	next       int32 // the next mark of the same listed word, -1 if none
}

// scorer holds the possible matcher's working memory.
type scorer struct {
	words   []byte
	join    []byte
	fold    []byte
	folds   []byte
	tokens  tokenList
	list    [scoredWordsMax]queryWord
	count   int
	total   int32 // weight of all words
	forms   formSet
	finder  finder
	marked  stamps
	heads   []int32
	marks   []mark
	visited stamps
	read    int // postings read
	looked  int // names looked at
	edges   [edgesMax]edge
}

// possible finds listed names the query may mean and appends them to the hits.
// True: part of the query was not read.
func (x *Index) possible(name string, q *Query, s *Scratch) bool {
	c := &s.scorer
	c.read, c.looked = 0, 0
	c.words = appendWords(c.words[:0], name, false)
	c.finder.bare = unvowelled(name)
	truncated := x.possibleWords(q, s)
	if hasForeign(name) {
		s.other = appendWords(s.other[:0], name, true)
		if !bytes.Equal(s.other, c.words) {
			c.words, s.other = s.other, c.words
			truncated = x.possibleWords(q, s) || truncated
		}
	}
	if spoken, ok := appendSpoken(s.other[:0], c.words); ok {
		c.words, s.other = spoken, c.words
		truncated = x.possibleWords(q, s) || truncated
	}
	return truncated
}

// possibleWords scores one reading of the query.
func (x *Index) possibleWords(q *Query, s *Scratch) bool {
	c := &s.scorer
	truncated := c.prepare(&x.words, q)
	if c.count == 0 || x.nameCount == 0 {
		return truncated
	}
	c.marked.begin(x.words.count)
	if uint32(len(c.heads)) < x.words.count {
		c.heads = make([]int32, x.words.count)
	}
	c.marks = c.marks[:0]
	for i := range c.count {
		c.markWord(&x.words, i)
	}
	c.markJoins(&x.words)
	x.candidates(q, s)
	return truncated
}

// prepare cuts the folded query into content words.
func (c *scorer) prepare(l *wordLayer, q *Query) bool {
	truncated := false
	c.tokens.slips = true
	if len(c.words) > scoredBytesMax {
		end := bytes.LastIndexByte(c.words[:scoredBytesMax+1], ' ')
		if end <= 0 {
			end = scoredBytesMax
		}
		c.words, truncated = c.words[:end], true
	}
	if q.Type == PartyIndividual {
		c.tokens.splitPlain(c.words)
	} else {
		c.tokens.split(c.words)
	}
	c.forms, c.count, c.total = c.tokens.forms(), 0, 0
	c.folds = c.folds[:0]
	for i := range c.tokens.count {
		token := &c.tokens.list[i]
		optional := token.form != formNone && token.loose && c.tokens.count > 2
		if token.form != formNone && !optional {
			continue
		}
		if c.count == scoredWordsMax {
			return true
		}
		c.addWord(l, token, optional)
	}
	return truncated
}

// addWord takes a content word of the query, unless it was said twice already.
func (c *scorer) addWord(l *wordLayer, token *token, optional bool) {
	w := queryWord{start: token.start, end: min(token.end, token.start+wordBytesMax), fold: uint16(len(c.folds))}
	text := c.words[w.start:w.end]
	c.folds = appendSpelling(c.folds, text)
	w.folded = uint16(len(c.folds))
	if c.said(c.folds[w.fold:]) >= repeatsMax {
		c.folds = c.folds[:w.fold]
		return
	}
	w.initial, w.title = len(text) == 1 && text[0] > '9', titleWords[string(text)]
	if id, ok := l.find(text); ok && l.whole(id) {
		w.known, w.weight, w.group, w.syllable = true, l.weight(id), l.group(id), l.syllable(id)
	} else {
		w.syllable = isSyllable(text)
		w.weight, w.group = wordWeight(string(text), 0, 1<<16), respellingOf[string(text)].group
	}
	switch {
	case optional:
		w.weight = optionalWeight
	case w.initial || len(text) == 1:
		w.weight = weightFloor // a letter, or a digit: often left out
	}
	c.list[c.count] = w
	c.count++
	c.total += w.weight
}

// said counts how often a word, in whatever spelling, is already among the
// content words.
func (c *scorer) said(fold []byte) int {
	times := 0
	for i := range c.count {
		if bytes.Equal(c.spelled(i), fold) {
			times++
		}
	}
	return times
}

// optionalWeight is what a short legal form weighs that may be a name after
// all (PAO, SA, AS): it may match, and is hardly missed.
const optionalWeight = 200

func (c *scorer) spelled(i int) []byte { return c.folds[c.list[i].fold:c.list[i].folded] }

func (c *scorer) text(i int) []byte { return c.words[c.list[i].start:c.list[i].end] }

// markWord marks the listed words close to query word i.
func (c *scorer) markWord(l *wordLayer, i int) {
	w := &c.list[i]
	w.firstMark, w.cost = int32(len(c.marks)), 0
	text := c.text(i)
	id, listed := l.find(text)
	if listed {
		c.mark(l, id, 1<<i, scoreOne)
	}
	switch {
	case w.initial:
	case listed && w.known:
		for k := l.neighbourOffsets.at(id); k < l.neighbourOffsets.at(id+1); k++ {
			row := l.neighbourRows.at(k)
			if similarity := bothListed(int32(row & (1<<similarityBits - 1))); similarity > 0 {
				c.mark(l, row>>similarityBits, 1<<i, similarity)
			}
		}
	default:
		for _, near := range l.near(&c.finder, text, c.spelled(i)) {
			c.mark(l, near.word, 1<<i, near.similarity)
		}
	}
	w.endMark = int32(len(c.marks))
	for k := w.firstMark; k < w.endMark; k++ {
		word := c.marks[k].word
		w.cost += l.postingOffsets.at(word+1) - l.postingOffsets.at(word)
	}
}

// bothListed lowers the similarity of two words that are both listed: a slip of
// the pen seldom makes another name. 0: they have nothing to do with one another.
func bothListed(similarity int32) int32 {
	if similarity == sameSpelling {
		return similarity
	}
	similarity = scoreOne - (scoreOne-similarity)*5/4
	if similarity < wordFloor {
		return 0
	}
	return similarity
}

// mark notes that a listed word is close to some query words.
func (c *scorer) mark(_ *wordLayer, word uint32, mask uint32, similarity int32) {
	next := int32(-1)
	if !c.marked.first(word) {
		next = c.heads[word]
	}
	c.heads[word] = int32(len(c.marks))
	c.marks = append(c.marks, mark{word, mask, similarity, next})
}

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
	// A join counts for each of its words.
	for k := first; k < len(c.marks); k++ {
		cost := l.postingOffsets.at(c.marks[k].word+1) - l.postingOffsets.at(c.marks[k].word)
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
		c.mark(l, id, mask, joinSimilarity)
	}
	c.fold = appendSpelling(c.fold[:0], c.join)
	hash := deletionHash(deletedFold, c.fold, -1)
	bucket := reduce(hash, l.buckets)
	first, end := l.deletionOffsets.at(bucket), l.deletionOffsets.at(bucket+1)
	for i := first; i < min(end, first+bucketProbeMax); i++ {
		id := l.deletionRows.at(i*2 + 1)
		if l.deletionRows.at(i*2) == uint32(hash) && string(l.wordFold(id)) == string(c.fold) && string(l.wordText(id)) != string(c.join) {
			c.mark(l, id, mask, joinSimilarity-scoreOne+sameSpelling)
		}
	}
	c.finder.found = c.finder.found[:0]
	c.finder.seen.begin(l.count)
	l.probeSyllables(&c.finder, c.join)
	for _, near := range c.finder.found {
		c.mark(l, near.word, mask, joinSimilarity-scoreOne+near.similarity)
	}
}

// Shares of the query's weight, 1e-4, that a listed name must match: by words
// the index finds to be looked at, and in the end to be scored.
const (
	coverageSeen   = 4200
	coverageNeeded = 5500
)

// candidates looks at every listed name that could match enough of the query:
// names of the cheapest words first, until the words left weigh too little to
// carry a match alone.
func (x *Index) candidates(q *Query, s *Scratch) {
	c := &s.scorer
	c.visited.begin(x.nameCount)
	done, left := uint32(0), c.total
	for left*(scoreOne/100) >= c.total*(coverageNeeded/100) {
		best := -1
		for i := range c.count {
			if done&(1<<i) == 0 && (best < 0 || c.cheaper(i, best)) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		done |= 1 << best
		left -= c.list[best].weight
		for k := c.list[best].firstMark; k < c.list[best].endMark; k++ {
			x.lookAt(c.marks[k].word, q, s)
		}
		for k := int(c.list[c.count-1].endMark); k < len(c.marks); k++ {
			if c.marks[k].mask&(1<<best) != 0 {
				x.lookAt(c.marks[k].word, q, s)
			}
		}
	}
}

// cheaper prefers words with fewer names for their weight.
func (c *scorer) cheaper(i, k int) bool {
	a, b := &c.list[i], &c.list[k]
	left, right := uint64(a.cost+8)*uint64(b.weight), uint64(b.cost+8)*uint64(a.weight)
	return left < right
}

// lookAt scores the names that hold a word.
func (x *Index) lookAt(word uint32, q *Query, s *Scratch) {
	c, l := &s.scorer, &x.words
	for i := l.postingOffsets.at(word); i < l.postingOffsets.at(word+1); i++ {
		if c.read++; c.read > postingsReadMax || c.looked > candidatesMax {
			return
		}
		if name := l.postings.at(i); c.visited.first(name) {
			x.scoreName(name, q, s)
		}
	}
}
