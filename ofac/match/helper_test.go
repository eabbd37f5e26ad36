package match

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/listtest"
)

// realLists are the golden dates that tests have compiled. Tests must not change a list.
var realLists sync.Map

// realList returns the list of one golden date, compiled once for all tests.
func realList(t testing.TB, date string) *Index {
	if compiled, ok := realLists.Load(date); ok {
		return compiled.(*Index)
	}
	compiled := mustBuild(t, listtest.RealEntities(t, date))
	realLists.Store(date, compiled)
	return compiled
}

func mustBuild(t testing.TB, entities []list.Entity) *Index {
	list, err := Build(entities, list.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	return list
}

// tablesOf is a digest of all tables of a list. Lists with the same digest give the same
// answers.
func tablesOf(t testing.TB, x *Index) [32]byte {
	sum := sha256.New()
	_, err := fmt.Fprint(sum, x.Tables)
	require.NoError(t, err)
	return [32]byte(sum.Sum(nil))
}

// ListedCountry is the code of a country as a list writes it, for tests from outside.
func ListedCountry(text string) string { return listedCountry(text).String() }
