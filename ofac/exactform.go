package ofac

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"railguard/ofac/perfect"
)

// exactForm says which form of a listed name a key is. Lower is stronger.
type exactForm uint8

const (
	exactFull      exactForm = iota // the normal form, words in listed order
	exactFirstLast                  // of a person, first names before last names
	exactSorted                     // all words, sorted
	exactContent                    // words sorted, legal forms left out
	exactJoined                     // no spaces
	exactIncumbent                  // what stays of A-Z, 0-9 and space
	exactTruncated                  // the first line of a payment message
	exactFormCount
)

// String returns the word for the form in evidence.
func (f exactForm) String() string {
	return [...]string{"full", "first-last", "sorted-words", "content-words", "joined", "ascii", "truncated"}[f]
}

// swiftLine is how many characters of a party's name a line of a SWIFT MT message holds.
const swiftLine = 35

// formMaker computes the forms of one name. Its buffers are reused.
type formMaker struct {
	words  []byte // folded words as written
	swap   []byte // first names before last names, or content words
	key    []byte
	joint  []byte // words of a run without spaces
	spans  []span
	tokens tokenList
	seen   []uint64 // prints of the keys already given for this name
	emit   func(form exactForm, key perfect.Key)
}

type span struct{ start, end int }

// give emits a key once per name, in its strongest form. Shorter than two
// bytes is no key: a lone letter names nobody.
func (m *formMaker) give(form exactForm, key []byte) {
	if len(key) < 2 {
		return
	}
	hash := perfect.KeyOf(key)
	if slices.Contains(m.seen, hash.Print()) {
		return
	}
	m.seen = append(m.seen, hash.Print())
	m.emit(form, hash)
}

// listed gives all forms of a listed name.
func (m *formMaker) listed(full string, kind EntityType) {
	m.seen = m.seen[:0]
	m.words = appendWords(m.words[:0], full, false)
	if kind == Individual {
		m.person(full)
	} else {
		m.organisation()
	}
	m.ascii(full)
	if last, first, ok := strings.Cut(full, ","); ok && kind == Individual {
		m.ascii(first + " " + last)
		m.truncated(strings.TrimSpace(first) + " " + last)
	}
	m.truncated(full)
}

// person gives the forms of an individual's name: no word of it is a legal form.
func (m *formMaker) person(full string) {
	m.give(exactFull, m.words)
	last, first, ok := strings.Cut(full, ",")
	if ok {
		m.swap = appendWords(m.swap[:0], first, false)
		m.swap = appendSeparator(m.swap, 0)
		m.swap = appendWords(m.swap, last, false)
		m.swap = bytes.TrimRight(m.swap, " ")
		m.give(exactFirstLast, m.swap)
	}
	m.tokens.splitPlain(m.words)
	m.give(exactSorted, m.sorted(m.words, false))
	m.give(exactJoined, m.joined(m.words, false))
	if ok {
		m.tokens.splitPlain(m.swap)
		m.give(exactJoined, m.joined(m.swap, false))
	}
}

// organisation gives the forms of any other name.
func (m *formMaker) organisation() {
	m.tokens.split(m.words)
	m.key = m.tokens.appendCanonical(m.key[:0], m.words)
	m.give(exactFull, m.key)
	m.give(exactSorted, m.sorted(m.words, false))
	m.give(exactContent, m.sorted(m.words, true))
	m.give(exactJoined, m.joined(m.words, false))
	m.give(exactJoined, m.joined(m.words, true))
	if m.tokens.hasForms {
		// In another order a legal form may not be read as one.
		m.tokens.splitPlain(m.words)
		m.give(exactSorted, m.sorted(m.words, false))
		m.give(exactJoined, m.joined(m.words, false))
	}
}

// sorted returns the tokens in byte order, parted by one space. With content,
// legal forms are left out.
func (m *formMaker) sorted(words []byte, content bool) []byte {
	m.spans = m.spans[:0]
	for i := range m.tokens.count {
		if token := &m.tokens.list[i]; !content || token.form == formNone {
			m.spans = append(m.spans, span{i, i})
		}
	}
	return m.sortSpans(words)
}

// sortSpans joins the chosen tokens in byte order.
func (m *formMaker) sortSpans(words []byte) []byte {
	// Insertion sort: names have few words, and it needs no closure.
	for i := 1; i < len(m.spans); i++ {
		for k := i; k > 0 && bytes.Compare(m.tokens.spelled(words, m.spans[k].start), m.tokens.spelled(words, m.spans[k-1].start)) < 0; k-- {
			m.spans[k], m.spans[k-1] = m.spans[k-1], m.spans[k]
		}
	}
	m.key = m.key[:0]
	for _, s := range m.spans {
		m.key = appendSeparator(m.key, 0)
		m.key = append(m.key, m.tokens.spelled(words, s.start)...)
	}
	if m.tokens.rest > 0 {
		m.key = append(append(m.key, ' '), words[m.tokens.rest:]...)
	}
	return m.key
}

// joined returns the tokens in order without spaces.
func (m *formMaker) joined(words []byte, content bool) []byte {
	m.key = m.key[:0]
	for i := range m.tokens.count {
		if !content || m.tokens.list[i].form == formNone {
			m.key = append(m.key, m.tokens.spelled(words, i)...)
		}
	}
	for _, c := range words[m.restStart(words):] {
		if c != ' ' {
			m.key = append(m.key, c)
		}
	}
	return m.key
}

func (m *formMaker) restStart(words []byte) int {
	if m.tokens.rest > 0 {
		return m.tokens.rest
	}
	return len(words)
}

// ascii gives the form older screens compare: upper case, everything but A-Z,
// 0-9 and space struck out. A name that loses more than two letters, or has few
// left, has no such form.
func (m *formMaker) ascii(full string) {
	if key := m.asciiKey(full); len(key) > 0 {
		m.give(exactIncumbent, key)
	}
}

func (m *formMaker) asciiKey(full string) []byte {
	m.key = m.key[:0]
	struck, kept := 0, 0
	for i := 0; i < len(full); {
		if letter := plainFolds[full[i]]; letter > ' ' {
			m.key = append(m.key, letter)
			kept++
			i++
			continue
		}
		r, size := decode(full, i)
		i += size
		switch {
		case r == ' ':
			if len(m.key) > 0 && m.key[len(m.key)-1] != ' ' {
				m.key = append(m.key, ' ')
			}
		case r >= '0' && r <= '9':
			m.key = append(m.key, byte(r))
			kept++
		case r >= utf8.RuneSelf && folds.of(r).kind != foldDrop && folds.of(r).kind != foldSpace:
			struck++
		}
	}
	m.key = bytes.TrimRight(m.key, " ")
	if struck > 2 || struck > 0 && kept < 8 {
		return nil
	}
	return m.key
}

// truncated gives the name cut to one line of a payment message.
func (m *formMaker) truncated(full string) {
	characters := 0
	for i := range full {
		if characters == swiftLine {
			m.key = appendWords(m.key[:0], full[:i], false)
			m.give(exactTruncated, m.key)
			return
		}
		characters++
	}
}
