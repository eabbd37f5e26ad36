package ofac

import "unicode/utf8"

// WalletMatch is a listed digital currency address that a wallet string names.
type WalletMatch struct {
	UID     uint32 // The listed party; of several, one on the SDN before others, then the lowest id.
	Lists   Lists  // All list families the address stands on.
	Ticker  string // As published; it does not tell the chain.
	Address string // As printed on the list.
}

// Wallet looks an address up. The address alone is the key: one EVM account is
// the same under every ticker. Blanks, an address scheme before it
// (bitcoin:, eip155:1:), full-width characters, and case where case carries no
// meaning (EVM, bech32, cashaddr, hexadecimal) do not matter; everything else
// is compared exactly. It does not allocate.
func (x *Index) Wallet(address string) (WalletMatch, bool) {
	var room [walletBytesMax]byte
	key := appendWalletKey(room[:0], address)
	if len(key) == 0 {
		return WalletMatch{}, false
	}
	slot, ok := x.walletHash.find(hashBytes(key))
	if !ok {
		return WalletMatch{}, false
	}
	var match WalletMatch
	for i := x.walletOffsets.at(slot); i < x.walletOffsets.at(slot+1); i++ {
		record := x.address(x.walletPostings.at(i))
		if !x.sameWallet(key, record.value) {
			continue
		}
		entity := x.entity(record.entity)
		if match.Lists&ListSDN == 0 && (match.Lists == 0 || entity.lists&ListSDN != 0) {
			match.UID, match.Ticker, match.Address = entity.uid, x.textAt(record.ticker), x.textAt(record.value)
		}
		match.Lists |= entity.lists
	}
	return match, match.Lists != 0
}

// sameWallet compares the key with that of a listed address: the hash found
// the place, the letters decide.
func (x *Index) sameWallet(key []byte, value uint32) bool {
	var room [walletBytesMax]byte
	return string(appendWalletKey(room[:0], x.textAt(value))) == string(key)
}

const bech32Letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// bech32Prefixes are the human-readable parts whose addresses are read without case.
var bech32Prefixes = [...]string{"bc1", "ltc1", "bnb1", "tb1", "bcrt1", "vtc1", "dgb1", "grs1", "addr1", "stake1", "cosmos1", "osmo1",
	"thor1", "terra1", "kava1", "inj1", "sei1", "axelar1", "celestia1", "dydx1", "akash1", "juno1", "secret1", "zs1", "u1", "erd1", "one1", "ckb1", "tltc1"}

// appendWalletKey appends the canonical form of an address, nothing if the
// string cannot be one. Keys of EVM accounts are 'E' and 20 bytes, all others
// 'X' and text, so that the two cannot be taken for one another.
func appendWalletKey(dst []byte, address string) []byte {
	var room [walletBytesMax]byte
	text := narrow(room[:0], address)
	if account, ok := evmAccount(text); ok {
		dst = append(dst, 'E')
		return appendHexBytes(dst, account)
	}
	if len(text) == 0 {
		return dst
	}
	dst = append(dst, 'X')
	start := len(dst)
	dst = append(dst, text...)
	if caseless(text) {
		for i, c := range dst[start:] {
			dst[start+i] = lower(c)
		}
	}
	return dst
}

// narrow copies the address without blanks, invisible characters and the
// scheme, full-width characters made narrow. Too long: nothing.
func narrow(dst []byte, address string) []byte {
	for i := 0; i < len(address); {
		c := address[i]
		if c > ' ' && c < utf8.RuneSelf {
			i++
			if c == ':' {
				dst = dst[:0] // the scheme ends here
				continue
			}
		} else {
			r, size := decode(address, i)
			i += size
			var keep bool
			if c, keep = narrowRune(r); !keep {
				continue
			}
		}
		if len(dst) == cap(dst) {
			return dst[:0]
		}
		dst = append(dst, c)
	}
	return dst
}

// narrowRune maps full-width ASCII to ASCII. Other letters are no part of any
// address: they become 0xFF, which no listed address has.
func narrowRune(r rune) (byte, bool) {
	if r >= 0xFF01 && r <= 0xFF5E {
		return byte(r - 0xFF01 + '!'), true
	}
	switch folds.of(r).kind {
	case foldSpace, foldDrop:
		return 0, false
	}
	return 0xFF, true
}

// evmAccount returns the 40 hexadecimal digits of an EVM address; the 0x is
// optional, the EIP-55 checksum is never judged.
func evmAccount(text []byte) ([]byte, bool) {
	if len(text) == 42 && text[0] == '0' && lower(text[1]) == 'x' {
		text = text[2:]
	}
	if len(text) != 40 {
		return nil, false
	}
	for _, c := range text {
		if hexValue[c] > 15 {
			return nil, false
		}
	}
	return text, true
}

// hexValue is the value of a hexadecimal digit, 0xFF for any other byte.
var hexValue = hexValues()

func hexValues() (values [256]byte) {
	for i := range values {
		values[i] = 0xFF
	}
	for i := range 10 {
		values['0'+i] = byte(i)
	}
	for i := range 6 {
		values['a'+i], values['A'+i] = byte(10+i), byte(10+i)
	}
	return values
}

func appendHexBytes(dst, digits []byte) []byte {
	for i := 0; i+1 < len(digits); i += 2 {
		dst = append(dst, hexValue[digits[i]]<<4|hexValue[digits[i+1]])
	}
	return dst
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// caseless reports whether upper and lower case mean the same in this address:
// bech32 with a known prefix, cashaddr, or a long hexadecimal number.
func caseless(text []byte) bool {
	for _, prefix := range bech32Prefixes {
		if len(text) > len(prefix)+6 && hasPrefixFold(text, prefix) {
			return allBech32(text[len(prefix):])
		}
	}
	if len(text) == 42 && (lower(text[0]) == 'q' || lower(text[0]) == 'p') {
		return allBech32(text)
	}
	digits := text
	if len(text) > 2 && text[0] == '0' && lower(text[1]) == 'x' {
		digits = text[2:]
	}
	if len(digits) < 40 {
		return false
	}
	for _, c := range digits {
		if hexValue[c] > 15 {
			return false
		}
	}
	return true
}

func hasPrefixFold(text []byte, prefix string) bool {
	for i := range len(prefix) {
		if lower(text[i]) != prefix[i] {
			return false
		}
	}
	return true
}

func allBech32(text []byte) bool {
	for _, c := range text {
		if !bech32Letter[lower(c)] {
			return false
		}
	}
	return true
}

var bech32Letter = bech32Set()

func bech32Set() (set [256]bool) {
	for i := range len(bech32Letters) {
		set[bech32Letters[i]] = true
	}
	return set
}
