package ofac

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// evidenceList has enough entries that words are rare or common.
func evidenceList(t testing.TB) *Index {
	list := []Entity{
		named(1, Individual, ListSDN, "BERNARD, Martin"),
		named(2, Individual, ListSDN, "MAMMADOV, Vladimir"),
		named(3, Individual, ListSDN, "WIDODO, Claude"),
		named(4, Individual, ListSDN, "FRIEDRICH, Hans Joachim"),
		named(5, Individual, ListSDN, "AL-RAWI, Saif al-Din Fulayyih Hassan Taha"),
		named(6, Individual, ListSDN, "AL-MASRI, Saif Bin Ibrahim"),
		named(7, Individual, ListSDN, "MADURO, Nicolas"),
		named(8, Individual, ListSDN, "ORTEGA, Hans Omar"),
		named(9, Individual, ListSDN, "GONZALEZ PENUELAS, Ignacio"),
		named(10, Individual, ListSDN, "KHALIDOV, Ruslan K."),
	}
	for i := range uint32(400) {
		list = append(list, named(1000+i, Individual, ListSDN, fmt.Sprintf("NUMBER%c%c, Other%c%c", 'A'+i%26, 'A'+i/26, 'A'+i/26, 'A'+i%26)))
	}
	return mustOpen(t, mustBuild(t, list))
}

// Words are read as they print: rn as m, cl as d, vv as w, l as i, one of them or all.
func TestWordsAreReadAsTheyPrint(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, uid := range map[string]uint32{
		"Rnartin Bemard":        1,
		"VLADIRNIR MAMRNADOV":   2,
		"vladirnir rnarnrnadov": 2,
		"VIADIMIR MAMMACLOV":    2,
		"CLAUCLE WICLODO":       3,
		"DAUDE WIDODO":          3,
		"NICOIAS MADURO":        7,
		"NlCOIAS MACLURO":       7,
	} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.Equal(t, Possible.String(), result.Outcome.String(), query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
	for _, query := range []string{"Rnarth Barnard", "Claude Vividodi"} {
		require.Equal(t, Clear.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A handle is read as the words it is made of; what has small parts is one word.
func TestHandlesAreReadApart(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"NicolazMaduro":       Possible,
		"MaduroNicolaz":       Possible,
		"HansJoachimFridrich": Listed,
		"NicMaduro":           Clear,
		"Nicolaz7Maduro":      Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
	require.Equal(t, "nicolaz maduro", string(appendHandleApart(nil, "NicolazMaduro")))
	for _, name := range []string{"", "Nicolas", "McDonald", "nicolas", "MADURO", "Nicolas Maduro", "NicolasM", "NMaduro"} {
		require.Empty(t, appendHandleApart(nil, name), name)
	}
}

// An initial that begins none of the names it could stand for is another person's.
func TestAnotherInitialIsAnotherPerson(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Hans Friedrich":        Possible,
		"Hans J Friedrich":      Possible,
		"Hans O. Friedrich":     Clear,
		"HANS O FRIEDRICH":      Clear,
		"Hans O Ortega":         Possible, // an o that is no c/o
		"Ignacio Gonzalez P":    Possible, // the second last name's
		"Ruslan Khalidov":       Possible,
		"Ruslan K Khalidov":     Listed,
		"Ruslan Murad Khalidov": Clear,
		"Ruslan Karim Khalidov": Possible,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A person is not taken for a listed one whose father bears the name.
func TestTheFatherIsAnotherPerson(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"Saif bin Ibrahim al-Masri":  Listed,
		"Saif al-Masri":              Possible,
		"Ibrahim bin Yunus al-Masri": Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A line that ends with an article is a cut one only where nothing is bound to it.
func TestALineThatGoesOnIsNotCut(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL":                     Possible, // 35 characters
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL 12 HIGH ST LONDON":   Possible,
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL/12 HIGH ST LONDON":   Possible,
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL-RAWI 12 HIGH STREET": Possible,
		"SAIF AL-DIN FULAYYIH HASSAN TAHA AL-MOSULI":              Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
}

// A name that a payment system cut to its line is found by what is left of it, where
// that says as much as two names.
func TestCutNamesAreFound(t *testing.T) {
	list, scratch := evidenceList(t), NewScratch()
	for query, outcome := range map[string]Outcome{
		"GONZALEZ PENUELAS,":        Possible, // 18
		"GONZALEZ PENUELAS, I":      Possible, // 20
		"GONZALEZ PENUELAS, Ig":     Clear,    // 21: no system cuts there
		"GONZALEZ PENUELAS, Ign":    Possible, // 22
		"Ignacio GONZALEZ":          Possible, // a whole name
		"Ignacio GONZALEZ P":        Possible, // 18
		"Ignacio GONZALEZ PENUE":    Possible, // 22
		"Ignacio GONZALES PENUE":    Clear,    // not its beginning
		"  Ignacio GONZALEZ PENUE ": Possible,
		"Saif al-Din Fula":          Possible, // 16
		"Saif al-Din":               Clear,
		"Saif al-Din Fulayyih":      Clear, // 20 characters, but first names alone
		"Saif al-Din Fulayyih H":    Possible,
		"HANS JOACHIM FRI":          Possible,
		"Hans Joachim":              Clear,
	} {
		require.Equal(t, outcome.String(), list.Screen(&Query{Name: query}, scratch).Outcome.String(), query)
	}
	result := list.Screen(&Query{Name: "Ignacio GONZALEZ PENUE"}, scratch)
	require.Equal(t, uint32(9), result.Matches[0].UID)
	require.Equal(t, SubTruncated.String(), result.Matches[0].Sub.String())
}
