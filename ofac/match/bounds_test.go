package match

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/index"
	listed "railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/text"
)

// The bounds skip only names that cannot reach the threshold. So the matches, scores and
// reasons are the same as when every name is compared.
func TestBoundsChangeNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 22))
	t.Run("made list", func(t *testing.T) {
		entities, names := listtest.MadeEntities(random, 3000)
		list := mustBuild(t, entities)
		boundsChangeNothing(t, list, names, random, 6000)
	})
	t.Run("real list", func(t *testing.T) {
		list := realList(t, "2025-11-19")
		_, names := plainNames(list, 3000)
		boundsChangeNothing(t, list, names, random, 6000)
	})
}

func boundsChangeNothing(t *testing.T, list *Index, names []string, random *rand.Rand, count int) {
	ways := maps.Clone(disguises)
	maps.Copy(ways, hostileMore)
	kinds := slices.Sorted(maps.Keys(ways))
	every := NewScratch()
	every.scorer.unbounded = true
	scratch, other, matched := NewScratch(), NewScratch(), 0
	read := &Index{Tables: list.WithoutNotes()}
	for i := range count {
		name := names[random.IntN(len(names))]
		switch random.IntN(5) {
		case 0:
			name = ways[kinds[random.IntN(len(kinds))]](name, random)
		case 1: // words of two names, for near matches
			words, others := strings.Fields(name), strings.Fields(names[random.IntN(len(names))])
			words[random.IntN(len(words))] = others[random.IntN(len(others))]
			name = strings.Join(words, " ")
		case 2: // two words written as one, with a slip, beside a word of another name
			if words := strings.Fields(name); len(words) > 1 && len(words[0]) > 2 {
				others := strings.Fields(names[random.IntN(len(names))])
				name = others[0] + " " + words[0][:len(words[0])-1] + words[1]
			}
		case 3: // words of a payment, of business and titles around a word or two
			words, beside := strings.Fields(name), []string{"invoice", "bank", "mr", "dubai", "trading", "x", "for", "the", "petrovich", "company"}
			name = beside[random.IntN(len(beside))] + " " + words[0] + " " + beside[random.IntN(len(beside))] + " " + words[len(words)-1]
		}
		q := Query{Name: name, Type: PartyType(i % 4), NonSDNPossible: i%8 < 4, WeakAliases: i%16 < 8}
		if i%5 == 0 {
			q.Review, q.Block = reviewFloor, 8500
		}
		got := list.Screen(&q, scratch)
		gotMatches := slices.Clone(got.Matches)
		whole := read.Screen(&q, other)
		require.Equal(t, whole.Matches, gotMatches, name)
		require.Equal(t, whole.Truncated, got.Truncated, name)
		want := list.Screen(&q, every)
		if want.Truncated != got.Truncated {
			continue // without bounds more names are looked at, so the search may stop early
		}
		require.Equal(t, want.Outcome, got.Outcome, name)
		require.Equal(t, want.Matches, gotMatches, name)
		matched += min(len(gotMatches), 1)
	}
	require.Greater(t, matched, count/4)
}

// The summary of a name's beginning must not skip a name that was cut. For names of the
// list in either order and at every width, the search finds the same as a search that reads
// all names.
func TestBeginningsPassOverNothing(t *testing.T) {
	t.Parallel()
	list := realList(t, "2025-11-19")
	every := &Index{Tables: list.WithoutNotes()}
	scratch, found := NewScratch(), 0
	cut := func(x *Index, written string) []hit {
		scratch.hits, scratch.scorer.words = scratch.hits[:0], text.AppendWords(scratch.scorer.words[:0], written, false)
		x.findCutLine(written, scratch)
		return slices.Clone(scratch.hits)
	}
	for name := range list.NameCount {
		if name%8 != 0 {
			continue // the test takes every eighth name
		}
		record := list.NameAt(name)
		full := list.TextAt(record.Full)
		texts := []string{full, strings.Replace(full, ", ", " ", 1)}
		if last, first, ok := strings.Cut(full, ", "); ok {
			texts = append(texts, first+" "+last)
		}
		text := []rune(texts[int(name)%len(texts)])
		for width := range index.SwiftLine + 1 {
			if lineWidths>>width&1 != 0 && width < len(text) {
				line := string(text[:width])
				want := cut(every, line)
				require.Equal(t, want, cut(list, line), line)
				found += min(len(want), 1)
			}
		}
	}
	require.Greater(t, found, 1000)
}

// The summary of the beginnings of names in scripts without blanks skips no name inside a longer word: the
// matches are those of a search that tries every place.
func TestNativeBeginningsPassOverNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(23, 24))
	write := func(letters int) string {
		first := []rune{0x4E00, 0x30A1, 0xAC00}[random.IntN(3)]
		word := make([]rune, letters)
		for i := range word {
			word[i] = first + rune(random.IntN(60))
		}
		return string(word)
	}
	var entities []listed.Entity
	var names []string
	for i := range 400 {
		names = append(names, write(3+random.IntN(9)))
		entities = append(entities, listtest.Named(uint32(i+1), listed.Company, listed.ListSDN, names[i]))
	}
	list, scratch, other, matched := mustBuild(t, entities), NewScratch(), NewScratch(), 0
	every := &Index{Tables: list.WithoutNotes()}
	for range 3000 {
		name := []rune(names[random.IntN(len(names))])
		q := Query{Name: write(random.IntN(8)) + string(name[:len(name)-random.IntN(2)]) + write(random.IntN(60)), NonSDNPossible: true}
		want := slices.Clone(every.Screen(&q, other).Matches)
		require.Equal(t, want, slices.Clone(list.Screen(&q, scratch).Matches), q.Name)
		matched += min(len(want), 1)
	}
	require.Greater(t, matched, 500)
}

// A word that is spelt like two listed words written as one may say more than a word says at most.
func TestBoundsKnowOfJoinedWords(t *testing.T) {
	t.Parallel()
	list := mustBuild(t, []listed.Entity{listtest.Named(1, listed.Individual, listed.ListSDN, "ABD ZIMMERLUND")})
	scratch, every := NewScratch(), NewScratch()
	every.scorer.unbounded = true
	q := Query{Name: "Brown Abdzimerlund"}
	want := list.Screen(&q, every).Outcome
	require.Equal(t, Possible, want)
	require.Equal(t, want, list.Screen(&q, scratch).Outcome)
}
