package index

import (
	"cmp"
	"slices"
	"strings"

	"railguard/ofac/identifier"
	"railguard/ofac/list"
	"railguard/ofac/perfect"
)

// IdentifierRow is an identifier of a listed party. It points into the published fact in which it
// stands.
type IdentifierRow struct {
	Entity, fact uint32
	Class        identifier.Class
}

// How a form was made from a listed identifier.
type identifierUse uint8

const (
	UseWhole  identifierUse = iota // The identifier itself, or another spelling of it.
	UseShared                      // The host of a page that is listed: who shares the host is unknown.
	UseOwner                       // The registered domain of a listed host, or the institution of a listed branch.
	UseSuffix                      // A listed host below which everybody may register: it covers no other host.
	identifierUses
)

// IdentifierPosting is a row of Identifiers and the use of the form that led there.
type IdentifierPosting uint32

func (p IdentifierPosting) Row() uint32 { return uint32(p) / uint32(identifierUses) }
func (p IdentifierPosting) Use() identifierUse {
	return identifierUse(uint32(p) % uint32(identifierUses))
}
func postingOf(row uint32, use identifierUse) uint32 { return row*uint32(identifierUses) + uint32(use) }

// IdentifiersOf returns the postings of a form. key is the family of its class and then the form;
// see identifier.AppendForm.
func (x *Tables) IdentifiersOf(key []byte) []uint32 { return x.identifierForms.Of(perfect.KeyOf(key)) }

// IdentifierAt returns a row, with what the publisher calls the identifier, and its value and country
// as published.
func (x *Tables) IdentifierAt(i uint32) (row IdentifierRow, label, value, country string) {
	row = x.identifiers[i]
	fact := x.Facts[row.fact]
	label, text := labelOf(fact.Kind, x.TextAt(fact.label), x.TextAt(fact.Value))
	value, country = cutDocument(text)
	return row, label, value, country
}

// EachIdentifier calls visit with every listed identifier, in the order of the parties: the party's
// uid, the class, what the publisher calls it, its value and its country.
func (x *Tables) EachIdentifier(visit func(uid uint32, class identifier.Class, label, value, country string)) {
	for i := range x.identifiers {
		row, label, value, country := x.IdentifierAt(uint32(i))
		visit(x.EntityAt(row.Entity).UID, row.Class, label, value, country)
	}
}

// cutDocument cuts a published document into its number and its country. Enhanced and advanced files
// write "number, country, issued …", CSV "number (country) issued …".
func cutDocument(text string) (number, country string) {
	number = text
	for _, sign := range [...]string{", ", " (", " issued ", " expires "} {
		if at := strings.Index(number, sign); at >= 0 {
			number = number[:at]
		}
	}
	country = strings.TrimLeft(text[len(number):], ", (")
	if end := strings.IndexByte(country, ')'); end >= 0 {
		country = country[:end]
	}
	for _, word := range [...]string{"issued ", "expires ", "not valid"} {
		if at := strings.Index(country, word); at >= 0 {
			country = country[:at]
		}
	}
	return strings.TrimSpace(number), strings.TrimRight(country, ", ")
}

// readIdentifier reads the identifier in a fact; ok is false for a fact that is none.
func readIdentifier(kind list.EntityType, fact *list.Fact) (class identifier.Class, number string, ok bool) {
	label, text := labelOf(fact.Kind, fact.Label, fact.Value)
	class, known := identifierLabels[label]
	if !known && fact.Kind != list.FactDocument {
		return 0, "", false
	}
	number, _ = cutDocument(text)
	if class.IsDocument() {
		class = recogniseNumber(class, kind, label, number)
	}
	return class, number, strings.TrimSpace(number) != ""
}

// recogniseNumber returns the class of a number that is written under a wider label: a ship's or an
// owner's with "IMO" before it, a legal entity identifier by its check digits, and the number of a
// company under a label that persons share.
func recogniseNumber(class identifier.Class, kind list.EntityType, label, number string) identifier.Class {
	switch {
	case len(number) > 3 && number[:3] == "IMO" && identifier.IsSound(identifier.IMO, number):
		return identifier.IMO
	case class == identifier.Registration && identifier.IsSound(identifier.LEI, number):
		return identifier.LEI
	case label == "Identification Number" && kind != list.Individual:
		return identifier.Registration
	}
	return class
}

// identifierKey is the key of one form of a listed identifier.
type identifierKey struct {
	hash    perfect.Key
	posting uint32
}

// fileIdentifiers makes the rows of identifiers and the table of their forms.
func (b *builder) fileIdentifiers() (err error) {
	var keys []identifierKey
	at := uint32(0)
	for i := range b.source {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		entity := &b.source[i]
		for k := range entity.Facts {
			if class, number, ok := readIdentifier(entity.Type, &entity.Facts[k]); ok {
				row := uint32(len(b.identifiers))
				b.identifiers = append(b.identifiers, IdentifierRow{uint32(i), at + uint32(k), class})
				keys = appendIdentifierKeys(keys, row, class, number)
			}
		}
		at += uint32(len(entity.Facts))
	}
	slices.SortFunc(keys, pauseComparing(b, func(p, q identifierKey) int {
		return cmp.Or(p.hash.Compare(q.hash), cmp.Compare(p.posting, q.posting))
	}))
	keys = slices.Compact(keys)
	hashes, postings := make([]perfect.Key, len(keys)), make([]uint32, len(keys))
	for i, key := range keys {
		hashes[i], postings[i] = key.hash, key.posting
	}
	b.identifierForms, err = perfect.BuildMultimap(hashes, postings)
	return err
}

// appendIdentifierKeys appends the keys of all forms under which a listed identifier is found.
func appendIdentifierKeys(keys []identifierKey, row uint32, class identifier.Class, number string) []identifierKey {
	form := identifier.AppendForm(nil, class, number)
	add := func(form []byte, use identifierUse) {
		if len(form) > 0 {
			keys = append(keys, identifierKey{perfect.KeyOf(append([]byte{class.Family()}, form...)), postingOf(row, use)})
		}
	}
	switch class {
	case identifier.Website:
		segment := identifier.AppendSegment(nil, number)
		domain, owned := identifier.RegisteredDomain(string(form))
		switch {
		case len(segment) > 0:
			add(slices.Concat(form, []byte{'/'}, segment), UseWhole)
			add(form, UseShared)
		case !owned:
			add(form, UseSuffix)
		default:
			add(form, UseWhole)
			if domain != string(form) {
				add([]byte(domain), UseOwner)
			}
		}
	case identifier.Email:
		add(form, UseWhole)
		if mailbox, ok := identifier.Mailbox(slices.Clone(form)); ok {
			add(mailbox, UseWhole)
		}
	default:
		add(form, UseWhole)
		add(identifier.WithoutZeros(form), UseWhole)
		if institution, ok := identifier.BranchOf(form); ok && class == identifier.BIC {
			add(institution, UseOwner)
		}
	}
	return keys
}
