package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

func encoded(t testing.TB, entities []list.Entity) []byte {
	data, err := list.Encode(entities, list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	return data
}

// matcherVersion stands in for the version that package match carries.
const matcherVersion = 1

// compiled makes the tables of an encoded list with the Former and the Step of the plan.
func compiled(t testing.TB, plan Plan, data []byte) *Tables {
	entities, meta, err := list.Decode(data)
	require.NoError(t, err)
	plan.Entities, plan.Meta, plan.Digest, plan.Matcher = entities, meta, list.Digest(data), matcherVersion
	tables, err := Make(&plan)
	require.NoError(t, err)
	return tables
}

func mustMake(t testing.TB, entities []list.Entity) *Tables {
	return compiled(t, Plan{}, encoded(t, entities))
}

// All builds with the same matcher version make the same tables of a list. These
// fingerprints may change only together with MatcherVersion.
func TestTablesAreAlwaysTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		entities []list.Entity
		want     string
	}{
		"small":    {listtest.SmallList(), "8b58afeb682b9113a0203c61d325d36cd98cf38e93682e13d1f1c328b69da039"},
		"numbered": {listtest.NumberedEntities(400), "50ec41437367e7fe4e86b6226391db22bf4e23d9df184a052aba003b55d9962a"},
	} {
		require.Equal(t, c.want, fingerprint(t, compiled(t, Plan{}, encoded(t, c.entities))), name)
	}
}

// reused counts the words whose neighbours are copied from the former list, and all whole
// words.
func reused(t *testing.T, former, list *Tables) (taken, of int) {
	c := compareLayers(&former.Words, &list.Words)
	if c == nil {
		return 0, int(list.Words.Count)
	}
	var f Finder
	for id := range list.Words.Count {
		record := list.Words.Word(id)
		if record.Flags&WordWhole == 0 {
			continue
		}
		word := list.Words.Spelled(&record)
		f.seekWord(&word)
		of++
		if rows, ok := c.appendKnown(nil, &f, id); ok {
			taken++
			var plain []neighbourRow
			require.Equal(t, list.Words.appendNear(plain, &f, id, nil), rows, "%s", word.Text)
		}
	}
	return taken, of
}

// The tables are the same with and without a former list, whatever changed between the two
// lists.
func TestFormerListChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	made, _ := listtest.MadeEntities(random, 1500)
	lists := map[string][]list.Entity{
		"nothing": nil, "small": listtest.SmallList(), "made": made, "numbered": listtest.NumberedEntities(1500),
	}
	changes := map[string]func([]list.Entity) []list.Entity{
		"the same": func(list []list.Entity) []list.Entity { return list },
		"one more": func(items []list.Entity) []list.Entity {
			return append(items, listtest.Named(5_000_000, list.Individual, list.ListSDN, "QUORVEN, Zarbal Ivan"))
		},
		"one gone":       func(list []list.Entity) []list.Entity { return list[min(1, len(list)):] },
		"a tenth others": func(list []list.Entity) []list.Entity { return changed(list, random) },
		"half gone":      func(list []list.Entity) []list.Entity { return list[len(list)/2:] },
		"all gone":       func([]list.Entity) []list.Entity { return nil },
		"another list":   func([]list.Entity) []list.Entity { return listtest.NumberedEntities(700) },
	}
	for name, entities := range lists {
		former := mustMake(t, entities)
		for how, change := range changes {
			t.Run(name+", "+how, func(t *testing.T) {
				data := encoded(t, change(slices.Clone(entities)))
				plain := compiled(t, Plan{}, data)
				paused := 0
				require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Plan{Former: former, Step: func() { paused++ }}, data)))
				require.Positive(t, paused)
				taken, of := reused(t, former, plain)
				if how == "the same" {
					require.Equal(t, of, taken, "all is taken")
				}
				if how == "one more" && name == "numbered" {
					require.Greater(t, taken, of*9/10)
					require.Less(t, taken, of)
				}
			})
		}
	}
}

// changed returns a list in which a tenth of the parties have other names, weak names, or
// one word less.
func changed(list []list.Entity, random *rand.Rand) []list.Entity {
	for i := range list {
		if random.IntN(10) > 0 {
			continue
		}
		names := slices.Clone(list[i].Names)
		name := &names[random.IntN(len(names))]
		switch random.IntN(3) {
		case 0:
			name.Weak = !name.Weak
		case 1:
			name.Full += "OV"
		case 2:
			name.Full = "AL " + name.Full
		}
		list[i].Names = names
	}
	return list
}

// A former list of another matcher version is not used.
func TestFormerListOfAnotherMatcher(t *testing.T) {
	former := mustMake(t, listtest.NumberedEntities(200))
	former.Words.neighbourRows = nil // A search in these tables would find nothing, or panic.
	former.matcher++
	data := encoded(t, listtest.NumberedEntities(200))
	require.Equal(t, fingerprint(t, compiled(t, Plan{}, data)), fingerprint(t, compiled(t, Plan{Former: former}, data)))
}

// Former tables that differ from what a search finds are not used. A build that forgot to
// raise the matcher version would have such tables.
func TestFormerListThatErrs(t *testing.T) {
	data := encoded(t, listtest.NumberedEntities(400))
	plain, former := compiled(t, Plan{}, data), compiled(t, Plan{}, data)
	for i := range former.Words.neighbourRows {
		former.Words.neighbourRows[i] ^= 1 // This is the lowest bit of the similarity.
	}
	require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Plan{Former: former}, data)))
}

// Two lists that OFAC published are compiled one after the other, each with the one before
// it as former list.
func TestFormerListChangesNothingOfRealLists(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of compiling")
	}
	var former *Tables
	for _, date := range []string{"2024-05-28", "2025-11-19"} {
		data := encoded(t, listtest.RealEntities(t, date))
		plain := compiled(t, Plan{}, data)
		if former != nil {
			require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Plan{Former: former}, data)))
		}
		former = plain
	}
	last := listtest.RealEntities(t, "2025-11-19")
	data := encoded(t, append(last[3:], listtest.Named(5_000_000, list.Individual, list.ListSDN, "QUORVEN, Zarbal Ivan")))
	plain := compiled(t, Plan{}, data)
	require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Plan{Former: former}, data)))
	taken, of := reused(t, former, plain)
	require.Greater(t, taken, of*9/10)
}
