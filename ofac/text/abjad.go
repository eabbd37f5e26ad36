package text

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Arabic, Persian and Hebrew are written with abjads, alphabets of consonants: long vowels may
// stand, short ones do not. So a name in such letters is read once more for the possible matcher:
// words that everybody translates or spells alike are replaced by their Latin form (see
// abjadwords.go), and any other word becomes an abjad word. It has a sign for each letter, a capital
// that may be followed by a small letter. Nothing else in a folded name has capitals. An abjad word is
// looked up by its consonants and compared with Latin words sign by sign.

// Signs with a small letter are those of Th (ث, ת), Dh (ذ, ض, ظ), Kh (כ), Sh, Ch, Gh (غ, گ), Zh (ژ, ז) and
// Ts (צ). X is kh, A a long a, E ain or hamza, W and Y are consonants or vowels, I is ى, O is ة, V and P are
// the Hebrew letters for b or v, p or f.
var abjadSigns = map[rune]string{
	'ء': "E", 'آ': "A", 'أ': "A", 'إ': "A", 'ٱ': "A", 'ا': "A", 'ؤ': "W", 'ئ': "Y", 'ب': "B", 'پ': "B", 'ة': "O", 'ت': "T", 'ٹ': "T", 'ټ': "T", 'ث': "Th",
	'ج': "J", 'چ': "Ch", 'ح': "H", 'خ': "X", 'د': "D", 'ڈ': "D", 'ډ': "D", 'ذ': "Dh", 'ر': "R", 'ڑ': "R", 'ړ': "R", 'ڕ': "R", 'ز': "Z", 'ژ': "Zh", 'ږ': "Gh",
	'س': "S", 'ش': "Sh", 'ښ': "Sh", 'ص': "S", 'ض': "Dh", 'ط': "T", 'ظ': "Dh", 'ع': "E", 'غ': "Gh", 'ف': "F", 'ڤ': "V", 'ق': "Q", 'ك': "K", 'ک': "K", 'گ': "Gh",
	'ل': "L", 'ڵ': "L", 'م': "M", 'ن': "N", 'ں': "N", 'ڼ': "N", 'ه': "H", 'ھ': "H", 'ہ': "H", 'ۀ': "H", 'و': "W", 'ۆ': "W", 'ى': "I", 'ي': "Y", 'ی': "Y", 'ۍ': "Y", 'ێ': "Y", 'ې': "Y",

	'א': "A", 'ב': "V", 'ג': "J", 'ד': "D", 'ה': "H", 'ו': "W", 'ז': "Zh", 'ח': "X", 'ט': "T", 'י': "Y", 'ך': "Kh", 'כ': "Kh", 'ל': "L", 'ם': "M", 'מ': "M",
	'ן': "N", 'נ': "N", 'ס': "S", 'ע': "E", 'ף': "P", 'פ': "P", 'ץ': "Ts", 'צ': "Ts", 'ק': "Q", 'ר': "R", 'ש': "Sh", 'ת': "Th",
}

// JoinsAbjad tells whether a Latin word that was read in an abjad is often written as one with its
// neighbours. In capitals it is an abjad word, too.
func JoinsAbjad(word []byte) bool {
	switch string(word) {
	case "abdal", "aldin", "abu", "bin":
		return true
	}
	return IsArticle(string(word))
}

// IsAbjad tells whether a word of a folded name is an abjad word.
func IsAbjad(word []byte) bool { return isCapital(word[0]) }

// AppendAbjad appends the words of a name that has a word in an abjad. It returns false for any other name.
// With translate, words that are translated in names of companies are; otherwise they are read by sound too,
// as they may be names, and it returns false if there are none.
func AppendAbjad(dst []byte, name string, translate bool) ([]byte, bool) {
	if !LacksVowels(name) {
		return dst, false
	}
	base, read := len(dst), false
	for i := 0; i < len(name); {
		word := scanWord(name, i)
		raw := name[i:word.end]
		i = word.next
		switch {
		case word.and:
			dst = append(AppendSeparator(dst, base), "and"...)
		case word.letters == 0:
		case word.scripts != 1<<foldArabic && word.scripts != 1<<foldHebrew || word.latin || word.native || word.digits > 0:
			mark := len(dst)
			if dst = appendWord(AppendSeparator(dst, base), raw, &word, false); len(dst) <= mark+1 {
				dst = dst[:mark]
			}
		default:
			var translated bool
			for bound := true; bound; read = read || translate || translated {
				var part string
				part, raw, bound = cutAbjad(raw)
				dst, translated = appendAbjadWord(dst, base, part, translate)
			}
		}
	}
	if short, ok := bytes.CutSuffix(dst, []byte(limitedHebrew)); ok && len(short) > base {
		dst = append(short, " ltd"...)
	}
	return dst, read
}

// halfSpace stands between the parts of a Persian word that are not joined.
const halfSpace = "\u200c"

// cutAbjad cuts a word at its first half space, unless the whole is a known word.
func cutAbjad(raw string) (part, rest string, bound bool) {
	if part, rest, bound = strings.Cut(raw, halfSpace); !bound {
		return part, rest, bound
	}
	var room [2 * WordBytesMax]byte
	if _, known := abjadWords[string(appendSigns(room[:0], raw))]; known {
		return raw, "", false
	}
	return part, rest, bound
}

// limitedHebrew is how the abbreviation of a limited company is read, which has a quotation mark.
const limitedHebrew = " VE m"

// appendAbjadWord appends the reading of one word, and reports whether it could be translated. Articles and
// prefixes are words of their own.
func appendAbjadWord(dst []byte, base int, raw string, translate bool) (read []byte, translated bool) {
	var room [2 * WordBytesMax]byte
	signs := appendSigns(room[:0], raw)
	if len(signs) == 0 {
		return dst, false
	}
	dst = AppendSeparator(dst, base)
	for i := range abjadPrefixes {
		prefix := &abjadPrefixes[i]
		known, ok := abjadWords[string(signs[min(len(prefix.signs), len(signs)):])]
		if !ok || !bytes.HasPrefix(signs, []byte(prefix.signs)) {
			continue
		}
		if translated = known.translated; translated && !translate {
			break
		}
		if prefix.and {
			dst = append(dst, "and "...)
		}
		if prefix.article && !known.translated {
			dst = append(appendArticle(dst), ' ')
		}
		if known.latin == "al" {
			return appendArticle(dst), false
		}
		return append(dst, known.latin...), translated
	}
	if rest, ok := bytes.CutPrefix(signs, []byte("EBD")); ok && len(rest) >= len("AL")+prefixedMin && string(rest[:2]) == "AL" {
		dst, signs = append(dst, "abd "...), rest
	}
	if len(signs) >= len("AL")+prefixedMin && string(signs[:2]) == "AL" {
		return append(append(appendArticle(dst), ' '), signs[2:]...), translated
	}
	switch {
	case string(signs) == "W": // The Arabic and Persian word alone.
		return append(dst, "and"...), translated
	case len(signs) == 1: // An initial.
		return append(dst, lowerByte(signs[0])), translated
	}
	return append(dst, signs...), translated
}

// appendArticle appends the article. It makes one word with abd before it, as lists write Abdul Rahman.
func appendArticle(dst []byte) []byte {
	if before, ok := bytes.CutSuffix(dst, []byte("abd ")); ok && (len(before) == 0 || before[len(before)-1] == ' ') {
		dst = dst[:len(dst)-1]
	}
	return append(dst, "al"...)
}

// prefixedMin is the least number of signs behind a prefix.
const prefixedMin = 2

// abjadPrefixes are written together with the word: and, the, for, in, of.
var abjadPrefixes = [...]struct {
	signs        string
	and, article bool
}{
	{"", false, false}, {"AL", false, true}, {"WAL", true, true}, {"LL", false, false}, {"WLL", true, false}, {"BAL", false, false}, {"W", true, false}, {"L", false, false}, {"B", false, false}, {"H", false, false}, {"V", false, false}, {"LH", false, false}, {"WH", true, false},
}

// appendSigns appends the signs of a word, as many as there is room for.
func appendSigns(dst []byte, raw string) []byte {
	for i := 0; i < len(raw) && len(dst)+1 < cap(dst) && len(dst)+1 < WordBytesMax; {
		r, size := decodeRune(raw, i)
		i += size
		if plain := folds.entryOf(r).plain; plain != "" {
			r, _ = utf8.DecodeRuneInString(plain) // Presentation forms.
		}
		dst = append(dst, abjadSigns[r]...)
	}
	return dst
}

// The sounds of a Latin word, each a byte: consonants in small letters, of which c is ch, x sh, j also zh,
// k also q and g, h also kh, C is ts, D dh, T th and S a c before e and i; and the vowels a, e, i, o, u with
// A, I, U for long ones. y and w are themselves.

// soundsMax is the greatest number of sounds of a word that is compared.
const soundsMax = WordBytesMax + 2

// appendSounds appends the sounds of a Latin word. Doubled consonants and a mute h at the end are left out.
func appendSounds(dst, word []byte) []byte {
	base := len(dst)
	for i := 0; i < len(word) && len(dst)-base < WordBytesMax; {
		sound, size := abjadSoundAt(word, i)
		i += size
		if sound == 'h' && i == len(word) && len(dst) > base && size == 1 && isVowelSound(dst[len(dst)-1]) {
			continue
		}
		if len(dst) > base && dst[len(dst)-1] == sound && !isVowelSound(sound) {
			continue
		}
		if dst = append(dst, sound); word[i-1] == 'x' {
			dst = append(dst, 's')
		}
	}
	return dst
}

// latinPairs are two letters that make one sound.
var latinPairs = map[[2]byte]byte{
	{'k', 'h'}: 'h', {'s', 'h'}: 'x', {'t', 'h'}: 'T', {'d', 'h'}: 'D', {'g', 'h'}: 'k', {'z', 'h'}: 'j', {'c', 'h'}: 'c', {'p', 'h'}: 'f', {'c', 'k'}: 'k', {'d', 'j'}: 'j',
	{'t', 's'}: 'C', {'t', 'z'}: 'C', {'a', 'a'}: 'A', {'e', 'e'}: 'I', {'o', 'o'}: 'U', {'o', 'u'}: 'U',
}

// abjadSoundAt returns the sound of the letters that begin at i.
func abjadSoundAt(word []byte, i int) (sound byte, size int) {
	c, next, third := word[i], byte(0), byte(0)
	if i+1 < len(word) {
		next = word[i+1]
	}
	if i+2 < len(word) {
		third = word[i+2]
	}
	switch {
	case c == 's' && next == 'c' && third == 'h':
		return 'x', 3
	case c == 't' && next == 'c' && third == 'h':
		return 'c', 3
	case c == 'd' && next == 'z' && third == 'h':
		return 'j', 3
	}
	if sound, ok := latinPairs[[2]byte{c, next}]; ok {
		return sound, 2
	}
	switch c {
	case 'q', 'g', 'x':
		return 'k', 1
	case 'p':
		return 'b', 1
	case 'c':
		if next == 'e' || next == 'i' || next == 'y' {
			return 'S', 1
		}
		return 'k', 1
	}
	return c, 1
}

func isVowelSound(c byte) bool { return strings.IndexByte("aeiouAIU", c) >= 0 }

// A key is the consonants of a word as classes. A word that begins with a vowel, a y or a w has "_" first,
// as abjads then write a letter. Sounds that may be two of them, and letters that are one of two sounds, give
// several keys.
const (
	abjadKeysMax  = 16 // Of a word that is sought.
	abjadKeyBytes = 16 // Further consonants do not count.
)

// abjadKey is a key while it is made.
type abjadKey struct {
	classes [abjadKeyBytes]byte
	length  int
}

func (k *abjadKey) add(class byte) {
	if k.length < abjadKeyBytes && class != 0 {
		k.classes[k.length] = class
		k.length++
	}
}

// AppendListedKeys appends the hashes of the keys of a Latin word: one, or two if a sound of it may be two.
func AppendListedKeys(dst []uint64, word []byte) []uint64 {
	var room [soundsMax]byte
	sounds := appendSounds(room[:0], word)
	var keys [2]abjadKey
	for i, sound := range sounds {
		first, second := sound, sound
		switch sound {
		case 'a', 'e', 'i', 'o', 'u', 'A', 'I', 'U', 'y', 'w':
			if first, second = 0, 0; i == 0 {
				first, second = '_', '_'
			}
		case 'v':
			if first, second = 'f', 0; i == 0 {
				second = '_'
			}
		case 'c':
			second = 'x'
		case 'C':
			first, second = 's', 's'
		case 'D':
			first, second = 'd', 'd'
		case 'T':
			first, second = 't', 't'
		case 'S':
			first, second = 's', 'k'
		}
		keys[0].add(first)
		keys[1].add(second)
	}
	for i := range keys {
		if i == 0 || keys[i] != keys[0] {
			dst = keys[i].appendHash(dst)
		}
	}
	return dst
}

// appendHash appends the hash of a key unless it is empty.
func (k *abjadKey) appendHash(dst []uint64) []uint64 {
	if k.length == 0 {
		return dst
	}
	return append(dst, HashForm(hashAbjad, k.classes[:k.length]))
}

// AppendSoughtKeys appends the hashes of the keys of an abjad word, at most abjadKeysMax.
func AppendSoughtKeys(dst []uint64, word []byte) []uint64 {
	var keys [abjadKeysMax]abjadKey
	count := 1
	for i := 0; i < len(word); {
		size := signSize(word, i)
		classes := soughtClasses(word, i, size)
		if classes == "" {
			i += size
			continue
		}
		made := count
		for _, class := range []byte(classes[1:]) { // Each further class doubles the keys.
			for k := 0; k < made && count < abjadKeysMax; k++ {
				keys[count] = keys[k]
				keys[count].addClass(class)
				count++
			}
		}
		for k := range made {
			keys[k].addClass(classes[0])
		}
		i += size
	}
	for k := range keys[:count] {
		dst = keys[k].appendHash(dst)
	}
	return dst
}

// addClass adds a class; "-" is none, and a capital replaces the class before.
func (k *abjadKey) addClass(class byte) {
	switch {
	case class == '-':
	case isCapital(class):
		k.length = max(k.length-1, 0)
		k.add(class + 'a' - 'A')
	default:
		k.add(class)
	}
}

func signSize(word []byte, i int) int {
	if i+1 < len(word) && isSmall(word[i+1]) {
		return 2
	}
	return 1
}

// soughtClasses returns the classes that the sign at i may be: see addClass.
func soughtClasses(word []byte, i, size int) string {
	var before byte // The sign before, if it has one letter.
	if i > 0 {
		before = word[i-1]
	}
	if size == 2 {
		switch word[i] {
		case 'T':
			if word[i+1] == 's' {
				return "scz"
			}
			return "ts"
		case 'D':
			return "dz"
		case 'K':
			return "hk"
		case 'S':
			if before == 'T' {
				return "xC"
			}
			return "xs"
		case 'C':
			return "cx"
		case 'G':
			return "k"
		}
		return "jz" // Zh
	}
	switch c := word[i]; c {
	case 'A', 'E', 'W', 'Y', 'I', 'U':
		if i == 0 {
			return "_"
		}
		return ""
	case 'O':
		return "-t"
	case 'H':
		if joined := joinedByH(before); joined != "" {
			return joined
		}
		if i+1 == len(word) {
			return "-h"
		}
		return "h"
	case 'J':
		return "jk"
	case 'P':
		return "bf"
	case 'V':
		if i == 0 {
			return "bf_"
		}
		return "bf-"
	case 'X':
		return "h"
	case 'Q', 'K', 'G':
		return "k"
	case 'S':
		if before == 'T' {
			return "sS"
		}
		return "s"
	case 'L':
		if i > 2 && before == 'A' && (word[i-2] == 'D' && isSun(word, i+1) || isDin(word[i+1:])) {
			return "l-" // Abd al-Rahman, Abdurrahman; Nur al-Din, Nuruddin
		}
		return "l"
	default:
		return oneByte[lowerByte(c)]
	}
}

// joinedByH returns the classes of an h after a sign with which Latin letters join it: Fathi is read as
// if th were one sound.
func joinedByH(before byte) string {
	switch before {
	case 'S':
		return "hX"
	case 'T', 'D':
		return "h-"
	case 'Z':
		return "hJ"
	case 'K', 'Q':
		return "hH"
	case 'G':
		return "h-"
	}
	return ""
}

// isDin reports whether the signs behind the article are those of din, which ends many names.
func isDin(rest []byte) bool { return len(rest) == 3 && rest[0] == 'D' && rest[2] == 'N' }

// isSun reports whether the sign at i is one to which the l of the article is assimilated.
func isSun(word []byte, i int) bool {
	return i < len(word) && strings.IndexByte("TDRZSN", word[i]) >= 0
}
