package engine

import (
	"encoding/json"
	"strconv"

	"railguard/ofac/identifier"
)

// Identifier is a number or an address, other than a wallet, by which the counterparty is known.
type Identifier struct {
	Class   identifier.Class `cbor:"1,keyasint"`
	Value   string           `cbor:"2,keyasint"`           // As sent.
	Country string           `cbor:"3,keyasint,omitempty"` // Of whoever gave it, as sent; "" when not told.
}

// IdentifiersMax is how many identifiers the member cpIdentifiers may name.
const IdentifiersMax = 8

// IdentifierTypes returns the words by which a caller names the types of identifiers.
func IdentifierTypes() []string { return identifier.Words() }

// ReadIdentifiers reads the member cpIdentifiers of a screening call. An unknown member of one is
// an error: it could hold an identifier.
func (r *Request) ReadIdentifiers(raw []byte) []FieldError {
	var reader documentReader
	items := reader.readList("cpIdentifiers", raw, IdentifiersMax)
	for i, item := range items {
		reader.readIdentifier(elementOf("cpIdentifiers", i), item, &r.Identifiers[i])
	}
	if len(reader.errors) > 0 {
		r.Identifiers = [IdentifiersMax]Identifier{}
		return reader.errors
	}
	r.IdentifierCount = len(items)
	return nil
}

func (r *documentReader) readIdentifier(param string, document []byte, told *Identifier) {
	class, value, country := -1, "", ""
	before := len(r.errors)
	r.readMembers(param, document, func(name, path string, raw json.RawMessage) {
		switch name {
		case "type":
			class = r.readChoice(path, raw, identifier.Words()...)
		case "value":
			value, _ = r.readText(path, raw)
		case "country":
			country, _ = r.readText(path, raw)
		default:
			r.addUnknown(path)
		}
	})
	for _, member := range [...]struct{ name, text string }{{".value", value}, {".country", country}} {
		if len(member.text) > FieldMax {
			r.addError(param+member.name, "must have at most "+strconv.Itoa(FieldMax)+" bytes")
		}
	}
	switch {
	case len(r.errors) > before:
	case class < 0 || trimSpace(value) == "":
		r.addError(param, "must have type and value")
	default:
		*told = Identifier{identifier.Class(class) + identifier.BIC, value, country}
	}
}
