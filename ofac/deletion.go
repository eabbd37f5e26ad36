package ofac

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
)

var errVocabulary = errors.New("too many distinct words")

// The deletion table finds the listed words close to a word that is not listed
// (symmetric deletion): two words one edit apart share a form with one letter
// left out. Kept are, for each word, its spelling fold and the fold's
// deletions, its letters' deletions where they differ, and its consonants.
//
// Layout: u32 offset × (buckets+1), then (u32 check, u32 word) × entries.

// deletionKind keeps the forms of different kinds apart.
type deletionKind uint8

const (
	deletedFold deletionKind = iota + 1
	deletedLetters
	deletedConsonants
	syllablesPinyin // keys of words of syllables
	syllablesWade
	syllablesKorean
)

// Shortest words that have a form of the kind.
const (
	foldDeletionMin    = 4
	lettersDeletionMin = 4
	consonantsMin      = 3
)

type deletionEntry struct {
	hash uint64
	word uint32
}

// deletionForms calls give with the hash of every form of a word. With whole
// only, the fold itself is the only form.
func deletionForms(word, fold []byte, wholeOnly bool, room []byte, give func(uint64)) {
	give(deletionHash(deletedFold, fold, -1))
	if !isLatin(word) {
		return
	}
	for _, system := range syllableSystems {
		if key, count := appendSyllables(room[:0], word, system.table); count >= system.least {
			give(deletionHash(system.listed, key, -1))
		}
	}
	if wholeOnly {
		return
	}
	if len(fold) >= foldDeletionMin {
		for i := range fold {
			give(deletionHash(deletedFold, fold, i))
		}
	}
	if len(word) >= lettersDeletionMin {
		give(deletionHash(deletedLetters, word, -1))
		for i := range word {
			give(deletionHash(deletedLetters, word, i))
		}
	}
	if room = appendSkeleton(room[:0], fold); len(room) >= consonantsMin {
		give(deletionHash(deletedConsonants, room, -1))
	}
}

// isLatin tells a word of ASCII letters and digits from one in another script.
func isLatin(word []byte) bool {
	for _, c := range word {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// deletionHash hashes a form with the letter at skip left out; -1: none.
func deletionHash(kind deletionKind, form []byte, skip int) uint64 {
	const prime = 0x100000001B3
	hash := uint64(kind) * hashOdd1
	for i, c := range form {
		if i != skip {
			hash = (hash ^ uint64(c)) * prime
		}
	}
	return fold64(hash, hashOdd2)
}

// encodeDeletions writes the table.
func (b *builder) encodeDeletions(v *vocabulary) {
	var entries []deletionEntry
	fold, room := make([]byte, 0, 64), make([]byte, 0, 64)
	for i, word := range v.words {
		fold = appendSpelling(fold[:0], []byte(word))
		deletionForms([]byte(word), fold, !v.whole[i], room, func(hash uint64) {
			entries = append(entries, deletionEntry{hash, uint32(i)})
		})
	}
	buckets := uint32(1) << bits.Len32(uint32(len(entries)/2))
	bucketOf := func(e deletionEntry) uint32 { return reduce(e.hash, buckets) }
	slices.SortFunc(entries, func(p, q deletionEntry) int { return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.word, q.word)) })
	entries = slices.Compact(entries)
	offsets := make([]uint32, 0, buckets+1)
	rows := make([]uint32, 0, 2*len(entries))
	for _, entry := range entries {
		for uint32(len(offsets)) <= bucketOf(entry) {
			offsets = append(offsets, uint32(len(rows)/2))
		}
		rows = append(rows, uint32(entry.hash), entry.word)
	}
	for uint32(len(offsets)) <= buckets {
		offsets = append(offsets, uint32(len(rows)/2))
	}
	b.sections[sectionDeletionOffsets], b.sections[sectionDeletions] = appendWords32(nil, offsets), appendWords32(nil, rows)
}
