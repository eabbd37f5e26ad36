package cosigning

import (
	"bytes"
	"context"
	"fmt"
	"io"
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

func cosignerNumbered(t *testing.T, n byte) *note.Cosigner {
	t.Helper()
	c, err := note.NewCosigner(fmt.Sprintf("w%d.example.org", n), bytes.Repeat([]byte{n}, note.SeedSize))
	require.NoError(t, err)
	return c
}

// A policy's witnesses are asked at their URLs, two keys of one witness at once.
func TestParsePolicy(t *testing.T) {
	one, two := cosignerNumbered(t, 1), cosignerNumbered(t, 2)
	keys := strings.Fields(one.VerifierKeys())
	require.Len(t, keys, 2)
	line := func(name, key, url string) string { return strings.TrimSpace("witness "+name+" "+key+" "+url) + "\n" }
	policy, all, err := ParsePolicy(line("a", keys[0], "https://w1.example.org") + line("b", keys[1], "https://w1.example.org") +
		line("c", two.VerifierKey(), "https://w2.example.org") + "group first any a b\ngroup both 2 first c\nquorum both\n")
	require.NoError(t, err)
	require.Equal(t, []Witness{
		{URL: "https://w1.example.org", Keys: one.VerifierKeys()}, {URL: "https://w2.example.org", Keys: two.VerifierKey() + "\n"},
	}, all)
	require.Equal(t, "2 of both (1 of first (w1.example.org, w1.example.org), w2.example.org)", policy.Need())
	for bad, why := range map[string]string{
		"":                               "no quorum",
		line("a", one.VerifierKey(), ""): "no quorum",
		line("a", one.VerifierKey(), "") + "quorum a\n":                     "no URL",
		line("a", one.VerifierKey(), "ftp://w1.example.org") + "quorum a\n": "not an http",
	} {
		_, _, err := ParsePolicy(bad)
		require.Error(t, err, bad)
		if bad != "" {
			require.ErrorContains(t, err, why, bad)
		}
	}
}

// witnessServer cosigns whatever it is shown while it is open.
type witnessServer struct {
	*note.Cosigner
	open atomic.Bool
}

func (w *witnessServer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	_, signed, found := bytes.Cut(data, []byte("\n\n"))
	if err != nil || !found || !w.open.Load() {
		http.Error(rw, "closed", http.StatusServiceUnavailable)
		return
	}
	point, err := note.Parse(signed)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = rw.Write(w.Cosign(&point, 1_700_000_000))
}

// TestOnlyAQuorumIsPublished: what too few witnesses signed is not published, and the asker says
// why until enough of them do.
func TestOnlyAQuorumIsPublished(t *testing.T) {
	log, err := note.NewSigner("log.example.org", bytes.Repeat([]byte{9}, note.SeedSize))
	require.NoError(t, err)
	var text strings.Builder
	var servers [3]*witnessServer
	for i := range servers {
		servers[i] = &witnessServer{Cosigner: cosignerNumbered(t, byte(i+1))}
		server := httptest.NewServer(servers[i])
		t.Cleanup(server.Close)
		fmt.Fprintf(&text, "witness w%d %s %s\n", i+1, servers[i].VerifierKey(), server.URL)
	}
	text.WriteString("group three 2 w1 w2 w3\nquorum three\n")
	policy, witnesses, err := ParsePolicy(text.String())
	require.NoError(t, err)
	var published []report.Cosigned
	a := New(Config{
		Witnesses: witnesses, Policy: policy, Leads: func() bool { return true },
		Head: func(context.Context) (Head, error) {
			return Head{Size: 1, Time: 5, Signed: log.Sign(1, note.Hash{1}, 0)}, nil
		},
		Path:    func(uint64, uint64) ([][]byte, error) { return nil, nil },
		Publish: func(c report.Cosigned) { published = append(published, c) },
		Count:   func(bool) {}, Logger: slog.New(slog.DiscardHandler),
	})
	require.Same(t, policy, a.Policy())
	require.Equal(t, []string{"w1.example.org", "w2.example.org", "w3.example.org"}, a.Witnesses())
	require.Empty(t, a.Short())

	servers[0].open.Store(true)
	a.Round(t.Context())
	require.Empty(t, published, "one of three is too few")
	require.Contains(t, a.Short(), "signed by w1.example.org; wanted are 2 of three")
	require.Len(t, a.Failures(), 2)

	servers[1].open.Store(true)
	a.Round(t.Context())
	require.Len(t, published, 1)
	require.Len(t, published[0].Lines, 2)
	require.EqualValues(t, 1, published[0].Size)
	require.Empty(t, a.Short())
	require.Len(t, a.Failures(), 1)

	servers[2].open.Store(true)
	a.Round(t.Context())
	require.Len(t, published, 2, "a signature more is published")
	a.Round(t.Context())
	require.Len(t, published, 2, "nothing is new")
}
