package main

import (
	"encoding/hex"

	"filippo.io/age"
)

func hexOf(data []byte) string { return hex.EncodeToString(data) }

// testIdentity is a key pair of age.
type testIdentity struct{ identity, recipient string }

func newTestIdentity() (*testIdentity, error) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	return &testIdentity{key.String(), key.Recipient().String()}, nil
}
