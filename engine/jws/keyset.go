package jws

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

// The states. Tokens of a revoked key still verify, so that a credential of it gets R2 and not R1,
// but the key is not published.
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

// KeySet is the keys of one kind of token. It is immutable.
type KeySet struct {
	keys []Key // Sorted by kid, ascending.
}

// Key is one key of a set.
type Key struct {
	PublicKey
	public *ecdsa.PublicKey
}

// NewKeySet makes a key set. Errors: a kid that is not ^[a-z0-9-]{1,32}$, two keys of one kid,
// a point that is not on P-256, more than engine.SigningKeysMax keys.
func NewKeySet(keys []PublicKey) (*KeySet, error) {
	if len(keys) > engine.SigningKeysMax {
		return nil, fmt.Errorf("%d signing keys, at most %d", len(keys), engine.SigningKeysMax)
	}
	set := &KeySet{}
	for _, key := range keys {
		if !ValidKeyID(key.ID) {
			return nil, fmt.Errorf("signing key %q: kid must be 1 to %d of a-z, 0-9 and -", key.ID, KeyIDMax)
		}
		if len(key.Point) != 2*coordinateSize {
			return nil, fmt.Errorf("signing key %s: %w", key.ID, errPoint)
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, key.Point...))
		if err != nil {
			return nil, fmt.Errorf("signing key %s: %w", key.ID, err)
		}
		key.Point = slices.Clone(key.Point)
		set.keys = append(set.keys, Key{key, public})
	}
	slices.SortFunc(set.keys, func(a, b Key) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(set.keys); i++ {
		if set.keys[i].ID == set.keys[i-1].ID {
			return nil, fmt.Errorf("two signing keys %s", set.keys[i].ID)
		}
	}
	return set, nil
}

var errPoint = errors.New("a public key has 64 bytes, X then Y")

// Find returns the key of a kid, nil when there is none.
func (k *KeySet) Find(kid string) *Key {
	at, found := slices.BinarySearchFunc(k.keys, kid, func(key Key, kid string) int { return strings.Compare(key.ID, kid) })
	if !found {
		return nil
	}
	return &k.keys[at]
}

// AppendJWKS appends the JSON Web Key Set (RFC 7517) of all keys that are not
// revoked, a set after the other, by kid. Equal key sets give equal bytes, on every node.
// Coordinates are always 32 bytes, whatever zeros they begin with (RFC 7518, 6.2.1.2).
func AppendJWKS(dst []byte, sets ...*KeySet) []byte {
	dst = append(dst, `{"keys":[`...)
	first := true
	for _, set := range sets {
		for i := range set.keys {
			key := &set.keys[i]
			if key.State == KeyRevoked {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = key.appendJWK(dst)
		}
	}
	return append(dst, `]}`...)
}

func (key *Key) appendJWK(dst []byte) []byte {
	dst = append(dst, `{"kty":"EC","crv":"P-256","use":"sig","alg":"`+Algorithm+`","kid":"`...)
	dst = append(dst, key.ID...)
	dst = append(dst, `","x":"`...)
	dst = base64.RawURLEncoding.AppendEncode(dst, key.Point[:coordinateSize])
	dst = append(dst, `","y":"`...)
	dst = base64.RawURLEncoding.AppendEncode(dst, key.Point[coordinateSize:])
	return append(dst, `"}`...)
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
