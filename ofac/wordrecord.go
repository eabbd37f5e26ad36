package ofac

import (
	"encoding/binary"
	"math/bits"
)

// wordRecord is one word of the possible matcher's vocabulary: all that is asked
// of a word before its letters are, side by side.
type wordRecord struct {
	letters uint32 // where its text begins, followed by its spelling fold
	text    uint8  // length of the text
	fold    uint8  // length of the fold
	begins  uint8  // first letter of the fold, 0 if the word is too short to be compared loosely
	flags   uint8
	weight  uint16
	group   uint16 // of respellings, 0 if none
	textBag letterBag
	foldBag letterBag
}

const wordBytes = 36

// Flags of a word.
const (
	wordWhole    = 1 << iota // the word stands alone in some name; otherwise only as a join
	wordSyllable             // it is one Chinese or Korean syllable
)

func (r *wordRecord) append(dst []byte) []byte {
	dst = appendWords32(dst, []uint32{r.letters})
	dst = append(dst, r.text, r.fold, r.begins, r.flags)
	dst = binary.LittleEndian.AppendUint16(dst, r.weight)
	dst = binary.LittleEndian.AppendUint16(dst, r.group)
	dst = appendWords32(dst, []uint32{r.textBag.once, r.textBag.twice, r.textBag.alike})
	return appendWords32(dst, []uint32{r.foldBag.once, r.foldBag.twice, r.foldBag.alike})
}

func readWord(data []byte) wordRecord {
	_ = data[wordBytes-1]
	return wordRecord{
		letters: binary.LittleEndian.Uint32(data),
		text:    data[4], fold: data[5], begins: data[6], flags: data[7],
		weight: binary.LittleEndian.Uint16(data[8:]), group: binary.LittleEndian.Uint16(data[10:]),
		textBag: readBag(data[12:]), foldBag: readBag(data[24:]),
	}
}

func readBag(data []byte) letterBag {
	_ = data[11]
	return letterBag{binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:]), binary.LittleEndian.Uint32(data[8:])}
}

// letterBag says which letters a word has, which at least twice, and which sound
// like one it has: a bit for each, the byte's low five bits. What one of two words
// has more than the other costs edits, so that most words that are far apart need
// not be compared.
type letterBag struct{ once, twice, alike uint32 }

func bagOf(word []byte) (bag letterBag) {
	for _, c := range word {
		bit := uint32(1) << (c & 31)
		bag.twice |= bag.once & bit
		bag.once |= bit
	}
	for _, mask := range alikeMasks {
		if bag.once&mask != 0 {
			bag.alike |= mask
		}
	}
	return bag
}

// alikeMasks are the consonants that stand for one another at costClass.
var alikeMasks = [...]uint32{
	1<<('b'&31) | 1<<('p'&31),
	1<<('d'&31) | 1<<('t'&31),
	1<<('g'&31) | 1<<('k'&31) | 1<<('q'&31) | 1<<('c'&31),
	1<<('s'&31) | 1<<('z'&31) | 1<<('x'&31),
	1<<('v'&31) | 1<<('w'&31) | 1<<('f'&31),
	1<<('m'&31) | 1<<('n'&31),
	1<<('c'&31) | 1<<('s'&31),
	1<<('j'&31) | 1<<('g'&31),
	1<<('j'&31) | 1<<('y'&31),
	1<<('j'&31) | 1<<('i'&31),
	1<<('j'&31) | 1<<('x'&31),
}

// Letters whose cheapest edit is neither costClass nor costKey.
const (
	vowelsMask = 1<<('a'&31) | 1<<('e'&31) | 1<<('i'&31) | 1<<('o'&31) | 1<<('u'&31) | 1<<('y'&31)
	breathMask = 1 << ('h' & 31)
)

// farther reports whether two words with these bags must differ by more than limit.
func (a letterBag) farther(b letterBag, limit int32) bool {
	return a.surplus(b) > limit || b.surplus(a) > limit
}

// surplus is the least that the letters cost which the other word has fewer of:
// each must be left out, or another put for it. A letter a word has twice may
// stand beside itself, where to leave it out is cheapest.
func (a letterBag) surplus(b letterBag) int32 {
	once := a.once &^ b.once
	doubled := bits.OnesCount32(once&a.twice) + bits.OnesCount32(a.twice&^b.twice)
	once &^= a.twice
	others := once &^ (vowelsMask | breathMask)
	cost := doubled*costDouble + bits.OnesCount32(once&vowelsMask)*costVowels
	cost += bits.OnesCount32(others&b.alike)*costClass + bits.OnesCount32(others&^b.alike)*costKey
	if once&breathMask != 0 {
		cost += costWeak
	}
	return int32(cost)
}
