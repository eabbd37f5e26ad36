package match

import (
	"bytes"

	"railguard/ofac/index"
	"railguard/ofac/text"
)

// queryWord is one word of the name being screened.
type queryWord struct {
	start, end   uint16 // bytes of scorer.words
	fold, folded uint16 // bytes of scorer.folds: its spelling fold
	weight       int32
	whole        int32          // its weight if it were not a payment word
	payment      bool           // a word about the payment, not of the name
	known        bool           // a whole word of some listed name
	ordinary     bool           // A word of ordinary names,
	common       index.Ordinary // and what their tables say of it.
	abjad        bool           // It is written without vowels; its listed readings say how much it says.
	generic      bool           // A place or a kind of business.
	patronymic   bool
	repeated     bool // An earlier word is the same.
	joined       bool // A listed word is close to it and its neighbour as one.
	several      bool // It is close to several listed words written as one.
	bitsPerson   int32
	bitsOther    int32
	initial      bool          // one letter
	title        bool          // a title, not part of the name
	syllable     bool          // one Chinese or Korean syllable
	loosely      uint64        // first letters of listed words with which it may be paired although it is not marked with them
	marked       uint32        // first letters of the listed words it is close to
	letters      uint32        // First letters of all listed words with which it may be paired.
	most         [2]int32      // The most that its pair says: in the name of a person, of something else.
	alone        [2]aloneBound // What it says against such a name if it has no pair in it.
	begins       uint8         // first letter of the fold, 0 if the word is too short to be compared loosely
	textBag      text.LetterBag
	foldBag      text.LetterBag
	listed       bool // word is its id among the listed words, including joins
	word         uint32
	group        uint32 // group of respellings, 0 if none
	cost         uint32
	firstMark    int32 // its marks are marks[firstMark:endMark]
	endMark      int32
}

// mark says that a listed word is close to one or more neighbouring query words.
type mark struct {
	word       uint32
	mask       uint32 // mask of the query words
	similarity int32
	next       int32 // the next mark of the same listed word, -1 if none
}

// markedWord holds the first mark of a listed word and the query words of all its marks.
type markedWord struct {
	first int32
	reach uint32
}

// scorer holds the possible matcher's working memory.
type scorer struct {
	words     []byte
	join      []byte
	fold      []byte
	folds     []byte
	tokens    text.TokenList
	list      [scoredWordsMax]queryWord
	count     int
	total     int32        // weight of all query words
	paid      int32        // weight of those that are words of the payment
	enough    int32        // the weight that a name must match
	most      [2]sideBound // What names can reach at most: of persons, of others.
	pays      bool         // Some word is of the payment.
	loosely   uint64       // first letters of listed words with which some query word may be paired although it is not marked
	forms     text.FormSet
	finder    index.Finder
	marked    index.NumberSet // listed words with marks
	heads     []markedWord    // by listed word; valid only for those in marked
	marks     []mark
	visited   index.NumberSet
	read      int // postings read
	looked    int // names looked at
	touched   index.TokenRow
	loose     int // pairs of words compared letter by letter
	edges     [edgesMax]edge
	held      comparison
	numbers   *numbers
	sounds    bool   // The words are romanised Kana.
	strictly  bool   // The words are read from characters of a person's name: another letter is another name.
	unbounded bool   // Every name is compared.
	trace     *trace // set while a match is explained
}

// bitsIn returns the bits of the word in the name of a person, or of something else.
func (w *queryWord) bitsIn(person bool) int32 {
	if person {
		return w.bitsPerson
	}
	return w.bitsOther
}

// findPossible finds the listed names that the query may mean and appends them to the hits.
// The words of the name are in the scorer. It returns true when part of the query was not
// read, or not all candidates were looked at.
func (x *Index) findPossible(name string, q *Query, s *Scratch) bool {
	c := &s.scorer
	c.read, c.looked, c.loose = 0, 0, 0
	if truncated, ok := x.possibleAbjad(name, q, s); ok {
		return countSteps(s, truncated)
	}
	apart, ok := text.AppendInitialsApart(s.other[:0], name)
	truncated := x.possibleWords(q, s)
	if ok {
		c.words, s.other = apart, c.words
		person := *q
		person.Type = PartyIndividual // Initials are no legal form.
		truncated = x.possibleWords(&person, s) || truncated
	}
	if handle := text.AppendHandleApart(s.other[:0], name); len(handle) > 0 {
		c.words, s.other = handle, c.words
		truncated = x.possibleWords(q, s) || truncated
	}
	if alike, ok := s.alikeWords(name); ok && !bytes.Equal(alike, c.words) {
		c.words, s.other = append(s.other[:0], alike...), c.words
		truncated = x.possibleWords(q, s) || truncated
	}
	if kana, ok := text.AppendKana(s.other[:0], name); ok {
		c.words, s.other, c.sounds = kana, c.words, true
		truncated = x.possibleWords(q, s) || truncated
		c.sounds = false
	}
	return countSteps(s, x.possibleHangul(q, s) || truncated)
}

// possibleHangul scores the query romanised in each system, if it has Hangul.
func (x *Index) possibleHangul(q *Query, s *Scratch) (truncated bool) {
	c := &s.scorer
	for _, north := range [...]bool{false, true} {
		spoken, ok := text.AppendSpoken(s.other[:0], c.words, north)
		if !ok {
			return truncated
		}
		hangul := c.words
		c.words = spoken
		truncated = x.possibleWords(q, s) || truncated
		c.words, s.other = hangul, c.words
	}
	return truncated
}

// countSteps counts the work, and returns true if not all of it was done.
func countSteps(s *Scratch, truncated bool) bool {
	c := &s.scorer
	s.steps += c.read + c.looked + c.loose
	return truncated || c.read > postingsReadMax || c.looked > candidatesMax || c.loose == looseMax
}

// possibleWords scores one reading of the query.
func (x *Index) possibleWords(q *Query, s *Scratch) bool {
	c := &s.scorer
	truncated := c.prepareWords(&x.Words, q)
	if c.count == 0 || x.NameCount == 0 {
		return truncated
	}
	c.marked.Begin(x.Words.Count)
	if uint32(len(c.heads)) < x.Words.Count {
		c.heads = make([]markedWord, x.Words.Count)
	}
	c.marks = c.marks[:0]
	for i := range c.count {
		c.markWord(&x.Words, i)
	}
	c.markJoins(&x.Words)
	x.lookAtCandidates(q, s)
	return truncated
}

// prepareWords splits the folded query into content words.
func (c *scorer) prepareWords(l *index.WordLayer, q *Query) bool {
	truncated := false
	c.tokens.Slips = true
	if len(c.words) > scoredBytesMax {
		end := bytes.LastIndexByte(c.words[:scoredBytesMax+1], ' ')
		if end <= 0 {
			end = scoredBytesMax
		}
		c.words, truncated = c.words[:end], true
	}
	if q.Type == PartyIndividual {
		c.tokens.SplitPlain(c.words)
	} else {
		c.tokens.Split(c.words)
	}
	c.tokens.FreeInitials(c.words)
	c.forms, c.count, c.total, c.paid = c.tokens.Forms(), 0, 0, 0
	c.folds = c.folds[:0]
	for i := range c.tokens.Count {
		token := &c.tokens.List[i]
		optional := token.Form != text.FormNone && token.Loose && c.tokens.Count > 2
		if token.Form != text.FormNone && !optional {
			continue
		}
		if c.count == scoredWordsMax {
			return true
		}
		c.addWord(l, token, optional)
	}
	return truncated
}

// addWord adds a content word of the query, unless it occurred too often before.
func (c *scorer) addWord(l *index.WordLayer, token *text.Token, optional bool) {
	w := queryWord{start: token.Start, end: min(token.End, token.Start+text.WordBytesMax), fold: uint16(len(c.folds))}
	written := c.words[w.start:w.end]
	c.folds = text.AppendSpelling(c.folds, written)
	w.folded = uint16(len(c.folds))
	w.textBag, w.foldBag = text.BagOf(written), text.BagOf(c.folds[w.fold:])
	if c.countSaid(c.folds[w.fold:]) >= repeatsMax {
		c.folds = c.folds[:w.fold]
		return
	}
	w.initial, w.title = len(written) == 1 && written[0] > '9', text.TitleWords.Has(written)
	w.abjad = text.IsAbjad(written)
	if len(written) >= text.LooseLettersMin && !w.abjad {
		w.begins = c.folds[w.fold]
	}
	ordinary := index.OrdinaryOf(written)
	var record index.WordRecord
	if w.word, w.listed = l.Find(written); w.listed {
		record = l.Word(w.word)
	}
	if w.known = record.Flags&index.WordWhole != 0; w.known {
		w.group, w.syllable = uint32(record.Group), record.Flags&index.WordSyllable != 0
		w.bitsPerson, w.bitsOther = int32(record.Person), int32(record.Other)
	} else {
		w.syllable, w.group = text.IsSyllable(written), text.GroupOf(written)
		w.bitsPerson, w.bitsOther = index.UnlistedBits(written, ordinary)
	}
	w.common = ordinary
	w.ordinary, w.weight = ordinary.Known(), min(w.bitsPerson, w.bitsOther)
	w.generic, w.patronymic, w.repeated = ordinary.IsGeneric(written), text.IsPatronymic(written), c.isRepeated(written)
	switch {
	case optional:
		w.weight = optionalWeight
	case w.generic:
		w.weight = min(w.weight, paymentWeight)
	}
	w.whole = w.weight
	if w.payment = text.IsPayWord(written) && (len(written) > 1 || c.careOf(token)) || c.numbersPayment(written); w.payment {
		w.weight = min(w.weight, paymentWeight)
		c.paid += w.weight
	}
	c.list[c.count] = w
	c.count++
	c.total += w.weight
}

// numbersPayment reports whether a number stands behind a word of the payment: invoice 4711, room 12.
func (c *scorer) numbersPayment(written []byte) bool {
	return c.count > 0 && c.list[c.count-1].payment && isNumber(written)
}

// careOf reports whether a single letter is part of c/o and not an initial.
func (c *scorer) careOf(t *text.Token) bool {
	if c.words[t.Start] == 'c' {
		after := c.words[t.End:]
		return len(after) >= 2 && after[1] == 'o' && (len(after) == 2 || after[2] == ' ')
	}
	before := c.words[:t.Start]
	return len(before) >= 2 && before[len(before)-2] == 'c' && (len(before) == 2 || before[len(before)-3] == ' ')
}

// paymentWeight is the greatest weight of a payment word.
const paymentWeight = 280

// countSaid counts how often a word, in any spelling with the same fold, is already among
// the content words.
func (c *scorer) countSaid(fold []byte) int {
	times := 0
	for i := range c.count {
		if bytes.Equal(c.foldOf(i), fold) {
			times++
		}
	}
	return times
}

// optionalWeight is the weight of a short legal form that may be part of the name (PAO, SA,
// AS). It may match, but its absence costs little.
const optionalWeight = 30

func (c *scorer) foldOf(i int) []byte { return c.folds[c.list[i].fold:c.list[i].folded] }

func (c *scorer) wordOf(i int) text.SpelledWord {
	return text.SpelledWord{Text: c.textOf(i), Fold: c.foldOf(i), TextBag: c.list[i].textBag, FoldBag: c.list[i].foldBag}
}

func (c *scorer) textOf(i int) []byte { return c.words[c.list[i].start:c.list[i].end] }

// markWord marks the listed words close to query word i.
func (c *scorer) markWord(l *index.WordLayer, i int) {
	w := &c.list[i]
	w.firstMark, w.cost = int32(len(c.marks)), 0
	if w.listed {
		c.addMark(w.word, 1<<i, text.ScoreOne)
	}
	switch {
	case w.initial:
	case w.known:
		for _, row := range l.NeighboursOf(w.word) {
			near := row.Read()
			c.addMark(near.Word, 1<<i, near.Similarity)
		}
	case w.common.Known():
		rows, slips := l.NearOrdinary(w.common)
		for _, row := range rows {
			near := row.Read()
			c.addMark(near.Word, 1<<i, near.Similarity)
		}
		c.finder.Steps += len(rows)
		if slips {
			word := c.wordOf(i)
			c.finder.Seek(&word)
			c.markSlip(l, i)
		}
		c.markSeenAs(l, i)
	default:
		word := c.wordOf(i)
		for _, near := range l.Near(&c.finder, &word) {
			c.addMark(near.Word, 1<<i, near.Similarity)
		}
		c.markSlip(l, i)
		c.markSeenAs(l, i)
	}
	if c.sounds && !w.initial {
		c.markSounds(l, i)
	}
	if w.abjad {
		c.markAbjad(l, i)
	}
	w.endMark = int32(len(c.marks))
	for k := w.firstMark; k < w.endMark; k++ {
		w.cost += l.NameCount(c.marks[k].word)
	}
}

// addMark records that a listed word is close to some query words.
func (c *scorer) addMark(word uint32, mask uint32, similarity int32) {
	if c.strictly && similarity < joinedSpelling {
		return
	}
	next, reach := int32(-1), mask
	if !c.marked.Add(word) {
		next, reach = c.heads[word].first, reach|c.heads[word].reach
	}
	c.heads[word] = markedWord{int32(len(c.marks)), reach}
	c.marks = append(c.marks, mark{word, mask, similarity, next})
}

// A listed name is looked at only if its marked words match this share of the query's bits, 1e-4. Of a
// query of many words no more than coverageMost bits count, because a name may stand in a sentence.
const (
	coverageSeen  = 4800
	coverageWords = 5
	coverageMost  = 2800
)

// covered is the bits of the query that a name must match.
func (c *scorer) covered() int32 {
	total := c.total - c.paid
	if c.count > coverageWords {
		total = min(total, coverageMost)
	}
	return total * (coverageSeen / 100) / (text.ScoreOne / 100)
}

// lookAtCandidates looks at every listed name that could match enough of the query. It begins
// with the names of the cheapest words and stops when the remaining words together weigh too
// little for a match.
func (x *Index) lookAtCandidates(q *Query, s *Scratch) {
	c := &s.scorer
	c.visited.Begin(uint32(len(x.Words.Tokens)))
	c.boundScore(&x.Words, q)
	c.enough = c.covered()
	done, left := uint32(0), c.total
	for left >= c.enough {
		best := -1
		for i := range c.count {
			if done&(1<<i) == 0 && (best < 0 || c.isCheaper(i, best)) {
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

// isCheaper reports whether word i leads to fewer names for its weight than word k.
func (c *scorer) isCheaper(i, k int) bool {
	a, b := &c.list[i], &c.list[k]
	left, right := uint64(a.cost+8)*uint64(b.weight), uint64(b.cost+8)*uint64(a.weight)
	return left < right
}

// lookAhead is how many listed names are prefetched before the first of them is looked at,
// so that no read waits for the one before.
const lookAhead = 16

// lookAt scores the names that hold a word.
func (x *Index) lookAt(word uint32, q *Query, s *Scratch) {
	c, l := &s.scorer, &x.Words
	var names [lookAhead]uint32
	for left := l.HoldersOf(word); len(left) > 0; {
		if c.looked > candidatesMax || c.read >= postingsReadMax {
			c.read++
			return
		}
		count, kept := min(len(left), lookAhead, postingsReadMax-c.read), 0
		for _, h := range left[:count] {
			if c.mayMean(h) {
				names[kept] = h.Row()
				c.touched ^= l.Tokens[h.Row()]
				kept++
			}
		}
		left = left[count:]
		c.read += count
		for _, name := range names[:kept] {
			if c.looked > candidatesMax {
				return
			}
			if c.visited.Add(name) {
				x.scoreName(name, q, s)
			}
		}
	}
}
