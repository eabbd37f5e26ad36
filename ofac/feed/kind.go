package feed

import (
	"strings"

	"railguard/ofac"
)

// Format is one of the three published forms of a list.
type Format uint8

// The formats, the preferred one last (decision 51: ENHANCED before ADVANCED
// before the CSV set).
const (
	FormatCSV      Format = 1
	FormatADVANCED Format = 2
	FormatENHANCED Format = 3
)

// String returns OFAC's own word for the format.
func (f Format) String() string {
	switch f {
	case FormatCSV:
		return "CSV"
	case FormatADVANCED:
		return "ADVANCED"
	case FormatENHANCED:
		return "ENHANCED"
	}
	return "unknown"
}

// Role is the part of a list that a file holds.
type Role uint8

// The roles. An XML file is a whole list; a CSV set has four files.
const (
	RoleWhole     Role = 1 // ENHANCED and ADVANCED.
	RolePrimary   Role = 2 // sdn.csv, cons_prim.csv: one record per entity.
	RoleAliases   Role = 3 // alt.csv, cons_alt.csv.
	RoleAddresses Role = 4 // add.csv, cons_add.csv: postal addresses.
	RoleComments  Role = 5 // sdn_comments.csv, cons_comments.csv: remarks continued.
)

// Kind is one of the files that OFAC publishes.
type Kind struct {
	Family ofac.Lists // ListSDN or ListCONS.
	Format Format
	Role   Role
}

// published maps the stems of OFAC's file names, in lower case, to their kinds.
var published = []struct {
	stem, extension string
	kind            Kind
}{
	{"sdn_enhanced", "xml", Kind{ofac.ListSDN, FormatENHANCED, RoleWhole}},
	{"sdn_advanced", "xml", Kind{ofac.ListSDN, FormatADVANCED, RoleWhole}},
	{"sdn", "csv", Kind{ofac.ListSDN, FormatCSV, RolePrimary}},
	{"alt", "csv", Kind{ofac.ListSDN, FormatCSV, RoleAliases}},
	{"add", "csv", Kind{ofac.ListSDN, FormatCSV, RoleAddresses}},
	{"sdn_comments", "csv", Kind{ofac.ListSDN, FormatCSV, RoleComments}},
	{"cons_enhanced", "xml", Kind{ofac.ListCONS, FormatENHANCED, RoleWhole}},
	{"cons_advanced", "xml", Kind{ofac.ListCONS, FormatADVANCED, RoleWhole}},
	{"cons_prim", "csv", Kind{ofac.ListCONS, FormatCSV, RolePrimary}},
	{"cons_alt", "csv", Kind{ofac.ListCONS, FormatCSV, RoleAliases}},
	{"cons_add", "csv", Kind{ofac.ListCONS, FormatCSV, RoleAddresses}},
	{"cons_comments", "csv", Kind{ofac.ListCONS, FormatCSV, RoleComments}},
}

// compressedEndings are the file name endings of the compressed forms.
var compressedEndings = []string{".gz", ".bz2", ".zst", ".zip"}

// String returns the published name of the kind, e.g. "SDN_ENHANCED.XML".
func (k Kind) String() string {
	for i := range published {
		if published[i].kind == k {
			return strings.ToUpper(published[i].stem + "." + published[i].extension)
		}
	}
	return "unknown"
}

// listLabel names the list of a kind for Meta.Source and messages.
func (k Kind) listLabel() string { return familyName(k.Family) + "_" + k.Format.String() }

// familyName is the name of a family, one of OFAC's sources.
func familyName(family ofac.Lists) string {
	if family == 0 {
		return "unknown"
	}
	return family.String()
}

// KindOf finds a file's kind by its name. It accepts OFAC's published names in any case,
// plain or followed by .gz, .bz2, .zst or .zip; OFAC's own archives, e.g. SDN_ENHANCED.ZIP,
// leave out the .XML. It accepts no other name, however similar.
func KindOf(name string) (Kind, bool) {
	name = strings.ToLower(name)
	zipped := false
	for _, ending := range compressedEndings {
		if stem, ok := strings.CutSuffix(name, ending); ok {
			name, zipped = stem, ending == ".zip"
			break
		}
	}
	for i := range published {
		p := &published[i]
		if name == p.stem+"."+p.extension || zipped && p.extension == "xml" && name == p.stem {
			return p.kind, true
		}
	}
	return Kind{}, false
}
