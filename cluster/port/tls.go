package port

import (
	"bytes"
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
	"strings"
	"time"

	"railguard/cluster/nodekey"
)

// secretMin is the shortest cluster secret.
const secretMin = 16

// identityScheme is the scheme of the URI in a node's certificate: railguard://n1.
const identityScheme = "railguard"

// Authority says which nodes are accepted on the port between nodes, and has this node's own
// certificate. It never changes. There are two kinds.
//
// The cluster's own authority has a key that is derived from the cluster secret. So every node
// that knows the secret has it and issues a certificate for its own key; there is nothing to
// distribute or renew. The authority only proves that the secret is known: the key says which
// node it is. A given authority has the operator's certificates, read from files
// (certificates.go), and says itself which node it is. A peer that cannot prove itself to the
// authority gets no further than the handshake.
type Authority struct {
	pool     *x509.CertPool
	own      tls.Certificate
	now      func() time.Time // The clock by which dates are judged.
	dated    bool             // Its certificates expire.
	chainMax int              // Most certificates that a peer may show.
	distrust string           // The error text for a peer whose certificate does not lead to pool.
	until    time.Time        // When own expires; zero: never.
	bound    bool             // A peer's incarnation must be the digest of its certificate's key.
}

// Certificates must be valid on a node whose clock is wrong by years: the secret is the proof,
// and dates are not.
var (
	certificateFrom = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	certificateTo   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	certificateNow  = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
)

// NewAuthority derives the authority of a secret, with which the node of that id and key proves
// itself. Nodes that prove one of the secrets in also are accepted too.
func NewAuthority(secret []byte, id string, own *nodekey.Key, also ...[]byte) (*Authority, error) {
	root, key, err := rootOf(secret)
	if err != nil {
		return nil, err
	}
	a := &Authority{
		pool: x509.NewCertPool(), now: certificateNow, chainMax: 1,
		distrust: "peer does not know this cluster's secret", bound: true,
	}
	a.pool.AddCert(root)
	for _, other := range also {
		believed, _, err := rootOf(other)
		if err != nil {
			return nil, err
		}
		a.pool.AddCert(believed)
	}
	a.own, err = issueCertificate(root, key, id, own)
	return a, err
}

// rootOf derives the authority of a secret. The result is always the same.
func rootOf(secret []byte) (*x509.Certificate, ed25519.PrivateKey, error) {
	if len(secret) < secretMin {
		return nil, nil, fmt.Errorf("cluster: the cluster secret must have at least %d bytes", secretMin)
	}
	seed, err := hkdf.Key(sha256.New, secret, []byte("railguard"), "cluster certificate authority 1", ed25519.SeedSize)
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: authority key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "railguard cluster"},
		NotBefore: certificateFrom, NotAfter: certificateTo,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(nil, root, root, key.Public(), key) // Ed25519 needs no randomness.
	if err != nil {
		return nil, nil, fmt.Errorf("cluster: authority: %w", err)
	}
	if root, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, fmt.Errorf("cluster: authority: %w", err)
	}
	return root, key, nil
}

// issueCertificate makes a certificate for the node's name and key. Each start makes a new one.
func issueCertificate(root *x509.Certificate, key ed25519.PrivateKey, id string, own *nodekey.Key) (tls.Certificate, error) {
	name, err := NodeURI(id)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: id},
		NotBefore: certificateFrom, NotAfter: certificateTo,
		URIs:        []*url.URL{name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, own.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("cluster: certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own.Private()}, nil
}

// makeConfig returns a configuration for TLS 1.3 in which the authority proves both sides. Host
// names mean nothing here: the URI in a peer's certificate says who it is.
func (a *Authority) makeConfig() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{a.own},
		// The certificate is shown whatever authorities the listener names. It names none
		// (ClientCAs is empty), so that a stranger does not learn them.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &a.own, nil },
		ClientAuth:           tls.RequireAnyClientCert,
		// VerifyConnection verifies the chain, on both sides alike. Only the host name is not
		// checked.
		InsecureSkipVerify:     true,
		VerifyConnection:       func(state tls.ConnectionState) error { _, err := a.peerID(state); return err },
		SessionTicketsDisabled: true, // A resumed session would not be proven again.
		Time:                   a.now,
	}
}

// Until returns when the own certificate expires; zero: never.
func (a *Authority) Until() time.Time { return a.until }

// Equal reports whether two authorities show the same certificate and accept the same others.
func (a *Authority) Equal(other *Authority) bool {
	return bytes.Equal(a.own.Certificate[0], other.own.Certificate[0]) && a.pool.Equal(other.pool)
}

// peerID verifies the peer's chain and returns its node id.
func (a *Authority) peerID(state tls.ConnectionState) (string, error) {
	id, _, err := a.provePeer(state)
	return id, err
}

// provePeer verifies the peer's chain and returns its node id and the digest of its key. There is
// no digest where certificates are given.
func (a *Authority) provePeer(state tls.ConnectionState) (id, key string, err error) {
	if len(state.PeerCertificates) == 0 || len(state.PeerCertificates) > a.chainMax {
		return "", "", fmt.Errorf("cluster: peer shows %d certificates, 1 to %d are allowed", len(state.PeerCertificates), a.chainMax)
	}
	if _, err := a.verifyChain(state.PeerCertificates); err != nil {
		return "", "", err
	}
	leaf := state.PeerCertificates[0]
	if a.bound {
		public, is := leaf.PublicKey.(ed25519.PublicKey)
		if !is {
			return "", "", errors.New("cluster: the certificate's key is no node's: it must be Ed25519")
		}
		key = nodekey.DigestOf(public)
	}
	id, err = NodeID(leaf)
	return id, key, err
}

// nodeUsages are the usages of a node's certificate: a node dials and listens.
var nodeUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}

// verifyChain verifies a chain, the leaf first, and returns when the proof ends: when the first
// certificate on the way up expires.
func (a *Authority) verifyChain(chain []*x509.Certificate) (until time.Time, err error) {
	leaf, between := chain[0], x509.NewCertPool()
	for _, certificate := range chain[1:] {
		between.AddCert(certificate)
	}
	for _, usage := range nodeUsages { // Each is checked by itself: Verify is satisfied with any one of several.
		chains, err := leaf.Verify(x509.VerifyOptions{
			Roots: a.pool, Intermediates: between, CurrentTime: a.now(), KeyUsages: []x509.ExtKeyUsage{usage},
		})
		if err != nil {
			return time.Time{}, a.refusalOf(leaf, err)
		}
		end := time.Time{}
		for _, way := range chains {
			if ends := earliestEnd(way); ends.After(end) {
				end = ends
			}
		}
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return until, nil
}

func earliestEnd(chain []*x509.Certificate) time.Time {
	end := chain[0].NotAfter
	for _, certificate := range chain[1:] {
		if certificate.NotAfter.Before(end) {
			end = certificate.NotAfter
		}
	}
	return end
}

// refusalOf returns why a chain proves nothing. Errors about dates give this node's time, which
// may be what is wrong.
func (a *Authority) refusalOf(leaf *x509.Certificate, err error) error {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) {
		switch {
		case invalid.Reason == x509.Expired && !a.dated: // It expires, so our cluster's authority did not issue it.
			return errors.New("cluster: " + a.distrust)
		case invalid.Reason == x509.Expired:
			c := invalid.Cert
			return fmt.Errorf("cluster: certificate of %s is good from %s to %s, and this node's clock says %s: renew it, or set the clock",
				subjectOf(c), instantText(c.NotBefore), instantText(c.NotAfter), instantText(a.now()))
		case invalid.Reason == x509.IncompatibleUsage:
			return fmt.Errorf("cluster: certificate of %s must be good for both server and client authentication", subjectOf(leaf))
		}
	}
	return fmt.Errorf("cluster: %s: %w", a.distrust, err)
}

func instantText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// subjectOf returns a certificate's name for people.
func subjectOf(c *x509.Certificate) string {
	if id, err := NodeID(c); err == nil {
		return fmt.Sprintf("node %q", id)
	}
	return fmt.Sprintf("%q", c.Subject.String())
}

// NodeURI is the name that a node's certificate must carry, as its one URI of the
// scheme railguard: railguard://n1. Nothing else in a certificate names a node.
func NodeURI(id string) (*url.URL, error) {
	if err := ValidID(id); err != nil {
		return nil, err
	}
	if strings.Contains("."+id+".", "..") { // x509 takes it for a malformed host name.
		return nil, fmt.Errorf("cluster: node id %q cannot stand in a certificate: dots only between other characters", id)
	}
	return &url.URL{Scheme: identityScheme, Host: id}, nil
}

// NodeID returns the node that a certificate is issued to, by the rule of NodeURI.
// It verifies nothing else.
func NodeID(c *x509.Certificate) (string, error) {
	if c.IsCA {
		return "", errors.New("cluster: the certificate is an authority's, not a node's")
	}
	if c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return "", errors.New("cluster: the certificate's key must not sign handshakes")
	}
	id, found := "", false
	for _, uri := range c.URIs {
		if uri.Scheme != identityScheme {
			continue
		}
		if found {
			return "", errors.New("cluster: the certificate names more than one node")
		}
		found = true
		id = uri.Host
		if exact, err := NodeURI(id); err != nil || *exact != *uri {
			return "", fmt.Errorf("cluster: the certificate's URI %q is not of the form %s://ID", uri, identityScheme)
		}
	}
	if !found {
		return "", fmt.Errorf("cluster: the certificate names no node (it needs the URI %s://ID)", identityScheme)
	}
	return id, nil
}
