package wallet

import (
	"strings"
	"unicode"
)

// unreadLetters is how many letters and digits make a word one that may be an address or a part
// of one: so many with a digit among them.
const unreadLetters = 6

// Unread reports whether a text that names an account also has a word that may be meant as
// another one and cannot be read: it has letters that look like others, or it has digits and
// names no account. A text whose words are together one address has none.
func (r *Reading) Unread() bool {
	if r.count == 0 || r.decoded == "" || r.size == r.joined && r.words == 1 {
		return false
	}
	if r.words > 0 && r.sole == (span{0, r.joined}) {
		return false // All words together are the address.
	}
	for _, word := range strings.FieldsFunc(r.text, func(c rune) bool { return narrowRune(c) == ' ' }) {
		letters, digit := 0, false
		for _, c := range word {
			narrow := narrowRune(c)
			if narrow == 0xFF && unicode.IsLetter(c) {
				return true
			}
			if wordByte(narrow) {
				letters++
				digit = digit || narrow >= '0' && narrow <= '9'
			}
		}
		if letters >= unreadLetters && digit {
			var own Reading
			if Read(word, &own); own.count == 0 && !r.isPart(word) {
				return true
			}
		}
	}
	return false
}

// isPart reports whether a word is a part of the first account, which was written in groups.
func (r *Reading) isPart(word string) bool {
	var clean [2 * TextMax]byte
	n := 0
	for _, c := range word {
		if narrow := narrowRune(c); narrow != dropped {
			clean[n] = narrow
			n++
		}
	}
	return strings.Contains(r.decoded[r.sole.start:r.sole.end], string(clean[:n]))
}
