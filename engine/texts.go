package engine

import (
	"strings"

	"railguard/ofac"
	"railguard/ofac/identifier"
	"railguard/ofac/place"
)

// This file searches the texts of a call for what stands in the wrong member: the name of a listed
// party in an address, its e-mail address in the place of a name. A text may say anything of a
// listed party, so that what is found is reviewed by a person and blocks nothing. Wallets in texts
// are found when the call is read (Request.Elsewhere), those of the memo here.

// The texts of a call, as the place of what was found in them. From 0 on it is the place of an
// identifier of the call.
const (
	InMemo = -1 - iota
	InName
	InRegion
	InAddress
	InTravelRule
	InReference
	InProtocol
	InModel
)

// textMembers are the members of the texts, from InMemo on.
var textMembers = [...]string{"memo", "cpName", "cpRegion", "cpAddress", "travelRuleRef", "paymentRef", "protocol", "underlyingModel"}

// TextMember returns the member of a text.
func TextMember(at int) string { return textMembers[-1-at] }

// TextFound is what the list says of one text.
type TextFound struct {
	At     int
	Names  ofac.Result
	Wallet ofac.WalletMatch
	Listed bool // Wallet is set.
	Unread bool // It has more words of the shape of an identifier than are looked up.
}

// textPlace is the country that an identifier in a text tells by itself.
type textPlace struct {
	at   int
	code place.Code
}

// textFindings is what was found in the texts of one call.
type textFindings struct {
	found  []TextFound
	places []textPlace
}

// Texts returns the texts of the call that name a listed party, and what they name.
func (f *Facts) Texts() []TextFound {
	if f.texts == nil {
		return nil
	}
	return f.texts.found
}

// TextsTruncated tells whether the evidence of a text is not whole.
func (f *Facts) TextsTruncated() bool {
	for i := range f.Texts() {
		if f.texts.found[i].Names.Truncated {
			return true
		}
	}
	return false
}

// possibleText returns the sub-reason of R21 for the texts of the call.
func (f *Facts) possibleText() Sub {
	sub := Sub(0)
	note := func(at int) {
		switch {
		case at == InMemo:
			sub = subMemo
		case sub == 0:
			sub = subText
		}
	}
	for i := range f.Identified {
		if at := f.Identified[i].At; at < 0 {
			note(at)
		}
	}
	for i := range f.Texts() {
		if found := &f.texts.found[i]; found.Listed || found.Unread || found.Names.Outcome != ofac.Clear {
			note(found.At)
		}
	}
	return sub
}

// What a text may hold, as seen in one pass over it.
const (
	hintNames       = 1 << iota // Two words or more.
	hintIdentifiers             // A sign of an e-mail address, a website or a telephone number, or many digits.
)

// hintDigits is how many digits the shortest identifier has that is found in a text by its shape.
const hintDigits = 6

// hintsOf looks at a text without reading it. Most texts are one word, and end here.
func hintsOf(text string) (hints uint8) {
	digits, letters, words := 0, 0, 0
	for i := range len(text) {
		sign := textSigns[text[i]]
		if sign&(signLatin|signForeign) != 0 {
			if letters++; letters == 2 {
				if words++; words == 2 {
					hints |= hintNames
				}
			}
			continue
		}
		if (letters == 3 || letters == 5) && isBankLabel(text[i-letters:i]) {
			hints |= hintIdentifiers
		}
		letters = 0
		switch {
		case sign&signDigit != 0:
			if digits++; digits == hintDigits {
				hints |= hintIdentifiers
			}
		case sign&signTells != 0, text[i] == '.' && i+2 < len(text) && isLatin(text[i+1]) && isLatin(text[i+2]):
			hints |= hintIdentifiers
		}
	}
	return hints
}

// isBankLabel reports whether a word says that a bank's code stands beside it: that code is the one
// identifier that needs neither a sign nor a digit.
func isBankLabel(word string) bool {
	return strings.EqualFold(word, "BIC") || strings.EqualFold(word, "SWIFT")
}

// lookTexts searches every text of the call. The list's answers stay in the looker until the next
// call.
func (l *Looker) lookTexts(f *Facts, query *ofac.Query, hintsOfName uint8) {
	r := f.Request
	if r.Memo != "" {
		l.lookText(f, query, InMemo, r.Memo, hintNames|hintIdentifiers)
	}
	if hintsOfName&hintIdentifiers != 0 {
		l.lookText(f, query, InName, r.Name, hintIdentifiers)
	}
	for _, text := range [...]struct {
		at   int
		text string
	}{{InRegion, r.Region}, {InAddress, r.Address}, {InTravelRule, r.TravelRule}, {InReference, r.Reference}, {InProtocol, r.Protocol}, {InModel, r.Model}} {
		if text.text == "" {
			continue
		}
		if hints := hintsOf(text.text); hints != 0 {
			l.lookText(f, query, text.at, text.text, hints)
		}
	}
	for i := range r.Identifiers[:r.IdentifierCount] {
		told := &r.Identifiers[i]
		if hints := hintsOf(told.Value) & hintNames; hints != 0 && (told.Class.IsDocument() || told.Class == identifier.Account) {
			l.lookText(f, query, i, told.Value, hints)
		}
	}
}

// lookText searches one text, and keeps what was found.
func (l *Looker) lookText(f *Facts, query *ofac.Query, at int, text string, hints uint8) {
	found := TextFound{At: at}
	if at == InMemo {
		found.Wallet, found.Listed = findTextWallet(f, text, l.now)
	}
	if f.texts == nil {
		l.texts = textFindings{l.texts.found[:0], l.texts.places[:0]}
		f.texts = &l.texts
	}
	if hints&hintIdentifiers != 0 {
		l.query.NonSDNPossible = query.NonSDNPossible
		s := &l.search
		*s = textSearch{looker: l, facts: f, at: at, text: text}
		found.Unread = !s.findIdentifiers()
		*s = textSearch{}
	}
	if hints&hintNames != 0 {
		query.Name, query.Type, query.ClearedUIDs = text, ofac.PartyUnknown, nil
		found.Names = f.List.Memo(query, l.scratch)
		l.Steps += l.scratch.Steps()
		start := len(l.matches)
		l.matches = append(l.matches, found.Names.Matches...) // The scratch is used for the next name.
		found.Names.Matches = l.matches[start:len(l.matches):len(l.matches)]
	}
	if found.Listed || found.Unread || found.Names.Outcome != ofac.Clear || found.Names.Truncated || at == InMemo && found.Names.Unread != 0 {
		l.texts.found = append(l.texts.found, found)
	}
}
