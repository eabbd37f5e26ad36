package credential

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"railguard/engine"
)

// KeyState is the state of a signing key (decision 56).
type KeyState uint8

// The states. Tokens of a revoked key still verify, so that they get R2 and not R1, but the key
// is not published.
const (
	KeyActive KeyState = iota
	KeyRevoked
)

// PublicKey is one P-256 signing key of the cluster.
type PublicKey struct {
	ID    string // kid: never given to another key.
	Point []byte // X then Y, 32 bytes each, leading zeros kept.
	State KeyState
}

const coordinateSize = 32

// KeySet is the keys of the cluster and the issuer they sign for. It is immutable.
type KeySet struct {
	issuer string
	keys   []setKey // Sorted by kid, ascending.
}

type setKey struct {
	PublicKey
	public *ecdsa.PublicKey
}

// NewKeySet makes a key set. Errors: a kid that is not ^[a-z0-9-]{1,32}$, two keys of one kid,
// a point that is not on P-256, more than engine.SigningKeysMax keys.
func NewKeySet(issuer string, keys []PublicKey) (*KeySet, error) {
	if len(keys) > engine.SigningKeysMax {
		return nil, fmt.Errorf("%d signing keys, at most %d", len(keys), engine.SigningKeysMax)
	}
	set := &KeySet{issuer: issuer}
	for _, key := range keys {
		if !validKeyID(key.ID) {
			return nil, fmt.Errorf("signing key %q: kid must be 1 to %d of a-z, 0-9 and -", key.ID, kidMax)
		}
		if len(key.Point) != 2*coordinateSize {
			return nil, fmt.Errorf("signing key %s: %w", key.ID, errPoint)
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, key.Point...))
		if err != nil {
			return nil, fmt.Errorf("signing key %s: %w", key.ID, err)
		}
		key.Point = slices.Clone(key.Point)
		set.keys = append(set.keys, setKey{key, public})
	}
	slices.SortFunc(set.keys, func(a, b setKey) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(set.keys); i++ {
		if set.keys[i].ID == set.keys[i-1].ID {
			return nil, fmt.Errorf("two signing keys %s", set.keys[i].ID)
		}
	}
	return set, nil
}

var errPoint = errors.New("a public key has 64 bytes, X then Y")

// findKey returns the key of a kid, nil when there is none.
func (k *KeySet) findKey(kid string) *setKey {
	at, found := slices.BinarySearchFunc(k.keys, kid, func(key setKey, kid string) int { return strings.Compare(key.ID, kid) })
	if !found {
		return nil
	}
	return &k.keys[at]
}

// AppendJWKS appends the JSON Web Key Set (RFC 7517) of all keys that are not
// revoked, by kid. Equal key sets give equal bytes, on every node. Coordinates
// are always 32 bytes, whatever zeros they begin with (RFC 7518, 6.2.1.2).
func (k *KeySet) AppendJWKS(dst []byte) []byte {
	dst = append(dst, `{"keys":[`...)
	first := true
	for i := range k.keys {
		key := &k.keys[i]
		if key.State == KeyRevoked {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, `{"kty":"EC","crv":"P-256","use":"sig","alg":"`+algorithm+`","kid":"`...)
		dst = append(dst, key.ID...)
		dst = append(dst, `","x":"`...)
		dst = base64.RawURLEncoding.AppendEncode(dst, key.Point[:coordinateSize])
		dst = append(dst, `","y":"`...)
		dst = base64.RawURLEncoding.AppendEncode(dst, key.Point[coordinateSize:])
		dst = append(dst, `"}`...)
	}
	return append(dst, `]}`...)
}

// PublicPoint returns the 64 bytes of a P-256 public key, as PublicKey wants them.
func PublicPoint(key *ecdsa.PublicKey) ([]byte, error) {
	if key.Curve != elliptic.P256() {
		return nil, errPoint
	}
	encoded, err := key.Bytes()
	if err != nil {
		return nil, err
	}
	return encoded[1:], nil
}
