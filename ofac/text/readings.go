package text

import (
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// A name is read as written, and a second time where it may have been meant otherwise:
// Hangul romanised, initials apart, look-alike letters replaced, escapes decoded.

// Initials bound by dots are one word, like the letters of an acronym ("B.V.", "S.A."). But they may be a
// person's: papers write DERIPASKA O.V., Дерипаска О.В., AL-RAWI M.T.Z. So a name with such a word is read
// a second time with the initials apart.

// initialsMost is how many initials a person has at most.
const initialsMost = 5

// nextInitials finds the first word at or behind from that is made of two initials and more, each but the
// last with a dot behind it. It returns false if there is none.
func nextInitials(name string, from int) (start, end int, ok bool) {
	letters, dots := 0, 0 // Letters since the last dot, and dots of this word behind a single letter.
	start = from
	for i := from; i < len(name); {
		r, size := decodeRune(name, i)
		switch folds.entryOf(r).kind {
		case foldDrop:
		case foldSpace, foldAnd:
			if initials := dots + letters; letters <= 1 && dots > 0 && initials > 1 && initials <= initialsMost {
				return start, i, true
			}
			start, letters, dots = i+size, 0, 0
		case foldDot:
			if dots++; letters != 1 {
				dots = initialsMost + 1 // These are not initials, as in "St.Paul" and "a.b..c".
			}
			letters = 0
		default:
			letters++
		}
		i += size
	}
	initials := dots + letters
	return start, len(name), letters <= 1 && dots > 0 && initials > 1 && initials <= initialsMost
}

// AppendInitialsApart appends the folded words of a name with dot-bound initials as separate words. It
// returns false when there are no such initials.
func AppendInitialsApart(dst []byte, name string) ([]byte, bool) {
	done, found := 0, false
	for {
		start, end, ok := nextInitials(name, done)
		if !ok {
			break
		}
		found = true
		dst = appendApart(dst, name[done:start])
		for start < end {
			dot := strings.IndexByte(name[start:end], '.')
			if dot < 0 {
				dot = end - start - 1
			}
			dst = appendApart(dst, name[start:start+dot+1])
			start += dot + 1
		}
		done = end
	}
	if found {
		dst = appendApart(dst, name[done:])
	}
	return dst, found
}

// appendApart appends the folded words of a text behind a blank.
func appendApart(dst []byte, part string) []byte {
	before := len(dst)
	dst = AppendSeparator(dst, 0)
	mark := len(dst)
	if dst = AppendWords(dst, part, false); len(dst) == mark {
		return dst[:before]
	}
	return dst
}

// A handle joins its words without spaces, each with a capital: NicolasMaduro.

// handlePartMin is the least number of letters of a word in a handle: McDonald is one word.
const handlePartMin = 4

// AppendHandleApart appends the folded words of a handle as separate words. It returns nil
// for a name that is not just a handle.
func AppendHandleApart(dst []byte, name string) []byte {
	start, parts := 0, 0
	for i := range len(name) {
		if !isCapital(name[i]) && !isSmall(name[i]) {
			return nil
		}
		if i > 0 && isSmall(name[i-1]) && isCapital(name[i]) {
			if i-start < handlePartMin {
				return nil
			}
			dst = append(AppendWords(dst, name[start:i], false), ' ')
			start, parts = i, parts+1
		}
	}
	if parts == 0 || len(name)-start < handlePartMin {
		return nil
	}
	return AppendWords(dst, name[start:], false)
}

// In most typefaces an l looks like an I: PUTlN, VIadimir. The second reading of a name
// replaces one by the other where the neighbouring letters are of the other case.

// isMiscased reports whether the letter at i is an l among capitals, or an I after the
// first letter of a word in small letters.
func isMiscased(name string, i int) bool {
	at := func(i int) byte {
		if i < 0 || i >= len(name) {
			return ' '
		}
		return name[i]
	}
	switch name[i] {
	case 'l':
		before, after := isCapital(at(i-1)), isCapital(at(i+1))
		return before && after || before && !isSmall(at(i+1)) && isCapital(at(i-2)) || after && !isSmall(at(i-1)) && isCapital(at(i+2))
	case 'I':
		return isSmall(at(i-1)) || isCapital(at(i-1)) && isSmall(at(i+1))
	}
	return false
}

// seenAs returns the letter that replaces a miscased one.
func seenAs(c byte) byte {
	if c == 'l' {
		return 'i'
	}
	return 'l'
}

func isCapital(c byte) bool { return c >= 'A' && c <= 'Z' }

func isSmall(c byte) bool { return c >= 'a' && c <= 'z' }

// Cameras and tired readers confuse printed letters: rn and m, cl and d, vv and w, l and i. So a
// word that is not listed is looked up as each of the words that it may have been in print.

// Forms, pages, mails and files change names ("Nicolas%20Maduro", "Nicolas&nbsp;Maduro",
// "Nicol\\u00e1s", "Nicol=C3=A1s", "NicolÃ¡s", "Nicol?s"), sometimes twice. Such a name is
// read as written and as meant.

// unescapeTimes is how often a name is unescaped.
const unescapeTimes = 2

// escapeMarks are the bytes that something to unescape can begin with. A name with none of them has
// no unescaped reading.
var escapeMarks = func() (marks [256]bool) {
	for _, c := range []byte(`%=\&?@$`) {
		marks[c] = true
	}
	for c := utf8.RuneSelf; c < len(marks); c++ {
		marks[c] = true
	}
	return marks
}()

// Unescape returns a name without escapes, at most QueryBytesMax bytes of it. It returns
// false if the name has none.
func Unescape(name string) (string, bool) {
	at := 0
	for at < len(name) && !escapeMarks[name[at]] {
		at++
	}
	if at == len(name) {
		return name, false
	}
	plain := name
	for range unescapeTimes {
		if strings.ContainsAny(plain, "%=\\") {
			plain = unescapeBytes(plain)
		}
		if strings.Contains(plain, "&") && strings.Contains(plain, ";") {
			plain = html.UnescapeString(plain)
		}
		if !IsPlain(plain) {
			plain = decodedAgain(plain)
		}
	}
	if strings.ContainsAny(plain, "?@$") {
		plain = unmaskLetters(plain)
	}
	return plain[:min(len(plain), QueryBytesMax)], plain != name
}

// decodedAgain repairs a text whose UTF-8 was decoded as Windows-1252 or Latin-1 (Ã¡ is á).
// It returns any other text unchanged.
func decodedAgain(text string) string {
	for _, r := range text { // Most texts end here, before anything is allocated.
		if r >= 0x100 && !slices.Contains(windowsLetters, r) {
			return text
		}
	}
	plain := make([]byte, 0, len(text))
	for _, r := range text {
		if r >= 0x100 {
			r = rune(0x80 + slices.Index(windowsLetters, r))
		}
		plain = append(plain, byte(r))
	}
	if !utf8.Valid(plain) {
		return text
	}
	return string(plain)
}

// windowsLetters are the characters that Windows-1252 has for the bytes from 0x80 on.
var windowsLetters = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// unmaskLetters removes a question mark between letters, which replaces a lost letter. It
// reads @ and $ beside a letter as a and s, except an @ of an e-mail address.
func unmaskLetters(text string) string {
	plain, lastDot := make([]byte, 0, len(text)), strings.LastIndexByte(text, '.')
	isLetter := func(i int) bool { return i >= 0 && i < len(text) && (isCapital(text[i]) || isSmall(text[i])) }
	for i := range len(text) {
		switch c := text[i]; {
		case c == '?' && isLetter(i-1) && isLetter(i+1):
		case c == '@' && (isLetter(i-1) || isLetter(i+1)) && lastDot < i:
			plain = append(plain, 'a')
		case c == '$' && (isLetter(i-1) || isLetter(i+1)):
			plain = append(plain, 's')
		default:
			plain = append(plain, c)
		}
	}
	return string(plain)
}

// unescapeBytes replaces %41, =41 and \x41 by bytes, and \u0041 by a character.
func unescapeBytes(text string) string {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		from, digits := i+1, 2
		if text[i] == '\\' && from < len(text) {
			switch text[from] {
			case 'u':
				from, digits = from+1, 4
			case 'x':
				from++
			default:
				digits = 0
			}
		} else if text[i] != '%' && text[i] != '=' {
			digits = 0
		}
		if value, ok := readHexadecimals(text, from, digits); ok {
			if i = from + digits - 1; digits == 4 {
				plain = utf8.AppendRune(plain, value)
			} else {
				plain = append(plain, byte(value))
			}
			continue
		}
		plain = append(plain, text[i])
	}
	return string(plain)
}

// readHexadecimals reads the given number of hexadecimal digits. It returns false if there
// are fewer or none are wanted.
func readHexadecimals(text string, from, digits int) (value rune, ok bool) {
	if digits == 0 || from+digits > len(text) {
		return 0, false
	}
	for i := from; i < from+digits; i++ {
		digit := hexadecimalOf(text[i])
		if digit < 0 {
			return 0, false
		}
		value = value<<4 | rune(digit)
	}
	return value, true
}

func hexadecimalOf(c byte) int { return strings.IndexByte("0123456789abcdef", lowerByte(c)) }

// HasForeign reports whether a second reading of the name may differ. The name then has
// letters of other scripts, letters together with digits that may stand for letters, a
// letter three times in a row, or an l and an I confused.
func HasForeign(name string) bool {
	letters, digits := false, false
	for i := 0; i < len(name); {
		if c := lowerByte(name[i]); c < utf8.RuneSelf {
			letter := c >= 'a' && c <= 'z'
			if letter && i+stretched <= len(name) && lowerByte(name[i+1]) == c && lowerByte(name[i+2]) == c || isMiscased(name, i) {
				return true
			}
			letters = letters || letter
			digits = digits || c >= '0' && c <= '9' && digitLetters[c-'0'] != 0
			i++
			continue
		}
		r, size := decodeRune(name, i)
		if kind := folds.entryOf(r).kind; kind == foldNative || kind >= foldCyrillic {
			return true
		}
		i += size
	}
	return letters && digits
}
