package further

import (
	"slices"
	"strings"
	"time"

	"railguard/ofac"
)

// finish puts together what the lines said.
func (f *ftmReader) finish() (Part, error) {
	for i := range f.others {
		f.attach(&f.others[i])
	}
	var part Part
	for _, id := range f.order {
		p := f.parties[id]
		if !f.isListed(p) {
			continue
		}
		if len(part.Entities) == partiesMax {
			return Part{}, refuse(p.entity.row, "", "more than %d listed parties", partiesMax)
		}
		entity := f.partyOf(p)
		if err := check(p.entity.row, &entity); err != nil {
			return Part{}, err
		}
		if len(entity.Names)+len(entity.Addresses) == 0 {
			part.warn("row %d: %s has neither a name nor a wallet: it is shown and matches nothing but its identifiers", p.entity.row, entity.ID)
		}
		nameByID(&entity)
		part.Entities = append(part.Entities, entity)
	}
	if made, err := time.Parse("2006-01-02T15:04:05", f.lastChange); err == nil && made.Year() > 1990 && made.Year() < 2200 {
		part.AsOf = made.UnixNano()
	}
	return part, nil
}

// isListed reports whether a party is one that the list is about.
func (f *ftmReader) isListed(p *ftmParty) bool {
	if f.targets {
		return p.entity.Target != nil && *p.entity.Target
	}
	return p.sanctioned || slices.ContainsFunc(p.entity.texts("topics"), func(topic string) bool {
		return topic == "sanction" || strings.HasPrefix(topic, "sanction.") && topic != "sanction.linked"
	})
}

// attach adds a sanction, a document, a wallet or an ownership to its parties.
func (f *ftmReader) attach(e *ftmEntity) {
	parties := func(names ...string) (all []*ftmParty) {
		for _, id := range e.refers(names...) {
			if p := f.parties[id]; p != nil {
				all = append(all, p)
			}
		}
		return all
	}
	switch e.Schema {
	case "Sanction":
		for _, p := range parties("entity") {
			p.sanctioned = p.sanctioned || !isOver(e)
			p.programs = append(p.programs, e.texts("programId", "program")...)
			for _, reason := range e.texts("reason") {
				p.fact(ofac.FactRemark, "Reason", reason)
			}
		}
	case "Identification", "Passport":
		for _, p := range parties("holder") {
			label := "passport"
			if e.Schema == "Identification" {
				label = documentLabel(strings.Join(e.texts("type"), " "))
			}
			for _, number := range e.texts("number", "passportNumber") {
				p.document(label, number, first(e.texts("country")))
			}
		}
	case "CryptoWallet":
		for _, p := range parties("holder") {
			p.wallets = append(p.wallets, walletsOf(e)...)
		}
	case "Ownership":
		for _, owner := range parties("owner") {
			for _, asset := range parties("asset") {
				share := first(e.texts("percentage"))
				if share != "" {
					share = ", " + share + " %"
				}
				owner.fact(ofac.FactOther, "Owner of", titleOf(asset)+share)
				asset.fact(ofac.FactOther, "Owned by", titleOf(owner)+share)
			}
		}
	}
}

// isOver reports whether a sanction says that it is no longer in force.
func isOver(e *ftmEntity) bool {
	return slices.ContainsFunc(e.texts("status"), func(status string) bool {
		status = strings.ToLower(status)
		return strings.Contains(status, "delisted") || strings.Contains(status, "inactive") || strings.Contains(status, "terminated")
	})
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}

func titleOf(p *ftmParty) string {
	if name := first(p.entity.texts("name")); name != "" {
		return name
	}
	if p.entity.Caption != "" {
		return clean(p.entity.Caption)
	}
	return p.entity.ID
}

func walletsOf(e *ftmEntity) (all []ofac.Address) {
	ticker := first(e.texts("currency"))
	if len(ticker) > labelBytesMax {
		ticker = ""
	}
	for _, key := range e.texts("publicKey") {
		all = append(all, ofac.Address{Ticker: ticker, Value: key})
	}
	return all
}

func (p *ftmParty) fact(kind ofac.FactKind, label, value string) {
	if value = clean(value); value != "" && len(p.extra) < itemsMax {
		p.extra = append(p.extra, ofac.Fact{Kind: kind, Label: label, Value: cut(value, factBytesMax)})
	}
}

func (p *ftmParty) document(label, number, country string) {
	var holder ofac.Entity
	addDocument(&holder, label, number, strings.ToUpper(country))
	if len(p.extra) < itemsMax {
		p.extra = append(p.extra, holder.Facts...)
	}
}

// ftmDocuments are the properties that are identifiers, by the word of their class.
var ftmDocuments = []struct{ property, label string }{
	{"passportNumber", "passport"}, {"taxNumber", "tax_id"}, {"innCode", "tax_id"}, {"vatCode", "tax_id"}, {"registrationNumber", "registration"},
	{"ogrnCode", "registration"}, {"uscCode", "registration"}, {"cikCode", "registration"}, {"leiCode", "lei"}, {"swiftBic", "bic"}, {"bicCode", "bic"}, {"imoNumber", "imo"},
	{"mmsi", "mmsi"}, {"dunsCode", "duns"}, {"email", "email"}, {"website", "website"}, {"phone", "phone"}, {"callSign", "other"}, {"okpoCode", "other"},
}

// ftmFacts are the properties that people read.
var ftmFacts = []struct {
	property, label string
	kind            ofac.FactKind
}{
	{"birthDate", "Birthdate", ofac.FactBirthDate}, {"birthPlace", "Place of birth", ofac.FactBirthPlace}, {"nationality", "Nationality", ofac.FactNationality},
	{"citizenship", "Citizenship", ofac.FactCitizenship}, {"country", "Country", ofac.FactNationality}, {"jurisdiction", "Jurisdiction", ofac.FactNationality},
	{"gender", "Gender", ofac.FactGender}, {"address", "Address", ofac.FactPostalAddress}, {"title", "Title", ofac.FactTitle}, {"position", "Position", ofac.FactTitle},
	{"flag", "Vessel Flag", ofac.FactVessel}, {"type", "Type", ofac.FactOther}, {"notes", "", ofac.FactRemark}, {"topics", "Topic", ofac.FactOther},
}

// partyOf turns a party into a listed entity.
func (f *ftmReader) partyOf(p *ftmParty) ofac.Entity {
	e := &p.entity
	entity := ofac.Entity{ID: e.ID, Type: partyTypes[e.Schema], Sublists: f.labels(e.Datasets), Programs: f.labels(p.programs)}
	for _, of := range []struct {
		property, alias string
		weak            bool
	}{{"name", "A.K.A.", false}, {"alias", "A.K.A.", false}, {"previousName", "F.K.A.", false}, {"abbreviation", "A.K.A.", true}, {"weakAlias", "A.K.A.", true}} {
		for _, name := range e.texts(of.property) {
			if len(name) <= nameBytesMax && len(entity.Names) < namesMax {
				addName(&entity, name, of.alias, of.weak)
			}
		}
	}
	if e.Schema == "CryptoWallet" {
		entity.Addresses = walletsOf(e)
	}
	entity.Addresses = append(entity.Addresses, p.wallets...)
	for _, of := range ftmDocuments {
		label := of.label
		if of.property == "registrationNumber" && e.Schema == "Airplane" {
			label = "aircraft_tail"
		}
		for _, number := range e.texts(of.property) {
			addDocument(&entity, label, number, countryOf(e, label))
		}
	}
	label := "other"
	if e.Schema == "Person" {
		label = "national_id"
	}
	for _, number := range e.texts("idNumber") {
		addDocument(&entity, label, number, countryOf(e, label))
	}
	for _, of := range ftmFacts {
		for _, value := range e.texts(of.property) {
			addFact(&entity, of.kind, of.label, value)
		}
	}
	for _, id := range e.refers("addressEntity") {
		addFact(&entity, ofac.FactPostalAddress, "Address", f.addresses[id])
	}
	entity.Facts = append(entity.Facts, p.extra...)
	if len(entity.Facts) > itemsMax {
		entity.Facts = entity.Facts[:itemsMax]
	}
	return entity
}

// countryOf returns the country of a document among a party's properties: its only one. Identifiers
// that exist once in the world need none.
func countryOf(e *ftmEntity, label string) string {
	if label != "passport" && label != "tax_id" && label != "registration" && label != "national_id" && label != "other" {
		return ""
	}
	countries := e.texts("jurisdiction", "country", "nationality", "citizenship")
	for i := range countries {
		countries[i] = strings.ToUpper(countries[i])
	}
	slices.Sort(countries)
	if countries = slices.Compact(countries); len(countries) == 1 {
		return countries[0]
	}
	return ""
}

// labels are the texts that can name a programme or a dataset.
func (f *ftmReader) labels(texts []string) (all []string) {
	for _, text := range texts {
		if text = cut(clean(text), labelBytesMax*4); text != "" && !slices.Contains(all, text) && len(all) < valuesMax {
			all = append(all, text)
		}
	}
	return all
}
