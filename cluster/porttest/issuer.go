package porttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Issuer is an authority of a test.
type Issuer struct {
	t           testing.TB
	Certificate *x509.Certificate
	Key         *ecdsa.PrivateKey
}

// Files has the names of a node's three files. The type has no name of its own, so that it can
// be assigned to port.Certificates.
type Files = struct {
	Cert, Key, CA string
	Every         time.Duration
}

// PEM returns the blocks in PEM.
func PEM(kind string, ders ...[]byte) []byte {
	var out []byte
	for _, der := range ders {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})...)
	}
	return out
}

// New makes an authority, below the authority by if that is given.
func New(t testing.TB, name string, by *Issuer) *Issuer {
	i := &Issuer{t: t}
	i.Certificate, i.Key = Sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, by)
	return i
}

// Sign makes a certificate that by signs, or that signs itself if by is nil. It is valid for a
// year unless the template says otherwise.
func Sign(t testing.TB, template *x509.Certificate, by *Issuer) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(365 * 24 * time.Hour)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Certificate, by.Key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certificate, key
}

// Template returns the template of a node's certificate.
func Template(id string) *x509.Certificate {
	uri := &url.URL{Scheme: "railguard", Host: id}
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: id}, URIs: []*url.URL{uri}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

// Write puts a node's three files into a folder. change may change the certificate; between are
// the issuers between it and the authority.
func (i *Issuer) Write(dir, id string, authorities []*Issuer, change func(*x509.Certificate), between ...*Issuer) Files {
	template := Template(id)
	if change != nil {
		change(template)
	}
	leaf, key := Sign(i.t, template, i)
	chain := [][]byte{leaf.Raw}
	for _, b := range between {
		chain = append(chain, b.Certificate.Raw)
	}
	var roots [][]byte
	for _, a := range authorities {
		roots = append(roots, a.Certificate.Raw)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(i.t, err)
	c := Files{Cert: filepath.Join(dir, id+".pem"), Key: filepath.Join(dir, id+".key"), CA: filepath.Join(dir, id+".ca"), Every: 10 * time.Millisecond}
	require.NoError(i.t, os.WriteFile(c.Cert, PEM("CERTIFICATE", chain...), 0o600))
	require.NoError(i.t, os.WriteFile(c.Key, PEM("PRIVATE KEY", der), 0o600))
	require.NoError(i.t, os.WriteFile(c.CA, PEM("CERTIFICATE", roots...), 0o600))
	return c
}

// Files writes the files into a folder of their own, with this authority alone.
func (i *Issuer) Files(id string, change func(*x509.Certificate), between ...*Issuer) Files {
	return i.Write(i.t.TempDir(), id, []*Issuer{i}, change, between...)
}

// Ends changes when a certificate expires.
func Ends(at time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = at }
}

// Uses changes the usage of a certificate.
func Uses(usage x509.ExtKeyUsage) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{usage} }
}

// Below makes an authority below another, valid between two times.
func Below(by *Issuer, from, to time.Time) *Issuer {
	i := &Issuer{t: by.t}
	i.Certificate, i.Key = Sign(by.t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "old"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: from, NotAfter: to,
	}, by)
	return i
}
