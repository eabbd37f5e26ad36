package client

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"sync"
	"time"
)

// publishedKeys are the keys that a service publishes. They are kept for an hour, and read again
// before that, at most once a minute, if a key is missing.
type publishedKeys struct {
	client *Client
	now    func() time.Time
	keys   *JWKS
	at     time.Time // When the keys were read.
}

// with calls do with the keys. If do finds that they lack a key (ErrTokenKey), it reads them again
// and calls do once more.
func (p *publishedKeys) with(ctx context.Context, do func(keys *JWKS) error) error {
	if p.keys == nil || p.now().Sub(p.at) >= keysKept {
		if err := p.read(ctx); err != nil {
			return err
		}
	}
	err := do(p.keys)
	if !errors.Is(err, ErrTokenKey) || p.now().Sub(p.at) < keysPause {
		return err
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	return do(p.keys)
}

func (p *publishedKeys) read(ctx context.Context) error {
	keys, err := p.client.JWKS(ctx)
	if err == nil {
		p.keys, p.at = keys, p.now()
	}
	return err
}

// PermitKeySource gives the key that a permit names: a *JWKS, or a *PermitKeys, which reads it.
type PermitKeySource interface {
	permitKey(ctx context.Context, keyID string) (*ecdsa.PublicKey, error)
}

// PermitKeys reads the keys of one issuer and keeps them for an hour. It may be used by many
// goroutines at once.
type PermitKeys struct {
	mutex     sync.Mutex
	published publishedKeys
}

// NewPermitKeys returns the keys of the service that the client calls; no API key is needed. The
// client's address is the issuer of the permits, or another address of the same service. now is the
// clock; nil means time.Now.
func NewPermitKeys(client *Client, now func() time.Time) *PermitKeys {
	if now == nil {
		now = time.Now
	}
	return &PermitKeys{published: publishedKeys{client: client, now: now}}
}

func (k *PermitKeys) permitKey(ctx context.Context, keyID string) (key *ecdsa.PublicKey, err error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	err = k.published.with(ctx, func(keys *JWKS) (err error) {
		key, err = keys.find(keyID)
		return err
	})
	return key, err
}

func (k *JWKS) permitKey(_ context.Context, keyID string) (*ecdsa.PublicKey, error) {
	return k.find(keyID)
}
