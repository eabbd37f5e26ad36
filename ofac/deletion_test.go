package ofac

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func encoded(t testing.TB, entities []Entity) []byte {
	data, err := EncodeEntities(entities, Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	return data
}

func compiled(t testing.TB, help Help, data []byte) *Index {
	list, err := Carried().CompileWith(help, data, MatcherVersion)
	require.NoError(t, err)
	return list
}

// All nodes make the same tables of a list, whichever of the builds that carry a matcher's
// version made them: these fingerprints change with MatcherVersion alone.
func TestTablesAreAlwaysTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		entities []Entity
		want     string
	}{
		"small":    {smallList(), "877217fc2132e051027132f52d7f312d5ee4fec541b47acdae210ac96b651413"},
		"numbered": {numberedEntities(400), "4adc46d5974c71ef4b248098d594688f9ee3e22b0021883680ce4340eb2de5ee"},
	} {
		require.Equal(t, c.want, fingerprint(t, compiled(t, Help{}, encoded(t, c.entities))), name)
	}
}

// reused counts the words whose neighbours are taken from a former list, and those that
// stand alone.
func reused(t *testing.T, former, list *Index) (taken, of int) {
	c := compareLayers(&former.words, &list.words)
	if c == nil {
		return 0, int(list.words.count)
	}
	var f finder
	for id := range list.words.count {
		record := list.words.word(id)
		if record.flags&wordWhole == 0 {
			continue
		}
		word := list.words.spelled(&record)
		f.seek(&word)
		of++
		if rows, ok := c.append(nil, &f, id); ok {
			taken++
			var plain []uint32
			require.Equal(t, list.words.appendNear(plain, &f, id, nil), rows, "%s", word.text)
		}
	}
	return taken, of
}

// What a list takes from the one before it is what it would have found itself, whatever
// changed between the two.
func TestFormerListChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	made, _ := madeList(t, random, 1500)
	lists := map[string][]Entity{
		"nothing": nil, "small": smallList(), "made": made.Entities(), "numbered": numberedEntities(1500),
	}
	changes := map[string]func([]Entity) []Entity{
		"the same": func(list []Entity) []Entity { return list },
		"one more": func(list []Entity) []Entity {
			return append(list, named(5_000_000, Individual, ListSDN, "QUORVEN, Zarbal Ivan"))
		},
		"one gone":       func(list []Entity) []Entity { return list[min(1, len(list)):] },
		"a tenth others": func(list []Entity) []Entity { return changed(list, random) },
		"half gone":      func(list []Entity) []Entity { return list[len(list)/2:] },
		"all gone":       func([]Entity) []Entity { return nil },
		"another list":   func([]Entity) []Entity { return numberedEntities(700) },
	}
	for name, entities := range lists {
		former := mustBuild(t, entities)
		for how, change := range changes {
			t.Run(name+", "+how, func(t *testing.T) {
				data := encoded(t, change(slices.Clone(entities)))
				plain := compiled(t, Help{}, data)
				paused := 0
				require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Help{Former: former, Step: func() { paused++ }}, data)))
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

// changed is a list in which a tenth of the parties have other names, weak ones, or one
// word less.
func changed(list []Entity, random *rand.Rand) []Entity {
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

// A former list of another version of the matcher is no help.
func TestFormerListOfAnotherMatcher(t *testing.T) {
	former := mustBuild(t, numberedEntities(200))
	former.words.neighbourRows = nil // Whoever asks it would find nothing, or panic.
	former.matcher++
	data := encoded(t, numberedEntities(200))
	require.Equal(t, fingerprint(t, compiled(t, Help{}, data)), fingerprint(t, compiled(t, Help{Former: former}, data)))
}

// Tables that tell something else than what is found, as those of a build that forgot to
// raise the matcher's version would, are not taken from.
func TestFormerListThatErrs(t *testing.T) {
	data := encoded(t, numberedEntities(400))
	plain, former := compiled(t, Help{}, data), compiled(t, Help{}, data)
	for i := range former.words.neighbourRows {
		former.words.neighbourRows[i] ^= 1 // The similarity's lowest bit.
	}
	require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Help{Former: former}, data)))
}

// The lists that OFAC published one after another, each with the one before it.
func TestFormerListChangesNothingOfRealLists(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of compiling")
	}
	var former *Index
	for _, date := range []string{"2024-05-28", "2025-11-19"} {
		data := encoded(t, realEntities(t, date))
		plain := compiled(t, Help{}, data)
		if former != nil {
			require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Help{Former: former}, data)))
		}
		former = plain
	}
	last := realEntities(t, "2025-11-19")
	data := encoded(t, append(last[3:], named(5_000_000, Individual, ListSDN, "QUORVEN, Zarbal Ivan")))
	plain := compiled(t, Help{}, data)
	require.Equal(t, fingerprint(t, plain), fingerprint(t, compiled(t, Help{Former: former}, data)))
	taken, of := reused(t, former, plain)
	require.Greater(t, taken, of*9/10)
}
