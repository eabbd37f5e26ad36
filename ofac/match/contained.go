package match

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// A query may hold a listed name among other words: "LAZARUS GROUP HK", "ATTN Nicolas
// Maduro Moros", "Smith or Jones". So every run of words of the query is looked up in the
// exact table as a name of its own. Such a hit is possible at most, because the words
// around it may make it another party.

// Bounds of the runs.
const (
	containedWordsMax   = 24 // Words of one run. A query of 24 words has 276 runs of two words and more.
	spelledWordsMax     = 64 // Words of a run in which each word is a single letter.
	containedLettersMin = 6  // Letters that a listed name needs to be found among other words.
	containedWithForm   = 4  // Letters that a listed name needs if it is found together with its legal form.
	containedHitsMax    = 1024

	containedNativeMin = index.NativeLettersMin
	nativeReadMax      = 64 // Characters that are read of a word in a script without blanks.
)

// Scores for a listed name that was found among other words of the query. They only rank the
// matches; no threshold applies to them.
const (
	containedScore    = 9500
	containedFloor    = 9000
	containedPerExtra = 50 // for each word around the name
)

// fatherBits is how much more than a possible name a name behind "bin" must say.
const fatherBits = 3 * index.Bit

// findContained looks up all runs of the words in the maker except the whole. The words must be
// split; forms are their legal forms. The outcome of its hits is never harder than Possible.
func (x *Index) findContained(forms text.FormSet, q *Query, s *Scratch) {
	if q.Brief && anyBlocks(s.hits) {
		return
	}
	m := &s.maker
	if !m.Tokens.Phrases {
		x.lookUpRuns(forms, q, s)
		return
	}
	m.Tokens.Anywhere = true // the end of the listed name may be in the middle of the query
	m.Tokens.Split(m.Words)
	m.Tokens.Anywhere = false
	m.Swap = m.Tokens.AppendCanonical(m.Swap[:0], m.Words)
	m.Tokens.SplitPlain(m.Words)
	x.lookUpRuns(forms, q, s)
	// Look up the runs again with legal forms in their short form.
	if !bytes.Equal(m.Swap, m.Words) {
		m.Words, m.Swap = m.Swap, m.Words
		m.Tokens.SplitPlain(m.Words)
		x.lookUpRuns(forms, q, s)
		m.Words, m.Swap = m.Swap, m.Words
	}
}

// lookUpRuns looks up every run as written, sorted and without spaces. It also looks up
// every single word, as a name whose spaces were left out.
func (x *Index) lookUpRuns(forms text.FormSet, q *Query, s *Scratch) {
	m, n, first := &s.maker, s.maker.Tokens.Count, len(s.hits)
	for i := range n {
		s.father = m.IsFather(i)
		m.Spans = append(m.Spans[:0], index.Span{Start: i, End: i})
		m.Joint = append(m.Joint[:0], m.Tokens.Word(m.Words, i)...)
		x.lookupRun(m.Joint, 1, n, forms, q, s)
		s.cut = s.cut || text.IsUnsegmented(m.Joint, nativeReadMax)
		x.insideNative(m.Joint, n, forms, q, s)
		letters := len(m.Joint) == 1 // every word of the run is one letter: a name spelled out
		for k := i + 1; k < min(n, i+spelledWordsMax); k++ {
			word := m.Tokens.Word(m.Words, k)
			letters = letters && len(word) == 1
			if len(m.Joint)+len(word) > x.LongestForm {
				break // No listed name is so long, even without its spaces.
			}
			if k-i >= containedWordsMax {
				if !letters {
					break
				}
				m.Joint = append(m.Joint, word...)
				x.lookupRun(m.Joint, k-i+1, n, forms, q, s)
				continue
			}
			if len(s.hits)-first > containedHitsMax {
				s.cut = true
				return
			}
			m.InsertSpan(k)
			m.Joint = append(m.Joint, word...)
			if k-i+1 == n {
				break // exactWords has looked up the whole
			}
			run := m.Words[m.Tokens.List[i].Start:m.Tokens.List[k].End]
			x.lookupRun(run, k-i+1, n, forms, q, s)
			x.lookupRun(m.Joint, k-i+1, n, forms, q, s)
			if sorted := m.SpanKey(); !bytes.Equal(sorted, run) {
				x.lookupRun(sorted, k-i+1, n, forms, q, s)
			}
		}
	}
}

// insideNative looks up the parts of one word of Han, Kana or Hangul, since these scripts
// write a sentence without spaces. It reads the first nativeReadMax characters of the word
// and parts no longer than the longest listed name, so that the work grows with the length
// of the query and no faster.
func (x *Index) insideNative(word []byte, all int, forms text.FormSet, q *Query, s *Scratch) {
	if text.NativeLetters(word) <= containedNativeMin {
		return
	}
	first, read := len(s.hits), text.CutLetters(word, nativeReadMax)
	for i := 0; i < len(read); {
		letters, begins := 0, text.CutLetters(read[i:], containedNativeMin)
		s.steps += len(begins)
		may := x.Natives.MayBegin(begins)
		for k := i; may && k < len(read) && len(s.hits)-first <= containedHitsMax; {
			_, size := utf8.DecodeRune(read[k:])
			if k += size; k-i > x.LongestNative {
				break
			}
			if letters++; letters >= containedNativeMin && k-i < len(word) {
				x.lookupRun(read[i:k], 1, all+1, forms, q, s)
			}
		}
		_, size := utf8.DecodeRune(read[i:])
		i += size
	}
}

// lookupRun judges the listed names that have the run as one of their forms. words and all
// count the words of the run and of the query.
func (x *Index) lookupRun(key []byte, words, all int, forms text.FormSet, q *Query, s *Scratch) {
	if len(key) < containedLettersMin || len(key) > x.LongestForm { // This cheap check comes first: such a name is too short or too long.
		return
	}
	s.steps += len(key)
	rows := x.NamesOfForm(key, containedHitsMax)
	s.steps += len(rows)
	for _, row := range rows {
		posting := index.FormPosting(row)
		id, form := posting.Name(), posting.Form()
		name := x.NameAt(id)
		entity := x.EntityAt(name.Entity)
		kind := entity.Kind
		if x.IsOver(name.Entity, q.Now) {
			continue
		}
		if !x.standsAlone(id, form, &name, words, key) || kind == list.Vessel && forms != 0 {
			continue // A vessel's name has no legal form, so such a run means a company.
		}
		if form == index.ExactTruncated && goesOn(key, q.Name) {
			continue
		}
		if s.father && kind == list.Individual && x.bitsOfName(id) < shipped.neededPerson+fatherBits {
			continue // Two common names: the fathers of many other people have them.
		}
		h := hit{
			entity: name.Entity, name: id, outcome: Possible, form: uint8(form), sub: SubContained,
			score: max(containedFloor, containedScore-containedPerExtra*int32(all-words)),
		}
		h.strict = h.score
		switch {
		case name.Flags&index.NameWeak != 0 && q.WeakAliases:
			h.sub = SubWeakAlias
		case name.Flags&index.NameWeak != 0:
			h.outcome, h.sub = Clear, SubWeakAlias
		}
		if h.outcome == Possible && entity.Lists.IsFurther() && !q.NonSDNPossible {
			h.outcome, h.sub = Clear, SubNotSDN
		}
		s.hits = append(s.hits, h)
	}
}

// goesOn reports whether the query continues behind a run that ends with an article: a hyphen
// binds the article to the next word (… TAHA AL-MOSULI). Then the run is not a line that was cut,
// but part of another party's name.
func goesOn(key []byte, query string) bool {
	at := bytes.LastIndexByte(key, ' ')
	if at < 0 || !text.IsArticle(string(key[at+1:])) {
		return false
	}
	before := bytes.LastIndexByte(key[:at], ' ') + 1
	for i := 0; i+len(key)-before < len(query); i++ {
		if query[i+len(key)-before] == '-' && text.EqualFolded(query[i:i+len(key)-before], key[before:]) {
			return true
		}
	}
	return false
}

// standsAlone reports whether a listed name is distinctive enough to be found among other
// words: two content words, or one and its legal form, or an East Asian word longer than a
// person's name. A run without spaces must be long, and a single word must not be a listed
// word (ABDURRAHMAN is not RAHMAN, Abdur).
func (x *Index) standsAlone(id uint32, form index.ExactForm, name *index.NameRecord, words int, key []byte) bool {
	if words == 1 && text.NativeLetters(key) >= containedNativeMin {
		return true
	}
	telling, said := x.countTelling(id, name), x.bitsOfName(id)+formBits(name, form)
	if len(x.Words.TokensOf(id)) == 0 {
		said = shipped.neededOther // The words of weak names and of further lists are not counted.
	}
	least := containedLettersMin
	if name.Forms != 0 && form != index.ExactContent && form != index.ExactJoined {
		telling++
		least = containedWithForm
	}
	switch {
	case telling < 2 || int(name.Letters) < least:
		return false
	case form >= index.ExactContent && name.Forms != 0 && said < shipped.neededOther:
		return false // Without the legal form, common words fit any company.
	case said < shipped.neededContained:
		return false
	case form != index.ExactJoined:
		return words > 1
	}
	return name.Letters >= joinedLetters && (words > 1 || !x.Words.IsWhole(key))
}

// formBits returns what the legal form of a listed name says where it stands with the name.
func formBits(name *index.NameRecord, form index.ExactForm) int32 {
	if name.Forms != 0 && form != index.ExactContent && form != index.ExactJoined {
		return shipped.formSame
	}
	return 0
}

// countTelling counts the words of a listed name that are not articles or particles.
func (x *Index) countTelling(id uint32, name *index.NameRecord) int {
	if name.Flags&index.NameWeak != 0 || x.EntityAt(name.Entity).Lists.IsFurther() {
		return int(name.Words) // words of such names are not in the word layer
	}
	count := 0
	for _, row := range x.Words.TokensOf(id) {
		if token := row.Read(); token.Count == 1 && token.Weight > index.GrammarBits {
			count++
		}
	}
	return count
}

// Bounds of the parts of a query that names several parties.
const (
	partsMax       = 4
	partWordsMin   = 2 // Words that a part must have, and the listed name without articles and particles.
	partLettersMin = 8 // Letters that the listed name must have; its words must also be rarer than two common names.
)

// screenParties screens each name of a field that holds several: "Smith or Jones", "A
// Trading / B Shipping". A hit in a part is possible at most. It returns true when it did
// not look at everything.
func (x *Index) screenParties(name string, q *Query, s *Scratch) bool {
	truncated, found := false, 0
	for rest := name; rest != "" && found < partsMax; {
		part, after, joined := cutParty(rest)
		if !joined && len(part) == len(name) {
			return false // one party
		}
		rest = after
		s.steps += len(part)
		s.scorer.words = text.AppendWords(s.scorer.words[:0], part, false)
		if bytes.Count(s.scorer.words, []byte{' '})+1 < partWordsMin {
			continue
		}
		found++
		first := len(s.hits)
		truncated = x.findPossible(part, q, s) || truncated
		kept := s.hits[:first]
		for _, h := range s.hits[first:] {
			if h.outcome == Listed {
				h.outcome, h.sub = Possible, SubContained
			}
			if record := x.NameAt(h.name); x.countTelling(h.name, &record) >= partWordsMin && record.Letters >= partLettersMin && x.bitsOfName(h.name) >= shipped.neededContained {
				kept = append(kept, h)
			}
		}
		s.hits = kept
	}
	return truncated
}

// partyWords separate two parties in one field, as do the characters in cutParty.
var partyWords = [...]string{" or ", " and ", " OR ", " AND ", " Or ", " And "}

// cutParty cuts a text at its first joint.
func cutParty(text string) (part, after string, joined bool) {
	for i := range len(text) {
		switch text[i] {
		case '/', '&', '+', ';', '|':
			return text[:i], text[i+1:], true
		case ' ':
			for _, word := range partyWords {
				if strings.HasPrefix(text[i:], word) {
					return text[:i], text[i+len(word):], true
				}
			}
		}
	}
	return text, "", false
}
