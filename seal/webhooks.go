package seal

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// LabelWebhook is the label of a webhook's sealed secrets.
const LabelWebhook = "railguard webhook"

// WebhookKey is one generation of the keys that sign a webhook's messages, in the form of
// Standard Webhooks 1.0.0. It has a secret shared with the receiver (v1), and an Ed25519 key
// whose public half the receiver has (v1a).
type WebhookKey struct {
	shared []byte
	signer ed25519.PrivateKey
}

// Bounds of a shared secret, in bytes.
const (
	sharedLeast   = 24
	sharedMost    = 64
	sharedDefault = 32

	sharedPrefix = "whsec_"
	publicPrefix = "whpk_"
)

// ErrWebhookSecret says which form a secret must have.
var ErrWebhookSecret = errors.New("must be whsec_ and the base64 of 24 to 64 bytes")

// NewWebhookKey makes a key. text is the shared secret if the receiver has chosen it; "" draws
// one.
func NewWebhookKey(text string) (*WebhookKey, error) {
	k := &WebhookKey{}
	if text == "" {
		k.shared = make([]byte, sharedDefault)
		_, _ = rand.Read(k.shared) // crypto/rand never fails.
	} else {
		encoded, ok := strings.CutPrefix(text, sharedPrefix)
		shared, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(shared) < sharedLeast || len(shared) > sharedMost {
			return nil, ErrWebhookSecret
		}
		k.shared = shared
	}
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed)
	k.signer = ed25519.NewKeyFromSeed(seed)
	return k, nil
}

// Secret returns the shared secret in the form that the receiver stores. It is shown once.
func (k *WebhookKey) Secret() string {
	return sharedPrefix + base64.StdEncoding.EncodeToString(k.shared)
}

// Public returns the public half, which is not secret.
func (k *WebhookKey) Public() string {
	public, _ := k.signer.Public().(ed25519.PublicKey)
	return publicPrefix + base64.StdEncoding.EncodeToString(public)
}

// Sign returns both signatures of a message, separated by a space. at is the time of the
// attempt in seconds since 1970.
func (k *WebhookKey) Sign(id string, at int64, body []byte) string {
	signed := append(strconv.AppendInt([]byte(id+"."), at, 10), '.')
	signed = append(signed, body...)
	mac := hmac.New(sha256.New, k.shared)
	mac.Write(signed)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)) +
		" v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(k.signer, signed))
}

// SealWebhookKey seals a key: the seed, then the shared secret.
func (s *Secrets) SealWebhookKey(k *WebhookKey) ([]byte, error) {
	return s.Seal(LabelWebhook, append(append([]byte(nil), k.signer.Seed()...), k.shared...))
}

// OpenWebhookKey reverses SealWebhookKey.
func (s *Secrets) OpenWebhookKey(sealed []byte) (*WebhookKey, error) {
	plain, err := s.Open(LabelWebhook, sealed)
	if err != nil {
		return nil, err
	}
	if len(plain) < ed25519.SeedSize+sharedLeast || len(plain) > ed25519.SeedSize+sharedMost {
		return nil, errSealed
	}
	return &WebhookKey{signer: ed25519.NewKeyFromSeed(plain[:ed25519.SeedSize]), shared: plain[ed25519.SeedSize:]}, nil
}
