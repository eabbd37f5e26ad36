package families

import (
	"cmp"
	"slices"
	"strings"

	"railguard/ofac"
)

// Claim says what the names of a family are, and so what share of it a matcher should flag.
type Claim uint8

// The claims.
const (
	Whole       Claim = iota + 1 // They name the whole listed party.
	Slip                         // They do so with a slip of the hand or another spelling besides.
	LeftOut                      // A part is left out and another is varied.
	Information                  // Too little or too much is said: the share is only shown.
	Innocent                     // They name nobody listed.
)

// Aim is the share that should be flagged: at least that, for innocents at most; 0: there is none.
func (c Claim) Aim() Share {
	return [...]Share{0, 9700, 9000, 9500, 0, 30}[c]
}

// String names the claim in one or two words.
func (c Claim) String() string {
	return [...]string{"", "whole", "slip", "left out", "information", "innocent"}[c]
}

// Family is one way of writing names.
type Family struct {
	Name  string
	About string // Whose names, and how they are written.
	Claim Claim
	Memo  bool // The name stands in a text that travels with a payment, and is asked as such.

	// Guessed names can only be possible matches. So they are asked as the screening OFAC+CONS does, as
	// possible matches with other entries count nowhere else.
	Guessed bool

	of    func(*Subject) bool
	steps []step
	names []string // The names of an innocent family that does not rest on the list.
	made  func(*Listed) []string
}

// Case is one name to ask about. UID is the entry that it means, 0 for an innocent.
type Case struct {
	UID          uint32
	Listed, Text string
}

// All returns every family, those of listed names first.
func All() []Family {
	return slices.Concat(orderFamilies(), addedFamilies(), leftOutFamilies(), slipFamilies(), embeddedFamilies(), scriptFamilies(), abjadFamilies(), productFamilies(), companyFamilies(), genericFamilies(), vesselFamilies(), innocentFamilies())
}

// Vary writes a listed name in the way of the family. It returns false where the family does not
// apply to the name.
func (f *Family) Vary(s *Subject) (string, bool) {
	if f.of == nil || !f.of(s) {
		return "", false
	}
	d := draft{subject: s, words: slices.Clone(s.words), chance: hashOf(s.UID, f.Name, s.Full)}
	for _, step := range f.steps {
		if !step(&d) {
			return "", false
		}
	}
	text := d.text()
	return text, strings.TrimSpace(text) != ""
}

// Cases returns the family's names, at most sample of them unless it is 0. A sample is chosen by
// a hash, so a greater sample holds a smaller one, and a list that changed by a few names gives
// nearly the same. left is how many innocents were left out because they equal a listed name.
func (f *Family) Cases(l *Listed, sample int) (cases []Case, left int) {
	if f.Claim == Innocent {
		return f.innocents(l, sample)
	}
	type draw struct {
		hash uint64
		at   int
	}
	var draws []draw
	for i := range l.Subjects {
		if s := &l.Subjects[i]; f.of(s) {
			draws = append(draws, draw{hashOf(s.UID, "sample of "+f.Name, s.Full), i})
		}
	}
	if sample > 0 {
		slices.SortFunc(draws, func(a, b draw) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	}
	seen := map[Case]bool{}
	for _, draw := range draws {
		if sample > 0 && len(cases) == sample {
			break
		}
		s := &l.Subjects[draw.at]
		text, ok := f.Vary(s)
		if one := (Case{UID: s.UID, Text: text}); ok && !seen[one] {
			seen[one] = true
			cases = append(cases, Case{s.UID, s.Full, text})
		}
	}
	return cases, 0
}

// Listed is a list prepared for all families.
type Listed struct {
	Subjects []Subject
	forms    map[string]bool // The keys of all strong names; see keysOf.
}

// Prepare takes the names of a list apart.
func Prepare(entities []ofac.Entity) *Listed {
	l := &Listed{Subjects: Subjects(entities), forms: map[string]bool{}}
	for i := range l.Subjects {
		full := l.Subjects[i].Full
		last, given, _ := strings.Cut(full, ",")
		for _, key := range append(keysOf(full), keysOf(given+" "+last)...) {
			l.forms[key] = true
		}
	}
	return l
}

// Equals reports whether a name equals a listed one in any form: words in any order, without
// spaces, without legal forms.
func (l *Listed) Equals(name string) bool {
	for _, key := range keysOf(name) {
		if l.forms[key] {
			return true
		}
	}
	return false
}

// keysOf returns what two equal names have in common.
func keysOf(name string) []string {
	var plain, all []string
	for word := range strings.FieldsSeq(ofac.NormaliseName(name)) {
		all = append(all, word)
		if legalForms[word] == "" {
			plain = append(plain, word)
		}
	}
	if len(plain) == 0 {
		plain = all
	}
	joined := strings.Join(plain, "")
	slices.Sort(plain)
	return []string{strings.Join(plain, " "), joined}
}
