package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/port"
)

const (
	authorityFile = "ca.pem"
	authorityKey  = "ca.key"

	authorityDays   = 3650
	certificateDays = 365
	daysMax         = 36500

	// clockAllowance is how far a node's clock may be behind when it gets its certificate.
	clockAllowance = time.Hour
	day            = 24 * time.Hour
)

// newTLS is `railguard tls`: it manages a private certificate authority for the port between
// nodes, without a server.
func newTLS() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tls", Short: "Make certificates for the port between nodes, and look at them", GroupID: "operation",
		Long: `By default nodes prove themselves to each other by the cluster secret, and need
no certificates. Where each node shall have a key of its own, that can be taken
away, make a private authority and a certificate for each node:

  railguard tls init --dir authority
  railguard tls issue --dir authority --id n1

and start n1 with --cluster-cert n1.pem --cluster-key n1.key --cluster-ca ca.pem.
The cluster secret is still needed: it seals the cluster's signing keys. Keep
authority/ca.key on none of the nodes: who has it can make any node.

An authority of your own does as well. A node's certificate must carry the URI
railguard://ID, be good for server and client authentication, and come with the
certificates between it and the authority in the same file. Use an authority
that issues such certificates for this cluster alone: each may join it.`,
		RunE: helpOnly,
	}
	cmd.AddCommand(newTLSInit(), newTLSIssue(), newTLSShow())
	return cmd
}

func newTLSInit() *cobra.Command {
	dir, name, days := "", "", 0
	cmd := &cobra.Command{
		Use: "init", Short: "Make a private authority: DIR/ca.pem and DIR/ca.key", Args: cobra.NoArgs,
		Example: "  railguard tls init --dir authority",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDays(days); err != nil {
				return err
			}
			made, err := makeAuthority(dir, name, days, time.Now())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, %s: authority %q until %s\nGive %s to every node. Keep %s off the nodes, and a copy of it safe.\n",
				filepath.Join(dir, authorityFile), filepath.Join(dir, authorityKey), name, made.NotAfter.Format(time.DateOnly), authorityFile, authorityKey)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder of the authority (required)")
	cmd.Flags().StringVar(&name, "name", "railguard nodes", "its name, for people")
	cmd.Flags().IntVar(&days, "days", authorityDays, "how long it is good")
	return cmd
}

func checkDays(days int) error {
	if days < 1 || days > daysMax {
		return usageError("--days must be between 1 and %d", daysMax)
	}
	return nil
}

// makeAuthority writes a new authority. It never overwrites an existing one.
func makeAuthority(dir, name string, days int, now time.Time) (*x509.Certificate, error) {
	if dir == "" || name == "" {
		return nil, usageError("--dir is required, and --name must not be empty")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, usageError("--dir: %w", err)
	}
	for _, file := range []string{authorityFile, authorityKey} {
		if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
			return nil, usageError("%s is there already: an authority is never overwritten; choose another --dir", filepath.Join(dir, file))
		}
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-clockAllowance), NotAfter: now.Add(time.Duration(days) * day),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	certificate, certificatePEM, err := signCertificate(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, authorityKey), keyPEM, 0o600); err != nil {
		return nil, err
	}
	return certificate, writeNew(filepath.Join(dir, authorityFile), certificatePEM, 0o644)
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

func signCertificate(template, parent *x509.Certificate, public, by any) (*x509.Certificate, []byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// writeNew writes a file that must not exist yet.
func writeNew(path string, data []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return usageError("%w", err)
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// replaceFile replaces a file in one step.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	beside := path + ".new"
	_ = os.Remove(beside) // An earlier run that was interrupted may have left it.
	if err := writeNew(beside, data, mode); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

type issueFlags struct {
	dir, out, id  string
	days          int
	dns           []string
	ips           []net.IP
	renew, newKey bool
}

func newTLSIssue() *cobra.Command {
	f := &issueFlags{}
	cmd := &cobra.Command{
		Use: "issue", Short: "Issue a node's certificate: ID.pem and ID.key", Args: cobra.NoArgs,
		Long: `Issue the certificate with which node ID proves itself on the port between nodes.

Names and addresses (--dns, --ip) mean nothing there. They make the certificate
good for the public API as well (serve --tls-cert), for callers who trust ca.pem.

--renew replaces ID.pem and keeps the key, names and addresses. Copy the new file
over the old one on the node: it takes it up within seconds, without a restart.`,
		Example: "  railguard tls issue --dir authority --id n1\n  railguard tls issue --dir authority --id n1 --renew",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDays(f.days); err != nil {
				return err
			}
			issued, err := f.issueCertificate(time.Now())
			if err != nil {
				return err
			}
			path := filepath.Join(f.out, f.id)
			fmt.Fprintf(cmd.OutOrStdout(), "%s.pem, %s.key: node %q until %s\n", path, path, f.id, issued.NotAfter.Format(time.DateOnly))
			if wanted := time.Now().Add(time.Duration(f.days) * day); issued.NotAfter.Before(wanted.Add(-day)) {
				fmt.Fprintln(cmd.OutOrStdout(), "Shorter than asked for: the authority itself ends then.")
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Start it with --cluster-cert %s.pem --cluster-key %s.key --cluster-ca %s\n", f.id, f.id, authorityFile)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", "", "folder of the authority (required)")
	flags.StringVar(&f.out, "out", "", "where to write the files (default: --dir)")
	flags.StringVar(&f.id, "id", "", "the node's --id (required)")
	flags.IntVar(&f.days, "days", certificateDays, "how long it is good")
	flags.StringSliceVar(&f.dns, "dns", nil, "host names, for the public API")
	flags.IPSliceVar(&f.ips, "ip", nil, "addresses, for the public API")
	flags.BoolVar(&f.renew, "renew", false, "replace the node's certificate")
	flags.BoolVar(&f.newKey, "new-key", false, "with --renew: replace the key too (copy both files)")
	return cmd
}

func (f *issueFlags) issueCertificate(now time.Time) (*x509.Certificate, error) {
	if f.out == "" {
		f.out = f.dir
	}
	if f.dir == "" || f.id == "" {
		return nil, usageError("--dir and --id are required")
	}
	if f.newKey && !f.renew {
		return nil, usageError("--new-key goes with --renew")
	}
	uri, err := port.NodeURI(f.id)
	if err != nil {
		return nil, usageError("--id: %w", err)
	}
	authority, err := openAuthority(f.dir, now)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: f.id}, URIs: []*url.URL{uri}, DNSNames: f.dns, IPAddresses: f.ips,
		NotBefore: now.Add(-clockAllowance), NotAfter: now.Add(time.Duration(f.days) * day),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(authority.Leaf.NotAfter) {
		template.NotAfter = authority.Leaf.NotAfter
	}
	if err := checkNames(f.dns); err != nil {
		return nil, err
	}
	if f.renew {
		return f.replaceCertificate(template, authority)
	}
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	issued, certificatePEM, err := signCertificate(template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(f.out, f.id)
	if _, err := os.Lstat(path + ".pem"); err == nil {
		return nil, usageError("%s.pem is there already: give --renew to replace it", path)
	}
	if err := writeNew(path+".key", keyPEM, 0o600); err != nil {
		return nil, err
	}
	return issued, writeNew(path+".pem", certificatePEM, 0o644)
}

// replaceCertificate renews a node's certificate.
func (f *issueFlags) replaceCertificate(template *x509.Certificate, authority *tls.Certificate) (*x509.Certificate, error) {
	path := filepath.Join(f.out, f.id)
	old, err := tls.LoadX509KeyPair(path+".pem", path+".key")
	if err != nil {
		return nil, usageError("nothing to renew: %w", err)
	}
	if id, err := port.NodeID(old.Leaf); err != nil || id != f.id {
		return nil, usageError("%s.pem is not node %q's", path, f.id)
	}
	if len(f.dns)+len(f.ips) == 0 {
		template.DNSNames, template.IPAddresses = old.Leaf.DNSNames, old.Leaf.IPAddresses
	}
	public := old.Leaf.PublicKey
	if f.newKey {
		key, keyPEM, err := newKey()
		if err != nil {
			return nil, err
		}
		if err := replaceFile(path+".key", keyPEM, 0o600); err != nil {
			return nil, err
		}
		public = key.Public()
	}
	issued, certificatePEM, err := signCertificate(template, authority.Leaf, public, authority.PrivateKey)
	if err != nil {
		return nil, err
	}
	return issued, replaceFile(path+".pem", certificatePEM, 0o644)
}

// openAuthority reads the authority that `railguard tls init` made.
func openAuthority(dir string, now time.Time) (*tls.Certificate, error) {
	authority, err := tls.LoadX509KeyPair(filepath.Join(dir, authorityFile), filepath.Join(dir, authorityKey))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usageError("no authority in %s (railguard tls init makes one): %w", dir, err)
	case err != nil:
		return nil, usageError("authority in %s: %w", dir, err)
	case !authority.Leaf.IsCA:
		return nil, usageError("%s is no authority's certificate", filepath.Join(dir, authorityFile))
	case now.After(authority.Leaf.NotAfter):
		return nil, usageError("the authority in %s ended at %s: make a new one in another folder", dir, authority.Leaf.NotAfter.Format(time.RFC3339))
	}
	return &authority, nil
}

var hostName = regexp.MustCompile(`^(\*\.)?([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)

// checkNames refuses host names that no client would ever match.
func checkNames(names []string) error {
	for _, name := range names {
		switch {
		case net.ParseIP(name) != nil:
			return usageError("--dns %s: that is an address: give it with --ip", name)
		case !hostName.MatchString(name):
			return usageError("--dns %q is not a host name", name)
		}
	}
	return nil
}
