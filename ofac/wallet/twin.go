package wallet

// One key has several addresses: Bitcoin's old and new forms, those of other chains that hash a
// public key alike, and what is computed of them. Decision 140 says which of them are surely one
// key's, and which only may be.

// Twin says how an address is related to a listed one.
type Twin uint8

// The relations, from the closest to the most distant. The first four are sure: nobody else can
// have the key. TwinBytes is not: the bytes are equal, and stand for something else.
const (
	TwinSame   Twin = iota // The same account, in whatever encoding.
	TwinKey                // The hash of the same key or script, on another chain or in another form.
	TwinNested             // The listed witness program behind a script hash (BIP 141).
	TwinToken              // The token account of a listed owner.
	TwinBytes              // The same 20 bytes, where they are the hash of something else.
)

var twinWords = [...]string{
	"", "another address of the same key or script", "script hash of the listed witness program", "token account of the listed owner",
	"same bytes in an address of another kind",
}

// String returns the relation in words, empty for TwinSame.
func (t Twin) String() string { return twinWords[t] }

// Sure reports whether whoever has the listed wallet has this one.
func (t Twin) Sure() bool { return t < TwinBytes }

// meaning is what the 20 bytes of an account are the hash of; an account on a chain of two kinds
// has both.
type meaning uint8

const (
	hashOfKey    meaning = 1 << iota // SHA-256, then RIPEMD-160, of a public key.
	hashOfScript                     // The same of a script.
	hashOfPoint                      // Keccak-256 of a public key: an EVM account.
)

// The first byte of a twin key. No family has these numbers.
const (
	twinHash    = 0x80 // 20 bytes, whatever they are the hash of.
	twinProgram = 0x81 // A witness program that is no key hash: version, program.
)

// AppendTwinKey appends the key under which the account stands with all that may be its twins; see
// TwinOf. Of an account without twins it is that of AppendKey.
func (a *Address) AppendTwinKey(dst []byte) []byte {
	var room [twinBytesMax]byte
	if hash, means := a.hash(&room); means != 0 {
		return append(append(dst, twinHash), hash...)
	}
	if version, program, ok := a.witness(&room); ok {
		return append(append(dst, twinProgram, version), program...)
	}
	return a.AppendKey(dst)
}

// TwinOf says how two accounts with the same twin key are related.
func (a *Address) TwinOf(listed *Address) Twin {
	var room, listedRoom [twinBytesMax]byte
	_, means := a.hash(&room)
	_, listedMeans := listed.hash(&listedRoom)
	switch {
	case a.isEqual(listed) || means == hashOfPoint && listedMeans == hashOfPoint: // A TRON account is the EVM account of its key.
		return TwinSame
	case means&listedMeans != 0 || means == 0:
		return TwinKey
	}
	return TwinBytes
}

// base58Means says what the hash behind a version is. The version of ZEC has two bytes.
var base58Means = map[byte]meaning{
	0x30: hashOfKey, 0x1E: hashOfKey, 0x26: hashOfKey, 0x4C: hashOfKey,
	0x16: hashOfScript, 0x21: hashOfScript, 0x17: hashOfScript, 0x10: hashOfScript,
}

// twinBytesMax is the length of the longest witness program.
const twinBytesMax = 40

// hash returns the 20 bytes of the account and what they are; no meaning: it has none.
func (a *Address) hash(room *[twinBytesMax]byte) (hash []byte, means meaning) {
	payload := a.payload[:a.size]
	switch a.family {
	case EVM, Tron:
		return payload, hashOfPoint
	case KeyHash, Ripple:
		return payload, hashOfKey
	case ScriptHash:
		return payload, hashOfScript
	case Base58Check:
		if len(payload) == accountBytes+1 {
			return payload[1:], base58Means[payload[0]]
		}
		if [2]byte(payload) == zcashVersions[0] {
			return payload[2:], hashOfKey
		}
		return payload[2:], hashOfScript
	case Bech32:
		kind, words := a.words()
		switch {
		case kind == prefixSegwit && words[0] == 0:
			words, means = words[1:], hashOfKey
		case kind == prefixCosmos:
			means = hashOfKey
		case kind == prefixCosmosEVM:
			means = hashOfKey | hashOfPoint
		default:
			return nil, 0
		}
		if hash = squeeze(room[:0], words); len(hash) == accountBytes {
			return hash, means
		}
	}
	return nil, 0
}

// witness returns the witness program of an address that is no key hash. The same program on
// another chain is the same script or key.
func (a *Address) witness(room *[twinBytesMax]byte) (version byte, program []byte, ok bool) {
	if a.family != Bech32 {
		return 0, nil, false
	}
	kind, words := a.words()
	if kind != prefixSegwit {
		return 0, nil, false
	}
	return words[0], squeeze(room[:0], words[1:]), true
}

// words returns the kind of a bech32 address and its data, five bits in a byte. The payload of a
// very long address is hashed and has neither.
func (a *Address) words() (kind bech32Prefix, words []byte) {
	for i := range min(int(a.size), prefixMax+1) {
		if a.payload[i] == '1' {
			return bech32Prefixes[string(a.payload[:i])], a.payload[i+1 : a.size]
		}
	}
	return 0, nil
}

// squeeze appends bytes made of five bits each; bits that fill no byte are left out, and so is what
// is longer than a witness program.
func squeeze(dst, words []byte) []byte {
	bits, count := uint32(0), 0
	for _, word := range words {
		bits, count = bits<<5|uint32(word), count+5
		if count >= 8 && len(dst) < twinBytesMax {
			count -= 8
			dst = append(dst, byte(bits>>count))
		}
	}
	return dst
}
