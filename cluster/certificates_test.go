package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// issuer is an authority of a test.
type issuer struct {
	t           testing.TB
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func pemOf(kind string, ders ...[]byte) []byte {
	var out []byte
	for _, der := range ders {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})...)
	}
	return out
}

func newIssuer(t testing.TB, name string, by *issuer) *issuer {
	i := &issuer{t: t}
	i.certificate, i.key = signed(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, by)
	return i
}

// signed makes a certificate, by itself where nobody is named; good for a year
// unless the template says otherwise.
func signed(t testing.TB, template *x509.Certificate, by *issuer) (*x509.Certificate, *ecdsa.PrivateKey) {
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
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return certificate, key
}

func nodeTemplate(t testing.TB, id string) *x509.Certificate {
	uri, err := NodeURI(id)
	require.NoError(t, err)
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: id}, URIs: []*url.URL{uri}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: nodeUsages,
	}
}

// write puts a node's three files into a folder: its certificate, changed as told,
// and what stands between it and the authority above.
func (i *issuer) write(dir, id string, authorities []*issuer, change func(*x509.Certificate), between ...*issuer) Certificates {
	template := nodeTemplate(i.t, id)
	if change != nil {
		change(template)
	}
	leaf, key := signed(i.t, template, i)
	chain := [][]byte{leaf.Raw}
	for _, b := range between {
		chain = append(chain, b.certificate.Raw)
	}
	var roots [][]byte
	for _, a := range authorities {
		roots = append(roots, a.certificate.Raw)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(i.t, err)
	c := Certificates{Cert: filepath.Join(dir, id+".pem"), Key: filepath.Join(dir, id+".key"), CA: filepath.Join(dir, id+".ca"), Every: 10 * time.Millisecond}
	require.NoError(i.t, os.WriteFile(c.Cert, pemOf("CERTIFICATE", chain...), 0o600))
	require.NoError(i.t, os.WriteFile(c.Key, pemOf("PRIVATE KEY", der), 0o600))
	require.NoError(i.t, os.WriteFile(c.CA, pemOf("CERTIFICATE", roots...), 0o600))
	return c
}

func (i *issuer) files(id string, change func(*x509.Certificate), between ...*issuer) Certificates {
	return i.write(i.t.TempDir(), id, []*issuer{i}, change, between...)
}

// given is the authority that a node with these files has.
func given(t testing.TB, c Certificates, id string) *authority {
	files, err := c.read()
	require.NoError(t, err)
	a, err := files.authority(id, time.Now)
	require.NoError(t, err)
	return a
}

func TestCertificatesThatANodeMayStartWith(t *testing.T) {
	root, other := newIssuer(t, "root", nil), newIssuer(t, "other", nil)
	between := newIssuer(t, "between", root)
	old := signedFor(root, time.Now().Add(-48*time.Hour), time.Now().Add(-time.Hour))
	for _, test := range []struct {
		name string
		made Certificates
		want string // "" good.
	}{
		{"by the authority", root.files("n1", nil), ""},
		{"by one below it", between.write(t.TempDir(), "n1", []*issuer{root}, nil, between), ""},
		{"one below it is the authority", between.files("n1", nil), ""},
		{"one of two authorities", root.write(t.TempDir(), "n1", []*issuer{other, root}, nil), ""},
		{"no usage said", root.files("n1", func(c *x509.Certificate) { c.ExtKeyUsage = nil }), ""},
		{"host names besides", root.files("n1", func(c *x509.Certificate) { c.DNSNames = []string{"n2", "example.org"} }), ""},
		{"a URI of another scheme besides", root.files("n1", func(c *x509.Certificate) { c.URIs = append(c.URIs, mustURL(t, "spiffe://example.org/n1")) }), ""},
		{"another node's", root.files("n2", nil), `it is node "n2"'s, and this node is "n1"`},
		{"between is missing", between.write(t.TempDir(), "n1", []*issuer{root}, nil), "not by this cluster's authority"},
		{"another authority", root.write(t.TempDir(), "n1", []*issuer{other}, nil), "not by this cluster's authority"},
		{"ended", root.files("n1", ends(time.Now().Add(-time.Second))), "renew it, or set the clock"},
		{"not begun", root.files("n1", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), "renew it, or set the clock"},
		{"the authority has ended", old.files("n1", nil), `certificate of "CN=old" is good from`},
		{"for clients only", root.files("n1", uses(x509.ExtKeyUsageClientAuth)), "both server and client"},
		{"for servers only", root.files("n1", uses(x509.ExtKeyUsageServerAuth)), "both server and client"},
		{"for mail", root.files("n1", uses(x509.ExtKeyUsageEmailProtection)), "both server and client"},
		{"a host name is no node", root.files("n1", func(c *x509.Certificate) { c.URIs, c.DNSNames = nil, []string{"n1"} }), "names no node"},
		{"a common name is no node", root.files("n1", func(c *x509.Certificate) { c.URIs = nil }), "names no node"},
		{"two nodes", root.files("n1", func(c *x509.Certificate) { c.URIs = append(c.URIs, mustURL(t, "railguard://n2")) }), "more than one node"},
		{"a path behind the name", root.files("n1", func(c *x509.Certificate) { c.URIs[0] = mustURL(t, "railguard://n1/x") }), "not of the form"},
		{"a user before the name", root.files("n1", func(c *x509.Certificate) { c.URIs[0] = mustURL(t, "railguard://n2@n1") }), "not of the form"},
		{"a port behind the name", root.files("n1", func(c *x509.Certificate) { c.URIs[0] = mustURL(t, "railguard://n1:1") }), "not of the form"},
		{"an authority itself", root.files("n1", func(c *x509.Certificate) {
			c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		}), "an authority's, not a node's"},
		{"a key that does not sign", root.files("n1", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }), "must not sign handshakes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.made.Check("n1", time.Now())
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.want)
		})
	}
}

func mustURL(t testing.TB, text string) *url.URL {
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

func ends(at time.Time) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.NotAfter = at }
}

func uses(usage x509.ExtKeyUsage) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{usage} }
}

// signedFor is an authority below another, good from and to.
func signedFor(by *issuer, from, to time.Time) *issuer {
	i := &issuer{t: by.t}
	i.certificate, i.key = signed(by.t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "old"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: from, NotAfter: to,
	}, by)
	return i
}

func TestCertificateFilesThatAreNone(t *testing.T) {
	root := newIssuer(t, "root", nil)
	good := func(t *testing.T) Certificates { return root.files("n1", nil) }
	put := func(t *testing.T, name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	for _, test := range []struct {
		name   string
		damage func(*testing.T, *Certificates)
		want   string
	}{
		{"no certificate file", func(t *testing.T, c *Certificates) { require.NoError(t, os.Remove(c.Cert)) }, "no such file"},
		{"no key file", func(t *testing.T, c *Certificates) { require.NoError(t, os.Remove(c.Key)) }, "no such file"},
		{"an empty authorities' file", func(t *testing.T, c *Certificates) { put(t, c.CA, "") }, "holds no certificate"},
		{"a key among the authorities", func(t *testing.T, c *Certificates) { c.CA = c.Key }, "holds a PRIVATE KEY"},
		{"a node among the authorities", func(t *testing.T, c *Certificates) { c.CA = c.Cert }, `node "n1" is no authority`},
		{"noise for a certificate", func(t *testing.T, c *Certificates) { put(t, c.Cert, "noise") }, "failed to find any PEM data"},
		{"another's key", func(t *testing.T, c *Certificates) { c.Key = good(t).Key }, "private key does not match"},
		{"too large", func(t *testing.T, c *Certificates) { put(t, c.CA, strings.Repeat("x", certificateFileMax+1)) }, "larger than"},
		{"too many authorities", func(t *testing.T, c *Certificates) {
			put(t, c.CA, strings.Repeat(string(pemOf("CERTIFICATE", root.certificate.Raw)), authoritiesMax+1))
		}, "more than 64 authorities"},
		{"too long a chain", func(t *testing.T, c *Certificates) {
			data, err := os.ReadFile(c.Cert)
			require.NoError(t, err)
			put(t, c.Cert, strings.Repeat(string(data), givenChainMax+1))
		}, "at most 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := good(t)
			test.damage(t, &c)
			require.ErrorContains(t, c.Check("n1", time.Now()), test.want)
		})
	}
}

func TestCertificatesGoTogether(t *testing.T) {
	good := newIssuer(t, "root", nil).files("n1", nil)
	base := Config{ID: "n1", DataDir: t.TempDir(), ListenCluster: "127.0.0.1:1", Certificates: good}
	base.fill()
	require.NoError(t, base.validate())
	for name, change := range map[string]func(*Config){
		"go together":        func(c *Config) { c.Certificates.CA = "" },
		"exclude each other": func(c *Config) { c.Insecure = true },
		"and there is none":  func(c *Config) { c.ListenCluster = "" },
		`this node is "n2"`:  func(c *Config) { c.ID = "n2" },
		"this node's clock":  func(c *Config) { c.Clock = ShiftedClock(c.Clock, func() engine.Time { return 400 * 24 * engine.Hour }) },
	} {
		config := base
		change(&config)
		_, err := Open(config)
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, name)
	}
	left, err := os.ReadDir(base.DataDir)
	require.NoError(t, err)
	require.Empty(t, left, "refused before the data folder is touched")
}

func TestNodeURI(t *testing.T) {
	for _, id := range []string{"n1", "N1", "n_1", "-", "10.0.0.1", "a.b-c_d", strings.Repeat("x", idMax)} {
		leaf, _ := signed(t, nodeTemplate(t, id), nil)
		named, err := NodeID(leaf)
		require.NoError(t, err, id)
		require.Equal(t, id, named)
	}
	for _, id := range []string{"", ".", "n1.", ".n1", "a..b", "a b", "n1:80", "n/1", "ä", strings.Repeat("x", idMax+1)} {
		_, err := NodeURI(id)
		require.Error(t, err, id)
		_, err = newAuthority(testSecret, id)
		require.Error(t, err, id)
	}
}

// FuzzNodeID: whatever URI a certificate carries, it names a node only in the one
// way in which that node would write it.
func FuzzNodeID(f *testing.F) {
	for _, seed := range []string{"railguard://n1", "RAILGUARD://n1", "railguard://n1/", "railguard://a@n1", "railguard://n1#x", "railguard:n1", "railguard://n%31", "railguard://n1?", "railguard://[::1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		uri, err := url.Parse(text)
		if err != nil {
			return
		}
		id, err := NodeID(&x509.Certificate{URIs: []*url.URL{uri}})
		if err != nil {
			return
		}
		require.NoError(t, validID(id))
		require.Equal(t, "railguard://"+id, uri.String())
	})
}

func FuzzParseAuthorities(f *testing.F) {
	root := newIssuer(f, "root", nil)
	f.Add(pemOf("CERTIFICATE", root.certificate.Raw))
	f.Add(pemOf("CERTIFICATE", root.certificate.Raw, root.certificate.Raw))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		pool, err := parseAuthorities(data)
		require.Equal(t, err == nil, pool != nil)
	})
}

// keeperOf is a keeper whose goroutine does not run: the test looks for it.
func keeperOf(t *testing.T, c Certificates, clock Clock) (*certificateKeeper, *strings.Builder) {
	log := &strings.Builder{}
	config := Config{ID: "n1", Certificates: c, Clock: clock}
	k, err := openCertificates(&config, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	return k, log
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	root := newIssuer(t, "root", nil)
	dir := t.TempDir()
	k, log := keeperOf(t, root.write(dir, "n1", []*issuer{root}, nil), SystemClock())
	changes := 0
	k.changed = func() { changes++ }
	first := k.current.Load()
	k.look()
	require.Same(t, first, k.current.Load())

	root.write(dir, "n1", []*issuer{root}, nil)
	k.look()
	second := k.current.Load()
	require.NotEqual(t, first.own.Certificate, second.own.Certificate)
	require.Zero(t, changes, "the authorities are the same")
	require.Contains(t, log.String(), "renewed")

	other := newIssuer(t, "other", nil)
	root.write(dir, "n1", []*issuer{root, other}, nil)
	k.look()
	require.Equal(t, 1, changes)
	third := k.current.Load()

	for name, damage := range map[string]func(){
		"another node's": func() {
			c := root.files("n2", nil)
			for from, to := range map[string]string{c.Cert: "n1.pem", c.Key: "n1.key"} {
				data, err := os.ReadFile(from)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, to), data, 0o600))
			}
		},
		"ended":   func() { root.write(dir, "n1", []*issuer{root}, ends(time.Now().Add(-time.Minute))) },
		"cut":     func() { require.NoError(t, os.Truncate(filepath.Join(dir, "n1.pem"), 100)) },
		"removed": func() { require.NoError(t, os.Remove(filepath.Join(dir, "n1.ca"))) },
		"foreign": func() { other.write(dir, "n1", []*issuer{root}, nil) },
	} {
		root.write(dir, "n1", []*issuer{root, other}, nil)
		k.look()
		third = k.current.Load()
		log.Reset()
		damage()
		before := certificateErrors.Get()
		k.look()
		require.Same(t, third, k.current.Load(), name)
		require.Empty(t, log.String(), "%s: perhaps half written", name)
		k.look()
		k.look()
		require.Same(t, third, k.current.Load(), name)
		require.Equal(t, 1, strings.Count(log.String(), "of no use"), name)
		require.Equal(t, before+1, certificateErrors.Get(), name)
	}
}

func TestCertificateExpiryIsTold(t *testing.T) {
	root := newIssuer(t, "root", nil)
	until := time.Now().Add(31 * 24 * time.Hour)
	shift := engine.Time(0)
	clock := ShiftedClock(SystemClock(), func() engine.Time { return shift })
	k, log := keeperOf(t, root.files("n1", ends(until)), clock)
	k.look()
	require.Empty(t, log.String(), "31 days are long")
	require.InDelta(t, 31*24*3600, k.gauge.Get(), 60)

	shift = 2 * 24 * engine.Hour
	k.look()
	k.look()
	require.Equal(t, 1, strings.Count(log.String(), "ends soon"))
	require.InDelta(t, 29*24*3600, k.gauge.Get(), 60)

	log.Reset()
	shift, k.expTold = 32*24*engine.Hour, time.Time{}
	k.look()
	require.Contains(t, log.String(), "has ended")
	require.InDelta(t, -24*3600, k.gauge.Get(), 60)

	// An authority that ends first is what counts.
	short := signedFor(root, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	k, log = keeperOf(t, short.write(t.TempDir(), "n1", []*issuer{root}, nil, short), SystemClock())
	require.InDelta(t, 24*3600, k.gauge.Get(), 60)
	require.Contains(t, log.String(), "ends soon")
}

// TestPeersAreHeldToTheirCertificates is what one side says of what the other shows.
func TestPeersAreHeldToTheirCertificates(t *testing.T) {
	root := newIssuer(t, "root", nil)
	between := newIssuer(t, "between", root)
	here := given(t, root.files("n1", nil), "n1")
	show := func(c Certificates) tls.ConnectionState {
		own, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		require.NoError(t, err)
		chain, err := chainOf(&own)
		require.NoError(t, err)
		return tls.ConnectionState{PeerCertificates: chain}
	}
	id, err := here.peerID(show(root.files("n2", nil)))
	require.NoError(t, err)
	require.Equal(t, "n2", id)
	id, err = here.peerID(show(between.write(t.TempDir(), "n3", []*issuer{root}, nil, between)))
	require.NoError(t, err)
	require.Equal(t, "n3", id)
	_, err = here.peerID(tls.ConnectionState{})
	require.ErrorContains(t, err, "shows 0 certificates")
	long := show(between.write(t.TempDir(), "n3", []*issuer{root}, nil, between, between, between))
	long.PeerCertificates = append(long.PeerCertificates, between.certificate)
	_, err = here.peerID(long)
	require.ErrorContains(t, err, "shows 5 certificates")

	drawn, err := newAuthority(testSecret, "n2")
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(drawn.own.Certificate[0])
	require.NoError(t, err)
	_, err = here.peerID(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	require.ErrorContains(t, err, "not by this cluster's authority")
	_, err = drawn.peerID(show(root.files("n1", nil)))
	require.ErrorContains(t, err, "does not know this cluster's secret")
}
