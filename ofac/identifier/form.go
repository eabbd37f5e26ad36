package identifier

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FormBytesMax is a length that no normal form of a text of the API exceeds.
const FormBytesMax = 320

// AppendForm appends the normal form of an identifier. Two spellings of one identifier have the
// same form; forms of different families (see Family) must not be compared. Of a text that is no
// identifier of its class it appends the form of its letters and digits.
func AppendForm(dst []byte, class Class, text string) []byte {
	switch class {
	case Email:
		return appendEmail(dst, text)
	case Website:
		return appendHost(dst, text)
	case Phone:
		return appendPhone(dst, text)
	}
	start := len(dst)
	dst = appendDocument(dst, text)
	form := dst[start:]
	switch class {
	case BIC:
		return dst[:start+shortenBIC(form)]
	case IBAN:
		return dropWord(dst, start, "IBAN")
	case IMO:
		return dropWord(dropWord(dst, start, "IMONO"), start, "IMO")
	case MMSI:
		return dropWord(dst, start, "MMSI")
	case LEI:
		return dropWord(dst, start, "LEI")
	case DUNS:
		return dropWord(dst, start, "DUNS")
	}
	return dst
}

// Family groups the classes whose forms can be compared with each other: 'd' numbers, '@' e-mail
// addresses, 'h' hosts.
func (c Class) Family() byte {
	switch c {
	case Email:
		return '@'
	case Website:
		return 'h'
	}
	return 'd'
}

// dropWord removes a word that people write before a number, if something is left behind it that
// begins with a digit or is long.
func dropWord(dst []byte, start int, word string) []byte {
	form := dst[start:]
	if len(form) > len(word) && string(form[:len(word)]) == word && (form[len(word)] <= '9' || len(form) > 15) {
		return append(dst[:start], form[len(word):]...)
	}
	return dst
}

// shortenBIC writes a code to the main office in eight characters, and drops the terminal, which
// messages write as the ninth of twelve. It returns the length that is left.
func shortenBIC(form []byte) int {
	if len(form) == bicTerminal {
		copy(form[bicBytes:], form[bicBytes+1:])
		form = form[:bicBranch]
	}
	if len(form) == bicBranch && string(form[bicBytes:]) == "XXX" {
		return bicBytes
	}
	return len(form)
}

const (
	bicBytes    = 8  // Of the code of an institution.
	bicBranch   = 11 // With the code of a branch.
	bicTerminal = 12 // With the code of a terminal before that of the branch.
)

// BranchOf returns the form of the institution to which the form of a branch belongs.
func BranchOf(form []byte) (institution []byte, ok bool) {
	if len(form) != bicBranch {
		return nil, false
	}
	return form[:bicBytes], true
}

// WithoutZeros returns the form without the zeros at its beginning. Registers print them or not.
func WithoutZeros(form []byte) []byte {
	for len(form) > 1 && form[0] == '0' {
		form = form[1:]
	}
	return form
}

// appendDocument appends the letters and digits of a text, in upper case, and nothing else.
func appendDocument(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			dst = appendPlain(dst, r)
			i += size
			continue
		case c >= 'a' && c <= 'z':
			dst = append(dst, c-'a'+'A')
		case c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// alike are letters of Greek and Cyrillic that look like a Latin one, and alikeLatin are these.
const (
	alike      = "АВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
	alikeLatin = "ABESIJKMHOPCTYXABEZHIKMNOPTYX"
)

// appendPlain appends a letter or a digit that is not ASCII, in ASCII where it has or looks like
// one.
func appendPlain(dst []byte, r rune) []byte {
	if digit, ok := digitOf(r); ok {
		return append(dst, '0'+digit)
	}
	if r >= 0xFF21 && r <= 0xFF5A { // Letters of full width.
		r -= 0xFF21 - 'A'
	}
	if !unicode.IsLetter(r) {
		return dst
	}
	r = unicode.ToUpper(r)
	at := 0
	for _, letter := range alike {
		if letter == r {
			return append(dst, alikeLatin[at])
		}
		at++
	}
	return utf8.AppendRune(dst, r)
}

// digitOf returns the value of a decimal digit of any script.
func digitOf(r rune) (byte, bool) {
	if r < utf8.RuneSelf {
		return byte(r - '0'), r >= '0' && r <= '9'
	}
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	if r >= 0x1D7CE && r <= 0x1D7FF { // Mathematical digits follow each other in five styles.
		return byte((r - 0x1D7CE) % 10), true
	}
	if low := r & 0xF; low < 6 || unicode.Is(unicode.Nd, r&^0xF) {
		return byte(low), low < 10 // Most scripts begin at a code point that ends with 0, others at one that ends with 6.
	}
	return byte(r&0xF - 6), true
}

// trimText removes blanks and signs that people write around an address.
func trimText(text string) string { return strings.Trim(text, " \t\r\n\"'<>,;") }
