package text

import "unicode/utf8"

// Some scripts put no blanks between words, so that a whole sentence is one word of a name.

// eastAsia is the first character of Han, Kana and Hangul.
const eastAsia = 0x2E80

// isUnsegmented reports whether a character belongs to a script without blanks: Han, Kana,
// Hangul, Thai, Lao, Tibetan, Myanmar, Khmer, and those of their neighbours.
func isUnsegmented(r rune) bool {
	return r >= eastAsia && r != utf8.RuneError || r >= 0x0E00 && r < 0x10A0 || r >= 0x1780 && r < 0x1800 || r >= 0x1950 && r < 0x1AB0
}

// IsUnsegmented reports whether a folded word has more than most characters in a row of
// scripts without blanks.
func IsUnsegmented(word []byte, most int) bool {
	if len(word) <= most {
		return false
	}
	run := 0
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if i += size; !isUnsegmented(r) {
			run = 0
		} else if run++; run > most {
			return true
		}
	}
	return false
}

// NativeLetters counts the characters of a word of Han, Kana or Hangul. It returns 0 for
// any other word.
func NativeLetters(word []byte) int {
	count := 0
	for i := 0; i < len(word); count++ {
		r, size := utf8.DecodeRune(word[i:])
		if r < eastAsia || r == utf8.RuneError {
			return 0
		}
		i += size
	}
	return count
}

// CutLetters returns the first characters of a word.
func CutLetters(word []byte, most int) []byte {
	at := 0
	for ; most > 0 && at < len(word); most-- {
		_, size := utf8.DecodeRune(word[at:])
		at += size
	}
	return word[:at]
}
