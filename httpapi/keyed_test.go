package httpapi

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/audit/keyindex"
	"railguard/engine"
)

// olderKeys finds the Idempotency-Keys that the state has forgotten, as a node's files do.
type olderKeys struct {
	t     testing.TB
	index *keyindex.Index
	from  atomic.Uint64
	lost  atomic.Bool // The files are being made again.
}

func (o *olderKeys) open(t testing.TB, store *audit.Store) {
	index, err := keyindex.Open(audittest.NewMemDir(), store, keyindex.Options{
		IsKey: engine.IsKeyedFilter, Kept: time.Duration(engine.IdempotencyKept), Leaves: 16, Inline: true,
	})
	require.NoError(t, err)
	o.t, o.index = t, index
}

func (o *olderKeys) add(first uint64, leaves []audit.Leaf) {
	o.index.Add(first, leaves)
	o.index.Settle()
}

func (n *testNode) KeysFrom() uint64 { return n.older.from.Load() }

func (n *testNode) KeyedLeaves(key [16]byte) ([]audit.PlacedLeaf, uint64, error) {
	if n.older.lost.Load() {
		return nil, 0, keyindex.ErrIncomplete
	}
	return n.older.index.Leaves(engine.KeyedFilter(key), 16)
}

// untimed leaves out how long the call took.
func untimed(body string) string { return regexp.MustCompile(`"latencyMs":[0-9.]+`).ReplaceAllString(body, "") }

// keepFewKeys makes the state forget all but eight Idempotency-Keys.
func keepFewKeys(t *testing.T) {
	limits := engine.LimitsOf(engine.FormatNewest)
	before := *limits
	t.Cleanup(func() { *limits = before })
	limits.Idempotency = 8
}

// TestKeysAreKeptForADay (line K3): whatever number of calls come between, a retry within 24 hours
// gets the first call's answer, whichever route it is of, another body is refused, and afterwards
// the key is free.
func TestKeysAreKeptForADay(t *testing.T) {
	keepFewKeys(t)
	n := newTenants(t)
	type call struct{ path, body, other string }
	calls := []call{
		{"/v1/screen", `{"token":"` + n.token + `","amount":0.01}`, `{"token":"` + n.token + `","amount":0.02}`},
		{"/v1/fleets/create", `{"fleetName":"F","operatorLegalName":"Acme","dailyLimitUSDC":5}`, `{"fleetName":"G","operatorLegalName":"Acme","dailyLimitUSDC":5}`},
		{"/v1/users/register", `{"legalName":"P","agentIds":["` + n.agent + `"]}`, `{"legalName":"Q","agentIds":["` + n.agent + `"]}`},
		{"/v1/agents/" + n.agent + "/suspend", `{"reason":"r","actor":"D"}`, `{"reason":"s","actor":"D"}`},
		{"/v1/agents/" + n.agent + "/reinstate", `{"reason":"r","actor":"D"}`, `{"reason":"s","actor":"D"}`},
	}
	early := n.do("acme", "POST", "/v1/screen", calls[0].body, "Idempotency-Key", "early")
	require.Equal(t, 200, early.Code, early.Body)
	n.advance(30 * engine.Second)
	first := make([]string, len(calls))
	for i, c := range calls {
		w := n.do("acme", "POST", c.path, c.body, "Idempotency-Key", fmt.Sprint("k", i))
		require.Less(t, w.Code, 300, w.Body)
		first[i] = w.Body.String()
	}
	batch := `{"payments":[{"token":"` + n.token + `","amount":0.03,"idempotencyKey":"b"}]}`
	w := n.do("acme", "POST", "/v1/screen/batch", batch)
	require.Equal(t, 200, w.Code, w.Body)
	inBatch := member(t, w.Body.Bytes(), "results.0.txnId")

	retry := func() {
		t.Helper()
		size := n.store.Size()
		for i, c := range calls {
			w := n.do("acme", "POST", c.path, c.body, "Idempotency-Key", fmt.Sprint("k", i))
			require.Less(t, w.Code, 300, "%s: %s", c.path, w.Body)
			require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"), c.path)
			require.Equal(t, untimed(first[i]), untimed(w.Body.String()), c.path)
			w = n.do("acme", "POST", c.path, c.other, "Idempotency-Key", fmt.Sprint("k", i))
			require.Equal(t, 422, w.Code, "%s: %s", c.path, w.Body)
			require.Contains(t, w.Body.String(), "idempotency_conflict")
		}
		w := n.do("acme", "POST", "/v1/screen/batch", batch)
		require.Equal(t, inBatch, member(t, w.Body.Bytes(), "results.0.txnId"), "the payment of a batch")
		require.Equal(t, size, n.store.Size(), "nothing was written")
	}
	flood := func() {
		for i := range 40 {
			w := n.do("acme", "POST", "/v1/screen", `{"token":"`+n.token+`","amount":0.01}`, "Idempotency-Key", fmt.Sprint("f", n.now, i))
			require.Equal(t, 200, w.Code, w.Body)
		}
	}
	retry()
	flood()
	require.NotZero(t, n.KeysFrom())
	retry()

	n.older.lost.Store(true)
	w = n.do("acme", "POST", "/v1/screen", calls[0].body, "Idempotency-Key", "k0")
	require.Equal(t, 503, w.Code, "without the files nobody knows: %s", w.Body)
	require.Contains(t, w.Body.String(), "reading its history back")
	n.older.lost.Store(false)
	require.Equal(t, 200, n.do("acme", "POST", "/v1/screen", strings.Replace(calls[0].body, "0.01", "0.04", 1)).Code, "a call without a key needs no file")

	n.advance(engine.IdempotencyKept - engine.Minute)
	flood()
	retry()
	n.advance(40 * engine.Second)
	require.Equal(t, 200, n.do("acme", "POST", "/v1/screen", calls[0].other, "Idempotency-Key", "early").Code, "its file is still there, but it is a day old")
	retry()
	n.advance(20 * engine.Second)
	flood()
	w = n.do("acme", "POST", "/v1/screen", calls[0].other, "Idempotency-Key", "k0")
	require.Equal(t, 200, w.Code, "a day later the key is free: %s", w.Body)
	require.Empty(t, w.Header().Get("Idempotent-Replayed"))
}
