package text

import (
	"maps"
	"slices"
)

// lexicon is a fixed table of words. Most words that are looked up are not in it; their
// first letter, last letter and length alone show that.
type lexicon[V any] struct {
	words  map[string]V
	shapes [32][32]uint32 // by the low bits of first and last letter: a bit for each length, the last bit for all greater lengths
}

func newLexicon[V any](words map[string]V) *lexicon[V] {
	l := &lexicon[V]{words: words}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		l.shapes[word[0]&31][word[len(word)-1]&31] |= lengthBit(len(word))
	}
	return l
}

func lengthBit(length int) uint32 { return 1 << min(length, 31) }

// lookUp returns the value of a word. It returns false when the word is not in the table.
func (l *lexicon[V]) lookUp(word []byte) (V, bool) {
	if len(word) == 0 || l.shapes[word[0]&31][word[len(word)-1]&31]&lengthBit(len(word)) == 0 {
		var none V
		return none, false
	}
	value, ok := l.words[string(word)]
	return value, ok
}

// Has reports whether a word is in the table.
func (l *lexicon[V]) Has(word []byte) bool {
	_, ok := l.lookUp(word)
	return ok
}

// wordSet is a lexicon without values.
func wordSet(words ...string) *lexicon[struct{}] {
	set := make(map[string]struct{}, len(words))
	for _, word := range words {
		set[word] = struct{}{}
	}
	return newLexicon(set)
}
