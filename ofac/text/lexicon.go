package text

import (
	"maps"
	"slices"
)

// Lexicon is a fixed table of words. Most words that are looked up are not in it; their
// first letter, last letter and length alone show that.
type Lexicon[V any] struct {
	words  map[string]V
	shapes [32][32]uint32 // by the low bits of first and last letter: a bit for each length, the last bit for all greater lengths
}

// NewLexicon returns the table of some words, none of them empty.
func NewLexicon[V any](words map[string]V) *Lexicon[V] {
	l := &Lexicon[V]{words: words}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		l.shapes[word[0]&31][word[len(word)-1]&31] |= lengthBit(len(word))
	}
	return l
}

func lengthBit(length int) uint32 { return 1 << min(length, 31) }

// LookUp returns the value of a word. It returns false when the word is not in the table.
func (l *Lexicon[V]) LookUp(word []byte) (V, bool) {
	if len(word) == 0 || l.shapes[word[0]&31][word[len(word)-1]&31]&lengthBit(len(word)) == 0 {
		var none V
		return none, false
	}
	value, ok := l.words[string(word)]
	return value, ok
}

// Words are all words of the table. The caller must not change them.
func (l *Lexicon[V]) Words() map[string]V { return l.words }

// Has reports whether a word is in the table.
func (l *Lexicon[V]) Has(word []byte) bool {
	_, ok := l.LookUp(word)
	return ok
}

// wordSet is a Lexicon without values.
func wordSet(words ...string) *Lexicon[struct{}] {
	set := make(map[string]struct{}, len(words))
	for _, word := range words {
		set[word] = struct{}{}
	}
	return NewLexicon(set)
}
