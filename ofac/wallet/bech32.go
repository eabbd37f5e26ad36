package wallet

import (
	"strings"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// Addresses in bech32, bech32m and cashaddr do not depend on case.

// bech32Prefix says how the data behind a human-readable prefix is read.
type bech32Prefix uint8

const (
	prefixPlain     bech32Prefix = iota + 1 // any data with a valid checksum
	prefixSegwit                            // BIP 173 and 350: a version, a program
	prefixEVM                               // the 20 bytes of an EVM account
	prefixZcash                             // the key hash of a t1 address
	prefixCosmos                            // an account of the Cosmos SDK: 20 bytes are the hash of a key
	prefixCosmosEVM                         // such an account, or that of an EVM key: the chain has both
)

var bech32Prefixes = map[string]bech32Prefix{
	"bc": prefixSegwit, "ltc": prefixSegwit, "btg": prefixSegwit, "vtc": prefixSegwit, "dgb": prefixSegwit, "grs": prefixSegwit,
	"inj": prefixEVM, "one": prefixEVM, "evmos": prefixEVM, "tex": prefixZcash,
	"zs": prefixPlain, "u": prefixPlain, "addr": prefixPlain, "stake": prefixPlain, "erd": prefixPlain, "ckb": prefixPlain, "ltcmweb": prefixPlain,
	"bnb": prefixCosmos, "cosmos": prefixCosmos, "osmo": prefixCosmos, "thor": prefixCosmos, "terra": prefixCosmos, "axelar": prefixCosmos,
	"celestia": prefixCosmos, "dydx": prefixCosmos, "akash": prefixCosmos, "juno": prefixCosmos, "secret": prefixCosmos,
	"kava": prefixCosmosEVM, "sei": prefixCosmosEVM,
}

const (
	bech32TextMin = 14
	prefixMax     = len("celestia")
)

// parseBech32 reads bech32 or bech32m with a known prefix.
func parseBech32(a *Address, token string) bool {
	if len(token) < bech32TextMin {
		return false
	}
	one := strings.LastIndexByte(token, '1')
	var room [prefixMax]byte
	if one < 1 || one > prefixMax {
		return false
	}
	for i := range one {
		room[i] = lowerASCII(token[i])
	}
	reading, ok := bech32Prefixes[string(room[:one])]
	if !ok {
		return false
	}
	prefix, data, version, err := bech32.DecodeNoLimitWithVersion(lowerText(token))
	if err != nil || len(data) == 0 {
		return false
	}
	if reading == prefixPlain || reading == prefixCosmos || reading == prefixCosmosEVM {
		a.setPayload(Bech32, []byte(prefix), []byte{'1'}, data)
		return true
	}
	if reading == prefixSegwit {
		return parseSegwit(a, prefix, data, version)
	}
	account, err := bech32.ConvertBits(data, 5, 8, false)
	if err != nil || len(account) != accountBytes {
		return false
	}
	if reading == prefixEVM {
		a.setPayload(EVM, account)
	} else {
		a.setPayload(Base58Check, zcashVersions[0][:], account)
	}
	return true
}

// parseSegwit checks a witness program: version 0 in bech32 with 20 or 32 bytes,
// later versions in bech32m with 2 to 40.
func parseSegwit(a *Address, prefix string, data []byte, version bech32.Version) bool {
	program, err := bech32.ConvertBits(data[1:], 5, 8, false)
	if err != nil || data[0] > 16 || len(program) < 2 || len(program) > 40 {
		return false
	}
	if data[0] == 0 {
		if version != bech32.Version0 || len(program) != 20 && len(program) != 32 {
			return false
		}
	} else if version != bech32.VersionM {
		return false
	}
	a.setPayload(Bech32, []byte(prefix), []byte{'1'}, data)
	return true
}

// cashPrefixes are the chains whose addresses are BCH's own key and script hashes. The
// checksum covers the prefix, which is seldom written.
var cashPrefixes = [...]string{"bitcoincash", "simpleledger", "ecash"}

const (
	cashTextMin, cashTextMax = 42, 61 // text lengths for hashes of 20 and of 32 bytes
	cashChecksum             = 8
	bech32Digits             = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
)

// parseCash reads a cashaddr without its prefix.
func parseCash(a *Address, token string) bool {
	if len(token) != cashTextMin && len(token) != cashTextMax {
		return false
	}
	var room [cashTextMax]byte
	values := room[:len(token)]
	for i := range values {
		value := strings.IndexByte(bech32Digits, lowerASCII(token[i]))
		if value < 0 {
			return false
		}
		values[i] = byte(value)
	}
	for _, prefix := range cashPrefixes {
		if cashSum(prefix, values) == 0 {
			return parseCashHash(a, values[:len(values)-cashChecksum])
		}
	}
	return false
}

// parseCashHash reads the version byte and the hash. Types 0 and 2 (for tokens)
// are key hashes, 1 and 3 script hashes.
func parseCashHash(a *Address, values []byte) bool {
	data, err := bech32.ConvertBits(values, 5, 8, false)
	if err != nil || len(data) < 1+accountBytes || data[0]&0x80 != 0 {
		return false
	}
	kind, size, hash := data[0]>>3, data[0]&7, data[1:]
	switch {
	case size == 0 && len(hash) == accountBytes && (kind == 0 || kind == 2):
		a.setPayload(KeyHash, hash)
	case size == 0 && len(hash) == accountBytes && (kind == 1 || kind == 3):
		a.setPayload(ScriptHash, hash)
	case size == 3 && len(hash) == 32 && (kind == 1 || kind == 3):
		a.setPayload(ScriptHashLong, hash)
	default:
		return false
	}
	return true
}

// cashSum is the checksum of the cashaddr specification; 0 means valid.
func cashSum(prefix string, values []byte) uint64 {
	sum := uint64(1)
	for i := range len(prefix) {
		sum = cashStep(sum, prefix[i]&31)
	}
	sum = cashStep(sum, 0)
	for _, value := range values {
		sum = cashStep(sum, value)
	}
	return sum ^ 1
}

var cashGenerators = [...]uint64{0x98f2bc8e61, 0x79b76d99e2, 0xf33e5fb3c4, 0xae2eabe2a8, 0x1e4f43e470}

func cashStep(sum uint64, value byte) uint64 {
	top := sum >> 35
	sum = (sum&0x07ffffffff)<<5 ^ uint64(value)
	for i, generator := range cashGenerators {
		if top>>i&1 != 0 {
			sum ^= generator
		}
	}
	return sum
}
