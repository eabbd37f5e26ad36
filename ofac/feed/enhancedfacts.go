package feed

import "railguard/ofac"

// fact keeps a feature that is no digital currency address.
func (p *enhanced) fact(entity *ofac.Entity, label, value, comments string, date period) {
	if value == "" {
		value = date.String()
	}
	p.addFact(entity, factKindOf(label), label, joinFacts(value, comments))
}

// valueDate reads the dates of a feature.
func (p *enhanced) valueDate() period {
	var date period
	for p.child() {
		switch string(p.name) {
		case "fromDateBegin":
			date.from = p.text()
		case "toDateEnd":
			date.to = p.text()
		case "isApproximate":
			date.circa = p.text() == "true"
		default:
			p.skip()
		}
	}
	return date
}

// identityDocument reads a passport, a tax number or any other document.
func (p *enhanced) identityDocument(entity *ofac.Entity) {
	label, number, country, issued, expires, valid := "", "", "", "", "", true
	for p.child() {
		switch string(p.name) {
		case "type":
			label = p.text()
		case "documentNumber":
			number = p.text()
		case "issuingCountry":
			country = p.text()
		case "issueDate":
			issued = p.text()
		case "expirationDate":
			expires = p.text()
		case "isValid":
			valid = p.text() != "false"
		default:
			p.skip()
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
	for p.child() {
		switch string(p.name) {
		case "country":
			country = p.text()
		case "translations":
			for p.child() {
				if text, primary := p.addressTranslation(); primary || parts == "" {
					parts = text
				}
			}
		default:
			p.skip()
		}
	}
	p.addFact(entity, ofac.FactPostalAddress, "", joinFacts(parts, country))
}

func (p *enhanced) addressTranslation() (text string, primary bool) {
	for p.child() {
		switch string(p.name) {
		case "isPrimary":
			primary = p.text() == "true"
		case "addressParts":
			for p.child() {
				for p.child() {
					if string(p.name) != "value" {
						p.skip()
						continue
					}
					text = joinFacts(text, p.text())
				}
			}
		default:
			p.skip()
		}
	}
	return text, primary
}
