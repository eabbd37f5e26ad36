package families

import (
	"compress/bzip2"
	"compress/gzip"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/feed"
	"railguard/ofac/listtest"
	"railguard/ofac/sample"
)

//go:embed floors.txt
var floorsText string

//go:embed floors_sample.txt
var sampleFloorsText string

// flooredNames is how many names of a family the floors of floors.txt are for.
const flooredNames = 200

// compiled is a list with its tables.
type compiled struct {
	listed *Listed
	index  *ofac.Index
}

func compile(t testing.TB, entities []ofac.Entity) compiled {
	t.Helper()
	index, err := ofac.Build(entities, ofac.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	return compiled{Prepare(entities), index}
}

// measureAll measures families on two processors, whose work takes a second at most.
func (c *compiled) measureAll(chosen []Family, sample int) []Row {
	rows := make([]Row, len(chosen))
	var workers sync.WaitGroup
	for worker := range 2 {
		workers.Go(func() {
			scratch := ofac.NewScratch()
			for i := worker; i < len(chosen); i += 2 {
				rows[i] = Measure(c.index, scratch, &chosen[i], c.listed, Asked{Sample: sample, NonSDNPossible: true})
			}
		})
	}
	workers.Wait()
	return rows
}

// realEntities are the entries of the published lists, without facts, of which names need none.
func realEntities(t testing.TB) []ofac.Entity {
	t.Helper()
	folder := filepath.Join(listtest.DataFolder(t), "ofac")
	read := func(name string, unfold func(io.Reader) io.Reader, parse func(io.Reader) (feed.List, error), source ofac.Lists) []ofac.Entity {
		file, err := os.Open(filepath.Join(folder, name))
		if os.IsNotExist(err) {
			t.Skip("no list data: ", name)
		}
		require.NoError(t, err)
		defer file.Close()
		parsed, unfolded := io.Pipe() // One processor unfolds, and another parses.
		go func() {
			_, err := io.Copy(unfolded, unfold(file))
			unfolded.CloseWithError(err)
		}()
		list, err := parse(parsed)
		require.NoError(t, err)
		for i := range list.Entities {
			list.Entities[i].Lists, list.Entities[i].Facts = source, nil
		}
		return list.Entities
	}
	entities := read("2025-11-19/sdn_advanced.xml.bz2", bzip2.NewReader, feed.ParseADVANCED, ofac.ListSDN)
	known := map[uint32]bool{}
	for i := range entities {
		known[entities[i].UID] = true
	}
	unzip := func(r io.Reader) io.Reader {
		plain, err := gzip.NewReader(r)
		require.NoError(t, err)
		return plain
	}
	for _, entity := range read("2026-01-08/cons_enhanced.xml.gz", unzip, feed.ParseENHANCED, ofac.ListCONS) {
		if !known[entity.UID] {
			entities = append(entities, entity)
		}
	}
	return entities
}

// suggest shows the floors that the rows would give, for whoever raises them.
func suggest(t *testing.T, rows []Row) {
	var b strings.Builder
	for i := range rows {
		if share := rows[i].Share(); rows[i].Names > 0 {
			b.WriteString(rows[i].Family + " " + share.String() + "\n")
		}
	}
	if path := os.Getenv("RAILGUARD_FAMILY_FLOORS"); path != "" {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	}
}

// hold fails where a family is outside its floor, and where one with names has none.
func hold(t *testing.T, rows []Row, text string) {
	t.Helper()
	floors, err := ParseFloors(text)
	require.NoError(t, err)
	suggest(t, rows)
	require.Empty(t, Fallen(rows, floors))
	for i := range rows {
		floored := slices.ContainsFunc(floors, func(f Floor) bool { return f.Family == rows[i].Family })
		require.Equal(t, rows[i].Names > 0, floored, "%s has %d names: a family with names has a floor, one without has none", rows[i].Family, rows[i].Names)
	}
}

// Every family of the published lists reaches its floor. The lists are not part of the repository.
func TestFamiliesOfThePublishedList(t *testing.T) {
	list := compile(t, realEntities(t))
	rows := list.measureAll(All(), flooredNames)
	hold(t, rows, floorsText)
	t.Run("a broken matcher falls", func(t *testing.T) { breakMatcher(t, &list) })
}

// defects switch off each number of the evidence, or overdo it, and name a family that then falls.
var defects = []struct {
	constant string
	value    int32
	family   string
}{
	{"neededPerson", 3000, "given_between"}, // Two names that agree do not say enough.
	{"neededOther", 5000, "company_generic_exchange"},
	{"initial", 0, "initials_behind"}, // An initial says nothing.
	{"slipFold", 1500, "respelt_each"},
	{"slipLeast", 1600, "slip_each_word"},
	{"slipSlope", 8000, "slip_each_word"},
	{"slipKnown", 0, "innocent_person_arabic"}, // A word of its own is a slip.
	{"gainsMost", 500, "given_between"},
	{"missingGiven", 0, "innocent_person_arabic"}, // First names are left out.
	{"missingLast", 0, "innocent_person_arabic"},
	{"missingMiddle", 1500, "patronymic_left_out"},
	{"missingShare", 1000, "company_generic_out"},
	{"surplusBetween", 1500, "given_between"}, // A name between first and last name makes another person.
	{"surplusOutside", 0, "innocent_person_three_names"},
	{"surplusGeneric", 1600, "company_generic_city"},
	{"wholePerson", 0, "initial_first"},
	{"wholeOther", 0, "company_generic_slip"},
	{"wholeGeneric", 0, "company_generic_exchange"}, // A business beside a company makes another company.
	{"contradiction", 0, "innocent_person_mexican"},
	{"formSame", 0, "company_generic_out"},
}

// unbroken are the numbers of which no family depends, with the test that fails without each.
var unbroken = []string{
	"neededContained",                                 // match, TestListedNamesAmongOtherWords
	"gainsBeyond", "missingAny", "contradictionKnown", // bench/names, TestMatcherHoldsItsFloors
	"wholeLone",     // match, TestOneWordThatIsNotClose
	"otherParty",    // match, TestThePartySaidCounts
	"provableWords", // match, TestEveryListedNameIsFound
	"commonWord",    // match, TestNearMatchesBlockAsABankWould
}

// breakMatcher switches the numbers of the evidence off, one after another, and sees a family fall.
func breakMatcher(t *testing.T, list *compiled) {
	floors, err := ParseFloors(floorsText)
	require.NoError(t, err)
	all, broken := All(), slices.Clone(unbroken)
	for _, defect := range defects {
		at := slices.IndexFunc(all, func(f Family) bool { return f.Name == defect.family })
		scratch, err := ofac.NewTunedScratch(map[string]int32{defect.constant: defect.value})
		require.NoError(t, err)
		row := Measure(list.index, scratch, &all[at], list.listed, Asked{Sample: flooredNames, NonSDNPossible: true})
		require.Len(t, Fallen([]Row{row}, floors), 1, "%s is %d, and %s stands at %s", defect.constant, defect.value, defect.family, row.Share())
		broken = append(broken, defect.constant)
	}
	for _, constant := range ofac.Constants() {
		require.Contains(t, broken, constant.Name, "a number of the evidence that no family and no other test holds")
	}
}

// The same on the list that is part of the program, where no published list is at hand.
func TestFamiliesOfTheSample(t *testing.T) {
	list := compile(t, sample.Entities())
	hold(t, list.measureAll(All(), 0), sampleFloorsText)
}
