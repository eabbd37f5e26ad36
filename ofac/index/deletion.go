package index

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"railguard/ofac/perfect"
	"railguard/ofac/text"
)

var errVocabulary = errors.New("too many distinct words")

// The deletion table finds the listed words close to a word that is not listed (symmetric
// deletion): two words one edit apart share a form with one letter left out. The table
// keeps for each word its spelling fold and the fold's deletions, its letters and their
// deletions, and its consonants.
//
// Each form is a row in the bucket of its hash. A row also has the shape of its word, the
// word's length and letters. The shape rules out most words that are not close before their
// letters are read.

// Words shorter than these bytes have no form of that kind.
const (
	foldDeletionMin    = 4
	lettersDeletionMin = 4
	consonantsMin      = 3
)

// A row holds the number of its word and a check, the low bits of the form's hash.
const (
	deletionCheckBits = 14 // they share 32 bits with the number of a word, see vocabularyMax
	deletionCheck     = 1<<deletionCheckBits - 1
)

// A shape is the set of a word's letters, one bit each as in a text.LetterBag, and the
// word's length.
const (
	shapeLength  = 27 // the bits below the length are the letters
	shapeLetters = 1<<shapeLength - 1
)

func shapeOf(word []byte) uint32 {
	return text.BagOf(word).Once&shapeLetters | uint32(len(word))<<shapeLength
}

// deletionRow files a word under one of its forms.
type deletionRow struct {
	filed uint32 // word<<14 | check
	shape uint32
}

type deletionEntry struct {
	hash uint64
	word uint32
}

// deletionForms calls give with the hash of every form of a word. With wholeOnly it leaves
// out the deletions, the letters and the consonants.
func deletionForms(word, fold []byte, wholeOnly bool, room []byte, give func(uint64)) {
	give(text.HashForm(text.HashFold, fold))
	if !text.IsLatin(word) {
		return
	}
	for _, system := range text.SyllableSystems {
		if key, count := text.AppendSyllables(room[:0], word, system.Table); count >= system.Least {
			give(text.HashForm(system.Listed, key))
		}
	}
	if wholeOnly {
		return
	}
	if sounds := text.AppendSounds(room[:0], word); len(sounds) >= text.SoundsMin {
		give(text.HashForm(text.HashSounds, sounds))
		if text.OtherSounds(sounds) {
			give(text.HashForm(text.HashSounds, sounds))
		}
	}
	var hashes []uint64
	if len(fold) >= foldDeletionMin {
		hashes = text.AppendDeletionHashes(hashes, text.HashFold, fold)
	}
	if len(word) >= lettersDeletionMin {
		hashes = text.AppendDeletionHashes(append(hashes, text.HashForm(text.HashLetters, word)), text.HashLetters, word)
	}
	for _, hash := range hashes {
		give(hash)
	}
	if room = text.AppendSkeleton(room[:0], fold); len(room) >= consonantsMin {
		give(text.HashForm(text.HashConsonants, room))
	}
}

func (b *builder) fileDeletions(v *vocabulary) {
	entries := b.deletionEntries(v)
	buckets := uint32(1) << bits.Len32(uint32(len(entries)/2))
	entries = slices.Compact(b.sortDeletions(entries, buckets))
	offsets := make([]uint32, 0, buckets+1)
	rows := make([]deletionRow, 0, len(entries))
	for i, entry := range entries {
		if i%entriesOfStep == 0 {
			b.pauseWork()
		}
		for bucket := perfect.Reduce(entry.hash, buckets); uint32(len(offsets)) <= bucket; {
			offsets = append(offsets, uint32(len(rows)))
		}
		rows = append(rows, deletionRow{entry.word<<deletionCheckBits | uint32(entry.hash)&deletionCheck, shapeOf([]byte(v.words[entry.word]))})
	}
	for uint32(len(offsets)) <= buckets {
		offsets = append(offsets, uint32(len(rows)))
	}
	b.Words.buckets, b.Words.deletionOffsets, b.Words.deletionRows = buckets, offsets, rows
}

// deletionEntries gathers the forms of all words.
func (b *builder) deletionEntries(v *vocabulary) []deletionEntry {
	letters := 0
	for _, word := range v.words {
		letters += len(word)
	}
	entries := make([]deletionEntry, 0, 2*letters+4*len(v.words)) // This capacity is the number of entries or slightly more.
	fold, room := make([]byte, 0, 64), make([]byte, 0, 64)
	for i, word := range v.words {
		if i%wordsOfStep == 0 {
			b.pauseWork()
		}
		fold = text.AppendSpelling(fold[:0], []byte(word))
		deletionForms([]byte(word), fold, !v.whole[i], room, func(hash uint64) {
			entries = append(entries, deletionEntry{hash, uint32(i)})
		})
	}
	return entries
}

// sortDeletions returns the entries sorted by hash and word. A greater hash is never in an
// earlier bucket, so it first distributes the entries to their buckets and then sorts each
// bucket of about two entries. This takes a quarter of the time of one sort of all entries.
func (b *builder) sortDeletions(entries []deletionEntry, buckets uint32) []deletionEntry {
	ends := make([]uint32, buckets+1)
	for _, entry := range entries {
		ends[perfect.Reduce(entry.hash, buckets)+1]++
	}
	for i := range buckets {
		ends[i+1] += ends[i]
	}
	b.pauseWork()
	sorted := make([]deletionEntry, len(entries))
	for i, entry := range entries {
		if i%entriesOfStep == 0 {
			b.pauseWork()
		}
		place := &ends[perfect.Reduce(entry.hash, buckets)] // First the start of the bucket, then the place of its next entry.
		sorted[*place] = entry
		*place++
	}
	first := uint32(0)
	for i, end := range ends[:buckets] {
		if i%entriesOfStep == 0 {
			b.pauseWork()
		}
		slices.SortFunc(sorted[first:end], func(p, q deletionEntry) int { return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.word, q.word)) })
		first = end
	}
	return sorted
}

// findNeighbours finds, for each word that is a whole word of some name, the words close to
// it. It copies the result from the former list where that must be the same.
func (b *builder) findNeighbours(v *vocabulary) {
	l := &b.Words
	b.pauseWork()
	former := compareLayers(b.former, l)
	b.pauseWork()
	var f Finder
	if !l.believesFormer(former, &f, v) {
		former = nil
	}
	offsets, rows := []uint32{0}, []neighbourRow(nil)
	for id := range uint32(len(v.words)) {
		if id%wordsOfStep == 0 {
			b.pauseWork()
		}
		if v.whole[id] {
			rows = l.appendNear(rows, &f, id, former)
		}
		offsets = append(offsets, uint32(len(rows)))
	}
	l.neighbourOffsets, l.neighbourRows = offsets, rows
}

// believesFormer reports whether the former list agrees with a new search for a sample of
// words. It disagrees if a build with another matcher under the same version number made
// its tables. Then everything is searched anew, so that a wrong table does not spread to
// later lists.
func (l *WordLayer) believesFormer(former *formerLayer, f *Finder, v *vocabulary) bool {
	if former == nil {
		return false
	}
	for id := uint32(0); id < l.Count; id += wordsOfCheck {
		if !v.whole[id] {
			continue
		}
		known := l.appendNear(nil, f, id, former)
		if !slices.Equal(known, l.appendNear(nil, f, id, nil)) {
			return false
		}
	}
	return true
}

// wordsOfCheck is the distance between two words that are compared with the former list.
const wordsOfCheck = 128

// appendNear appends the rows of the words close to a listed word.
func (l *WordLayer) appendNear(rows []neighbourRow, f *Finder, id uint32, former *formerLayer) []neighbourRow {
	record := l.Word(id)
	word := l.Spelled(&record)
	f.seekWord(&word)
	if known, ok := former.appendKnown(rows, f, id); ok {
		return known
	}
	for _, near := range l.nearSought(f, &word) {
		if similarity := bothListed(near.Similarity); similarity > 0 {
			rows = append(rows, neighbour{near.Word, similarity}.packRow())
		}
	}
	return rows
}

// formerLayer compares the word layer of a former list with that of a new one.
//
// Which words are close to a word depends on its letters and on the contents of its buckets
// of the deletion table: the rows that are read of each, in order, and the letters of their
// words. Both lists number their words in order of letters, so shared words stand in the
// same order in both. So if a word is whole in both lists and none of its buckets changed,
// its neighbours are the same, under new numbers.
type formerLayer struct {
	layer   *WordLayer
	here    []uint32 // By former word: its new number; noWord: the word is gone.
	there   []uint32 // By new word: its former number; noWord: the word is new.
	changed []uint64 // a bit for each bucket of the deletion table that changed
	buckets uint32
}

// noWord is never the number of a word: see vocabularyMax.
const noWord = ^uint32(0)

// compareLayers compares a new layer with a former one. It returns nil when nothing of the
// former can be used.
func compareLayers(former, l *WordLayer) *formerLayer {
	if former == nil || former.buckets != l.buckets {
		return nil // With another number of buckets each row stands elsewhere.
	}
	c := &formerLayer{layer: former, buckets: l.buckets, changed: make([]uint64, l.buckets/64+1)}
	c.numberWords(l)
	for bucket := range l.buckets {
		if !c.sameRows(l, bucket) {
			c.changed[bucket/64] |= 1 << (bucket % 64)
		}
	}
	return c
}

// numberWords maps the words of both layers to one another.
func (c *formerLayer) numberWords(l *WordLayer) {
	c.here, c.there = make([]uint32, c.layer.Count), make([]uint32, l.Count)
	for i := range c.here {
		c.here[i] = noWord
	}
	was := uint32(0)
	for is := range l.Count {
		c.there[is] = noWord
		text := string(l.WordText(is))
		for was < c.layer.Count && string(c.layer.WordText(was)) < text {
			was++
		}
		if was < c.layer.Count && string(c.layer.WordText(was)) == text {
			c.here[was], c.there[is] = is, was
			was++
		}
	}
}

// sameRows reports whether the rows that are read of a bucket are the same in both layers.
func (c *formerLayer) sameRows(l *WordLayer, bucket uint32) bool {
	was, wasEnd := c.layer.bucketRows(bucket)
	is, isEnd := l.bucketRows(bucket)
	if wasEnd-was != isEnd-is {
		return false
	}
	for ; is < isEnd; was, is = was+1, is+1 {
		before, now := c.layer.deletionRows[was].filed, l.deletionRows[is].filed
		if before&deletionCheck != now&deletionCheck || c.here[before>>deletionCheckBits] != now>>deletionCheckBits {
			return false
		}
	}
	return true
}

// appendKnown appends the former neighbours of a word if they must be the same now. The
// finder f has the word's forms.
func (c *formerLayer) appendKnown(rows []neighbourRow, f *Finder, id uint32) ([]neighbourRow, bool) {
	if c == nil || c.there[id] == noWord {
		return rows, false
	}
	was := c.there[id]
	if record := c.layer.Word(was); record.Flags&WordWhole == 0 {
		return rows, false // The former list did not search its neighbours.
	}
	for _, hashes := range [...][]uint64{f.hashes, f.systems} {
		for _, hash := range hashes {
			if bucket := perfect.Reduce(hash, c.buckets); c.changed[bucket/64]>>(bucket%64)&1 != 0 {
				return rows, false
			}
		}
	}
	begin := len(rows)
	for _, row := range c.layer.NeighboursOf(was) {
		near := row.Read()
		is := c.here[near.Word]
		if is == noWord {
			return rows[:begin], false // Make never does this: a neighbour that is gone changes a bucket.
		}
		rows = append(rows, neighbour{is, near.Similarity}.packRow())
	}
	return rows, true
}
