package engine

import (
	"strings"
	"unicode/utf8"

	"railguard/ofac"
	"railguard/ofac/identifier"
	"railguard/ofac/place"
	"railguard/ofac/wallet"
)

// A memo is a text that travels with a payment. It may say anything of a listed party ("no business
// with …"), so that what stands in it is looked at by a person and blocks nothing. Looked up are
// names, wallets, and identifiers whose shape nothing else has, or that stand beside a word that says
// what they are.

// memoLookups bounds how many words of a memo are looked up as identifiers.
const memoLookups = 32

// Letters and digits in a row of the shortest and of the longest wallet.
const (
	memoRunMin = 25
	memoRunMax = 128
)

// findTextWallet looks up every run of letters and digits that is as long as a wallet, up to the first
// that is listed.
func findTextWallet(f *Facts, text string, now int64) (match ofac.WalletMatch, listed bool) {
	for i, start := 0, 0; i <= len(text); i++ {
		if i < len(text) && isWordByte(text[i]) {
			continue
		}
		if n := i - start; n >= memoRunMin && n <= memoRunMax {
			var found wallet.Elsewhere
			found.Add([]byte(text[start:i]))
			if found.Count > 0 {
				if match, listed = f.List.WalletAt(string(found.Texts), now); listed {
					return match, true
				}
			}
		}
		start = i + 1
	}
	return match, false
}

// What a byte of a text is.
const (
	signDigit = 1 << iota
	signLatin
	signBlank // It stands between words.
	signMark  // It stands around a word.
	signTells // It stands in an e-mail address, a website or a telephone number.
	signForeign
)

var textSigns = func() (signs [256]uint8) {
	for c := range signs {
		switch {
		case c >= utf8.RuneSelf:
			signs[c] = signForeign
		case c == '@' || c == '+' || c == '/':
			signs[c] = signTells
		case c >= '0' && c <= '9':
			signs[c] = signDigit
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			signs[c] = signLatin
		case c <= ' ' || strings.IndexByte(",;|()[]{}<>\"'=", byte(c)) >= 0:
			signs[c] = signBlank
		case strings.IndexByte(".:!?#", byte(c)) >= 0:
			signs[c] = signMark
		}
	}
	return signs
}()

func isWordByte(c byte) bool { return textSigns[c]&(signDigit|signLatin) != 0 }
func isDigit(c byte) bool    { return textSigns[c]&signDigit != 0 }
func isLatin(c byte) bool    { return textSigns[c]&signLatin != 0 }

// textSearch is the state of a search for identifiers.
type textSearch struct {
	looker  *Looker
	facts   *Facts
	at      int
	text    string
	lookups int
}

// findIdentifiers reads the text word by word. It returns false if it stopped before the end: whoever
// fills a text with numbers must not hide the last one.
func (m *textSearch) findIdentifiers() bool {
	label := identifier.Other
	for at := 0; at < len(m.text); {
		start, end := m.nextWord(at)
		if start == end {
			break
		}
		if m.lookups >= memoLookups {
			return false
		}
		word := m.text[start:end]
		at = end
		class, rest, labelled := memoLabel(word)
		switch {
		case labelled && rest == "":
			label = class
			continue
		case labelled: // The number stands in the same word: IMO9327413.
			m.lookUpOrPlace(class, rest)
		case label != identifier.Other && isFiller(word):
			continue
		case label != identifier.Other:
			m.lookUpOrPlace(label, m.text[start:m.endOfNumber(label, start, end)])
		}
		label = identifier.Other
		m.lookUpShape(word, start, end)
	}
	return true
}

// nextWord returns the next word without the signs around it.
func (m *textSearch) nextWord(at int) (start, end int) {
	start = at
	for start < len(m.text) && textSigns[m.text[start]]&(signBlank|signMark) != 0 {
		start++
	}
	end = start
	for end < len(m.text) && textSigns[m.text[end]]&signBlank == 0 {
		end++
	}
	for end > start+1 && textSigns[m.text[end-1]]&signMark != 0 {
		end--
	}
	return start, end
}

// memoLabels are the words beside which an identifier stands. A word that begins with another one
// stands before it.
var memoLabels = [...]struct {
	word  string
	class identifier.Class
}{
	{"SWIFT/BIC", identifier.BIC}, {"BIC/SWIFT", identifier.BIC}, {"BIC", identifier.BIC}, {"SWIFT", identifier.BIC}, {"IBAN", identifier.IBAN}, {"LEI", identifier.LEI}, {"IMO", identifier.IMO},
	{"MMSI", identifier.MMSI}, {"DUNS", identifier.DUNS}, {"PASSPORT", identifier.Passport}, {"INN", identifier.TaxID}, {"OGRN", identifier.Registration},
	{"TEL", identifier.Phone}, {"PHONE", identifier.Phone},
}

// memoLabel reads a label, and the number that stands in the same word behind it or "".
func memoLabel(word string) (class identifier.Class, rest string, ok bool) {
	first := word[0] &^ 0x20
	for i := range memoLabels {
		label := &memoLabels[i]
		if label.word[0] != first || len(word) < len(label.word) || !strings.EqualFold(word[:len(label.word)], label.word) {
			continue
		}
		rest = strings.TrimLeft(word[len(label.word):], ":#.-/")
		if rest == "" || len(rest) < len(word)-len(label.word) || label.class == identifier.IMO && rest[0] <= '9' {
			return label.class, rest, true
		}
	}
	return identifier.Other, "", false
}

// isFiller reports whether a word may stand between a label and its number.
func isFiller(word string) bool {
	for _, filler := range [...]string{"no", "nr", "number", "code", "is", "of", "#", "-", "id"} {
		if strings.EqualFold(word, filler) {
			return true
		}
	}
	return false
}

// endOfNumber returns where a number ends that is written in groups: for an account or a telephone as
// far as groups go on.
func (m *textSearch) endOfNumber(class identifier.Class, start, end int) int {
	if class != identifier.IBAN && class != identifier.Phone {
		return end
	}
	for {
		next, after := m.nextWord(end)
		word := m.text[next:after]
		if next == after || next > end+2 || !isGroup(word) || class == identifier.Phone && strings.Trim(word, "0123456789-()") != "" || after-start > 48 {
			return end
		}
		if class == identifier.IBAN && identifier.IsSound(class, m.text[start:end]) {
			return end
		}
		end = after
	}
}

// lookUpPhone looks up a telephone number that begins with its plus sign, as far as every group of
// digits behind it: an invoice's number may follow.
func (m *textSearch) lookUpPhone(start, end int) {
	first := m.text[start:end]
	for range phoneGroups {
		if m.lookUp(identifier.Phone, m.text[start:end]) {
			return
		}
		next, after := m.nextWord(end)
		if next == after || next > end+2 || strings.Trim(m.text[next:after], "0123456789-()") != "" {
			break
		}
		end = after
	}
	m.readPlace(identifier.Phone, m.text[start:end])
	if len(first) < end-start {
		m.readPlace(identifier.Phone, first)
	}
}

// phoneGroups is how many groups of digits a telephone number in a text has at most.
const phoneGroups = 6

// isGroup reports whether a word may be a group of a number: four signs or less, with a digit.
func isGroup(word string) bool { return len(word) <= 4 && strings.ContainsAny(word, "0123456789") }

// lookUpShape looks up a word whose shape says what it is.
func (m *textSearch) lookUpShape(word string, start, end int) {
	switch at := strings.IndexByte(word, '@'); {
	case at > 0 && at < len(word)-1:
		m.lookUpOrPlace(identifier.Email, word)
	case at < 0 && isHostShape(word):
		m.lookUpOrPlace(identifier.Website, word)
	case word[0] == '+' && len(word) > 1:
		m.lookUpPhone(start, end)
	case len(word) >= 4 && isLatin(word[0]) && isLatin(word[1]) && isDigit(word[2]) && isDigit(word[3]):
		account := m.text[start:m.endOfNumber(identifier.IBAN, start, end)]
		if identifier.IsSound(identifier.IBAN, account) {
			m.lookUpOrPlace(identifier.IBAN, account)
		}
	}
	if len(word) == 20 && identifier.IsSound(identifier.LEI, word) {
		m.lookUpOrPlace(identifier.LEI, word)
	}
}

// isHostShape reports whether a word may be a website: a dot with a letter or digit before it and at
// least two letters behind the last one of its host.
func isHostShape(word string) bool {
	if strings.IndexByte(word, '.') < 0 {
		return false
	}
	if at := strings.Index(word, ":/"); at >= 0 {
		word = strings.TrimLeft(word[at+1:], "/") // Also of one slash, as the list has some.
	}
	if end := strings.IndexAny(word, "/?#:"); end >= 0 {
		word = word[:end]
	}
	dot := strings.LastIndexByte(word, '.')
	if dot <= 0 || len(word)-dot < 3 {
		return false
	}
	for i := dot + 1; i < len(word); i++ {
		if isDigit(word[i]) {
			return false
		}
	}
	return true
}

// lookUp looks up one identifier. Only what is listed as such counts: a number of another kind or of
// an unknown country is nothing in a text.
func (m *textSearch) lookUp(class identifier.Class, text string) (listed bool) {
	if len(text) > FieldMax {
		return false
	}
	m.lookups++
	query := &m.looker.query
	query.Class, query.Value, query.Country, query.Now = class, text, "", m.looker.now
	hit, found := m.facts.List.Identifier(query)
	if found && (hit.Doubt <= ofac.DoubtSource || hit.Doubt == ofac.DoubtHost) {
		m.looker.identified = append(m.looker.identified, Identified{m.at, class, hit})
		return true
	}
	return false
}

// lookUpOrPlace looks up one identifier, and reads its country if it is not listed.
func (m *textSearch) lookUpOrPlace(class identifier.Class, text string) {
	if !m.lookUp(class, text) {
		m.readPlace(class, text)
	}
}

// readPlace reads the country that an identifier tells by itself.
func (m *textSearch) readPlace(class identifier.Class, text string) {
	if alpha2, ok := identifier.CountryOf(class, text); ok {
		if code, known := place.Parse(alpha2); known {
			m.looker.texts.places = append(m.looker.texts.places, textPlace{m.at, code})
		}
	}
}
