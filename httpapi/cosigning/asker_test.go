package cosigning

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit/note"
	"railguard/cluster/report"
)

func TestParseWitnesses(t *testing.T) {
	c, err := note.NewCosigner("w.example.org", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	log, err := note.NewSigner("log.example.org", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	good := "https://w.example.org/x " + c.VerifierKey()
	all, err := ParseWitnesses([]string{good})
	require.NoError(t, err)
	require.Equal(t, []Witness{{URL: "https://w.example.org/x", Keys: c.VerifierKey() + "\n"}}, all)
	require.Equal(t, "w.example.org", all[0].Name())
	all, err = ParseWitnesses(nil)
	require.NoError(t, err)
	require.Empty(t, all)
	all, err = ParseWitnesses([]string{"https://w.example.org/x " + strings.Join(strings.Fields(c.VerifierKeys()), " ")})
	require.NoError(t, err)
	require.Equal(t, []Witness{{URL: "https://w.example.org/x", Keys: c.VerifierKeys()}}, all)
	other, err := note.NewCosigner("v.example.org", bytes.Repeat([]byte{2}, note.SeedSize))
	require.NoError(t, err)
	_, err = ParseWitnesses([]string{good + " " + other.VerifierKey()})
	require.ErrorContains(t, err, "two names")
	for _, bad := range []string{
		"", "https://w.example.org", c.VerifierKey(), good + " more", "ftp://w.example.org " + c.VerifierKey(), "w.example.org " + c.VerifierKey(),
		"https://u:p@w.example.org " + c.VerifierKey(), "https://w.example.org?x=1 " + c.VerifierKey(), "https://w.example.org " + strings.SplitN(log.VerifierKeys(), "\n", 2)[0],
		"https://w.example.org key",
	} {
		_, err := ParseWitnesses([]string{bad})
		require.Error(t, err, bad)
	}
	_, err = ParseWitnesses([]string{good, good})
	require.Error(t, err, "twice")
}

// Only the leader runs rounds, Stop ends them, and redirects are not followed.
func TestAskerLeadsAndStops(t *testing.T) {
	c, err := note.NewCosigner("w.example.org", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	log, err := note.NewSigner("log.example.org", bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	elsewhere := atomic.Int64{}
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer target.Close()
	server := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	heads, counted := make(chan struct{}, 100), make(chan bool, 100)
	leads := atomic.Bool{}
	a := New(Config{
		Witnesses: []Witness{{URL: server.URL, Keys: c.VerifierKey() + "\n"}}, Leads: leads.Load,
		Head: func(context.Context) (Head, error) {
			heads <- struct{}{}
			return Head{Size: 1, Signed: log.Sign(1, note.Hash{}, 0)}, nil
		},
		Path:    func(uint64, uint64) ([][]byte, error) { return nil, errors.New("none") },
		Publish: func(report.Cosigned) { t.Error("nothing was cosigned") },
		Count:   func(cosigned bool) { counted <- cosigned }, Logger: slog.New(slog.DiscardHandler),
	})
	a.Stop() // Stop before Start.
	leads.Store(true)
	a.Start()
	require.False(t, <-counted)
	a.Stop()
	require.NotEmpty(t, heads)
	require.Zero(t, elsewhere.Load(), "a redirect is not followed")
	require.Contains(t, a.Failures()["w.example.org"], "307")

	silent := New(Config{Leads: func() bool { t.Error("nobody is to be asked"); return true }})
	silent.Start()
	silent.Stop()
	require.Empty(t, silent.Keys())
}
