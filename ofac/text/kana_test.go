package text_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/listtest"
	"railguard/ofac/match"
	"railguard/ofac/text"
)

// Persons who are listed in Latin letters only are screened in Kana. All Japanese names
// must be found; the test logs how many others are. Such a reading never blocks.
func TestKanaOfLatinNames(t *testing.T) {
	compiled, err := match.Build(listtest.RealEntities(t, "2025-11-19"), list.Meta{Source: "test"})
	require.NoError(t, err)
	scratch := match.NewScratch()
	asked, found := map[string]int{}, map[string]int{}
	ask := func(kind, query string, uid uint32) {
		require.NotEqual(t, match.Listed, compiled.Screen(&match.Query{Name: query}, scratch).Outcome, query)
		asked[kind]++
		if party, _ := compiled.ScreenEntry(uid, &match.Query{Name: query}, scratch); party.Outcome >= match.Possible {
			found[kind]++
		}
	}
	native := map[uint32]bool{}
	for id := range compiled.NameCount {
		if record := compiled.NameAt(id); text.HasLossy(compiled.TextAt(record.Full)) {
			native[record.Entity] = true
		}
	}
	for id := range compiled.NameCount {
		record := compiled.NameAt(id)
		entity := compiled.EntityAt(record.Entity)
		full := compiled.TextAt(record.Full)
		last, first, parted := strings.Cut(full, ", ")
		if entity.Kind != list.Individual || record.Flags&(index.NameWeak|index.NamePrimary) != index.NamePrimary || !parted || native[record.Entity] {
			continue
		}
		name := string(text.AppendWords(nil, first+" "+last, false))
		if kana, ok := text.InKana(name, false); ok {
			ask("Japanese names", kana, entity.UID)
		} else if kana, ok = text.InKana(name, true); ok && id%4 == 0 {
			ask("other names", kana, entity.UID)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(asked)) {
		t.Logf("%s: %d of %d", kind, found[kind], asked[kind])
	}
	require.Equal(t, asked["Japanese names"], found["Japanese names"])
}
