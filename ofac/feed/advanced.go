package feed

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"railguard/ofac"
)

// ParseADVANCED reads SDN_ADVANCED.XML or CONS_ADVANCED.XML. It derives the family from the
// lists that the parties stand on; the family stays 0 when every party stands on both.
// Every error is an *Error.
func ParseADVANCED(source io.Reader) (List, error) {
	p := &advanced{builder: newBuilder(newScanner(source)), profiles: map[uint32]int{}, groups: map[uint32]string{},
		facts: advancedFacts{places: map[uint32]string{}, documents: map[uint32][]ofac.Fact{}}}
	if p.openDocument() && p.expectRoot(rootAdvanced, namespaceAdvanced) {
		p.readDocument()
	}
	if err := p.closeDocument(); err != nil {
		return List{}, err
	}
	family, err := p.readFamily()
	if err != nil {
		return List{}, err
	}
	return List{Format: FormatADVANCED, Family: family, DataAsOf: p.dataAsOf, Entities: sortEntities(p.entities), Quarantined: p.quarantined, Suspects: p.suspects}, nil
}

// advanced is one run over an ADVANCED file. The file gives reference tables first, then
// the parties, then the programmes and lists of each party's profile. The sections refer to
// each other by id.
type advanced struct {
	builder
	dataAsOf int64

	aliasTypes  map[uint32]string
	nameStatus  map[uint32]string
	partTypes   map[uint32]string
	scripts     map[uint32]string
	lists       map[uint32]string
	measures    map[uint32]string
	currencies  map[uint32]string // By feature type: the ticker.
	partyTypes  map[uint32]string
	partyKinds  map[uint32]partyKind // By PartySubTypeID.
	entriesSeen bool

	profiles map[uint32]int // By profile id: the index of its entity, or asideAt for an entity that was set aside.
	own      []uint32       // Profile ids of the current party.
	facts    advancedFacts

	// For the current identity: the group of each name part, in the order of reading, and the
	// type of each group. The file gives the types after the names.
	partGroups []uint32
	groups     map[uint32]string
}

type partyKind struct {
	name    string
	typeRef uint32
}

const (
	statusPrimary  = "Primary Latin" // DocNameStatus of the primary spelling.
	measureProgram = "Program"       // SanctionsType whose comment is a programme code.
)

func (p *advanced) readDocument() {
	for p.nextChild() {
		switch string(p.name) {
		case "DateOfIssue":
			p.dataAsOf = p.readDate()
		case "ReferenceValueSets":
			p.referenceValues()
		case "DistinctParties":
			if p.partyKinds == nil {
				p.keepFailuref(ReasonSchema, "parties before the reference values")
				return
			}
			for p.nextChild() {
				p.readParty()
			}
			p.tooManyAside()
		case "Locations":
			for p.nextChild() {
				p.readLocation()
			}
		case "IDRegDocuments":
			for p.nextChild() {
				p.identityDocument()
			}
		case "SanctionsEntries":
			p.entriesSeen = true
			for p.nextChild() {
				p.readEntry()
			}
		default:
			p.skipElement()
		}
	}
	switch {
	case p.failure != nil:
	case p.dataAsOf == 0:
		p.keepFailuref(ReasonSchema, "no DateOfIssue")
	case len(p.entities) == 0:
		p.keepFailuref(ReasonEmpty, "no DistinctParty: an empty list")
	case !p.entriesSeen:
		p.keepFailuref(ReasonSchema, "no SanctionsEntries")
	}
}

// readDate reads Year, Month and Day as midnight UTC, in ns.
func (p *advanced) readDate() int64 {
	var parts [3]int
	for p.nextChild() {
		var at int
		switch string(p.name) {
		case "Year":
			at = 0
		case "Month":
			at = 1
		case "Day":
			at = 2
		default:
			p.skipElement()
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(p.readText())), 10, 16)
		if err != nil && p.failure == nil {
			p.keepFailuref(ReasonSchema, "DateOfIssue: a number was expected")
		}
		parts[at] = int(n)
	}
	if p.failure != nil {
		return 0
	}
	date := time.Date(parts[0], time.Month(parts[1]), parts[2], 0, 0, 0, 0, time.UTC)
	if !isPlausible(date) || date.Day() != parts[2] || int(date.Month()) != parts[1] {
		p.keepFailuref(ReasonSchema, "DateOfIssue %d-%d-%d is no date", parts[0], parts[1], parts[2])
		return 0
	}
	return date.UnixNano()
}

// isPlausible reports whether a list's date is in the years that an OFAC file can have.
func isPlausible(date time.Time) bool { return date.Year() >= 1990 && date.Year() < 2200 }

func (p *advanced) referenceValues() {
	f := &p.facts
	tables := map[string]*map[uint32]string{
		"AliasTypeValues":     &p.aliasTypes,
		"DocNameStatusValues": &p.nameStatus,
		"NamePartTypeValues":  &p.partTypes,
		"ScriptValues":        &p.scripts,
		"ListValues":          &p.lists,
		"SanctionsTypeValues": &p.measures,
		"PartyTypeValues":     &p.partyTypes,
		"FeatureTypeValues":   &f.features,
	}
	facts := map[string]*map[uint32]string{
		"CountryValues": &f.countries, "AreaCodeValues": &f.areas, "DetailReferenceValues": &f.details, "IDRegDocTypeValues": &f.documentTypes,
	}
	for p.nextChild() {
		if table, ok := facts[string(p.name)]; ok {
			*table = p.factTable()
			continue
		}
		if table, ok := tables[string(p.name)]; ok {
			*table = p.readTable()
			continue
		}
		if string(p.name) == "PartySubTypeValues" {
			p.partyKindTable()
			continue
		}
		p.skipElement()
	}
	p.currencies = map[uint32]string{}
	for id, text := range f.features { // The order of the map does not matter: the result is a map too.
		if ticker, ok := strings.CutPrefix(text, currencyPrefix); ok {
			p.currencies[id] = strings.TrimSpace(ticker)
		}
	}
	if p.partyKinds == nil {
		p.keepFailuref(ReasonSchema, "the reference values hold no party types")
	}
}

// readTable reads one set of reference values: id to text.
func (p *advanced) readTable() map[uint32]string {
	values := map[uint32]string{}
	for p.nextChild() {
		id := p.readID("ID")
		values[id] = p.internLabel(p.readText())
		if len(values) > ReferenceValuesMax {
			p.keepFailuref(ReasonTooLarge, "more than %d reference values", ReferenceValuesMax)
		}
	}
	return values
}

func (p *advanced) partyKindTable() {
	p.partyKinds = map[uint32]partyKind{}
	for p.nextChild() {
		id, typeRef := p.readID("ID"), p.readID("PartyTypeID")
		p.partyKinds[id] = partyKind{p.internLabel(p.readText()), typeRef}
		if len(p.partyKinds) > ReferenceValuesMax {
			p.keepFailuref(ReasonTooLarge, "more than %d party types", ReferenceValuesMax)
		}
	}
}

// resolveReference looks a required reference up.
func (p *advanced) resolveReference(table map[uint32]string, attribute string) string {
	id := p.readID(attribute)
	text, ok := table[id]
	if !ok {
		p.keepFailuref(ReasonSchema, "%s %d is not among the reference values", attribute, id)
	}
	return text
}

// asideAt stands in profiles for an entity that was set aside.
const asideAt = -1

// readParty reads one party, or sets it aside if it is malformed.
func (p *advanced) readParty() {
	depth := len(p.marks)
	uid := p.readID("FixedRef")
	p.own = p.own[:0]
	p.wholeParty(uid)
	if p.failure == nil {
		return
	}
	for _, id := range p.own {
		p.profiles[id] = asideAt
	}
	p.setAside(uid, depth)
}

func (p *advanced) wholeParty(uid uint32) {
	entity := ofac.Entity{UID: uid}
	if !p.beginEntity(entity.UID) {
		return
	}
	for p.nextChild() {
		switch string(p.name) {
		case "Profile":
			p.readProfile(&entity)
		case "Comment":
			p.addFact(&entity, ofac.FactRemark, "", p.readTrimmedText())
		default:
			p.skipElement()
		}
	}
	p.endEntity(&entity)
}

func (p *advanced) readProfile(entity *ofac.Entity) {
	id := p.readID("ID")
	if _, twice := p.profiles[id]; twice {
		p.keepFailuref(ReasonSchema, "profile %d twice", id)
	}
	if len(p.profiles) == EntitiesMax {
		p.keepFailuref(ReasonTooLarge, "more than %d profiles", EntitiesMax)
	}
	p.profiles[id], p.own = len(p.entities), append(p.own, id)
	kind, ok := p.partyKinds[p.readID("PartySubTypeID")]
	entity.Type = entityType(p.partyTypes[kind.typeRef], kind.name)
	if !ok || entity.Type == 0 {
		p.keepFailuref(ReasonSchema, "party %d is of an unknown type %q %q", entity.UID, p.partyTypes[kind.typeRef], kind.name)
		return
	}
	for p.nextChild() {
		switch string(p.name) {
		case "Identity":
			p.readIdentity(entity)
		case "Feature":
			p.readFeature(entity)
		default:
			p.skipElement()
		}
	}
}

// entityType maps ADVANCED's two levels of party types to the four neutral types.
func entityType(partyType, subType string) ofac.EntityType {
	switch partyType {
	case "Individual":
		return ofac.Individual
	case "Entity":
		return ofac.Company
	case "Transport":
		switch subType {
		case "Vessel":
			return ofac.Vessel
		case "Aircraft":
			return ofac.Aircraft
		}
	}
	return 0
}

// readFeature keeps a feature as a digital currency address or as a fact.
func (p *advanced) readFeature(entity *ofac.Entity) {
	kind := p.readID("FeatureTypeID")
	ticker, ok := p.currencies[kind]
	if !ok {
		p.readFact(entity, p.facts.features[kind])
		return
	}
	id, found := p.readID("ID"), 0
	for p.nextChild() {
		if string(p.name) != "FeatureVersion" {
			p.skipElement()
			continue
		}
		for p.nextChild() {
			if string(p.name) != "VersionDetail" {
				p.skipElement()
				continue
			}
			value := string(bytes.TrimSpace(p.readText()))
			p.addAddress(entity, ofac.Address{Ticker: ticker, Value: value, FeatureID: id})
			found++
		}
	}
	if found == 0 {
		p.keepFailuref(ReasonSchema, "party %d: digital currency feature %d has no address", entity.UID, id)
	}
}

// readEntry reads the list and the programmes that a profile stands on.
func (p *advanced) readEntry() {
	profile, list := p.readID("ProfileID"), p.resolveReference(p.lists, "ListID")
	at, ok := p.profiles[profile]
	if !ok {
		p.keepFailuref(ReasonSchema, "a sanctions entry for profile %d, which is not among the parties", profile)
		return
	}
	if at == asideAt {
		p.skipElement()
		return
	}
	entity := &p.entities[at]
	p.addLabel(entity, &entity.Sublists, list)
	for p.nextChild() {
		if string(p.name) != "SanctionsMeasure" || p.resolveReference(p.measures, "SanctionsTypeID") != measureProgram {
			p.skipElement()
			continue
		}
		for p.nextChild() {
			if string(p.name) != "Comment" {
				p.skipElement()
				continue
			}
			if program := p.readText(); len(bytes.TrimSpace(program)) > 0 {
				p.addLabel(entity, &entity.Programs, p.internLabel(program))
			}
		}
	}
}

// readFamily tells SDN from CONS. Every party of the SDN file stands on the SDN List and
// every party of the CONS file on the Consolidated List; some stand on both.
func (p *advanced) readFamily() (ofac.Lists, error) {
	both := ofac.ListSDN | ofac.ListCONS
	for i := range p.entities {
		e := &p.entities[i]
		if len(e.Sublists) == 0 {
			return 0, newRefusal(ReasonSchema, "party %d has no sanctions entry", e.UID)
		}
		both &= listBits(e.Sublists)
	}
	if both == ofac.ListSDN|ofac.ListCONS {
		return 0, nil
	}
	if both == 0 {
		return 0, newRefusal(ReasonFamily, "the parties share neither the list %q nor %q: a full SDN or CONS file was expected", listSDN, listCONS)
	}
	return both, nil
}

func listBits(sublists []string) (bits ofac.Lists) {
	for _, list := range sublists {
		switch list {
		case listSDN:
			bits |= ofac.ListSDN
		case listCONS:
			bits |= ofac.ListCONS
		}
	}
	return bits
}
