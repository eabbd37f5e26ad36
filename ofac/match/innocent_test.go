package match

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// innocentList has enough entries that some words are common and some rare.
func innocentList(t testing.TB) *Index {
	compiled := []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "ALI, Ahmed Mohammed"),
		listtest.Named(2, list.Individual, list.ListSDN, "PRIGOZHIN, Yevgeniy Viktorovich"),
		listtest.Named(3, list.Individual, list.ListSDN, "KIM, Song Hun"),
		listtest.Named(4, list.Individual, list.ListSDN, "KIM, Jong Un"),
		listtest.Named(5, list.Individual, list.ListSDN, "HASSAN, Yousef"),
		listtest.Named(6, list.Company, list.ListSDN, "NORTHERN STAR SHIPYARD"),
		listtest.Named(7, list.Individual, list.ListSDN, "AL-ASSAD, Bashar"),
		listtest.Named(8, list.Individual, list.ListSDN, "HASAN, Ali"),
	}
	korean := &compiled[3]
	korean.Names = append(korean.Names, list.Name{ID: 900, AliasType: "A.K.A.", Script: "Korean", Full: "김 정은"})
	arabic := &compiled[6]
	arabic.Names = append(arabic.Names, list.Name{ID: 901, AliasType: "A.K.A.", Script: "Arabic", Full: "بشار الأسد"})
	for i := range uint32(400) {
		compiled = append(compiled, listtest.Named(1000+i, list.Individual, list.ListSDN, fmt.Sprintf("ALI, Ahmed Mohammed Number%c%c", 'A'+i%26, 'A'+i/26)))
	}
	return mustBuild(t, compiled)
}

// A near match blocks only in a listed order, and only if not all its words are common.
func TestNearMatchesBlockAsABankWould(t *testing.T) {
	list, scratch := innocentList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Yevgeniy Viktorovich Prigozin":  Listed, // first names, last name
		"Prigozin, Yevgeniy Viktorovich": Listed,
		"Viktorovich Prigozin Yevgeniy":  Possible, // an order the list does not write
		"Prigozin Viktorovich Yevgeniy":  Possible,
		"MOHAMED AHMED ALI":              Possible,
		"Ahmed Mohamed Ali":              Possible, // the listed order, but common words alone
		"Ali, Ahmed Mohammed":            Listed,   // the listed name itself
		"NORTHERN STAR SHIPYERD":         Listed,
		"SHIPYERD NORTHERN STAR":         Possible,
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Equal(t, outcome.String(), result.Outcome.String(), query)
	}
}

// A query read through a lossy transliteration never blocks, unless it is the listed name
// in its own script.
func TestGuessesDoNotBlock(t *testing.T) {
	list, scratch := innocentList(t), NewScratch()
	for query, c := range map[string]struct {
		outcome Outcome
		sub     Sub
	}{
		"성훈 김":       {Possible, SubTransliterated}, // sounds like KIM, Song Hun
		"김 정은":       {Listed, SubNone},             // listed in this script
		"بشار الأسد": {Listed, SubNone},
		"بشار الاسد": {Listed, SubNone}, // another form of alef
		"الأسد بشار": {Listed, SubNone},
		"علي حسن":    {Possible, SubTransliterated}, // HASAN, Ali is listed in Latin only
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Equal(t, c.outcome.String(), result.Outcome.String(), query)
		require.Equal(t, c.sub.String(), result.Matches[0].Sub.String(), query)
	}
}

// The numbers of an explanation add up to the score.
func TestExplanationsAddUp(t *testing.T) {
	list, scratch := innocentList(t), NewScratch()
	explained := 0
	for _, query := range []string{
		"Hassan Yousuf", "Hassan Youssuf Karim", "Prigozin Yevgeniy", "Dr Yevgeniy V. Prigozhin", "NORTHERN STAR SHIPYERD LLC", "Ahmed Ali",
		"Bashar Alasad", "성훈 김", "Yevgeni Prigozhin Ivanovich", "Song-hun Kim Jr",
	} {
		asked := Query{Name: query, Review: reviewFloor}
		uids := []uint32{}
		for _, match := range list.Screen(&asked, scratch).Matches {
			uids = append(uids, match.UID)
		}
		for _, uid := range uids {
			e, ok := list.Explain(uid, &asked, scratch)
			require.True(t, ok)
			require.NotEmpty(t, e.String())
			if e.Match.Form != "possible" {
				continue
			}
			explained++
			require.NotEmpty(t, e.Pairs, query)
			sum := int32(0)
			for _, pair := range e.Pairs {
				sum += pair.Bits
			}
			for _, parts := range [][]ExplainedPart{e.QueryOnly, e.ListedOnly, e.Whole} {
				for _, part := range parts {
					sum += part.Bits
				}
			}
			require.Equal(t, e.Sum, sum, "%s: %s", query, e)
			require.Equal(t, e.Match.Score, shipped.scoreOf(e.Sum, e.Needed == shipped.neededPerson))
		}
	}
	require.Greater(t, explained, 5)

	e, ok := list.Explain(5, &Query{Name: "Hassan Yousuf Ali", Review: reviewFloor}, scratch)
	require.True(t, ok)
	require.Equal(t, `HASSAN = HASSAN +9.5, YOUSUF ~ YOUSEF +11.6, "ALI" not in the listed name −5.1, +16.0 bits of 17.3, close spelling`, e.String())
	_, ok = list.Explain(5, &Query{Name: "Northwind Traders"}, scratch)
	require.False(t, ok)
	e, ok = list.Explain(5, &Query{Name: "Yousef Hassan"}, scratch)
	require.True(t, ok)
	require.Equal(t, "equal as full", e.String())
	e, ok = list.Explain(6, &Query{Name: "NORTHERN STAR SHIPYARD LLC"}, scratch)
	require.True(t, ok)
	require.Equal(t, "equal as sorted-words, legal forms aside", e.String())
	e, ok = list.Explain(2, &Query{Name: "Y. Prigozhin"}, scratch)
	require.True(t, ok)
	require.Contains(t, e.String(), "Y is an initial of YEVGENIY +5.2, PRIGOZHIN = PRIGOZHIN +")
	e, ok = list.Explain(2, &Query{Name: "PRIGOZHIN, Yevge"}, scratch)
	require.True(t, ok)
	require.Contains(t, e.String(), "YEVGE ~ YEVGENIY")
}

// All numbers of the scorer are in one table. Changing one for a Scratch changes the scores
// of that Scratch only.
func TestConstantsAreOneTable(t *testing.T) {
	list, scratch := innocentList(t), NewScratch()
	names := map[string]bool{}
	for _, c := range Constants() {
		require.False(t, names[c.Name])
		names[c.Name] = true
		require.NotEmpty(t, c.Meaning)
		require.GreaterOrEqual(t, c.Value, int32(0))
	}
	tuned, err := NewTunedScratch(map[string]int32{"surplusOutside": 10})
	require.NoError(t, err)
	query := Query{Name: "Hassan Yousuf Ali", Review: reviewFloor}
	before := list.Screen(&query, scratch).Matches[0].Score
	require.Greater(t, list.Screen(&query, tuned).Matches[0].Score, before)
	require.Equal(t, before, list.Screen(&query, scratch).Matches[0].Score)
	_, err = NewTunedScratch(map[string]int32{"unknown": 1})
	require.Error(t, err)
}

// One word and a legal form are no match of another word that is only somewhat like it, though each word
// has its pair; a slip of one letter in such a word still is.
func TestOneWordThatIsNotClose(t *testing.T) {
	x := mustBuild(t, []list.Entity{listtest.Named(1, list.Company, list.ListSDN, "METALLEX LIMITED"), listtest.Named(2, list.Company, list.ListSDN, "FUNNULL INC")})
	scratch := NewScratch()
	for name, clear := range map[string]bool{"METALINK LTD": true, "Funko, Inc.": true, "METALEX LTD": false, "METALLLEX LIMITED": false} {
		require.Equal(t, clear, x.Screen(&Query{Name: name, NonSDNPossible: true}, scratch).Outcome == Clear, name)
	}
}
