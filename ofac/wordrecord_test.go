package ofac

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenRow(t *testing.T) {
	want := nameToken{word: vocabularyMax - 1, weight: scoreOne, first: 23, count: 3, part: partHalf, last: true, begins: beginsInitial}
	row := want.row()
	require.Equal(t, want, row.read())
	require.Equal(t, nameToken{count: 1}, (&nameToken{count: 1}).row().read())
}

// What two bags say the words differ by at least is never more than what they
// differ by: else a word that is close would not be compared.
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
		require.LessOrEqual(t, max(bagOf(a).surplus(bagOf(b)), bagOf(b).surplus(bagOf(a))), cost, "%s %s", a, b)
		for _, limit := range []int32{50, 75, 125, 200, 260} {
			if bagOf(a).farther(bagOf(b), limit) {
				far++
				require.Equal(t, int32(costImpossible), spellingCost(a, b, limit), "%s %s", a, b)
			}
		}
	}
	require.Greater(t, far, 100000)
}

func TestNumberSet(t *testing.T) {
	var set numberSet
	set.begin(10)
	require.True(t, set.first(9))
	require.False(t, set.first(9))
	require.True(t, set.has(9))
	set.begin(10)
	require.False(t, set.has(9))
	require.True(t, set.first(0))
	set.begin(200)
	require.False(t, set.has(0))
	require.True(t, set.first(199))
	require.True(t, set.first(9))
}

// A slip next to another is told apart from two slips, whatever row it falls in.
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
