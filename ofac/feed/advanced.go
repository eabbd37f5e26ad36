package feed

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"

	"railguard/ofac"
)

// ParseADVANCED reads SDN_ADVANCED.XML or CONS_ADVANCED.XML. The family is told
// by the lists that the parties stand on; it stays 0 when every party stands on
// both. Every error is an *Error.
func ParseADVANCED(source io.Reader) (List, error) {
	p := &advanced{builder: newBuilder(newScanner(source)), profiles: map[uint32]int{}, groups: map[uint32]string{},
		facts: advancedFacts{places: map[uint32]string{}, documents: map[uint32][]ofac.Fact{}}}
	if p.open() && p.expectRoot(rootAdvanced, namespaceAdvanced) {
		p.document()
	}
	if err := p.close(); err != nil {
		return List{}, err
	}
	family, err := p.family()
	if err != nil {
		return List{}, err
	}
	return List{Format: FormatADVANCED, Family: family, DataAsOf: p.dataAsOf, Entities: sorted(p.entities), Quarantined: p.quarantined, Suspects: p.suspects}, nil
}

// advanced is one run over an ADVANCED file. The file gives reference tables
// first, then the parties, then what programmes and lists each party's profile
// stands on; all of it refers by id.
type advanced struct {
	builder
	dataAsOf int64

	aliasTypes  map[uint32]string
	nameStatus  map[uint32]string
	partTypes   map[uint32]string
	scripts     map[uint32]string
	lists       map[uint32]string
	measures    map[uint32]string
	currencies  map[uint32]string // Feature type to ticker.
	partyTypes  map[uint32]string
	partyKinds  map[uint32]partyKind // By PartySubTypeID.
	entriesSeen bool

	profiles map[uint32]int // Profile id to its entity's place; asideAt for one that was set aside.
	own      []uint32       // Profile ids of the party at hand.
	facts    advancedFacts

	// Of the identity at hand: the group of each part in reading order, and the
	// type of each group, which the file gives after the names.
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

func (p *advanced) document() {
	for p.child() {
		switch string(p.name) {
		case "DateOfIssue":
			p.dataAsOf = p.date()
		case "ReferenceValueSets":
			p.referenceValues()
		case "DistinctParties":
			if p.partyKinds == nil {
				p.failf(ReasonSchema, "parties before the reference values")
				return
			}
			for p.child() {
				p.party()
			}
			p.tooManyAside()
		case "Locations":
			for p.child() {
				p.location()
			}
		case "IDRegDocuments":
			for p.child() {
				p.identityDocument()
			}
		case "SanctionsEntries":
			p.entriesSeen = true
			for p.child() {
				p.entry()
			}
		default:
			p.skip()
		}
	}
	switch {
	case p.failure != nil:
	case p.dataAsOf == 0:
		p.failf(ReasonSchema, "no DateOfIssue")
	case len(p.entities) == 0:
		p.failf(ReasonEmpty, "no DistinctParty: an empty list")
	case !p.entriesSeen:
		p.failf(ReasonSchema, "no SanctionsEntries")
	}
}

// date reads Year, Month and Day as midnight UTC, in ns.
func (p *advanced) date() int64 {
	var parts [3]int
	for p.child() {
		var at int
		switch string(p.name) {
		case "Year":
			at = 0
		case "Month":
			at = 1
		case "Day":
			at = 2
		default:
			p.skip()
			continue
		}
		n, err := strconv.ParseUint(string(bytes.TrimSpace(p.readText())), 10, 16)
		if err != nil && p.failure == nil {
			p.failf(ReasonSchema, "DateOfIssue: a number was expected")
		}
		parts[at] = int(n)
	}
	if p.failure != nil {
		return 0
	}
	date := time.Date(parts[0], time.Month(parts[1]), parts[2], 0, 0, 0, 0, time.UTC)
	if !plausible(date) || date.Day() != parts[2] || int(date.Month()) != parts[1] {
		p.failf(ReasonSchema, "DateOfIssue %d-%d-%d is no date", parts[0], parts[1], parts[2])
		return 0
	}
	return date.UnixNano()
}

// plausible bounds a list's date to the years in which OFAC's files can be of.
func plausible(date time.Time) bool { return date.Year() >= 1990 && date.Year() < 2200 }

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
	for p.child() {
		if table, ok := facts[string(p.name)]; ok {
			*table = p.factTable()
			continue
		}
		if table, ok := tables[string(p.name)]; ok {
			*table = p.table()
			continue
		}
		if string(p.name) == "PartySubTypeValues" {
			p.partyKindTable()
			continue
		}
		p.skip()
	}
	p.currencies = map[uint32]string{}
	for id, text := range f.features { // Order does not matter: one map to another.
		if ticker, ok := strings.CutPrefix(text, currencyPrefix); ok {
			p.currencies[id] = strings.TrimSpace(ticker)
		}
	}
	if p.partyKinds == nil {
		p.failf(ReasonSchema, "the reference values hold no party types")
	}
}

// table reads one set of reference values: id to text.
func (p *advanced) table() map[uint32]string {
	values := map[uint32]string{}
	for p.child() {
		id := p.id("ID")
		values[id] = p.label(p.readText())
		if len(values) > ReferenceValuesMax {
			p.failf(ReasonTooLarge, "more than %d reference values", ReferenceValuesMax)
		}
	}
	return values
}

func (p *advanced) partyKindTable() {
	p.partyKinds = map[uint32]partyKind{}
	for p.child() {
		id, typeRef := p.id("ID"), p.id("PartyTypeID")
		p.partyKinds[id] = partyKind{p.label(p.readText()), typeRef}
		if len(p.partyKinds) > ReferenceValuesMax {
			p.failf(ReasonTooLarge, "more than %d party types", ReferenceValuesMax)
		}
	}
}

// resolve looks a required reference up.
func (p *advanced) resolve(table map[uint32]string, attribute string) string {
	id := p.id(attribute)
	text, ok := table[id]
	if !ok {
		p.failf(ReasonSchema, "%s %d is not among the reference values", attribute, id)
	}
	return text
}

// asideAt is the place of an entity that was set aside.
const asideAt = -1

// party reads one party, or sets it aside if it is malformed.
func (p *advanced) party() {
	depth := len(p.marks)
	uid := p.id("FixedRef")
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
	if !p.begin(entity.UID) {
		return
	}
	for p.child() {
		switch string(p.name) {
		case "Profile":
			p.profile(&entity)
		case "Comment":
			p.addFact(&entity, ofac.FactRemark, "", p.text())
		default:
			p.skip()
		}
	}
	p.end(&entity)
}

func (p *advanced) profile(entity *ofac.Entity) {
	id := p.id("ID")
	if _, twice := p.profiles[id]; twice {
		p.failf(ReasonSchema, "profile %d twice", id)
	}
	if len(p.profiles) == EntitiesMax {
		p.failf(ReasonTooLarge, "more than %d profiles", EntitiesMax)
	}
	p.profiles[id], p.own = len(p.entities), append(p.own, id)
	kind, ok := p.partyKinds[p.id("PartySubTypeID")]
	entity.Type = entityType(p.partyTypes[kind.typeRef], kind.name)
	if !ok || entity.Type == 0 {
		p.failf(ReasonSchema, "party %d is of an unknown type %q %q", entity.UID, p.partyTypes[kind.typeRef], kind.name)
		return
	}
	for p.child() {
		switch string(p.name) {
		case "Identity":
			p.identity(entity)
		case "Feature":
			p.feature(entity)
		default:
			p.skip()
		}
	}
}

// entityType joins ADVANCED's two levels of party types to the neutral four.
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

// feature keeps a digital currency address, or a fact.
func (p *advanced) feature(entity *ofac.Entity) {
	kind := p.id("FeatureTypeID")
	ticker, ok := p.currencies[kind]
	if !ok {
		p.fact(entity, p.facts.features[kind])
		return
	}
	id, found := p.id("ID"), 0
	for p.child() {
		if string(p.name) != "FeatureVersion" {
			p.skip()
			continue
		}
		for p.child() {
			if string(p.name) != "VersionDetail" {
				p.skip()
				continue
			}
			value := string(bytes.TrimSpace(p.readText()))
			p.addAddress(entity, ofac.Address{Ticker: ticker, Value: value, FeatureID: id})
			found++
		}
	}
	if found == 0 {
		p.failf(ReasonSchema, "party %d: digital currency feature %d has no address", entity.UID, id)
	}
}

// entry reads which list a profile stands on and under what programmes.
func (p *advanced) entry() {
	profile, list := p.id("ProfileID"), p.resolve(p.lists, "ListID")
	at, ok := p.profiles[profile]
	if !ok {
		p.failf(ReasonSchema, "a sanctions entry for profile %d, which is not among the parties", profile)
		return
	}
	if at == asideAt {
		p.skip()
		return
	}
	entity := &p.entities[at]
	p.addLabel(entity, &entity.Sublists, list)
	for p.child() {
		if string(p.name) != "SanctionsMeasure" || p.resolve(p.measures, "SanctionsTypeID") != measureProgram {
			p.skip()
			continue
		}
		for p.child() {
			if string(p.name) != "Comment" {
				p.skip()
				continue
			}
			if program := p.readText(); len(bytes.TrimSpace(program)) > 0 {
				p.addLabel(entity, &entity.Programs, p.label(program))
			}
		}
	}
}

// family tells SDN from CONS: every party of the SDN file stands on the SDN
// List, every party of the CONS file on the Consolidated List, and some on both.
func (p *advanced) family() (ofac.Lists, error) {
	both := ofac.ListSDN | ofac.ListCONS
	for i := range p.entities {
		e := &p.entities[i]
		if len(e.Sublists) == 0 {
			return 0, refuse(ReasonSchema, "party %d has no sanctions entry", e.UID)
		}
		both &= listBits(e.Sublists)
	}
	if both == ofac.ListSDN|ofac.ListCONS {
		return 0, nil
	}
	if both == 0 {
		return 0, refuse(ReasonFamily, "the parties share neither the list %q nor %q: a full SDN or CONS file was expected", listSDN, listCONS)
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
