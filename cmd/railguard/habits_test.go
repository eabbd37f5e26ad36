package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All verbs work alike: --by names the acting person, a boolean flag needs no value, and a
// misspelt word gets a suggestion.
func TestVerbsHaveOneHabit(t *testing.T) {
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 1024)
		n, _ := r.Body.Read(body)
		bodies = append(bodies, r.Header.Get("Authorization")+" "+string(body[:n]))
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte("from-a-file\n"), 0o600))
	t.Setenv("RAILGUARD_KEY", "")
	t.Setenv("RAILGUARD_KEY_FILE", file)
	last := func(args ...string) string {
		t.Helper()
		_, _, err := run(t, append(args, "--url", server.URL, "--data", t.TempDir())...)
		require.NoError(t, err)
		return bodies[len(bodies)-1]
	}
	require.Equal(t, `Bearer from-a-file {"reason":"r","actor":"carla"}`, last("agent", "suspend", "agt_x", "--reason", "r", "--by", "carla"))
	require.Contains(t, last("review", "next", "--by", "carla"), `"assignee":"carla"`)
	require.Contains(t, last("review", "claim", "txn_x", "--by", "carla"), `"by":"carla"`)
	require.Contains(t, last("review", "assign", "txn_x", "--to", "dan", "--by", "carla"), `{"assignee":"dan","by":"carla"}`)
	require.Contains(t, last("cluster", "remove", "--id", "n2", "--confirm", "n2", "--force"), `"force":true`)
	require.Contains(t, last("cluster", "remove", "--id", "n2", "--confirm", "n2", "--force=false"), `"force":false`)

	_, code, err := run(t, "agnet")
	require.Equal(t, exitUsage, code)
	require.ErrorContains(t, err, "did you mean agent?")
	_, _, err = run(t, "agent", "suspnd")
	require.ErrorContains(t, err, "did you mean suspend")
	for wrong, meant := range map[string]string{"--dat": "did you mean --data?", "--bootstrap-expct": "did you mean --bootstrap-expect?", "--cluster_cert=x": "did you mean --cluster-cert?", "--id": "", "--zzzzzz": ""} {
		_, code, err = run(t, "serve", wrong)
		require.Equal(t, exitUsage, code, wrong)
		require.ErrorContains(t, err, meant)
		require.Equal(t, meant != "", strings.Contains(err.Error(), "did you mean"), "%s: %v", wrong, err)
	}
	out, _, err := run(t, "--version")
	require.NoError(t, err)
	require.Equal(t, version+"\n", out)
	out, _, err = run(t, "__complete", "agent", "get", "agt_x", "--output", "")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(out, "table\njson\n"), out)
}

// An action that cannot be undone asks for a word, on standard input or by --confirm.
func TestRotationAsks(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost { // It also asks which keys there are, for the plan.
			calls++
		}
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	rotate := func(typed string, args ...string) error {
		root := newRoot()
		root.SetIn(strings.NewReader(typed))
		root.SetOut(&strings.Builder{})
		root.SetErr(&strings.Builder{})
		root.SetArgs(append([]string{"signing-key", "rotate", "--admin", server.URL, "--key", "k", "--data", t.TempDir()}, args...))
		return root.ExecuteContext(t.Context())
	}
	for _, typed := range []string{"", "yes\n", "emergency\n"} {
		require.ErrorContains(t, rotate(typed, "--reason", "yearly"), "not confirmed: type rotate")
	}
	require.Zero(t, calls)
	require.NoError(t, rotate("rotate\n", "--reason", "yearly"))
	require.ErrorContains(t, rotate("rotate\n", "--emergency"), "not confirmed: type emergency")
	require.Equal(t, 1, calls)
	for _, typed := range []string{"", "yes\n", "cc-v2\n"} {
		require.ErrorContains(t, rotate(typed, "--emergency", "--revoke", "cc-v1"), "not confirmed")
	}
	require.ErrorContains(t, rotate("cc-v1\n", "--emergency", "--revoke", "cc-v1", "--confirm", "cc-v2"), "not confirmed")
	require.Equal(t, 1, calls)
	require.NoError(t, rotate("cc-v1\n", "--emergency", "--revoke", "cc-v1"))
	require.NoError(t, rotate("", "--emergency", "--confirm", "emergency"))
	require.NoError(t, rotate("", "--confirm", "rotate"))
	require.Equal(t, 4, calls)
}

// A cluster cannot be formed by mistake under an address of this machine.
func TestPublicURLIsRequired(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	_, code, err := run(t, "serve", "--id", "n1", "--data", data, "--http", "127.0.0.1:0", "--admin", "", "--bootstrap-expect", "1")
	require.ErrorContains(t, err, "--public-url is required")
	require.Equal(t, exitUsage, code)
	f := &serveFlags{data: data}
	require.Error(t, f.namesItself())
	require.NoError(t, (&serveFlags{data: data, dev: true}).namesItself())
	require.NoError(t, (&serveFlags{data: data, publicURL: "https://guard.example.org"}).namesItself())
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "node.json"), []byte("{}"), 0o600))
	require.NoError(t, f.namesItself(), "a node that has data starts as before")
}
