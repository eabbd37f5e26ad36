package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
)

// Secrets seals values that are replicated but must not be readable in a log, a snapshot or a
// disk. It uses AES-256-GCM, with a key for each label that HKDF-SHA-256 (RFC 5869) derives
// from the cluster secret. A value sealed under one label cannot be opened under another. The
// cluster secret stays with each node's operator.
//
// Older secrets open the values that were sealed under them, but seal nothing new. Secrets is
// safe for concurrent use.
type Secrets struct {
	cluster []byte
	older   [][]byte
	ciphers sync.Map // By cipherID. Deriving a key costs ten times as much as sealing a short value.
}

// cipherID names a cipher by its label and its secret: the cluster's (0) or an older one.
type cipherID struct {
	secret int
	label  string
}

// Labels of sealed values. They are part of the format: never change one.
const (
	LabelSigningKey = "railguard signing key"
	LabelLogSeed    = "railguard log seed"
	LabelEIN        = "railguard ein"

	LabelConsoleSession = "railguard console session"
	LabelSignIn         = "railguard console sign-in"

	LabelCheck = "railguard secret check"

	labelBackup = "railguard backup"
)

const (
	secretLength     = 28 // Random characters of an API key.
	keyPrefixLength  = 16 // Shown characters of an API key: rg_live_ and eight more.
	clusterSecretMin = 16 // Length of the shortest cluster secret of tests and of dev, in bytes.

	clusterSecretSize      = 32 // Bytes of a cluster secret.
	clusterSecretDifferent = 16 // Of 32 random bytes fewer are different in less than one of 10^14 cases.
)

const secretCheckText = "railguard"

var errSealed = errors.New("sealed value cannot be opened: another cluster secret, or damage")

// NewClusterSecret returns a cluster secret: 32 random bytes, in hex.
func NewClusterSecret() string {
	var random [clusterSecretSize]byte
	_, _ = rand.Read(random[:]) // crypto/rand never fails.
	return hex.EncodeToString(random[:])
}

// IsClusterSecret reports whether a text may be a cluster secret: 32 bytes in hex, which are not
// evidently chosen by hand. Whoever reaches a node's port can test guesses without asking again,
// so a phrase is no secret.
func IsClusterSecret(text string) bool {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != clusterSecretSize {
		return false
	}
	different := map[byte]bool{}
	for _, b := range raw {
		different[b] = true
	}
	return len(different) >= clusterSecretDifferent
}

// NewSecrets takes the cluster secret and older secrets. The cluster secret has at least 16
// bytes and is the same on all nodes. Some values may still be sealed under older secrets.
func NewSecrets(clusterSecret []byte, older ...[]byte) *Secrets {
	s := &Secrets{cluster: bytes.Clone(clusterSecret)}
	for _, secret := range older {
		s.older = append(s.older, bytes.Clone(secret))
	}
	return s
}

func (s *Secrets) cipherOf(of cipherID) (cipher.AEAD, error) {
	if known, ok := s.ciphers.Load(of); ok {
		return known.(cipher.AEAD), nil //nolint:forcetypeassert // Nothing else is in it.
	}
	secret := s.cluster
	if of.secret > 0 {
		secret = s.older[of.secret-1]
	}
	key, err := hkdf.Key(sha256.New, secret, []byte("railguard/1"), of.label, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err == nil {
		s.ciphers.Store(of, aead)
	}
	return aead, err
}

// HashKey returns a key for keyed hashes of what is no secret but should not be read by everybody.
// It is the same on all nodes, and another one after an exchange of the cluster secret.
func (s *Secrets) HashKey(label string) []byte {
	key, err := hkdf.Key(sha256.New, s.cluster, []byte("railguard/1"), "hash: "+label, 32)
	if err != nil {
		panic("BUG: " + err.Error()) // Only a length that is too large is refused.
	}
	return key
}

// Seal returns nonce and ciphertext of plain under label.
func (s *Secrets) Seal(label string, plain []byte) ([]byte, error) {
	aead, err := s.cipherOf(cipherID{label: label})
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("nonce: %w", err)
	}
	return aead.Seal(nonce, nonce, plain, []byte(label)), nil
}

// Open reverses Seal. It fails for another label, secret or changed bytes.
func (s *Secrets) Open(label string, sealed []byte) ([]byte, error) {
	plain, _, err := s.openAny(label, sealed)
	return plain, err
}

// openAny opens a value and returns which secret had sealed it: 0 is the cluster's, higher
// numbers are older ones.
func (s *Secrets) openAny(label string, sealed []byte) (plain []byte, by int, err error) {
	for by = 0; by <= len(s.older); by++ {
		if plain, err = s.openWith(cipherID{by, label}, sealed); err == nil {
			return plain, by, nil
		}
	}
	return nil, 0, err
}

func (s *Secrets) openWith(of cipherID, sealed []byte) ([]byte, error) {
	aead, err := s.cipherOf(of)
	if err != nil {
		return nil, err
	}
	if len(sealed) < aead.NonceSize() {
		return nil, errSealed
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], []byte(of.label))
	if err != nil {
		return nil, errSealed
	}
	return plain, nil
}

// BackupPassphrases returns the passphrases of the cluster's own backups, that of the cluster secret
// first. Each has 32 bytes, in hex.
func (s *Secrets) BackupPassphrases() (all []string, err error) {
	for _, secret := range append([][]byte{s.cluster}, s.older...) {
		key, err := hkdf.Key(sha256.New, secret, []byte("railguard/1"), labelBackup, 32)
		if err != nil {
			return nil, fmt.Errorf("derive key: %w", err)
		}
		all = append(all, hex.EncodeToString(key))
	}
	return all, nil
}

// OlderCount returns how many older secrets there are.
func (s *Secrets) OlderCount() int { return len(s.older) }

// SealedByOlder reports whether an older secret sealed a value. The value must then be sealed
// again before that secret may be dropped. It returns an error if no secret opens the value.
func (s *Secrets) SealedByOlder(label string, sealed []byte) (bool, error) {
	_, by, err := s.openAny(label, sealed)
	return by > 0, err
}

// Reseal seals a value again under the cluster secret. The result has the same length.
func (s *Secrets) Reseal(label string, sealed []byte) ([]byte, error) {
	plain, err := s.Open(label, sealed)
	if err != nil {
		return nil, err
	}
	return s.Seal(label, plain)
}

// Check returns an error unless this secret sealed the cluster's constant
// (wire.Genesis.SecretCheck).
func (s *Secrets) Check(sealed []byte) error {
	plain, err := s.Open(LabelCheck, sealed)
	if err != nil {
		return err
	}
	if string(plain) != secretCheckText {
		return errSealed
	}
	return nil
}

// NewAPISecret returns a fresh API key secret: rg_live_ and 28 base62 characters.
func NewAPISecret() string { return newAPISecret("rg_live_") }

// NewTestSecret returns an API key secret for a sandbox: rg_test_ and 28 base62 characters.
func NewTestSecret() string { return newAPISecret("rg_test_") }

func newAPISecret(prefix string) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	secret := []byte(prefix)
	var random [64]byte
	for len(secret) < len(prefix)+secretLength {
		_, _ = rand.Read(random[:]) // crypto/rand never fails.
		for _, b := range random {
			if int(b) < 4*len(alphabet) && len(secret) < len(prefix)+secretLength { // Without this bound some characters would be more likely than others.
				secret = append(secret, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(secret)
}

// KeyPrefix returns the part of a secret that may be shown.
func KeyPrefix(secret string) string { return secret[:min(len(secret), keyPrefixLength)] }

// HashAPISecret returns the hash of a secret, which is stored in its place.
func HashAPISecret(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

// NewKeyID returns a fresh API key id: key_ and 12 base32 characters.
func NewKeyID() string { return newID("key_") }

// NewCallerID returns the id of a new owner of keys that is no operator: cal_ and 12 base32
// characters.
func NewCallerID() string { return newID("cal_") }

func newID(prefix string) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	var random [12]byte
	_, _ = rand.Read(random[:])
	id := []byte(prefix)
	for _, b := range random {
		id = append(id, alphabet[b&31])
	}
	return string(id)
}
