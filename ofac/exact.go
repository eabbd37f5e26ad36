package ofac

import (
	"bytes"
	"unicode/utf8"
)

// exact looks up every form of the query, whose words are in the scorer, among
// the forms of the listed names.
func (x *Index) exact(name string, q *Query, s *Scratch) {
	m := &s.maker
	m.words = append(m.words[:0], s.scorer.words...)
	forms := x.exactWords(q, s)
	written := s.written
	s.normal = append(s.normal[:0], m.words...)
	if m.tokens.hasForms {
		s.normal = m.tokens.appendCanonical(s.normal[:0], m.words)
	}
	x.contained(forms, q, s)
	switch key := m.asciiKey(name); {
	case len(key) == 0:
	case forms == 0 && bytes.Equal(key, m.words):
		s.hits = append(s.hits, s.hits[written.start:written.end]...)
	default:
		x.lookup(key, reading{forms: forms}, q, s)
	}
	if s.readAlike(name) {
		x.contained(x.exactWords(q, s), q, s)
	}
}

// readAlike reads the name a second time, words of look-alike letters as Latin
// ("РАУ" as PAY). False: the readings are the same.
func (s *Scratch) readAlike(name string) bool {
	if !hasForeign(name) {
		return false
	}
	s.other = appendWords(s.other[:0], name, true)
	if bytes.Equal(s.other, s.maker.words) {
		return false
	}
	s.maker.words, s.other = s.other, s.maker.words
	return true
}

// hasForeign reports whether a second reading of the name may differ: it has
// letters of other scripts, digits that are written for letters beside letters, a letter
// three times in a row, or an l in place of I or the other way round.
func hasForeign(name string) bool {
	letters, digits := false, false
	for i := 0; i < len(name); {
		if c := lower(name[i]); c < utf8.RuneSelf {
			letter := c >= 'a' && c <= 'z'
			if letter && i+stretched <= len(name) && lower(name[i+1]) == c && lower(name[i+2]) == c || miscased(name, i) {
				return true
			}
			letters = letters || letter
			digits = digits || c >= '0' && c <= '9' && digitLetters[c-'0'] != 0
			i++
			continue
		}
		r, size := decode(name, i)
		if kind := folds.of(r).kind; kind == foldNative || kind >= foldCyrillic {
			return true
		}
		i += size
	}
	return letters && digits
}

// exactWords looks up the forms of the words in the maker: as written, with
// legal forms in their short form, without them, without titles, sorted, joined. It
// leaves the words cut, with their legal forms, which it returns.
func (x *Index) exactWords(q *Query, s *Scratch) formSet {
	m := &s.maker
	m.tokens.splitPlain(m.words)
	s.written.start = len(s.hits)
	x.lookup(m.words, reading{}, q, s)
	s.written.end = len(s.hits)
	if m.tokens.count > 1 {
		if sorted := m.sorted(m.words, false); bytes.Equal(sorted, m.words) {
			s.hits = append(s.hits, s.hits[s.written.start:]...)
		} else {
			x.lookup(sorted, reading{}, q, s)
		}
		x.lookup(m.joined(m.words, false), reading{joined: true}, q, s)
		x.lookup(m.untitled(m.words), reading{}, q, s)
	}
	m.tokens.split(m.words)
	if !m.tokens.hasForms {
		return 0
	}
	read := reading{forms: m.tokens.forms()}
	m.key = m.tokens.appendCanonical(m.key[:0], m.words)
	x.lookup(m.key, read, q, s)
	x.lookup(m.sorted(m.words, false), read, q, s)
	x.lookup(m.joined(m.words, false), reading{forms: read.forms, joined: true}, q, s)
	read.dropped = true
	x.lookup(m.sorted(m.words, true), read, q, s)
	x.lookup(m.joined(m.words, true), reading{forms: read.forms, dropped: true, joined: true}, q, s)
	return read.forms
}

// untitled returns the sorted words without titles, nothing if there are none
// or nothing else.
func (m *formMaker) untitled(words []byte) []byte {
	m.spans = m.spans[:0]
	for i := range m.tokens.count {
		if !titleWords.has(m.tokens.word(words, i)) {
			m.spans = append(m.spans, span{i, i})
		}
	}
	if len(m.spans) == m.tokens.count || len(m.spans) == 0 {
		return nil
	}
	return m.sortSpans(words)
}

// lookup judges every listed name that has the key among its forms.
func (x *Index) lookup(key []byte, read reading, q *Query, s *Scratch) {
	if len(key) < 2 {
		return
	}
	slot, ok := x.exactHash.find(hashBytes(key))
	if !ok {
		return
	}
	first, end := x.exactOffsets.at(slot), x.exactOffsets.at(slot+1)
	for i := first; i < min(end, first+exactPostingsMax); i++ {
		posting := x.exactPostings.at(i)
		name := x.name(posting >> exactFormBits)
		form := exactForm(posting & (1<<exactFormBits - 1))
		outcome, sub := decideExact(&name, x.entity(name.entity).kind, form, read, q)
		s.hits = append(s.hits, hit{
			entity: name.entity, name: posting >> exactFormBits, outcome: outcome, form: uint8(form), sub: sub,
			score: scoreOne, strict: scoreOne,
		})
	}
}
