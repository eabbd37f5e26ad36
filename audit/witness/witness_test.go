package witness

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
	"railguard/audit/watch"
)

const logName = "pay.example.com/cl_test"

// tree makes proofs with golang.org/x/mod/sumdb/tlog.
type tree []tlog.Hash

func (o tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, n := range indexes {
		out[i] = o[n]
	}
	return out, nil
}

func grow(t testing.TB, size int64, salt string) tree {
	var o tree
	for i := range size {
		hashes, err := tlog.StoredHashes(i, fmt.Appendf(nil, "leaf %d%s", i, salt), o)
		require.NoError(t, err)
		o = append(o, hashes...)
	}
	return o
}

type bench struct {
	t       *testing.T
	log     *note.Signer
	tree    tree
	state   *watch.State
	witness *Witness
	server  *httptest.Server
	said    []string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, tree: grow(t, 64, "")}
	var err error
	b.log, err = note.NewSigner(logName, bytes.Repeat([]byte{1}, note.SeedSize))
	require.NoError(t, err)
	b.state, err = watch.OpenState(t.TempDir(), b.log.VerifierKeys())
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.state.Close() })
	cosigner, err := note.NewCosigner("witness.example.org/w1", bytes.Repeat([]byte{5}, note.SeedSize))
	require.NoError(t, err)
	b.witness = &Witness{
		Cosigner: cosigner, Store: b.state, Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
		Log: func(text string, _ ...any) { b.said = append(b.said, text) },
	}
	b.server = httptest.NewServer(b.witness)
	t.Cleanup(b.server.Close)
	return b
}

func (b *bench) sign(of tree, size int64) []byte {
	root, err := tlog.TreeHash(size, of)
	require.NoError(b.t, err)
	return b.log.Sign(uint64(size), note.Hash(root), 0)
}

func (b *bench) path(of tree) func(from, to uint64) ([][]byte, error) {
	return func(from, to uint64) ([][]byte, error) {
		p, err := tlog.ProveTree(int64(to), int64(from), of)
		out := make([][]byte, len(p))
		for i := range p {
			out[i] = p[i][:]
		}
		return out, err
	}
}

func (b *bench) peer() *Peer {
	return &Peer{URL: b.server.URL, Keys: b.witness.Cosigner.VerifierKey() + "\n", HTTP: b.server.Client()}
}

func (b *bench) post(body []byte) (int, string, string) {
	r, err := http.Post(b.server.URL+"/add-checkpoint", "text/plain", bytes.NewReader(body))
	require.NoError(b.t, err)
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	require.NoError(b.t, err)
	return r.StatusCode, r.Header.Get("Content-Type"), string(data)
}

// A log asks for a cosignature, grows and asks again. Another node of the log, which does not
// know the witness's last size, learns it. A node that lags gets ErrAhead.
func TestAskAWitness(t *testing.T) {
	b := newBench(t)
	first, second := b.peer(), b.peer()
	for _, size := range []int64{1, 2, 7, 8, 40} {
		for _, p := range []*Peer{first, second} {
			found, err := p.Ask(context.Background(), b.sign(b.tree, size), b.path(b.tree))
			require.NoError(t, err, "%d leaves", size)
			require.Len(t, found, 1)
			require.Equal(t, int64(1_800_000_000), found[0].Time)
			both := note.WithLines(b.sign(b.tree, size), found[0].Line)
			_, err = note.Verify(both, b.log.VerifierKeys()+b.witness.Cosigner.VerifierKey()+"\n")
			require.NoError(t, err)
		}
	}
	_, err := b.peer().Ask(context.Background(), b.sign(b.tree, 39), b.path(b.tree))
	require.ErrorIs(t, err, ErrAhead)
	require.Empty(t, b.said)
}

// The HTTP statuses are those of the standard.
func TestAddCheckpoint(t *testing.T) {
	b := newBench(t)
	forked := grow(t, 64, "x")
	stranger, err := note.NewSigner("other.example.com/log", bytes.Repeat([]byte{2}, note.SeedSize))
	require.NoError(t, err)
	forger, err := note.NewSigner(logName, bytes.Repeat([]byte{2}, note.SeedSize))
	require.NoError(t, err)
	path := func(of tree, from, to uint64) [][]byte {
		p, err := b.path(of)(from, to)
		require.NoError(t, err)
		return p
	}
	root, err := tlog.TreeHash(20, b.tree)
	require.NoError(t, err)
	status, kind, text := b.post(encodeBody(0, nil, b.sign(b.tree, 20)))
	require.Equal(t, 200, status, text)
	require.Contains(t, kind, "text/plain")
	require.True(t, strings.HasPrefix(text, "— witness.example.org/w1 ") && strings.HasSuffix(text, "\n"), text)
	for name, test := range map[string]struct {
		body   []byte
		status int
		text   string
	}{
		"not a request":             {[]byte("x"), 400, ""},
		"size with a zero in front": {[]byte("old 020\n\n" + string(b.sign(b.tree, 21))), 400, ""},
		"a hash that is none":       {[]byte("old 20\nxxxx\n\n" + string(b.sign(b.tree, 21))), 400, ""},
		"64 hashes":                 {encodeBody(20, slicesOf(64), b.sign(b.tree, 21)), 400, ""},
		"no checkpoint":             {[]byte("old 20\n\nx"), 400, ""},
		"old behind the tree":       {encodeBody(21, nil, b.sign(b.tree, 20)), 400, ""},
		"another log":               {encodeBody(0, nil, stranger.Sign(20, note.Hash(root), 0)), 404, ""},
		"not signed by the log":     {encodeBody(20, path(b.tree, 20, 21), forger.Sign(21, note.Hash(root), 0)), 403, ""},
		"another size is cosigned":  {encodeBody(19, path(b.tree, 19, 21), b.sign(b.tree, 21)), 409, "20\n"},
		"it does not know":          {encodeBody(0, nil, b.sign(b.tree, 21)), 409, "20\n"},
		"two trees of one size":     {encodeBody(20, nil, b.sign(forked, 20)), 422, ""},
		"a fork":                    {encodeBody(20, path(forked, 20, 30), b.sign(forked, 30)), 422, ""},
		"the wrong proof":           {encodeBody(20, path(b.tree, 20, 31), b.sign(b.tree, 30)), 422, ""},
		"no proof":                  {encodeBody(20, nil, b.sign(b.tree, 30)), 422, ""},
		"a proof of nothing":        {encodeBody(20, path(b.tree, 20, 30), b.sign(b.tree, 20)), 422, ""},
	} {
		status, kind, text := b.post(test.body)
		require.Equal(t, test.status, status, "%s: %s", name, text)
		if test.text != "" {
			require.Equal(t, test.text, text, name)
			require.Equal(t, "text/x.tlog.size", kind, name)
		} else {
			require.NotEqual(t, "text/x.tlog.size", kind, name)
		}
		kept, err := b.state.Cosigned(logName)
		require.NoError(t, err)
		require.Equal(t, b.sign(b.tree, 20), kept, "%s: nothing changed", name)
	}
	require.Len(t, b.said, 1, "forks are told, and a stranger who sends many does not fill the log")
	status, _, _ = b.post(encodeBody(20, nil, b.sign(b.tree, 20)))
	require.Equal(t, 200, status, "the same again")
	status, _, text = b.post(bytes.Repeat([]byte("x"), BodyMax+1))
	require.Equal(t, 400, status, text)
	r, err := http.Get(b.server.URL + "/add-checkpoint")
	require.NoError(t, err)
	require.Equal(t, 405, r.StatusCode)
	r, err = http.Post(b.server.URL+"/other", "", nil)
	require.NoError(t, err)
	require.Equal(t, 404, r.StatusCode)
}

func slicesOf(n int) (out [][]byte) {
	for range n {
		out = append(out, make([]byte, 32))
	}
	return out
}

// The root of no leaves is known, so that another one is never cosigned.
func TestATreeWithoutLeaves(t *testing.T) {
	b := newBench(t)
	empty, err := note.NewCosigner("witness.example.org/w2", bytes.Repeat([]byte{6}, note.SeedSize))
	require.NoError(t, err)
	fresh, err := watch.OpenState(t.TempDir(), b.log.VerifierKeys())
	require.NoError(t, err)
	t.Cleanup(func() { _ = fresh.Close() })
	young := &Witness{Cosigner: empty, Store: fresh, Now: b.witness.Now, Log: b.witness.Log}
	_, err = young.addCheckpoint(t.Context(), encodeBody(0, nil, b.log.Sign(0, note.Hash{1}, 0)))
	require.ErrorContains(t, err, "a tree without leaves has another root")
}

// A hundred callers submit a tree and a fork of it at once. The cosigned checkpoints all
// belong to one tree, in whatever order the calls come.
func TestNeverTwoTrees(t *testing.T) {
	b := newBench(t)
	forked := grow(t, 64, "x")
	var mutex sync.Mutex
	signed := map[string]bool{}
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			of, name := b.tree, "one"
			if i%2 == 1 {
				of, name = forked, "other"
			}
			_, err := b.peer().Ask(context.Background(), b.sign(of, int64(1+i%60)), b.path(of))
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				signed[name] = true
			}
		})
	}
	group.Wait()
	require.Len(t, signed, 1, "%v", signed)
}

// deafStore fails to keep anything.
type deafStore struct{ Store }

func (deafStore) SetCosigned(string, []byte) error { return errors.New("no space left on device") }

// A checkpoint that cannot be kept is not signed.
func TestNothingIsSignedThatIsNotKept(t *testing.T) {
	b := newBench(t)
	b.witness.Store = deafStore{b.state}
	status, _, text := b.post(encodeBody(0, nil, b.sign(b.tree, 20)))
	require.Equal(t, 500, status)
	require.NotContains(t, text, "— ")
	require.NotContains(t, text, "space")
}

// An answer of something else than a witness, or of another witness, is not a cosignature.
func TestPeerBelievesNobody(t *testing.T) {
	b := newBench(t)
	other, err := note.NewCosigner("witness.example.org/w1", bytes.Repeat([]byte{6}, note.SeedSize))
	require.NoError(t, err)
	point, err := note.Parse(b.sign(b.tree, 20))
	require.NoError(t, err)
	for name, answer := range map[string]func(w http.ResponseWriter){
		"somebody else's": func(w http.ResponseWriter) { _, _ = w.Write(other.Cosign(&point, 5)) },
		"of another tree": func(w http.ResponseWriter) { p := point; p.Size++; _, _ = w.Write(b.witness.Cosigner.Cosign(&p, 5)) },
		"a page":          func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>\n") },
		"nothing":         func(http.ResponseWriter) {},
		"too much":        func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte("— x\n"), 1<<15)) },
		"a size, always": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", sizeType)
			w.WriteHeader(409)
			_, _ = io.WriteString(w, "3\n")
		},
		"a size of nothing": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", sizeType)
			w.WriteHeader(409)
			_, _ = io.WriteString(w, "many\n")
		},
		"an error": func(w http.ResponseWriter) { w.WriteHeader(500) },
	} {
		calls := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { calls++; answer(w) }))
		p := &Peer{URL: server.URL, Keys: b.witness.Cosigner.VerifierKey(), HTTP: server.Client()}
		_, err := p.Ask(context.Background(), b.sign(b.tree, 20), b.path(b.tree))
		require.Error(t, err, name)
		require.LessOrEqual(t, calls, 2, name)
		server.Close()
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte("old 5\n" + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n\nx\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		old, path, signed, err := parseBody(data)
		if err == nil {
			require.Equal(t, data, encodeBody(old, path, signed), "one form for one request")
		}
	})
}
