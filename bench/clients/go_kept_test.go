package clients

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

const (
	keysPath = "/v1/.well-known/jwks.json"
	listPath = "/status-lists/1"
)

// publisher serves keys and a list, each at its path. What is held is never answered, while the test lasts.
type publisher struct {
	url          string
	answers      map[string]*atomic.Value // Text.
	held         map[string]*atomic.Bool
	asked        chan string // The path of each call.
	open         chan struct{}
	good, bare   string // A good credential, and one that names no list.
	stranger     string // One by a key that is not published.
	revokingList string
}

func newPublisher(t *testing.T) *publisher {
	key := newSigner(t, "cc-test")
	p := &publisher{
		answers: map[string]*atomic.Value{keysPath: {}, listPath: {}}, held: map[string]*atomic.Bool{keysPath: {}, listPath: {}},
		asked: make(chan string, 1000), open: make(chan struct{}),
		good: key.sign(header("cc-test"), key.payload(entryClaim(0, listURL))), bare: key.sign(header("cc-test"), key.payload(nil)),
		revokingList: key.sign(listHeader("cc-test"), key.list(map[string]any{"status_list": map[string]any{"bits": 2, "lst": packed(t, []byte{1})}})),
	}
	other := newSigner(t, "cc-other")
	p.stranger = other.sign(header("cc-other"), other.payload(nil))
	p.answers[keysPath].Store(string(encode(t, client.JWKS{Keys: []client.JWK{key.public()}})))
	p.answers[listPath].Store(key.sign(listHeader("cc-test"), key.list(nil)))
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(p.open) })
	p.url = server.URL
	return p
}

// ServeHTTP answers. /hold before a path holds its answers from then on, /serve no longer, and /revoke puts the
// revoking list there.
func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path, ok := strings.CutPrefix(r.URL.Path, "/hold"); ok {
		p.held[path].Store(true)
		return
	}
	if path, ok := strings.CutPrefix(r.URL.Path, "/serve"); ok {
		p.held[path].Store(false)
		return
	}
	if path, ok := strings.CutPrefix(r.URL.Path, "/revoke"); ok {
		p.answers[path].Store(p.revokingList)
		return
	}
	p.asked <- r.URL.Path
	if p.held[r.URL.Path].Load() {
		select {
		case <-p.open:
		case <-r.Context().Done():
		}
		return
	}
	_, _ = w.Write([]byte(p.answers[r.URL.Path].Load().(string)))
}

// count returns how often a path was asked for since the last count.
func (p *publisher) count(path string) (times int) {
	for {
		select {
		case asked := <-p.asked:
			if asked == path {
				times++
			}
		default:
			return times
		}
	}
}

// keeper is a Verifier of Go's client with a clock.
type keeper struct {
	*publisher
	now      atomic.Int64
	verifier *client.Verifier
}

func newKeeper(t *testing.T) *keeper {
	k := &keeper{publisher: newPublisher(t)}
	// Neither an attempt nor a call of the client ends by itself: what comes back does so for its caller.
	rail, err := client.New(client.Options{Addresses: []string{k.url}, Attempts: 1, AttemptTimeout: time.Hour, Deadline: time.Hour})
	require.NoError(t, err)
	k.now.Store(validFrom + 1)
	k.verifier = client.NewVerifier(rail, "did:kya:railguard", func() time.Time { return time.Unix(k.now.Load(), 0) })
	return k
}

// verify returns what is wrong with a credential for a caller who waits for nothing.
func (k *keeper) verify(token string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := k.verifier.Verify(ctx, token)
	return err
}

// five calls five times at once, ends all callers once a path was asked for, and returns the errors.
func (k *keeper) five(t *testing.T, path, token string) (all []error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	back := make(chan error, 5)
	for range 5 {
		go func() {
			_, err := k.verifier.Verify(ctx, token)
			back <- err
		}()
	}
	for asked := ""; asked != path; {
		asked = <-k.asked
	}
	cancel()
	for range 5 {
		all = append(all, <-back)
	}
	return all
}

// TestGoVerifierHoldsNoLockOverTheNetwork: five callers wait for a list that never comes, each as long as its
// own context allows, and for one fetch.
func TestGoVerifierHoldsNoLockOverTheNetwork(t *testing.T) {
	k := newKeeper(t)
	_, err := k.verifier.Verify(t.Context(), k.bare) // Now the keys are known.
	require.ErrorIs(t, err, client.ErrStatusNone)
	k.held[listPath].Store(true)
	for _, err := range k.five(t, listPath, k.good) {
		require.ErrorIs(t, err, client.ErrStatusUnavailable)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Zero(t, k.count(listPath), "one fetch serves all")
	require.ErrorIs(t, k.verify(k.bare), client.ErrStatusNone, "who needs no list waits for none")
}

// TestGoKnownListServes: a list serves until its end while it is fetched anew, and not longer.
func TestGoKnownListServes(t *testing.T) {
	k := newKeeper(t)
	_, err := k.verifier.Verify(t.Context(), k.good)
	require.NoError(t, err)
	require.Equal(t, 1, k.count(listPath))
	k.held[listPath].Store(true)
	k.now.Store(validFrom + 60)
	require.NoError(t, k.verify(k.good))
	require.Zero(t, k.count(listPath), "within its ttl")
	for _, second := range []int64{61, 62, 119} {
		k.now.Store(validFrom + second)
		require.NoError(t, k.verify(k.good))
	}
	require.Equal(t, listPath, <-k.asked)
	require.Zero(t, k.count(listPath), "one fetch, under way")
	k.now.Store(validFrom + 120)
	require.ErrorIs(t, k.verify(k.good), client.ErrStatusUnavailable, "behind its end nothing serves")
}

// TestGoFetchedListCounts: what a fetch brings counts for the next caller.
func TestGoFetchedListCounts(t *testing.T) {
	k := newKeeper(t)
	_, err := k.verifier.Verify(t.Context(), k.good)
	require.NoError(t, err)
	k.answers[listPath].Store(k.revokingList)
	k.now.Store(validFrom + 61)
	require.Eventually(t, func() bool { return k.verify(k.good) != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, k.verify(k.good), client.ErrRevoked)
}

// TestGoKnownKeysServe: while the keys are read anew, because their half hour is over or because one is missing,
// those that are known serve; behind their hour they do not.
func TestGoKnownKeysServe(t *testing.T) {
	k := newKeeper(t)
	_, err := k.verifier.Verify(t.Context(), k.bare)
	require.ErrorIs(t, err, client.ErrStatusNone)
	require.Equal(t, 1, k.count(keysPath))
	k.held[keysPath].Store(true)
	require.ErrorIs(t, k.verify(k.stranger), client.ErrTokenKey)
	require.Zero(t, k.count(keysPath), "they were read within a minute")
	k.now.Store(validFrom + 61)
	for _, err := range k.five(t, keysPath, k.stranger) {
		require.ErrorIs(t, err, context.Canceled)
	}
	for _, second := range []int64{61, 1801, 3600} {
		k.now.Store(validFrom + second)
		require.ErrorIs(t, k.verify(k.bare), client.ErrStatusNone)
	}
	require.Zero(t, k.count(keysPath), "one reading, under way")
	k.now.Store(validFrom + 3601)
	require.ErrorIs(t, k.verify(k.bare), context.Canceled, "behind their hour nothing serves")
}

// TestPythonKeeps: Python's client does the same, with threads and timeouts.
func TestPythonKeeps(t *testing.T) {
	p := newPublisher(t)
	python := pythonCommand(t, "drive").Path
	var got struct {
		Lists, Ends, Keys []string
		Revoked           string
	}
	work := map[string]any{"url": p.url, "good": p.good, "bare": p.bare, "stranger": p.stranger, "from": validFrom}
	require.NoError(t, run(t.Context(), exec.Command(python, "-B", "testdata/kept.py"), work, &got))
	five := func(word string) []string { return []string{word, word, word, word, word} }
	require.Equal(t, five("status_unknown"), got.Lists)
	require.Equal(t, []string{"agt_test", "agt_test", "agt_test", "status_unknown"}, got.Ends)
	require.Equal(t, append(five("no_answer"), "no_status", "no_status", "no_answer"), got.Keys)
	require.Equal(t, "revoked", got.Revoked)
}
