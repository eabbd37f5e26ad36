package ofac

import (
	"strings"
	"unicode/utf8"
)

// Hangul is kept as it is: a listed Korean name is found in its own letters.
// For the possible matcher a name in Hangul is also read aloud, syllable by
// syllable, in the romanisation of the South: 김정은 is "gim jeong eun", and the
// syllable tables find KIM, Jong Un.

// Where the letters and the syllables stand (Unicode, Hangul Syllable Composition).
const (
	hangulFirst, hangulLast = 0xAC00, 0xD7A3
	jamoOnset, jamoVowel    = 0x1100, 0x1161
	jamoCoda                = 0x11A7 // no coda
	onsets, vowels, codas   = 19, 21, 28
)

var (
	hangulOnsets = strings.Split("g kk n d tt r m b pp s ss - j jj ch k t p h", " ")
	hangulVowels = strings.Split("a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i", " ")
	hangulCodas  = strings.Split("- k k k n n n t l k m l l l p l m p p t t ng t t k t p t", " ")
)

// spokenSyllables is the longest word of Hangul that is read aloud: longer ones
// are names of companies, which are translated rather than romanised.
const spokenSyllables = 4

// composeHangul appends a rune; a vowel or coda letter joins the onset or
// syllable before it, so that decomposed Hangul is the same name.
func composeHangul(dst []byte, mark int, r rune) []byte {
	if r < jamoVowel || r >= jamoCoda+codas || len(dst) == mark {
		return utf8.AppendRune(dst, r)
	}
	last, size := utf8.DecodeLastRune(dst[mark:])
	switch {
	case r < jamoVowel+vowels && last >= jamoOnset && last < jamoOnset+onsets:
		r = hangulFirst + ((last-jamoOnset)*vowels+r-jamoVowel)*codas
	case r > jamoCoda && last >= hangulFirst && last <= hangulLast && (last-hangulFirst)%codas == 0:
		r = last + r - jamoCoda
	default:
		size = 0
	}
	return utf8.AppendRune(dst[:len(dst)-size], r)
}

// appendSpoken appends the words of a folded name with Hangul read aloud;
// false: there is none.
func appendSpoken(dst, words []byte) ([]byte, bool) {
	spoken := false
	if !hasHangul(words) {
		return dst, false
	}
	for start := 0; start < len(words); {
		end := start
		syllables, other := 0, 0
		for end < len(words) && words[end] != ' ' {
			r, size := utf8.DecodeRune(words[end:])
			if r >= hangulFirst && r <= hangulLast {
				syllables++
			} else {
				other++
			}
			end += size
		}
		if other == 0 && syllables > 0 && syllables <= spokenSyllables {
			dst, spoken = speak(dst, words[start:end]), true
		} else {
			dst = append(appendSeparator(dst, 0), words[start:end]...)
		}
		start = end + 1
	}
	return dst, spoken
}

// hasHangul holds for words that may have a Hangul syllable, by their lead bytes.
func hasHangul(words []byte) bool {
	for _, c := range words {
		if c >= 0xEA && c <= 0xED {
			return true
		}
	}
	return false
}

// speak appends the syllables of a Hangul word as words of their own.
func speak(dst, word []byte) []byte {
	for len(word) > 0 {
		r, size := utf8.DecodeRune(word)
		word = word[size:]
		place := int(r - hangulFirst)
		onset, vowel, coda := hangulOnsets[place/(vowels*codas)], hangulVowels[place/codas%vowels], hangulCodas[place%codas]
		dst = appendSeparator(dst, 0)
		mark := len(dst)
		if onset != "-" {
			dst = append(dst, onset...)
		}
		dst = append(dst, vowel...)
		if coda != "-" {
			dst = append(dst, coda...)
		}
		if string(dst[mark:]) == "i" {
			dst = append(dst[:mark], "yi"...) // the surname Lee
		}
	}
	return dst
}
