package text

import "unicode/utf8"

// decodeRune reads the character at i. Most characters of two and three bytes need no look at the rules that
// utf8 has for rare ones.
func decodeRune(name string, i int) (rune, int) {
	c := name[i]
	if c < utf8.RuneSelf {
		return rune(c), 1
	}
	if c >= 0xC2 && c < 0xE0 && i+1 < len(name) && name[i+1]&0xC0 == 0x80 {
		return rune(c&0x1F)<<6 | rune(name[i+1]&0x3F), 2
	}
	if c > 0xE0 && c < 0xF0 && c != 0xED && i+2 < len(name) && name[i+1]&0xC0 == 0x80 && name[i+2]&0xC0 == 0x80 {
		return rune(c&0x0F)<<12 | rune(name[i+1]&0x3F)<<6 | rune(name[i+2]&0x3F), 3
	}
	return utf8.DecodeRuneInString(name[i:]) // a bad byte is U+FFFD, which is dropped
}
