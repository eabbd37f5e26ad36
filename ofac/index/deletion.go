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

// The deletion table finds the listed words close to a word that is not listed
// (symmetric deletion): two words one edit apart share a form with one letter
// left out. Kept are, for each word, its spelling fold and the fold's
// deletions, its letters' deletions where they differ, and its consonants.
//
// Each form is a row in the bucket of its hash. A row's shape (a word's length and letters) tells most words that are not close without
// a look at them.

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

// A shape is a word's letters, a bit for each as in a text.LetterBag, and its length.
const (
	shapeLength  = 27 // bits below it are letters
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

// deletionForms calls give with the hash of every form of a word. With whole
// only, the fold itself is the only form.
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

// fileDeletions makes the table.
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
	entries := make([]deletionEntry, 0, 2*letters+4*len(v.words)) // Their number, or somewhat more.
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

// sortDeletions returns the entries in order of hash and word. A greater hash is in no
// lesser bucket, so they are put into their buckets and each bucket, which has two or so,
// is sorted: a quarter of the time that sorting all of them takes.
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
		place := &ends[perfect.Reduce(entry.hash, buckets)] // Where the bucket begins, then where its next entry goes.
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

// findNeighbours finds, for each word that stands alone, the words close to it. What a
// list compiled before tells of a word is taken from there if it must be the same here.
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

// believesFormer reports whether a former list tells of a few words what is found anew here. It
// does, unless a build that was not of this matcher's version made its tables: then all is
// found anew, and one wrong table does not hand its error on to those behind it.
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

// wordsOfCheck is how many words stand between two that are held against the former list.
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

// formerLayer is the word layer of a list compiled before, beside that of a new one.
//
// Which words are close to a word follows from its letters and from what its buckets of
// the deletion table hold: as many rows as are read of each, in their order, and the
// letters of their words. Both lists number their words in order of letters, so that what
// both have stands in the same order in both. So where a word stands alone in both lists
// and none of its buckets changed, its neighbours are those it had, under new numbers.
type formerLayer struct {
	layer   *WordLayer
	here    []uint32 // of each former word the new number, noWord where it is gone
	there   []uint32 // of each new word the former number, noWord where it is new
	changed []uint64 // a bit for each bucket of the deletion table
	buckets uint32
}

// noWord is no number of a word: see vocabularyMax.
const noWord = ^uint32(0)

// compareLayers looks at what a new layer has of a former one; nil: nothing of use.
func compareLayers(former, l *WordLayer) *formerLayer {
	if former == nil || former.buckets != l.buckets {
		return nil // Of other buckets each row stands elsewhere.
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

// numberWords finds the words that both have.
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

// sameRows reports whether what is read of a bucket is the same in both.
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

// appendKnown appends the rows of a word as they were, if they must be the same; f has its forms.
func (c *formerLayer) appendKnown(rows []neighbourRow, f *Finder, id uint32) ([]neighbourRow, bool) {
	if c == nil || c.there[id] == noWord {
		return rows, false
	}
	was := c.there[id]
	if record := c.layer.Word(was); record.Flags&WordWhole == 0 {
		return rows, false // Nobody asked for its neighbours.
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
			return rows[:begin], false // Not of tables that Build made: a neighbour stands in a bucket.
		}
		rows = append(rows, neighbour{is, near.Similarity}.packRow())
	}
	return rows, true
}
