package ofac

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"railguard/ofac/perfect"
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

// lineWidths are how many characters payment systems keep of a party's name, a bit each:
// company and person in ACH files (16, 22), Bacs (18), direct entry (20, 32), cards (22,
// 25, 26), EFT files (30), SWIFT and Fedwire (35).
const lineWidths = 1<<16 | 1<<18 | 1<<20 | 1<<22 | 1<<25 | 1<<26 | 1<<30 | 1<<32 | 1<<swiftLine

// Bounds of the search for a cut name.
const (
	cutNamesMax    = 1024 // listed names that are held against one query
	fragmentLetter = 1000 // what each letter of the last word weighs, which may be a part of one
	fragmentMin    = 3    // letters it has at least
	cutLineScore   = 9000 // ranks, and is compared with nothing
)

// cutLine finds the listed names of which the query may be what a payment system kept:
// a text as long as one of its lines, and the beginning of the name in the order of the
// list or with first names before last names. Its whole words must say as much as two
// names that are not common; it is possible at most.
func (x *Index) cutLine(name string, s *Scratch) {
	text := strings.TrimSpace(name)
	width := utf8.RuneCountInString(text)
	if width < 16-1 || width > swiftLine || lineWidths>>width&3 == 0 {
		return
	}
	if lineWidths>>width&1 == 0 {
		width++ // A blank was cut off behind a whole word.
	}
	words := s.scorer.words
	word, ok := x.cutWord(words)
	if !ok {
		return
	}
	l, names := &x.words, 0
	begins, mask := beginningOf(words)
	for i, end := l.postingOffsets[word], l.postingOffsets[word+1]; i < end && names < cutNamesMax; i++ {
		names++
		if known := x.beginnings[i]; !known.listed.may(begins, mask) && !known.turned.may(begins, mask) {
			continue
		}
		id := l.nameAt(l.postings[i])
		record := x.name(id)
		full, kind := x.textAt(record.full), x.entity(record.entity).kind
		found := s.isCut("", full, width, words)
		if last, first, ok := strings.Cut(full, ","); ok && kind == Individual && !found {
			found = s.isCut(strings.TrimSpace(first), last, width, words)
		}
		if found {
			s.hits = append(s.hits, hit{
				entity: record.entity, name: id, score: cutLineScore, strict: cutLineScore, outcome: Possible, form: uint8(exactTruncated), sub: SubTruncated,
			})
		}
	}
}

// beginning tells how a name begins, so that most names need not be read: sixteen bits of
// the first word's print, above them the first letters of the second, five bits each. 0: it
// could be read otherwise if the name were cut.
type beginning uint32

const (
	beginningPrint   = 1<<16 - 1
	beginningLetters = 3
	secondUnread     = 1 << 31 // how the second word begins is not said
)

// beginnings are how a listed name begins in either order.
type beginnings struct{ listed, turned beginning }

// may tells whether a name may begin with these words, or with the beginning of the
// second; mask has the bits that are asked for.
func (b beginning) may(words, mask beginning) bool {
	if b&secondUnread != 0 {
		mask = beginningPrint
	}
	return b == 0 || (b^words)&mask == 0
}

// beginningOf is how folded words begin, and which bits of it they tell.
func beginningOf(words []byte) (begins, mask beginning) {
	print, at := uint32(1), 0
	for ; at < len(words) && words[at] != ' '; at++ {
		print = (print ^ uint32(words[at])) * wordPrime
	}
	begins, mask = beginning(print>>16|1), beginningPrint
	for i := 1; i <= beginningLetters && at+i < len(words) && words[at+i] != ' '; i++ {
		begins |= letterAt(words[at+i], i)
		mask |= 31 << (11 + 5*i)
	}
	return begins, mask
}

// wordPrime spreads the letters of a word over its print.
const wordPrime = 0x01000193

// letterAt is a letter of the second word in its place.
func letterAt(letter byte, place int) beginning {
	return beginning(letterCodes[letter]) << (11 + 5*place)
}

// readBeginning is how a name begins whose first words stand in one text and the others,
// if there are any, in another.
func readBeginning(first, last string, room []byte) beginning {
	end, plain := plainWord(first, 0)
	if !plain {
		if end = scanWord(first, 0).next; hasDot(first[:end]) {
			return 0 // Dots bind letters by what stands behind them.
		}
	}
	if end == 0 || end > wordBytesMax || end == len(first) && last == "" {
		return 0
	}
	folded := appendFirst(room[:0], first[:end], plain)
	if len(folded) == 0 || bytes.IndexByte(folded, ' ') >= 0 {
		return 0
	}
	begins, _ := beginningOf(folded)
	for _, rest := range [...]string{first[end:], last} {
		start := 0
		for start < len(rest) && plainFolds[rest[start]] == ' ' {
			start++
		}
		if start == len(rest) {
			continue
		}
		second := rest[start:]
		end, plain := plainWord(second, 0)
		if plain {
			second = second[:end]
		} else if word := scanWord(second, 0); word.lettered() && !hasDot(second[:word.next]) {
			second = second[:word.end]
		} else {
			break
		}
		if folded = appendFirst(room[:0], second, plain); len(folded) == 0 {
			break
		}
		for i := 1; i <= beginningLetters && i <= len(folded); i++ {
			begins |= letterAt(folded[i-1], i)
		}
		return begins
	}
	return begins | secondUnread
}

// appendFirst is appendWords of one word, which may be plain.
func appendFirst(dst []byte, word string, plain bool) []byte {
	if !plain {
		return appendWords(dst, word, false)
	}
	for i := range len(word) {
		dst = append(dst, plainFolds[word[i]])
	}
	return dst
}

// hasDot reports whether a text has a dot that may bind letters.
func hasDot(text string) bool {
	for _, r := range text {
		if folds.of(r).kind == foldDot {
			return true
		}
	}
	return false
}

// lettered holds for a word of one script that is transliterated letter by letter, so
// that the beginning of it is the beginning of what it becomes.
func (w *wordScan) lettered() bool {
	return w.foreign && !w.latin && !w.native && w.digits == 0 && w.scripts&(w.scripts-1) == 0 && w.scripts != 1<<foldArabic
}

// noteBeginnings notes for each row of the words' names how the name begins: of those
// that hold a word of a line that may be cut, most begin otherwise.
func (x *Index) noteBeginnings() {
	l, room := &x.words, make([]byte, 0, 4*wordBytesMax)
	byRow := make([]beginnings, len(l.tokens))
	for name := range x.nameCount {
		row := l.tokenOffsets[name]
		if row == l.tokenOffsets[name+1] {
			continue
		}
		record := x.name(name)
		full := x.textAt(record.full)
		begins := beginnings{listed: readBeginning(full, "", room)}
		begins.turned = begins.listed
		if last, first, ok := strings.Cut(full, ","); ok && x.entity(record.entity).kind == Individual {
			begins.turned = readBeginning(strings.TrimSpace(first), last, room)
		}
		byRow[row] = begins
	}
	x.beginnings = make([]beginnings, len(l.postings))
	for i := range x.beginnings {
		x.beginnings[i] = byRow[l.postings[i]]
	}
}

// cutWord is the rarest of the whole words of a line that may be cut; false: they say
// too little.
func (x *Index) cutWord(words []byte) (rarest uint32, ok bool) {
	l, last := &x.words, bytes.LastIndexByte(words, ' ')
	if last < 0 {
		return 0, false
	}
	weight, fewest := int32(0), uint32(cutNamesMax)
	if letters := letterCount(words[last+1:]); letters >= fragmentMin {
		weight = min(int32(letters)*fragmentLetter, scoreOne)
	}
	for rest := words[:last]; len(rest) > 0; {
		word, after, _ := bytes.Cut(rest, []byte{' '})
		rest = after
		id, listed := l.find(word)
		if !listed {
			continue
		}
		record := l.word(id)
		if record.flags&wordWhole == 0 {
			continue
		}
		weight += int32(record.weight)
		if names := l.names(id); names < fewest {
			rarest, fewest, ok = id, names, true
		}
	}
	return rarest, ok && weight >= shipped.commonNames
}

// isCut reports whether a name in two parts, cut to so many characters, is these words.
// First names alone, none of them cut, are anybody's.
func (s *Scratch) isCut(first, last string, width int, words []byte) bool {
	begins := first
	if begins == "" {
		begins = last
	}
	if begins == "" || plainFolds[begins[0]] > ' ' && plainFolds[begins[0]] != words[0] {
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
		s.other = appendWords(s.other, part[:cut], false)
		if left == 0 && cut < len(part) {
			if part == first && (part[cut] == ' ' || part[cut-1] == ' ') || cut == 0 {
				return false
			}
			return string(bytes.TrimRight(s.other, " ")) == string(words)
		}
	}
	return false // not longer than the line
}

// lookup judges every listed name that has the key among its forms.
func (x *Index) lookup(key []byte, read reading, q *Query, s *Scratch) {
	if len(key) < 2 {
		return
	}
	postings := x.forms.Of(perfect.KeyOf(key))
	for _, posting := range postings[:min(len(postings), exactPostingsMax)] {
		name := x.name(posting >> exactFormBits)
		form := exactForm(posting & (1<<exactFormBits - 1))
		outcome, sub := decideExact(&name, x.entity(name.entity).kind, form, read, q)
		s.hits = append(s.hits, hit{
			entity: name.entity, name: posting >> exactFormBits, outcome: outcome, form: uint8(form), sub: sub,
			score: scoreOne, strict: scoreOne,
		})
	}
}
