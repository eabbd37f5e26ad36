package index

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
	"railguard/ofac/text"
)

// The words close to an ordinary word are those that a search finds, and so are its slips.
func TestOrdinaryWordsAreSearchedBefore(t *testing.T) {
	t.Parallel()
	var entities []list.Entity
	for i, word := range ordinaryList { // Each second word is listed, and every tenth with a slip.
		switch {
		case i%10 == 0 && len(word) > 3:
			word = word[:2] + word[3:]
		case i%2 == 0:
			continue
		}
		entities = append(entities, list.Entity{UID: uint32(i + 1), Type: list.Individual, Lists: list.ListSDN, Names: []list.Name{{ID: uint32(i + 1), Full: word + "OV, Abdul " + word, Primary: true}}})
	}
	tables := mustMake(t, entities)
	l, near, slipped := &tables.Words, 0, 0
	var f Finder
	for i, written := range ordinaryList {
		word := []byte(written)
		o := OrdinaryOf(word)
		require.Equal(t, uint32(i+1), o.row)
		rows, slips := l.NearOrdinary(o)
		if l.IsWhole(word) {
			require.Empty(t, rows)
			continue
		}
		fold := text.AppendSpelling(nil, word)
		var found []neighbour
		for _, row := range rows {
			found = append(found, row.Read())
		}
		require.Equal(t, append([]neighbour(nil), l.Near(&f, &text.SpelledWord{Text: word, Fold: fold, TextBag: text.BagOf(word), FoldBag: text.BagOf(fold)})...), found, written)
		require.Equal(t, len(f.Slips(word)) > 0, slips, written)
		near, slipped = near+min(len(rows), 1), slipped+len(f.Slips(word))
	}
	require.Greater(t, near, 500)
	require.Greater(t, slipped, 20)
}
