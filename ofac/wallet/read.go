package wallet

import (
	"html"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Bounds of one reading.
const (
	TextMax       = 512 // Bytes of a text that are read; a longer text is no address.
	addressesMax  = 8   // Different accounts in one text.
	tokensMax     = 64  // Words of a text that are tried.
	groupsMax     = 256 // Runs of words that are tried as one.
	exactTokenMin = 20  // A word this long may be a listed address that fits no grammar.
)

// Reading is the result of Read: the accounts in a text, and its words, for listed
// addresses that fit no grammar. It is valid until the next Read into it.
type Reading struct {
	addresses [addressesMax]Address
	count     int
	more      bool // the text has more accounts than addressesMax, or unread words that may be one
	sole      span // the word of the first account

	text    string
	clean   [2 * TextMax]byte // the text without blanks, then once more with them
	joined  int
	size    int
	tokens  [tokensMax]span
	words   int
	decoded string // clean as a string
}

type span struct{ start, end int }

// Read finds the accounts in a text. It first tries the whole text without blanks as one
// address. Then it tries every word, which is a run of letters and digits. So an address is
// separated from a scheme, a chain id, a query, a fragment, brackets and the path of an
// explorer's link. In a link, the words
// before the query are tried from the last to the first.
func Read(text string, r *Reading) {
	r.count, r.more, r.words, r.text, r.joined, r.size, r.decoded = 0, false, 0, text, 0, 0, ""
	if len(text) > TextMax {
		return
	}
	if r.plainEVM(text) {
		return
	}
	text = unescapeText(text)
	r.text = text
	r.foldText(text)
	if r.joined == 0 {
		return
	}
	r.decoded = string(r.clean[:r.size])
	var address Address
	if parseAddress(&address, r.decoded[:r.joined]) {
		r.sole = span{0, r.joined}
		r.addAddress(&address)
		r.readToken(0, r.joined)
		if r.size == r.joined {
			return
		}
	} else {
		r.splitWords(0, r.joined)
	}
	if r.size > r.joined {
		r.splitWords(r.joined, r.size)
	}
	r.tryTokens()
	if r.count == 0 && r.size > r.joined {
		r.tryGroups()
	}
}

// plainEVM reads the commonest kind of text without copying it.
func (r *Reading) plainEVM(text string) bool {
	if !ReadPlain(text, &r.addresses[0]) {
		return false
	}
	r.count = 1
	return true
}

// unescapeTimes is how often a text is unescaped: a link inside a link is escaped twice.
const unescapeTimes = 2

// unescapeText returns a text without percent escapes and HTML entities. The result is
// never longer.
func unescapeText(text string) string {
	for range unescapeTimes {
		if strings.Contains(text, "%") {
			if plain, err := url.PathUnescape(text); err == nil {
				text = plain
			}
		}
		if strings.Contains(text, "&") && strings.Contains(text, ";") {
			if plain := html.UnescapeString(text); len(plain) <= len(text) {
				text = plain
			}
		}
	}
	return text
}

// foldText copies the text without blanks, and once more with them if it has any. It
// decodes percent signs, narrows full-width characters and drops invisible ones. Other
// characters outside ASCII separate words.
func (r *Reading) foldText(text string) {
	blanks := false
	for pass := range 2 {
		start := r.size
		for i := 0; i < len(text); {
			c, size := foldAt(text, i)
			i += size
			switch {
			case c == dropped:
			case c == ' ' && pass == 0:
				blanks = true
			default:
				r.clean[r.size] = c
				r.size++
			}
		}
		if pass == 0 {
			r.joined = r.size - start
			if !blanks {
				return
			}
		}
	}
}

// dropped marks a character that is not part of the text.
const dropped = 0

// foldAt reads the character at i.
func foldAt(text string, i int) (byte, int) {
	c := text[i]
	switch {
	case c == '%' && i+2 < len(text) && hexValue[text[i+1]] < 8 && hexValue[text[i+2]] < 16:
		return narrowRune(rune(hexValue[text[i+1]]<<4 | hexValue[text[i+2]])), 3
	case c < utf8.RuneSelf:
		return narrowRune(rune(c)), 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return narrowRune(r), size
}

// narrowRune maps a character to ASCII: blanks to a blank, characters that look like ASCII
// to it, invisible ones to dropped, all others to 0xFF.
func narrowRune(r rune) byte {
	switch {
	case r > ' ' && r < 0x7F:
		return byte(r)
	case r == ' ' || r >= '\t' && r <= '\r':
		return ' '
	case r < ' ' || r == 0x7F:
		return dropped
	case r >= 0xFF01 && r <= 0xFF5E:
		return byte(r - 0xFF01 + '!')
	case r == 0xA0 || r == 0x1680 || r >= 0x2000 && r <= 0x200A || r == 0x2028 || r == 0x2029 || r == 0x202F || r == 0x205F || r == 0x2800 || r == 0x3000:
		return ' '
	case isInvisible(r):
		return dropped
	case r >= 0x0660 && r <= 0x0669: // Arabic digits; Persian ones follow.
		return byte(r - 0x0660 + '0')
	case r >= 0x06F0 && r <= 0x06F9:
		return byte(r - 0x06F0 + '0')
	case r >= 0x1D400 && r <= 0x1D6A3: // Mathematical letters: A to Z and a to z in thirteen typefaces; the digits follow below.
		at := byte((r - 0x1D400) % 52)
		if at < 26 {
			return at + 'A'
		}
		return at - 26 + 'a'
	case r >= 0x1D7CE && r <= 0x1D7FF:
		return byte((r-0x1D7CE)%10) + '0'
	}
	return 0xFF
}

// isInvisible reports whether a character shows nothing by itself: format characters,
// fillers, combining marks, selectors and tags.
func isInvisible(r rune) bool {
	switch {
	case r < 0x300:
		return r == 0xAD
	case r <= 0x36F, r == 0x61C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r >= 0x180B && r <= 0x180F:
		return true
	case r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r >= 0x20D0 && r <= 0x20FF, r == 0x3164:
		return true
	}
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xFE20 && r <= 0xFE2F || r == 0xFEFF || r == 0xFFA0 || r >= 0xFFF0 && r <= 0xFFFB || r == utf8.RuneError ||
		r >= 0x1D173 && r <= 0x1D17A || r >= 0xE0000 && r <= 0xE0FFF
}

// splitWords stores the words in a part of the text.
func (r *Reading) splitWords(start, end int) {
	at := start
	for i := start; i <= end; i++ {
		if i < end && wordByte(r.decoded[i]) {
			continue
		}
		if i > at {
			r.readToken(at, i)
		}
		at = i + 1
	}
}

func (r *Reading) readToken(start, end int) {
	if r.words == tokensMax {
		r.more = r.more || end-start >= bech32TextMin // The word may be an account but is not read.
		return
	}
	r.tokens[r.words] = span{start, end}
	r.words++
}

func wordByte(c byte) bool {
	c = lowerASCII(c)
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// tryTokens tries every word: first those before a query, in reverse order if the text is a
// link, then the others.
func (r *Reading) tryTokens() {
	query, link := r.joined, false
	for i := range r.joined {
		if r.decoded[i] == '?' {
			query = i
			break
		}
		link = link || i > 1 && r.decoded[i-2:i+1] == "://"
	}
	path := 0
	for path < r.words && r.tokens[path].end <= query {
		path++
	}
	for i := range r.words {
		at := i
		if link && i < path {
			at = path - 1 - i
		}
		r.tryWord(r.tokens[at])
	}
}

// tryGroups tries runs of words that only blanks separate as one address: an address in
// groups of a few digits, with other words around it.
func (r *Reading) tryGroups() {
	var starts, ends [tokensMax]int // positions in the text without blanks
	words, at, inside := 0, 0, false
	for i := r.joined; i <= r.size; i++ {
		blank := i == r.size || r.decoded[i] == ' '
		if !blank && !inside && words < tokensMax {
			starts[words] = at
		}
		if blank && inside && words < tokensMax {
			ends[words] = at
			words++
		}
		if inside = !blank; inside {
			at++
		}
	}
	tries := 0
	for i := range words {
		for k := i + 1; k < words && ends[k]-starts[i] <= moneroTextLong && tries < groupsMax; k++ {
			if ends[k]-starts[i] >= checkedTextMin {
				tries++
				r.tryWord(span{starts[i], ends[k]})
			}
		}
	}
}

// tryWord reads one word as an address, or the 0x… at its end.
func (r *Reading) tryWord(s span) {
	var address Address
	token := r.decoded[s.start:s.end]
	if !parseAddress(&address, token) {
		tail := len(token) - accountDigits - 2
		if tail <= 0 || token[tail] != '0' || lowerASCII(token[tail+1]) != 'x' || !parseHex(&address, token[tail:]) {
			return
		}
		s.start += tail
	}
	if r.count == 0 {
		r.sole = s
	}
	r.addAddress(&address)
}

func (r *Reading) addAddress(address *Address) {
	for i := range r.count {
		if r.addresses[i].isEqual(address) {
			return
		}
	}
	if r.count == addressesMax {
		r.more = true
		return
	}
	r.addresses[r.count] = *address
	r.count++
}

// parseAddress reads one word. Bech32, which has a checksum, comes before Solana's keys, which have
// none: an address of 43 letters may have the shape of both.
func parseAddress(a *Address, token string) bool {
	if len(token) < bech32TextMin {
		return false
	}
	return parseHex(a, token) || parseBech32(a, token) || parseBase58(a, token) || parseCash(a, token) || parseICAP(a, token)
}

// Addresses returns the different accounts found, the likeliest first.
func (r *Reading) Addresses() []Address { return r.addresses[:r.count] }

// Sole reports whether the text names exactly one account.
func (r *Reading) Sole() bool { return r.count == 1 && !r.more }

// Canonical returns the canonical spelling of the account that the text names. It returns
// false if the text names none or several.
func (r *Reading) Canonical() (string, bool) {
	if !r.Sole() {
		return "", false
	}
	if r.decoded == "" {
		return r.addresses[0].accountText(r.text), true
	}
	return r.addresses[0].accountText(r.decoded[r.sole.start:r.sole.end]), true
}

// AppendTwinKey appends key n of the text: those of its accounts, by which their twins are found,
// then those of the whole text and of its long words as written. It returns false when there is no
// key n. Some keys are empty.
func (r *Reading) AppendTwinKey(dst []byte, n int) ([]byte, bool) {
	if n < r.count {
		return r.addresses[n].AppendTwinKey(dst), true
	}
	if n -= r.count; r.joined == 0 {
		return dst, false
	}
	if n == 0 {
		return appendExact(dst, r.decoded[:r.joined]), true
	}
	if n--; n >= r.words {
		return dst, false
	}
	if s := r.tokens[n]; s.end-s.start >= exactTokenMin {
		return appendExact(dst, r.decoded[s.start:s.end]), true
	}
	return dst, true
}

// appendExact appends the key of an address that fits no grammar: the text as written, or
// in lower case if it is a long hexadecimal number.
func appendExact(dst []byte, text string) []byte {
	dst = append(dst, byte(Unknown))
	start := len(dst)
	dst = append(dst, text...)
	for _, c := range dst[start:] {
		if hexValue[c] > 15 {
			return dst
		}
	}
	if len(text) >= accountDigits {
		for i, c := range dst[start:] {
			dst[start+i] = lowerASCII(c)
		}
	}
	return dst
}

// AppendKey appends the key of a listed address: that of its account, else its text. It
// appends nothing for a text of blanks.
func AppendKey(dst []byte, listed string) []byte {
	var r Reading
	Read(listed, &r)
	if r.Sole() {
		return r.addresses[0].AppendKey(dst)
	}
	return r.appendText(dst)
}

// ReadListed reads a listed address. It appends the key under which it stands with its twins, and
// returns false for a text that fits no grammar: its key is the text as written, or nothing if it
// has only blanks.
func ReadListed(dst []byte, listed string, a *Address) (key []byte, ok bool) {
	var r Reading
	Read(listed, &r)
	if r.Sole() {
		*a = r.addresses[0]
		return a.AppendTwinKey(dst), true
	}
	return r.appendText(dst), false
}

// ReadPlain reads an address in the commonest form, 0x and 40 digits, without a Reading.
func ReadPlain(text string, a *Address) bool {
	return len(text) == accountDigits+2 && text[0] == '0' && lowerASCII(text[1]) == 'x' && parseHex(a, text)
}

func (r *Reading) appendText(dst []byte) []byte {
	if r.joined == 0 {
		return dst
	}
	return appendExact(dst, r.decoded[:r.joined])
}

// Chain names the chain of an address by its spelling: EVM, TRON, BTC, BCH, LTC, DOGE,
// DASH, BTG, ZEC, XMR, XRP, SOL, a bech32 prefix in upper case, or "other".
func Chain(text string) string {
	var r Reading
	Read(text, &r)
	if !r.Sole() {
		return "other"
	}
	token := r.text
	if r.decoded != "" {
		token = r.decoded[r.sole.start:r.sole.end]
	}
	a := &r.addresses[0]
	switch a.family {
	case EVM:
		return "EVM"
	case Tron:
		return "TRON"
	case KeyHash, ScriptHash:
		switch {
		case len(token) == cashTextMin:
			return "BCH"
		case token[0] == 'M':
			return "LTC"
		}
		return "BTC"
	case ScriptHashLong:
		return "BCH"
	case Monero, MoneroSub:
		return "XMR"
	case Ripple:
		return "XRP"
	case Solana:
		return "SOL"
	case Base58Check:
		return base58Chains[a.payload[0]]
	}
	prefix := token[:strings.LastIndexByte(token, '1')]
	if name, ok := bech32Chains[lowerText(prefix)]; ok {
		return name
	}
	return strings.ToUpper(prefix)
}

var (
	base58Chains = map[byte]string{
		0x30: "LTC", 0x1E: "DOGE", 0x16: "DOGE", 0x21: "XVG", 0x26: "BTG", 0x17: "BTG", 0x4C: "DASH", 0x10: "DASH", 0x1C: "ZEC",
	}
	bech32Chains = map[string]string{"bc": "BTC", "zs": "ZEC", "u": "ZEC"}
)

// IsAddress reports whether a text is the address of a known chain and nothing else.
func IsAddress(text string) bool {
	var address Address
	return parseAddress(&address, text)
}

// Fits reports whether a text names exactly one account of a known chain.
func Fits(text string) bool {
	var r Reading
	Read(text, &r)
	return r.Sole()
}

// Several reports whether a text names more than one account.
func Several(text string) bool {
	var r Reading
	Read(text, &r)
	return r.count > 1
}

// Canonical returns the canonical spelling of the account that a text names. It returns
// false if the text names none or several.
func Canonical(text string) (string, bool) {
	var r Reading
	Read(text, &r)
	return r.Canonical()
}
