package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWaitsForTheNode(t *testing.T) {
	for _, c := range []struct{ name, status, want string }{
		{"not there", `{"nodes":[{"id":"n1"}],"takeDown":{"ok":true}}`, "n2 is no member yet"},
		{"not yet", `{"nodes":[{"id":"n2"}],"takeDown":{"ok":false,"why":["n2 has no vote yet","no further node may be lost"]}}`, "n2 has no vote yet; no further node may be lost"},
		{"back", `{"nodes":[{"id":"n2"}],"takeDown":{"ok":true,"why":[]}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := waitsFor([]byte(c.status), "n2")
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := waitsFor([]byte("no"), "n2")
	require.Error(t, err)
}

// Right after a restart a node may still report the last answer of the ended process. It must
// not count as the new process's answer.
func TestWaitIsNotEndedByAnOldAnswer(t *testing.T) {
	waitBeside(t)
	const well, away = `{"nodes":[{"id":"n2"}],"takeDown":{"ok":true,"why":[]}}`, `{"nodes":[{"id":"n2"}],"takeDown":{"ok":false,"why":["n2 does not answer"]}}`
	said := []string{well, away, well}
	looks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(said[min(looks, len(said)-1)]))
		looks++
	}))
	defer server.Close()
	out := mustRun(t, "cluster", "wait", "--node", "n2", "--url", server.URL, "--key", "k")
	require.Contains(t, out, "n2 is back")
	require.Equal(t, 2+waitLooks, looks)

	_, code, err := runCommand(t, "cluster", "wait", "--node", "n2", "--url", server.URL, "--key", "k", "--patience", "1ns")
	require.Equal(t, exitFailed, code)
	require.ErrorContains(t, err, "only since a moment ago")
}

// An API key without the right to look is reported at once, because waiting does not change
// that.
func TestWaitingWithAWrongKeyEnds(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"code":"unauthorized","message":"a valid API key is required"}`))
		}))
		_, code, err := runCommand(t, "cluster", "wait", "--node", "n2", "--url", server.URL, "--key", "k", "--patience", "1h")
		require.ErrorContains(t, err, "a valid API key is required")
		require.Equal(t, exitFailed, code)
		server.Close()
	}
}

// If some parts of a call were not done, the exit code shows it.
func TestBulkReviewTellsWhatWasNotDone(t *testing.T) {
	statuses := "200,200"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		first, second, _ := strings.Cut(statuses, ",")
		_, _ = w.Write([]byte(`{"results":[{"status":` + first + `,"txnId":"txn_1"},{"status":` + second + `,"txnId":"txn_2"}]}`))
	}))
	defer server.Close()
	args := []string{"review", "bulk", "--txns", "txn_1,txn_2", "--disposition", "REJECTED", "--by", "x", "--url", server.URL, "--key", "k"}
	_, code, err := runCommand(t, args...)
	require.NoError(t, err)
	require.Equal(t, exitOK, code)
	statuses = "200,404"
	out, code, err := runCommand(t, args...)
	require.ErrorContains(t, err, "1 of 2 were not done")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "txn_2", "and they are shown")
}
