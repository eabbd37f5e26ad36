package cluster

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// secretMin is the shortest cluster secret.
const secretMin = 16

// identityScheme is that of the URI in a node's certificate: railguard://n1.
const identityScheme = "railguard"

// authority is the private certificate authority of a cluster. Its key is derived
// from the cluster secret, so every node that knows the secret has it and issues
// its own certificate; there is nothing to distribute and nothing to renew. Who
// does not know the secret gets no further than the handshake.
type authority struct {
	pool *x509.CertPool
	own  tls.Certificate
}

// Certificates must hold on a node whose clock is wrong by years: the secret is
// the proof, the dates are not.
var (
	certificateFrom = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	certificateTo   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	certificateNow  = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
)

func newAuthority(secret []byte, id string) (*authority, error) {
	if len(secret) < secretMin {
		return nil, fmt.Errorf("cluster: the cluster secret must have at least %d bytes", secretMin)
	}
	seed, err := hkdf.Key(sha256.New, secret, []byte("railguard"), "cluster certificate authority 1", ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("cluster: authority key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "railguard cluster"},
		NotBefore: certificateFrom, NotAfter: certificateTo,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(nil, root, root, key.Public(), key) // Ed25519 needs no randomness.
	if err != nil {
		return nil, fmt.Errorf("cluster: authority: %w", err)
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("cluster: authority: %w", err)
	}
	a := &authority{pool: x509.NewCertPool()}
	a.pool.AddCert(root)
	a.own, err = issue(root, key, id)
	return a, err
}

// issue makes this start's certificate for the node's name.
func issue(root *x509.Certificate, key ed25519.PrivateKey, id string) (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: id},
		NotBefore: certificateFrom, NotAfter: certificateTo,
		URIs:        []*url.URL{{Scheme: identityScheme, Host: id}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, public, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cluster: certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, nil
}

// config is TLS 1.3 with both sides proven by the authority. Host names mean
// nothing here; who the peer is stands in its certificate's URI.
func (a *authority) config() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{a.own},
		ClientAuth:   tls.RequireAnyClientCert,
		ClientCAs:    a.pool,
		// The chain is verified by VerifyConnection, on both sides alike: what is
		// skipped is the host name.
		InsecureSkipVerify:     true,
		VerifyConnection:       func(state tls.ConnectionState) error { _, err := a.peerID(state); return err },
		SessionTicketsDisabled: true,
		Time:                   certificateNow,
	}
}

// peerID verifies the peer's chain and returns its node id.
func (a *authority) peerID(state tls.ConnectionState) (string, error) {
	if len(state.PeerCertificates) != 1 {
		return "", errors.New("cluster: peer shows no certificate of its own")
	}
	leaf := state.PeerCertificates[0]
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots: a.pool, CurrentTime: certificateNow(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return "", fmt.Errorf("cluster: peer does not know this cluster's secret: %w", err)
	}
	if len(leaf.URIs) != 1 || leaf.URIs[0].Scheme != identityScheme || leaf.IsCA {
		return "", errors.New("cluster: peer's certificate names no node")
	}
	id := leaf.URIs[0].Host
	return id, validID(id)
}
