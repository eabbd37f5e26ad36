package ofac

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// kindsList holds names of the kinds that TestKindsOfNames speaks of.
func kindsList(t testing.TB) *Index {
	return mustBuild(t, []Entity{
		named(1, Individual, ListSDN, "PONOMAREV, Vyacheslav"),
		named(2, Individual, ListSDN, "ALOMGY, Mohammed Saleh Abdrabbo"),
		named(3, Company, ListSDN, "BRIGADE 44"),
		named(4, Individual, ListSDN, "SECHIN, Igor"),
		named(5, Company, ListSDN, "UNITED STATES LANTERN BUREAU"),
		named(6, Individual, ListSDN, "ZARQUNI, Mohamad Iqbal Abdurrahman"),
		named(7, Company, ListSDN, "LANTERN SHIPBUILDING CORPORATION"),
		named(8, Individual, ListSDN, "ИВАНОВ, Демьян", "IVANOV, Demyan"),
	})
}

// Each query is of a kind of name, or of error, that the scorer once misread.
func TestKindsOfNames(t *testing.T) {
	list, scratch := kindsList(t), NewScratch()
	for query, uid := range map[string]uint32{
		"Mohammed S. A. Alomgy": 2, // initials, not a company of the form S.A.
		"Brigade Fourty-four":   3, // a slip with a number word
		"I9or Sech1n":           4, // 9 for g
		"U.S. Lantern Bureau":   5,
		"ЛАНТЕРН СУДОСТРОИТЕЛЬНАЯ КОРПОРАЦИЯ": 7, // an inflected word of the trade
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotEmpty(t, result.Matches, query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
	// The Merciful is not the Compassionate: names of two groups are never close.
	require.Equal(t, Clear, list.Screen(&Query{Name: "Zarquni Abdurrahim"}, scratch).Outcome)
}

// Two names in Cyrillic that the list has in Latin alone are reviewed; the listed
// Cyrillic name blocks, and so does Latin with a Cyrillic letter put into it.
func TestCyrillicNamesakesDoNotBlock(t *testing.T) {
	list, scratch := kindsList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Вячеслав Пономарев":   Possible,
		"Vyacheslav Ponomarev": Listed,
		"Vyaсheslav Ponomarev": Listed, // the third letter but one is Cyrillic
		"Демьян Иванов":        Listed,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A finger that slips hits the key beside: that is nearer than any other letter, and
// no bound of the letters may say otherwise.
func TestKeysBesideOneAnother(t *testing.T) {
	for pair, cost := range map[string]int32{"lk": costKey, "sd": costKey, "pl": costKey, "gv": costKey, "sw": costKey, "as": costKey, "zs": costClass, "gm": costEdit, "qz": costEdit} {
		require.Equal(t, cost, substitution(pair[0], pair[1]), pair)
		require.Equal(t, beside(pair[0], pair[1]), beside(pair[1], pair[0]), pair)
	}
}

// A name in another's place: the father's behind "bin" where it is common, and a
// company of common words without its legal form. Rare ones are found all the same.
func TestCommonNamesAmongOtherWords(t *testing.T) {
	var entities []Entity
	for uid := range uint32(60) { // common words
		entities = append(entities, named(1000+uid, Individual, ListSDN, "IQBAL, Muhammad Nr"+string([]byte{'a' + byte(uid/8), 'k' + byte(uid%8)})))
	}
	list := mustBuild(t, append(entities, named(1, Individual, ListSDN, "IQBAL, Muhammad"), named(2, Individual, ListSDN, "ZARQUNI, Demyan")))
	scratch := NewScratch()
	for query, outcome := range map[string]Outcome{
		"Kallie Ardhan bin Muhammad Iqbal": Clear,
		"Muhammad Iqbal bin Kallie":        Possible,
		"bin Muhammad Iqbal Dubai":         Possible, // nobody's name stands before
		"Kallie Ardhan bin Demyan Zarquni": Possible,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}
