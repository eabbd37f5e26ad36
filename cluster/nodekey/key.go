package nodekey

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

const (
	digestSize = 16 // Bytes. Nobody finds another key with the digest of a given one: 2^128 keys would have to be tried.
	pemType    = "PRIVATE KEY"
)

// Key is a node's key. It never leaves the node's data folder.
type Key struct{ private ed25519.PrivateKey }

// Draw makes a new key.
func Draw() (*Key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &Key{private}, nil
}

// Parse reads the bytes of a key's file.
func Parse(data []byte) (*Key, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != pemType || len(rest) != 0 {
		return nil, errors.New("not one private key in PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	private, is := parsed.(ed25519.PrivateKey)
	if !is {
		return nil, fmt.Errorf("a %T, and a node's key is Ed25519", parsed)
	}
	return &Key{private}, nil
}

// Encode returns the bytes of the key's file.
func (k *Key) Encode() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// Private returns the key that signs handshakes.
func (k *Key) Private() ed25519.PrivateKey { return k.private }

// Public returns what the node's certificates carry.
func (k *Key) Public() ed25519.PublicKey {
	return ed25519.PublicKey(k.private[ed25519.PrivateKeySize-ed25519.PublicKeySize:])
}

// Digest returns the name by which the group knows the key: the node's incarnation.
func (k *Key) Digest() string { return DigestOf(k.Public()) }

// DigestOf returns the digest of a public key, as 32 hex characters.
func DigestOf(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:digestSize])
}
