package text

import (
	"slices"
	"strings"
)

// Arabic and Hebrew are written without most vowels, Hangul is read aloud, Han
// and Kana have many readings: what is read so is a guess. A guess may be worth an
// officer's look, but nobody is blocked by it: such a query blocks only where it is
// the listed name in its own script.

// isLossy reports whether a character belongs to a script whose transliteration
// loses something.
func isLossy(r rune) bool {
	switch {
	case r < 0x0590:
		return false
	case r <= 0x08FF, r >= 0xFB1D && r <= 0xFDFF, r >= 0xFE70 && r <= 0xFEFC: // Hebrew to Arabic, and their presentation forms
		return true
	case r >= 0x1100 && r <= 0x11FF, r >= 0xA960 && r <= 0xA97F, r >= 0xAC00 && r <= 0xD7FF: // Hangul
		return true
	case r >= 0x2E80 && r <= 0x2FDF, r >= 0x3005 && r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF: // Han, Kana
		return true
	}
	return r >= 0xFF66 && r <= 0xFFDC || r >= 0x20000 && r <= 0x3FFFF
}

func HasLossy(name string) bool {
	for _, r := range name {
		if isLossy(r) {
			return true
		}
	}
	return false
}

// IsForeign reports whether a name is written wholly in letters that are
// transliterated. A Latin letter among them is a disguise, and spares nobody.
func IsForeign(name string) bool {
	foreign := false
	for i := 0; i < len(name); {
		r, size := decodeRune(name, i)
		entry := folds.entryOf(r)
		if entry.kind == foldLatin && !isDigit(entry.plain) {
			return false
		}
		foreign = foreign || entry.kind >= foldCyrillic
		i += size
	}
	return foreign
}

// NativeWords are the words of a name in its own letters, sorted: variants of one
// letter and marks are folded, nothing is transliterated. Spaces are no part of the
// names of East Asia.
func NativeWords(name string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	composed := make([]byte, 0, 64)
	for _, r := range name {
		switch entry := folds.entryOf(r); entry.kind {
		case foldDrop:
		case foldSpace, foldDot, foldAnd:
			end()
		case foldKeep:
			composed = composeHangul(append(composed[:0], word.String()...), 0, r)
			word.Reset()
			word.Write(composed)
		default:
			letters := entry.plain
			if letters == "" {
				letters = string(r)
			}
			word.WriteString(arabicVariants.Replace(letters))
		}
	}
	end()
	slices.Sort(words)
	if !slices.ContainsFunc([]rune(name), isUnspaced) {
		return words
	}
	return []string{strings.Join(words, "")}
}

// arabicVariants are letters that keyboards and languages exchange.
var arabicVariants = strings.NewReplacer("أ", "ا", "إ", "ا", "آ", "ا", "ٱ", "ا", "ى", "ي", "ی", "ي", "ک", "ك", "ة", "ه", "ۀ", "ه", "ؤ", "و", "ئ", "ي")

// isUnspaced holds for Han, Kana and Hangul: 김정은 is 김 정은.
func isUnspaced(r rune) bool { return isLossy(r) && r >= 0x1100 && r < 0xFB00 }
