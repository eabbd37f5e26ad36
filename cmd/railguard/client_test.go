package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/cluster/testcluster"
)

// answering is a server that gives every call the same answer.
func answering(t *testing.T, status int, outcome, body string, calls *[]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls = append(*calls, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		if outcome != "" {
			w.Header().Set("X-Railguard-Outcome", outcome)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func closedAddress(t *testing.T) string {
	ports, err := testcluster.FreePorts(1)
	require.NoError(t, err)
	t.Cleanup(func() { testcluster.ReleasePorts(ports...) })
	return "http://" + ports[0]
}

// TestVerbsTrySeveralAddresses: a verb tries the next address only if the call cannot have
// taken effect at the one before.
func TestVerbsTrySeveralAddresses(t *testing.T) {
	var good, none, unknown, refused []string
	away := closedAddress(t)
	works := answering(t, 200, "", `{"status":"ok"}`, &good)
	idle := answering(t, 503, "none", `{"code":"no_leader","message":"m"}`, &none)
	lost := answering(t, 503, "unknown", `{"code":"outcome_unknown","message":"m"}`, &unknown)
	no := answering(t, 403, "", `{"code":"forbidden","message":"m"}`, &refused)
	ask := func(verb []string, urls ...string) error {
		good, none, unknown, refused = nil, nil, nil, nil
		_, _, err := run(t, append(verb, "--url", strings.Join(urls, ","), "--key", "k")...)
		return err
	}
	read, write := []string{"cluster", "status"}, []string{"agent", "suspend", "agt_x", "--reason", "r", "--by", "a"}
	for _, verb := range [][]string{read, write} {
		require.NoError(t, ask(verb, away, works))
		require.Len(t, good, 1)
		require.NoError(t, ask(verb, idle, works))
		require.Len(t, good, 1)
		require.Error(t, ask(verb, no, works), "a refusal is an answer")
		require.Empty(t, good)
		require.Error(t, ask(verb, away, idle))
	}
	require.NoError(t, ask(read, lost, works))
	require.Error(t, ask(write, lost, works), "it may have happened")
	require.Empty(t, good)
}

// TestAFileInTheFolderSendsNoKeyAway: the current folder may hold anybody's dev.json, which
// must not decide where a production key goes.
func TestAFileInTheFolderSendsNoKeyAway(t *testing.T) {
	var calls []string
	address := strings.TrimPrefix(answering(t, 200, "", `{"status":"ok"}`, &calls), "http://")
	folder := t.TempDir()
	write := func(file devFile) {
		data, err := json.Marshal(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "dev.json"), data, 0o600))
	}
	write(devFile{APIKey: "dev-key", Nodes: []devNode{{ID: "n1", HTTP: address, Admin: address}}})
	t.Setenv("RAILGUARD_KEY", "production-key")
	_, _, err := run(t, "cluster", "status", "--data", folder)
	require.ErrorContains(t, err, "of another key than yours")
	require.Empty(t, calls)
	t.Setenv("RAILGUARD_KEY", "")
	_, _, err = run(t, "cluster", "status", "--data", folder)
	require.NoError(t, err)
	require.Contains(t, calls[0], "dev-key")
	_, _, err = run(t, "cluster", "status", "--data", folder, "--url", "http://"+address)
	require.NoError(t, err)
	require.Contains(t, calls[1], "dev-key", "the cluster's own address")
	write(devFile{APIKey: "dev-key", Nodes: []devNode{{ID: "n1", HTTP: "192.0.2.1:8080", Admin: address}}})
	_, _, err = run(t, "cluster", "status", "--data", folder)
	require.ErrorContains(t, err, "not on this machine")
}

// TestServersSettingsDoNotReachVerbs: RAILGUARD_ID names a node to `serve`. It must not name
// the node that a verb acts on.
func TestServersSettingsDoNotReachVerbs(t *testing.T) {
	var calls []string
	address := answering(t, 200, "", `{}`, &calls)
	t.Setenv("RAILGUARD_ID", "n1")
	t.Setenv("RAILGUARD_REASON", "from the environment")
	t.Setenv("RAILGUARD_URL", address)
	t.Setenv("RAILGUARD_KEY", "k")
	_, _, err := run(t, "agent", "suspend", "agt_x")
	require.ErrorContains(t, err, "--reason is required")
	_, _, err = run(t, "cluster", "remove")
	require.ErrorContains(t, err, "--id is required")
	require.Empty(t, calls)
}

func TestPortInUseIsNoUsageError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	_, code, err := run(t, "serve", "--id", "n1", "--data", t.TempDir(), "--http", listener.Addr().String(), "--admin", "127.0.0.1:0", "--bootstrap-expect", "1")
	require.ErrorContains(t, err, "--http")
	require.Equal(t, exitFailed, code, "supervisors do not start again after a wrong flag")
}

// If one address answered with an error and the next is unreachable, the answer is reported
// too.
func TestAnswerIsToldBeforeSilence(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Railguard-Outcome", "none")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"no_quorum","message":"too few voters answer"}`))
	}))
	defer server.Close()
	for _, addresses := range []string{server.URL + ",http://127.0.0.1:1", "http://127.0.0.1:1," + server.URL} {
		_, code, err := run(t, "agent", "suspend", "agt_x", "--by", "ada", "--reason", "tests", "--url", addresses, "--key", "k")
		require.Equal(t, exitAway, code)
		require.ErrorContains(t, err, "no_quorum: too few voters answer")
	}
}

// TestAddressesWithoutAScheme: where a server listens is an address for a verb, as in a container,
// whose variables are the server's; and no key goes in clear beyond this machine.
func TestAddressesWithoutAScheme(t *testing.T) {
	for base, want := range map[string][2]string{ // Without and with a certificate to show.
		"0.0.0.0:8180":          {"http://127.0.0.1:8180", "https://127.0.0.1:8180"},
		":8180":                 {"http://127.0.0.1:8180", "https://127.0.0.1:8180"},
		"[::]:8180":             {"http://[::1]:8180", "https://[::1]:8180"},
		"127.0.0.1:8180":        {"http://127.0.0.1:8180", "https://127.0.0.1:8180"},
		"localhost:8180":        {"http://localhost:8180", "https://localhost:8180"},
		"10.0.0.1:8180":         {"https://10.0.0.1:8180", "https://10.0.0.1:8180"},
		"guard.example.org:443": {"https://guard.example.org:443", "https://guard.example.org:443"},
		"http://0.0.0.0:8180":   {"http://0.0.0.0:8180", "http://0.0.0.0:8180"},
	} {
		for i, cert := range []string{"", "cert.pem"} {
			got, err := (&client{cert: cert}).wholeAddress(base)
			require.NoError(t, err, base)
			require.Equal(t, want[i], got, base)
		}
	}
	for _, base := range []string{"guard.example.org", "8180", "10.0.0.1:", ""} {
		_, err := (&client{}).wholeAddress(base)
		require.ErrorContains(t, err, "has no scheme", base)
	}

	var calls []string
	works := strings.TrimPrefix(answering(t, 200, "", `{"keys":[]}`, &calls), "http://127.0.0.1")
	t.Setenv("RAILGUARD_ADMIN", "0.0.0.0"+works)
	_, _, _ = run(t, "key", "list", "--key", "k")
	require.Equal(t, []string{"GET /admin/keys Bearer k"}, calls, "it was reached")
}
