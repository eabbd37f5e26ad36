package text

import "bytes"

// Beginning summarises how a name begins, so that a search can skip most names unread. The low 16
// bits hash the first word. Above them stand the first three letters of the second word, five
// bits each, or secondUnread. 0 means that the first word cannot be told for certain from the
// beginning.
type Beginning uint32

const (
	beginningPrint   = 1<<16 - 1
	beginningLetters = 3
	secondUnread     = 1 << 31 // the letters of the second word are unknown
)

// MayBegin reports whether a name may begin with these words, of which the second may be
// cut. mask has the bits that are compared.
func (b Beginning) MayBegin(words, mask Beginning) bool {
	if b&secondUnread != 0 {
		mask = beginningPrint
	}
	return b == 0 || (b^words)&mask == 0
}

// BeginningOf returns how folded words begin, and which bits of that are known.
func BeginningOf(words []byte) (begins, mask Beginning) {
	print, at := uint32(1), 0
	for ; at < len(words) && words[at] != ' '; at++ {
		print = (print ^ uint32(words[at])) * wordPrime
	}
	begins, mask = Beginning(print>>16|1), beginningPrint
	for i := 1; i <= beginningLetters && at+i < len(words) && words[at+i] != ' '; i++ {
		begins |= letterAt(words[at+i], i)
		mask |= 31 << (11 + 5*i)
	}
	return begins, mask
}

// wordPrime mixes the letters of a word into its print.
const wordPrime = 0x01000193

// letterAt returns a letter of the second word in its bits.
func letterAt(letter byte, place int) Beginning {
	return Beginning(letterCodes[letter]) << (11 + 5*place)
}

// ReadBeginning returns how a name begins. Its first words are in one text and the others,
// if any, in another.
func ReadBeginning(first, last string, room []byte) Beginning {
	end, plain := plainWord(first, 0)
	if !plain {
		if end = scanWord(first, 0).next; hasDot(first[:end]) {
			return 0 // Whether a dot binds letters depends on the text after it.
		}
	}
	if end == 0 || end > WordBytesMax || end == len(first) && last == "" {
		return 0
	}
	folded := appendFirst(room[:0], first[:end], plain)
	if len(folded) == 0 || bytes.IndexByte(folded, ' ') >= 0 {
		return 0
	}
	begins, _ := BeginningOf(folded)
	for _, rest := range [...]string{first[end:], last} {
		start := 0
		for start < len(rest) && plainFolds[rest[start]] == ' ' {
			start++
		}
		if start == len(rest) {
			continue
		}
		second := rest[start:]
		end, plain := plainWord(second, 0)
		if plain {
			second = second[:end]
		} else if word := scanWord(second, 0); word.isLettered() && !hasDot(second[:word.next]) {
			second = second[:word.end]
		} else {
			break
		}
		if folded = appendFirst(room[:0], second, plain); len(folded) == 0 {
			break
		}
		for i := 1; i <= beginningLetters && i <= len(folded); i++ {
			begins |= letterAt(folded[i-1], i)
		}
		return begins
	}
	return begins | secondUnread
}

// appendFirst is AppendWords for one word; a plain word takes the short way.
func appendFirst(dst []byte, word string, plain bool) []byte {
	if !plain {
		return AppendWords(dst, word, false)
	}
	for i := range len(word) {
		dst = append(dst, plainFolds[word[i]])
	}
	return dst
}
