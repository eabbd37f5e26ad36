package index

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/text"
)

func TestTokenRow(t *testing.T) {
	want := NameToken{Word: vocabularyMax - 1, Weight: text.ScoreOne, First: 23, Count: 3, Part: PartHalf, last: true, Begins: BeginsInitial, Syllable: true}
	row := want.packRow()
	require.Equal(t, want, row.Read())
	require.Equal(t, NameToken{Count: 1}, (&NameToken{Count: 1}).packRow().Read())
}

func TestNumberSet(t *testing.T) {
	var set NumberSet
	set.Begin(10)
	require.True(t, set.Add(9))
	require.False(t, set.Add(9))
	require.True(t, set.Has(9))
	set.Begin(10)
	require.False(t, set.Has(9))
	require.True(t, set.Add(0))
	set.Begin(200)
	require.False(t, set.Has(0))
	require.True(t, set.Add(199))
	require.True(t, set.Add(9))
}
