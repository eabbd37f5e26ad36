package match

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// Bounds of the search in a text that travels with a payment.
const (
	memoBytesMax = 4 * 512 // Bytes that are read: 512 characters.
	memoWordsMax = 256     // Words that are read. The longest text of single letters has as many.
	memoAround   = 3       // Words before and behind a pair that are compared together with it.
	memoWindow   = 24      // Words that are compared as one run.
	memoNear     = 8       // Words that are compared as one name that may be misspelt.
	memoNearMost = 48      // Runs of a text that are compared so.

	memoContentWords = 3 // Words of a company's name that is found without its legal form.
)

// Memo finds the listed names of two words or more that a text holds. The text may say anything of
// them, so that no match is harder than Possible.
func (x *Index) Memo(q *Query, s *Scratch) Result {
	s.hits, s.cut, s.alike.read = s.hits[:0], false, false
	s.maker.Steps, s.scorer.finder.Steps = 0, 0
	name := q.Name
	if len(name) > memoBytesMax {
		name, s.cut = name[:memoBytesMax], true
	}
	s.steps = readSteps * len(name)
	s.scorer.words = text.AppendWords(s.scorer.words[:0], name, false)
	x.searchMemo(q, s)
	if !isASCII(name) && s.readAlike(name) { // It leaves the words of the other reading in the maker.
		s.scorer.words = append(s.scorer.words[:0], s.maker.Words...)
		x.searchMemo(q, s)
	}
	if plain, ok := text.WithoutPossessive(name); ok {
		s.scorer.words = text.AppendWords(s.scorer.words[:0], plain, false)
		x.searchMemo(q, s)
	}
	if seen, moved := text.AsSeen(name); moved {
		s.scorer.words = text.AppendWords(s.scorer.words[:0], seen, false)
		x.searchMemo(q, s)
		x.nearMemo(seen, q, s)
	}
	x.nearMemo(name, q, s)
	x.keepMemoHits(s)
	result := x.rankHits(q, s)
	result.Truncated = s.cut
	if text.HasUnread(name) {
		result.Unread = UnreadLetters
	}
	return result
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// searchMemo compares the words around every pair that may be part of a listed name.
func (x *Index) searchMemo(q *Query, s *Scratch) {
	words := s.scorer.words
	starts, telling := &s.memoStarts, &s.memoTelling
	count, tells := 0, 0
	for at := 0; at < len(words) && count < memoWordsMax; count++ {
		end := bytes.IndexByte(words[at:], ' ')
		if end < 0 {
			end = len(words) - at
		}
		if hash, ok := index.PairWord(words[at : at+end]); ok {
			telling[tells] = memoWord{hash, count}
			tells++
		}
		starts[count] = uint16(at)
		at += end + 1
		starts[count+1] = uint16(at)
	}
	s.cut = s.cut || count == memoWordsMax
	s.steps += count
	for i := 0; i+1 < tells; i++ {
		if !x.Pairs.Holds(telling[i].hash, telling[i+1].hash) {
			continue
		}
		first := max(telling[i].at-memoAround, 0)
		last := i + 1 // The pairs behind it that hang together with it, as far as a run goes.
		for last+1 < tells && telling[last].at-first < memoWindow && x.Pairs.Holds(telling[last].hash, telling[last+1].hash) {
			last++
		}
		end := min(telling[last].at+memoAround, count-1)
		x.compareWindow(words[starts[first]:min(int(starts[end+1])-1, len(words))], q, s)
		i = last - 1 // The last word may begin the next name.
	}
}

// memoScore is the score from which a name in a text counts that is not exactly the listed one. It asks
// for two bits more than the name of a party does, because a text holds several runs of words.
const memoScore = ReviewDefault + (maxScore-ReviewDefault)*2*index.Bit/scoreRange

// nearMemo looks for misspelt and shortened names: each run of words between two words of the payment is
// compared as a name of its own.
func (x *Index) nearMemo(name string, q *Query, s *Scratch) {
	c, exact, runs := &s.scorer, len(s.hits), 0
	var abjad bool
	if s.maker.Words, abjad, _ = text.AppendAbjad(s.maker.Words[:0], name, true); !abjad {
		s.maker.Words = text.AppendWords(s.maker.Words[:0], name, false)
	}
	for rest := s.maker.Words; len(rest) > 0; {
		run, next, count := cutRun(rest)
		rest = rest[next:]
		if count < partWordsMin {
			continue
		}
		if runs++; runs > memoNearMost {
			s.cut = true
			break
		}
		c.words = append(c.words[:0], run...)
		c.read, c.looked, c.loose = 0, 0, 0
		s.cut = countSteps(s, x.possibleWords(q, s)) || s.cut
	}
	s.hits = append(s.hits[:exact], slices.DeleteFunc(s.hits[exact:], func(h hit) bool {
		return h.score < memoScore || x.EntityAt(h.entity).Kind != list.Individual // Ordinary words are like many a company's.
	})...)
}

// cutRun returns the words before the first word of the payment or number, or word that is too long for a
// name, at most memoNear of them, and where the next run begins. The halves of a longer run overlap.
func cutRun(words []byte) (run []byte, next, count int) {
	at, half := 0, 0
	for at < len(words) && count < memoNear {
		end := bytes.IndexByte(words[at:], ' ')
		if end < 0 {
			end = len(words) - at
		}
		if word := words[at : at+end]; text.IsPayWord(word) || isNumber(word) || len(word) > text.WordBytesMax {
			return words[:max(at-1, 0)], min(at+end+1, len(words)), count
		}
		at += end + 1
		if count++; count == memoNear/2 {
			half = at
		}
	}
	if at < len(words) {
		return words[:at-1], half, count
	}
	return words[:at-1], len(words), count
}

// isNumber reports whether a word has no letters.
func isNumber(word []byte) bool {
	for _, c := range word {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// memoWord is a word of a text that is no word of grammar.
type memoWord struct {
	hash uint64
	at   int // Its place among all words.
}

// compareWindow looks up the runs of some words of the text among the forms of the listed names.
func (x *Index) compareWindow(words []byte, q *Query, s *Scratch) {
	s.maker.Words = append(s.maker.Words[:0], words...)
	whole := *q
	whole.Brief = false
	x.findContained(x.exactWords(&whole, s), &whole, s)
}

// keepMemoHits leaves only what may be said of names in a text: names of two telling words, of
// persons and companies, that a listed party bears and no cut or joined form of them.
func (x *Index) keepMemoHits(s *Scratch) {
	kept := s.hits[:0]
	for _, h := range s.hits {
		record := x.NameAt(h.name)
		kind := x.EntityAt(record.Entity).Kind
		form := index.ExactForm(h.form)
		if h.outcome == Clear || form == index.ExactTruncated || kind == list.Vessel && record.Words < 3 || kind == list.Aircraft {
			continue
		}
		telling := x.countTelling(h.name, &record)
		if form == index.ExactJoined || form == index.ExactContent && telling < memoContentWords {
			continue
		}
		if record.Forms != 0 && form != index.ExactContent {
			telling++
		}
		if telling < partWordsMin || record.Letters < containedLettersMin || kind == list.Individual && record.Letters < partLettersMin {
			continue
		}
		h.outcome = Possible
		if h.sub == SubNone {
			h.sub = SubContained
		}
		kept = append(kept, h)
	}
	s.hits = kept
}
