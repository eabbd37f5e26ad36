package index

import (
	"bytes"
	"slices"
	"strings"

	"railguard/ofac/list"
	"railguard/ofac/perfect"
	"railguard/ofac/text"
)

// ExactForm says which form of a listed name a key is. Lower is stronger.
type ExactForm uint8

const (
	exactFull      ExactForm = iota // the normal form, words in listed order
	exactFirstLast                  // of a person, first names before last names
	ExactSorted                     // all words, sorted
	ExactContent                    // words sorted, legal forms left out
	ExactJoined                     // no spaces
	exactIncumbent                  // only the letters A-Z, digits and spaces
	ExactTruncated                  // the first line of a payment message
	ExactFormCount
)

// String returns the name of the form in evidence.
func (f ExactForm) String() string {
	return [...]string{"full", "first-last", "sorted-words", "content-words", "joined", "ascii", "truncated"}[f]
}

// SwiftLine is how many characters of a party's name fit into a line of a SWIFT MT message.
const SwiftLine = 35

// FormMaker computes the forms of one name. Its buffers are reused.
type FormMaker struct {
	Words  []byte // folded words as written
	Swap   []byte // first names before last names, or content words
	Key    []byte
	Joint  []byte // words of a run without spaces
	Spans  []Span
	Tokens text.TokenList
	Steps  int      // comparisons of words so far; a test bounds them
	seen   []uint64 // prints of the keys already emitted for this name
	emit   func(form ExactForm, key perfect.Key)

	longest, longestNative int // bytes of the longest key emitted so far, and of the longest one without blanks
	natives                NativeFilter
}

// NativeLettersMin is how many characters a name of one East Asian word has at least if it is looked for
// inside a longer word; more than a person's name has.
const NativeLettersMin = 5

// NativeFilter has a bit for the first NativeLettersMin characters of each form of East Asian letters, so that
// most places inside a word are passed over after one look.
type NativeFilter [nativeFilterBits / 64]uint64

const nativeFilterBits = 1 << 15

func nativeBit(begins []byte) uint64 { return perfect.KeyOf(begins).Print() % nativeFilterBits }

func (f *NativeFilter) note(key []byte) {
	bit := nativeBit(text.CutLetters(key, NativeLettersMin))
	f[bit/64] |= 1 << (bit % 64)
}

// MayBegin reports whether a form may begin with these characters, NativeLettersMin of them.
func (f *NativeFilter) MayBegin(begins []byte) bool {
	bit := nativeBit(begins)
	return f[bit/64]>>(bit%64)&1 != 0
}

type Span struct{ Start, End int }

// giveKey emits a key once per name, with the strongest form that has it. It emits no key
// shorter than two bytes, since a lone letter names nobody.
func (m *FormMaker) giveKey(form ExactForm, key []byte) {
	if len(key) < 2 {
		return
	}
	hash := perfect.KeyOf(key)
	if slices.Contains(m.seen, hash.Print()) {
		return
	}
	m.seen = append(m.seen, hash.Print())
	m.longest = max(m.longest, len(key))
	if letters := text.NativeLetters(key); letters > 0 {
		m.longestNative = max(m.longestNative, len(key))
		if letters >= NativeLettersMin {
			m.natives.note(key)
		}
	}
	m.emit(form, hash)
}

// giveForms gives all forms of a listed name.
func (m *FormMaker) giveForms(full string, kind list.EntityType) {
	m.seen = m.seen[:0]
	m.Words = text.AppendWords(m.Words[:0], full, false)
	if kind == list.Individual {
		m.givePerson(full)
	} else {
		m.giveOrganisation()
	}
	m.giveASCII(full)
	if last, first, ok := strings.Cut(full, ","); ok && kind == list.Individual {
		m.giveASCII(first + " " + last)
		m.giveTruncated(strings.TrimSpace(first) + " " + last)
	}
	m.giveTruncated(full)
}

// givePerson gives the forms of an individual's name, in which no word is a legal form.
func (m *FormMaker) givePerson(full string) {
	m.giveKey(exactFull, m.Words)
	last, first, ok := strings.Cut(full, ",")
	if ok {
		m.Swap = text.AppendWords(m.Swap[:0], first, false)
		m.Swap = text.AppendSeparator(m.Swap, 0)
		m.Swap = text.AppendWords(m.Swap, last, false)
		m.Swap = bytes.TrimRight(m.Swap, " ")
		m.giveKey(exactFirstLast, m.Swap)
	}
	m.Tokens.SplitPlain(m.Words)
	m.giveKey(ExactSorted, m.Sorted(m.Words, false))
	m.giveKey(ExactJoined, m.Joined(m.Words, false))
	if ok {
		m.Tokens.SplitPlain(m.Swap)
		m.giveKey(ExactJoined, m.Joined(m.Swap, false))
	}
}

// giveOrganisation gives the forms of any other name.
func (m *FormMaker) giveOrganisation() {
	m.Tokens.Split(m.Words)
	m.Key = m.Tokens.AppendCanonical(m.Key[:0], m.Words)
	m.giveKey(exactFull, m.Key)
	m.giveKey(ExactSorted, m.Sorted(m.Words, false))
	m.giveKey(ExactContent, m.Sorted(m.Words, true))
	m.giveKey(ExactJoined, m.Joined(m.Words, false))
	m.giveKey(ExactJoined, m.Joined(m.Words, true))
	if m.Tokens.HasForms {
		// In another order a legal form may not be recognised as one.
		m.Tokens.SplitPlain(m.Words)
		m.giveKey(ExactSorted, m.Sorted(m.Words, false))
		m.giveKey(ExactJoined, m.Joined(m.Words, false))
	}
}

// Sorted returns the tokens in byte order, separated by one space. With content it leaves
// out legal forms.
func (m *FormMaker) Sorted(words []byte, content bool) []byte {
	m.Spans = m.Spans[:0]
	for i := range m.Tokens.Count {
		if token := &m.Tokens.List[i]; !content || token.Form == text.FormNone {
			m.Spans = append(m.Spans, Span{i, i})
		}
	}
	return m.sortSpans(words)
}

// sortSpans joins the chosen tokens in byte order.
func (m *FormMaker) sortSpans(words []byte) []byte {
	m.orderSpans(words)
	m.Key = m.Key[:0]
	for _, s := range m.Spans {
		m.Key = text.AppendSeparator(m.Key, 0)
		m.Key = append(m.Key, m.Tokens.Spelled(words, s.Start)...)
	}
	if m.Tokens.Rest > 0 {
		m.Key = append(append(m.Key, ' '), words[m.Tokens.Rest:]...)
	}
	return m.Key
}

// Joined returns the tokens in order without spaces.
func (m *FormMaker) Joined(words []byte, content bool) []byte {
	m.Key = m.Key[:0]
	for i := range m.Tokens.Count {
		if !content || m.Tokens.List[i].Form == text.FormNone {
			m.Key = append(m.Key, m.Tokens.Spelled(words, i)...)
		}
	}
	for _, c := range words[m.restStart(words):] {
		if c != ' ' {
			m.Key = append(m.Key, c)
		}
	}
	return m.Key
}

// insertedMax is how many words are sorted by insertion. Nearly all names have fewer, and
// so few are sorted faster in this way. For many words it would take quadratic time.
const insertedMax = 16

// orderSpans sorts the chosen tokens by their bytes.
func (m *FormMaker) orderSpans(words []byte) {
	compare := func(a, b Span) int {
		m.Steps++
		return bytes.Compare(m.Tokens.Spelled(words, a.Start), m.Tokens.Spelled(words, b.Start))
	}
	if len(m.Spans) > insertedMax {
		slices.SortFunc(m.Spans, compare)
		return
	}
	for i := 1; i < len(m.Spans); i++ {
		for k := i; k > 0 && compare(m.Spans[k], m.Spans[k-1]) < 0; k-- {
			m.Spans[k], m.Spans[k-1] = m.Spans[k-1], m.Spans[k]
		}
	}
}

func (m *FormMaker) restStart(words []byte) int {
	if m.Tokens.Rest > 0 {
		return m.Tokens.Rest
	}
	return len(words)
}

// giveASCII gives the ASCII form, which older screening systems compare.
func (m *FormMaker) giveASCII(full string) {
	if key := m.AsciiKey(full); len(key) > 0 {
		m.giveKey(exactIncumbent, key)
	}
}

// AsciiKey returns the form of capital letters and digits only. It is empty when the name
// has none.
func (m *FormMaker) AsciiKey(full string) []byte {
	m.Key = text.AppendASCII(m.Key[:0], full)
	return m.Key
}

// giveTruncated gives the name cut to one line of a payment message.
func (m *FormMaker) giveTruncated(full string) {
	characters := 0
	for i := range full {
		if characters == SwiftLine {
			m.Key = text.AppendWords(m.Key[:0], full[:i], false)
			m.giveKey(ExactTruncated, m.Key)
			return
		}
		characters++
	}
}

// Untitled returns the sorted words without titles. It returns nothing if there are no
// titles or no other words.
func (m *FormMaker) Untitled(words []byte) []byte {
	m.Spans = m.Spans[:0]
	for i := range m.Tokens.Count {
		if !text.TitleWords.Has(m.Tokens.Word(words, i)) {
			m.Spans = append(m.Spans, Span{i, i})
		}
	}
	if len(m.Spans) == m.Tokens.Count || len(m.Spans) == 0 {
		return nil
	}
	return m.sortSpans(words)
}

// InsertSpan inserts word k into the sorted words of the run.
func (m *FormMaker) InsertSpan(k int) {
	m.Spans = append(m.Spans, Span{k, k})
	word := m.Tokens.Word(m.Words, k)
	for i := len(m.Spans) - 1; i > 0 && bytes.Compare(word, m.Tokens.Word(m.Words, m.Spans[i-1].Start)) < 0; i-- {
		m.Steps++
		m.Spans[i], m.Spans[i-1] = m.Spans[i-1], m.Spans[i]
	}
}

// SpanKey joins the words of the run in byte order.
func (m *FormMaker) SpanKey() []byte {
	m.Key = m.Key[:0]
	for _, s := range m.Spans {
		m.Key = text.AppendSeparator(m.Key, 0)
		m.Key = append(m.Key, m.Tokens.Word(m.Words, s.Start)...)
	}
	return m.Key
}

// FatherGroup is the group of respellings of "bin".
var FatherGroup = text.GroupOf([]byte("bin"))

// IsFather reports whether the run of words that begins at word i follows a name and "bin",
// and so names the party's father.
func (m *FormMaker) IsFather(i int) bool {
	return i >= 2 && text.GroupOf(m.Tokens.Word(m.Words, i-1)) == FatherGroup
}

// exactFormBits is how many bits of a posting say which form it is.
const exactFormBits = 4

// FormPosting says which form a listed name has under a key: name<<4 | form.
type FormPosting uint32

// NamesOfForm returns the rows of the first most names that have the key among their forms.
// Each row is a FormPosting.
func (x *Tables) NamesOfForm(key []byte, most int) []uint32 {
	rows := x.forms.Of(perfect.KeyOf(key))
	return rows[:min(len(rows), most)]
}

func (p FormPosting) Name() uint32    { return uint32(p >> exactFormBits) }
func (p FormPosting) Form() ExactForm { return ExactForm(p & (1<<exactFormBits - 1)) }
