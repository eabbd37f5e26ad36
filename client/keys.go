package client

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"time"
)

// publishedKeys are the keys that a service publishes. They serve for an hour, and are read anew from the
// half of it on, and before that, at most once a minute, if a key is missing.
type publishedKeys struct{ kept[*JWKS] }

func newPublishedKeys(client *Client, now func() time.Time) *publishedKeys {
	return &publishedKeys{kept[*JWKS]{now: now, fetch: func(ctx context.Context, now time.Time) (known[*JWKS], error) {
		keys, err := client.JWKS(ctx)
		return known[*JWKS]{value: keys, fresh: now.Add(keysFresh), end: now.Add(keysKept)}, err
	}}}
}

// with calls do with the keys. If do finds that they lack a key (ErrTokenKey), it reads them again
// and calls do once more.
func (p *publishedKeys) with(ctx context.Context, do func(keys *JWKS) error) error {
	present, err := p.get(ctx)
	if err != nil {
		return err
	}
	err = do(present.value)
	if !errors.Is(err, ErrTokenKey) || p.now().Sub(present.read) < keysPause {
		return err
	}
	if present, err = p.renew(ctx, present.read); err != nil {
		return err
	}
	return do(present.value)
}

// PermitKeySource gives the key that a permit names: a *JWKS, or a *PermitKeys, which reads it.
type PermitKeySource interface {
	permitKey(ctx context.Context, keyID string) (*ecdsa.PublicKey, error)
}

// PermitKeys reads the keys of one issuer and keeps them for an hour. It may be used by many
// goroutines at once: one reading serves all, and each waits as long as its own context allows.
type PermitKeys struct{ published *publishedKeys }

// NewPermitKeys returns the keys of the service that the client calls; no API key is needed. The
// client's address is the issuer of the permits, or another address of the same service. now is the
// clock; nil means time.Now.
func NewPermitKeys(client *Client, now func() time.Time) *PermitKeys {
	if now == nil {
		now = time.Now
	}
	return &PermitKeys{newPublishedKeys(client, now)}
}

func (k *PermitKeys) permitKey(ctx context.Context, keyID string) (key *ecdsa.PublicKey, err error) {
	err = k.published.with(ctx, func(keys *JWKS) (err error) {
		key, err = keys.find(keyID)
		return err
	})
	return key, err
}

func (k *JWKS) permitKey(_ context.Context, keyID string) (*ecdsa.PublicKey, error) {
	return k.find(keyID)
}
