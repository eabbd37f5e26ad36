package ofac

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is passed over because it cannot come up to the threshold must not change what
// comes out: the same matches, scores and reasons as where every name is compared.
func TestBoundsChangeNothing(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 22))
	t.Run("made list", func(t *testing.T) {
		list, names := madeList(t, random, 3000)
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
	every, unbound := NewScratch(), shipped
	every.scorer.tuned = &unbound // the same numbers, but no bound is known for them
	scratch, other, matched := NewScratch(), NewScratch(), 0
	read := readWhole(list)
	for i := range count {
		name := names[random.IntN(len(names))]
		switch random.IntN(3) {
		case 0:
			name = ways[kinds[random.IntN(len(kinds))]](name, random)
		case 1: // words of two names: what nearly matches
			words, others := strings.Fields(name), strings.Fields(names[random.IntN(len(names))])
			words[random.IntN(len(words))] = others[random.IntN(len(others))]
			name = strings.Join(words, " ")
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
			continue // the unbound way looks at more names, and may leave off
		}
		require.Equal(t, want.Outcome, got.Outcome, name)
		require.Equal(t, want.Matches, gotMatches, name)
		matched += min(len(gotMatches), 1)
	}
	require.Greater(t, matched, count/4)
}

// readWhole is the list without what is noted of names and words when it is opened, so
// that all of them are read.
func readWhole(list *Index) *Index {
	whole := *list
	whole.beginnings = make([]beginnings, len(list.beginnings))
	whole.words.remainders = nil
	whole.words.holders = slices.Clone(list.words.holders)
	for i := range whole.words.holders {
		whole.words.holders[i] |= holder(1<<32-1) << holderLettersAt
		whole.words.holders[i] |= holderWeightMost<<holderWeightAt | holderLong
	}
	return &whole
}

// madeList is a list of names drawn from few words, so that many are near one another.
func madeList(t *testing.T, random *rand.Rand, count int) (*Index, []string) {
	given := strings.Fields("MOHAMMED AHMED ALI YOUSEF IVAN SERGEI OLEKSANDR MARIA JUAN CARLOS HASSAN OMAR WEI XIAOMING JONG UN")
	last := strings.Fields("IVANOV PETROV KHAN HUSSEIN GARCIA LOPEZ RODRIGUEZ KIM ZHANG CHANG ABDULLAH RAHMAN SMIRNOV VOLKOV HADDAD")
	trade := strings.Fields("GENERAL TRADING SHIPPING NATIONAL BANK STEEL OIL ORIENT STAR GULF NORTH CASPIAN ELECTRONICS HOLDING")
	forms := []string{"", " LLC", " CO., LTD.", " GMBH", " JSC", " S.A."}
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	entities, names := make([]Entity, 0, count), make([]string, 0, count)
	for i := range count {
		entity := Entity{UID: uint32(i + 1), Type: Company, Lists: ListSDN}
		full := pick(trade) + " " + pick(trade) + " " + pick(last) + forms[random.IntN(len(forms))]
		plain := full
		if i%2 == 0 {
			entity.Type = Individual
			full = pick(last) + ", " + pick(given)
			if random.IntN(2) == 0 {
				full += " " + pick(given)
			}
			family, first, _ := strings.Cut(full, ", ")
			plain = first + " " + family
		}
		entity.Names = []Name{{ID: uint32(i + 1), Primary: true, Script: "Latin", Full: full}}
		entities, names = append(entities, entity), append(names, strings.TrimSpace(plain))
	}
	list, err := Build(entities, Meta{Source: "test"})
	require.NoError(t, err)
	return list, names
}

// What a name's beginning tells must pass over no name that was cut: names of the list
// in either order at every width finds what it finds where all are read.
func TestBeginningsPassOverNothing(t *testing.T) {
	t.Parallel()
	list := realList(t, "2025-11-19")
	every := readWhole(list)
	scratch, found := NewScratch(), 0
	cut := func(x *Index, text string) []hit {
		scratch.hits, scratch.scorer.words = scratch.hits[:0], appendWords(scratch.scorer.words[:0], text, false)
		x.cutLine(text, scratch)
		return slices.Clone(scratch.hits)
	}
	for name := range list.nameCount {
		if name%8 != 0 {
			continue // an eighth of them is enough
		}
		record := list.name(name)
		full := list.textAt(record.full)
		texts := []string{full, strings.Replace(full, ", ", " ", 1)}
		if last, first, ok := strings.Cut(full, ", "); ok {
			texts = append(texts, first+" "+last)
		}
		text := []rune(texts[int(name)%len(texts)])
		for width := range swiftLine + 1 {
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

// plainSimilarity is wordSimilarity without anything that spares work.
func plainSimilarity(a, b *spelledWord) int32 {
	if string(a.fold) == string(b.fold) {
		return sameSpelling
	}
	best := int32(0)
	for i, pair := range [][2][]byte{{a.text, b.text}, {a.fold, b.fold}} {
		length := int32(max(len(pair[0]), len(pair[1])))
		limit := costLimit(int(length))
		cost := spellingCost(pair[0], pair[1], limit)
		if cost > limit {
			continue
		}
		similarity := scoreOne - cost*(scoreOne/100)/length
		if i == 0 && similarity >= clearlyClose {
			return min(similarity, sameSpelling)
		}
		if i == 1 {
			similarity = similarity * 97 / 100
		}
		best = max(best, similarity)
	}
	if best < wordFloor {
		return 0
	}
	return min(best, sameSpelling)
}

func TestWordSimilarityAgainstThePlainWay(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	const letters = "aabcdeefghhiijklmnoopqrsstuvwxyyz"
	spelled := func(word []byte) spelledWord {
		fold := appendSpelling(nil, word)
		return spelledWord{word, fold, bagOf(word), bagOf(fold)}
	}
	close := 0
	for range 300000 {
		a := make([]byte, 3+random.IntN(9))
		for i := range a {
			a[i] = letters[random.IntN(len(letters))]
		}
		b := slices.Clone(a)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(b))
			switch random.IntN(4) {
			case 0:
				b[at] = letters[random.IntN(len(letters))]
			case 1:
				b = slices.Insert(b, at, letters[random.IntN(len(letters))])
			case 2:
				if len(b) > 2 {
					b = slices.Delete(b, at, at+1)
				}
			case 3:
				if at > 0 {
					b[at-1], b[at] = b[at], b[at-1]
				}
			}
		}
		one, other := spelled(a), spelled(b)
		want := plainSimilarity(&one, &other)
		require.Equal(t, want, wordSimilarity(&one, &other), "%s %s", a, b)
		if want > 0 {
			close++
		}
	}
	require.Greater(t, close, 50000)
}

// A word of ASCII letters is read without the table of characters, and alike.
func TestPlainWordsAreReadAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 26))
	const letters = "abcXYZO01 5389 aaa "
	for range 20000 {
		text := make([]byte, 1+random.IntN(14))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		// A character that vanishes, at the end of each word, has the table read it.
		disturbed := strings.Join(strings.Split(string(text), " "), "\u200b ") + "\u200b"
		for _, lookAlike := range []bool{false, true} {
			require.Equal(t, string(appendWords(nil, disturbed, lookAlike)), string(appendWords(nil, string(text), lookAlike)), "%q", text)
		}
	}
	_, plain := plainWord("caf\u00e9", 0)
	require.False(t, plain)
}

// A table of words has the words it was made of, and no other.
func TestLexicon(t *testing.T) {
	set := wordSet("sheikh", "mr", "a", strings.Repeat("x", 40))
	for _, word := range []string{"sheikh", "mr", "a", strings.Repeat("x", 40)} {
		require.True(t, set.has([]byte(word)), word)
	}
	for _, word := range []string{"", "mx", "shaikh", "sheik", "b", strings.Repeat("x", 41), "mrr"} {
		require.False(t, set.has([]byte(word)), word)
	}
	for syllable, key := range koreanSyllables() {
		got, ok := syllables.korean.key([]byte(syllable))
		require.True(t, ok, syllable)
		require.Equal(t, key, got, syllable)
	}
	_, ok := syllables.korean.key([]byte("bran"))
	require.False(t, ok)
}
