package main

import (
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"

	"filippo.io/age"
)

// newFront serves a handler on loopback and returns its address.
func newFront(t testing.TB, handle http.HandlerFunc) string {
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

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
