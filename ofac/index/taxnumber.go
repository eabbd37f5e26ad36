package index

import (
	"cmp"
	"slices"
	"strings"

	"railguard/ofac/list"
)

// TaxMatch is a listed party that has a taxpayer number of the United States.
type TaxMatch struct {
	UID   uint32     // The listed party. If there are several: one on a core source before others, then the lowest id.
	Lists list.Lists // All sources that the number stands on.
	Label string     // What the publisher calls the number, e.g. "US FEIN".
}

// taxRecord is one taxpayer number of a listed party.
type taxRecord struct{ number, entity, label uint32 }

// taxDigits is the length of a taxpayer number: of an employer (EIN) or a person (SSN).
const taxDigits = 9

// TaxNumber looks up nine digits, which may have dashes and blanks between them.
func (x *Tables) TaxNumber(digits string) (TaxMatch, bool) {
	var match TaxMatch
	number, ok := readTaxNumber(digits)
	if !ok {
		return match, false
	}
	at, _ := slices.BinarySearchFunc(x.taxes, number, func(r taxRecord, number uint32) int { return cmp.Compare(r.number, number) })
	for ; at < len(x.taxes) && x.taxes[at].number == number; at++ {
		entity := x.EntityAt(x.taxes[at].entity)
		if !match.Lists.Core() && (match.Lists == 0 || entity.Lists.Core()) {
			match.UID, match.Label = entity.UID, x.TextAt(x.taxes[at].label)
		}
		match.Lists |= entity.Lists
	}
	return match, match.Lists != 0
}

// readTaxNumber reads nine digits, and reports whether there are nine and nothing but dashes and
// blanks between them.
func readTaxNumber(text string) (number uint32, ok bool) {
	digits := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9' && digits < taxDigits:
			number = number*10 + uint32(c-'0')
			digits++
		case c != '-' && c != ' ':
			return 0, false
		}
	}
	return number, digits == taxDigits
}

// taxpayerNumber reads the taxpayer number out of a listed party's document. A number of nine
// digits that another country gave is another number: most countries' have other lengths, and
// those of this length (Belarus, Serbia, Switzerland) are no number of the United States. Numbers
// of other kinds count only if they are printed as an employer's are, and American.
func taxpayerNumber(fact *list.Fact) (number uint32, ok bool) {
	if fact.Kind != list.FactDocument {
		return 0, false
	}
	text, rest := fact.Value, ""
	if at := strings.IndexAny(text, ",("); at >= 0 { // Enhanced and advanced: "number, country"; CSV: "number (country)".
		text, rest = text[:at], text[at:]
	}
	text = strings.TrimSpace(text)
	if number, ok = readTaxNumber(text); !ok {
		return 0, false
	}
	american := strings.Contains(rest, "United States")
	said := strings.TrimLeft(rest, ",( ")
	nowhere := said == "" || strings.HasPrefix(said, "issued ") || strings.HasPrefix(said, "expires ") || strings.HasPrefix(said, "not valid")
	switch fact.Label {
	case "US FEIN", "SSN":
		return number, true
	case "Tax ID No.":
		return number, american || nowhere
	}
	return number, american && len(text) == taxDigits+1 && text[2] == '-'
}

// fileTaxNumbers makes the table of OFAC's taxpayer numbers. It is asked when an operator is
// registered and when a list comes in force, and the registry keeps the answer; a list whose entries
// end or whose effect changes is asked with each call, as an identifier.
func (b *builder) fileTaxNumbers() error {
	for i := range b.source {
		if b.source[i].Lists.IsFurther() {
			continue
		}
		for k := range b.source[i].Facts {
			fact := &b.source[i].Facts[k]
			if number, ok := taxpayerNumber(fact); ok {
				b.taxes = append(b.taxes, taxRecord{number, uint32(i), b.textOf[fact.Label]})
			}
		}
	}
	slices.SortFunc(b.taxes, func(p, q taxRecord) int {
		return cmp.Or(cmp.Compare(p.number, q.number), cmp.Compare(p.entity, q.entity), cmp.Compare(p.label, q.label))
	})
	return nil
}
