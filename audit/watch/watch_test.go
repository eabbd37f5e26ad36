package watch

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/merkle"
	"railguard/audit/note"
)

const logName = "pay.example.com/cl_test"

// fakeLog is a log that can be made to lie. It computes its tree literally by RFC 6962's
// definition.
type fakeLog struct {
	t      testing.TB
	server *httptest.Server
	leaves []merkle.Hash
	signer *note.Signer
	listed string

	lists      []string // Extension lines of its checkpoints.
	seconds    int64
	shown      []byte // If set, is served in place of the checkpoint.
	cosigned   []byte // The checkpoint that witnesses signed; nil: there is none.
	status     int    // If set, is the status of every answer.
	noProofs   bool   // The consistency endpoint does not exist.
	wrongPath  bool   // The consistency proofs are wrong.
	noTiles    bool
	tilesAsked int
}

func newFakeLog(t testing.TB, leaves int) *fakeLog {
	f := &fakeLog{t: t, signer: signerOf(t, logName, 1), seconds: 1_800_000_000}
	f.listed = f.signer.VerifierKeys()
	f.grow(leaves)
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func signerOf(t testing.TB, name string, of byte) *note.Signer {
	s, err := note.NewSigner(name, bytes.Repeat([]byte{of}, note.SeedSize))
	require.NoError(t, err)
	return s
}

func (f *fakeLog) grow(by int) {
	for range by {
		f.leaves = append(f.leaves, merkle.Leaf(fmt.Appendf(nil, "leaf %d", len(f.leaves))))
	}
	f.seconds++
}

func (f *fakeLog) source() *Source { return &Source{Base: f.server.URL, HTTP: f.server.Client()} }

func (f *fakeLog) sign(size int) []byte {
	return f.signer.Sign(uint64(size), rootOf(f.leaves[:size]), f.seconds*int64(time.Second), f.lists...)
}

func (f *fakeLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case f.status != 0:
		w.WriteHeader(f.status)
	case r.URL.Path == "/log/checkpoint" && f.shown != nil:
		_, _ = w.Write(f.shown)
	case r.URL.Path == "/log/checkpoint":
		_, _ = w.Write(f.sign(len(f.leaves)))
	case r.URL.Path == "/log/cosigned" && f.cosigned != nil:
		_, _ = w.Write(f.cosigned)
	case r.URL.Path == "/log/keys":
		_, _ = w.Write([]byte(f.listed))
	case parts[1] == "consistency" && !f.noProofs:
		from, _ := strconv.Atoi(parts[2])
		to, _ := strconv.Atoi(parts[3])
		if to > len(f.leaves) {
			http.NotFound(w, r)
			return
		}
		path := []string{}
		for _, hash := range subproof(from, f.leaves[:to], true) {
			if f.wrongPath {
				hash[0] ^= 1
			}
			path = append(path, base64.StdEncoding.EncodeToString(hash))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"from": from, "to": to, "path": path})
	case parts[1] == "tile" && !f.noTiles:
		f.tile(w, r, parts)
	default:
		http.NotFound(w, r)
	}
}

func (f *fakeLog) tile(w http.ResponseWriter, r *http.Request, parts []string) {
	f.tilesAsked++
	level, _ := strconv.Atoi(parts[2])
	text, partial, cut := strings.Cut(strings.Join(parts[3:], "/"), ".p/")
	index := 0
	for _, group := range strings.Split(text, "/") {
		n, err := strconv.Atoi(strings.TrimPrefix(group, "x"))
		require.NoError(f.t, err)
		index = index*1000 + n
	}
	width := tileWidth
	if cut {
		width, _ = strconv.Atoi(partial)
	}
	span := 1 << (8 * level)
	if (index*tileWidth+width)*span > len(f.leaves) {
		http.NotFound(w, r)
		return
	}
	for i := range width {
		first := (index*tileWidth + i) * span
		hash := rootOf(f.leaves[first : first+span])
		_, _ = w.Write(hash[:])
	}
}

func rootOf(hashes []merkle.Hash) merkle.Hash {
	switch len(hashes) {
	case 0:
		empty, _ := base64.StdEncoding.DecodeString("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
		return merkle.Hash(empty)
	case 1:
		return hashes[0]
	}
	k := splitAt(len(hashes))
	left, right := rootOf(hashes[:k]), rootOf(hashes[k:])
	return merkle.Node(left[:], right[:])
}

func subproof(m int, hashes []merkle.Hash, whole bool) [][]byte {
	if m == len(hashes) || m == 0 {
		if whole {
			return nil
		}
		root := rootOf(hashes)
		return [][]byte{root[:]}
	}
	k := splitAt(len(hashes))
	if m <= k {
		other := rootOf(hashes[k:])
		return append(subproof(m, hashes[:k], whole), other[:])
	}
	other := rootOf(hashes[:k])
	return append(subproof(m-k, hashes[k:], false), other[:])
}

func splitAt(n int) int {
	k := 1
	for 2*k < n {
		k *= 2
	}
	return k
}

// following is a watcher of a fake log, with a clock that the test moves.
type following struct {
	t       testing.TB
	log     *fakeLog
	dir     string
	options Options
	state   *State
	*Watcher
	now time.Time
}

func follow(t testing.TB, f *fakeLog, keys string, options Options, more ...*Source) *following {
	w := &following{t: t, log: f, dir: filepath.Join(t.TempDir(), "watch"), options: options, now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
	w.open(keys, more...)
	return w
}

func (w *following) open(keys string, more ...*Source) {
	state, err := OpenState(w.dir, keys)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = state.Close() })
	w.state, w.Watcher = state, New(state, append([]*Source{w.log.source()}, more...), w.options, w.now)
}

func (w *following) again(keys string) {
	require.NoError(w.t, w.state.Close())
	w.open(keys)
}

// look makes one step and returns the kinds of its findings, in order.
func (w *following) look() string {
	w.t.Helper()
	found, err := w.Step(context.Background(), w.now)
	require.NoError(w.t, err)
	var kinds []string
	for _, f := range found {
		require.NotEmpty(w.t, f.Text)
		if f.Alarm() {
			require.FileExists(w.t, f.File)
			data, err := os.ReadFile(f.File)
			require.NoError(w.t, err)
			for _, signed := range f.Evidence {
				require.Contains(w.t, string(data), string(signed))
			}
		}
		kinds = append(kinds, f.Kind)
	}
	return strings.Join(kinds, " ")
}

func (w *following) size() int {
	point, _, _, _ := w.state.Latest()
	return int(point.Size)
}

// An honest log grows. The watcher restarts and keeps every checkpoint.
func TestFollowsAnHonestLog(t *testing.T) {
	for name, mode := range map[string]func(*fakeLog){
		"by its proofs":          func(*fakeLog) {},
		"by its tiles":           func(f *fakeLog) { f.noProofs = true },
		"its proofs are rubbish": func(f *fakeLog) { f.wrongPath = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeLog(t, 3)
			mode(f)
			w := follow(t, f, f.signer.VerifierKeys(), Options{Silence: time.Minute, Stale: time.Hour})
			require.Equal(t, KindFirst, w.look())
			random := rand.New(rand.NewPCG(1, 2))
			kept := 1
			for range 25 {
				require.Equal(t, KindSame, w.look())
				f.grow(1 + random.IntN(120))
				require.Equal(t, KindGrown, w.look())
				require.Equal(t, len(f.leaves), w.size())
				kept++
				if random.IntN(4) == 0 {
					w.again(f.signer.VerifierKeys())
				}
			}
			history, err := os.ReadFile(filepath.Join(w.dir, historyName, "2026-05-01"))
			require.NoError(t, err)
			require.Equal(t, kept, strings.Count(string(history), "@ 2026-05-01T"))
			require.Equal(t, kept, strings.Count(string(history), logName+"\n"))
			require.Equal(t, f.noProofs || f.wrongPath, f.tilesAsked > 0)
		})
	}
}

// Everything that a log must not do raises an alarm at each look, and the accepted checkpoint
// stays the same.
func TestAlarms(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(t *testing.T, f *fakeLog, w *following)
		want string
	}{
		"history rewritten":         {func(_ *testing.T, f *fakeLog, _ *following) { f.leaves[7][0] ^= 1; f.grow(20) }, KindFork},
		"rewritten, proofs rubbish": {func(_ *testing.T, f *fakeLog, _ *following) { f.leaves[7][0] ^= 1; f.wrongPath = true; f.grow(20) }, KindFork},
		"rewritten, no proofs":      {func(_ *testing.T, f *fakeLog, _ *following) { f.leaves[7][0] ^= 1; f.noProofs = true; f.grow(20) }, KindFork},
		"two trees of one size":     {func(_ *testing.T, f *fakeLog, _ *following) { f.leaves[39][0] ^= 1 }, KindFork},
		"a leaf removed": {func(_ *testing.T, f *fakeLog, _ *following) {
			f.leaves = append(f.leaves[:5], f.leaves[6:]...)
			f.grow(9)
		}, KindFork},
		"two leaves moved": {func(_ *testing.T, f *fakeLog, _ *following) {
			f.leaves[3], f.leaves[4] = f.leaves[4], f.leaves[3]
			f.grow(1)
		}, KindFork},
		"smaller, signed later": {func(_ *testing.T, f *fakeLog, _ *following) { f.leaves = f.leaves[:30]; f.seconds += 60 }, KindRollback},
		"smaller, earlier, of another": {func(_ *testing.T, f *fakeLog, _ *following) {
			all := f.leaves
			f.seconds -= 60
			forked := append([]merkle.Hash(nil), all[:30]...)
			forked[2][0] ^= 1
			f.leaves = forked
			f.shown = f.sign(30)
			f.leaves = all
		}, KindFork},
		"somebody else's signature": {func(t *testing.T, f *fakeLog, _ *following) { f.signer = signerOf(t, logName, 9); f.grow(1) }, KindSignature},
		"keys changed without the old": {func(t *testing.T, f *fakeLog, _ *following) {
			f.signer = signerOf(t, logName, 9)
			f.grow(1)
			f.listed = note.SizesLine(41, 1<<64-1) + f.signer.VerifierKeys() + note.SizesLine(0, 40) + f.listed
		}, KindSignature},
		"a byte of the signature": {func(_ *testing.T, f *fakeLog, _ *following) {
			f.grow(1)
			f.shown = bytes.Replace(f.sign(41), []byte("\n41\n"), []byte("\n42\n"), 1)
		}, KindSignature},
		"another name": {func(t *testing.T, f *fakeLog, _ *following) {
			f.signer = signerOf(t, logName+"/0123456789abcdef", 3)
			f.grow(1)
		}, KindLineage},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeLog(t, 40)
			w := follow(t, f, f.signer.VerifierKeys(), Options{Silence: time.Minute})
			require.Equal(t, KindFirst, w.look())
			test.do(t, f, w)
			require.Equal(t, test.want, w.look())
			require.Equal(t, test.want, w.look(), "it does not get used to it")
			require.Equal(t, 40, w.size())
			w.again("")
			require.Equal(t, test.want, w.look(), "nor by a restart")
		})
	}
}

// A server that lags shows an older tree, which the newest one continues. That is no alarm.
func TestLaggingServerIsNoAlarm(t *testing.T) {
	f := newFakeLog(t, 40)
	behind := newFakeLog(t, 33)
	behind.seconds = f.seconds - 5
	w := follow(t, f, f.signer.VerifierKeys(), Options{Silence: time.Minute}, behind.source())
	require.Equal(t, "first behind", w.look())
	f.grow(10)
	require.Equal(t, "grown behind", w.look())
	behind.leaves[4][0] ^= 1
	require.Equal(t, "same fork", w.look(), "two servers with two trees")
}

func TestSilenceGapAndStaleness(t *testing.T) {
	f := newFakeLog(t, 40)
	w := follow(t, f, f.signer.VerifierKeys(), Options{Silence: time.Minute, Stale: time.Hour})
	require.Equal(t, KindFirst, w.look())
	for _, down := range []func(){func() { f.status = 503 }, func() { f.status = 0; f.shown = []byte("<html>down for maintenance</html>") }} {
		down()
		require.Equal(t, KindAway, w.look())
		w.now = w.now.Add(61 * time.Second)
		require.Equal(t, "away silence", w.look())
		f.status, f.shown = 0, nil
		require.Equal(t, KindSame, w.look())
	}
	f.grow(5)
	f.noProofs, f.noTiles = true, true
	require.Equal(t, KindAway, w.look(), "nothing shows how 45 continues 40")
	require.Equal(t, 40, w.size())
	w.now = w.now.Add(61 * time.Second)
	require.Equal(t, "away gap", w.look())
	f.noTiles = false
	require.Equal(t, KindGrown, w.look())
	w.now = w.now.Add(2 * time.Hour)
	require.Equal(t, "same stale", w.look())
	f.grow(1)
	require.Equal(t, KindGrown, w.look())
}

// Keys rotate three times, once while the watcher is off. A watcher that trusts the first keys
// goes on.
func TestFollowsRotations(t *testing.T) {
	f := newFakeLog(t, 40)
	first := f.signer.VerifierKeys()
	w := follow(t, f, first, Options{})
	require.Equal(t, KindFirst, w.look())
	rotate := func(of byte) {
		next := signerOf(t, logName, of)
		from := uint64(len(f.leaves) + 1)
		head, old, cut := strings.Cut(f.listed, "\n")
		if cut && strings.HasPrefix(head, "#: sizes") {
			old = strings.Replace(head, "up", fmt.Sprintf("to %d", from-1), 1) + "\n" + old
		} else {
			old = note.SizesLine(0, from-1) + f.listed
		}
		f.listed = note.SizesLine(from, 1<<64-1) + next.VerifierKeys() + f.signer.Endorse(next, from) + old
		f.signer = next
		f.grow(1)
	}
	rotate(2)
	require.Equal(t, "rotation grown", w.look())
	require.Equal(t, KindSame, w.look())
	rotate(3)
	f.grow(10)
	rotate(4)
	f.grow(3)
	w.again(first)
	require.Equal(t, "rotation grown", w.look(), "the operator's file still names the first keys")
	w.again(first)
	f.grow(1)
	require.Equal(t, KindGrown, w.look())

	// A signature by old keys is not accepted any more.
	thief := signerOf(t, logName, 3)
	f.shown = thief.Sign(uint64(len(f.leaves)), rootOf(f.leaves), f.seconds*int64(time.Second))
	require.Equal(t, KindSignature, w.look())
}

// The operator accepts another name of the log. The watcher reports what the log lost.
func TestAcceptsALineage(t *testing.T) {
	f := newFakeLog(t, 40)
	old := f.signer.VerifierKeys()
	name := logName + "/0123456789abcdef"
	for _, test := range []struct {
		lost int
		says string
	}{{0, "all of which it continues"}, {10, "lost or was rewritten"}} {
		f.signer, f.shown = signerOf(t, logName, 1), nil
		w := follow(t, f, old, Options{})
		require.Equal(t, KindFirst, w.look())
		f.signer = signerOf(t, name, 3)
		keys := note.SizesLine(1, 1<<64-1) + f.signer.VerifierKeys() + note.SizesLine(0, 1<<64-1) + old
		f.leaves = f.leaves[:len(f.leaves)-test.lost]
		require.Equal(t, KindLineage, w.look())
		w.again(keys)
		require.Equal(t, KindLineage, w.look(), "keys alone do not accept a name")
		w.options.Lineage = name
		w.again(keys)
		found, err := w.Step(context.Background(), w.now)
		require.NoError(t, err)
		require.Equal(t, KindMoved, found[0].Kind)
		require.Contains(t, found[0].Text, test.says)
		require.Equal(t, KindSame, w.look())
	}
}

func TestStateIsOnesOwn(t *testing.T) {
	f := newFakeLog(t, 4)
	w := follow(t, f, "", Options{})
	_, err := OpenState(w.dir, "")
	require.ErrorContains(t, err, "in use")
	require.Equal(t, KindFirst, w.look(), "without keys those that the log lists are taken at first")
	require.Equal(t, f.listed, w.state.Keys())
	require.NoError(t, w.state.Close())
	_, err = OpenState(w.dir, "not a key")
	require.ErrorIs(t, err, note.ErrMalformed)
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, latestName), []byte("altered"), 0o600))
	_, err = OpenState(w.dir, "")
	require.ErrorIs(t, err, note.ErrUnverified, "its own memory is verified too")
}

// If keys of another log are given by mistake, they are refused and not kept.
func TestKeysOfAnotherLogAreNotKept(t *testing.T) {
	f := newFakeLog(t, 5)
	w := follow(t, f, f.listed, Options{})
	require.Equal(t, KindFirst, w.look())
	require.NoError(t, w.state.Close())
	_, err := OpenState(w.dir, signerOf(t, "another.example.org/cl_2", 9).VerifierKeys())
	require.ErrorContains(t, err, "does not verify under the keys")
	again, err := OpenState(w.dir, "")
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
