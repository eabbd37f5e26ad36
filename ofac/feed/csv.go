package feed

import (
	"fmt"
	"io"
	"strings"

	"railguard/ofac"
)

// CSVFile is one file of a CSV set; a nil Source means that there is none.
type CSVFile struct {
	Name   string // For messages.
	Source io.Reader
}

// CSVSet is the legacy set of one list family: sdn, alt, add and sdn_comments, or
// cons_prim, cons_alt, cons_add and cons_comments. The first three are required and must be
// of the same date. Without the comments, the text beyond the cut of the remarks is
// missing.
type CSVSet struct {
	Family                                ofac.Lists
	Primary, Aliases, Addresses, Comments CSVFile
}

// Columns of the CSV files.
const (
	columnsPrimary   = 12
	columnsAliases   = 5
	columnsAddresses = 6
	columnsComments  = 2

	columnName    = 1
	columnType    = 2
	columnProgram = 3
	columnTitle   = 4
	columnRemarks = 11
)

// remarksCut is the length at which OFAC cuts remarks, even inside a word; the rest is in
// the comments file.
const remarksCut = 1000

// ParseCSV reads a CSV set. The format has no date, so DataAsOf is 0. It has Latin names
// only, without diacritics; its remarks hold the weak aliases and the digital currency
// addresses. The warnings say what may be missing. Every error is an *Error that names the
// file.
func ParseCSV(set CSVSet) (List, []string, error) {
	c, err := parseCSV(set)
	if err != nil {
		return List{}, nil, err
	}
	return c.list, c.warnings, nil
}

// csvParse is one run over a CSV set.
type csvParse struct {
	family   ofac.Lists
	list     List
	warnings []string
	records  [RoleComments + 1]int // Number of records, by Role.
	builder  builder               // It only serves for its bounds and labels, and reads nothing.
	remarks  []string              // By the entity's index.
	comments []string              // By the entity's index.
}

func parseCSV(set CSVSet) (*csvParse, error) {
	c := &csvParse{family: set.Family, builder: newBuilder(&scanner{})}
	steps := []struct {
		file    CSVFile
		role    Role
		columns int
		record  func([]string) error
	}{
		{set.Primary, RolePrimary, columnsPrimary, c.addPrimary},
		{set.Aliases, RoleAliases, columnsAliases, c.addAlias},
		{set.Addresses, RoleAddresses, columnsAddresses, c.addPostal},
		{set.Comments, RoleComments, columnsComments, c.addComment},
	}
	for _, step := range steps {
		kind := Kind{set.Family, FormatCSV, step.role}
		if step.file.Source == nil {
			if step.role != RoleComments {
				return nil, newRefusal(ReasonIncomplete, "the %s CSV set lacks %v: all of its files are needed", familyName(set.Family), kind)
			}
			c.warnings = append(c.warnings, fmt.Sprintf("%v is missing: remarks are cut at %d characters, and addresses and weak aliases beyond the cut are not loaded", kind, remarksCut))
			continue
		}
		n, err := c.readRecords(step.file.Source, step.role, step.columns, step.record)
		if err != nil {
			name := step.file.Name
			if name == "" {
				name = kind.String()
			}
			return nil, inFile(name, err)
		}
		c.records[step.role] = n
		if step.role == RolePrimary {
			c.comments = make([]string, len(c.remarks))
		}
	}
	return c, c.finishSet(set)
}

// readRecords calls record with each record of a file and returns their number.
func (c *csvParse) readRecords(source io.Reader, role Role, columns int, record func([]string) error) (int, error) {
	r := newCSVReader(source, columns)
	if err := r.judgeStart(); err != nil {
		return 0, err
	}
	for {
		fields, err := r.nextRecord()
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
		for i := range fields {
			fields[i] = clearNull(fields[i])
		}
		if err := record(fields); err != nil {
			return 0, r.atRecord(err)
		}
	}
	switch {
	case r.marked:
	case role == RoleComments: // Mirrors are known to drop the mark from this file.
		c.warnings = append(c.warnings, fmt.Sprintf("%v has no end mark 0x1a: it may be cut short", Kind{c.family, FormatCSV, role}))
	default:
		return 0, newRefusal(ReasonTruncated, "the end mark 0x1a is missing after record %d: the file is cut short", r.records)
	}
	if role == RolePrimary && r.records == 0 {
		return 0, newRefusal(ReasonEmpty, "no record: an empty list")
	}
	return r.records, nil
}

// clearNull returns "" for OFAC's null mark "-0- ", with or without its blank. It returns
// any other field unchanged: a blank where remarks were cut belongs to them.
func clearNull(field string) string {
	if strings.TrimSpace(field) == "-0-" {
		return ""
	}
	return field
}

func (c *csvParse) addPrimary(fields []string) error {
	uid, ok := parseID([]byte(fields[0]))
	if !ok {
		return newRefusal(ReasonSchema, "ent_num %s: a number was expected", quoteShort([]byte(fields[0])))
	}
	entity := ofac.Entity{UID: uid}
	b := &c.builder
	if !b.beginEntity(uid) {
		return b.failure
	}
	switch fields[columnType] {
	case "individual":
		entity.Type = ofac.Individual
	case "":
		entity.Type = ofac.Company
	case "vessel":
		entity.Type = ofac.Vessel
	case "aircraft":
		entity.Type = ofac.Aircraft
	default:
		return newRefusal(ReasonSchema, "entity %d is of the unknown type %s", uid, quoteShort([]byte(fields[columnType])))
	}
	entity.Names = []ofac.Name{{AliasType: aliasPrimary, Primary: true, Script: scriptLatin, Full: strings.TrimSpace(fields[columnName])}}
	entity.Sublists = []string{familyList(c.family)}
	for program := range strings.SplitSeq(fields[columnProgram], "] [") {
		if program = strings.Trim(program, " []"); program != "" {
			b.addLabel(&entity, &entity.Programs, b.internLabel([]byte(program)))
		}
	}
	b.addFact(&entity, ofac.FactTitle, "", fields[columnTitle])
	for _, vessel := range vesselColumns {
		b.addFact(&entity, ofac.FactVessel, vessel.label, fields[vessel.column])
	}
	c.remarks = append(c.remarks, fields[columnRemarks])
	b.endEntity(&entity)
	return b.failure
}

// vesselColumns are the primary file's columns about ships, labelled with the words of the
// XML formats.
var vesselColumns = []struct {
	column int
	label  string
}{
	{5, "Vessel Call Sign"}, {6, "VESSEL TYPE"}, {7, "Vessel Tonnage"}, {8, "Vessel Gross Registered Tonnage"}, {9, "Vessel Flag"}, {10, "Vessel Owner"},
}

func familyList(family ofac.Lists) string {
	if family == ofac.ListCONS {
		return listCONS
	}
	return listSDN
}

// findEntity finds the entity that a record of another file belongs to.
func (c *csvParse) findEntity(entNum string) (int, error) {
	uid, ok := parseID([]byte(entNum))
	if !ok {
		return 0, newRefusal(ReasonSchema, "ent_num %s: a number was expected", quoteShort([]byte(entNum)))
	}
	at, ok := c.builder.place[uid]
	if !ok {
		return 0, newRefusal(ReasonIncomplete, "entity %d is not in %v: the files are of different dates", uid, Kind{c.family, FormatCSV, RolePrimary})
	}
	return at, nil
}

func (c *csvParse) addAlias(fields []string) error {
	at, err := c.findEntity(fields[0])
	if err != nil {
		return err
	}
	id, ok := parseID([]byte(fields[1]))
	if !ok {
		return newRefusal(ReasonSchema, "alt_num %s: a number was expected", quoteShort([]byte(fields[1])))
	}
	name := ofac.Name{ID: id, Script: scriptLatin, Full: strings.TrimSpace(fields[3])}
	switch fields[2] {
	case "aka":
		name.AliasType = aliasAlso
	case "fka":
		name.AliasType = aliasFormer
	case "nka":
		name.AliasType = aliasNow
	default:
		return newRefusal(ReasonSchema, "alias type %s: aka, fka or nka was expected", quoteShort([]byte(fields[2])))
	}
	c.builder.addName(&c.builder.entities[at], name)
	return c.builder.failure
}

// addPostal keeps a postal address: street, city, country, remarks. The set must have this
// file because its presence shows that the set is complete.
func (c *csvParse) addPostal(fields []string) error {
	at, err := c.findEntity(fields[0])
	if err == nil {
		c.builder.addFact(&c.builder.entities[at], ofac.FactPostalAddress, "", joinFacts(fields[2:]...))
	}
	return err
}

func (c *csvParse) addComment(fields []string) error {
	at, err := c.findEntity(fields[0])
	if err != nil {
		return err
	}
	if len(c.comments[at])+len(fields[1]) > FieldBytesMax {
		return newRefusal(ReasonTooLarge, "comments longer than %d bytes", FieldBytesMax)
	}
	c.comments[at] += fields[1]
	return nil
}

// finishSet joins remarks and comments, extracts names and addresses from them and checks
// each entity as a whole.
func (c *csvParse) finishSet(set CSVSet) error {
	b := &c.builder
	names := 0
	for i := range b.entities {
		e := &b.entities[i]
		remarks := c.remarks[i] + c.comments[i]
		if c.comments[i] == "" && len(remarks) >= remarksCut && !strings.HasSuffix(remarks, ".") {
			remarks = remarks[:strings.LastIndexByte(remarks, ';')+1]
			c.warnings = append(c.warnings, fmt.Sprintf("entity %d: the remarks are cut and have no continuation", e.UID))
		}
		for _, name := range remarkedAliases(remarks) {
			b.addName(e, name)
		}
		for _, address := range remarkedAddresses(remarks) {
			b.addAddress(e, address)
		}
		for _, fact := range remarkedFacts(remarks) {
			b.addFact(e, fact.Kind, fact.Label, fact.Value)
		}
		if b.failure != nil {
			return inFile(set.Primary.Name, b.failure)
		}
		names += len(e.Names)
		if err := checkEntity(e); err != nil {
			return inFile(set.Primary.Name, err)
		}
	}
	if names > NamesMax {
		return inFile(set.Primary.Name, newRefusal(ReasonTooLarge, "more than %d names", NamesMax))
	}
	c.list = List{Format: FormatCSV, Family: c.family, Entities: sortEntities(b.entities), Suspects: b.suspects}
	return nil
}
