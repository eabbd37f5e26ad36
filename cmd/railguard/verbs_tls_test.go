package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
)

// runCommand runs the program once. It returns what it prints and its exit code.
func runCommand(t *testing.T, args ...string) (out string, code int, err error) {
	root := newRoot()
	var buffer bytes.Buffer
	root.SetOut(&buffer)
	root.SetErr(&buffer)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	var coded *exitError
	switch {
	case err == nil:
	case errors.As(err, &coded):
		code = coded.code
	default:
		code = exitFailed
	}
	return buffer.String(), code, err
}

func mustRun(t *testing.T, args ...string) string {
	out, _, err := runCommand(t, args...)
	require.NoError(t, err, args)
	return out
}

func requireUsage(t *testing.T, want string, args ...string) {
	_, code, err := runCommand(t, args...)
	require.ErrorContains(t, err, want, args)
	require.Equal(t, exitUsage, code, args)
}

func readCertificate(t *testing.T, path string) *x509.Certificate {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	block, _ := pem.Decode(data)
	require.NotNil(t, block)
	c, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return c
}

// certificatesOf returns the paths of a node's files beside its authority's.
func certificatesOf(dir, id string) port.Certificates {
	return port.Certificates{Cert: filepath.Join(dir, id+".pem"), Key: filepath.Join(dir, id+".key"), CA: filepath.Join(dir, authorityFile)}
}

func TestTLSInitAndIssue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "authority")
	mustRun(t, "tls", "init", "--dir", dir, "--name", "acme nodes", "--days", "30")
	require.Contains(t, mustRun(t, "tls", "issue", "--dir", dir, "--id", "n1"), "Shorter than asked for")
	mustRun(t, "tls", "issue", "--dir", dir, "--id", "n2", "--days", "3", "--dns", "guard.example.org,*.guard.example.org", "--ip", "10.0.0.1,::1")
	for _, id := range []string{"n1", "n2"} {
		c := certificatesOf(dir, id)
		require.NoError(t, c.Check(id, time.Now()))
		require.ErrorContains(t, c.Check("n3", time.Now()), "this node is")
		require.Error(t, c.Check(id, time.Now().Add(31*24*time.Hour)))
	}
	for path, mode := range map[string]os.FileMode{"": 0o700, "ca.key": 0o600, "n1.key": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
	second := readCertificate(t, filepath.Join(dir, "n2.pem"))
	require.NoError(t, second.VerifyHostname("guard.example.org"))
	require.NoError(t, second.VerifyHostname("::1"))
	require.Equal(t, "acme nodes", second.Issuer.CommonName)

	requireUsage(t, "never overwritten", "tls", "init", "--dir", dir)
	requireUsage(t, "--renew", "tls", "issue", "--dir", dir, "--id", "n1")
	requireUsage(t, "railguard tls init makes one", "tls", "issue", "--dir", t.TempDir(), "--id", "n1")
	requireUsage(t, "cannot stand in a certificate", "tls", "issue", "--dir", dir, "--id", "n..1")
	requireUsage(t, "only letters", "tls", "issue", "--dir", dir, "--id", "../n1")
	requireUsage(t, "give it with --ip", "tls", "issue", "--dir", dir, "--id", "n3", "--dns", "10.0.0.1")
	requireUsage(t, "not a host name", "tls", "issue", "--dir", dir, "--id", "n3", "--dns", "a b")
	requireUsage(t, "--days", "tls", "issue", "--dir", dir, "--id", "n3", "--days", "0")
	requireUsage(t, "--new-key goes with --renew", "tls", "issue", "--dir", dir, "--id", "n3", "--new-key")
	requireUsage(t, "required", "tls", "issue", "--dir", dir)
	requireUsage(t, "required", "tls", "init")
	requireUsage(t, "nothing to renew", "tls", "issue", "--dir", dir, "--id", "n3", "--renew")
}

func TestTLSRenew(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	mustRun(t, "tls", "init", "--dir", dir)
	mustRun(t, "tls", "issue", "--dir", dir, "--out", out, "--id", "n1", "--dns", "a.example.org", "--days", "2")
	files := func() (certificate *x509.Certificate, key []byte) {
		key, err := os.ReadFile(filepath.Join(out, "n1.key"))
		require.NoError(t, err)
		c := port.Certificates{Cert: filepath.Join(out, "n1.pem"), Key: filepath.Join(out, "n1.key"), CA: filepath.Join(dir, authorityFile)}
		require.NoError(t, c.Check("n1", time.Now()))
		return readCertificate(t, filepath.Join(out, "n1.pem")), key
	}
	first, firstKey := files()
	mustRun(t, "tls", "issue", "--dir", dir, "--out", out, "--id", "n1", "--renew")
	second, secondKey := files()
	require.True(t, second.NotAfter.After(first.NotAfter))
	require.NotEqual(t, first.SerialNumber, second.SerialNumber)
	require.Equal(t, first.DNSNames, second.DNSNames)
	require.Equal(t, firstKey, secondKey)
	mustRun(t, "tls", "issue", "--dir", dir, "--out", out, "--id", "n1", "--renew", "--new-key", "--dns", "b.example.org")
	third, thirdKey := files()
	require.NotEqual(t, secondKey, thirdKey)
	require.Equal(t, []string{"b.example.org"}, third.DNSNames)
	left, err := filepath.Glob(filepath.Join(out, "*.new"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestTLSShow(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, "tls", "init", "--dir", dir, "--name", "acme \x1b[2Jnodes")
	mustRun(t, "tls", "issue", "--dir", dir, "--id", "n1", "--days", "9", "--dns", "a.example.org")
	out := mustRun(t, "tls", "show", filepath.Join(dir, "n1.pem"))
	for _, want := range []string{"node        n1\n", "by          CN=acme", "(8 days left)", "public API  a.example.org", "ECDSA P-256", "SHA-256"} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "\x1b")
	require.Contains(t, mustRun(t, "tls", "show", filepath.Join(dir, "ca.pem")), "authority   CN=acme")
	requireUsage(t, "a private key and no certificate", "tls", "show", filepath.Join(dir, "n1.key"))
	requireUsage(t, "no such file", "tls", "show", filepath.Join(dir, "none"))
	noise := filepath.Join(dir, "noise")
	require.NoError(t, os.WriteFile(noise, []byte("noise"), 0o600))
	requireUsage(t, "no PEM file", "tls", "show", noise)
	require.NoError(t, os.WriteFile(noise, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 0o600))
	requireUsage(t, "certificate 1", "tls", "show", noise)

	now := time.Now()
	c := readCertificate(t, filepath.Join(dir, "n1.pem"))
	require.Contains(t, describeValidity(c, now.Add(-48*time.Hour)), "NOT YET")
	require.Equal(t, "ENDED", describeValidity(c, now.Add(10*24*time.Hour)))
	_, err := makeAuthority(filepath.Join(dir, "old"), "old", 1, now.Add(-48*time.Hour))
	require.NoError(t, err)
	out, code, err := runCommand(t, "tls", "show", filepath.Join(dir, "old", authorityFile))
	require.ErrorContains(t, err, "1 of 1 certificates not good now")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "ENDED")
	requireUsage(t, "ended at", "tls", "issue", "--dir", filepath.Join(dir, "old"), "--id", "n1")
}

// TestServeChecksNodeCertificates: bad certificates are refused before the data folder is
// made.
func TestServeChecksNodeCertificates(t *testing.T) {
	dir := t.TempDir()
	mustRun(t, "tls", "init", "--dir", dir)
	mustRun(t, "tls", "issue", "--dir", dir, "--id", "n1")
	data := filepath.Join(t.TempDir(), "data")
	c := certificatesOf(dir, "n1")
	base := []string{"serve", "--data", data, "--http", "127.0.0.1:0", "--bootstrap-expect", "1"}
	with := func(more ...string) []string { return append(append([]string(nil), base...), more...) }
	all := []string{"--cluster-cert", c.Cert, "--cluster-key", c.Key, "--cluster-ca", c.CA}
	port := []string{"--cluster", "127.0.0.1:0"}
	requireUsage(t, "go together", with("--id", "n1", "--cluster", "127.0.0.1:0", "--cluster-cert", c.Cert)...)
	requireUsage(t, "--insecure exclude", append(with(append(all, "--id", "n1", "--insecure")...), port...)...)
	requireUsage(t, "give its address with --cluster", with(append(all, "--id", "n1")...)...)
	requireUsage(t, `this node is "n2"`, append(with(append(all, "--id", "n2")...), port...)...)
	t.Setenv("RAILGUARD_CLUSTER_CERT", c.Cert)
	t.Setenv("RAILGUARD_CLUSTER_KEY", c.Cert)
	t.Setenv("RAILGUARD_CLUSTER_CA", c.CA)
	requireUsage(t, "n1.pem, ", with("--id", "n1", "--cluster", "127.0.0.1:0")...)
	_, err := os.Stat(data)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, strings.HasPrefix(envName("cluster-ca"), "RAILGUARD_"))
}
