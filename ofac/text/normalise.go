package text

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// NormaliseName returns the normal form of a name, which is the key of operators, cleared
// pairs, whitelist names and mixer terms.
//
// Compatibility forms, case, accents, zero-width and combining characters are folded.
// Look-alike letters inside a Latin word become Latin. Words wholly in Cyrillic, Greek,
// Arabic, Hebrew, Georgian or Armenian are transliterated. "&" becomes "and", apostrophes
// vanish, and other punctuation ends a word. Letters bound by dots are one word. A legal
// form in any spelling becomes its short form. Words keep their order and are separated by
// one space. A name without letters or digits is "".
func NormaliseName(name string) string {
	return string(AppendNormalised(nil, name))
}

// AppendNormalised appends the normal form of name (see NormaliseName) to dst.
// It does not allocate when dst has room for twice the form.
func AppendNormalised(dst []byte, name string) []byte {
	var tokens TokenList
	start := len(dst)
	dst = AppendWords(dst, name, false)
	tokens.Split(dst[start:])
	if !tokens.HasForms {
		return dst
	}
	end := len(dst)
	dst = tokens.AppendCanonical(dst, dst[start:end])
	length := copy(dst[start:], dst[end:])
	return dst[:start+length]
}

// AppendWords appends the folded words of name, separated by one space, with legal forms
// still as written. With lookAlike, a word wholly of characters that resemble Latin letters
// is read as those letters instead of being transliterated.
func AppendWords(dst []byte, name string, lookAlike bool) []byte {
	base := len(dst)
	for i := 0; i < len(name); {
		if end, plain := plainWord(name, i); plain {
			if end > i {
				dst = AppendSeparator(dst, base)
				mark := len(dst)
				for ; i < end; i++ {
					if lookAlike && isMiscased(name, i) {
						dst = append(dst, seenAs(name[i]))
						continue
					}
					dst = append(dst, plainFolds[name[i]])
				}
				if lookAlike {
					dst = squeezeLetters(dst, mark)
				}
			}
			i = end + 1 // The character that ended the word is a space in a name.
			continue
		}
		if end, plain := plainNumber(name, i); plain && !lookAlike {
			dst = AppendSeparator(dst, base)
			mark := len(dst)
			for ; i < end; i++ {
				dst = append(dst, plainNumbers[name[i]])
			}
			readDigitsAsLetters(dst[mark:], false)
			i = end + 1
			continue
		}
		word := scanWord(name, i)
		if word.and {
			dst = AppendSeparator(dst, base)
			dst = append(dst, "and"...)
		}
		if word.letters > 0 {
			dst = AppendSeparator(dst, base)
			mark := len(dst)
			dst = appendWord(dst, name[i:word.end], &word, lookAlike)
			if len(dst) == mark && len(dst) > base {
				dst = dst[:len(dst)-1] // the word folded to nothing
			} else if word.digits > 0 {
				readDigitsAsLetters(dst[mark:], lookAlike)
			}
			if lookAlike && mark <= len(dst) {
				dst = squeezeLetters(dst, mark)
			}
		}
		i = word.next
	}
	return dst
}

// plainFolds maps the letters A to Z to their folded letters, and to a blank each ASCII
// character that only ends a word; every other byte to 0.
var plainFolds = foldPlainly()

func foldPlainly() (table [256]byte) {
	for c := range rune(utf8.RuneSelf) {
		switch entry := folds.entryOf(c); {
		case entry.kind == foldSpace:
			table[c] = ' '
		case entry.kind == foldLatin && !isDigit(entry.plain):
			table[c] = entry.plain[0]
		}
	}
	return table
}

// plainWord finds the word that starts at i if it has only the letters A to Z, as most
// words do. Such a word needs no scanWord. It returns false for any other word.
func plainWord(name string, i int) (end int, plain bool) {
	for i < len(name) && plainFolds[name[i]] > ' ' {
		i++
	}
	return i, i == len(name) || plainFolds[name[i]] == ' '
}

// plainNumbers are plainFolds with the digits.
var plainNumbers = func() [256]byte {
	table := plainFolds
	for c := byte('0'); c <= '9'; c++ {
		table[c] = c
	}
	return table
}()

// plainNumber is plainWord for a word that may have digits, as numbers and postal codes do.
func plainNumber(name string, i int) (end int, plain bool) {
	for i < len(name) && plainNumbers[name[i]] > ' ' {
		i++
	}
	return i, i == len(name) || plainNumbers[name[i]] == ' '
}

// IsPlain reports whether a name is ASCII.
func IsPlain(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func AppendSeparator(dst []byte, base int) []byte {
	if len(dst) > base {
		return append(dst, ' ')
	}
	return dst
}

// wordScan is one word of the raw name, found but not yet folded.
type wordScan struct {
	end, next int // end of the word's bytes, start of the rest
	letters   int // characters that are kept
	digits    int
	latin     bool // has Latin letters (digits aside)
	foreign   bool // has letters of a script with a transliteration
	native    bool // has letters that are kept as they are
	scripts   uint16
	alike     bool // every non-Latin letter resembles a Latin one
	plainly   bool // some foreign letter hardly resembles a Latin one
	balance   int  // number of Latin letters minus number of foreign ones
	and       bool // the "word" is an ampersand
}

// scanWord finds the word that starts at i.
func scanWord(name string, i int) wordScan {
	word := wordScan{alike: true}
	segment := 0 // letters since the last dot
	for i < len(name) {
		r, size := decodeRune(name, i)
		entry := folds.entryOf(r)
		switch entry.kind {
		case foldDrop:
			i += size
			continue
		case foldSpace:
			word.end, word.next = i, i+size
			return word
		case foldAnd:
			word.end, word.next = i, i+size
			if word.letters == 0 {
				word.and = true
			} else {
				word.next = i // the next scan finds the ampersand alone
			}
			return word
		case foldDot:
			if segment == 1 && bindsAcronym(name, i+size) {
				segment = 0
				i += size
				continue
			}
			word.end, word.next = i, i+size
			return word
		}
		if !word.addLetter(entry) {
			word.end, word.next = i, i // a change of script ends the word
			return word
		}
		segment++
		i += size
	}
	word.end, word.next = i, i
	return word
}

// addLetter adds a letter to the word. It returns false if the letter begins another word.
func (w *wordScan) addLetter(entry *foldEntry) bool {
	switch {
	case entry.kind == foldLatin && isDigit(entry.plain):
		w.digits++
	case entry.kind == foldLatin:
		if w.native && !w.alike {
			return false
		}
		w.latin = true
		w.balance++
	case entry.kind >= foldCyrillic:
		if w.native && !w.alike {
			return false
		}
		w.foreign = true
		w.scripts |= 1 << entry.kind
		w.alike = w.alike && entry.skeleton != ""
		w.plainly = w.plainly || entry.skeleton == "" || strings.Contains(faintLookAlikes, entry.plain)
		w.balance--
	case entry.skeleton != "":
		w.native = true
		w.scripts |= 1 << foldNative
	default:
		if w.latin || w.foreign {
			return false
		}
		w.native = true
		w.alike = false
	}
	w.letters++
	return true
}

// faintLookAlikes resemble a Latin letter (и u, п n), but readers rarely take them for it.
const faintLookAlikes = "гпишзб"

// foreignMostly reports whether a word is of another script with a few Latin letters by
// mistake, rather than a Latin word with disguised letters.
func (w *wordScan) foreignMostly() bool { return w.plainly && w.balance < 0 }

func isDigit(plain string) bool { return plain != "" && plain[0] <= '9' }

// bindsAcronym reports whether a single letter stands at i, followed by a dot, a boundary
// or the end. It is the next letter of an acronym such as L.L.C.
func bindsAcronym(name string, i int) bool {
	letters := 0
	for i < len(name) {
		r, size := decodeRune(name, i)
		switch folds.entryOf(r).kind {
		case foldDrop:
		case foldSpace, foldDot, foldAnd:
			return letters == 1
		default:
			letters++
			if letters > 1 {
				return false
			}
		}
		i += size
	}
	return letters == 1
}

// appendWord folds the characters of one word.
func appendWord(dst []byte, raw string, word *wordScan, lookAlike bool) []byte {
	mixed := word.latin && (word.foreign || word.native) && !word.foreignMostly()
	several := word.scripts&(word.scripts-1) != 0
	resemble := mixed || several || (lookAlike && word.alike)
	mark := len(dst)
	for i := 0; i < len(raw); {
		r, size := decodeRune(raw, i)
		i += size
		entry := folds.entryOf(r)
		switch {
		case entry.kind == foldKeep:
			dst = composeHangul(dst, mark, r)
		case entry.kind < foldLatin:
		case entry.kind == foldLatin && word.foreignMostly() && word.scripts == 1<<foldCyrillic:
			dst = append(dst, cyrillicReading(entry.plain)...)
		case entry.kind == foldLatin:
			dst = append(dst, entry.plain...)
		case resemble && entry.skeleton != "":
			dst = append(dst, entry.skeleton...)
		case entry.kind == foldArabic:
			dst = appendArabic(dst, mark, entry)
		case entry.kind >= foldCyrillic:
			dst = append(dst, entry.latin...)
		default:
			dst = append(dst, entry.plain...)
		}
	}
	if word.scripts == 1<<foldArabic && !resemble {
		return readArabic(dst, mark)
	}
	return dst
}

// cyrillicReading returns the reading of a Latin letter in a word that is plainly Cyrillic:
// somebody typed it for the Cyrillic letter that it resembles.
func cyrillicReading(plain string) string {
	switch plain {
	case "c":
		return "s"
	case "h":
		return "n"
	case "p":
		return "r"
	case "x":
		return "kh"
	case "y":
		return "u"
	case "b":
		return "v"
	}
	return plain
}

// readDigitsAsLetters reads 0 and 1 in a word of letters as o and l ("MADUR0"). Short words
// and words with many digits keep their digits. With lookAlike, every word with a letter is
// read so, and other digits are read as letters too.
func readDigitsAsLetters(word []byte, lookAlike bool) {
	letters, digits := 0, 0
	for _, c := range word {
		if c >= '0' && c <= '9' {
			digits++
		} else {
			letters++
		}
	}
	if letters == 0 || !lookAlike && (letters < 3 || digits*2 > letters) {
		return
	}
	if lookAlike && len(word) >= disguisedMin {
		readDisguise(word)
		return
	}
	for i, c := range word {
		switch c {
		case '0':
			word[i] = 'o'
		case '1':
			word[i] = 'l'
		}
	}
}

// stretched is a number of equal letters in a row that no name has.
const stretched = 3

// squeezeLetters replaces a stretched letter by a single one ("LAAAZARUS") in the word that
// begins at mark, unless the word has no other letter ("AAA").
func squeezeLetters(dst []byte, mark int) []byte {
	end := mark
	for i := mark; i < len(dst); {
		run := i + 1
		for run < len(dst) && dst[run] == dst[i] {
			run++
		}
		kept := run - i
		if kept >= stretched && kept < len(dst)-mark && dst[i] >= 'a' && dst[i] <= 'z' {
			kept = 1
		}
		end += copy(dst[end:], dst[i:i+kept])
		i = run
	}
	return dst[:end]
}

// disguisedMin is the least length of a word whose digits may be a disguise.
const disguisedMin = 2

// digitLetters maps each digit to the letter it is written for; 1 is i or l.
const digitLetters = "ol\x00eas\x00tbg\x00"

// readDisguise replaces each digit of a word by the letter it is written for.
func readDisguise(word []byte) {
	for i, c := range word {
		if c >= '0' && c <= '9' && c != '1' && digitLetters[c-'0'] != 0 {
			word[i] = digitLetters[c-'0']
		}
	}
	for i, c := range word {
		if c == '1' {
			word[i] = readOne(word, i)
		}
	}
}

// readOne reads a 1 as i where a vowel is likely, else as l.
func readOne(word []byte, i int) byte {
	before, after := i > 0 && isVowel(word[i-1]), i+1 < len(word) && isVowel(word[i+1])
	switch {
	case before || string(word) == "l1c":
		return 'l'
	case !after:
		return 'i'
	case i > 0 && strings.IndexByte("bcfgkps", word[i-1]) >= 0:
		return 'l' // The 1 stands after one of these consonants, as in bl, cl, fl, gl, kl, pl and sl.
	case i > 0:
		return 'i'
	}
	return 'l'
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// isLettered reports whether a word of one script is transliterated letter by letter, so
// that a cut word gives the beginning of the whole word's transliteration.
func (w *wordScan) isLettered() bool {
	return w.foreign && !w.latin && !w.native && w.digits == 0 && w.scripts&(w.scripts-1) == 0 && w.scripts != 1<<foldArabic
}

// hasDot reports whether a text has a dot that may bind letters.
func hasDot(text string) bool {
	for _, r := range text {
		if folds.entryOf(r).kind == foldDot {
			return true
		}
	}
	return false
}

// EqualFolded reports whether a text of ASCII letters folds to folded.
func EqualFolded(text string, folded []byte) bool {
	for i := range folded {
		if c := plainFolds[text[i]]; c != folded[i] {
			return false
		}
	}
	return true
}

// AppendASCII appends the form of a name that older screening systems compare: its ASCII
// letters, digits and spaces, folded, without all other characters. It appends nothing if
// more than two letters are removed or few are left.
func AppendASCII(dst []byte, full string) []byte {
	base := len(dst)
	struck, kept := 0, 0
	for i := 0; i < len(full); {
		if letter := plainFolds[full[i]]; letter > ' ' {
			dst = append(dst, letter)
			kept++
			i++
			continue
		}
		r, size := decodeRune(full, i)
		i += size
		switch {
		case r == ' ':
			if len(dst) > base && dst[len(dst)-1] != ' ' {
				dst = append(dst, ' ')
			}
		case r >= '0' && r <= '9':
			dst = append(dst, byte(r))
			kept++
		case r >= utf8.RuneSelf && folds.entryOf(r).kind != foldDrop && folds.entryOf(r).kind != foldSpace:
			struck++
		}
	}
	dst = dst[:base+len(bytes.TrimRight(dst[base:], " "))]
	if struck > 2 || struck > 0 && kept < 8 {
		return dst[:base]
	}
	return dst
}

// PlainFold returns the letter that a byte of a name folds to, a blank if the byte ends a
// word, and 0 for any other byte.
func PlainFold(c byte) byte { return plainFolds[c] }
