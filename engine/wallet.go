package engine

import "railguard/ofac/wallet"

// Shapes and canonical forms of wallet addresses. Package ofac decides whether an address is
// listed. This file answers the policy's questions: does an address have the shape that its
// chain demands, does it name an account at all (R19), and do two addresses name the same
// account (R13)?

const (
	evmDigits       = 40
	solanaBytes     = 32
	walletTextMin   = 25 // The shortest address of the published chains (base58).
	walletTextMax   = 90 // The longest bech32 string (BIP 173).
	bech32Checksum  = 6
	solanaTextMax   = 44 // base58 of 32 bytes.
	base58Alphabet  = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	bech32Alphabet  = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	notADigit       = 0xFF
	bech32Separator = '1'
)

var (
	base58Values = digitValues(base58Alphabet)
	bech32Values = digitValues(bech32Alphabet)
)

func digitValues(alphabet string) (values [256]uint8) {
	for i := range values {
		values[i] = notADigit
	}
	for i := 0; i < len(alphabet); i++ {
		values[alphabet[i]] = uint8(i)
	}
	return values
}

// ValidWallet reports whether text can be an operator's wallet (decision 34): 0x and 40
// hexadecimal digits in any case, or 25 to 90 characters of base58 or bech32. It does not check
// checksums.
func ValidWallet(text string) bool {
	if isEVMAddress(text) {
		return true
	}
	if len(text) < walletTextMin || len(text) > walletTextMax {
		return false
	}
	return allDigits(text, &base58Values) || isBech32(text)
}

// CanonicalWallet returns the one text of an account. Every encoding of the account gives the
// same text, also inside a URI or a link (see package wallet). A text that names no account of
// a known chain, or several, keeps its form; only blanks are cut off and bech32 is lowered.
// Whitelists hold and compare canonical texts.
func CanonicalWallet(text string) string { return string(appendWallet(nil, text)) }

// appendWallet appends the canonical form.
func appendWallet(dst []byte, text string) []byte {
	text = trimSpace(text)
	if isEVMAddress(text) { // The commonest form needs no decoding.
		return appendLower(dst, text)
	}
	if canonical, ok := wallet.Canonical(text); ok {
		return append(dst, canonical...)
	}
	if isBech32(text) {
		return appendLower(dst, text)
	}
	return append(dst, text...)
}

func appendLower(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		dst = append(dst, lowerASCII(text[i]))
	}
	return dst
}

// walletGrammar is the last check of R19, for every chain: does the text name exactly one
// account of a known chain?
func walletGrammar(text string) Sub {
	if isEVMAddress(text) {
		return 0
	}
	var reading wallet.Reading
	wallet.Read(text, &reading)
	switch {
	case reading.Sole() && reading.Unread():
		return 8
	case reading.Sole():
		return 0
	case len(reading.Addresses()) == 0:
		return 6
	}
	return 7
}

// isEVMAddress reports whether text is 0x (or 0X) and 40 hexadecimal digits. It never checks
// the EIP-55 checksum.
func isEVMAddress(text string) bool {
	return len(text) == evmDigits+2 && text[0] == '0' && lowerASCII(text[1]) == 'x' && allHex(text[2:])
}

func allHex(text string) bool {
	wrong := uint8(0)
	for i := range len(text) {
		wrong |= hexValues[text[i]]
	}
	return wrong < 16
}

// evmEnd returns the number that the last four digits of an EVM address are.
func evmEnd(address string) (end uint16) {
	for i := len(address) - 4; i < len(address); i++ {
		end = end<<4 | uint16(hexValues[address[i]])
	}
	return end
}

// hexValues are the values of hexadecimal digits in any case, notADigit for any other byte.
var hexValues = func() [256]uint8 {
	values := digitValues("0123456789abcdef")
	for c := byte('A'); c <= 'F'; c++ {
		values[c] = values[c-'A'+'a']
	}
	return values
}()

// isBech32 reports whether text is in one case and has only bech32 characters after the last
// separator. In such an address case carries no meaning (BIP 173).
func isBech32(text string) bool {
	separator, upper, lower := -1, false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		upper = upper || (c >= 'A' && c <= 'Z')
		lower = lower || (c >= 'a' && c <= 'z')
		if c == bech32Separator {
			separator = i
		}
		if folded := lowerASCII(c); (folded < '0' || folded > '9') && (folded < 'a' || folded > 'z') {
			return false
		}
	}
	if separator < 1 || len(text)-separator-1 < bech32Checksum || (upper && lower) || len(text) > walletTextMax {
		return false
	}
	for i := separator + 1; i < len(text); i++ {
		if bech32Values[lowerASCII(text[i])] == notADigit {
			return false
		}
	}
	return true
}

func allDigits(text string, values *[256]uint8) bool {
	for i := 0; i < len(text); i++ {
		if values[text[i]] == notADigit {
			return false
		}
	}
	return true
}

// isSolanaAddress reports whether text is base58 of exactly 32 bytes.
func isSolanaAddress(text string) bool {
	if len(text) < solanaBytes || len(text) > solanaTextMax {
		return false
	}
	zeros := 0
	for zeros < len(text) && text[zeros] == base58Alphabet[0] {
		zeros++ // A leading 1 is a leading zero byte.
	}
	var key [solanaBytes]byte // The other bytes as a big-endian integer.
	for i := zeros; i < len(text); i++ {
		carry := uint32(base58Values[text[i]])
		if carry == notADigit {
			return false
		}
		for j := len(key) - 1; j >= 0; j-- {
			carry += uint32(key[j]) * uint32(len(base58Alphabet))
			key[j] = byte(carry)
			carry >>= 8
		}
		if carry != 0 {
			return false // More than 32 bytes.
		}
	}
	leading := 0
	for leading < len(key) && key[leading] == 0 {
		leading++
	}
	return leading == zeros
}
