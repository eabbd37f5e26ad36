package text

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainCost is spellingCost without its shortcuts.
func plainCost(a, b []byte) int32 {
	table := make([][]int32, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0 && j == 0:
			case i == 0:
				table[i][j] = table[i][j-1] + gapCost(b, j-1)
			case j == 0:
				table[i][j] = table[i-1][j] + gapCost(a, i-1)
			default:
				cost := min(table[i-1][j-1]+substitutionCost(a[i-1], b[j-1]), table[i-1][j]+gapCost(a, i-1), table[i][j-1]+gapCost(b, j-1))
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] && a[i-1] != b[j-1] {
					cost = min(cost, table[i-2][j-2]+costSwap)
				}
				table[i][j] = cost
			}
		}
	}
	return table[len(a)][len(b)]
}

// Common beginnings and ends are cut off before the comparison. So the comparison may miss a
// cheaper alignment through a doubled letter, but it never returns a cost that is too low.
func TestSpellingCostAgainstThePlainTable(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const letters = "abehkmo"
	word := func() []byte {
		w := make([]byte, 3+random.IntN(8))
		for i := range w {
			w[i] = letters[random.IntN(len(letters))]
		}
		return w
	}
	equal := 0
	for range 20000 {
		a := word()
		b := append([]byte(nil), a...)
		for range 1 + random.IntN(2) {
			b[random.IntN(len(b))] = letters[random.IntN(len(letters))]
		}
		if random.IntN(2) == 0 {
			at := random.IntN(len(b))
			b = append(b[:at], b[at+1:]...)
		}
		want, got := plainCost(a, b), spellingCost(a, b, costImpossible)
		require.GreaterOrEqual(t, got, want, "%s %s", a, b)
		require.LessOrEqual(t, got, want+costEdit, "%s %s", a, b)
		if got == want {
			equal++
		}
	}
	require.Greater(t, equal, 19000)
}

func TestSpellingFold(t *testing.T) {
	fold := func(word string) string { return string(AppendSpelling(nil, []byte(word))) }
	for _, pair := range [][2]string{
		{"tokhtakhunov", "tohtahunoff"}, {"zhuchkovsky", "juchkovski"}, {"qaddafi", "kadafi"}, {"mohammed", "muhammad"},
		{"abdullah", "abdallah"}, {"yousef", "yusuf"}, {"oleksandr", "alexander"}, {"saeed", "said"}, {"558th", "558"},
		{"zaitsev", "zaytzev"}, {"khaled", "khalid"}, {"el", "al"}, {"ibn", "bin"},
		{"tschernow", "chernov"}, {"baranau", "baranov"}, {"kavaleu", "kavalev"}, {"xasan", "hassan"},
	} {
		require.Equal(t, fold(pair[0]), fold(pair[1]), "%v", pair)
	}
	for _, pair := range [][2]string{{"ivanov", "petrov"}, {"hasan", "husayn"}, {"aleksey", "aleksandr"}, {"mahmud", "mohammad"}, {"moreau", "morov"}, {"cali", "ali"}} {
		require.NotEqual(t, fold(pair[0]), fold(pair[1]), "%v", pair)
	}
}

func TestFormSets(t *testing.T) {
	set := func(forms ...legalForm) FormSet {
		s := FormSet(0)
		for _, form := range forms {
			s = s.withForm(form)
		}
		return s
	}
	for name, c := range map[string]struct {
		a, b FormSet
		want bool
	}{
		"INC against GMBH":        {set(formIncorporated), set(formGmbH), true},
		"INC against CORP":        {set(formIncorporated), set(formCorporation), false},
		"CO against anything":     {set(FormCompany), set(formGmbH), false},
		"CO LTD against INC":      {set(FormCompany, formLimited), set(formIncorporated), true},
		"CO LTD against LTD":      {set(FormCompany, formLimited), set(formLimited), false},
		"none against anything":   {set(), set(formGmbH), false},
		"LLC against joint stock": {set(formLLC), set(formJointStock), true},
		"the same":                {set(formLLC), set(formLLC), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, c.a.Contradicts(c.b))
			require.Equal(t, c.want, c.b.Contradicts(c.a))
		})
	}
}
