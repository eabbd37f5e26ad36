package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railguard/cluster/port"
)

const certificateFileMax = 1 << 20

func newTLSShow() *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "Say whose a certificate is, until when, and by whom", Args: exactArgs(1, "one PEM file"),
		Long: `Print every certificate in a PEM file. Whether one leads to the other is not
checked; ` + "`railguard serve`" + ` does that.

Exit codes: 0 all are good by this machine's clock, 1 one is not, 64 not readable.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			certificates, err := certificatesIn(args[0])
			if err != nil {
				return err
			}
			now, bad := time.Now(), 0
			for i, c := range certificates {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				showCertificate(cmd.OutOrStdout(), c, now)
				if now.Before(c.NotBefore) || now.After(c.NotAfter) {
					bad++
				}
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d certificates not good now", bad, len(certificates))
			}
			return nil
		},
	}
}

func certificatesIn(path string) ([]*x509.Certificate, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usageError("%w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, certificateFileMax+1))
	if err != nil || len(data) > certificateFileMax {
		return nil, usageError("%s: not readable, or larger than %d bytes: %v", path, certificateFileMax, err)
	}
	var certificates []*x509.Certificate
	kinds := map[string]bool{}
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		kinds[block.Type] = true
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, usageError("%s: certificate %d: %w", path, len(certificates)+1, err)
		}
		certificates = append(certificates, c)
	}
	switch {
	case len(certificates) > 0:
		return certificates, nil
	case len(kinds) == 0:
		return nil, usageError("%s is no PEM file", path)
	}
	for kind := range kinds {
		if strings.HasSuffix(kind, "PRIVATE KEY") {
			return nil, usageError("%s holds a private key and no certificate", path)
		}
	}
	return nil, usageError("%s holds no certificate", path)
}

func showCertificate(out io.Writer, c *x509.Certificate, now time.Time) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-12s"+format+"\n", append([]any{name}, args...)...)
	}
	switch id, err := port.NodeID(c); {
	case err == nil:
		line("node", "%s", id)
	case c.IsCA:
		line("authority", "%s", printableText(c.Subject.String()))
	default:
		line("no node", "%s: %v", printableText(c.Subject.String()), err)
	}
	line("by", "%s", printableText(c.Issuer.String()))
	line("from", "%s", c.NotBefore.UTC().Format(time.RFC3339))
	line("until", "%s (%s)", c.NotAfter.UTC().Format(time.RFC3339), describeValidity(c, now))
	var names []string
	for _, name := range c.DNSNames {
		names = append(names, printableText(name))
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) > 0 {
		line("public API", "%s", strings.Join(names, ", "))
	}
	line("key", "%s", keyKind(c.PublicKey))
	line("SHA-256", "%x", sha256.Sum256(c.Raw))
}

func describeValidity(c *x509.Certificate, now time.Time) string {
	switch {
	case now.Before(c.NotBefore):
		return "NOT YET GOOD by this machine's clock"
	case now.After(c.NotAfter):
		return "ENDED"
	}
	return daysText(c.NotAfter.Sub(now)) + " left"
}

// daysText returns a time in whole days, or in hours if it is below two days.
func daysText(left time.Duration) string {
	if left < 2*day {
		return fmt.Sprintf("%d hours", int(left/time.Hour))
	}
	return fmt.Sprintf("%d days", int(left/day))
}

func keyKind(key any) string {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Curve.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", k.N.BitLen())
	}
	return "of an unknown kind"
}
