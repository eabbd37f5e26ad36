package match

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// findExact looks up every form of the query among the forms of the listed names. The words
// of the query are in the scorer.
func (x *Index) findExact(name string, q *Query, s *Scratch) {
	m := &s.maker
	m.Words = append(m.Words[:0], s.scorer.words...)
	forms := x.exactWords(q, s)
	written := s.written
	s.normal = append(s.normal[:0], m.Words...)
	if m.Tokens.HasForms {
		s.normal = m.Tokens.AppendCanonical(s.normal[:0], m.Words)
	}
	x.findContained(forms, q, s)
	switch key := m.AsciiKey(name); {
	case len(key) == 0:
	case forms == 0 && bytes.Equal(key, m.Words):
		s.hits = append(s.hits, s.hits[written.Start:written.End]...)
	default:
		x.lookUpForm(key, reading{forms: forms}, q, s)
	}
	if s.readAlike(name) {
		x.findContained(x.exactWords(q, s), q, s)
	}
}

// readAlike reads the name a second time, with words of look-alike letters as Latin ("РАУ"
// as PAY), into the maker. It returns false when both readings are the same.
func (s *Scratch) readAlike(name string) bool {
	words, ok := s.alikeWords(name)
	if !ok || bytes.Equal(words, s.maker.Words) {
		return false
	}
	s.maker.Words = append(s.maker.Words[:0], words...)
	return true
}

// alikeWords returns the words of a name with look-alike letters as Latin, valid until it is asked for another
// name. It returns false when no letter is one. The exact forms and the possible matches share one reading.
func (s *Scratch) alikeWords(name string) (words []byte, ok bool) {
	if !s.alike.read || s.alike.name != name {
		s.alike.name, s.alike.read, s.alike.has = name, true, text.HasForeign(name)
		if s.alike.has {
			s.alike.words = text.AppendWords(s.alike.words[:0], name, true)
		}
	}
	return s.alike.words, s.alike.has
}

// exactWords looks up the forms of the words in the maker: as written, with legal forms in
// their short form, without legal forms, without titles, sorted, joined. It leaves the
// words split and returns their legal forms.
func (x *Index) exactWords(q *Query, s *Scratch) text.FormSet {
	m := &s.maker
	m.Tokens.SplitPlain(m.Words)
	s.written.Start = len(s.hits)
	x.lookUpForm(m.Words, reading{}, q, s)
	s.written.End = len(s.hits)
	if m.Tokens.Count > 1 {
		if sorted := m.Sorted(m.Words, false); bytes.Equal(sorted, m.Words) {
			s.hits = append(s.hits, s.hits[s.written.Start:]...)
		} else {
			x.lookUpForm(sorted, reading{}, q, s)
		}
		x.lookUpForm(m.Joined(m.Words, false), reading{joined: true}, q, s)
		x.lookUpForm(m.Untitled(m.Words), reading{}, q, s)
	}
	m.Tokens.Split(m.Words)
	if !m.Tokens.HasForms {
		return 0
	}
	read := reading{forms: m.Tokens.Forms()}
	m.Key = m.Tokens.AppendCanonical(m.Key[:0], m.Words)
	x.lookUpForm(m.Key, read, q, s)
	x.lookUpForm(m.Sorted(m.Words, false), read, q, s)
	x.lookUpForm(m.Joined(m.Words, false), reading{forms: read.forms, joined: true}, q, s)
	read.dropped = true
	x.lookUpForm(m.Sorted(m.Words, true), read, q, s)
	x.lookUpForm(m.Joined(m.Words, true), reading{forms: read.forms, dropped: true, joined: true}, q, s)
	return read.forms
}

// lineWidths is how many characters of a party's name payment systems keep, one bit each:
// company and person in ACH files (16, 22), Bacs (18), direct entry (20, 32), cards (22,
// 25, 26), EFT files (30), SWIFT and Fedwire (35).
const lineWidths = 1<<16 | 1<<18 | 1<<20 | 1<<22 | 1<<25 | 1<<26 | 1<<30 | 1<<32 | 1<<index.SwiftLine

// Bounds of the search for a cut name.
const (
	cutNamesMax    = 1024 // listed names that are compared with one query
	fragmentLetter = 200  // weight of each letter of the last word, which may be cut
	fragmentMin    = 3    // letters that the last word needs to have this weight
	cutLineScore   = 9000 // This score only ranks matches; no threshold applies to it.
)

// findCutLine finds the listed names that a payment system may have cut to the query: the
// query is as long as such a system's line and is the beginning of the name, in listed
// order or with first names before last names. The words of the query must be at least
// as rare together as two names that are not common. The hit is possible at most.
func (x *Index) findCutLine(name string, s *Scratch) {
	written := strings.TrimSpace(name)
	width := utf8.RuneCountInString(written)
	if width < 16-1 || width > index.SwiftLine || lineWidths>>width&3 == 0 {
		return
	}
	if lineWidths>>width&1 == 0 {
		width++ // The system cut the line at a blank, which is trimmed here.
	}
	words := s.scorer.words
	word, ok := x.cutWord(words)
	if !ok {
		return
	}
	l := &x.Words
	begins, mask := text.BeginningOf(words)
	postings, known := l.PostingsOf(word), x.BeginningsOf(word)
	s.steps += min(len(postings), cutNamesMax)
	for i := range min(len(postings), cutNamesMax) {
		if known := known[i]; !known.Listed.MayBegin(begins, mask) && !known.Turned.MayBegin(begins, mask) {
			continue
		}
		id := l.NameAt(postings[i])
		record := x.NameAt(id)
		full, kind := x.TextAt(record.Full), x.EntityAt(record.Entity).Kind
		found := s.isCut("", full, width, words)
		if last, first, ok := strings.Cut(full, ","); ok && kind == list.Individual && !found {
			found = s.isCut(strings.TrimSpace(first), last, width, words)
		}
		if found {
			s.hits = append(s.hits, hit{
				entity: record.Entity, name: id, score: cutLineScore, strict: cutLineScore, outcome: Possible, form: uint8(index.ExactTruncated), sub: SubTruncated,
			})
		}
	}
}

// cutWord returns the rarest whole word of a line that may be cut. It returns false when
// the words together are too common.
func (x *Index) cutWord(words []byte) (rarest uint32, ok bool) {
	l, last := &x.Words, bytes.LastIndexByte(words, ' ')
	if last < 0 {
		return 0, false
	}
	weight, fewest := int32(0), uint32(cutNamesMax)
	if end := words[last+1:]; text.LetterCount(end) >= fragmentMin {
		weight = min(int32(text.LetterCount(end))*fragmentLetter, index.WordBits(end, 0, 0, true))
		if id, listed := l.Find(end); listed {
			record := l.Word(id)
			weight = min(weight, int32(record.Person))
		}
	}
	for rest := words[:last]; len(rest) > 0; {
		word, after, _ := bytes.Cut(rest, []byte{' '})
		rest = after
		id, listed := l.Find(word)
		if !listed {
			continue
		}
		record := l.Word(id)
		if record.Flags&index.WordWhole == 0 {
			continue
		}
		weight += min(int32(record.Person), int32(record.Other))
		if names := l.NameCount(id); names < fewest {
			rarest, fewest, ok = id, names, true
		}
	}
	return rarest, ok && weight >= shipped.neededPerson
}

// isCut reports whether a name in two parts, cut to width characters, is these words. It returns
// false if the line has only whole first names, because these fit many people.
func (s *Scratch) isCut(first, last string, width int, words []byte) bool {
	begins := first
	if begins == "" {
		begins = last
	}
	if begins == "" || text.PlainFold(begins[0]) > ' ' && text.PlainFold(begins[0]) != words[0] {
		return false
	}
	s.other = s.other[:0]
	left := width
	for _, part := range [...]string{first, last} {
		if part == "" {
			continue
		}
		if left < width && part[0] != ' ' {
			left--
		}
		cut := len(part)
		for i := range part {
			if left == 0 {
				cut = i
				break
			}
			left--
		}
		if len(s.other) > 0 {
			s.other = append(s.other, ' ')
		}
		s.other = text.AppendWords(s.other, part[:cut], false)
		if left == 0 && cut < len(part) {
			if part == first && (part[cut] == ' ' || part[cut-1] == ' ') || cut == 0 {
				return false
			}
			return string(bytes.TrimRight(s.other, " ")) == string(words)
		}
	}
	return false // the name is not longer than the line
}

// lookUpForm judges every listed name that has the key among its forms.
func (x *Index) lookUpForm(key []byte, read reading, q *Query, s *Scratch) {
	if len(key) < 2 {
		return
	}
	rows := x.NamesOfForm(key, exactPostingsMax)
	s.steps += len(key) + len(rows)
	for _, row := range rows {
		posting := index.FormPosting(row)
		id, form := posting.Name(), posting.Form()
		name := x.NameAt(id)
		if x.IsOver(name.Entity, q.Now) {
			continue
		}
		entity := x.EntityAt(name.Entity)
		outcome, sub := decideExact(&name, entity.Kind, form, read, q)
		if outcome == Listed && !entity.Lists.Block() {
			outcome, sub = Possible, SubReviewSource
		}
		s.hits = append(s.hits, hit{
			entity: name.Entity, name: id, outcome: outcome, form: uint8(form), sub: sub,
			score: text.ScoreOne, strict: text.ScoreOne,
		})
	}
}
