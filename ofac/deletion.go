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
// Layout: u32 offset × (buckets+1), then (u32 word and check, u32 shape) × entries.
// The shape (a word's length and letters) tells most words that are not close without
// a look at them.

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

// A row names its word, and the form by some bits of its hash.
const (
	deletionCheckBits = 14 // beside the number of a word, see vocabularyMax
	deletionCheck     = 1<<deletionCheckBits - 1
)

// A shape is a word's letters, a bit for each as in a letterBag, and its length.
const (
	shapeLength  = 27 // bits below it are letters
	shapeLetters = 1<<shapeLength - 1
)

func shapeOf(word []byte) uint32 {
	return bagOf(word).once&shapeLetters | uint32(len(word))<<shapeLength
}

type deletionEntry struct {
	hash uint64
	word uint32
}

// deletionForms calls give with the hash of every form of a word. With whole
// only, the fold itself is the only form.
func deletionForms(word, fold []byte, wholeOnly bool, room []byte, give func(uint64)) {
	give(formHash(deletedFold, fold))
	if !isLatin(word) {
		return
	}
	for _, system := range syllableSystems {
		if key, count := appendSyllables(room[:0], word, system.table); count >= system.least {
			give(formHash(system.listed, key))
		}
	}
	if wholeOnly {
		return
	}
	var hashes []uint64
	if len(fold) >= foldDeletionMin {
		hashes = appendDeletionHashes(hashes, deletedFold, fold)
	}
	if len(word) >= lettersDeletionMin {
		hashes = appendDeletionHashes(append(hashes, formHash(deletedLetters, word)), deletedLetters, word)
	}
	for _, hash := range hashes {
		give(hash)
	}
	if room = appendSkeleton(room[:0], fold); len(room) >= consonantsMin {
		give(formHash(deletedConsonants, room))
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

// deletionPrime is the base of the polynomial over the letters of a form. A form
// with a letter left out costs no more to hash than one letter.
const deletionPrime = 0x100000001B3

// formHash hashes a form as it is.
func formHash(kind deletionKind, form []byte) uint64 {
	sum := uint64(0)
	for _, c := range form {
		sum = sum*deletionPrime + uint64(c)
	}
	return mixForm(kind, sum)
}

func mixForm(kind deletionKind, sum uint64) uint64 {
	return fold64(sum^uint64(kind)*hashOdd1, hashOdd2)
}

// appendDeletionHashes appends the hashes of the form with each letter left out in turn.
func appendDeletionHashes(dst []uint64, kind deletionKind, form []byte) []uint64 {
	// From the last letter on: rest is the polynomial of the letters behind it.
	before := uint64(0)
	for _, c := range form {
		before = before*deletionPrime + uint64(c)
	}
	rest, power, shifted := uint64(0), uint64(1), before
	for i := len(form) - 1; i >= 0; i-- {
		// What stands before letter i, one place further right than in the whole.
		shifted = (shifted - uint64(form[i])) * deletionInverse
		dst = append(dst, mixForm(kind, shifted*power+rest))
		rest += uint64(form[i]) * power
		power *= deletionPrime
	}
	return dst
}

// deletionInverse times deletionPrime is 1.
const deletionInverse = 0xCE965057AFF6957B

// encodeDeletions writes the table.
func (b *builder) encodeDeletions(v *vocabulary) {
	entries := b.deletionEntries(v)
	buckets := uint32(1) << bits.Len32(uint32(len(entries)/2))
	entries = slices.Compact(b.sortDeletions(entries, buckets))
	offsets := make([]uint32, 0, buckets+1)
	rows := make([]uint32, 0, 2*len(entries))
	for i, entry := range entries {
		if i%entriesOfStep == 0 {
			b.pause()
		}
		for bucket := reduce(entry.hash, buckets); uint32(len(offsets)) <= bucket; {
			offsets = append(offsets, uint32(len(rows)/2))
		}
		rows = append(rows, entry.word<<deletionCheckBits|uint32(entry.hash)&deletionCheck, shapeOf([]byte(v.words[entry.word])))
	}
	for uint32(len(offsets)) <= buckets {
		offsets = append(offsets, uint32(len(rows)/2))
	}
	b.sections[sectionDeletionOffsets], b.sections[sectionDeletions] = appendWords32(nil, offsets), appendWords32(nil, rows)
}

// deletionEntries gathers the forms of all words.
func (b *builder) deletionEntries(v *vocabulary) []deletionEntry {
	letters := 0
	for _, word := range v.words {
		letters += len(word)
	}
	entries := make([]deletionEntry, 0, 2*letters+4*len(v.words)) // Their number, or somewhat more.
	fold, room := make([]byte, 0, 64), make([]byte, 0, 64)
	for i, word := range v.words {
		if i%wordsOfStep == 0 {
			b.pause()
		}
		fold = appendSpelling(fold[:0], []byte(word))
		deletionForms([]byte(word), fold, !v.whole[i], room, func(hash uint64) {
			entries = append(entries, deletionEntry{hash, uint32(i)})
		})
	}
	return entries
}

// sortDeletions returns the entries in order of hash and word. A greater hash is in no
// lesser bucket, so they are put into their buckets and each bucket, which has two or so,
// is sorted: a quarter of the time that sorting all of them takes.
func (b *builder) sortDeletions(entries []deletionEntry, buckets uint32) []deletionEntry {
	ends := make([]uint32, buckets+1)
	for _, entry := range entries {
		ends[reduce(entry.hash, buckets)+1]++
	}
	for i := range buckets {
		ends[i+1] += ends[i]
	}
	b.pause()
	sorted := make([]deletionEntry, len(entries))
	for i, entry := range entries {
		if i%entriesOfStep == 0 {
			b.pause()
		}
		place := &ends[reduce(entry.hash, buckets)] // Where the bucket begins, then where its next entry goes.
		sorted[*place] = entry
		*place++
	}
	first := uint32(0)
	for i, end := range ends[:buckets] {
		if i%entriesOfStep == 0 {
			b.pause()
		}
		slices.SortFunc(sorted[first:end], func(p, q deletionEntry) int { return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.word, q.word)) })
		first = end
	}
	return sorted
}
