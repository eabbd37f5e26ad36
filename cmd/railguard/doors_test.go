package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listenerFiles makes an authority and a certificate from it for 127.0.0.1.
func listenerFiles(t *testing.T) (dir string, files doorFiles) {
	dir = t.TempDir()
	_, err := makeAuthority(dir, "tests", 10, time.Now())
	require.NoError(t, err)
	issueFor(t, dir, "door", false)
	return dir, doorFiles{cert: filepath.Join(dir, "door.pem"), key: filepath.Join(dir, "door.key")}
}

// If a port is in use, the error names its flag and what to do; the exit code is 1.
func TestPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	free := "127.0.0.1:0"
	for flag, ports := range map[string][2]string{"--http": {taken.Addr().String(), free}, "--admin": {free, taken.Addr().String()}} {
		_, code, err := run(t, "serve", "--id", "n1", "--data", t.TempDir(), "--http", ports[0], "--admin", ports[1], "--bootstrap-expect", "1", "--public-url", "https://guard.example.org")
		require.Equal(t, exitFailed, code)
		require.ErrorContains(t, err, flag+": ")
		require.ErrorContains(t, err, "another process listens there; end it, or give another address")
	}
}

func issueFor(t *testing.T, dir, id string, renew bool) {
	f := &issueFlags{dir: dir, id: id, days: 5, ips: []net.IP{net.IPv4(127, 0, 0, 1)}, renew: renew, newKey: renew}
	_, err := f.issueCertificate(time.Now())
	require.NoError(t, err)
}

// serveDoor serves with the files. It returns a function that makes a call over a new
// connection.
func serveDoor(t *testing.T, d *doorTLS, ca string) func(client ...tls.Certificate) (*tls.ConnectionState, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.NotFoundHandler(), TLSConfig: d.serverConfig(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	pool := x509.NewCertPool()
	authority, err := os.ReadFile(ca)
	require.NoError(t, err)
	require.True(t, pool.AppendCertsFromPEM(authority))
	return func(client ...tls.Certificate) (*tls.ConnectionState, error) {
		caller := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: client}, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
		answer, err := caller.Get("https://" + listener.Addr().String() + "/")
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		require.Equal(t, "HTTP/2.0", answer.Proto)
		return answer.TLS, nil
	}
}

// New connections get the renewed files. Files that cannot be used change nothing.
func TestListenerCertificatesAreReadAgain(t *testing.T) {
	dir, files := listenerFiles(t)
	var said bytes.Buffer
	log, err := newLogs(&said, "info", "text")
	require.NoError(t, err)
	now := time.Now()
	d, err := newDoorTLS("test", files, log.Logger, func() time.Time { return now })
	require.NoError(t, err)
	ask := serveDoor(t, d, filepath.Join(dir, "ca.pem"))
	serial := func() string {
		t.Helper()
		state, err := ask()
		require.NoError(t, err)
		return state.PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	issueFor(t, dir, "door", true)
	require.Equal(t, first, serial(), "not looked at yet")
	now = now.Add(doorLookEvery)
	second := serial()
	require.NotEqual(t, first, second)
	require.Contains(t, said.String(), "renewed")

	require.NoError(t, os.WriteFile(files.cert, []byte("not PEM"), 0o600))
	for range 3 {
		now = now.Add(doorLookEvery)
		require.Equal(t, second, serial())
	}
	require.Equal(t, 1, bytes.Count(said.Bytes(), []byte("of no use")))
}

// A certificate that has ended, or will soon, is logged at the start and then once a day until
// it is renewed.
func TestListenerCertificateThatEndsIsTold(t *testing.T) {
	dir, files := listenerFiles(t) // Valid for five days.
	var said bytes.Buffer
	log, err := newLogs(&said, "info", "text")
	require.NoError(t, err)
	now := time.Now().Add(time.Minute)
	d, err := newDoorTLS("test", files, log.Logger, func() time.Time { return now })
	require.NoError(t, err)
	told := func(after time.Duration, text string, times int) {
		t.Helper()
		now = now.Add(after)
		d.reloadFiles()
		require.Equal(t, times, bytes.Count(said.Bytes(), []byte(text)), said.String())
	}
	told(3*24*time.Hour, "ends soon", 0)
	told(25*time.Hour, "ends soon", 1)
	told(doorLookEvery, "ends soon", 1)
	told(24*time.Hour, "has ended", 1)
	told(doorLookEvery, "has ended", 1)
	require.InDelta(t, (5*24*time.Hour - time.Until(now)).Seconds(), d.secondsLeft(), 120, "the metric of it")
	told(24*time.Hour, "has ended", 2)
	late, err := newDoorTLS("test", files, log.Logger, func() time.Time { return now })
	require.NoError(t, err, "behind a balancer it may still do")
	require.Equal(t, 3, bytes.Count(said.Bytes(), []byte("has ended")), "said at the start")
	require.NotNil(t, late)

	now = time.Now().Add(time.Minute)
	d.looked, d.endTold = time.Time{}, time.Time{}
	issueFor(t, dir, "door", true)
	said.Reset()
	told(doorLookEvery, "renewed", 1)
	told(24*time.Hour, "level=ERROR", 0)
	told(doorLookEvery, "ends soon", 0)
	now = time.Now().Add(-24 * time.Hour)
	d.looked, d.endTold = time.Time{}, time.Time{}
	told(0, "not good yet", 1)
}

// The admin listener demands a certificate from the given authority.
func TestAdminListenerAsksForCertificates(t *testing.T) {
	dir, files := listenerFiles(t)
	files.clients = filepath.Join(dir, "ca.pem")
	log, err := newLogs(os.Stderr, "error", "text")
	require.NoError(t, err)
	d, err := newDoorTLS("test", files, log.Logger, time.Now)
	require.NoError(t, err)
	ask := serveDoor(t, d, files.clients)
	pair := func(of doorFiles) tls.Certificate {
		certificate, err := tls.LoadX509KeyPair(of.cert, of.key)
		require.NoError(t, err)
		return certificate
	}
	_, err = ask()
	require.Error(t, err, "none shown")
	_, strange := listenerFiles(t)
	_, err = ask(pair(strange))
	require.Error(t, err)
	_, err = ask(pair(files))
	require.NoError(t, err)
}

func TestAdminOffLoopbackNeedsCertificates(t *testing.T) {
	dir, files := listenerFiles(t)
	for _, test := range []struct {
		admin string
		tls   doorFiles
		dev   bool
		says  string
	}{
		{admin: "127.0.0.1:8180"}, {admin: "[::1]:8180"}, {admin: "localhost:8180"},
		{admin: "0.0.0.0:8180", says: "is not on loopback"}, {admin: ":8180", says: "is not on loopback"},
		{admin: "10.0.0.1:8180", says: "is not on loopback"}, {admin: "example.org:8180", says: "is not on loopback"},
		{admin: "0.0.0.0:8180", dev: true},
		{admin: "0.0.0.0:8180", tls: files, says: "go together"},
		{admin: "0.0.0.0:8180", tls: doorFiles{files.cert, files.key, files.key}, says: "holds no certificate"},
		{admin: "0.0.0.0:8180", tls: doorFiles{files.cert, files.key, filepath.Join(dir, "ca.pem")}},
	} {
		f := &serveFlags{admin: test.admin, adminTLS: test.tls, dev: test.dev}
		if test.says == "" {
			require.NoError(t, f.checkDoors(), test)
		} else {
			require.ErrorContains(t, f.checkDoors(), test.says)
		}
	}
}

func TestLogsAreJSON(t *testing.T) {
	var said bytes.Buffer
	log, err := newLogs(&said, "info", "json")
	require.NoError(t, err)
	log.Debug("not yet")
	log.level.Set(-4)
	log.Debug("now", "took", 1500*time.Millisecond)
	require.Contains(t, said.String(), `"level":"DEBUG","msg":"now","tookSeconds":1.5}`)
	require.NotContains(t, said.String(), "not yet")
	_, err = newLogs(&said, "info", "xml")
	require.ErrorContains(t, err, "--log-format")
	_, err = newLogs(&said, "loud", "text")
	require.ErrorContains(t, err, "--log-level")
}
