package feed

import (
	"bytes"
	"io"
	"time"

	"railguard/ofac"
)

// ParseENHANCED reads SDN_ENHANCED.XML or CONS_ENHANCED.XML. The family is told
// by the filter that the file says it was exported with; a file exported for
// some programmes or another list is refused, since it is no full list. Every
// error is an *Error.
func ParseENHANCED(source io.Reader) (List, error) {
	p := &enhanced{builder: newBuilder(newScanner(source))}
	if p.open() && p.expectRoot(rootEnhanced, namespaceEnhanced) {
		p.document()
	}
	if err := p.close(); err != nil {
		return List{}, err
	}
	return List{Format: FormatENHANCED, Family: p.family, DataAsOf: p.dataAsOf, Entities: sorted(p.entities), Quarantined: p.quarantined, Suspects: p.suspects}, nil
}

// enhanced is one run over an ENHANCED file, in which every entity is complete
// in itself and every reference is spelled out.
type enhanced struct {
	builder
	family   ofac.Lists
	dataAsOf int64
}

func (p *enhanced) document() {
	for p.child() {
		switch string(p.name) {
		case "publicationInfo":
			p.publicationInfo()
		case "entities":
			for p.child() {
				p.entity()
			}
		default:
			p.skip()
		}
	}
	p.tooManyAside()
	switch {
	case p.failure != nil:
	case p.dataAsOf == 0:
		p.failf(ReasonSchema, "no dataAsOf")
	case len(p.entities) == 0:
		p.failf(ReasonEmpty, "no entity: an empty list")
	}
}

func (p *enhanced) publicationInfo() {
	for p.child() {
		switch string(p.name) {
		case "dataAsOf":
			p.dataAsOf = p.dateTime(string(bytes.TrimSpace(p.readText())))
		case "filters":
			p.filters()
		default:
			p.skip()
		}
	}
}

// dateTime reads an xs:dateTime; one without a zone, as OFAC writes it, is UTC.
func (p *enhanced) dateTime(text string) int64 {
	if p.failure != nil {
		return 0
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.RFC3339, time.DateOnly} {
		if date, err := time.Parse(layout, text); err == nil && plausible(date) {
			return date.UTC().UnixNano()
		}
	}
	p.failf(ReasonSchema, "dataAsOf %s is no date", quoteShort([]byte(text)))
	return 0
}

// filters reads what the export was limited to.
func (p *enhanced) filters() {
	for p.child() {
		switch string(p.name) {
		case "sanctionsLists":
			for p.child() {
				name := p.label(p.readText())
				bit := listBits([]string{name})
				if bit == 0 {
					p.failf(ReasonFamily, "an export of %q: a full export of %q or %q was expected", name, listSDN, listCONS)
				}
				p.family |= bit
			}
		case "sanctionsPrograms":
			for p.child() {
				p.failf(ReasonFamily, "an export for some programmes: a full list was expected")
			}
		default:
			p.skip()
		}
	}
	if p.family == ofac.ListSDN|ofac.ListCONS {
		p.failf(ReasonFamily, "one export of both %q and %q: one list a file was expected", listSDN, listCONS)
	}
}

// entity reads one entity, or sets it aside if it is malformed.
func (p *enhanced) entity() {
	depth := len(p.marks)
	uid := p.id("id")
	p.wholeEntity(uid)
	p.setAside(uid, depth)
}

func (p *enhanced) wholeEntity(uid uint32) {
	entity := ofac.Entity{UID: uid}
	if !p.begin(entity.UID) {
		return
	}
	for p.child() {
		switch string(p.name) {
		case "generalInfo":
			p.generalInfo(&entity)
		case "sanctionsLists":
			for p.child() {
				p.addLabel(&entity, &entity.Sublists, p.label(p.readText()))
			}
		case "sanctionsPrograms":
			for p.child() {
				p.addLabel(&entity, &entity.Programs, p.label(p.readText()))
			}
		case "names":
			for p.child() {
				p.names(&entity)
			}
		case "features":
			for p.child() {
				p.feature(&entity)
			}
		case "identityDocuments":
			for p.child() {
				p.identityDocument(&entity)
			}
		case "addresses":
			for p.child() {
				p.postalAddress(&entity)
			}
		default:
			p.skip()
		}
	}
	if len(entity.Sublists) == 0 {
		p.failf(ReasonSchema, "entity %d stands on no list", entity.UID)
	}
	p.end(&entity)
}

func (p *enhanced) generalInfo(entity *ofac.Entity) {
	for p.child() {
		switch string(p.name) {
		case "entityType":
			p.entityType(entity)
		case "title":
			p.addFact(entity, ofac.FactTitle, "", p.text())
		case "remarks":
			p.addFact(entity, ofac.FactRemark, "", p.text())
		default:
			p.skip()
		}
	}
}

func (p *enhanced) entityType(entity *ofac.Entity) {
	switch word := p.label(p.readText()); word {
	case "Individual":
		entity.Type = ofac.Individual
	case "Entity":
		entity.Type = ofac.Company
	case "Vessel":
		entity.Type = ofac.Vessel
	case "Aircraft":
		entity.Type = ofac.Aircraft
	default:
		p.failf(ReasonSchema, "entity %d is of the unknown type %q", entity.UID, word)
	}
}

// names reads one <name>: its quality and kind, and each of its translations,
// which are the same name in other scripts.
func (p *enhanced) names(entity *ofac.Entity) {
	kind, primary, weak := aliasPrimary, false, false
	seen := 0 // Of isPrimary and isLowQuality.
	first := len(entity.Names)
	for p.child() {
		switch string(p.name) {
		case "isPrimary":
			primary = p.flag(p.readText())
			seen++
		case "isLowQuality":
			weak = p.flag(p.readText())
			seen++
		case "aliasType":
			kind = p.label(p.readText())
			if p.failure == nil && (!knownAlias(kind) || kind == aliasPrimary) {
				p.failf(ReasonSchema, "alias type %q", kind)
			}
		case "translations":
			for p.child() {
				p.translation(entity)
			}
		default:
			p.skip()
		}
	}
	if seen != 2 {
		p.failf(ReasonSchema, "entity %d: a name without isPrimary or isLowQuality", entity.UID)
	}
	for i := first; i < len(entity.Names); i++ {
		name := &entity.Names[i]
		name.AliasType, name.Weak = kind, weak
		name.Primary = name.Primary && primary
	}
}

// translation reads one written form of a name. Its Primary is that of the
// translation alone; names joins the name's own to it.
func (p *enhanced) translation(entity *ofac.Entity) {
	name := ofac.Name{ID: p.id("id")}
	for p.child() {
		switch string(p.name) {
		case "isPrimary":
			name.Primary = p.flag(p.readText())
		case "script":
			name.Script = p.label(p.readText())
		case "formattedFullName":
			name.Full = string(bytes.TrimSpace(p.readText()))
		case "nameParts":
			for p.child() {
				p.namePart(&name)
			}
		default:
			p.skip()
		}
	}
	if p.failure == nil && name.Script == "" {
		p.failf(ReasonSchema, "name %d without a script", name.ID)
	}
	p.addName(entity, name)
}

func (p *enhanced) namePart(name *ofac.Name) {
	kind := ""
	for p.child() {
		switch string(p.name) {
		case "type":
			kind = p.label(p.readText())
		case "value":
			p.addPart(name, kind, p.readText())
		default:
			p.skip()
		}
	}
}

// feature keeps a digital currency address, or a fact. The feature's type stands in
// its first child.
func (p *enhanced) feature(entity *ofac.Entity) {
	address := ofac.Address{FeatureID: p.id("id")}
	currency, label, value, comments, date := false, "", "", "", period{}
	for p.child() {
		switch string(p.name) {
		case "type":
			text := p.readText()
			ticker, ok := bytes.CutPrefix(text, []byte(currencyPrefix))
			if ok {
				currency = true
				address.Ticker = p.label(ticker)
			} else {
				label = string(bytes.TrimSpace(text))
			}
		case "value":
			value = p.text()
		case "valueDate":
			date = p.valueDate()
		case "comments":
			comments = p.text()
		default:
			p.skip()
		}
	}
	if !currency {
		p.fact(entity, label, value, comments, date)
		return
	}
	address.Value = value
	if address.Value == "" {
		p.failf(ReasonSchema, "entity %d: digital currency feature %d has no address", entity.UID, address.FeatureID)
	}
	p.addAddress(entity, address)
}
