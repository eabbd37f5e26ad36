package engine

import (
	"strings"

	"railguard/ofac"
	"railguard/ofac/identifier"
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

// lookMemo searches the memo.
func (l *Looker) lookMemo(f *Facts, query *ofac.Query) {
	memo := f.Request.Memo
	l.query.NonSDNPossible = query.NonSDNPossible
	l.findMemoWallet(f, memo)
	m := &l.search
	*m = memoSearch{looker: l, facts: f, memo: memo}
	m.findIdentifiers()
	*m = memoSearch{}
	query.Name, query.Type, query.ClearedUIDs = memo, ofac.PartyUnknown, nil
	found := f.List.Memo(query, l.scratch)
	l.Steps += l.scratch.Steps()
	l.memo = append(l.memo[:0], found.Matches...) // The scratch is used for the next name.
	found.Matches = l.memo
	f.Memo.Names = found
}

// findMemoWallet looks up every run of letters and digits that is as long as a wallet.
func (l *Looker) findMemoWallet(f *Facts, memo string) {
	for i, start := 0, 0; i <= len(memo); i++ {
		if i < len(memo) && isWordByte(memo[i]) {
			continue
		}
		if n := i - start; n >= memoRunMin && n <= memoRunMax && !f.Memo.Listed {
			var found wallet.Elsewhere
			found.Add([]byte(memo[start:i]))
			if found.Count > 0 {
				f.Memo.Wallet, f.Memo.Listed = f.List.WalletAt(string(found.Texts), l.now)
			}
		}
		start = i + 1
	}
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// memoSearch is the state of a search for identifiers.
type memoSearch struct {
	looker  *Looker
	facts   *Facts
	memo    string
	lookups int
}

// findIdentifiers reads the memo word by word.
func (m *memoSearch) findIdentifiers() {
	label := identifier.Other
	for at := 0; at < len(m.memo) && m.lookups < memoLookups; {
		start, end := m.nextWord(at)
		if start == end {
			return
		}
		word := m.memo[start:end]
		at = end
		class, rest, labelled := memoLabel(word)
		switch {
		case labelled && rest == "":
			label = class
			continue
		case labelled: // The number stands in the same word: IMO9327413.
			m.lookUp(class, rest)
		case label != identifier.Other && isFiller(word):
			continue
		case label != identifier.Other:
			m.lookUp(label, m.memo[start:m.endOfNumber(label, start, end)])
		}
		label = identifier.Other
		m.lookUpShape(word, start, end)
	}
}

// nextWord returns the next word without the signs around it.
func (m *memoSearch) nextWord(at int) (start, end int) {
	start = at
	for start < len(m.memo) && (isMemoSpace(m.memo[start]) || strings.IndexByte(memoMarks, m.memo[start]) >= 0) {
		start++
	}
	end = start
	for end < len(m.memo) && !isMemoSpace(m.memo[end]) {
		end++
	}
	for end > start+1 && strings.IndexByte(memoMarks, m.memo[end-1]) >= 0 {
		end--
	}
	return start, end
}

// memoMarks are signs around a word.
const memoMarks = ".:!?#"

func isMemoSpace(c byte) bool { return c <= ' ' || strings.IndexByte(",;|()[]{}<>\"'=", c) >= 0 }

// memoLabels are the words beside which an identifier stands.
var memoLabels = [...]struct {
	word  string
	class identifier.Class
}{
	{"BIC", identifier.BIC}, {"SWIFT", identifier.BIC}, {"SWIFT/BIC", identifier.BIC}, {"BIC/SWIFT", identifier.BIC}, {"IBAN", identifier.IBAN}, {"LEI", identifier.LEI}, {"IMO", identifier.IMO},
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
func (m *memoSearch) endOfNumber(class identifier.Class, start, end int) int {
	if class != identifier.IBAN && class != identifier.Phone {
		return end
	}
	for {
		next, after := m.nextWord(end)
		word := m.memo[next:after]
		if next == after || next > end+2 || !isGroup(word) || class == identifier.Phone && strings.Trim(word, "0123456789-()") != "" || after-start > 48 {
			return end
		}
		if class == identifier.IBAN && identifier.IsSound(class, m.memo[start:end]) {
			return end
		}
		end = after
	}
}

// isGroup reports whether a word may be a group of a number: four signs or less, with a digit.
func isGroup(word string) bool { return len(word) <= 4 && strings.ContainsAny(word, "0123456789") }

// lookUpShape looks up a word whose shape says what it is.
func (m *memoSearch) lookUpShape(word string, start, end int) {
	switch at := strings.IndexByte(word, '@'); {
	case at > 0 && at < len(word)-1:
		m.lookUp(identifier.Email, word)
	case at < 0 && isHostShape(word):
		m.lookUp(identifier.Website, word)
	case word[0] == '+' && len(word) > 1:
		m.lookUp(identifier.Phone, m.memo[start:m.endOfNumber(identifier.Phone, start, end)])
	case len(word) >= 4 && isLatin(word[0]) && isLatin(word[1]) && isDigit(word[2]) && isDigit(word[3]):
		account := m.memo[start:m.endOfNumber(identifier.IBAN, start, end)]
		if identifier.IsSound(identifier.IBAN, account) {
			m.lookUp(identifier.IBAN, account)
		}
	}
	if len(word) == 20 && identifier.IsSound(identifier.LEI, word) {
		m.lookUp(identifier.LEI, word)
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLatin(c byte) bool { return isWordByte(c) && !isDigit(c) }

// isHostShape reports whether a word may be a website: a dot with a letter or digit before it and at
// least two letters behind the last one of its host.
func isHostShape(word string) bool {
	if strings.IndexByte(word, '.') < 0 {
		return false
	}
	if at := strings.Index(word, "://"); at >= 0 {
		word = word[at+3:]
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
func (m *memoSearch) lookUp(class identifier.Class, text string) {
	if len(text) > FieldMax {
		return
	}
	m.lookups++
	query := &m.looker.query
	query.Class, query.Value, query.Country, query.Now = class, text, "", m.looker.now
	hit, found := m.facts.List.Identifier(query)
	if found && (hit.Doubt <= ofac.DoubtSource || hit.Doubt == ofac.DoubtHost) {
		m.looker.identified = append(m.looker.identified, Identified{InMemo, class, hit})
	}
}
