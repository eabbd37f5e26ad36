package port

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/porttest"
)

// given returns the authority of a node with these files.
func given(t testing.TB, c Certificates, id string) *Authority {
	a, err := c.Load(id, time.Now)
	require.NoError(t, err)
	return a
}

func TestCertificatesThatANodeMayStartWith(t *testing.T) {
	root, other := porttest.New(t, "root", nil), porttest.New(t, "other", nil)
	between := porttest.New(t, "between", root)
	old := porttest.Below(root, time.Now().Add(-48*time.Hour), time.Now().Add(-time.Hour))
	for _, test := range []struct {
		name string
		made Certificates
		want string // "": the files are good.
	}{
		{"by the authority", root.Files("n1", nil), ""},
		{"by one below it", between.Write(t.TempDir(), "n1", []*porttest.Issuer{root}, nil, between), ""},
		{"one below it is the authority", between.Files("n1", nil), ""},
		{"one of two authorities", root.Write(t.TempDir(), "n1", []*porttest.Issuer{other, root}, nil), ""},
		{"no usage said", root.Files("n1", func(c *x509.Certificate) { c.ExtKeyUsage = nil }), ""},
		{"host names besides", root.Files("n1", func(c *x509.Certificate) { c.DNSNames = []string{"n2", "example.org"} }), ""},
		{"a URI of another scheme besides", root.Files("n1", func(c *x509.Certificate) { c.URIs = append(c.URIs, mustURL(t, "spiffe://example.org/n1")) }), ""},
		{"another node's", root.Files("n2", nil), `it is node "n2"'s, and this node is "n1"`},
		{"between is missing", between.Write(t.TempDir(), "n1", []*porttest.Issuer{root}, nil), "not by this cluster's authority"},
		{"another authority", root.Write(t.TempDir(), "n1", []*porttest.Issuer{other}, nil), "not by this cluster's authority"},
		{"ended", root.Files("n1", porttest.Ends(time.Now().Add(-time.Second))), "renew it, or set the clock"},
		{"not begun", root.Files("n1", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }), "renew it, or set the clock"},
		{"the authority has ended", old.Files("n1", nil), `certificate of "CN=old" is good from`},
		{"for clients only", root.Files("n1", porttest.Uses(x509.ExtKeyUsageClientAuth)), "both server and client"},
		{"for servers only", root.Files("n1", porttest.Uses(x509.ExtKeyUsageServerAuth)), "both server and client"},
		{"for mail", root.Files("n1", porttest.Uses(x509.ExtKeyUsageEmailProtection)), "both server and client"},
		{"a host name is no node", root.Files("n1", func(c *x509.Certificate) { c.URIs, c.DNSNames = nil, []string{"n1"} }), "names no node"},
		{"a common name is no node", root.Files("n1", func(c *x509.Certificate) { c.URIs = nil }), "names no node"},
		{"two nodes", root.Files("n1", func(c *x509.Certificate) { c.URIs = append(c.URIs, mustURL(t, "railguard://n2")) }), "more than one node"},
		{"a path behind the name", root.Files("n1", func(c *x509.Certificate) { c.URIs[0] = mustURL(t, "railguard://n1/x") }), "not of the form"},
		{"a user before the name", root.Files("n1", func(c *x509.Certificate) { c.URIs[0] = mustURL(t, "railguard://n2@n1") }), "not of the form"},
		{"a port behind the name", root.Files("n1", func(c *x509.Certificate) { c.URIs[0] = mustURL(t, "railguard://n1:1") }), "not of the form"},
		{"an authority itself", root.Files("n1", func(c *x509.Certificate) {
			c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		}), "an authority's, not a node's"},
		{"a key that does not sign", root.Files("n1", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyEncipherment }), "must not sign handshakes"},
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

func TestCertificateFilesThatAreNone(t *testing.T) {
	root := porttest.New(t, "root", nil)
	good := func(t *testing.T) Certificates { return root.Files("n1", nil) }
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
			put(t, c.CA, strings.Repeat(string(porttest.PEM("CERTIFICATE", root.Certificate.Raw)), authoritiesMax+1))
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

func TestNodeURI(t *testing.T) {
	for _, id := range []string{"n1", "N1", "n_1", "-", "10.0.0.1", "a.b-c_d", strings.Repeat("x", IDMax)} {
		leaf, _ := porttest.Sign(t, porttest.Template(id), nil)
		named, err := NodeID(leaf)
		require.NoError(t, err, id)
		require.Equal(t, id, named)
	}
	for _, id := range []string{"", ".", "n1.", ".n1", "a..b", "a b", "n1:80", "n/1", "ä", strings.Repeat("x", IDMax+1)} {
		_, err := NodeURI(id)
		require.Error(t, err, id)
		_, err = NewAuthority(testSecret, id, drawKey(t))
		require.Error(t, err, id)
	}
}

// FuzzNodeID: whatever URI a certificate has, it names a node only if it is exactly the URI
// that NodeURI makes for that node.
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
		require.NoError(t, ValidID(id))
		require.Equal(t, "railguard://"+id, uri.String())
	})
}

func FuzzParseAuthorities(f *testing.F) {
	root := porttest.New(f, "root", nil)
	f.Add(porttest.PEM("CERTIFICATE", root.Certificate.Raw))
	f.Add(porttest.PEM("CERTIFICATE", root.Certificate.Raw, root.Certificate.Raw))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		pool, err := parseAuthorities(data)
		require.Equal(t, err == nil, pool != nil)
	})
}

// keeperOf returns a keeper whose goroutine does not run: the test calls it instead.
func keeperOf(t *testing.T, c Certificates, now func() time.Time) (*Keeper, *strings.Builder) {
	log := &strings.Builder{}
	k, err := OpenCertificates(c, "n1", now, slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	return k, log
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	root := porttest.New(t, "root", nil)
	dir := t.TempDir()
	k, log := keeperOf(t, root.Write(dir, "n1", []*porttest.Issuer{root}, nil), time.Now)
	changes := 0
	k.changed = func() { changes++ }
	first := k.current.Load()
	k.lookForFiles()
	require.Same(t, first, k.current.Load())

	root.Write(dir, "n1", []*porttest.Issuer{root}, nil)
	k.lookForFiles()
	second := k.current.Load()
	require.NotEqual(t, first.own.Certificate, second.own.Certificate)
	require.Zero(t, changes, "the authorities are the same")
	require.Contains(t, log.String(), "renewed")

	other := porttest.New(t, "other", nil)
	root.Write(dir, "n1", []*porttest.Issuer{root, other}, nil)
	k.lookForFiles()
	require.Equal(t, 1, changes)
	var third *Authority

	for name, damage := range map[string]func(){
		"another node's": func() {
			c := root.Files("n2", nil)
			for from, to := range map[string]string{c.Cert: "n1.pem", c.Key: "n1.key"} {
				data, err := os.ReadFile(from)
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, to), data, 0o600))
			}
		},
		"ended":   func() { root.Write(dir, "n1", []*porttest.Issuer{root}, porttest.Ends(time.Now().Add(-time.Minute))) },
		"cut":     func() { require.NoError(t, os.Truncate(filepath.Join(dir, "n1.pem"), 100)) },
		"removed": func() { require.NoError(t, os.Remove(filepath.Join(dir, "n1.ca"))) },
		"foreign": func() { other.Write(dir, "n1", []*porttest.Issuer{root}, nil) },
	} {
		root.Write(dir, "n1", []*porttest.Issuer{root, other}, nil)
		k.lookForFiles()
		third = k.current.Load()
		log.Reset()
		damage()
		before := certificateErrors.Get()
		k.lookForFiles()
		require.Same(t, third, k.current.Load(), name)
		require.Empty(t, log.String(), "%s: perhaps half written", name)
		k.lookForFiles()
		k.lookForFiles()
		require.Same(t, third, k.current.Load(), name)
		require.Equal(t, 1, strings.Count(log.String(), "of no use"), name)
		require.Equal(t, before+1, certificateErrors.Get(), name)
	}
}

func TestCertificateExpiryIsTold(t *testing.T) {
	root := porttest.New(t, "root", nil)
	until := time.Now().Add(31 * 24 * time.Hour)
	shift := time.Duration(0)
	clock := func() time.Time { return time.Now().Add(shift) }
	k, log := keeperOf(t, root.Files("n1", porttest.Ends(until)), clock)
	k.lookForFiles()
	require.Empty(t, log.String(), "31 days are long")
	require.InDelta(t, 31*24*3600, k.gauge.Get(), 60)

	shift = 2 * 24 * time.Hour
	k.lookForFiles()
	k.lookForFiles()
	require.Equal(t, 1, strings.Count(log.String(), "ends soon"))
	require.InDelta(t, 29*24*3600, k.gauge.Get(), 60)

	log.Reset()
	shift, k.expTold = 32*24*time.Hour, time.Time{}
	k.lookForFiles()
	require.Contains(t, log.String(), "has ended")
	require.InDelta(t, -24*3600, k.gauge.Get(), 60)

	// If an authority ends before the certificate, the authority's end counts.
	short := porttest.Below(root, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	k, log = keeperOf(t, short.Write(t.TempDir(), "n1", []*porttest.Issuer{root}, nil, short), time.Now)
	require.InDelta(t, 24*3600, k.gauge.Get(), 60)
	require.Contains(t, log.String(), "ends soon")
}

// TestPeersAreHeldToTheirCertificates is a table of what one side says about the certificate
// that the other shows.
func TestPeersAreHeldToTheirCertificates(t *testing.T) {
	root := porttest.New(t, "root", nil)
	between := porttest.New(t, "between", root)
	here := given(t, root.Files("n1", nil), "n1")
	show := func(c Certificates) tls.ConnectionState {
		own, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		require.NoError(t, err)
		chain, err := chainOf(&own)
		require.NoError(t, err)
		return tls.ConnectionState{PeerCertificates: chain}
	}
	id, err := here.peerID(show(root.Files("n2", nil)))
	require.NoError(t, err)
	require.Equal(t, "n2", id)
	id, err = here.peerID(show(between.Write(t.TempDir(), "n3", []*porttest.Issuer{root}, nil, between)))
	require.NoError(t, err)
	require.Equal(t, "n3", id)
	_, err = here.peerID(tls.ConnectionState{})
	require.ErrorContains(t, err, "shows 0 certificates")
	long := show(between.Write(t.TempDir(), "n3", []*porttest.Issuer{root}, nil, between, between, between))
	long.PeerCertificates = append(long.PeerCertificates, between.Certificate)
	_, err = here.peerID(long)
	require.ErrorContains(t, err, "shows 5 certificates")

	drawn, err := NewAuthority(testSecret, "n2", drawKey(t))
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(drawn.own.Certificate[0])
	require.NoError(t, err)
	_, err = here.peerID(tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}})
	require.ErrorContains(t, err, "not by this cluster's authority")
	_, err = drawn.peerID(show(root.Files("n1", nil)))
	require.ErrorContains(t, err, "does not know this cluster's secret")
}

func mustURL(t testing.TB, text string) *url.URL {
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}
