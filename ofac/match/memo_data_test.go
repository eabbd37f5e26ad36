package match_test

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/listtest"
)

// readNames reads one column of a file of the names.
func readNames(t testing.TB, file string, kind, column int) (kinds, names []string) {
	f, err := os.Open(filepath.Join(listtest.DataFolder(t), "names", file))
	require.NoError(t, err)
	defer f.Close()
	source, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewScanner(source)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		kinds, names = append(kinds, fields[kind]), append(names, fields[column])
	}
	return kinds[1:], names[1:]
}

// Ordinary names as a memo, alone and inside of a sentence, are reviewed at most once in a thousand: as
// misspelt names of persons are looked for in a memo, less often than as the name of a party.
func TestOrdinaryMemosAreQuiet(t *testing.T) {
	x, scratch := realIndex(t), ofac.NewScratch()
	kinds, names := readNames(t, "dev_negatives.tsv.gz", 1, 3)
	ordinary, found := 0, 0
	for i, name := range names {
		hard := strings.HasPrefix(kinds[i], "hard_")
		if !hard {
			ordinary++
		}
		for _, memo := range []string{name, "Invoice 4711 for " + name + ", services in March, thank you"} {
			result := x.Memo(&ofac.Query{Name: memo}, scratch)
			require.False(t, result.Truncated, memo)
			if result.Outcome != ofac.Clear {
				t.Logf("%s %q: %s", kinds[i], memo, result.Matches[0].Alias)
				if !hard {
					found++
				}
				break
			}
		}
	}
	require.LessOrEqual(t, float64(found)/float64(ordinary), 0.001)
}

// The listed names of two words or more are found in a sentence, except for those of so few letters
// that ordinary texts hold them (less than six, of a person less than eight), and those with one
// word beside an article.
func TestListedNamesInMemos(t *testing.T) {
	x, scratch := realIndex(t), ofac.NewScratch()
	asked, missed := 0, 0
	for _, entity := range x.Entities() {
		if entity.Type != ofac.Individual && entity.Type != ofac.Company {
			continue
		}
		for _, name := range entity.Names {
			if name.Weak || name.Script != "Latin" || len(strings.Fields(ofac.NormaliseName(name.Full))) < 2 {
				continue
			}
			asked++
			full := name.Full
			if last, first, ok := strings.Cut(full, ", "); ok && entity.Type == ofac.Individual {
				full = first + " " + last
			}
			if x.Memo(&ofac.Query{Name: "Payment to " + full + ", invoice 4711"}, scratch).Outcome != ofac.Possible {
				missed++
			}
		}
	}
	require.Less(t, float64(missed)/float64(asked), 0.025, "%d of %d", missed, asked)
}

func BenchmarkMemo(b *testing.B) {
	x, scratch := realIndex(b), ofac.NewScratch()
	for name, memo := range map[string]string{
		"short":   "Invoice 4711 for cleaning services in March",
		"long":    strings.Repeat("Payment for order 12345 of office chairs and desks delivered to Hamburg on Monday ", 6),
		"listed":  "Invoice 4711 for Nicolas Maduro Moros, services in March",
		"hostile": strings.Repeat("Mohammad Ali Hassan Ahmed ", 19),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				x.Memo(&ofac.Query{Name: memo}, scratch)
			}
		})
	}
}
