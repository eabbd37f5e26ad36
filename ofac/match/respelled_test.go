package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// Abbreviations of company words in payment messages are read as these words.
func TestAbbreviationsAreTheirWords(t *testing.T) {
	list, scratch := mustBuild(t, []list.Entity{
		listtest.Named(1, list.Company, list.ListSDN, "ORIENT STAR SHIPPING GROUP"), listtest.Named(2, list.Company, list.ListSDN, "ZARIF GENERAL TRADING LLC"),
		listtest.Named(3, list.Company, list.ListSDN, "KAVEH NATIONAL HOLDINGS"), listtest.Named(4, list.Company, list.ListSDN, "LAZARUS GROUP"), listtest.Named(5, list.Company, list.ListSDN, "OTHER SERVICES"),
	}), NewScratch()
	for query, uid := range map[string]uint32{"ORIENT STAR SHPG GRP": 1, "ZARIF GENL TRDG": 2, "KAVEH NATL HLDGS": 3, "LAZARUS GRP": 4} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotEqual(t, Clear.String(), result.Outcome.String(), query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
}

// A misspelling is found whichever spelling of the name it is closest to and whichever the
// list has.
func TestASlipInAnySpellingIsFound(t *testing.T) {
	entities := listtest.NumberedEntities(400)
	entities = append(entities, listtest.Named(1, list.Individual, list.ListSDN, "KORSUNOV, Uladzimir"), listtest.Named(2, list.Individual, list.ListSDN, "DORZAI, Cabdiraxmaan"),
		listtest.Named(3, list.Company, list.ListSDN, "VOLMAR SUDOSTROITELNYY ZAVOD"))
	list, scratch := mustBuild(t, entities), NewScratch()
	for query, uid := range map[string]uint32{
		"Korsunov, Wladimr": 1, "Volodymir Korsunov": 1, "Dorzai Abduraman": 2, "Volmar Shipbulding Factory": 3,
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotEqual(t, Clear.String(), result.Outcome.String(), query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
	for _, query := range []string{"Korsunov, Vladlen", "Dorzai Abdulghani"} {
		require.Equal(t, Clear.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}
