package port

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"railguard/engine"
)

const (
	certificateFileMax = engine.MiB
	authoritiesMax     = 64 // The most certificates in the file of authorities.
	givenChainMax      = 4  // A node's certificate, and up to three authorities between it and the given one.

	certificatesEvery  = 5 * time.Second
	expiryNotice       = 30 * 24 * time.Hour
	expiryToldEvery    = 24 * time.Hour
	certificateBadTold = time.Hour // Time between two log lines about files that are still bad.
)

// Certificates are the files by which a node proves itself on the port between nodes, if the
// operator has an authority of his own. All are PEM. With the zero value the cluster secret is
// the proof.
//
// The files are read again when they change. The new content is used only if a node could have
// started with it.
type Certificates struct {
	Cert string // File with the node's certificate, followed by those between it and the authority.
	Key  string
	CA   string // The authorities whose certificates prove who is a node.

	Every time.Duration // How often the files are looked at; 0: 5 s.
}

// Given reports whether any file is named.
func (c *Certificates) Given() bool { return c.Cert != "" || c.Key != "" || c.CA != "" }

// Check returns an error if a node of that id could not start with the files now. They must be
// readable, belong together, name the node, and be valid by the clock.
func (c *Certificates) Check(id string, now time.Time) error {
	_, err := c.Load(id, func() time.Time { return now })
	return err
}

// Load reads the files and returns the authority with which node id proves itself. now is the
// clock by which dates are judged, then and later.
func (c *Certificates) Load(id string, now func() time.Time) (*Authority, error) {
	files, err := c.readFiles()
	if err != nil {
		return nil, err
	}
	return files.makeAuthority(id, now)
}

// certificateFiles has the contents of the three files, and the file names.
type certificateFiles struct {
	names         *Certificates
	cert, key, ca []byte
}

func (f *certificateFiles) sameFiles(other *certificateFiles) bool {
	return other != nil && bytes.Equal(f.cert, other.cert) && bytes.Equal(f.key, other.key) && bytes.Equal(f.ca, other.ca)
}

func (c *Certificates) readFiles() (*certificateFiles, error) {
	f := &certificateFiles{names: c}
	for _, file := range []struct {
		name string
		data *[]byte
	}{{c.Cert, &f.cert}, {c.Key, &f.key}, {c.CA, &f.ca}} {
		data, err := readBounded(file.name)
		if err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		*file.data = data
	}
	return f, nil
}

func readBounded(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, certificateFileMax+1))
	if err == nil && len(data) > certificateFileMax {
		err = fmt.Errorf("%s: larger than %d bytes", name, certificateFileMax)
	}
	return data, err
}

// makeAuthority makes the authority with which node id proves itself. now is the clock by which
// dates are judged, then and later.
func (f *certificateFiles) makeAuthority(id string, now func() time.Time) (*Authority, error) {
	pool, err := parseAuthorities(f.ca)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", f.names.CA, err)
	}
	own, err := tls.X509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s, %s: %w", f.names.Cert, f.names.Key, err)
	}
	a := &Authority{pool: pool, own: own, now: now, dated: true, chainMax: givenChainMax, distrust: "the certificate is not by this cluster's authority"}
	chain, err := chainOf(&own)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", f.names.Cert, err)
	}
	named, err := NodeID(chain[0])
	if err == nil && named != id {
		err = fmt.Errorf("it is node %q's, and this node is %q", named, id)
	}
	if err == nil {
		a.until, err = a.verifyChain(chain)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.names.Cert, err)
	}
	return a, nil
}

func chainOf(own *tls.Certificate) ([]*x509.Certificate, error) {
	if len(own.Certificate) > givenChainMax {
		return nil, fmt.Errorf("%d certificates, at most %d are allowed", len(own.Certificate), givenChainMax)
	}
	chain := make([]*x509.Certificate, len(own.Certificate))
	for i, der := range own.Certificate {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		chain[i] = certificate
	}
	return chain, nil
}

// parseAuthorities reads the authorities' file. It must hold nothing else: a node's
// certificate in it would make that one certificate an authority on itself.
func parseAuthorities(data []byte) (*x509.CertPool, error) {
	pool, count := x509.NewCertPool(), 0
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		data = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("holds a %s: only certificates of authorities belong there", block.Type)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if !certificate.BasicConstraintsValid || !certificate.IsCA {
			return nil, fmt.Errorf("%s is no authority", subjectOf(certificate))
		}
		if count++; count > authoritiesMax {
			return nil, fmt.Errorf("more than %d authorities", authoritiesMax)
		}
		pool.AddCert(certificate)
	}
	if count == 0 {
		return nil, errors.New("holds no certificate")
	}
	if bytes.Contains(data, []byte("-----BEGIN")) { // Without this check an authority would be left out, and its nodes cut off.
		return nil, errors.New("ends in a damaged block")
	}
	return pool, nil
}

// Keeper has a node's given certificates and renews them. Only its goroutine uses the fields,
// except current.
type Keeper struct {
	files   Certificates
	id      string
	now     func() time.Time
	log     *slog.Logger
	changed func() // Called when the authorities have changed.
	gauge   *metrics.Gauge
	current atomic.Pointer[Authority]

	used    *certificateFiles // The files from which current was made.
	bad     string            // Why the files could not be used at the last look.
	badTold time.Time
	expTold time.Time
}

// OpenCertificates loads a node's given certificates; dates are judged by now.
func OpenCertificates(files Certificates, id string, now func() time.Time, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{files: files, id: id, log: log, changed: func() {}, gauge: newCertificateGauge(id), now: now}
	if k.files.Every == 0 {
		k.files.Every = certificatesEvery
	}
	used, err := k.files.readFiles()
	if err != nil {
		return nil, err
	}
	a, err := used.makeAuthority(k.id, k.now)
	if err != nil {
		return nil, err
	}
	k.used = used
	k.current.Store(a)
	if info, err := os.Stat(k.files.Key); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		log.Warn("everybody on this machine can use the key of the port between nodes", "file", k.files.Key, "mode", info.Mode().Perm().String())
	}
	k.watchExpiry()
	return k, nil
}

// Current returns the authority with which the node proves itself now.
func (k *Keeper) Current() *Authority { return k.current.Load() }

// OnChange sets the function that is called when the authorities have changed. It must be
// called before Run.
func (k *Keeper) OnChange(changed func()) { k.changed = changed }

// Run looks at the files until stop is closed.
func (k *Keeper) Run(stop <-chan struct{}) {
	ticker := time.NewTicker(k.files.Every)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			k.lookForFiles()
		}
	}
}

// lookForFiles takes new files into use. Bad files change nothing. It logs them only if they
// are still bad at the next look, because a certificate and its key cannot be replaced at one
// instant.
func (k *Keeper) lookForFiles() {
	defer k.watchExpiry()
	files, err := k.files.readFiles()
	if err == nil && files.sameFiles(k.used) {
		k.bad = ""
		return
	}
	var a *Authority
	if err == nil {
		a, err = files.makeAuthority(k.id, k.now)
	}
	if err != nil {
		k.complainOnce(err.Error())
		return
	}
	before := k.current.Swap(a)
	k.used, k.bad, k.expTold = files, "", time.Time{}
	certificatesRenewed.Inc()
	k.log.Info("certificates of the port between nodes renewed", "until", instantText(a.until))
	if !before.pool.Equal(a.pool) {
		k.changed()
	}
}

func (k *Keeper) complainOnce(reason string) {
	now := time.Now()
	if k.bad == "" {
		k.bad, k.badTold = "seen once", time.Time{}
		return
	}
	if k.bad == reason && now.Sub(k.badTold) < certificateBadTold {
		return
	}
	k.bad, k.badTold = reason, now
	certificateErrors.Inc()
	k.log.Error("new certificate files are of no use: those read before stay", "error", reason, "until", instantText(k.current.Load().until))
}

// watchExpiry shows in a metric how long the certificates in use are still valid, and logs when
// that is not long.
func (k *Keeper) watchExpiry() {
	until := k.current.Load().until
	left := until.Sub(k.now())
	k.gauge.Set(left.Seconds())
	if left > expiryNotice || time.Since(k.expTold) < expiryToldEvery {
		return
	}
	k.expTold = time.Now()
	if left <= 0 {
		k.log.Error("the certificate of the port between nodes has ended: peers refuse this node as soon as a connection breaks. Renew it", "until", instantText(until))
		return
	}
	k.log.Warn("the certificate of the port between nodes ends soon: renew it", "until", instantText(until), "days", int(left.Hours()/24))
}
