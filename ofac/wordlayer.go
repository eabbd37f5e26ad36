package ofac

import (
	"math/bits"
	"slices"

	"railguard/ofac/perfect"
)

// wordLayer is the part of an opened list that finds words and the names that
// hold them.
type wordLayer struct {
	records                  []wordRecord
	letters                  []byte // of each word its text, then its fold
	hash                     perfect.Table
	ids                      []uint32 // by slot of the hash
	neighbourOffsets         []uint32
	neighbourRows            []uint32 // word<<14 | similarity
	deletionOffsets          []uint32
	deletionRows             []deletionRow
	postingOffsets, postings []uint32
	tokenOffsets             []uint32
	tokens                   []tokenRow
	count                    uint32
	buckets                  uint32

	// What is noted of the tables above, to read less of them:
	holders    []holder // by row of the postings
	begins     []uint8  // by word: what its tokens say it begins with
	remainders []uint8  // by bucket of the deletion table: a bit for each remainder of the checks in it; nil: not known
}

const similarityBits = 14

// neighbour is a listed word close to a word.
type neighbour struct {
	word       uint32
	similarity int32
}

func (l *wordLayer) word(id uint32) wordRecord { return l.records[id] }

func (l *wordLayer) textOf(w *wordRecord) []byte {
	return l.letters[w.letters : w.letters+uint32(w.text)]
}

func (l *wordLayer) spelled(w *wordRecord) spelledWord {
	fold := w.letters + uint32(w.text)
	return spelledWord{l.textOf(w), l.letters[fold : fold+uint32(w.fold)], w.textBag, w.foldBag}
}

// names counts the listed names that hold a word.
func (l *wordLayer) names(id uint32) uint32 {
	return l.postingOffsets[id+1] - l.postingOffsets[id]
}

func (l *wordLayer) wordText(id uint32) []byte {
	record := l.word(id)
	return l.textOf(&record)
}

// find returns the id of a listed word.
func (l *wordLayer) find(word []byte) (uint32, bool) {
	slot, ok := l.hash.Find(perfect.KeyOf(word))
	if !ok {
		return 0, false
	}
	id := l.ids[slot]
	record := l.word(id)
	return id, string(l.textOf(&record)) == string(word)
}

// numberSet is a set of small numbers. Emptying it costs no more than filling it did.
type numberSet struct {
	bits    []uint64
	members []uint32
}

// begin empties the set and makes room for numbers below n.
func (s *numberSet) begin(n uint32) {
	for _, i := range s.members {
		s.bits[i/64] = 0
	}
	s.members = s.members[:0]
	if uint32(len(s.bits)) < n/64+1 {
		s.bits = make([]uint64, n/64+1)
	}
}

func (s *numberSet) has(i uint32) bool { return s.bits[i/64]>>(i%64)&1 != 0 }

// first puts i into the set and reports whether it was not yet there.
func (s *numberSet) first(i uint32) bool {
	if s.has(i) {
		return false
	}
	s.bits[i/64] |= 1 << (i % 64)
	s.members = append(s.members, i)
	return true
}

// finder compares words; its buffers are reused.
type finder struct {
	seen  numberSet
	room  []byte
	group uint32 // of the word looked for
	bare  bool   // it is written without vowels: its consonants decide
	// It is one Chinese or Korean syllable.
	syllable bool
	latin    bool // it is of ASCII letters and digits
	found    []neighbour
	hashes   []uint64 // of its forms
	systems  []uint64 // of its keys in other systems of syllables
	probes   [deletionProbesMax]probe
	near     []uint32 // words to be compared
	touched  uint32   // keeps the reads that only fetch
}

// probe is a run of rows of the deletion table to be compared.
type probe struct {
	first, end uint32
	check      uint32
	spelled    bool // the form is the whole fold
}

// deletionProbesMax is how many forms one word has at most: its fold, the fold with
// each letter left out, its letters, with each left out, and its consonants.
const deletionProbesMax = 3 + 2*wordBytesMax + wordBytesMax

// near finds the listed words close to a word that is not listed, itself
// excluded, best first, at most neighboursMax. The result is valid until the next call.
func (l *wordLayer) near(f *finder, word *spelledWord) []neighbour {
	f.seek(word)
	return l.nearSought(f, word)
}

// seek begins with a word: the hashes of all forms under which it is looked for.
func (f *finder) seek(word *spelledWord) {
	text, fold := word.text, word.fold
	f.group, f.syllable, f.latin = groupOf(text), isSyllable(text), isLatin(text)
	f.systems = f.systems[:0]
	if f.latin {
		f.seekSyllables(text)
	}
	f.room = appendSkeleton(f.room[:0], fold)
	f.hashes = append(f.hashes[:0], formHash(deletedFold, fold))
	if !f.latin {
		return
	}
	if len(fold) >= foldDeletionMin-1 {
		f.hashes = appendDeletionHashes(f.hashes, deletedFold, fold)
	}
	if len(text) >= lettersDeletionMin-1 {
		f.hashes = append(f.hashes, formHash(deletedLetters, text))
		f.hashes = appendDeletionHashes(f.hashes, deletedLetters, text)
	}
	if len(f.room) >= consonantsMin {
		f.hashes = append(f.hashes, formHash(deletedConsonants, f.room))
	}
}

// nearSought is near of the word that seek began with.
func (l *wordLayer) nearSought(f *finder, word *spelledWord) []neighbour {
	f.found = f.found[:0]
	f.seen.begin(l.count)
	l.probeSyllables(f, word.text)
	if !f.latin {
		l.probeAll(f, word, false)
		return f.found
	}
	l.probeAll(f, word, !f.bare && !f.syllable)
	slices.SortFunc(f.found, compareNeighbours)
	return f.found[:min(len(f.found), neighboursMax)]
}

func compareNeighbours(a, b neighbour) int {
	if a.similarity != b.similarity {
		return int(b.similarity - a.similarity)
	}
	return int(a.word) - int(b.word)
}

// seekSyllables notes the word's keys in other systems of syllables.
func (f *finder) seekSyllables(word []byte) {
	f.systems = f.systems[:0]
	for i := range syllableSystems {
		system := &syllableSystems[i]
		key, count := appendSyllables(f.room[:0], word, system.table)
		if f.room = key; count >= system.least {
			f.systems = append(f.systems, formHash(system.sought, key))
		}
	}
}

// probeSyllables finds the words that are the same syllables in another system.
func (l *wordLayer) probeSyllables(f *finder, word []byte) {
	for _, hash := range f.systems {
		first, end := l.bucket(hash)
		for k := first; k < end; k++ {
			if id, ok := l.filed(k, uint32(hash)); ok && string(l.wordText(id)) != string(word) && f.seen.first(id) {
				f.found = append(f.found, neighbour{id, sameSyllables})
			}
		}
	}
}

// probeAll compares the words filed under the forms of f.hashes, of which the first
// is the whole fold. With shapes, words whose shape tells that they are not close are
// passed over. The tables are read in rounds, so that no read waits for the one before.
func (l *wordLayer) probeAll(f *finder, word *spelledWord, shapes bool) {
	count := min(len(f.hashes), len(f.probes))
	for i, hash := range f.hashes[:count] {
		first, end := l.bucket(hash)
		f.probes[i] = probe{first, end, uint32(hash) & deletionCheck, i == 0}
	}
	kept := f.probes[:0]
	for _, p := range f.probes[:count] {
		if p.first < p.end {
			f.touched ^= l.deletionRows[p.first].filed
			kept = append(kept, p)
		}
	}
	f.near = f.near[:0]
	for i := range kept {
		l.gather(f, &kept[i], word, shapes)
	}
	for _, id := range f.near {
		f.touched ^= l.records[id].letters
	}
	for _, id := range f.near {
		f.touched ^= uint32(l.letters[l.records[id].letters])
	}
	for _, id := range f.near {
		l.compare(f, id, word)
	}
}

// bucket gives the rows of the deletion table that a hash may be in.
func (l *wordLayer) bucket(hash uint64) (first, end uint32) {
	bucket := perfect.Reduce(hash, l.buckets)
	if l.remainders != nil && l.remainders[bucket]>>(hash&7)&1 == 0 {
		return 0, 0
	}
	return l.bucketRows(bucket)
}

// bucketRows gives the rows of a bucket that are read.
func (l *wordLayer) bucketRows(bucket uint32) (first, end uint32) {
	first, end = l.deletionOffsets[bucket], l.deletionOffsets[bucket+1]
	return first, min(end, first+bucketProbeMax)
}

// filed gives the word of a row of the deletion table; false: the row is of another form.
func (l *wordLayer) filed(row, check uint32) (uint32, bool) {
	value := l.deletionRows[row].filed
	return value >> deletionCheckBits, value&deletionCheck == check&deletionCheck
}

// gather notes the words filed under one form.
func (l *wordLayer) gather(f *finder, p *probe, word *spelledWord, shapes bool) {
	for i := p.first; i < p.end; i++ {
		id, ok := l.filed(i, p.check)
		if !ok {
			continue
		}
		if shapes && !p.spelled {
			shape := l.deletionRows[i].shape
			if farApart(word.textBag.once&shapeLetters, shape&shapeLetters, len(word.text), int(shape>>shapeLength)) {
				continue
			}
		}
		if f.seen.first(id) {
			f.near = append(f.near, id)
		}
	}
}

// compare keeps a listed word that is close.
func (l *wordLayer) compare(f *finder, id uint32, word *spelledWord) {
	record := l.word(id)
	if strangers(f.group, uint32(record.group)) {
		return
	}
	other := l.spelled(&record)
	if string(other.text) == string(word.text) {
		return
	}
	if f.bare && f.sameConsonants(other.fold) {
		f.found = append(f.found, neighbour{id, consonantsEqual})
		return
	}
	sameFold := string(other.fold) == string(word.fold)
	if f.syllable && record.flags&wordSyllable != 0 && !sameFold {
		if sameSyllable(word.text, other.text) { // PONG, Bong
			f.found = append(f.found, neighbour{id, clearlyClose})
		}
		return
	}
	if !sameFold && farApart(word.textBag.once, other.textBag.once, len(word.text), len(other.text)) {
		return
	}
	if similarity := wordSimilarity(word, &other); similarity > 0 {
		f.found = append(f.found, neighbour{id, similarity})
	}
}

// consonantsEqual is the similarity of a word written without vowels and one
// with the same consonants.
const consonantsEqual = 9000

// sameConsonants compares the consonants in f.room, those of the word looked
// for, with those of a listed word.
func (f *finder) sameConsonants(fold []byte) bool {
	at := 0
	for _, c := range fold {
		if isFoldVowel(c) {
			continue
		}
		if at == len(f.room) || f.room[at] != c {
			return false
		}
		at++
	}
	return at == len(f.room) && at >= consonantsMin
}

// vowelMask has the bits of the vowels in a letterBag.
const vowelMask = 1<<('a'&31) | 1<<('e'&31) | 1<<('i'&31) | 1<<('o'&31) | 1<<('u'&31)

// farApart tells from lengths and sets of letters alone that two words cannot
// be close: each letter one of them has not at all costs an edit.
func farApart(maskA, maskB uint32, lengthA, lengthB int) bool {
	limit := costLimit(max(lengthA, lengthB))
	if difference := int32(max(lengthA-lengthB, lengthB-lengthA)); difference > 4 || difference > limit/50+1 {
		return true
	}
	onlyA, onlyB := maskA&^maskB, maskB&^maskA
	vowels := max(bits.OnesCount32(onlyA&vowelMask), bits.OnesCount32(onlyB&vowelMask))
	consonants := max(bits.OnesCount32(onlyA&^vowelMask), bits.OnesCount32(onlyB&^vowelMask))
	return int32(vowels*costVowels+consonants*costWeak) > limit+costWeak
}

// nameAt is the name whose words begin at a row of tokens.
func (l *wordLayer) nameAt(row uint32) uint32 {
	low, high := uint32(0), uint32(len(l.tokenOffsets)-1) // The name is the last that begins at the row: those before it have no words.
	for low+1 < high {
		if middle := (low + high) / 2; l.tokenOffsets[middle] <= row {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
