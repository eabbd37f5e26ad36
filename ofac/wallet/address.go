package wallet

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/mr-tron/base58"
)

// Family is the kind of account of an address. Chains that share accounts share the family:
// an EVM account is the same on every EVM chain, and a BCH or BSV address is the key hash
// of a BTC address.
type Family uint8

// The families. The numbers are stored in compiled lists: never reuse one.
const (
	Unknown        Family = 0
	EVM            Family = 1  // 20 bytes: 0x, xdc, ICAP, 32 bytes padded, one1, inj1.
	Tron           Family = 2  // 20 bytes, in base58 (T…) or hexadecimal (41…).
	KeyHash        Family = 3  // 20 bytes: BTC, BCH and BSV 1…, cashaddr q, Copay C….
	ScriptHash     Family = 4  // 20 bytes: BTC and BCH 3…, LTC 3 and M, cashaddr p, Copay H….
	ScriptHashLong Family = 5  // 32 bytes: cashaddr of a 32-byte script hash.
	Base58Check    Family = 6  // Version and hash: LTC L, DOGE and XVG D, DASH X and 7, BTG G and A, ZEC t1 and t3.
	Bech32         Family = 7  // Prefix and data: bc1, ltc1, bnb1, zs1, addr1 and others.
	Monero         Family = 8  // Public spend and view key: standard and integrated addresses.
	MoneroSub      Family = 9  // Public spend and view key of a subaddress.
	Ripple         Family = 10 // 20 bytes: r… and X….
	Solana         Family = 11 // 32 bytes in base58.
)

// payloadMax is the length of the longest payload that is stored as it is; longer ones are
// hashed.
const payloadMax = 64

// Address is one decoded account.
type Address struct {
	family  Family
	tagged  bool // The text also has a destination tag or payment id.
	size    uint8
	payload [payloadMax]byte
}

// Family returns the kind of account.
func (a *Address) Family() Family { return a.family }

// AppendKey appends the family and the payload, which are the same for all encodings of one
// account. A TRON account has the key of the EVM account with the same payload.
func (a *Address) AppendKey(dst []byte) []byte {
	family := a.family
	if family == Tron {
		family = EVM
	}
	return append(append(dst, byte(family)), a.payload[:a.size]...)
}

func (a *Address) isEqual(b *Address) bool {
	return a.family == b.family && a.size == b.size && a.payload == b.payload
}

// setPayload fills the address; a payload that is too long is hashed.
func (a *Address) setPayload(family Family, payload ...[]byte) {
	*a = Address{family: family}
	total := 0
	for _, part := range payload {
		total += len(part)
	}
	if total > payloadMax {
		hash := sha256.New()
		for _, part := range payload {
			hash.Write(part)
		}
		hash.Sum(a.payload[:0])
		a.size = sha256.Size
		return
	}
	for _, part := range payload {
		a.size += uint8(copy(a.payload[a.size:], part))
	}
}

// accountText returns the canonical spelling of the account, which policies store and
// compare. token is the spelling that was read.
func (a *Address) accountText(token string) string {
	payload := a.payload[:a.size]
	switch {
	case a.tagged:
		return token // another tag is another party
	case a.family == EVM:
		return "0x" + hex.EncodeToString(payload)
	case a.family == Tron:
		return encodeChecked([]byte{versionTron}, payload, base58.BTCAlphabet)
	case a.family == KeyHash:
		return encodeChecked([]byte{versionKeyHash}, payload, base58.BTCAlphabet)
	case a.family == ScriptHash:
		return encodeChecked([]byte{versionScriptHash}, payload, base58.BTCAlphabet)
	case a.family == Base58Check:
		return encodeChecked(nil, payload, base58.BTCAlphabet)
	case a.family == Ripple:
		return encodeChecked([]byte{0}, payload, rippleAlphabet)
	case a.family == Bech32 || a.family == ScriptHashLong:
		return lowerText(token)
	}
	return token
}

func encodeChecked(version, payload []byte, alphabet *base58.Alphabet) string {
	data := append(append(make([]byte, 0, 32), version...), payload...)
	sum := doubleHash(data)
	return base58.EncodeAlphabet(append(data, sum[:checksumBytes]...), alphabet)
}

func doubleHash(data []byte) [sha256.Size]byte {
	first := sha256.Sum256(data)
	return sha256.Sum256(first[:])
}

func lowerText(text string) string {
	lowered := make([]byte, len(text))
	for i := range len(text) {
		lowered[i] = lowerASCII(text[i])
	}
	return string(lowered)
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
