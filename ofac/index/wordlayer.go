package index

import (
	"math/bits"
	"slices"

	"railguard/ofac/perfect"
	"railguard/ofac/text"
)

// WordLayer is the part of the tables that finds words and the names that hold them.
type WordLayer struct {
	records                  []WordRecord
	letters                  []byte // for each word its text, then its fold
	hash                     perfect.Table
	ids                      []uint32 // Ids of words, by slot of the hash table.
	neighbourOffsets         []uint32
	neighbourRows            []neighbourRow
	ordinary                 ordinaryNear
	deletionOffsets          []uint32
	deletionRows             []deletionRow
	abjadRows                []abjadRow
	postingOffsets, postings []uint32
	tokenOffsets             []uint32
	Tokens                   []TokenRow
	Count                    uint32
	buckets                  uint32

	// Summaries of the tables above, by which searches skip parts of them.
	holders    []Holder // The names that hold a word, by row of the postings.
	Begins     []uint8  // by word: its first letter according to its tokens
	remainders []uint8  // by bucket of the deletion table: a bit for each remainder (mod 8) of the checks in it; nil if not computed
}

// neighbourRow is a neighbour packed in four bytes: word<<14 | similarity.
type neighbourRow uint32

const similarityBits = 14

func (n neighbour) packRow() neighbourRow {
	return neighbourRow(n.Word<<similarityBits | uint32(n.Similarity))
}

func (r neighbourRow) Read() neighbour {
	return neighbour{uint32(r >> similarityBits), int32(r & (1<<similarityBits - 1))}
}

// neighbour is a listed word close to a word.
type neighbour struct {
	Word       uint32
	Similarity int32
}

func (l *WordLayer) Word(id uint32) WordRecord { return l.records[id] }

func (l *WordLayer) TextOf(w *WordRecord) []byte {
	return l.letters[w.letters : w.letters+uint32(w.Text)]
}

func (l *WordLayer) Spelled(w *WordRecord) text.SpelledWord {
	fold := w.letters + uint32(w.Text)
	return text.SpelledWord{Text: l.TextOf(w), Fold: l.letters[fold : fold+uint32(w.fold)], TextBag: w.textBag, FoldBag: w.foldBag}
}

// NeighboursOf returns the words close to a listed word that is a whole word of some name.
func (l *WordLayer) NeighboursOf(id uint32) []neighbourRow {
	return l.neighbourRows[l.neighbourOffsets[id]:l.neighbourOffsets[id+1]]
}

// PostingsOf returns, for each name that holds the word, the row where the name's words
// begin.
func (l *WordLayer) PostingsOf(id uint32) []uint32 {
	return l.postings[l.postingOffsets[id]:l.postingOffsets[id+1]]
}

// HoldersOf returns the names that hold a word, in the order of PostingsOf.
func (l *WordLayer) HoldersOf(id uint32) []Holder {
	return l.holders[l.postingOffsets[id]:l.postingOffsets[id+1]]
}

// TokensOf returns the words of a listed name.
func (l *WordLayer) TokensOf(name uint32) []TokenRow {
	return l.Tokens[l.tokenOffsets[name]:l.tokenOffsets[name+1]]
}

// NameCount counts the listed names that hold a word.
func (l *WordLayer) NameCount(id uint32) uint32 {
	return l.postingOffsets[id+1] - l.postingOffsets[id]
}

func (l *WordLayer) WordText(id uint32) []byte {
	record := l.Word(id)
	return l.TextOf(&record)
}

// Find returns the id of a listed word.
func (l *WordLayer) Find(word []byte) (uint32, bool) {
	slot, ok := l.hash.Find(perfect.KeyOf(word))
	if !ok {
		return 0, false
	}
	id := l.ids[slot]
	record := l.Word(id)
	return id, string(l.TextOf(&record)) == string(word)
}

// NumberSet is a set of small numbers. Emptying it takes no longer than filling it.
type NumberSet struct {
	bits    []uint64
	members []uint32
}

// Begin empties the set and makes room for numbers below n.
func (s *NumberSet) Begin(n uint32) {
	for _, i := range s.members {
		s.bits[i/64] = 0
	}
	s.members = s.members[:0]
	if uint32(len(s.bits)) < n/64+1 {
		s.bits = make([]uint64, n/64+1)
	}
}

func (s *NumberSet) Has(i uint32) bool { return s.bits[i/64]>>(i%64)&1 != 0 }

// Add puts i into the set and reports whether it was not yet there.
func (s *NumberSet) Add(i uint32) bool {
	if s.Has(i) {
		return false
	}
	s.bits[i/64] |= 1 << (i % 64)
	s.members = append(s.members, i)
	return true
}

// Finder searches for words close to one word. Its buffers are reused.
type Finder struct {
	seen  NumberSet
	Room  []byte
	group uint32 // group of respellings of the word sought
	// The word is one Chinese or Korean syllable.
	syllable bool
	latin    bool // the word has only ASCII letters and digits
	found    []neighbour
	hashes   []uint64 // hashes of the word's forms
	systems  []uint64 // hashes of its keys in other systems of syllables
	probes   [deletionProbesMax]probe
	near     []uint32 // words to be compared
	slipped  []text.Slip
	Steps    int    // forms probed and words compared so far; a test bounds them
	touched  uint32 // uses the values of reads that only prefetch, so that they are not optimised away
}

// probe is a run of rows of the deletion table that is searched for one form.
type probe struct {
	first, end uint32
	check      uint32
	spelled    bool // the form is the whole fold
}

// deletionProbesMax is the greatest number of forms of one word: its fold, the fold with
// each letter left out, its letters, the letters with each left out, and its consonants.
const deletionProbesMax = 3 + 2*text.WordBytesMax + text.WordBytesMax

// Near finds the listed words close to a word that is not listed, except the word itself.
// It returns at most neighboursMax, best first, valid until the next call.
func (l *WordLayer) Near(f *Finder, word *text.SpelledWord) []neighbour {
	f.seekWord(word)
	return l.nearSought(f, word)
}

// Seek computes the forms of a word for Slips.
func (f *Finder) Seek(word *text.SpelledWord) { f.seekWord(word) }

// seekWord starts the search for a word: it computes the hashes of all forms under which it
// is looked up.
func (f *Finder) seekWord(word *text.SpelledWord) {
	written, fold := word.Text, word.Fold
	f.group, f.syllable, f.latin = text.GroupOf(written), text.IsSyllable(written), text.IsLatin(written)
	f.systems = f.systems[:0]
	if f.latin {
		f.seekSyllables(written)
	}
	f.Room = text.AppendSkeleton(f.Room[:0], fold)
	f.hashes = append(f.hashes[:0], text.HashForm(text.HashFold, fold))
	if !f.latin {
		return
	}
	if len(fold) >= foldDeletionMin-1 {
		f.hashes = text.AppendDeletionHashes(f.hashes, text.HashFold, fold)
	}
	if len(written) >= lettersDeletionMin-1 {
		f.hashes = append(f.hashes, text.HashForm(text.HashLetters, written))
		f.hashes = text.AppendDeletionHashes(f.hashes, text.HashLetters, written)
	}
	if len(f.Room) >= consonantsMin {
		f.hashes = append(f.hashes, text.HashForm(text.HashConsonants, f.Room))
	}
}

// nearSought finds the words close to the word that seekWord was called with.
func (l *WordLayer) nearSought(f *Finder, word *text.SpelledWord) []neighbour {
	f.found = f.found[:0]
	f.seen.Begin(l.Count)
	l.probeSyllables(f, word.Text)
	if !f.latin {
		l.probeAll(f, word, false)
		return f.found
	}
	l.probeAll(f, word, !f.syllable)
	slices.SortFunc(f.found, compareNeighbours)
	return f.found[:min(len(f.found), neighboursMax)]
}

func compareNeighbours(a, b neighbour) int {
	if a.Similarity != b.Similarity {
		return int(b.Similarity - a.Similarity)
	}
	return int(a.Word) - int(b.Word)
}

// seekSyllables computes the hashes of the word's keys in other systems of syllables.
func (f *Finder) seekSyllables(word []byte) {
	f.systems = f.systems[:0]
	for i := range text.SyllableSystems {
		system := &text.SyllableSystems[i]
		key, count := text.AppendSyllables(f.Room[:0], word, system.Table)
		if f.Room = key; count >= system.Least {
			f.systems = append(f.systems, text.HashForm(system.Sought, key))
		}
	}
}

// SameSyllables finds the listed words that write the same syllables as a word in another
// system. The result is valid until the next search.
func (l *WordLayer) SameSyllables(f *Finder, word []byte) []neighbour {
	f.found = f.found[:0]
	f.seen.Begin(l.Count)
	f.seekSyllables(word)
	l.probeSyllables(f, word)
	return f.found
}

// SameSounds finds the listed words of which Kana keep the same sounds. The result is valid until
// the next search.
func (l *WordLayer) SameSounds(f *Finder, word []byte) []neighbour {
	f.found = f.found[:0]
	f.Room = text.AppendSounds(f.Room[:0], word)
	sounds := len(f.Room)
	if sounds < text.SoundsMin {
		return nil
	}
	hash := text.HashForm(text.HashSounds, f.Room)
	first, end := l.bucketOf(hash)
	for i := first; i < end; i++ {
		id, ok := l.filedWord(i, uint32(hash))
		if !ok {
			continue
		}
		listed := l.WordText(id)
		f.Room = text.AppendSounds(f.Room[:sounds], listed)
		sought, heard := f.Room[:sounds], f.Room[sounds:]
		if string(listed) != string(word) && (string(heard) == string(sought) || text.OtherSounds(heard) && string(heard) == string(sought)) {
			f.found = append(f.found, neighbour{id, text.SameSpelling})
		}
	}
	return f.found
}

// WordsOfFold finds the listed words with a spelling fold, except one word. The result is
// valid until the next search.
func (l *WordLayer) WordsOfFold(f *Finder, fold, except []byte) []uint32 {
	f.near = f.near[:0]
	hash := text.HashForm(text.HashFold, fold)
	first, end := l.bucketOf(hash)
	for i := first; i < end; i++ {
		id, ok := l.filedWord(i, uint32(hash))
		if !ok {
			continue
		}
		record := l.Word(id)
		if word := l.Spelled(&record); string(word.Fold) == string(fold) && string(word.Text) != string(except) {
			f.near = append(f.near, id)
		}
	}
	return f.near
}

// Slips returns the known respellings that are one edit away from the word sought last. The
// result is valid until the next search.
func (f *Finder) Slips(word []byte) []text.Slip {
	f.slipped = f.slipped[:0]
	if f.latin && !f.syllable {
		f.slipped = text.AppendSlips(f.slipped, f.hashes, word)
	}
	return f.slipped
}

// probeSyllables finds the words that write the same syllables in another system.
func (l *WordLayer) probeSyllables(f *Finder, word []byte) {
	for _, hash := range f.systems {
		first, end := l.bucketOf(hash)
		for k := first; k < end; k++ {
			if id, ok := l.filedWord(k, uint32(hash)); ok && string(l.WordText(id)) != string(word) && f.seen.Add(id) {
				f.found = append(f.found, neighbour{id, text.SameSpelling})
			}
		}
	}
}

// probeAll compares the words found under the forms of f.hashes, of which the first is the
// whole fold. With shapes it skips words whose shape is not close. It reads the tables in
// rounds, so that no read waits for the one before.
func (l *WordLayer) probeAll(f *Finder, word *text.SpelledWord, shapes bool) {
	count := min(len(f.hashes), len(f.probes))
	for i, hash := range f.hashes[:count] {
		first, end := l.bucketOf(hash)
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
		l.gatherWords(f, &kept[i], word, shapes)
	}
	for _, id := range f.near {
		f.touched ^= l.records[id].letters
	}
	for _, id := range f.near {
		f.touched ^= uint32(l.letters[l.records[id].letters])
	}
	f.Steps += count + len(f.near)
	for _, id := range f.near {
		l.compareWord(f, id, word)
	}
}

// bucketOf returns the rows of the deletion table that may hold a hash.
func (l *WordLayer) bucketOf(hash uint64) (first, end uint32) {
	bucket := perfect.Reduce(hash, l.buckets)
	if l.remainders != nil && l.remainders[bucket]>>(hash&7)&1 == 0 {
		return 0, 0
	}
	return l.bucketRows(bucket)
}

// bucketRows returns the rows of a bucket that are read, at most bucketProbeMax.
func (l *WordLayer) bucketRows(bucket uint32) (first, end uint32) {
	first, end = l.deletionOffsets[bucket], l.deletionOffsets[bucket+1]
	return first, min(end, first+bucketProbeMax)
}

// filedWord returns the word of a row of the deletion table. It returns false when the row
// is of another form.
func (l *WordLayer) filedWord(row, check uint32) (uint32, bool) {
	value := l.deletionRows[row].filed
	return value >> deletionCheckBits, value&deletionCheck == check&deletionCheck
}

// gatherWords collects the words filed under one form.
func (l *WordLayer) gatherWords(f *Finder, p *probe, word *text.SpelledWord, shapes bool) {
	for i := p.first; i < p.end; i++ {
		id, ok := l.filedWord(i, p.check)
		if !ok {
			continue
		}
		if shapes && !p.spelled {
			shape := l.deletionRows[i].shape
			if farApart(word.TextBag.Once&shapeLetters, shape&shapeLetters, len(word.Text), int(shape>>shapeLength)) {
				continue
			}
		}
		if f.seen.Add(id) {
			f.near = append(f.near, id)
		}
	}
}

// compareWord adds a listed word to the result if it is close.
func (l *WordLayer) compareWord(f *Finder, id uint32, word *text.SpelledWord) {
	record := l.Word(id)
	if text.AreStrangers(f.group, uint32(record.Group)) {
		return
	}
	other := l.Spelled(&record)
	if string(other.Text) == string(word.Text) {
		return
	}
	sameFold := string(other.Fold) == string(word.Fold)
	if f.syllable && record.Flags&WordSyllable != 0 && !sameFold {
		if text.SameSyllable(word.Text, other.Text) { // e.g. PONG and Bong
			f.found = append(f.found, neighbour{id, text.ClearlyClose})
		}
		return
	}
	if !sameFold && farApart(word.TextBag.Once, other.TextBag.Once, len(word.Text), len(other.Text)) {
		return
	}
	if similarity := text.WordSimilarity(word, &other); similarity > 0 {
		f.found = append(f.found, neighbour{id, similarity})
	}
}

// vowelMask has the bits of the vowels in a text.LetterBag.
const vowelMask = 1<<('a'&31) | 1<<('e'&31) | 1<<('i'&31) | 1<<('o'&31) | 1<<('u'&31)

// farApart reports whether the lengths and letter sets of two words already show that they
// are not close. Each letter that only one of them has costs an edit.
func farApart(maskA, maskB uint32, lengthA, lengthB int) bool {
	limit := text.CostLimit(max(lengthA, lengthB))
	if difference := int32(max(lengthA-lengthB, lengthB-lengthA)); difference > 4 || difference > limit/50+1 {
		return true
	}
	onlyA, onlyB := maskA&^maskB, maskB&^maskA
	vowels := max(bits.OnesCount32(onlyA&vowelMask), bits.OnesCount32(onlyB&vowelMask))
	consonants := max(bits.OnesCount32(onlyA&^vowelMask), bits.OnesCount32(onlyB&^vowelMask))
	return int32(vowels*text.CostVowels+consonants*text.CostWeak) > limit+text.CostWeak
}

// NameAt returns the name whose words begin at a row of tokens.
func (l *WordLayer) NameAt(row uint32) uint32 {
	low, high := uint32(0), uint32(len(l.tokenOffsets)-1) // The name is the last one that begins at the row; those before it have no words.
	for low+1 < high {
		if middle := (low + high) / 2; l.tokenOffsets[middle] <= row {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// IsWhole reports whether a word is a whole word of some listed name, not only a join.
func (l *WordLayer) IsWhole(word []byte) bool {
	id, ok := l.Find(word)
	return ok && l.Word(id).Flags&WordWhole != 0
}
