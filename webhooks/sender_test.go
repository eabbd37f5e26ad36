package webhooks

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/seal"
)

// The sender does not dial addresses that are not public, whatever the name.
func TestAddresses(t *testing.T) {
	s := NewSender(SenderConfig{})
	for _, address := range []string{
		"127.0.0.1:443", "127.8.8.8:443", "0.0.0.0:443", "10.1.2.3:443", "172.16.0.1:443", "172.31.255.255:443", "192.168.1.1:443", "169.254.169.254:443",
		"100.64.0.1:443", "192.0.0.1:443", "192.0.2.1:443", "198.18.0.1:443", "198.51.100.1:443", "203.0.113.1:443", "224.0.0.1:443", "240.0.0.1:443", "255.255.255.255:443",
		"[::1]:443", "[::]:443", "[::ffff:127.0.0.1]:443", "[::ffff:10.0.0.1]:443", "[fe80::1]:443", "[fc00::1]:443", "[fd12::1]:443", "[ff02::1]:443",
		"[64:ff9b::7f00:1]:443", "[2002:7f00:1::]:443", "[2001:db8::1]:443", "[100::1]:443",
		"93.184.215.14:80", "93.184.215.14:22", "93.184.215.14:8080",
	} {
		network := "tcp4"
		if strings.HasPrefix(address, "[") {
			network = "tcp6"
		}
		require.Error(t, s.checkAddress(network, address, nil), address)
	}
	require.Error(t, s.checkAddress("udp4", "93.184.215.14:443", nil))
	require.NoError(t, s.checkAddress("tcp4", "93.184.215.14:443", nil))
	require.NoError(t, s.checkAddress("tcp6", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443", nil))

	own := NewSender(SenderConfig{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	require.NoError(t, own.checkAddress("tcp4", "10.1.2.3:8443", nil))
	require.NoError(t, own.checkAddress("tcp6", "[::ffff:10.1.2.3]:8443", nil))
	require.Error(t, own.checkAddress("tcp4", "10.2.2.3:443", nil))
	require.Error(t, own.checkAddress("tcp4", "127.0.0.1:443", nil))
	require.NoError(t, NewSender(SenderConfig{Dev: true}).checkAddress("tcp4", "127.0.0.1:9", nil))
}

func TestURLs(t *testing.T) {
	s, dev := NewSender(SenderConfig{}), NewSender(SenderConfig{Dev: true})
	for _, good := range []string{"https://hooks.example.com", "https://hooks.example.com:443/a?b=c", "https://93.184.215.14/x"} {
		require.NoError(t, s.Check(good), good)
	}
	for _, bad := range []string{
		"", "hooks.example.com", "http://hooks.example.com", "ftp://x", "https://", "https:///x", "https://u:p@x.example", "https://x.example/#a", "https://x.example#",
		"https://x.example:8443/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://169.254.169.254/latest", "https://x.example/a b",
		"https://bücher.example/", "https:x.example", "//x.example", "javascript:alert(1)", "https://x.example\n",
	} {
		require.Error(t, s.Check(bad), bad)
	}
	require.NoError(t, dev.Check("http://127.0.0.1:8080/x"))
	require.Error(t, dev.Check("https://10.0.0.1/"))
}

func signedHook(t *testing.T, secrets *seal.Secrets, url string, keys ...*seal.WebhookKey) *wire.Webhook {
	hook := &wire.Webhook{ID: 1, URL: url}
	for _, key := range keys {
		sealed, err := secrets.SealWebhookKey(key)
		require.NoError(t, err)
		hook.Secrets = append(hook.Secrets, sealed)
	}
	return hook
}

// A message has the three headers; during a rotation both secrets sign.
func TestSend(t *testing.T) {
	var head http.Header
	var body string
	answer := func(w http.ResponseWriter) { w.WriteHeader(204) }
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		head, body = r.Header.Clone(), string(data)
		answer(w)
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	secrets := seal.NewSecrets([]byte("a secret of the tests"))
	s := NewSender(SenderConfig{Secrets: secrets, Version: "1.2.3", Dev: true, Roots: &tls.Config{RootCAs: roots}}) //nolint:gosec // The default is 1.2.
	older, _ := seal.NewWebhookKey("")
	newer, _ := seal.NewWebhookKey("")
	hook := signedHook(t, secrets, server.URL+"/in", newer, older)
	hook.OlderUntil = 100 * engine.Second

	a := s.Send(context.Background(), hook, 99*engine.Second, "evt_7_0", []byte(`{"a":1}`))
	require.True(t, a.OK(), "%+v", a)
	require.Equal(t, `{"a":1}`, body)
	require.Equal(t, "application/json", head.Get("Content-Type"))
	require.Equal(t, "railguard/1.2.3", head.Get("User-Agent"))
	require.Equal(t, "evt_7_0", head.Get("Webhook-Id"))
	at := head.Get("Webhook-Timestamp")
	seconds, err := time.ParseDuration(at + "s")
	require.NoError(t, err)
	unix := int64(seconds / time.Second)
	require.Equal(t, newer.Sign("evt_7_0", unix, []byte(body))+" "+older.Sign("evt_7_0", unix, []byte(body)), head.Get("Webhook-Signature"))

	s.Send(context.Background(), hook, 100*engine.Second, "evt_7_0", []byte(`{}`))
	require.Len(t, strings.Fields(head.Get("Webhook-Signature")), 2, "the older one's time is over")

	moved := 0
	answer = func(w http.ResponseWriter) { moved++; w.Header().Set("Location", "/elsewhere"); w.WriteHeader(307) }
	a = s.Send(context.Background(), hook, 0, "evt_7_0", nil)
	require.Equal(t, 307, a.Status)
	require.False(t, a.OK())
	require.Equal(t, 1, moved, "never followed")

	for text, want := range map[string]time.Duration{"7": 7 * time.Second, "999999": retryAfterMax, "-1": 0, "soon": 0, "": 0} {
		answer = func(w http.ResponseWriter) { w.Header().Set("Retry-After", text); w.WriteHeader(503) }
		require.Equal(t, want, s.Send(context.Background(), hook, 0, "evt_7_0", nil).RetryAfter, text)
	}
	answer = func(w http.ResponseWriter) { w.Header().Set("Retry-After", "7"); w.WriteHeader(500) }
	require.Zero(t, s.Send(context.Background(), hook, 0, "evt_7_0", nil).RetryAfter)

	stranger := NewSender(SenderConfig{Secrets: secrets, Dev: true})
	require.Equal(t, FailedTLS, first(stranger.Send(context.Background(), hook, 0, "evt_7_0", nil)))
	public := NewSender(SenderConfig{Secrets: secrets})
	require.Equal(t, FailedAddress, first(public.Send(context.Background(), hook, 0, "evt_7_0", nil)))
	other := NewSender(SenderConfig{Secrets: seal.NewSecrets([]byte("another cluster's secret")), Dev: true})
	require.Equal(t, FailedSecret, first(other.Send(context.Background(), hook, 0, "evt_7_0", nil)))
	server.Close()
	require.Equal(t, FailedConnection, first(s.Send(context.Background(), hook, 0, "evt_7_0", nil)))
}

func first(a Attempt) string { return a.Failure }
