package families

import (
	"slices"
	"strings"
	"unicode"
)

// How a word is varied: by another spelling of its sound, or by a slip of the hand.

// respellings are letters, and those that another language writes for their sound.
var respellings = [][2]string{
	{"k", "c"}, {"c", "k"}, {"y", "i"}, {"i", "y"}, {"w", "v"}, {"v", "w"}, {"ou", "u"}, {"u", "ou"}, {"q", "k"}, {"k", "q"}, {"dj", "j"}, {"j", "dj"}, {"kh", "h"}, {"h", "kh"}, {"kh", "ch"},
	{"ph", "f"}, {"f", "ph"}, {"ee", "i"}, {"oo", "u"}, {"u", "oo"}, {"iy", "y"}, {"ey", "ei"}, {"ei", "ey"}, {"ov", "off"}, {"off", "ov"}, {"ev", "eff"}, {"eff", "ev"},
	{"sh", "ch"}, {"zh", "j"}, {"gh", "g"}, {"ts", "tz"}, {"tz", "ts"}, {"x", "ks"}, {"ks", "x"}, {"sch", "sh"},
}

// doublings are respellings too, for words to which none of the others applies.
var doublings = [][2]string{
	{"mm", "m"}, {"ss", "s"}, {"ll", "l"}, {"dd", "d"}, {"aa", "a"}, {"nn", "n"}, {"m", "mm"}, {"s", "ss"}, {"l", "ll"}, {"d", "dd"}, {"a", "aa"},
}

// Words shorter than these are not varied: what remains would be another name.
const (
	respeltLettersMin = 4
	slipLettersMin    = 5
)

// respell writes one word of the parts by another spelling of its sound.
func respell(parts ...part) step { return varyOne(respelt, respeltLettersMin, parts) }

// slip makes one slip of the hand in one word of the parts.
func slip(parts ...part) step { return varyOne(slipped, slipLettersMin, parts) }

// slipFirst makes a slip in the first letter of one word of the parts.
func slipFirst(parts ...part) step { return varyOne(slippedFirst, slipLettersMin, parts) }

// varyOne varies one word, beginning to look at a word that the hash chooses.
func varyOne(vary func(d *draft, text string) string, lettersMin int, parts []part) step {
	return func(d *draft) bool {
		places := d.find(parts...)
		if len(places) == 0 {
			return false
		}
		first := d.choose(len(places))
		for i := range places {
			at := places[(first+i)%len(places)]
			if text := d.words[at].text; isPlainWord(text, lettersMin) {
				if varied := vary(d, text); varied != "" && varied != text {
					d.words[at].text = varied
					return true
				}
			}
		}
		return false
	}
}

// varyEach varies every word that is long enough; at least two are.
func varyEach(vary func(d *draft, text string) string, lettersMin int, parts ...part) step {
	return func(d *draft) bool {
		varied := 0
		for _, at := range d.find(parts...) {
			if text := d.words[at].text; isPlainWord(text, lettersMin) {
				if other := vary(d, text); other != "" && other != text {
					d.words[at].text = other
					varied++
				}
			}
		}
		return varied >= 2
	}
}

// isPlainWord reports whether a word is long enough and of the letters a to z alone.
func isPlainWord(text string, lettersMin int) bool {
	for i := range len(text) {
		if c := text[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return len(text) >= lettersMin
}

// respelt applies one respelling whose letters the word has, or a doubling. It returns "" if there
// is none.
func respelt(d *draft, text string) string {
	lower := strings.ToLower(text)
	for _, table := range [][][2]string{respellings, doublings} {
		first := d.choose(len(table))
		for i := range table {
			from, to := table[(first+i)%len(table)][0], table[(first+i)%len(table)][1]
			if at := strings.Index(lower, from); at >= 0 && !soundsOtherwise(lower, from, to, at) {
				return likeCase(text, lower[:at]+to+lower[at+len(from):])
			}
		}
	}
	return ""
}

// soundsOtherwise reports whether the letters at a place are part of a longer sign, so that the
// respelling would change the sound.
func soundsOtherwise(lower, from, to string, at int) bool {
	end := at + len(from)
	next, last := byte(0), byte(0)
	if end < len(lower) {
		next = lower[end]
	}
	if at > 0 {
		last = lower[at-1]
	}
	vowel := func(c byte) bool { return strings.IndexByte("aeiou", c) >= 0 }
	switch from {
	case "k":
		return next == 'h' || next == 'k' || next == 's' || last == 'k' || last == 'c' || to == "c" && strings.IndexByte("eiy", next) >= 0
	case "q":
		return next == 'u'
	case "c":
		return strings.IndexByte("hkeiyzc", next) >= 0 && next != 0 || last == 's' || last == 'c'
	case "h":
		return at > 0
	case "y", "i":
		return vowel(last) || vowel(next) || last == 'y' || next == 'y'
	case "u":
		return vowel(next) || vowel(last) || last == 'q'
	case "off", "eff", "ov", "ev":
		return next != 0
	case "v", "w", "f", "j":
		return next == from[0] || last == from[0] || last == 'd' || next == 'h'
	case "m", "s", "l", "d", "a", "n":
		return next == from[0] || last == from[0] || at == 0 || next == 0 || next == 'h' || !vowel(last) && from != "a"
	}
	return false
}

// likeCase writes a word in capitals, or with one capital, as the other is.
func likeCase(like, lower string) string {
	switch {
	case strings.ToUpper(like) == like:
		return strings.ToUpper(lower)
	case like != "" && unicode.IsUpper(rune(like[0])):
		return strings.ToUpper(lower[:1]) + lower[1:]
	}
	return lower
}

// neighbours are the keys beside each letter on a keyboard.
var neighbours = map[byte]string{
	'a': "sq", 'b': "vn", 'c': "xv", 'd': "sf", 'e': "wr", 'f': "dg", 'g': "fh", 'h': "gj", 'i': "uo", 'j': "hk", 'k': "jl", 'l': "k", 'm': "n",
	'n': "bm", 'o': "ip", 'p': "o", 'q': "wa", 'r': "et", 's': "ad", 't': "ry", 'u': "yi", 'v': "cb", 'w': "qe", 'x': "zc", 'y': "tu", 'z': "x",
}

// slipped makes one slip behind the first letter: a neighbouring key, a letter left out, doubled
// or added, or two letters swapped.
func slipped(d *draft, text string) string {
	lower := strings.ToLower(text)
	at := 1 + d.choose(len(lower)-1)
	beside := neighbours[lower[at]]
	key := string(beside[d.choose(len(beside))])
	var other string
	switch d.choose(5) {
	case 0:
		other = lower[:at] + key + lower[at+1:]
	case 1:
		other = lower[:at] + lower[at+1:]
	case 2:
		other = lower[:at] + lower[at:at+1] + lower[at:]
	case 3:
		other = lower[:at] + key + lower[at:]
	default:
		if at+1 == len(lower) {
			at--
		}
		if at == 0 || lower[at] == lower[at+1] {
			return likeCase(text, lower[:len(lower)-1])
		}
		other = lower[:at] + lower[at+1:at+2] + lower[at:at+1] + lower[at+2:]
	}
	return likeCase(text, other)
}

// slippedFirst strikes a key beside the first letter's, or leaves the first letter out.
func slippedFirst(d *draft, text string) string {
	lower := strings.ToLower(text)
	if beside := neighbours[lower[0]]; d.choose(2) == 0 {
		return likeCase(text, beside[:1]+lower[1:])
	}
	return likeCase(text, lower[1:])
}

// Ornament: how the whole text looks.

// joinedBy writes the words with a text between them.
func joinedBy(between string) step {
	return func(d *draft) bool {
		if len(d.words) < 2 || d.line != "" {
			return false
		}
		d.line = joinWords(d.words, between)
		return true
	}
}

// withoutSpaces writes all words as one, in small letters.
func withoutSpaces(d *draft) bool {
	text := d.text()
	d.line = strings.ToLower(strings.NewReplacer(" ", "", ",", "", "-", "", ".", "").Replace(text))
	return len(d.words) > 1
}

// asHandle writes all words as one, each with a capital.
func asHandle(d *draft) bool {
	var b strings.Builder
	for i := range d.words {
		for field := range strings.FieldsSeq(strings.ReplaceAll(d.words[i].written(), "-", " ")) {
			b.WriteString(likeCase("Aa", strings.ToLower(field)))
		}
	}
	d.line = b.String()
	return len(d.words) > 1
}

// asDomain writes the name as a domain.
func asDomain(endings ...string) step {
	return func(d *draft) bool {
		label := bare(joinWords(d.words, ""))
		d.line = label + endings[d.choose(len(endings))]
		return label != "" && isPlainWord(label, 3)
	}
}

// asEmail writes "first.last@example.com".
func asEmail(d *draft) bool {
	var b strings.Builder
	for i := range d.words {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(bare(d.words[i].written()))
	}
	d.line = b.String() + "@" + mailHosts[d.choose(len(mailHosts))]
	return len(d.words) > 1
}

var mailHosts = []string{"example.com", "mail.example", "example.org"}

// lettersParted writes a blank behind each letter.
func lettersParted(text string) string {
	var b strings.Builder
	for i, r := range []rune(text) {
		if i > 0 && r != ' ' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

var (
	accents = strings.NewReplacer("a", "á", "e", "é", "o", "ö", "n", "ñ", "c", "ç", "s", "š")
	glyphs  = strings.NewReplacer("a", "а", "e", "е", "o", "о", "p", "р", "c", "с", "x", "х", "A", "А", "E", "Е", "O", "О", "P", "Р", "C", "С", "H", "Н", "T", "Т", "M", "М", "K", "К", "B", "В")
	digits  = strings.NewReplacer("o", "0", "O", "0", "l", "1", "i", "1", "I", "1", "e", "3", "E", "3")
)

// once applies a replacer to the first of the letters of the text that it changes.
func once(change *strings.Replacer) func(string) string {
	return func(text string) string {
		for i, r := range text {
			if other := change.Replace(string(r)); other != string(r) {
				return text[:i] + other + text[i+len(string(r)):]
			}
		}
		return text
	}
}

// fullWidth writes ASCII as the wide characters of East Asian typing.
func fullWidth(text string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r - '!' + '！'
		}
		return r
	}, text)
}

// cutAt cuts the text after some bytes of ASCII; shorter texts have no variant.
func cutAt(size int) step {
	return rewrite(func(text string) string {
		if len(text) <= size {
			return text
		}
		for i := range size {
			if text[i] >= 0x80 {
				return text
			}
		}
		return strings.TrimSpace(text[:size])
	})
}

// possessive appends 's to the last word.
func possessive(d *draft) bool {
	d.line = d.text() + "'s"
	return true
}

// turned writes a text backwards behind a control of direction, so that people see it as it was.
func turned(text string) string {
	signs := []rune(text)
	slices.Reverse(signs)
	return "\u202e" + string(signs) + "\u202c"
}
