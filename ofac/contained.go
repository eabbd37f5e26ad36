package ofac

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"railguard/ofac/perfect"
)

// Names stand inside other words: "LAZARUS GROUP HK", "ATTN Nicolas Maduro
// Moros", "Smith or Jones". Every run of words of the query is therefore looked
// up in the exact table as a name of its own. What is found is possible, never
// more: the words around it may make it another party.

// Bounds of the runs.
const (
	containedWordsMax   = 24 // Words of one run: 276 runs of two words and more for a query of 24.
	spelledWordsMax     = 64 // Words of a run of single letters.
	containedLettersMin = 6  // Letters a listed name needs to be found inside another,
	containedWithForm   = 4  // and one that is found with its legal form.
	containedHitsMax    = 1024

	containedNativeMin = 5      // Characters of a name of East Asia that is one word: longer than a person's.
	eastAsia           = 0x2E80 // Han, Kana and Hangul stand behind it.
)

// Scores of a listed name inside a longer one: they rank, and are not compared
// with any threshold.
const (
	containedScore    = 9500
	containedFloor    = 9000
	containedPerExtra = 50 // for each word around the name
)

// contained looks up the runs of the words in the maker, the whole aside. The words
// are cut, with these legal forms. What it finds is possible at most.
func (x *Index) contained(forms formSet, q *Query, s *Scratch) {
	if q.Brief && blocks(s.hits) {
		return
	}
	m := &s.maker
	if !m.tokens.phrases {
		x.runs(forms, q, s)
		return
	}
	m.tokens.anywhere = true // what ends the listed name may stand in the midst of the query
	m.tokens.split(m.words)
	m.tokens.anywhere = false
	m.swap = m.tokens.appendCanonical(m.swap[:0], m.words)
	m.tokens.splitPlain(m.words)
	x.runs(forms, q, s)
	// Once more, legal forms in their short form.
	if !bytes.Equal(m.swap, m.words) {
		m.words, m.swap = m.swap, m.words
		m.tokens.splitPlain(m.words)
		x.runs(forms, q, s)
		m.words, m.swap = m.swap, m.words
	}
}

// runs looks up every run as written, sorted and without spaces, and every
// single word as a name whose spaces were left out.
func (x *Index) runs(forms formSet, q *Query, s *Scratch) {
	m, n, first := &s.maker, s.maker.tokens.count, len(s.hits)
	for i := range n {
		s.father = m.isFather(i)
		m.spans = append(m.spans[:0], span{i, i})
		m.joint = append(m.joint[:0], m.tokens.word(m.words, i)...)
		x.lookupRun(m.joint, 1, n, forms, q, s)
		x.insideNative(m.joint, n, forms, q, s)
		letters := len(m.joint) == 1 // the run is letters, a word each: a name spelled out
		for k := i + 1; k < min(n, i+spelledWordsMax); k++ {
			word := m.tokens.word(m.words, k)
			letters = letters && len(word) == 1
			if k-i >= containedWordsMax {
				if !letters {
					break
				}
				m.joint = append(m.joint, word...)
				x.lookupRun(m.joint, k-i+1, n, forms, q, s)
				continue
			}
			if len(s.hits)-first > containedHitsMax {
				s.cut = true
				return
			}
			m.insertSpan(k)
			m.joint = append(m.joint, word...)
			if k-i+1 == n {
				break // the whole was looked up already
			}
			run := m.words[m.tokens.list[i].start:m.tokens.list[k].end]
			x.lookupRun(run, k-i+1, n, forms, q, s)
			x.lookupRun(m.joint, k-i+1, n, forms, q, s)
			if sorted := m.spanKey(); !bytes.Equal(sorted, run) {
				x.lookupRun(sorted, k-i+1, n, forms, q, s)
			}
		}
	}
}

// insideNative looks up what stands inside one word of Han, Kana or Hangul: a sentence
// there is written without spaces.
func (x *Index) insideNative(word []byte, all int, forms formSet, q *Query, s *Scratch) {
	if nativeLetters(word) <= containedNativeMin {
		return
	}
	first := len(s.hits)
	for i := 0; i < len(word); {
		letters := 0
		for k := i; k < len(word) && len(s.hits)-first <= containedHitsMax; {
			_, size := utf8.DecodeRune(word[k:])
			k += size
			if letters++; letters >= containedNativeMin && k-i < len(word) {
				x.lookupRun(word[i:k], 1, all+1, forms, q, s)
			}
		}
		_, size := utf8.DecodeRune(word[i:])
		i += size
	}
}

// nativeLetters counts the characters of a word of Han, Kana or Hangul; 0: it is another.
func nativeLetters(word []byte) int {
	count := 0
	for i := 0; i < len(word); count++ {
		r, size := utf8.DecodeRune(word[i:])
		if r < eastAsia || r == utf8.RuneError {
			return 0
		}
		i += size
	}
	return count
}

// insertSpan puts word k into its place among the sorted words of the run.
func (m *formMaker) insertSpan(k int) {
	m.spans = append(m.spans, span{k, k})
	word := m.tokens.word(m.words, k)
	for i := len(m.spans) - 1; i > 0 && bytes.Compare(word, m.tokens.word(m.words, m.spans[i-1].start)) < 0; i-- {
		m.spans[i], m.spans[i-1] = m.spans[i-1], m.spans[i]
	}
}

// spanKey joins the words of the run in byte order.
func (m *formMaker) spanKey() []byte {
	m.key = m.key[:0]
	for _, s := range m.spans {
		m.key = appendSeparator(m.key, 0)
		m.key = append(m.key, m.tokens.word(m.words, s.start)...)
	}
	return m.key
}

// lookupRun judges the listed names that have the run of so many of all words
// among their forms.
func (x *Index) lookupRun(key []byte, words, all int, forms formSet, q *Query, s *Scratch) {
	if len(key) < containedLettersMin { // too short, and cheap to know
		return
	}
	postings := x.forms.Of(perfect.KeyOf(key))
	for _, posting := range postings[:min(len(postings), containedHitsMax)] {
		name := x.name(posting >> exactFormBits)
		form := exactForm(posting & (1<<exactFormBits - 1))
		kind := x.entity(name.entity).kind
		if !x.standsAlone(posting, &name, words, key) || kind == Vessel && forms != 0 {
			continue // what has a legal form is no vessel
		}
		if form == exactTruncated && goesOn(key, q.Name) {
			continue
		}
		if s.father && kind == Individual && x.weightOfName(posting>>exactFormBits) < shipped.commonNames {
			continue // two common names: many fathers bear them
		}
		h := hit{
			entity: name.entity, name: posting >> exactFormBits, outcome: Possible, form: uint8(form), sub: SubContained,
			score: max(containedFloor, containedScore-containedPerExtra*int32(all-words)),
		}
		h.strict = h.score
		switch {
		case name.flags&nameWeak != 0 && q.WeakAliases:
			h.sub = SubWeakAlias
		case name.flags&nameWeak != 0:
			h.outcome, h.sub = Clear, SubWeakAlias
		}
		s.hits = append(s.hits, h)
	}
}

// goesOn reports whether a line that ends with an article was not cut there: in the query
// a hyphen binds the article to the word behind it (… TAHA AL-MOSULI), which another
// party has.
func goesOn(key []byte, query string) bool {
	at := bytes.LastIndexByte(key, ' ')
	if at < 0 || !isArticle(string(key[at+1:])) {
		return false
	}
	before := bytes.LastIndexByte(key[:at], ' ') + 1
	for i := 0; i+len(key)-before < len(query); i++ {
		if query[i+len(key)-before] == '-' && equalFolded(query[i:i+len(key)-before], key[before:]) {
			return true
		}
	}
	return false
}

// equalFolded compares a text of ASCII letters with its folded form.
func equalFolded(text string, folded []byte) bool {
	for i := range folded {
		if c := plainFolds[text[i]]; c != folded[i] {
			return false
		}
	}
	return true
}

// standsAlone tells whether a listed name says enough to be found among other
// words: two words that are not grammar, or one and its legal form, or a word of East
// Asia that is longer than a person's name. A run without spaces must be long, and a single word no name of its own (ABDURRAHMAN is not
// RAHMAN, Abdur).
func (x *Index) standsAlone(posting uint32, name *nameRecord, words int, key []byte) bool {
	if words == 1 && nativeLetters(key) >= containedNativeMin {
		return true
	}
	form := exactForm(posting & (1<<exactFormBits - 1))
	telling := x.telling(posting>>exactFormBits, name)
	least := containedLettersMin
	if name.forms != 0 && form != exactContent && form != exactJoined {
		telling++
		least = containedWithForm
	}
	switch {
	case telling < 2 || int(name.letters) < least:
		return false
	case form == exactContent && name.forms != 0 && x.weightOfName(posting>>exactFormBits) < shipped.commonNames:
		return false // common words without the legal form: anybody's
	case form != exactJoined:
		return words > 1
	}
	return name.letters >= joinedLetters && (words > 1 || !x.words.whole(key))
}

// telling counts the words of a listed name that are not grammar.
func (x *Index) telling(id uint32, name *nameRecord) int {
	if name.flags&nameWeak != 0 {
		return int(name.words) // its words are not in the word layer
	}
	count := 0
	for i := x.words.tokenOffsets[id]; i < x.words.tokenOffsets[id+1]; i++ {
		if token := x.words.tokens[i].read(); token.count == 1 && token.weight > grammarWeight {
			count++
		}
	}
	return count
}

// fatherGroup is the group of "bin".
var fatherGroup = groupOf([]byte("bin"))

// isFather reports whether the run of words that begins at word i stands behind "bin":
// a name and bin before it make it the name of the party's father.
func (m *formMaker) isFather(i int) bool {
	return i >= 2 && groupOf(m.tokens.word(m.words, i-1)) == fatherGroup
}

// whole reports whether a word stands alone in some listed name.
func (l *wordLayer) whole(word []byte) bool {
	id, ok := l.find(word)
	return ok && l.word(id).flags&wordWhole != 0
}

// Parts of a query that names several parties.
const (
	partsMax       = 4
	partWordsMin   = 2 // Words of a part, and of the listed name, that are not grammar,
	partLettersMin = 8 // and its letters. Common words, as rare together as two common names, are not enough.
)

// parties screens the names of a field that holds several, each for itself: "Smith
// or Jones", "A Trading / B Shipping". What is near a listed name in a part is
// possible, never more. True: not all of it was looked at.
func (x *Index) parties(name string, q *Query, s *Scratch) bool {
	truncated, found := false, 0
	for rest := name; rest != "" && found < partsMax; {
		part, after, joined := cutParty(rest)
		if !joined && len(part) == len(name) {
			return false // one party
		}
		rest = after
		s.scorer.words = appendWords(s.scorer.words[:0], part, false)
		if bytes.Count(s.scorer.words, []byte{' '})+1 < partWordsMin {
			continue
		}
		found++
		first := len(s.hits)
		truncated = x.possible(part, q, s) || truncated
		kept := s.hits[:first]
		for _, h := range s.hits[first:] {
			if h.outcome == Listed {
				h.outcome, h.sub = Possible, SubContained
			}
			if record := x.name(h.name); x.telling(h.name, &record) >= partWordsMin && record.letters >= partLettersMin && x.weightOfName(h.name) >= s.scorer.tuned.commonNames {
				kept = append(kept, h)
			}
		}
		s.hits = kept
	}
	return truncated
}

// partyJoints stand between two parties of one field.
var partyJoints = [...]string{"/", "&", "+", ";", "|", " or ", " and ", " OR ", " AND ", " Or ", " And "}

// cutParty cuts a text at its first joint.
func cutParty(text string) (part, after string, joined bool) {
	at, length := len(text), 0
	for _, joint := range partyJoints {
		if i := strings.Index(text[:min(at+len(joint), len(text))], joint); i >= 0 && i < at {
			at, length = i, len(joint)
		}
	}
	return text[:at], text[at+length:], length > 0
}
