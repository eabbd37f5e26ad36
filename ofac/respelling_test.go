package ofac

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// groupEvidence says how the real list uses two words of one group.
type groupEvidence struct{ alike, apart int }

// respellingEvidence counts, for every two words of a group, the entries that
// have two aliases which differ in that word alone (alike), and the names that
// hold both as words of their own (apart).
func respellingEvidence(entities []Entity) map[[2]string]groupEvidence {
	evidence := map[[2]string]groupEvidence{}
	count := func(a, b string, alike bool) {
		if a > b {
			a, b = b, a
		}
		e := evidence[[2]string{a, b}]
		if alike {
			e.alike++
		} else {
			e.apart++
		}
		evidence[[2]string{a, b}] = e
	}
	for _, entity := range entities {
		if entity.Type != Individual {
			continue
		}
		var names [][]string
		for _, name := range entity.Names {
			if !name.Weak {
				names = append(names, strings.Fields(string(appendWords(nil, name.Full, false))))
			}
		}
		for i, words := range names {
			for k, a := range words {
				for _, b := range words[k+1:] {
					if a != b && groupOf([]byte(a)) != 0 && groupOf([]byte(a)) == groupOf([]byte(b)) {
						count(a, b, false)
					}
				}
			}
			for _, other := range names[i+1:] {
				if a, b, ok := oneWordApart(words, other); ok && groupOf([]byte(a)) != 0 && groupOf([]byte(a)) == groupOf([]byte(b)) {
					count(a, b, true)
				}
			}
		}
	}
	return evidence
}

func oneWordApart(a, b []string) (string, string, bool) {
	if len(a) != len(b) {
		return "", "", false
	}
	at := -1
	for i := range a {
		if a[i] != b[i] {
			if at >= 0 {
				return "", "", false
			}
			at = i
		}
	}
	if at < 0 {
		return "", "", false
	}
	return a[at], b[at], true
}

// Words of one group are one name in the real list: where a name holds two of
// them as words of their own, entries that use one for the other are as many.
func TestRespellingsAgreeWithTheRealList(t *testing.T) {
	for pair, e := range respellingEvidence(realEntities(t, "2025-11-19")) {
		require.LessOrEqual(t, e.apart, e.alike+1, "%v", pair)
	}
}

// A word belongs to one group, and these pairs, once thought one name, to none together.
func TestRespellingGroupsAreApart(t *testing.T) {
	seen := map[string]string{}
	for line := range strings.Lines(respellingSource) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		require.Greater(t, len(words), 1, line)
		for _, word := range words {
			require.Empty(t, seen[word], "%s stands in two groups", word)
			seen[word] = words[0]
			require.Equal(t, word, string(appendWords(nil, word, false)), "a word that no name folds to")
		}
	}
	for a, b := range map[string]string{
		"nasir": "nasrallah", "maria": "ma", "jose": "j", "aleksandr": "alejandro", "mikhail": "miguel", "georgy": "jorge", "nur": "nureddin", "al": "il",
	} {
		require.False(t, groupOf([]byte(a)) != 0 && groupOf([]byte(a)) == groupOf([]byte(b)), "%s, %s", a, b)
	}
}

// Payment messages shorten what companies are called.
func TestAbbreviationsAreTheirWords(t *testing.T) {
	list, scratch := mustBuild(t, []Entity{
		named(1, Company, ListSDN, "ORIENT STAR SHIPPING GROUP"), named(2, Company, ListSDN, "ZARIF GENERAL TRADING LLC"),
		named(3, Company, ListSDN, "KAVEH NATIONAL HOLDINGS"), named(4, Company, ListSDN, "LAZARUS GROUP"), named(5, Company, ListSDN, "OTHER SERVICES"),
	}), NewScratch()
	for query, uid := range map[string]uint32{"ORIENT STAR SHPG GRP": 1, "ZARIF GENL TRDG": 2, "KAVEH NATL HLDGS": 3, "LAZARUS GRP": 4} {
		result := list.Screen(&Query{Name: query}, scratch)
		require.NotEqual(t, Clear.String(), result.Outcome.String(), query)
		require.Equal(t, uid, result.Matches[0].UID, query)
	}
}

// A slip in a spelling of a name is a slip, whichever spellings the list has.
func TestASlipInAnySpellingIsFound(t *testing.T) {
	entities := numberedEntities(400)
	entities = append(entities, named(1, Individual, ListSDN, "KORSUNOV, Uladzimir"), named(2, Individual, ListSDN, "DORZAI, Cabdiraxmaan"),
		named(3, Company, ListSDN, "VOLMAR SUDOSTROITELNYY ZAVOD"))
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
