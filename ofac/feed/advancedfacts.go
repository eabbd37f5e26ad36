package feed

import (
	"strings"

	"railguard/ofac"
)

// ADVANCED keeps the facts about a party in three places: places and documents come before
// the parties and are referred to by id; features are inside the parties.

// advancedFacts holds the reference tables from which facts are read.
type advancedFacts struct {
	features      map[uint32]string // By feature type: its text.
	details       map[uint32]string
	countries     map[uint32]string
	areas         map[uint32]string
	documentTypes map[uint32]string
	places        map[uint32]string // By location id: its text.
	documents     map[uint32][]ofac.Fact
	documentCount int
}

// factTable reads reference values that only facts use. It accepts any text.
func (p *advanced) factTable() map[uint32]string {
	values := map[uint32]string{}
	for p.nextChild() {
		id := p.readID("ID")
		described := ""
		if value, ok := p.findAttribute("Description"); ok { // This is the name of an area, whose text is only a code.
			described = string(value)
		}
		text := p.readTrimmedText()
		if described != "" {
			text = described
		}
		if len(values) < ReferenceValuesMax {
			values[id] = text
		}
	}
	return values
}

func (p *advanced) readLocation() {
	id, text, country := p.readID("ID"), "", ""
	for p.nextChild() {
		switch string(p.name) {
		case "LocationPart":
			text = joinFacts(text, p.locationPart())
		case "LocationAreaCode":
			if area := p.resolveOptional(p.facts.areas, "AreaCodeID"); country == "" {
				country = area
			}
			p.skipElement()
		case "LocationCountry":
			if name := p.resolveOptional(p.facts.countries, "CountryID"); name != "" {
				country = name
			}
			p.skipElement()
		default:
			p.skipElement()
		}
	}
	if len(p.facts.places) < NamesMax {
		p.facts.places[id] = joinFacts(text, country)
	}
}

// locationPart reads the first value of a part.
func (p *advanced) locationPart() string {
	text := ""
	for p.nextChild() {
		if string(p.name) != "LocationPartValue" {
			p.skipElement()
			continue
		}
		for p.nextChild() {
			if string(p.name) != "Value" || text != "" {
				p.skipElement()
				continue
			}
			text = p.readTrimmedText()
		}
	}
	return text
}

// resolveOptional looks up a reference that a fact may lack.
func (p *advanced) resolveOptional(table map[uint32]string, attribute string) string {
	value, ok := p.findAttribute(attribute)
	if !ok {
		return ""
	}
	id, _ := parseID(value)
	return table[id]
}

// identityDocument reads an identity document. The identity that it belongs to comes later
// in the file.
func (p *advanced) identityDocument() {
	label, country := p.resolveOptional(p.facts.documentTypes, "IDRegDocTypeID"), p.resolveOptional(p.facts.countries, "IssuedBy-CountryID")
	identity, number := p.readID("IdentityID"), ""
	for p.nextChild() {
		if string(p.name) != "IDRegistrationNo" {
			p.skipElement()
			continue
		}
		number = p.readTrimmedText()
	}
	if text := documentText(number, country, "", "", true); text != "" && p.facts.documentCount < NamesMax {
		p.facts.documentCount++
		p.facts.documents[identity] = append(p.facts.documents[identity], ofac.Fact{Kind: ofac.FactDocument, Label: label, Value: text})
	}
}

// addDocuments gives an entity the documents of one of its identities.
func (p *advanced) addDocuments(entity *ofac.Entity, identity uint32) {
	for _, fact := range p.facts.documents[identity] {
		p.addFact(entity, fact.Kind, fact.Label, fact.Value)
	}
}

// readFact reads a feature that is not a digital currency address, version by version.
func (p *advanced) readFact(entity *ofac.Entity, label string) {
	for p.nextChild() {
		if string(p.name) != "FeatureVersion" {
			p.skipElement()
			continue
		}
		value, comment := "", ""
		for p.nextChild() {
			switch string(p.name) {
			case "Comment":
				comment = p.readTrimmedText()
			case "VersionDetail":
				detail := p.resolveOptional(p.facts.details, "DetailReferenceID")
				value = joinFacts(value, detail, p.readTrimmedText())
			case "VersionLocation":
				value = joinFacts(value, p.resolveOptional(p.facts.places, "LocationID"))
				p.skipElement()
			case "DatePeriod":
				value = joinFacts(value, p.datePeriod().String())
			default:
				p.skipElement()
			}
		}
		p.addFact(entity, factKindOf(label), label, joinFacts(value, comment))
	}
}

// datePeriod reads the first and the last day that a date may mean.
func (p *advanced) datePeriod() period {
	var date period
	for p.nextChild() {
		start := string(p.name) == "Start"
		if !start && string(p.name) != "End" {
			p.skipElement()
			continue
		}
		if value, ok := p.findAttribute("Approximate"); ok && string(value) == "true" {
			date.circa = true
		}
		for p.nextChild() {
			side := string(p.name)
			if side != "From" && side != "To" {
				p.skipElement()
				continue
			}
			switch day := p.readDay(); {
			case start && side == "From":
				date.from = day
			case !start && side == "To":
				date.to = day
			}
		}
	}
	return date
}

// readDay reads Year, Month and Day as ISO 8601.
func (p *advanced) readDay() string {
	var parts [3]string
	for p.nextChild() {
		at := strings.Index("Year Month Day", string(p.name))
		text := p.readTrimmedText()
		switch at {
		case 0:
			parts[0] = text
		case 5:
			parts[1] = "0" + text
		case 11:
			parts[2] = "0" + text
		}
	}
	if parts[0] == "" || len(parts[1]) < 2 || len(parts[2]) < 2 {
		return parts[0]
	}
	return parts[0] + "-" + parts[1][len(parts[1])-2:] + "-" + parts[2][len(parts[2])-2:]
}
