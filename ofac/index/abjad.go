package index

import (
	"cmp"
	"slices"

	"railguard/ofac/text"
)

// Words that are written in an abjad, without vowels, are looked up by their consonants in a table of their
// own: it has the words of all names, and words that neighbours make together, under the keys of
// text.AppendListedKeys.

// abjadRow files a word under one of its keys.
type abjadRow struct {
	hash, word uint32
}

// abjadWordsMax is how many words are compared with one abjad word.
const abjadWordsMax = 512

func (b *builder) fileAbjad(v *vocabulary) {
	var rows []abjadRow
	var hashes []uint64
	for id, word := range v.words {
		if id%wordsOfStep == 0 {
			b.pauseWork()
		}
		if !text.IsLatin([]byte(word)) {
			continue
		}
		hashes = text.AppendListedKeys(hashes[:0], []byte(word))
		for _, hash := range hashes {
			rows = append(rows, abjadRow{uint32(hash), uint32(id)})
		}
	}
	slices.SortFunc(rows, pauseComparing(b, func(p, q abjadRow) int { return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.word, q.word)) }))
	b.Words.abjadRows = slices.Compact(rows)
}

// NearAbjad finds the listed words that an abjad word may write, at most neighboursMax, best first. The
// result is valid until the next search.
func (l *WordLayer) NearAbjad(f *Finder, word []byte) []neighbour {
	f.found = f.found[:0]
	f.seen.Begin(l.Count)
	f.hashes = text.AppendSoughtKeys(f.hashes[:0], word)
	f.near = f.near[:0]
	for _, hash := range f.hashes {
		at, _ := slices.BinarySearchFunc(l.abjadRows, uint32(hash), func(row abjadRow, hash uint32) int { return cmp.Compare(row.hash, hash) })
		for ; at < len(l.abjadRows) && l.abjadRows[at].hash == uint32(hash) && len(f.near) < abjadWordsMax; at++ {
			if id := l.abjadRows[at].word; f.seen.Add(id) {
				f.near = append(f.near, id)
			}
		}
	}
	f.Steps += len(f.hashes) + len(f.near)
	for _, id := range f.near {
		if similarity := text.AbjadSimilarity(word, l.WordText(id)); similarity > 0 {
			f.found = append(f.found, neighbour{id, similarity})
		}
	}
	slices.SortFunc(f.found, compareNeighbours)
	return f.found[:min(len(f.found), neighboursMax)]
}
