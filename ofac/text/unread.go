package text

import (
	"unicode"
	"unicode/utf8"
)

// Letters that no table reads say nothing to the matcher, whoever they name. A name that has one was
// not compared, and whoever asked must know it.

// UnreadWord is a word of a name with letters that cannot be compared, as written.
type UnreadWord struct {
	Word, Script string
}

// HasUnread reports whether a name has a letter that is neither read in Latin letters nor compared in
// its own script. Digits, marks, emoji and punctuation are no letters.
func HasUnread(name string) bool {
	for i := 0; i < len(name); {
		if name[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := decodeRune(name, i)
		if isUnread(r) {
			return true
		}
		i += size
	}
	return false
}

// UnreadWords returns the words of a name that HasUnread is about, at most so many.
func UnreadWords(name string, most int) (words []UnreadWord) {
	start, script := 0, ""
	end := func(at int) {
		if script != "" && len(words) < most {
			words = append(words, UnreadWord{name[start:at], script})
		}
		script = ""
	}
	for i := 0; i < len(name); {
		r, size := decodeRune(name, i)
		if folds.entryOf(r).kind == foldSpace {
			end(i)
			start = i + size
		} else if script == "" && isUnread(r) {
			script = scriptOf(r)
		}
		i += size
	}
	end(len(name))
	return words
}

// isUnread reports whether a character is a letter that no table reads.
func isUnread(r rune) bool {
	if kind := folds.entryOf(r).kind; kind != foldKeep && kind != foldNative {
		return false
	}
	switch {
	case r < utf8.RuneSelf, isModifier(r):
		return false
	case isHanLetter(r):
		return !hanIsRead(r)
	case isKanaOrHangul(r):
		return false
	}
	// The table has no letters beyond it, so that a letter of a later Unicode ends a word there.
	return unicode.IsLetter(r)
}

// isModifier reports whether a letter is one only by name: a tone, a stress, a mark of length.
func isModifier(r rune) bool {
	return r >= 0x02B0 && r <= 0x02FF || r >= 0xA700 && r <= 0xA71F || r == 0xA788
}

func isHanLetter(r rune) bool {
	return r >= 0x2E80 && r <= 0x2FDF || r >= 0x3400 && r <= 0x4DBF || r >= 0x4E00 && r <= 0x9FFF || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x3FFFF
}

// hanIsRead reports whether a Han character, or the form to which it is folded, has a reading.
func hanIsRead(r rune) bool {
	if plain := folds.entryOf(r).plain; plain != "" {
		r, _ = utf8.DecodeRuneInString(plain)
	}
	return hanReadings.of(r) != ""
}

func isKanaOrHangul(r rune) bool {
	switch {
	case r >= 0x1100 && r <= 0x11FF, r >= 0xA960 && r <= 0xA97F, r >= 0xAC00 && r <= 0xD7FF, r >= 0x3130 && r <= 0x318F, r >= 0xFFA0 && r <= 0xFFDC: // Hangul
		return true
	}
	return r >= 0x3000 && r <= 0x30FF || r >= 0x31F0 && r <= 0x31FF || r >= 0xFF66 && r <= 0xFF9F || r >= 0x1AFF0 && r <= 0x1B16F // Kana
}

// scripts are the scripts that people are likely to meet, for their names.
var scripts = [...]struct {
	name  string
	table *unicode.RangeTable
}{
	{"Thai", unicode.Thai}, {"Lao", unicode.Lao}, {"Khmer", unicode.Khmer}, {"Myanmar", unicode.Myanmar}, {"Devanagari", unicode.Devanagari},
	{"Bengali", unicode.Bengali}, {"Gurmukhi", unicode.Gurmukhi}, {"Gujarati", unicode.Gujarati}, {"Odia", unicode.Oriya}, {"Tamil", unicode.Tamil},
	{"Telugu", unicode.Telugu}, {"Kannada", unicode.Kannada}, {"Malayalam", unicode.Malayalam}, {"Sinhala", unicode.Sinhala},
	{"Tibetan", unicode.Tibetan}, {"Ethiopic", unicode.Ethiopic}, {"Mongolian", unicode.Mongolian}, {"Thaana", unicode.Thaana},
	{"Syriac", unicode.Syriac}, {"N'Ko", unicode.Nko}, {"Cherokee", unicode.Cherokee}, {"Canadian Aboriginal", unicode.Canadian_Aboriginal},
	{"Tifinagh", unicode.Tifinagh}, {"Bopomofo", unicode.Bopomofo}, {"Yi", unicode.Yi}, {"Javanese", unicode.Javanese}, {"Han", unicode.Han},
	{"Latin", unicode.Latin}, {"Cyrillic", unicode.Cyrillic}, {"Greek", unicode.Greek}, {"Arabic", unicode.Arabic}, {"Hebrew", unicode.Hebrew},
	{"Georgian", unicode.Georgian}, {"Armenian", unicode.Armenian},
}

func scriptOf(r rune) string {
	for i := range scripts {
		if unicode.Is(scripts[i].table, r) {
			return scripts[i].name
		}
	}
	return "another script"
}

// HasLetters reports whether a name has a letter or a digit, so that there is something to compare.
func HasLetters(name string) bool {
	for i := 0; i < len(name); {
		r, size := decodeRune(name, i)
		if kind := folds.entryOf(r).kind; kind == foldKeep || kind > foldAnd {
			return true
		}
		i += size
	}
	return false
}
