package wallet

import (
	"crypto/sha256"
	"math/big"

	"github.com/mr-tron/base58"
	"golang.org/x/crypto/ripemd160"
)

// Accounts that are computed of a listed one. The work is that of a list's compilation: no call
// waits for it.

// Derived is an account that whoever has a listed one has too.
type Derived struct {
	Account Address
	Twin    Twin
}

// AppendDerived appends what is computed of an account: of a witness program of version 0 its
// script hash, of a Solana owner its token accounts. Nothing leads back: a listed script hash
// tells no key, and a listed token account no owner.
func (a *Address) AppendDerived(dst []Derived) []Derived {
	var room [twinBytesMax]byte
	if hash, means := a.hash(&room); means&hashOfKey != 0 {
		return appendNested(dst, hash)
	}
	if version, program, ok := a.witness(&room); ok && version == 0 {
		return appendNested(dst, program)
	}
	if a.family == Solana {
		return appendTokens(dst, a.payload[:a.size])
	}
	return dst
}

// appendNested appends the script hash behind which a witness program stands (BIP 141): the script
// is the version and the program with its length.
func appendNested(dst []Derived, program []byte) []Derived {
	first := sha256.Sum256(append([]byte{0, byte(len(program))}, program...))
	second := ripemd160.New()
	second.Write(first[:])
	nested := Derived{Twin: TwinNested}
	nested.Account.setPayload(ScriptHash, second.Sum(nil))
	return append(dst, nested)
}

// Programs of Solana.
const (
	tokenProgram      = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	token2022Program  = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
	associatedProgram = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
	derivedMark       = "ProgramDerivedAddress"
)

// mints are the currencies whose token accounts are known, and their programs.
var mints = [...]struct{ mint, program string }{
	{"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", tokenProgram},     // USDC
	{"Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", tokenProgram},     // USDT
	{"HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr", tokenProgram},     // EURC
	{"So11111111111111111111111111111111111111112", tokenProgram},      // SOL as a token
	{"2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", token2022Program}, // PYUSD
}

// appendTokens appends the associated token accounts of an owner.
func appendTokens(dst []Derived, owner []byte) []Derived {
	for i := range mints {
		token := Derived{Twin: TwinToken}
		if account, ok := programAddress(mustKey(associatedProgram), owner, mustKey(mints[i].program), mustKey(mints[i].mint)); ok {
			token.Account.setPayload(Solana, account)
			dst = append(dst, token)
		}
	}
	return dst
}

func mustKey(text string) []byte {
	key, err := base58.Decode(text)
	if err != nil || len(key) != solanaBytes {
		panic("BUG: " + text + " is no key of Solana")
	}
	return key
}

// programAddress returns the address that a program derives of seeds: the hash with the highest
// bump that is no point of the curve, so that no private key can be its own.
func programAddress(program []byte, seeds ...[]byte) ([]byte, bool) {
	for bump := 255; bump >= 0; bump-- {
		hash := sha256.New()
		for _, seed := range seeds {
			hash.Write(seed)
		}
		hash.Write([]byte{byte(bump)})
		hash.Write(program)
		hash.Write([]byte(derivedMark))
		if address := hash.Sum(nil); !isPoint(address) {
			return address, true
		}
	}
	return nil, false
}

// The field of Curve25519, and d of the Edwards curve on it: -121665/121666.
var (
	fieldPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	edwardsD   = new(big.Int).Mod(new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), fieldPrime)), fieldPrime)
)

// isPoint reports whether 32 bytes are a point of Ed25519: y, little-endian below a bit of sign,
// where x² = (y²-1)/(dy²+1) is a square.
func isPoint(key []byte) bool {
	bytes := make([]byte, len(key))
	for i, c := range key {
		bytes[len(key)-1-i] = c
	}
	bytes[0] &= 0x7F
	y := new(big.Int).SetBytes(bytes)
	square := y.Mod(y.Mul(y, y), fieldPrime)
	above := new(big.Int).Sub(square, big.NewInt(1))
	below := new(big.Int).Add(new(big.Int).Mul(edwardsD, square), big.NewInt(1))
	quotient := above.Mod(above.Mul(above, below), fieldPrime) // A quotient is a square where the product is.
	return big.Jacobi(quotient, fieldPrime) >= 0
}
