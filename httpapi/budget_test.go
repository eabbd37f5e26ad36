//go:build !race

package httpapi

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/border"
)

// leastAllocations returns how many objects something allocates at least: sometimes the history
// beside it seals a segment, or the collector empties a pool.
func leastAllocations(do func()) float64 {
	least := math.Inf(1)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, do))
	}
	return least
}

// The race detector allocates by itself, so this is not in its builds.
//
// What a verdict allocates has a budget, and a call that is refused has a smaller one. Whoever needs
// more writes it here.
func TestVerdictKeepsItsBudget(t *testing.T) {
	n := newTestNode(t)
	n.settings.Keys[0].Rate = -1
	n.reopen(nil)
	_, token := n.register("")
	data := []byte(`{"token":"` + token + `","amount":12.50,"chain":"BASE","rail":"USDC","cpWallet":"0x00000000000000000000000000000000000000aa"}`)

	c := n.api.Begin(&discard{header: http.Header{}}, httptest.NewRequest("POST", "/v1/screen", nil), &border.Route{})
	c.Key = n.api.KeysNow().ByID["key_screener"]
	c.Asked.Caller = &c.Key.Caller
	c.Asked.Body = data
	require.LessOrEqual(t, leastAllocations(func() {
		require.NoError(t, c.Asked.Document.Read(data, engine.ScreenValuesMax))
		require.NoError(t, c.Judge.Read())
		_, err := c.Judge.Screen()
		require.NoError(t, err)
	}), 4.0, "from the bytes of the body to the record")

	var source body
	r := httptest.NewRequest("POST", "/v1/screen", &source)
	r.Header.Set("Authorization", "Bearer "+testAdminSecret)
	r.ContentLength = int64(len(data))
	w := &discard{header: http.Header{}}
	handler := n.api.Handler()
	call := func(status int) float64 {
		return leastAllocations(func() {
			source.Reset(data)
			r.Body = io.NopCloser(&source)
			clear(w.header)
			handler.ServeHTTP(w, r)
			require.Equal(t, status, w.status)
		})
	}
	require.LessOrEqual(t, call(200), 26.0, "from the request to the answer, with the log and the state machine of one node")
	key := member(t, n.do("", "GET", "/v1/key", "", "Authorization", "Bearer "+testAdminSecret).Body.Bytes(), "keyId")
	n.api.Calls.Single, _ = crowded(t, key)
	require.LessOrEqual(t, call(503), 22.0, "a call that is refused because more come than are answered")
}
