package feed

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"railguard/ofac"
	"railguard/ofac/wallet"
)

// Facts say who is meant. They are shown to people and never judged, so nothing
// in them refuses an entity: what is too long is cut, what is too much is left out.

const (
	factsPerEntityMax = 2_000
	factBytesMax      = 2_000
)

// factKinds are the feature types whose kind has a name of its own.
var factKinds = map[string]ofac.FactKind{
	"Birthdate": ofac.FactBirthDate, "Place of Birth": ofac.FactBirthPlace, "Gender": ofac.FactGender, "Title": ofac.FactTitle,
	"Nationality Country": ofac.FactNationality, "Nationality of Registration": ofac.FactNationality, "Citizenship Country": ofac.FactCitizenship,
	"Location": ofac.FactPostalAddress,
}

// factKindOf tells a fact's kind by the text of its feature type.
func factKindOf(label string) ofac.FactKind {
	if kind, ok := factKinds[label]; ok {
		return kind
	}
	if strings.Contains(strings.ToLower(label), "vessel") || strings.HasPrefix(label, "Aircraft") {
		return ofac.FactVessel
	}
	return ofac.FactOther
}

// addFact keeps one fact of an entity. A feature whose value is a digital currency
// address though its type does not say so is a finding: a reworded type would let
// every wallet of it slip.
func (b *builder) addFact(e *ofac.Entity, kind ofac.FactKind, label, value string) {
	value = shortenText(strings.Join(strings.Fields(strings.ToValidUTF8(value, "")), " "))
	if kind == ofac.FactTitle || kind == ofac.FactPostalAddress {
		label = ""
	}
	if value == "" || value == "undetermined" || len(e.Facts) == factsPerEntityMax || b.failure != nil {
		return
	}
	if kind == ofac.FactOther && len(value) <= AddressBytesMax && wallet.IsAddress(value) && len(b.suspects) < WarningsMax {
		b.suspects = append(b.suspects, Suspect{e.UID, label, value})
	}
	e.Facts = append(e.Facts, ofac.Fact{Kind: kind, Label: shortenText(label), Value: value})
}

// shortenText cuts a text at its bound, between two characters.
func shortenText(text string) string {
	if len(text) <= factBytesMax {
		return text
	}
	end := factBytesMax
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Suspect is a feature of an unknown type whose value is a digital currency address.
type Suspect struct {
	UID         uint32
	Type, Value string
}

// Quarantined is an entity that was left out because it is malformed.
type Quarantined struct {
	UID    uint32 // 0 where not even the id could be read.
	Detail string // What is wrong and where.
}

// quarantinedPerMille is how many malformed entities of a thousand a file may hold.
const quarantinedPerMille = 1

// setAside takes a malformed entity out of the run: the element that was opened at
// depth is left, and reading goes on behind it. Damage to the document itself is no
// matter of one entity, and stays.
func (b *builder) setAside(uid uint32, depth int) {
	var refusal *Error
	if !errors.As(b.failure, &refusal) || refusal.Reason != ReasonSchema || len(b.quarantined) == WarningsMax {
		return
	}
	if len(b.quarantined) == 0 {
		b.firstRefusal = b.failure
	}
	b.failure = nil
	b.quarantined = append(b.quarantined, Quarantined{uid, refusal.Detail})
	b.mode = textSkip
	for len(b.marks) >= depth {
		if b.nextTag() == tokenFailed {
			return
		}
	}
}

// tooManyAside refuses the file for its first malformed entity when there are too
// many of them.
func (b *builder) tooManyAside() {
	if aside := len(b.quarantined); b.failure == nil && aside*1000 > (aside+len(b.entities))*quarantinedPerMille {
		b.failure = b.firstRefusal
	}
}

// period is a date, or a span of dates, as the XML formats give it.
type period struct {
	from, to string // ISO 8601, "" where unknown.
	circa    bool
}

// String writes a day, a year that is given as all its days, or a span.
func (p period) String() string {
	text := p.from
	switch year := strings.TrimSuffix(p.from, "-01-01"); {
	case p.from == "":
		text = p.to
	case p.to == "" || p.from == p.to:
	case year != p.from && p.to == year+"-12-31":
		text = year
	default:
		text = fmt.Sprintf("%s to %s", p.from, p.to)
	}
	if p.circa && text != "" {
		text = "circa " + text
	}
	return text
}

// readTrimmedText reads a child that holds text only.
func (b *builder) readTrimmedText() string { return string(bytes.TrimSpace(b.readText())) }

// joinFacts joins the parts of one thing that are there.
func joinFacts(parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ", ")
}
