package ofac

import (
	"bytes"
	"slices"
)

// token is one word of a folded name, or one legal form of several words.
type token struct {
	start, end uint16 // bytes of the folded words
	form       legalForm
	loose      bool // the form is one only because of its place: PAO, SA, AS
}

// tokenList holds the tokens of one name. It lives on the stack or in a
// Scratch and is reused; it never grows.
type tokenList struct {
	count    int
	hasForms bool
	phrases  bool // the spelling of a legal form stands among the words, whether its place makes it one or not
	anywhere bool // a legal form that belongs to an end of the name is read in the midst of it, too
	slips    bool // one misspelt word of a long legal form is read as meant
	rest     int  // start of the words beyond tokensMax, 0 if there are none
	list     [tokensMax]token
}

// split finds the words of the folded text and the legal forms among them.
func (t *tokenList) split(words []byte) {
	t.splitPlain(words)
	if t.count > 1 {
		t.findForms(words)
	}
}

// splitPlain finds the words only: names of persons have no legal form.
func (t *tokenList) splitPlain(words []byte) {
	t.count, t.hasForms, t.phrases, t.rest = 0, false, false, 0
	for start := 0; start < len(words); {
		if t.count == tokensMax || start > 0xFFFF-nameBytesMax {
			t.rest = start
			return
		}
		end := bytes.IndexByte(words[start:], ' ')
		if end < 0 {
			end = len(words)
		} else {
			end += start
		}
		t.list[t.count] = token{start: uint16(start), end: uint16(end)}
		t.count++
		start = end + 1
	}
}

// findForms marks legal forms and joins those of several words. A name that
// would be nothing but legal forms keeps its words as they are.
func (t *tokenList) findForms(words []byte) {
	var tail [tokensMax + 1]bool // tail[i]: from word i on there are only legal forms
	n := t.count
	tail[n] = true
	found := false
	for i := n - 1; i >= 0; i-- {
		for _, phrase := range formsFrom(t.word(words, i)) {
			if t.matches(words, i, phrase.words) {
				found = true
				tail[i] = tail[i] || tail[i+len(phrase.words)]
			}
		}
		if phrase := t.misspelt(words, i); phrase != nil {
			found = true
			tail[i] = tail[i] || tail[i+len(phrase.words)]
		}
	}
	if !found || tail[0] {
		return
	}
	t.phrases = true
	count, leading := 0, true
	for i := 0; i < n; count++ {
		length, form, loose := t.formAt(words, i, &tail, leading)
		t.list[count] = token{start: t.list[i].start, end: t.list[i+length-1].end, form: form, loose: loose}
		t.hasForms = t.hasForms || form != formNone
		leading = leading && form != formNone
		i += length
	}
	t.count = count
}

// formAt returns how many words the longest legal form at word i takes, or one
// word and no form.
func (t *tokenList) formAt(words []byte, i int, tail *[tokensMax + 1]bool, leading bool) (length int, form legalForm, loose bool) {
	for _, phrase := range formsFrom(t.word(words, i)) {
		length := len(phrase.words)
		if !t.matches(words, i, phrase.words) {
			continue
		}
		closes := tail[i+length]
		if phrase.place == placeAny || t.anywhere || closes && i > 0 || phrase.place == placeEdges && leading {
			return length, phrase.form, phrase.place != placeAny
		}
	}
	if phrase := t.misspelt(words, i); phrase != nil {
		return len(phrase.words), phrase.form, false
	}
	return 1, formNone, false
}

// misspelt returns the long legal form whose first word is misspelt at word i.
func (t *tokenList) misspelt(words []byte, i int) *formPhrase {
	if !t.slips || i+2 >= t.count || len(t.word(words, i)) < slippedLetters {
		return nil
	}
	list, _ := formSecond.of(t.word(words, i+1))
	for k := range list {
		if t.matches(words, i, list[k].words) {
			return &list[k]
		}
	}
	return nil
}

// What a legal form, and the word in it, must have for a slip to be forgiven.
const (
	slippedWords   = 3
	slippedLetters = 5
)

// matches reports whether a legal form stands at word i. With slips, one long
// word of a long form may be one slip away.
func (t *tokenList) matches(words []byte, i int, phrase []string) bool {
	if i+len(phrase) > t.count {
		return false
	}
	slipped := -1
	for k, word := range phrase {
		if string(t.word(words, i+k)) == word {
			continue
		}
		if !t.slips || slipped >= 0 || len(phrase) < slippedWords || len(word) < slippedLetters {
			return false
		}
		slipped = k
	}
	return slipped < 0 || oneSlip(t.word(words, i+slipped), phrase[slipped])
}

// oneSlip reports whether a word is one edit away from a legal word.
func oneSlip(word []byte, legal string) bool {
	if difference := len(word) - len(legal); difference < -1 || difference > 1 || len(legal) > wordBytesMax {
		return false
	}
	var meant [wordBytesMax]byte
	return spellingCost(word, meant[:copy(meant[:], legal)], costEdit) <= costEdit
}

// freeInitials takes a legal form of single letters between other words apart: "Said
// S. A. Alomgy" has two initials, and no company's form stands there.
func (t *tokenList) freeInitials(words []byte) {
	for i := 1; i+1 < t.count; i++ {
		token := t.list[i]
		text := words[token.start:token.end]
		letters := (len(text) + 1) / 2
		if token.form == formNone || t.list[i-1].form != formNone || t.list[i+1].form != formNone || t.count+letters-1 > tokensMax ||
			!isSpelledOut(text) || isLegalWord(t.word(words, i+1), true) {
			continue
		}
		copy(t.list[i+letters:], t.list[i+1:t.count])
		for k := range letters {
			at := token.start + uint16(2*k)
			t.list[i+k] = tokenOf(at, at+1)
		}
		t.count += letters - 1
		i += letters - 1
	}
	t.hasForms = slices.ContainsFunc(t.list[:t.count], func(t token) bool { return t.form != formNone })
}

// isSpelledOut holds for two single letters or more.
func isSpelledOut(text []byte) bool {
	for i, c := range text {
		if (c == ' ') != (i%2 == 1) {
			return false
		}
	}
	return len(text) > 2 && len(text)%2 == 1
}

func tokenOf(start, end uint16) token { return token{start: start, end: end} }

// word returns the bytes of token i.
func (t *tokenList) word(words []byte, i int) []byte {
	return words[t.list[i].start:t.list[i].end]
}

// spelled returns token i as it stands in a normal form.
func (t *tokenList) spelled(words []byte, i int) []byte {
	if form := t.list[i].form; form != formNone {
		return formSpelling[form]
	}
	return t.word(words, i)
}

// formSpelling is formWords as bytes, so that spelled does not allocate.
var formSpelling = spellForms()

func spellForms() [formCount][]byte {
	var spelling [formCount][]byte
	for form, word := range formWords {
		spelling[form] = []byte(word)
	}
	return spelling
}

// appendCanonical appends all tokens, legal forms in their short form.
func (t *tokenList) appendCanonical(dst, words []byte) []byte {
	base := len(dst)
	for i := range t.count {
		dst = appendSeparator(dst, base)
		dst = append(dst, t.spelled(words, i)...)
	}
	if t.rest > 0 {
		dst = append(dst, ' ')
		dst = append(dst, words[t.rest:]...)
	}
	return dst
}

// forms is the set of legal forms in the name.
func (t *tokenList) forms() formSet {
	set := formSet(0)
	for i := range t.count {
		if form := t.list[i].form; form != formNone {
			set = set.with(form)
		}
	}
	return set
}
