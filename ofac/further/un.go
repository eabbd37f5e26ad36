package further

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"railguard/ofac"
)

// ReadUN reads the consolidated list of the UN Security Council. A document type declaration is
// refused, and so is a document of another kind. Elements that are not known are passed over, as the
// publisher adds some now and then; empty ones stand for nothing. COMMENTS1 is free text, which is
// shown and not matched.
func ReadUN(source io.Reader) (Part, error) {
	u := &unReader{decoder: xml.NewDecoder(source)}
	u.decoder.Strict = true
	err := u.readDocument()
	if err == nil && len(u.part.Entities) == 0 {
		err = refuse(0, "", "the document lists nobody")
	}
	if err != nil {
		return Part{}, err
	}
	return u.part, nil
}

// unReader is one run over a document. Only the elements of one entry are in memory.
type unReader struct {
	decoder *xml.Decoder
	part    Part
	seen    map[uint32]bool
}

// unElement is one element of an entry.
type unElement struct {
	name     string
	text     string
	children []unElement
}

func (e *unElement) first(name string) string {
	for i := range e.children {
		if e.children[i].name == name {
			return clean(e.children[i].text)
		}
	}
	return ""
}

// values calls visit with the VALUE elements of the children of a name.
func (e *unElement) values(name string, visit func(string)) {
	e.each(name, func(child *unElement) {
		child.each("VALUE", func(value *unElement) { visit(value.text) })
	})
}

func (e *unElement) each(name string, visit func(*unElement)) {
	for i := range e.children {
		if e.children[i].name == name {
			visit(&e.children[i])
		}
	}
}

// token returns the next token; nil at the end of the document.
func (u *unReader) token() (xml.Token, error) {
	token, err := u.decoder.Token()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		var syntax *xml.SyntaxError
		if errors.As(err, &syntax) {
			return nil, refuse(syntax.Line, "", "not well-formed XML: %s", syntax.Msg)
		}
		return nil, err
	}
	if _, declares := token.(xml.Directive); declares {
		return nil, refuse(0, "", "a document type declaration is not taken")
	}
	return token, nil
}

func (u *unReader) readDocument() error {
	u.seen = map[uint32]bool{}
	depth, rooted := 0, false
	for {
		token, err := u.token()
		switch {
		case err != nil:
			return err
		case token == nil && !rooted:
			return refuse(0, "", "the document has no root element")
		case token == nil:
			return nil
		}
		switch t := token.(type) {
		case xml.StartElement:
			if !rooted {
				if err := u.readRoot(&t); err != nil {
					return err
				}
				rooted = true
			}
			if depth++; depth > elementsMax {
				return refuse(0, "", "elements nested deeper than %d", elementsMax)
			}
			if depth == 3 && (t.Name.Local == "INDIVIDUAL" || t.Name.Local == "ENTITY") {
				depth--
				if err := u.readEntry(&t); err != nil {
					return err
				}
			}
		case xml.EndElement:
			depth--
		}
	}
}

func (u *unReader) readRoot(root *xml.StartElement) error {
	if root.Name.Local != "CONSOLIDATED_LIST" {
		return refuse(0, "", "root element <%.40s>: CONSOLIDATED_LIST was expected", root.Name.Local)
	}
	for _, attribute := range root.Attr {
		if attribute.Name.Local == "dateGenerated" {
			made, err := time.Parse(time.RFC3339, attribute.Value)
			if err != nil || made.Year() < 1990 || made.Year() > 2200 {
				return refuse(0, "dateGenerated", "%.40q is no date", attribute.Value)
			}
			u.part.AsOf = made.UTC().UnixNano()
		}
	}
	return nil
}

// readElement reads an element that has begun, to its end.
func (u *unReader) readElement(start *xml.StartElement, depth int, size *int) (unElement, error) {
	element := unElement{name: start.Name.Local}
	if depth > elementsMax {
		return element, refuse(0, "", "elements nested deeper than %d", elementsMax)
	}
	var text strings.Builder
	for {
		token, err := u.token()
		if err != nil {
			return element, err
		}
		switch t := token.(type) {
		case nil:
			return element, refuse(0, "", "the document ends within <%.40s>", element.name)
		case xml.StartElement:
			*size += len(t.Name.Local)
			child, err := u.readElement(&t, depth+1, size)
			if err != nil {
				return element, err
			}
			element.children = append(element.children, child)
		case xml.CharData:
			*size += len(t)
			text.Write(t)
		case xml.EndElement:
			element.text = text.String()
			return element, nil
		}
		if *size > entryBytesMax {
			return element, refuse(0, "", "an entry of more than %d bytes", entryBytesMax)
		}
	}
}

// entryBytesMax bounds what is in memory of one entry.
const entryBytesMax = 1 << 20

// readEntry reads one person or organisation.
func (u *unReader) readEntry(start *xml.StartElement) error {
	row := len(u.part.Entities) + 1
	size := 0
	element, err := u.readElement(start, 0, &size)
	if err != nil {
		return err
	}
	if row > partiesMax {
		return refuse(0, "", "more than %d entries", partiesMax)
	}
	id := element.first("DATAID")
	number, err := strconv.ParseUint(id, 10, 28)
	if err != nil || number == 0 {
		return refuse(row, "DATAID", "%.40q is no number below 2^28", id)
	}
	if u.seen[uint32(number)] {
		return refuse(row, "DATAID", "%d twice", number)
	}
	u.seen[uint32(number)] = true
	entity := ofac.Entity{UID: uint32(number), ID: id, Type: ofac.Company}
	prefix := "ENTITY_"
	if start.Name.Local == "INDIVIDUAL" {
		entity.Type, prefix = ofac.Individual, "INDIVIDUAL_"
	}
	nameUN(&entity, &element, prefix)
	if len(entity.Names) == 0 || !entity.Names[0].Primary {
		return refuse(row, "FIRST_NAME", "entry %d has no name", number)
	}
	describeUN(&entity, &element, prefix)
	if err := check(row, &entity); err != nil {
		return err
	}
	u.part.Entities = append(u.part.Entities, entity)
	return nil
}

// nameUN adds the names. An organisation's name may hold several, with semicolons between them.
func nameUN(entity *ofac.Entity, e *unElement, prefix string) {
	full := clean(strings.Join([]string{e.first("FIRST_NAME"), e.first("SECOND_NAME"), e.first("THIRD_NAME"), e.first("FOURTH_NAME")}, " "))
	add := func(text, alias string, weak bool) {
		addName(entity, text, alias, weak)
		if parts := strings.Split(text, ";"); len(parts) > 1 {
			for _, part := range parts {
				addName(entity, part, alias, weak)
			}
		}
	}
	add(full, "Name", false)
	addName(entity, e.first("NAME_ORIGINAL_SCRIPT"), "A.K.A.", false)
	e.each(prefix+"ALIAS", func(alias *unElement) {
		quality, kind := alias.first("QUALITY"), "A.K.A."
		if strings.EqualFold(quality, "f.k.a.") {
			kind = "F.K.A."
		}
		add(alias.first("ALIAS_NAME"), kind, strings.EqualFold(quality, "Low"))
	})
}

// describeUN adds everything that is not a name.
func describeUN(entity *ofac.Entity, e *unElement, prefix string) {
	if program := e.first("UN_LIST_TYPE"); program != "" {
		entity.Programs, entity.Sublists = []string{program}, []string{program}
	}
	addFact(entity, ofac.FactOther, "Reference", e.first("REFERENCE_NUMBER"))
	addFact(entity, ofac.FactOther, "Listed on", e.first("LISTED_ON"))
	addFact(entity, ofac.FactGender, "Gender", e.first("GENDER"))
	addFact(entity, ofac.FactRemark, "", e.first("COMMENTS1"))
	for _, of := range []struct {
		name, label string
		kind        ofac.FactKind
	}{{"NATIONALITY", "Nationality", ofac.FactNationality}, {"TITLE", "Title", ofac.FactTitle}, {"DESIGNATION", "Designation", ofac.FactTitle}} {
		e.values(of.name, func(value string) { addFact(entity, of.kind, of.label, value) })
	}
	joined := func(of *unElement, names ...string) string {
		var parts []string
		for _, name := range names {
			if text := of.first(name); text != "" {
				parts = append(parts, text)
			}
		}
		return strings.Join(parts, ", ")
	}
	e.each(prefix+"ADDRESS", func(a *unElement) {
		addFact(entity, ofac.FactPostalAddress, "Address", joined(a, "STREET", "CITY", "STATE_PROVINCE", "ZIP_CODE", "COUNTRY"))
	})
	e.each(prefix+"PLACE_OF_BIRTH", func(p *unElement) {
		addFact(entity, ofac.FactBirthPlace, "Place of birth", joined(p, "STREET", "CITY", "STATE_PROVINCE", "COUNTRY"))
	})
	e.each(prefix+"DATE_OF_BIRTH", func(d *unElement) { addFact(entity, ofac.FactBirthDate, "Birthdate", birthUN(d)) })
	e.each(prefix+"DOCUMENT", func(d *unElement) { documentUN(entity, d) })
}

// birthUN writes a date of birth: exact, about a year, or between two.
func birthUN(d *unElement) string {
	date, year := d.first("DATE"), d.first("YEAR")
	from, to := d.first("FROM_YEAR"), d.first("TO_YEAR")
	switch {
	case date != "":
		if at, err := time.Parse(time.DateOnly, cut(date, len(time.DateOnly))); err == nil {
			return at.Format("02 Jan 2006")
		}
		return date
	case from != "" && to != "":
		return fmt.Sprintf("%s to %s", from, to)
	case year != "" && strings.EqualFold(d.first("TYPE_OF_DATE"), "APPROXIMATELY"):
		return "circa " + year
	}
	return year
}

// documentUN adds a document with a number. Its kind stands in one of two members, in several
// languages and spellings.
func documentUN(entity *ofac.Entity, d *unElement) {
	number := d.first("NUMBER")
	if number == "" {
		return
	}
	kind := d.first("TYPE_OF_DOCUMENT2")
	if kind == "" {
		kind = d.first("TYPE_OF_DOCUMENT")
	}
	country := d.first("ISSUING_COUNTRY")
	if country == "" {
		country = d.first("COUNTRY_OF_ISSUE")
	}
	addDocument(entity, documentLabel(kind), number, country)
}

// documentLabel returns the word of identifier classes for what a publisher calls a document, or the
// publisher's text: a number of an unknown kind.
func documentLabel(kind string) string {
	lower := strings.ToLower(kind)
	for _, of := range []struct{ part, label string }{
		{"passport", "passport"}, {"passeport", "passport"}, {"pasaporte", "passport"}, {"laissez", "passport"},
		{"national id", "national_id"}, {"identity card", "national_id"}, {"identidad", "national_id"}, {"identité", "national_id"}, {"identification", "national_id"}, {"personal", "national_id"},
		{"tax", "tax_id"}, {"registration", "registration"}, {"company number", "registration"}, {"imo", "imo"},
	} {
		if strings.Contains(lower, of.part) {
			return of.label
		}
	}
	if clean(kind) == "" {
		return "other"
	}
	return cut(clean(kind), labelBytesMax)
}

const labelBytesMax = 64

// addDocument adds a number as OFAC's files write them, so that one reader serves all lists.
func addDocument(entity *ofac.Entity, label, number, country string) {
	number, country = strings.ReplaceAll(clean(number), ", ", " "), clean(country)
	if number == "" || len(number) > nameBytesMax/2 || len(country) > nameBytesMax/2 {
		return
	}
	if country != "" {
		number += ", " + strings.ReplaceAll(country, ", ", " ")
	}
	addFact(entity, ofac.FactDocument, label, number)
}
