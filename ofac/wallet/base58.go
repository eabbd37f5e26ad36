package wallet

import (
	"bytes"

	"github.com/mr-tron/base58"
	"golang.org/x/crypto/sha3"
)

// Addresses in base58: version, hash, checksum; Solana's bare keys; Monero's blocks.

const (
	checksumBytes = 4

	versionKeyHash    = 0x00
	versionScriptHash = 0x05
	versionTron       = 0x41
)

// versions maps the first byte of 25 to a family. No known chain uses any other version.
var versions = map[byte]Family{
	versionKeyHash:    KeyHash,     // BTC, BCH, BSV: 1
	0x1C:              KeyHash,     // BCH as Copay wrote it: C
	versionScriptHash: ScriptHash,  // BTC, BCH; old LTC: 3
	0x32:              ScriptHash,  // LTC: M
	0x28:              ScriptHash,  // BCH as Copay wrote it: H
	versionTron:       Tron,        // T
	0x30:              Base58Check, // LTC: L
	0x1E:              Base58Check, // DOGE, XVG: D
	0x16:              Base58Check, // DOGE: 9, A
	0x21:              Base58Check, // XVG: E
	0x26:              Base58Check, // BTG: G
	0x17:              Base58Check, // BTG: A
	0x4C:              Base58Check, // DASH: X
	0x10:              Base58Check, // DASH: 7
}

// zcashVersions are the two bytes of transparent ZEC addresses: t1 and t3.
var zcashVersions = [...][2]byte{{0x1C, 0xB8}, {0x1C, 0xBD}}

// rippleAlphabet is XRP's order of the base58 digits.
var rippleAlphabet = base58.NewAlphabet("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz")

// Lengths of the texts that are decoded.
const (
	checkedTextMin, checkedTextMax = 25, 36
	xAddressText                   = 47
	solanaTextMin, solanaTextMax   = 32, 44
	solanaBytes                    = 32
)

func parseBase58(a *Address, token string) bool {
	switch n := len(token); {
	case n == moneroText || n == moneroTextLong:
		return parseMonero(a, token)
	case n == xAddressText:
		return parseRipple(a, token)
	case n < checkedTextMin || n > solanaTextMax:
		return false
	}
	if token[0] == 'r' && len(token) <= checkedTextMax {
		return parseRipple(a, token)
	}
	data, err := base58.Decode(token)
	if err != nil {
		return false
	}
	if len(data) == solanaBytes && len(token) >= solanaTextMin {
		a.setPayload(Solana, data)
		return true
	}
	if len(token) > checkedTextMax || !hasChecksum(data) {
		return false
	}
	return parseVersion(a, data[:len(data)-checksumBytes])
}

// hasChecksum verifies the four bytes at the end.
func hasChecksum(data []byte) bool {
	if len(data) < accountBytes+1+checksumBytes {
		return false
	}
	body := data[:len(data)-checksumBytes]
	sum := doubleHash(body)
	return bytes.Equal(sum[:checksumBytes], data[len(body):])
}

func parseVersion(a *Address, body []byte) bool {
	if len(body) == accountBytes+2 {
		for _, version := range zcashVersions {
			if [2]byte(body) == version {
				a.setPayload(Base58Check, body)
				return true
			}
		}
		return false
	}
	family, ok := versions[body[0]]
	if !ok || len(body) != accountBytes+1 {
		return false
	}
	if family == Base58Check {
		a.setPayload(family, body)
	} else {
		a.setPayload(family, body[1:])
	}
	return true
}

// The layout of an XRP X-address: two bytes, the account, flags, a tag.
const (
	xAddressBytes = 2 + accountBytes + 1 + 8
	xFlagsAt      = 2 + accountBytes
)

// parseRipple reads a classic XRP address or an X-address, which also has a destination
// tag.
func parseRipple(a *Address, token string) bool {
	data, err := base58.DecodeAlphabet(token, rippleAlphabet)
	if err != nil || !hasChecksum(data) {
		return false
	}
	body := data[:len(data)-checksumBytes]
	switch {
	case len(body) == accountBytes+1 && body[0] == 0:
		a.setPayload(Ripple, body[1:])
	case len(body) == xAddressBytes && body[0] == 0x05 && body[1] == 0x44:
		a.setPayload(Ripple, body[2:xFlagsAt])
		a.tagged = body[xFlagsAt] != 0
	default:
		return false
	}
	return true
}

// Monero writes each block of eight bytes as eleven digits, and the last five bytes as
// seven.
const (
	moneroText      = 95  // a standard address or subaddress: 69 bytes
	moneroTextLong  = 106 // an integrated address: 77 bytes
	moneroBlock     = 8
	moneroDigits    = 11
	moneroTail      = 5
	moneroTailText  = 7
	moneroKeys      = 64
	moneroPayment   = 8
	moneroStandard  = 18
	moneroIntegrate = 19
	moneroSubadress = 42
)

// parseMonero reads a Monero address. An integrated address is the standard address and a
// payment id.
func parseMonero(a *Address, token string) bool {
	var room [10 * moneroBlock]byte
	data := room[:0]
	for len(token) >= moneroTailText {
		digits, size := moneroDigits, moneroBlock
		if len(token) == moneroTailText {
			digits, size = moneroTailText, moneroTail
		}
		value := uint64(0)
		for i := range digits {
			digit := base58Value[token[i]]
			if digit == 0xFF || value > (1<<64-1-uint64(digit))/58 {
				return false
			}
			value = value*58 + uint64(digit)
		}
		if size < moneroBlock && value>>(8*size) != 0 {
			return false
		}
		for i := range size {
			data = append(data, byte(value>>(8*(size-1-i))))
		}
		token = token[digits:]
	}
	body := data[:len(data)-checksumBytes]
	hash := sha3.NewLegacyKeccak256()
	hash.Write(body)
	var sum [32]byte
	if !bytes.Equal(hash.Sum(sum[:0])[:checksumBytes], data[len(body):]) {
		return false
	}
	switch keys := body[1:]; {
	case body[0] == moneroStandard && len(keys) == moneroKeys:
		a.setPayload(Monero, keys)
	case body[0] == moneroIntegrate && len(keys) == moneroKeys+moneroPayment:
		a.setPayload(Monero, keys[:moneroKeys])
		a.tagged = true
	case body[0] == moneroSubadress && len(keys) == moneroKeys:
		a.setPayload(MoneroSub, keys)
	default:
		return false
	}
	return true
}

// base58Value is the value of a digit in Bitcoin's order, 0xFF for any other byte.
var base58Value = base58Values()

func base58Values() (values [256]byte) {
	for i := range values {
		values[i] = 0xFF
	}
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	for i := range len(digits) {
		values[digits[i]] = byte(i)
	}
	return values
}
