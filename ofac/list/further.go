package list

import (
	"fmt"
	"slices"
	"strings"
)

// Further describes a list beside OFAC's, such as an institution's own. One encoded list holds
// the entities of all lists; its Meta has a row for each further one.
//
// A further list has a number, which is the publisher of its entities' uids. Its effect chooses
// the source on which they stand: one of the sources that are reviewed, or one of those that
// block. So the effect of a list is part of the encoded bytes, what a set of sources does follows
// from the set alone, and a look-up asks no table. Rejected: a table of effects beside each
// compiled list, which every look-up of a name, a wallet or an identifier would read.
type Further struct {
	Number    uint8    // 1 to FurtherMax. It never changes while the list exists.
	ID        string   // By which callers name it: see IsListID.
	Name      string   // As reasons and evidence show it.
	Authority string   // Who is responsible for it.
	Blocks    bool     // Else an exact hit is reviewed.
	Format    string   // How its files are read, such as "un-xml".
	Families  []string // What it takes of files that hold several lists; none: everything.
	AgeMax    int64    // After how long without an import it is late, ns; 0: never.
}

// FurtherMax is how many lists there can be beside OFAC's: a set of sources has 32 bits, of which
// OFAC has two, and each further list has one for either effect.
const FurtherMax = (SourcesMax - furtherFirst) / 2

// furtherFirst is the first source of further lists. Those that are reviewed come before those
// that block.
const furtherFirst = 2

// Bounds of a further list's description.
const (
	listIDBytesMax    = 32
	listNameBytesMax  = 128
	listFamiliesMax   = 64
	listFamilyBytes   = 64
	listAgeMax        = int64(10*366*24) * 3_600_000_000_000
	entityIDBytesMax  = 256
	furtherReviewSets = Lists(1<<(furtherFirst+FurtherMax) - 1<<furtherFirst)
	furtherBlockSets  = furtherReviewSets << FurtherMax
)

// AliasID is the alias type of a name that an entity has only because it has no other: it is shown
// and matches nothing.
const AliasID = "Id"

// Source is the source on which the entities of the list stand.
func (f *Further) Source() Source {
	source := Source(furtherFirst - 1 + f.Number)
	if f.Blocks {
		source += FurtherMax
	}
	return source
}

// UID returns the uid of an entity of the list by its number in it. It returns false when the
// number is zero or too great.
func (f *Further) UID(number uint32) (uint32, bool) {
	return uint32(f.Number)<<publisherShift | number, number > 0 && number < 1<<publisherShift
}

// Holds reports whether an entity with that uid is one of the list's.
func (f *Further) Holds(uid uint32) bool { return publisherOf(uid) == Publisher(f.Number) }

// IsFurther reports whether one of the sources is a list beside OFAC's.
func (l Lists) IsFurther() bool { return l&^(ListSDN|ListCONS) != 0 }

// IsOFAC reports whether one of the sources is OFAC's.
func (l Lists) IsOFAC() bool { return l&(ListSDN|ListCONS) != 0 }

// NameOf returns the name of the first list of a set: OFAC's, then those that block.
func (m *Meta) NameOf(l Lists) string {
	if l.First() < furtherFirst || len(m.Further) == 0 {
		return l.First().String()
	}
	for _, blocks := range [...]bool{true, false} {
		for i := range m.Further {
			if row := &m.Further[i]; row.Blocks == blocks && l.Has(row.Source()) {
				return row.Name
			}
		}
	}
	return l.First().String()
}

// IsFurther reports whether a source is that of one of the further lists.
func (m *Meta) IsFurther(source Source) bool {
	return slices.ContainsFunc(m.Further, func(row Further) bool { return row.Source() == source })
}

// FurtherNamed finds a further list by its id; nil: there is none.
func (m *Meta) FurtherNamed(id string) *Further {
	for i := range m.Further {
		if m.Further[i].ID == id {
			return &m.Further[i]
		}
	}
	return nil
}

// sources are the sources on which entities of a list with this Meta may stand.
func (m *Meta) sources() Lists {
	all := everySource
	for i := range m.Further {
		all |= m.Further[i].Source().Set()
	}
	return all
}

// IsListID reports whether a text can name a further list: 1 to 32 small letters, digits and
// dashes, and none of OFAC's words.
func IsListID(id string) bool {
	if id == "" || len(id) > listIDBytesMax || id == "ofac" || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	_, taken := SourceNamed(strings.ToUpper(id))
	return !taken
}

// Check refuses a description that breaks a bound.
func (f *Further) Check() error {
	switch {
	case f.Number < 1 || f.Number > FurtherMax:
		return fmt.Errorf("list number %d, 1 to %d", f.Number, FurtherMax)
	case !IsListID(f.ID):
		return fmt.Errorf("list id %.40q: 1 to %d small letters, digits and dashes, and no list of OFAC's", f.ID, listIDBytesMax)
	case f.Name == "" || len(f.Name) > listNameBytesMax:
		return fmt.Errorf("list %s: a name of 1 to %d bytes", f.ID, listNameBytesMax)
	case len(f.Authority) > listNameBytesMax:
		return fmt.Errorf("list %s: an authority of at most %d bytes", f.ID, listNameBytesMax)
	case f.Format == "" || len(f.Format) > listIDBytesMax:
		return fmt.Errorf("list %s: no format", f.ID)
	case len(f.Families) > listFamiliesMax || slices.ContainsFunc(f.Families, func(s string) bool { return s == "" || len(s) > listFamilyBytes }):
		return fmt.Errorf("list %s: at most %d families of 1 to %d bytes", f.ID, listFamiliesMax, listFamilyBytes)
	case f.AgeMax < 0 || f.AgeMax > listAgeMax:
		return fmt.Errorf("list %s: an age of 0 to 10 years", f.ID)
	}
	return nil
}

// checkFurther refuses a table of further lists that is not in the order of the numbers, or that
// has an id or a name twice.
func checkFurther(rows []Further) error {
	for i := range rows {
		if err := rows[i].Check(); err != nil {
			return err
		}
		for k := range rows[:i] {
			if rows[k].Number >= rows[i].Number || rows[k].ID == rows[i].ID || rows[k].Name == rows[i].Name {
				return fmt.Errorf("lists %s and %s: numbers must rise, ids and names differ", rows[k].ID, rows[i].ID)
			}
		}
	}
	return nil
}

// writeFurther writes the table of further lists.
func (e *entityEncoder) writeFurther(rows []Further) {
	e.writeNumber(uint64(len(rows)))
	for i := range rows {
		row := &rows[i]
		e.data = append(e.data, row.Number, boolByte(row.Blocks))
		for _, text := range [...]string{row.ID, row.Name, row.Authority, row.Format} {
			e.writeText(text)
		}
		e.writeList(row.Families)
		e.writeNumber(uint64(row.AgeMax))
	}
}

// readFurther reads the output of writeFurther.
func (d *entityDecoder) readFurther() []Further {
	return listOf(d, FurtherMax, func() Further {
		row := Further{Number: d.readByte(FurtherMax), Blocks: d.readByte(1) == 1}
		for _, text := range [...]*string{&row.ID, &row.Name, &row.Authority, &row.Format} {
			*text = d.readText()
		}
		row.Families = listOf(d, listFamiliesMax, d.readText)
		age := d.readNumber()
		if age > uint64(listAgeMax) {
			d.noteFailure("age")
			return row
		}
		row.AgeMax = int64(age)
		return row
	})
}
