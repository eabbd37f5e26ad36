package text

import (
	"bytes"
	"slices"
)

// Token is one word of a folded name, or one legal form of several words.
type Token struct {
	Start, End uint16 // range of bytes in the folded words
	Form       legalForm
	Loose      bool // It is a legal form only because of its place, such as PAO, SA or AS.
}

// TokenList holds the tokens of one name. It is on the stack or in a Scratch and is reused;
// it never grows.
type TokenList struct {
	Count    int
	HasForms bool
	Phrases  bool // the name holds the spelling of a legal form, whether or not its place makes it one
	Anywhere bool // also read a legal form in the middle of the name that belongs to its end
	Slips    bool // accept one misspelt word in a long legal form
	Rest     int  // start of the words after the first tokensMax, 0 if there are none
	List     [tokensMax]Token
}

// Split finds the words of the folded text and the legal forms among them.
func (t *TokenList) Split(words []byte) {
	t.SplitPlain(words)
	if t.Count > 1 {
		t.findForms(words)
	}
}

// SplitPlain finds only the words, since persons' names have no legal form.
func (t *TokenList) SplitPlain(words []byte) {
	t.Count, t.HasForms, t.Phrases, t.Rest = 0, false, false, 0
	for start := 0; start < len(words); {
		if t.Count == tokensMax || start > tokenStartMax {
			t.Rest = start
			return
		}
		end := bytes.IndexByte(words[start:], ' ')
		if end < 0 {
			end = len(words)
		} else {
			end += start
		}
		t.List[t.Count] = Token{Start: uint16(start), End: uint16(end)}
		t.Count++
		start = end + 1
	}
}

// findForms marks legal forms and joins those of several words. A name of nothing but legal
// forms keeps its words as they are.
func (t *TokenList) findForms(words []byte) {
	var tail [tokensMax + 1]bool // tail[i]: only legal forms follow from word i on
	n := t.Count
	tail[n] = true
	found := false
	for i := n - 1; i >= 0; i-- {
		for _, phrase := range formsFrom(t.Word(words, i)) {
			if t.matchesPhrase(words, i, phrase.words) {
				found = true
				tail[i] = tail[i] || tail[i+len(phrase.words)]
			}
		}
		if phrase := t.findMisspelt(words, i); phrase != nil {
			found = true
			tail[i] = tail[i] || tail[i+len(phrase.words)]
		}
	}
	if !found || tail[0] {
		return
	}
	t.Phrases = true
	count, leading := 0, true
	for i := 0; i < n; count++ {
		length, form, loose := t.formAt(words, i, &tail, leading)
		t.List[count] = Token{Start: t.List[i].Start, End: t.List[i+length-1].End, Form: form, Loose: loose}
		t.HasForms = t.HasForms || form != FormNone
		leading = leading && form != FormNone
		i += length
	}
	t.Count = count
}

// formAt returns how many words the longest legal form at word i has, or one word and
// FormNone.
func (t *TokenList) formAt(words []byte, i int, tail *[tokensMax + 1]bool, leading bool) (length int, form legalForm, loose bool) {
	for _, phrase := range formsFrom(t.Word(words, i)) {
		length := len(phrase.words)
		if !t.matchesPhrase(words, i, phrase.words) {
			continue
		}
		closes := tail[i+length]
		if phrase.place == placeAny || t.Anywhere || closes && i > 0 || phrase.place == placeEdges && leading {
			return length, phrase.form, phrase.place != placeAny
		}
	}
	if phrase := t.findMisspelt(words, i); phrase != nil {
		return len(phrase.words), phrase.form, false
	}
	return 1, FormNone, false
}

// findMisspelt returns the long legal form at word i whose first word is misspelt.
func (t *TokenList) findMisspelt(words []byte, i int) *formPhrase {
	if !t.Slips || i+2 >= t.Count || len(t.Word(words, i)) < slippedLetters {
		return nil
	}
	list, _ := formSecond.LookUp(t.Word(words, i+1))
	for k := range list {
		if t.matchesPhrase(words, i, list[k].words) {
			return &list[k]
		}
	}
	return nil
}

// The words that a legal form needs, and the letters of its misspelt word, for a
// misspelling to be accepted.
const (
	slippedWords   = 3
	slippedLetters = 5
)

// matchesPhrase reports whether a legal form stands at word i. With Slips, one long word of
// a long form may be one edit away.
func (t *TokenList) matchesPhrase(words []byte, i int, phrase []string) bool {
	if i+len(phrase) > t.Count {
		return false
	}
	slipped := -1
	for k, word := range phrase {
		if string(t.Word(words, i+k)) == word {
			continue
		}
		if !t.Slips || slipped >= 0 || len(phrase) < slippedWords || len(word) < slippedLetters {
			return false
		}
		slipped = k
	}
	return slipped < 0 || oneSlip(t.Word(words, i+slipped), phrase[slipped])
}

// oneSlip reports whether a word is one edit away from a legal word.
func oneSlip(word []byte, legal string) bool {
	if difference := len(word) - len(legal); difference < -1 || difference > 1 || len(legal) > WordBytesMax {
		return false
	}
	var meant [WordBytesMax]byte
	return spellingCost(word, meant[:copy(meant[:], legal)], costEdit) <= costEdit
}

// FreeInitials splits a legal form of single letters between other words: in "Said S. A.
// Alomgy" S. and A. are initials, not a company's form.
func (t *TokenList) FreeInitials(words []byte) {
	for i := 1; i+1 < t.Count; i++ {
		token := t.List[i]
		text := words[token.Start:token.End]
		letters := (len(text) + 1) / 2
		if token.Form == FormNone || t.List[i-1].Form != FormNone || t.List[i+1].Form != FormNone || t.Count+letters-1 > tokensMax ||
			!isSpelledOut(text) || IsLegalWord(t.Word(words, i+1), true) {
			continue
		}
		copy(t.List[i+letters:], t.List[i+1:t.Count])
		for k := range letters {
			at := token.Start + uint16(2*k)
			t.List[i+k] = tokenOf(at, at+1)
		}
		t.Count += letters - 1
		i += letters - 1
	}
	t.HasForms = slices.ContainsFunc(t.List[:t.Count], func(t Token) bool { return t.Form != FormNone })
}

// isSpelledOut reports whether a text is two or more single letters.
func isSpelledOut(text []byte) bool {
	for i, c := range text {
		if (c == ' ') != (i%2 == 1) {
			return false
		}
	}
	return len(text) > 2 && len(text)%2 == 1
}

func tokenOf(start, end uint16) Token { return Token{Start: start, End: end} }

// Word returns the bytes of token i.
func (t *TokenList) Word(words []byte, i int) []byte {
	return words[t.List[i].Start:t.List[i].End]
}

// Spelled returns token i in the spelling of a normal form.
func (t *TokenList) Spelled(words []byte, i int) []byte {
	if form := t.List[i].Form; form != FormNone {
		return formSpelling[form]
	}
	return t.Word(words, i)
}

// formSpelling is formWords as bytes, so that Spelled does not allocate.
var formSpelling = spellForms()

func spellForms() [formCount][]byte {
	var spelling [formCount][]byte
	for form, word := range formWords {
		spelling[form] = []byte(word)
	}
	return spelling
}

// AppendCanonical appends all tokens, legal forms in their short form.
func (t *TokenList) AppendCanonical(dst, words []byte) []byte {
	base := len(dst)
	for i := range t.Count {
		dst = AppendSeparator(dst, base)
		dst = append(dst, t.Spelled(words, i)...)
	}
	if t.Rest > 0 {
		dst = append(dst, ' ')
		dst = append(dst, words[t.Rest:]...)
	}
	return dst
}

// Forms is the set of legal forms in the name.
func (t *TokenList) Forms() FormSet {
	set := FormSet(0)
	for i := range t.Count {
		if form := t.List[i].Form; form != FormNone {
			set = set.withForm(form)
		}
	}
	return set
}
