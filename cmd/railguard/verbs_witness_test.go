package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"railguard/audit/note"
	"railguard/audit/witness"
)

// loneLog is a log of growing size whose keys can be replaced.
type loneLog struct {
	t      *testing.T
	name   string
	signer *note.Signer
	hashes []tlog.Hash
	size   int64
	keys   atomic.Pointer[string]
	asked  atomic.Int64
	server *httptest.Server
}

func newLoneLog(t *testing.T, name string, seed byte) *loneLog {
	l := &loneLog{t: t, name: name}
	l.signer = l.makeSigner(seed)
	keys := l.signer.VerifierKeys()
	l.keys.Store(&keys)
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "/log/keys", r.URL.Path, "nothing is polled")
		l.asked.Add(1)
		_, _ = io.WriteString(w, *l.keys.Load())
	}))
	t.Cleanup(l.server.Close)
	return l
}

func (l *loneLog) makeSigner(seed byte) *note.Signer {
	signer, err := note.NewSigner(l.name, bytes.Repeat([]byte{seed}, note.SeedSize))
	require.NoError(l.t, err)
	return signer
}

// ReadHashes makes the log a tlog.HashReader.
func (l *loneLog) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = l.hashes[at]
	}
	return out, nil
}

// grow adds leaves and returns the signed checkpoint.
func (l *loneLog) grow(leaves int) []byte {
	for range leaves {
		stored, err := tlog.StoredHashes(l.size, []byte{byte(l.size)}, l)
		require.NoError(l.t, err)
		l.hashes = append(l.hashes, stored...)
		l.size++
	}
	root, err := tlog.TreeHash(l.size, l)
	require.NoError(l.t, err)
	return l.signer.Sign(uint64(l.size), note.Hash(root), 1_790_000_000_000_000_000)
}

func (l *loneLog) path(from, to uint64) ([][]byte, error) {
	hashes, err := tlog.ProveTree(int64(to), int64(from), l)
	out := make([][]byte, len(hashes))
	for i := range hashes {
		out[i] = hashes[i][:]
	}
	return out, err
}

// setting is the --log of the log.
func (l *loneLog) setting() string {
	return strings.Join(strings.Fields(l.signer.VerifierKeys()), " ") + " " + l.server.URL
}

// openWitness opens `railguard witness serve` and serves it.
func openWitness(t *testing.T, state, key string, logs ...string) (*witnessServe, *httptest.Server) {
	w := &witnessServe{state: state, key: key, logs: logs, logLevel: "error", logFormat: "text"}
	cmd := &cobra.Command{}
	cmd.SetErr(io.Discard)
	made, err := w.open(cmd)
	require.NoError(t, err)
	server := httptest.NewServer(made)
	t.Cleanup(server.Close)
	return w, server
}

func hashOf(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:])
}

func fetchText(t *testing.T, address string) (int, string) {
	response, err := http.Get(address)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(data)
}

// One witness cosigns many logs, each for itself, from its first checkpoint ("old 0") on, over
// restarts and over rotations of a log's keys. It asks a log for nothing but keys, and only then.
func TestWitnessOfManyLogs(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "witness.key")
	cosigner, err := note.NewCosigner("witness.example.org/w1", bytes.Repeat([]byte{9}, note.SeedSize))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, []byte(cosigner.SecretKey()+"\n"), 0o600))
	one, two := newLoneLog(t, "one.example.org/log", 1), newLoneLog(t, "two.example.org/log", 2)
	state := filepath.Join(dir, "state")
	w, server := openWitness(t, state, key, one.setting(), two.setting())
	peers := map[*loneLog]*witness.Peer{}
	for _, l := range []*loneLog{one, two} {
		peers[l] = &witness.Peer{URL: server.URL, Keys: cosigner.VerifierKeys(), HTTP: server.Client()}
		status, _ := fetchText(t, server.URL+"/"+hashOf(l.name)+"/checkpoint")
		require.Equal(t, 404, status, "nothing was cosigned yet")
		for range 3 {
			found, err := peers[l].Ask(context.Background(), l.grow(5), l.path)
			require.NoError(t, err)
			require.Len(t, found, 2, "under Ed25519 and ML-DSA-44")
		}
		status, text := fetchText(t, server.URL+"/"+hashOf(l.name)+"/checkpoint")
		require.Equal(t, 200, status)
		point, err := note.Verify([]byte(text), l.signer.VerifierKeys()+cosigner.VerifierKeys())
		require.NoError(t, err)
		require.EqualValues(t, 15, point.Size)
	}
	require.Zero(t, one.asked.Load()+two.asked.Load(), "nothing is polled")
	for path, want := range map[string]int{"/" + hashOf("three.example.org/log") + "/checkpoint": 404, "/checkpoint": 404, "/x": 404} {
		status, _ := fetchText(t, server.URL+path)
		require.Equal(t, want, status, path)
	}
	three := newLoneLog(t, "three.example.org/log", 3)
	_, err = peers[one].Ask(context.Background(), three.grow(20), three.path)
	require.ErrorContains(t, err, "404", "a log that was not given")

	require.NoError(t, w.kept.Close())
	w, server = openWitness(t, state, key, one.setting(), two.setting())
	_, again := fetchText(t, server.URL+"/"+hashOf(one.name)+"/checkpoint")
	_, err = note.Verify([]byte(again), one.signer.VerifierKeys()+cosigner.VerifierKeys())
	require.NoError(t, err, "what was cosigned last is there after a restart")
	forked := newLoneLog(t, one.name, 1)
	forked.size, forked.hashes = 0, nil
	first := &witness.Peer{URL: server.URL, Keys: cosigner.VerifierKeys(), HTTP: server.Client()}
	_, err = first.Ask(context.Background(), forked.grow(3), forked.path)
	require.ErrorIs(t, err, witness.ErrAhead, "a log cannot begin anew")
	testRotation(t, w, server, one, cosigner)
}

// testRotation replaces the keys of a log: by ones that the former endorse, and by a thief's.
func testRotation(t *testing.T, w *witnessServe, server *httptest.Server, l *loneLog, cosigner *note.Cosigner) {
	peer := &witness.Peer{URL: server.URL, Keys: cosigner.VerifierKeys(), HTTP: server.Client()}
	old := l.signer
	l.signer = l.makeSigner(0x99)
	_, err := peer.Ask(context.Background(), l.grow(1), l.path)
	require.ErrorContains(t, err, "403", "keys that nobody endorses")
	require.EqualValues(t, 1, l.asked.Load())
	_, err = peer.Ask(context.Background(), l.grow(1), l.path)
	require.ErrorContains(t, err, "403")
	require.EqualValues(t, 1, l.asked.Load(), "the log is asked at most once a minute")

	fresh := l.makeSigner(0x11)
	listed := note.SizesLine(18, 1<<64-1) + fresh.VerifierKeys() + old.Endorse(fresh, 18) + note.SizesLine(0, 17) + old.VerifierKeys()
	changed, err := w.kept.Follow(l.name, listed)
	require.NoError(t, err)
	require.True(t, changed)
	l.signer = fresh
	found, err := peer.Ask(context.Background(), l.grow(3), l.path)
	require.NoError(t, err, "the keys that the former endorsed")
	require.Len(t, found, 2)
	_, err = w.kept.Follow(l.name, l.makeSigner(0x99).VerifierKeys())
	require.Error(t, err)
}

// The whole way of a rotation: the checkpoint bears other keys, the log is asked, its list endorses them.
func TestWitnessFollowsEndorsedKeys(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "witness.key")
	cosigner, err := note.NewCosigner("witness.example.org/w1", bytes.Repeat([]byte{9}, note.SeedSize))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, []byte(cosigner.SecretKey()), 0o600))
	l := newLoneLog(t, "one.example.org/log", 1)
	_, server := openWitness(t, filepath.Join(dir, "state"), key, l.setting())
	peer := &witness.Peer{URL: server.URL, Keys: cosigner.VerifierKeys(), HTTP: server.Client()}
	_, err = peer.Ask(context.Background(), l.grow(4), l.path)
	require.NoError(t, err)
	old := l.signer
	l.signer = l.makeSigner(2)
	listed := note.SizesLine(5, 1<<64-1) + l.signer.VerifierKeys() + old.Endorse(l.signer, 5) + note.SizesLine(0, 4) + old.VerifierKeys()
	l.keys.Store(&listed)
	found, err := peer.Ask(context.Background(), l.grow(4), l.path)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.EqualValues(t, 1, l.asked.Load())
	_, err = peer.Ask(context.Background(), l.grow(4), l.path)
	require.NoError(t, err)
	require.EqualValues(t, 1, l.asked.Load(), "known from now on")
}

func TestWitnessFlags(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "witness.key")
	cosigner, err := note.NewCosigner("witness.example.org/w1", bytes.Repeat([]byte{9}, note.SeedSize))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, []byte(cosigner.SecretKey()), 0o600))
	l := newLoneLog(t, "one.example.org/log", 1)
	for says, args := range map[string][]string{
		"--state, --key and --log are required": {"--state", dir, "--key", key},
		"--key: ":                               {"--state", dir, "--key", filepath.Join(dir, "none"), "--log", l.setting()},
		"--log: ":                               {"--state", dir, "--key", key, "--log", "no key"},
		"is given twice":                        {"--state", dir, "--key", key, "--log", l.setting(), "--log", l.setting()},
		"no http or https address":              {"--state", dir, "--key", key, "--log", strings.Join(strings.Fields(l.signer.VerifierKeys()), " ") + " ftp://x"},
		"a witness's key is none of a log":      {"--state", dir, "--key", key, "--log", l.signer.VerifierKeys() + cosigner.VerifierKey()},
		"--tls-cert and --tls-key go together":  {"--state", dir, "--key", key, "--log", l.setting(), "--tls-cert", "x"},
	} {
		_, code, err := run(t, append([]string{"witness", "serve"}, args...)...)
		require.ErrorContains(t, err, says)
		require.Equal(t, exitUsage, code, says)
	}
	file := filepath.Join(dir, "keys.txt")
	require.NoError(t, os.WriteFile(file, []byte(l.signer.VerifierKeys()), 0o600))
	w, _ := openWitness(t, filepath.Join(dir, "state"), key, "@"+file)
	require.Equal(t, []string{l.name}, w.kept.Origins())
	other := &witnessServe{state: filepath.Join(dir, "state"), key: key, logs: []string{"@" + file}, logLevel: "info", logFormat: "text"}
	cmd := &cobra.Command{}
	cmd.SetErr(io.Discard)
	_, err = other.open(cmd)
	require.ErrorContains(t, err, "in use by another witness")
}
