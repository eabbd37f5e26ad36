package text

import (
	"slices"
	"strings"
)

// Some readings are guesses: Arabic and Hebrew are written without most vowels, Hangul is
// romanised by its sounds, and Han and Kana have many readings. A guess may lead to a
// review but never blocks: a query in such a script blocks only if it is the listed name in
// its own script.

// isLossy reports whether a character belongs to a script whose transliteration is a guess.
func isLossy(r rune) bool {
	switch {
	case r < 0x0590:
		return false
	case r <= 0x08FF, r >= 0xFB1D && r <= 0xFDFF, r >= 0xFE70 && r <= 0xFEFC: // The blocks from Hebrew to Arabic, and the presentation forms of both scripts.
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

// IsForeign reports whether a name has letters of a transliterated script and no Latin
// letters. A Latin letter among them is a disguise, so such a name may still block.
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

// Native is a name in its own script.
type Native struct {
	words  []string // Sorted.
	joined string   // In the written order, without the spaces, which do not matter in East Asia; elsewhere "".
}

// Equals reports whether two names have the same words, in any order.
func (n *Native) Equals(other *Native) bool {
	return slices.Equal(n.words, other.words) || n.joined != "" && n.joined == other.joined
}

// NativeOf returns a name in its own script. It folds variants of letters and marks but
// transliterates nothing.
func NativeOf(name string) *Native {
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
	native := &Native{}
	if slices.ContainsFunc([]rune(name), isUnspaced) {
		native.joined = strings.Join(words, "")
	}
	slices.Sort(words)
	native.words = words
	return native
}

// arabicVariants maps letters that keyboards and languages exchange to one of them.
var arabicVariants = strings.NewReplacer("أ", "ا", "إ", "ا", "آ", "ا", "ٱ", "ا", "ى", "ي", "ی", "ي", "ک", "ك", "ة", "ه", "ۀ", "ه", "ؤ", "و", "ئ", "ي")

// isUnspaced reports whether a character is of Han, Kana or Hangul, where spaces do not
// matter: 김정은 is 김 정은.
func isUnspaced(r rune) bool { return isLossy(r) && r >= 0x1100 && r < 0xFB00 }
