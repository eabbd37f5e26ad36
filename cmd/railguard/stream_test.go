package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A timeout that is no bound is refused before any call.
func TestTimeoutMustBoundSomething(t *testing.T) {
	for _, verb := range [][]string{{"cluster", "status"}, {"key", "list", "--admin", "http://127.0.0.1:1"}, {"doctor"}, {"audit", "export"}, {"backup", "create", "--file", "x", "--recipient", "age1"}} {
		for _, timeout := range []string{"0", "-1s"} {
			args := append(append([]string{}, verb...), "--timeout", timeout)
			if verb[0] != "key" {
				args = append(args, "--url", "http://127.0.0.1:1")
			}
			out, code, err := run(t, args...)
			require.Equal(t, exitUsage, code, "%v: %s", args, out)
			require.ErrorContains(t, err, "--timeout must be above 0")
		}
	}
}

// A server that falls silent, before or during a stream, ends the verb. An incomplete file
// never has the final name.
func TestSilentServerEndsAStream(t *testing.T) {
	silent := make(chan struct{})
	handler := http.NewServeMux()
	handler.HandleFunc("/begun/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{}\n")
		w.(http.Flusher).Flush()
		<-silent
	})
	handler.HandleFunc("/", func(http.ResponseWriter, *http.Request) { <-silent })
	server := httptest.NewServer(handler)
	defer server.Close()
	defer close(silent)
	for _, base := range []string{server.URL, server.URL + "/begun"} {
		file := filepath.Join(t.TempDir(), "march.ndjson")
		_, code, err := run(t, "audit", "export", "--url", base, "--timeout", "50ms", "--file", file)
		require.Equal(t, exitAway, code, "%v", err)
		require.ErrorContains(t, err, "silent for 50ms")
		require.NoFileExists(t, file)
	}
}

// The verb does not wait for a server that was never reached.
func TestPatienceIsForWhoWasThere(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	_, code, _ := run(t, "cluster-secret", "reseal", "--reason", "tests", "--admin", server.URL)
	require.Equal(t, exitAway, code)
	require.Equal(t, int32(1), asked.Load())
}
