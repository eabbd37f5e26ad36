package match

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// kindsList holds the names for TestKindsOfNames.
func kindsList(t testing.TB) *Index {
	return mustBuild(t, []list.Entity{
		listtest.Named(1, list.Individual, list.ListSDN, "PONOMAREV, Vyacheslav"),
		listtest.Named(2, list.Individual, list.ListSDN, "ALOMGY, Mohammed Saleh Abdrabbo"),
		listtest.Named(3, list.Company, list.ListSDN, "BRIGADE 44"),
		listtest.Named(4, list.Individual, list.ListSDN, "SECHIN, Igor"),
		listtest.Named(5, list.Company, list.ListSDN, "UNITED STATES LANTERN BUREAU"),
		listtest.Named(6, list.Individual, list.ListSDN, "ZARQUNI, Mohamad Iqbal Abdurrahman"),
		listtest.Named(7, list.Company, list.ListSDN, "LANTERN SHIPBUILDING CORPORATION"),
		listtest.Named(8, list.Individual, list.ListSDN, "ИВАНОВ, Демьян", "IVANOV, Demyan"),
	})
}

// Each query shows a kind of name, or of error, that the scorer once misread.
func TestKindsOfNames(t *testing.T) {
	list, scratch := kindsList(t), NewScratch()
	for query, uid := range map[string]uint32{
		"Mohammed S. A. Alomgy": 2, // initials, not a company of the form S.A.
		"Brigade Fourty-four":   3, // A number word is misspelt.
		"I9or Sech1n":           4, // A 9 stands for a g.
		"U.S. Lantern Bureau":   5,
		"ЛАНТЕРН СУДОСТРОИТЕЛЬНАЯ КОРПОРАЦИЯ": 7, // an inflected word of a company's name
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotEmpty(t, result.Matches, query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
	// The Merciful is not the Compassionate: names of two groups are never close.
	require.Equal(t, Clear, list.Screen(&Query{Name: "Zarquni Abdurrahim"}, scratch).Outcome)
}

// A query of two names in Cyrillic leads to a review if the list has the name in Latin
// only. The listed Cyrillic name blocks, and so does a Latin name with a Cyrillic letter in
// it.
func TestCyrillicNamesakesDoNotBlock(t *testing.T) {
	list, scratch := kindsList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Вячеслав Пономарев":   Possible,
		"Vyacheslav Ponomarev": Listed,
		"Vyaсheslav Ponomarev": Listed, // the fourth letter is Cyrillic
		"Демьян Иванов":        Listed,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A person's common name behind "bin" is the father's and is not found; a rare one is found
// all the same.
func TestCommonNamesAmongOtherWords(t *testing.T) {
	var entities []list.Entity
	for uid := range uint32(60) { // common words
		entities = append(entities, listtest.Named(1000+uid, list.Individual, list.ListSDN, "IQBAL, Muhammad Nr"+string([]byte{'a' + byte(uid/8), 'k' + byte(uid%8)})))
	}
	list := mustBuild(t, append(entities, listtest.Named(1, list.Individual, list.ListSDN, "IQBAL, Muhammad"), listtest.Named(2, list.Individual, list.ListSDN, "ZARQUNI, Demyan")))
	scratch := NewScratch()
	for query, outcome := range map[string]Outcome{
		"Kallie Ardhan bin Muhammad Iqbal": Clear,
		"Muhammad Iqbal bin Kallie":        Possible,
		"bin Muhammad Iqbal Dubai":         Possible, // no other name stands before "bin"
		"Kallie Ardhan bin Demyan Zarquni": Possible,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}
