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

// Facts say who is meant. People read them, and a call's identifiers are compared with those among
// them. A fact never makes an entity invalid: long ones are cut, and those beyond the bound are left
// out. No published party comes near either bound.

const (
	factsPerEntityMax = 2_000
	factBytesMax      = 2_000
)

// factKinds maps feature types to their fact kinds; every other type has no kind of its
// own.
var factKinds = map[string]ofac.FactKind{
	"Birthdate": ofac.FactBirthDate, "Place of Birth": ofac.FactBirthPlace, "Gender": ofac.FactGender, "Title": ofac.FactTitle,
	"Nationality Country": ofac.FactNationality, "Nationality of Registration": ofac.FactNationality, "Citizenship Country": ofac.FactCitizenship,
	"Location": ofac.FactPostalAddress,
}

// factKindOf returns a fact's kind by the text of its feature type.
func factKindOf(label string) ofac.FactKind {
	if kind, ok := factKinds[label]; ok {
		return kind
	}
	if strings.Contains(strings.ToLower(label), "vessel") || strings.HasPrefix(label, "Aircraft") {
		return ofac.FactVessel
	}
	return ofac.FactOther
}

// addFact adds one fact to an entity. It records a suspect when the value is a digital
// currency address but the feature type does not say so: if OFAC reworded the type, all its
// wallets would be missed.
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
	UID    uint32 // 0: not even the id could be read.
	Detail string // What is wrong and where.
}

// quarantinedPerMille is how many malformed entities per thousand a file may hold.
const quarantinedPerMille = 1

// setAside quarantines a malformed entity: it leaves the element that was opened at depth
// and continues behind it. It keeps the failure when the document itself is damaged.
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

// tooManyAside refuses the file, with the reason of its first malformed entity, when it
// holds too many of them.
func (b *builder) tooManyAside() {
	if aside := len(b.quarantined); b.failure == nil && aside*1000 > (aside+len(b.entities))*quarantinedPerMille {
		b.failure = b.firstRefusal
	}
}

// period is a date or a span of dates in the XML formats.
type period struct {
	from, to string // Dates in ISO 8601; "": unknown.
	circa    bool
}

// String writes a day or a span; a span of one whole year is written as that year.
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

// joinFacts joins the parts that are not empty.
func joinFacts(parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ", ")
}
