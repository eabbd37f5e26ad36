package wallet

// Accounts of 20 bytes in hexadecimal: EVM chains, XDC, TRON, and ICAP.

const (
	accountBytes  = 20
	accountDigits = 2 * accountBytes
	wordDigits    = 64 // an account padded to the 32 bytes of a contract's argument
	tronByte      = "41"
)

// parseHex reads an account in hexadecimal and ignores case. It never checks the EIP-55
// checksum, so that a wallet with an error in it is not missed.
func parseHex(a *Address, token string) bool {
	digits := token
	switch {
	case len(token) > 2 && token[0] == '0' && lowerASCII(token[1]) == 'x':
		digits = token[2:]
	case len(token) == accountDigits+3 && lowerText(token[:3]) == "xdc":
		digits = token[3:]
	}
	family := EVM
	switch {
	case len(digits) == wordDigits && isZeros(digits[:wordDigits-accountDigits]):
		digits = digits[wordDigits-accountDigits:]
	case len(digits) == wordDigits && isZeros(digits[:wordDigits-accountDigits-2]) && digits[wordDigits-accountDigits-2:wordDigits-accountDigits] == tronByte:
		digits, family = digits[wordDigits-accountDigits:], Tron
	case len(digits) == accountDigits+2 && digits[:2] == tronByte:
		digits, family = digits[2:], Tron
	}
	if len(digits) != accountDigits {
		return false
	}
	var account [accountBytes]byte
	for i := range account {
		high, low := hexValue[digits[2*i]], hexValue[digits[2*i+1]]
		if high > 15 || low > 15 {
			return false
		}
		account[i] = high<<4 | low
	}
	a.setPayload(family, account[:])
	return true
}

func isZeros(digits string) bool {
	for i := range len(digits) {
		if digits[i] != '0' {
			return false
		}
	}
	return true
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

// Lengths of an EVM account written as an IBAN: XE, two check digits, and the
// account in base 36.
const (
	icapDirect = 34
	icapBasic  = 35
)

// parseICAP reads an EVM account in the form of an IBAN; its check digits must hold.
func parseICAP(a *Address, token string) bool {
	if len(token) != icapDirect && len(token) != icapBasic || lowerASCII(token[0]) != 'x' || lowerASCII(token[1]) != 'e' {
		return false
	}
	// ISO 7064: the number of the rearranged text leaves 1 when divided by 97.
	remainder := uint32(0)
	for i := range len(token) {
		value, ok := base36(token[(i+4)%len(token)])
		if !ok {
			return false
		}
		if value >= 10 {
			remainder *= 10
		}
		remainder = (remainder*10 + value) % 97
	}
	if remainder != 1 {
		return false
	}
	var account [accountBytes]byte
	for i := 4; i < len(token); i++ {
		carry, _ := base36(token[i])
		for k := accountBytes - 1; k >= 0; k-- {
			carry += uint32(account[k]) * 36
			account[k] = byte(carry)
			carry >>= 8
		}
		if carry != 0 {
			return false
		}
	}
	a.setPayload(EVM, account[:])
	return true
}

func base36(c byte) (uint32, bool) {
	switch c = lowerASCII(c); {
	case c >= '0' && c <= '9':
		return uint32(c - '0'), true
	case c >= 'a' && c <= 'z':
		return uint32(c-'a') + 10, true
	}
	return 0, false
}
