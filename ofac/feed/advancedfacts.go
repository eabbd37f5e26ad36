package feed

import (
	"strings"

	"railguard/ofac"
)

// What ADVANCED says of a party besides its names stands in three places: places
// and documents before the parties, by id; and features in the parties.

// advancedFacts are the tables facts are read with.
type advancedFacts struct {
	features      map[uint32]string // Feature type to its text.
	details       map[uint32]string
	countries     map[uint32]string
	areas         map[uint32]string
	documentTypes map[uint32]string
	places        map[uint32]string // Location id to its text.
	documents     map[uint32][]ofac.Fact
	documentCount int
}

// factTable reads reference values that facts alone need: any text will do.
func (p *advanced) factTable() map[uint32]string {
	values := map[uint32]string{}
	for p.child() {
		id := p.id("ID")
		described := ""
		if value, ok := p.attribute("Description"); ok { // an area's name; its text is a code
			described = string(value)
		}
		text := p.text()
		if described != "" {
			text = described
		}
		if len(values) < ReferenceValuesMax {
			values[id] = text
		}
	}
	return values
}

// location reads a place.
func (p *advanced) location() {
	id, text, country := p.id("ID"), "", ""
	for p.child() {
		switch string(p.name) {
		case "LocationPart":
			text = joinFacts(text, p.locationPart())
		case "LocationAreaCode":
			if area := p.optional(p.facts.areas, "AreaCodeID"); country == "" {
				country = area
			}
			p.skip()
		case "LocationCountry":
			if name := p.optional(p.facts.countries, "CountryID"); name != "" {
				country = name
			}
			p.skip()
		default:
			p.skip()
		}
	}
	if len(p.facts.places) < NamesMax {
		p.facts.places[id] = joinFacts(text, country)
	}
}

// locationPart reads the first value of a part.
func (p *advanced) locationPart() string {
	text := ""
	for p.child() {
		if string(p.name) != "LocationPartValue" {
			p.skip()
			continue
		}
		for p.child() {
			if string(p.name) != "Value" || text != "" {
				p.skip()
				continue
			}
			text = p.text()
		}
	}
	return text
}

// optional looks a reference up that facts can do without.
func (p *advanced) optional(table map[uint32]string, attribute string) string {
	value, ok := p.attribute(attribute)
	if !ok {
		return ""
	}
	id, _ := parseID(value)
	return table[id]
}

// identityDocument reads an identity document, which belongs to an identity that follows.
func (p *advanced) identityDocument() {
	label, country := p.optional(p.facts.documentTypes, "IDRegDocTypeID"), p.optional(p.facts.countries, "IssuedBy-CountryID")
	identity, number := p.id("IdentityID"), ""
	for p.child() {
		if string(p.name) != "IDRegistrationNo" {
			p.skip()
			continue
		}
		number = p.text()
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

// fact reads a feature that is no digital currency address, version by version.
func (p *advanced) fact(entity *ofac.Entity, label string) {
	for p.child() {
		if string(p.name) != "FeatureVersion" {
			p.skip()
			continue
		}
		value, comment := "", ""
		for p.child() {
			switch string(p.name) {
			case "Comment":
				comment = p.text()
			case "VersionDetail":
				detail := p.optional(p.facts.details, "DetailReferenceID")
				value = joinFacts(value, detail, p.text())
			case "VersionLocation":
				value = joinFacts(value, p.optional(p.facts.places, "LocationID"))
				p.skip()
			case "DatePeriod":
				value = joinFacts(value, p.datePeriod().String())
			default:
				p.skip()
			}
		}
		p.addFact(entity, factKindOf(label), label, joinFacts(value, comment))
	}
}

// datePeriod reads the first day and the last that a date may mean.
func (p *advanced) datePeriod() period {
	var date period
	for p.child() {
		start := string(p.name) == "Start"
		if !start && string(p.name) != "End" {
			p.skip()
			continue
		}
		if value, ok := p.attribute("Approximate"); ok && string(value) == "true" {
			date.circa = true
		}
		for p.child() {
			side := string(p.name)
			if side != "From" && side != "To" {
				p.skip()
				continue
			}
			switch day := p.day(); {
			case start && side == "From":
				date.from = day
			case !start && side == "To":
				date.to = day
			}
		}
	}
	return date
}

// day reads Year, Month and Day as ISO 8601.
func (p *advanced) day() string {
	var parts [3]string
	for p.child() {
		at := strings.Index("Year Month Day", string(p.name))
		text := p.text()
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
