package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainSimilarity is WordSimilarity without its shortcuts.
func plainSimilarity(a, b *SpelledWord) int32 {
	if string(a.Fold) == string(b.Fold) {
		return SameSpelling
	}
	best := int32(0)
	for i, pair := range [][2][]byte{{a.Text, b.Text}, {a.Fold, b.Fold}} {
		length := int32(max(len(pair[0]), len(pair[1])))
		limit := CostLimit(int(length))
		cost := spellingCost(pair[0], pair[1], limit)
		if cost > limit {
			continue
		}
		similarity := ScoreOne - cost*(ScoreOne/100)/length
		if i == 0 && similarity >= ClearlyClose {
			return min(similarity, SameSpelling)
		}
		if i == 1 {
			similarity = similarity * 97 / 100
		}
		best = max(best, similarity)
	}
	if best < WordFloor {
		return 0
	}
	return min(best, SameSpelling)
}

func TestWordSimilarityAgainstThePlainWay(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	const letters = "aabcdeefghhiijklmnoopqrsstuvwxyyz"
	spelled := func(word []byte) SpelledWord {
		fold := AppendSpelling(nil, word)
		return SpelledWord{word, fold, BagOf(word), BagOf(fold)}
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
		require.Equal(t, want, WordSimilarity(&one, &other), "%s %s", a, b)
		if want > 0 {
			close++
		}
	}
	require.Greater(t, close, 50000)
}

// A word of ASCII letters is read without the table of characters, with the same result.
func TestPlainWordsAreReadAlike(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 26))
	const letters = "abcXYZO01 5389 aaa "
	for range 20000 {
		text := make([]byte, 1+random.IntN(14))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		// A dropped character at the end of each word forces the use of the table.
		disturbed := strings.Join(strings.Split(string(text), " "), "\u200b ") + "\u200b"
		for _, lookAlike := range []bool{false, true} {
			require.Equal(t, string(AppendWords(nil, disturbed, lookAlike)), string(AppendWords(nil, string(text), lookAlike)), "%q", text)
		}
	}
	_, plain := plainWord("caf\u00e9", 0)
	require.False(t, plain)
}

// A lexicon has exactly the words it was made of.
func TestLexicon(t *testing.T) {
	set := wordSet("sheikh", "mr", "a", strings.Repeat("x", 40))
	for _, word := range []string{"sheikh", "mr", "a", strings.Repeat("x", 40)} {
		require.True(t, set.Has([]byte(word)), word)
	}
	for _, word := range []string{"", "mx", "shaikh", "sheik", "b", strings.Repeat("x", 41), "mrr"} {
		require.False(t, set.Has([]byte(word)), word)
	}
	for syllable, key := range koreanSyllables() {
		got, ok := syllables.korean.keyOf([]byte(syllable))
		require.True(t, ok, syllable)
		require.Equal(t, key, got, syllable)
	}
	_, ok := syllables.korean.keyOf([]byte("bran"))
	require.False(t, ok)
}

// A slipped finger hits a neighbouring key. Such a letter costs less than any other that
// sounds different.
func TestKeysBesideOneAnother(t *testing.T) {
	for pair, cost := range map[string]int32{"lk": costKey, "sd": costKey, "pl": costKey, "gv": costKey, "sw": costKey, "as": costKey, "zs": costClass, "gm": costEdit, "qz": costEdit} {
		require.Equal(t, cost, substitutionCost(pair[0], pair[1]), pair)
		require.Equal(t, areBeside(pair[0], pair[1]), areBeside(pair[1], pair[0]), pair)
	}
}

// The bound by letter bags never exceeds the real difference of two words; if it did, a close
// word would be skipped.
func TestBagsNeverOverstate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const letters = "aabbcdefghhijklmnoprsstuvwxyyz019"
	far := 0
	for range 200000 {
		a := make([]byte, 2+random.IntN(9))
		for i := range a {
			a[i] = letters[random.IntN(len(letters))]
			if i > 0 && random.IntN(6) == 0 {
				a[i] = a[i-1]
			}
		}
		b := append([]byte(nil), a...)
		for range 1 + random.IntN(3) {
			at := random.IntN(len(b))
			switch random.IntN(3) {
			case 0:
				b[at] = letters[random.IntN(len(letters))]
			case 1:
				b = append(b[:at+1], b[at:]...)
			case 2:
				if len(b) > 1 {
					b = append(b[:at], b[at+1:]...)
				}
			}
		}
		cost := plainCost(a, b)
		require.LessOrEqual(t, max(BagOf(a).surplusCost(BagOf(b)), BagOf(b).surplusCost(BagOf(a))), cost, "%s %s", a, b)
		for _, limit := range []int32{50, 75, 125, 200, 260} {
			if BagOf(a).FartherThan(BagOf(b), limit) {
				far++
				require.Equal(t, int32(costImpossible), spellingCost(a, b, limit), "%s %s", a, b)
			}
		}
	}
	require.Greater(t, far, 100000)
}

// An exchange of two neighbouring letters is found in whatever row of the table it falls.
func TestSpellingCostOfExchanges(t *testing.T) {
	for pair, want := range map[[2]string]int32{
		{"sergei", "segrei"}: costSwap,
		{"ahmda", "ahmad"}:   costSwap,
		{"eman", "mean"}:     costSwap,
		{"abcd", "bacd"}:     costSwap,
	} {
		require.Equal(t, want, spellingCost([]byte(pair[0]), []byte(pair[1]), costImpossible), "%v", pair)
		require.Equal(t, want, spellingCost([]byte(pair[1]), []byte(pair[0]), costImpossible), "%v", pair)
	}
}
