package feed

import (
	"bytes"
	"io"
	"time"

	"railguard/ofac"
)

// ParseENHANCED reads SDN_ENHANCED.XML or CONS_ENHANCED.XML. It takes the family from the
// export filter that the file states. It refuses a file exported for some programmes or for
// another list, since that is no full list. Every error is an *Error.
func ParseENHANCED(source io.Reader) (List, error) {
	p := &enhanced{builder: newBuilder(newScanner(source))}
	if p.openDocument() && p.expectRoot(rootEnhanced, namespaceEnhanced) {
		p.readDocument()
	}
	if err := p.closeDocument(); err != nil {
		return List{}, err
	}
	return List{Format: FormatENHANCED, Family: p.family, DataAsOf: p.dataAsOf, Entities: sortEntities(p.entities), Quarantined: p.quarantined, Suspects: p.suspects}, nil
}

// enhanced is one run over an ENHANCED file, in which every entity is complete
// in itself and every reference is spelled out.
type enhanced struct {
	builder
	family   ofac.Lists
	dataAsOf int64
}

func (p *enhanced) readDocument() {
	for p.nextChild() {
		switch string(p.name) {
		case "publicationInfo":
			p.publicationInfo()
		case "entities":
			for p.nextChild() {
				p.readEntity()
			}
		default:
			p.skipElement()
		}
	}
	p.tooManyAside()
	switch {
	case p.failure != nil:
	case p.dataAsOf == 0:
		p.keepFailuref(ReasonSchema, "no dataAsOf")
	case len(p.entities) == 0:
		p.keepFailuref(ReasonEmpty, "no entity: an empty list")
	}
}

func (p *enhanced) publicationInfo() {
	for p.nextChild() {
		switch string(p.name) {
		case "dataAsOf":
			p.dataAsOf = p.dateTime(string(bytes.TrimSpace(p.readText())))
		case "filters":
			p.readFilters()
		default:
			p.skipElement()
		}
	}
}

// dateTime reads an xs:dateTime; one without a zone, as OFAC writes it, is UTC.
func (p *enhanced) dateTime(text string) int64 {
	if p.failure != nil {
		return 0
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.RFC3339, time.DateOnly} {
		if date, err := time.Parse(layout, text); err == nil && isPlausible(date) {
			return date.UTC().UnixNano()
		}
	}
	p.keepFailuref(ReasonSchema, "dataAsOf %s is no date", quoteShort([]byte(text)))
	return 0
}

// readFilters reads the filters with which the file was exported.
func (p *enhanced) readFilters() {
	for p.nextChild() {
		switch string(p.name) {
		case "sanctionsLists":
			for p.nextChild() {
				name := p.internLabel(p.readText())
				bit := listBits([]string{name})
				if bit == 0 {
					p.keepFailuref(ReasonFamily, "an export of %q: a full export of %q or %q was expected", name, listSDN, listCONS)
				}
				p.family |= bit
			}
		case "sanctionsPrograms":
			for p.nextChild() {
				p.keepFailuref(ReasonFamily, "an export for some programmes: a full list was expected")
			}
		default:
			p.skipElement()
		}
	}
	if p.family == ofac.ListSDN|ofac.ListCONS {
		p.keepFailuref(ReasonFamily, "one export of both %q and %q: one list a file was expected", listSDN, listCONS)
	}
}

// readEntity reads one entity, or sets it aside if it is malformed.
func (p *enhanced) readEntity() {
	depth := len(p.marks)
	uid := p.readID("id")
	p.wholeEntity(uid)
	p.setAside(uid, depth)
}

func (p *enhanced) wholeEntity(uid uint32) {
	entity := ofac.Entity{UID: uid}
	if !p.beginEntity(entity.UID) {
		return
	}
	for p.nextChild() {
		switch string(p.name) {
		case "generalInfo":
			p.generalInfo(&entity)
		case "sanctionsLists":
			for p.nextChild() {
				p.addLabel(&entity, &entity.Sublists, p.internLabel(p.readText()))
			}
		case "sanctionsPrograms":
			for p.nextChild() {
				p.addLabel(&entity, &entity.Programs, p.internLabel(p.readText()))
			}
		case "names":
			for p.nextChild() {
				p.readNames(&entity)
			}
		case "features":
			for p.nextChild() {
				p.readFeature(&entity)
			}
		case "identityDocuments":
			for p.nextChild() {
				p.identityDocument(&entity)
			}
		case "addresses":
			for p.nextChild() {
				p.postalAddress(&entity)
			}
		default:
			p.skipElement()
		}
	}
	if len(entity.Sublists) == 0 {
		p.keepFailuref(ReasonSchema, "entity %d stands on no list", entity.UID)
	}
	p.endEntity(&entity)
}

func (p *enhanced) generalInfo(entity *ofac.Entity) {
	for p.nextChild() {
		switch string(p.name) {
		case "entityType":
			p.entityType(entity)
		case "title":
			p.addFact(entity, ofac.FactTitle, "", p.readTrimmedText())
		case "remarks":
			p.addFact(entity, ofac.FactRemark, "", p.readTrimmedText())
		default:
			p.skipElement()
		}
	}
}

func (p *enhanced) entityType(entity *ofac.Entity) {
	switch word := p.internLabel(p.readText()); word {
	case "Individual":
		entity.Type = ofac.Individual
	case "Entity":
		entity.Type = ofac.Company
	case "Vessel":
		entity.Type = ofac.Vessel
	case "Aircraft":
		entity.Type = ofac.Aircraft
	default:
		p.keepFailuref(ReasonSchema, "entity %d is of the unknown type %q", entity.UID, word)
	}
}

// readNames reads one <name>: its quality and kind, and each of its translations,
// which are the same name in other scripts.
func (p *enhanced) readNames(entity *ofac.Entity) {
	kind, primary, weak := aliasPrimary, false, false
	seen := 0 // How many of isPrimary and isLowQuality were read.
	first := len(entity.Names)
	for p.nextChild() {
		switch string(p.name) {
		case "isPrimary":
			primary = p.readFlag(p.readText())
			seen++
		case "isLowQuality":
			weak = p.readFlag(p.readText())
			seen++
		case "aliasType":
			kind = p.internLabel(p.readText())
			if p.failure == nil && (!knownAlias(kind) || kind == aliasPrimary) {
				p.keepFailuref(ReasonSchema, "alias type %q", kind)
			}
		case "translations":
			for p.nextChild() {
				p.readTranslation(entity)
			}
		default:
			p.skipElement()
		}
	}
	if seen != 2 {
		p.keepFailuref(ReasonSchema, "entity %d: a name without isPrimary or isLowQuality", entity.UID)
	}
	for i := first; i < len(entity.Names); i++ {
		name := &entity.Names[i]
		name.AliasType, name.Weak = kind, weak
		name.Primary = name.Primary && primary
	}
}

// readTranslation reads one written form of a name. It sets Primary from the translation
// alone; readNames combines this with the flag of the name itself.
func (p *enhanced) readTranslation(entity *ofac.Entity) {
	name := ofac.Name{ID: p.readID("id")}
	for p.nextChild() {
		switch string(p.name) {
		case "isPrimary":
			name.Primary = p.readFlag(p.readText())
		case "script":
			name.Script = p.internLabel(p.readText())
		case "formattedFullName":
			name.Full = string(bytes.TrimSpace(p.readText()))
		case "nameParts":
			for p.nextChild() {
				p.namePart(&name)
			}
		default:
			p.skipElement()
		}
	}
	if p.failure == nil && name.Script == "" {
		p.keepFailuref(ReasonSchema, "name %d without a script", name.ID)
	}
	p.addName(entity, name)
}

func (p *enhanced) namePart(name *ofac.Name) {
	kind := ""
	for p.nextChild() {
		switch string(p.name) {
		case "type":
			kind = p.internLabel(p.readText())
		case "value":
			p.addPart(name, kind, p.readText())
		default:
			p.skipElement()
		}
	}
}

// readFeature keeps a feature as a digital currency address or as a fact. The feature's
// type stands in its first child.
func (p *enhanced) readFeature(entity *ofac.Entity) {
	address := ofac.Address{FeatureID: p.readID("id")}
	currency, label, value, comments, date := false, "", "", "", period{}
	for p.nextChild() {
		switch string(p.name) {
		case "type":
			text := p.readText()
			ticker, ok := bytes.CutPrefix(text, []byte(currencyPrefix))
			if ok {
				currency = true
				address.Ticker = p.internLabel(ticker)
			} else {
				label = string(bytes.TrimSpace(text))
			}
		case "value":
			value = p.readTrimmedText()
		case "valueDate":
			date = p.valueDate()
		case "comments":
			comments = p.readTrimmedText()
		default:
			p.skipElement()
		}
	}
	if !currency {
		p.readFact(entity, label, value, comments, date)
		return
	}
	address.Value = value
	if address.Value == "" {
		p.keepFailuref(ReasonSchema, "entity %d: digital currency feature %d has no address", entity.UID, address.FeatureID)
	}
	p.addAddress(entity, address)
}
