package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// requireSameRows compares two multisets of rows and shows the first rows that differ; a
// whole diff of 48,000 rows would be too long to read.
func requireSameRows(t *testing.T, want, got []string) {
	t.Helper()
	want, got = slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))
	if slices.Equal(want, got) {
		return
	}
	require.Equal(t, onlyIn(want, got), onlyIn(got, want), "rows only in the golden file, rows only in the parsed list")
	t.Fatalf("%d golden rows, %d parsed rows", len(want), len(got))
}

// onlyIn returns the first rows of a that b lacks; both are sorted.
func onlyIn(a, b []string) []string {
	const shown = 20
	var only []string
	for _, row := range a {
		if _, found := slices.BinarySearch(b, row); !found && len(only) < shown {
			only = append(only, row)
		}
	}
	return only
}

func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func nameRow(e *ofac.Entity, n *ofac.Name) string {
	return strings.Join([]string{fmt.Sprint(e.UID), e.Type.String(), fmt.Sprint(n.ID), n.AliasType,
		bit(n.Primary), bit(n.Weak), n.Script, n.Full}, "\t")
}

func nameRows(entities []ofac.Entity) []string {
	var rows []string
	for i := range entities {
		for j := range entities[i].Names {
			rows = append(rows, nameRow(&entities[i], &entities[i].Names[j]))
		}
	}
	return rows
}

func addressRows(entities []ofac.Entity) []string {
	var rows []string
	for i := range entities {
		e := &entities[i]
		for _, a := range e.Addresses {
			rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%d\t%s", e.UID, a.Ticker, a.Value, a.FeatureID, e.Names[0].Full))
		}
	}
	return rows
}

func nanoseconds(t testing.TB, date string) int64 {
	t.Helper()
	day, err := time.Parse(time.DateOnly, date)
	require.NoError(t, err)
	return day.UnixNano()
}

func TestGoldenSDNNames(t *testing.T) {
	skipHeavy(t)
	for _, date := range []string{"2024-05-28", "2025-11-04", "2025-11-19"} {
		for _, file := range []string{"sdn_advanced.xml.bz2", "sdn_enhanced.derived.xml.bz2"} {
			t.Run(date+" "+file, func(t *testing.T) {
				list := realList(t, date+"/"+file)
				require.Equal(t, ofac.ListSDN, list.Family)
				require.Equal(t, nanoseconds(t, date), list.DataAsOf)
				requireSameRows(t, goldenRows(t, "sdn_"+date+"_names.tsv.gz"), nameRows(list.Entities))
			})
		}
	}
}

func TestGoldenSDNAddresses(t *testing.T) {
	skipHeavy(t)
	for _, date := range []string{"2024-05-28", "2025-03-04", "2025-03-21", "2025-11-04", "2025-11-19"} {
		t.Run(date, func(t *testing.T) {
			list := realList(t, date+"/sdn_advanced.xml.bz2")
			requireSameRows(t, goldenRows(t, "sdn_"+date+"_addresses.tsv"), addressRows(list.Entities))
		})
	}
	for _, date := range []string{"2024-05-28", "2025-11-04", "2025-11-19"} {
		t.Run(date+" ENHANCED", func(t *testing.T) {
			list := realList(t, date+"/sdn_enhanced.derived.xml.bz2")
			requireSameRows(t, goldenRows(t, "sdn_"+date+"_addresses.tsv"), addressRows(list.Entities))
		})
	}
}

// The ENHANCED file of each date was derived from the ADVANCED one, so both must give the
// same neutral form in every field: types, lists, programmes, parts, ids.
func TestADVANCEDEqualsENHANCED(t *testing.T) {
	skipHeavy(t)
	for _, date := range []string{"2024-05-28", "2025-11-04", "2025-11-19"} {
		t.Run(date, func(t *testing.T) {
			advanced := realList(t, date+"/sdn_advanced.xml.bz2").Entities
			enhanced := realList(t, date+"/sdn_enhanced.derived.xml.bz2").Entities
			require.Len(t, enhanced, len(advanced))
			same := 0
			for i := range advanced {
				if slices.Equal(withoutPlaces(advanced[i].Facts), withoutPlaces(enhanced[i].Facts)) {
					same++
				}
				a, e := advanced[i], enhanced[i]
				a.Facts, e.Facts = nil, nil
				require.Equal(t, a, e)
			}
			// The facts differ where the derived file also gives the places of
			// nationalities as addresses.
			require.Greater(t, same*100, len(advanced)*factsAlikePercent)
		})
	}
}

func withoutPlaces(facts []ofac.Fact) []ofac.Fact {
	return slices.DeleteFunc(slices.Clone(facts), func(f ofac.Fact) bool { return f.Kind == ofac.FactPostalAddress })
}

// factsAlikePercent is the least share of parties that have the same facts in both files.
const factsAlikePercent = 98

func TestGoldenCONS(t *testing.T) {
	for date, file := range map[string]string{
		"2024-07-03": "cons_enhanced.xml.gz",
		"2025-01-10": "CONS_ENHANCED.ZIP",
		"2026-01-08": "cons_enhanced.xml.gz",
	} {
		t.Run(date, func(t *testing.T) {
			list := realList(t, date+"/"+file)
			require.Equal(t, ofac.ListCONS, list.Family)
			require.Equal(t, nanoseconds(t, date), list.DataAsOf)
			require.Zero(t, list.Addresses())
			requireSameRows(t, goldenCONS(t, date), consRows(list.Entities))
		})
	}
}

// goldenCONS returns the golden rows of a date. It sorts the lists in their last column,
// since the neutral form keeps them sorted.
func goldenCONS(t *testing.T, date string) []string {
	rows := goldenRows(t, "cons_"+date+"_names.tsv")
	for i, row := range rows {
		at := strings.LastIndexByte(row, '\t')
		lists := strings.Split(row[at+1:], "|")
		slices.Sort(lists)
		rows[i] = row[:at+1] + strings.Join(lists, "|")
	}
	return rows
}

func consRows(entities []ofac.Entity) []string {
	var rows []string
	for i := range entities {
		e := &entities[i]
		for j := range e.Names {
			rows = append(rows, nameRow(e, &e.Names[j])+"\t"+strings.Join(e.Sublists, "|"))
		}
	}
	return rows
}

func TestGoldenDeltas(t *testing.T) {
	skipHeavy(t)
	for _, span := range [][2]string{{"2025-11-04", "2025-11-19"}, {"2025-03-04", "2025-03-21"}, {"2024-05-28", "2025-11-04"}} {
		t.Run(span[0]+" to "+span[1], func(t *testing.T) {
			from := realList(t, span[0]+"/sdn_advanced.xml.bz2")
			to := realList(t, span[1]+"/sdn_advanced.xml.bz2")
			requireSameRows(t, goldenRows(t, "delta_"+span[0]+"_to_"+span[1]+".tsv"), deltaRows(from.Entities, to.Entities))
		})
	}
}

// deltaRows compares two lists and writes the differences as in the golden files: entities
// by id; for entities on both lists, names by id and text, addresses by ticker and value,
// and programmes.
func deltaRows(from, to []ofac.Entity) []string {
	var rows []string
	old, now := byUID(from), byUID(to)
	for uid, e := range now {
		before, stays := old[uid]
		if !stays {
			rows = append(rows, fmt.Sprintf("entity_added\t%d\t%s", uid, e.Names[0].Full))
			continue
		}
		if change := changeOf(before, e); change != "" {
			rows = append(rows, fmt.Sprintf("entity_changed\t%d\t%s", uid, change))
		}
	}
	for uid, e := range old {
		if _, stays := now[uid]; !stays {
			rows = append(rows, fmt.Sprintf("entity_removed\t%d\t%s", uid, e.Names[0].Full))
		}
	}
	had, has := addressSet(from), addressSet(to)
	for row := range has {
		if !had[row] {
			rows = append(rows, "address_added\t"+row)
		}
	}
	for row := range had {
		if !has[row] {
			rows = append(rows, "address_removed\t"+row)
		}
	}
	return rows
}

func byUID(entities []ofac.Entity) map[uint32]*ofac.Entity {
	m := make(map[uint32]*ofac.Entity, len(entities))
	for i := range entities {
		m[entities[i].UID] = &entities[i]
	}
	return m
}

func addressSet(entities []ofac.Entity) map[string]bool {
	m := map[string]bool{}
	for i := range entities {
		for _, a := range entities[i].Addresses {
			m[fmt.Sprintf("%d\t%s %s", entities[i].UID, a.Ticker, a.Value)] = true
		}
	}
	return m
}

// changeOf describes how an entity on both lists changed: how many names and addresses came
// and went, and whether its programmes differ.
func changeOf(before, now *ofac.Entity) string {
	var changes []string
	for _, set := range []struct {
		what     string
		had, has map[string]bool
	}{
		{"names", nameSet(before), nameSet(now)},
		{"addresses", addressSet([]ofac.Entity{*before}), addressSet([]ofac.Entity{*now})},
	} {
		added, removed := missing(set.has, set.had), missing(set.had, set.has)
		if added+removed > 0 {
			changes = append(changes, fmt.Sprintf("%s +%d -%d", set.what, added, removed))
		}
	}
	if !slices.Equal(before.Programs, now.Programs) {
		changes = append(changes, "programs")
	}
	return strings.Join(changes, "; ")
}

// missing counts the members of a that b lacks.
func missing(a, b map[string]bool) int {
	n := 0
	for member := range a {
		if !b[member] {
			n++
		}
	}
	return n
}

func nameSet(e *ofac.Entity) map[string]bool {
	m := map[string]bool{}
	for i := range e.Names {
		m[fmt.Sprint(e.Names[i].ID, "|", e.Names[i].Full)] = true
	}
	return m
}
