package feed

import "railguard/ofac"

// readFact keeps a feature that is not a digital currency address.
func (p *enhanced) readFact(entity *ofac.Entity, label, value, comments string, date period) {
	if value == "" {
		value = date.String()
	}
	p.addFact(entity, factKindOf(label), label, joinFacts(value, comments))
}

func (p *enhanced) valueDate() period {
	var date period
	for p.nextChild() {
		switch string(p.name) {
		case "fromDateBegin":
			date.from = p.readTrimmedText()
		case "toDateEnd":
			date.to = p.readTrimmedText()
		case "isApproximate":
			date.circa = p.readTrimmedText() == "true"
		default:
			p.skipElement()
		}
	}
	return date
}

// identityDocument reads a passport, a tax number or any other document.
func (p *enhanced) identityDocument(entity *ofac.Entity) {
	label, number, country, issued, expires, valid := "", "", "", "", "", true
	for p.nextChild() {
		switch string(p.name) {
		case "type":
			label = p.readTrimmedText()
		case "documentNumber":
			number = p.readTrimmedText()
		case "issuingCountry":
			country = p.readTrimmedText()
		case "issueDate":
			issued = p.readTrimmedText()
		case "expirationDate":
			expires = p.readTrimmedText()
		case "isValid":
			valid = p.readTrimmedText() != "false"
		default:
			p.skipElement()
		}
	}
	p.addFact(entity, ofac.FactDocument, label, documentText(number, country, issued, expires, valid))
}

func documentText(number, country, issued, expires string, valid bool) string {
	if number == "" {
		return ""
	}
	if issued != "" {
		issued = "issued " + issued
	}
	if expires != "" {
		expires = "expires " + expires
	}
	fraudulent := ""
	if !valid {
		fraudulent = "not valid"
	}
	return joinFacts(number, country, issued, expires, fraudulent)
}

// postalAddress reads an address: the parts of its primary spelling, and the country.
func (p *enhanced) postalAddress(entity *ofac.Entity) {
	country, parts := "", ""
	for p.nextChild() {
		switch string(p.name) {
		case "country":
			country = p.readTrimmedText()
		case "translations":
			for p.nextChild() {
				if text, primary := p.addressTranslation(); primary || parts == "" {
					parts = text
				}
			}
		default:
			p.skipElement()
		}
	}
	p.addFact(entity, ofac.FactPostalAddress, "", joinFacts(parts, country))
}

func (p *enhanced) addressTranslation() (text string, primary bool) {
	for p.nextChild() {
		switch string(p.name) {
		case "isPrimary":
			primary = p.readTrimmedText() == "true"
		case "addressParts":
			for p.nextChild() {
				for p.nextChild() {
					if string(p.name) != "value" {
						p.skipElement()
						continue
					}
					text = joinFacts(text, p.readTrimmedText())
				}
			}
		default:
			p.skipElement()
		}
	}
	return text, primary
}
