package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// groupEvidence counts how the real list uses two words of one group.
type groupEvidence struct{ alike, apart int }

// respellingEvidence counts for every two words of a group: the entries with two aliases
// that differ in that word alone (alike), and the names that hold both as whole words
// (apart).
func respellingEvidence(entities []list.Entity) map[[2]string]groupEvidence {
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
		if entity.Type != list.Individual {
			continue
		}
		var names [][]string
		for _, name := range entity.Names {
			if !name.Weak {
				names = append(names, strings.Fields(string(AppendWords(nil, name.Full, false))))
			}
		}
		for i, words := range names {
			for k, a := range words {
				for _, b := range words[k+1:] {
					if a != b && GroupOf([]byte(a)) != 0 && GroupOf([]byte(a)) == GroupOf([]byte(b)) {
						count(a, b, false)
					}
				}
			}
			for _, other := range names[i+1:] {
				if a, b, ok := oneWordApart(words, other); ok && GroupOf([]byte(a)) != 0 && GroupOf([]byte(a)) == GroupOf([]byte(b)) {
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

// Words of one group are spellings of one name in the real list: for two words of a group, the
// names that hold both as whole words may outnumber the aliases that use one for the other by at
// most one.
func TestRespellingsAgreeWithTheRealList(t *testing.T) {
	for pair, e := range respellingEvidence(listtest.RealEntities(t, "2025-11-19")) {
		require.LessOrEqual(t, e.apart, e.alike+1, "%v", pair)
	}
}

// A word belongs to one group. These pairs, which were once in one group, are in no common
// group.
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
			require.Equal(t, word, string(AppendWords(nil, word, false)), "a word that no name folds to")
		}
	}
	for a, b := range map[string]string{
		"nasir": "nasrallah", "maria": "ma", "jose": "j", "aleksandr": "alejandro", "mikhail": "miguel", "georgy": "jorge", "nur": "nureddin", "al": "il",
	} {
		require.False(t, GroupOf([]byte(a)) != 0 && GroupOf([]byte(a)) == GroupOf([]byte(b)), "%s, %s", a, b)
	}
}
