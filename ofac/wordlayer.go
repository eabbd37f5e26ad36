package ofac

import (
	"math/bits"
	"slices"
)

// wordLayer is the part of an opened list that finds words and the names that
// hold them.
type wordLayer struct {
	textOffsets, foldOffsets words32
	text, fold               []byte
	info                     words32 // per word: weight and flags, letter mask
	hash                     perfectHash
	slots, ids               words32
	neighbourOffsets         words32
	neighbourRows            words32 // word<<14 | similarity
	deletionOffsets          words32
	deletionRows             words32
	postingOffsets, postings words32
	tokenOffsets             words32
	tokens                   []byte
	count                    uint32
	buckets                  uint32
}

const similarityBits = 14

// neighbour is a listed word close to a word.
type neighbour struct {
	word       uint32
	similarity int32
}

func (l *wordLayer) wordText(id uint32) []byte {
	return l.text[l.textOffsets.at(id):l.textOffsets.at(id+1)]
}

func (l *wordLayer) wordFold(id uint32) []byte {
	return l.fold[l.foldOffsets.at(id):l.foldOffsets.at(id+1)]
}

func (l *wordLayer) letters(id uint32) uint32 {
	return l.textOffsets.at(id+1) - l.textOffsets.at(id)
}

// The first word of a word's info: its weight, its flags, its group of respellings.
const (
	infoFlags = 16
	infoGroup = 20
)

func (l *wordLayer) weight(id uint32) int32 { return int32(l.info.at(id*2) & 0xFFFF) }
func (l *wordLayer) whole(id uint32) bool   { return l.info.at(id*2)>>infoFlags&wordWhole != 0 }
func (l *wordLayer) syllable(id uint32) bool {
	return l.info.at(id*2)>>infoFlags&wordSyllable != 0
}
func (l *wordLayer) group(id uint32) uint32 { return l.info.at(id*2) >> infoGroup }

// find returns the id of a listed word.
func (l *wordLayer) find(word []byte) (uint32, bool) {
	slot, ok := l.hash.find(hashBytes(word))
	if !ok {
		return 0, false
	}
	id := l.ids.at(l.slots.at(slot))
	return id, string(l.wordText(id)) == string(word)
}

// stamps marks which of many numbers were met in the current round, without
// clearing anything between rounds.
type stamps struct {
	round uint32
	marks []uint32
}

// begin starts a round for numbers below n.
func (s *stamps) begin(n uint32) {
	if uint32(len(s.marks)) < n {
		s.marks = make([]uint32, n)
		s.round = 0
	}
	s.round++
	if s.round == 0 {
		clear(s.marks)
		s.round = 1
	}
}

// first reports whether i is met for the first time in this round.
func (s *stamps) first(i uint32) bool {
	if s.marks[i] == s.round {
		return false
	}
	s.marks[i] = s.round
	return true
}

// finder compares words; its buffers are reused.
type finder struct {
	seen  stamps
	room  []byte
	group uint32 // of the word looked for
	bare  bool   // it is written without vowels: its consonants decide
	// It is one Chinese or Korean syllable.
	syllable bool
	found    []neighbour
}

// near finds the listed words close to a word that is not listed, itself
// excluded, best first, at most neighboursMax. The result is valid until the next call.
func (l *wordLayer) near(f *finder, word, fold []byte) []neighbour {
	f.found = f.found[:0]
	f.seen.begin(l.count)
	f.group = respellingOf[string(word)].group
	mask := letterMask(word)
	latin := isLatin(word)
	f.syllable = isSyllable(word)
	if latin {
		l.probeSyllables(f, word)
	}
	f.room = appendSkeleton(f.room[:0], fold)
	l.probe(f, deletionHash(deletedFold, fold, -1), word, fold, mask)
	if !latin {
		return f.found
	}
	if len(fold) >= foldDeletionMin-1 {
		for i := range fold {
			l.probe(f, deletionHash(deletedFold, fold, i), word, fold, mask)
		}
	}
	if len(word) >= lettersDeletionMin-1 {
		l.probe(f, deletionHash(deletedLetters, word, -1), word, fold, mask)
		for i := range word {
			l.probe(f, deletionHash(deletedLetters, word, i), word, fold, mask)
		}
	}
	if len(f.room) >= consonantsMin {
		l.probe(f, deletionHash(deletedConsonants, f.room, -1), word, fold, mask)
	}
	slices.SortFunc(f.found, compareNeighbours)
	return f.found[:min(len(f.found), neighboursMax)]
}

func compareNeighbours(a, b neighbour) int {
	if a.similarity != b.similarity {
		return int(b.similarity - a.similarity)
	}
	return int(a.word) - int(b.word)
}

// probeSyllables finds the words that are the same syllables in another system.
func (l *wordLayer) probeSyllables(f *finder, word []byte) {
	for i := range syllableSystems {
		system := &syllableSystems[i]
		key, count := appendSyllables(f.room[:0], word, system.table)
		if f.room = key; count < system.least {
			continue
		}
		hash := deletionHash(system.sought, key, -1)
		bucket := reduce(hash, l.buckets)
		first, end := l.deletionOffsets.at(bucket), l.deletionOffsets.at(bucket+1)
		for k := first; k < min(end, first+bucketProbeMax); k++ {
			id := l.deletionRows.at(k*2 + 1)
			if l.deletionRows.at(k*2) == uint32(hash) && string(l.wordText(id)) != string(word) && f.seen.first(id) {
				f.found = append(f.found, neighbour{id, sameSyllables})
			}
		}
	}
}

// probe compares the words filed under one form.
func (l *wordLayer) probe(f *finder, hash uint64, word, fold []byte, mask uint32) {
	bucket := reduce(hash, l.buckets)
	first, end := l.deletionOffsets.at(bucket), l.deletionOffsets.at(bucket+1)
	for i := first; i < min(end, first+bucketProbeMax); i++ {
		if l.deletionRows.at(i*2) != uint32(hash) {
			continue
		}
		id := l.deletionRows.at(i*2 + 1)
		if !f.seen.first(id) || strangers(f.group, l.group(id)) {
			continue
		}
		other, otherFold := l.wordText(id), l.wordFold(id)
		if string(other) == string(word) {
			continue
		}
		if f.bare && f.sameConsonants(otherFold) {
			f.found = append(f.found, neighbour{id, consonantsEqual})
			continue
		}
		if f.syllable && l.syllable(id) && string(otherFold) != string(fold) {
			if sameSyllable(word, other) { // PONG, Bong
				f.found = append(f.found, neighbour{id, clearlyClose})
			}
			continue
		}
		if string(otherFold) != string(fold) && farApart(mask, l.info.at(id*2+1), len(word), len(other)) {
			continue
		}
		if similarity := wordSimilarity(word, other, fold, otherFold); similarity > 0 {
			f.found = append(f.found, neighbour{id, similarity})
		}
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

// vowelMask has the bits of the vowels in a letterMask.
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

// encodeNeighbours writes, for each word that stands alone, the words close to it.
func (b *builder) encodeNeighbours(v *vocabulary) error {
	b.sections[sectionNeighbourOffsets] = make([]byte, 4*(len(v.words)+1))
	b.sections[sectionNeighbours] = nil
	var l wordLayer
	if err := l.open(b.sections, uint32(len(b.names))); err != nil {
		return err
	}
	var f finder
	offsets, rows := []uint32{0}, []uint32(nil)
	for id := range uint32(len(v.words)) {
		if v.whole[id] {
			for _, near := range l.near(&f, l.wordText(id), l.wordFold(id)) {
				rows = append(rows, near.word<<similarityBits|uint32(near.similarity))
			}
		}
		offsets = append(offsets, uint32(len(rows)))
	}
	b.sections[sectionNeighbourOffsets], b.sections[sectionNeighbours] = appendWords32(nil, offsets), appendWords32(nil, rows)
	return nil
}

// openWords reads the word layer and checks every reference.
func (x *Index) openWords(sections [sectionEnd][]byte) error {
	return x.words.open(sections, x.nameCount)
}

func (l *wordLayer) open(sections [sectionEnd][]byte, names uint32) (err error) {
	*l = wordLayer{
		textOffsets: sections[sectionWordOffsets], foldOffsets: sections[sectionFoldOffsets],
		text: sections[sectionWordText], fold: sections[sectionFoldText], info: sections[sectionWordInfo],
		slots: sections[sectionWordSlots], ids: sections[sectionWordIDs],
		neighbourOffsets: sections[sectionNeighbourOffsets], neighbourRows: sections[sectionNeighbours],
		deletionOffsets: sections[sectionDeletionOffsets], deletionRows: sections[sectionDeletions],
		postingOffsets: sections[sectionPostingOffsets], postings: sections[sectionWordPostings],
		tokenOffsets: sections[sectionTokenOffsets], tokens: sections[sectionTokens],
	}
	if len(l.info)%8 != 0 || l.info.len()/2 > vocabularyMax {
		return malformed("size of words")
	}
	l.count = l.info.len() / 2
	if l.hash, err = openPerfect(sections[sectionWordHash]); err != nil || l.hash.keys != l.count {
		return malformed("hash of words")
	}
	for _, rows := range []words32{l.ids, l.neighbourRows, l.deletionRows, l.postings} {
		if len(rows)%4 != 0 {
			return malformed("size of word tables")
		}
	}
	switch {
	case !l.textOffsets.offsets(l.count, uint32(len(l.text))) || !l.foldOffsets.offsets(l.count, uint32(len(l.fold))):
		return malformed("texts of words")
	case !l.slots.offsets(l.count, l.ids.len()) || l.ids.len() != l.count || !l.ids.below(l.count):
		return malformed("ids of words")
	case !l.neighbourOffsets.offsets(l.count, l.neighbourRows.len()) || !l.neighbourRows.below(l.count<<similarityBits):
		return malformed("neighbours of words")
	case !l.postingOffsets.offsets(l.count, l.postings.len()) || !l.postings.below(names):
		return malformed("names of words")
	case len(l.deletionOffsets) < 8 || len(l.deletionOffsets)%4 != 0 || len(l.deletionRows)%8 != 0:
		return malformed("size of deletions")
	case len(l.tokens)%nameTokenBytes != 0 || !l.tokenOffsets.offsets(names, uint32(len(l.tokens)/nameTokenBytes)):
		return malformed("words of names")
	}
	l.buckets = l.deletionOffsets.len() - 1
	if !l.deletionOffsets.offsets(l.buckets, l.deletionRows.len()/2) {
		return malformed("deletions")
	}
	return l.checkRows(names)
}

// checkRows checks what only a walk over the rows can tell.
func (l *wordLayer) checkRows(names uint32) error {
	for i := range l.count {
		if l.slots.at(i+1) != i+1 {
			return malformed("slots of words")
		}
		text, fold := l.letters(i), l.foldOffsets.at(i+1)-l.foldOffsets.at(i)
		if text == 0 || text > wordBytesMax || fold == 0 || fold > 2*wordBytesMax || l.weight(i) > scoreOne {
			return malformed("word")
		}
	}
	for i := range l.deletionRows.len() / 2 {
		if l.deletionRows.at(i*2+1) >= l.count {
			return malformed("word of a deletion")
		}
	}
	for name := range names {
		first, end := l.tokenOffsets.at(name), l.tokenOffsets.at(name+1)
		words := uint8(0)
		for i := first; i < end; i++ {
			token := readNameToken(l.tokens[uint64(i)*nameTokenBytes:])
			if token.count == 1 && token.first == words && words < nameTokensMax {
				words++
			} else if token.count < 2 || token.count > 3 || token.first+token.count > words {
				return malformed("word of a name")
			}
			if token.word >= l.count || token.part > partPatronymic {
				return malformed("word of a name")
			}
		}
	}
	return nil
}
