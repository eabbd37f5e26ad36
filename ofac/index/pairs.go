package index

import (
	"bytes"
	"math/bits"
	"strings"

	"railguard/ofac/list"
	"railguard/ofac/perfect"
	"railguard/ofac/text"
)

// A long text is searched for listed names in two steps, because most texts hold none. First each
// pair of neighbouring words is held against the pairs of all listed names. Only where one of these
// stands, the text around it is compared with the names.

// PairFilter is a Bloom filter of the pairs of words that stand beside each other in listed names, in
// any order, with at most one word between them. It never refuses a pair that is in the set.
type PairFilter struct {
	blocks []uint64
	mask   uint64
}

const (
	pairBits  = 24 // Bits for each pair. With pairProbes it lets one of about 4,000 other pairs through.
	pairProbe = 4  // Bits that a pair sets in its block of 64 bits; some may fall together.
)

// PairWord returns the hash of a word of a pair. ok is false for a word of grammar, which stands
// beside any other one.
func PairWord(word []byte) (hash uint64, ok bool) {
	switch string(word) {
	case "of", "and", "the", "for", "in", "on", "to", "a", "by", "de", "del", "la", "el", "al", "i", "y", "e":
		return 0, false
	}
	return perfect.KeyOf(word).Print(), true
}

// Holds reports whether the words with these hashes may stand beside each other in a listed name.
func (f *PairFilter) Holds(a, b uint64) bool {
	block, bits := f.place(a, b)
	return f.blocks[block]&bits == bits
}

func (f *PairFilter) place(a, b uint64) (block, set uint64) {
	pair := perfect.Fold(a+b, perfect.Odd1) ^ a ^ b
	for i := range pairProbe {
		set |= 1 << (pair >> (6 * i) & 63)
	}
	return pair >> 24 & f.mask, set
}

// notePairs makes the filter of the pairs of all strong names of at least two words.
func (b *builder) notePairs() {
	var pairs [][2]uint64
	var words []byte
	for id := range b.NameCount {
		if id%wordsOfStep == 0 {
			b.pauseWork()
		}
		name := b.NameAt(id)
		if b.TextAt(name.aliasType) == list.AliasID {
			continue
		}
		full := b.TextAt(name.Full)
		words = text.AppendWords(words[:0], full, false)
		pairs = appendPairs(pairs, words)
		if last, first, ok := strings.Cut(full, ","); ok && b.EntityAt(name.Entity).Kind == list.Individual {
			pairs = appendPairs(pairs, text.AppendWords(words[:0], first+" "+last, false))
		}
	}
	size := uint64(1) << bits.Len64(uint64(len(pairs))*pairBits/64+1)
	b.Pairs = PairFilter{blocks: make([]uint64, size), mask: size - 1}
	for _, pair := range pairs {
		block, set := b.Pairs.place(pair[0], pair[1])
		b.Pairs.blocks[block] |= set
	}
}

// appendPairs appends the pairs of a name.
func appendPairs(pairs [][2]uint64, words []byte) [][2]uint64 {
	var before, last uint64
	count := 0
	for len(words) > 0 {
		word, rest, _ := bytes.Cut(words, []byte{' '})
		words = rest
		hash, ok := PairWord(word)
		if !ok {
			continue
		}
		if count > 0 {
			pairs = append(pairs, [2]uint64{last, hash})
		}
		if count > 1 {
			pairs = append(pairs, [2]uint64{before, hash})
		}
		before, last = last, hash
		count++
	}
	return pairs
}
