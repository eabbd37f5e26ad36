package x402

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBorder(t *testing.T) {
	fits := strings.Replace(goodBody, `{"x402Version"`, `{"x":"`+strings.Repeat("a", bodyMax-len(goodBody)-len(`"x":"",`))+`","x402Version"`, 1)
	require.Len(t, fits, bodyMax)
	for name, c := range map[string]struct {
		method, path, body string
		headers            map[string][]string
		status             int
		wants              string // Expected in the answer.
		allow              string
	}{
		"GET verify":                   {method: "GET", path: "/x402/verify", status: 405, wants: `"code":"method_not_allowed"`, allow: "POST"},
		"GET settle":                   {method: "GET", path: "/x402/settle", status: 405, wants: "this path takes POST", allow: "POST"},
		"POST supported":               {method: "POST", path: "/x402/supported", status: 405, wants: "this path takes GET", allow: "GET"},
		"a query":                      {method: "POST", path: "/x402/verify?dry=1", body: goodBody, status: 400, wants: `"param":"dry"`},
		"no JSON":                      {method: "POST", path: "/x402/verify", body: "pay", status: 400, wants: `"code":"invalid_json"`},
		"no JSON to settle":            {method: "POST", path: "/x402/settle", body: "[]", status: 400, wants: `"code":"invalid_json"`},
		"a member twice":               {method: "POST", path: "/x402/verify", body: `{"x402Version":2,"x402Version":2}`, status: 200, wants: `"invalidReason":"invalid_payload"`},
		"a member twice to settle":     {method: "POST", path: "/x402/settle", body: `{"x402Version":2,"x402Version":2}`, status: 200, wants: `"errorReason":"invalid_payload"`},
		"the longest body":             {method: "POST", path: "/x402/verify", body: fits, status: 200, wants: `"isValid":true`},
		"a byte more":                  {method: "POST", path: "/x402/verify", body: fits + " ", status: 200, wants: "larger than 64 KiB"},
		"a byte more to settle":        {method: "POST", path: "/x402/settle", body: fits + " ", status: 200, wants: `"errorReason":"invalid_payload"`},
		"two headers with credentials": {method: "POST", path: "/x402/verify", body: goodBody, headers: map[string][]string{"X-Railguard-Token": {"t", "t"}}, status: 200, wants: "X-Railguard-Token stands twice"},
		"nothing of ours":              {method: "GET", path: "/x402/other", status: 404, wants: `"code":"not_found"`},
		"the root":                     {method: "GET", path: "/x402", status: 404, wants: `"code":"not_found"`},
		"an escaped path":              {method: "POST", path: "/x402/%73ettle", body: goodBody, status: 404, wants: `"code":"not_found"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			for header, values := range c.headers {
				r.Header[header] = values
			}
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			require.Equal(t, c.status, w.Code, w.Body.String())
			require.Contains(t, w.Body.String(), c.wants)
			require.Equal(t, c.allow, w.Header().Get("Allow"))
			if c.status != 404 {
				require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
				require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			}
		})
	}
	t.Run("a body that breaks off", func(t *testing.T) {
		d := newDesk(t)
		r := httptest.NewRequest("POST", "/x402/settle", iotest.ErrReader(errors.New("gone")))
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), "did not come whole")
		require.NotContains(t, d.ledger.calls, "POST /v1/screen")
	})
}

// A caller without a valid key gets 401. A caller whose key may not screen learns that from the
// answer to its call.
func TestKeysAreChecked(t *testing.T) {
	for status, want := range map[int]int{400: 401, 401: 401, 403: 200, 503: 200} {
		d := newDesk(t)
		d.ledger.override["GET /v1/key"] = fakeAnswer{status, `{"code":"the key's"}`}
		r := httptest.NewRequest("POST", "/x402/verify", strings.NewReader(goodBody))
		r.Header.Set("Authorization", "Bearer rg_live_1")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		require.Equal(t, want, w.Code)
		require.Equal(t, "Bearer rg_live_1", d.ledger.headers[0].Get("Authorization"), "the caller's own key")
		if want == 401 {
			require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
			require.JSONEq(t, `{"code":"the key's"}`, w.Body.String())
			require.Len(t, d.ledger.calls, 1)
		}
	}
}

// When every place is taken, the answer says that no verdict can be given, and nothing is sent.
func TestCallsAreBounded(t *testing.T) {
	d := newDesk(t)
	for range inFlightMax {
		d.places <- struct{}{}
	}
	require.Equal(t, "railguard_unavailable", d.verifies(t)["invalidReason"])
	require.Equal(t, "railguard_unavailable", d.settles(t)["errorReason"])
	require.Equal(t, []string{"GET /v1/key", "GET /v1/key"}, d.ledger.calls)
	<-d.places
	require.Equal(t, true, d.settles(t)["success"])
	require.Len(t, d.places, inFlightMax-1, "the place is given back")
}

func TestNewNeedsAnAPI(t *testing.T) {
	_, err := New(Config{Upstream: "https://x.org"})
	require.ErrorContains(t, err, "the API is required")
	for timeout, good := range map[time.Duration]bool{timeoutLeast - 1: false, timeoutLeast: true, timeoutMost: true, timeoutMost + 1: false} {
		_, err := New(Config{API: newLedger(), Upstream: "https://x.org", VerifyTimeout: timeout})
		require.Equal(t, good, err == nil, timeout)
	}
	for _, address := range []string{"http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://x.org"} {
		f, err := New(Config{API: newLedger(), Upstream: address})
		require.NoError(t, err, address)
		require.Equal(t, Published, f.config.Assets)
		require.False(t, f.now().IsZero())
	}
	_, err = New(Config{API: newLedger(), Upstream: "https://x.org#a"})
	require.ErrorContains(t, err, "must be an address")
}

func TestParseAssetsBounds(t *testing.T) {
	texts := make([]string, assetsMax+1)
	for i := range texts {
		texts[i] = "solana:x/" + strings.Repeat("a", i+1) + "/0/SOL"
	}
	assets, err := ParseAssets(texts[:assetsMax])
	require.NoError(t, err)
	require.Len(t, assets, assetsMax)
	_, err = ParseAssets(texts)
	require.ErrorContains(t, err, "at most 64")
	_, err = ParseAssets([]string{"solana:x/" + strings.Repeat("a", 128) + "/30/SOL"})
	require.NoError(t, err)
	_, err = ParseAssets([]string{"solana:x/" + strings.Repeat("a", 129) + "/30/SOL"})
	require.ErrorContains(t, err, "1 to 128 characters")
}

type told struct {
	Kinds []struct {
		X402Version     int
		Scheme, Network string
	}
	Extensions []string
	Signers    map[string]any
}

func (d *desk) supports(t *testing.T) (answer told) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest("GET", "/x402/supported", nil))
	require.Equal(t, 200, w.Code)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	return answer
}

func (a told) networks() (names []string) {
	for _, kind := range a.Kinds {
		names = append(names, kind.Network)
	}
	slices.Sort(names)
	return names
}

func TestSupportedLessWhatCannotBeScreened(t *testing.T) {
	d := newDesk(t)
	d.chain.says(200, `{"kinds":[
		{"x402Version":2,"scheme":"exact","network":"eip155:8453"},{"x402Version":1,"scheme":"exact","network":"base"},
		{"x402Version":2,"scheme":"upto","network":"eip155:1"},{"x402Version":3,"scheme":"exact","network":"eip155:1"},
		{"x402Version":2,"scheme":"exact","network":"eip155:999"},{"x402Version":2,"scheme":"exact","network":"base"},7],
		"extensions":["bazaar","railguard",7,"bazaar"],"signers":{"eip155:*":["0x1"]}}`)
	answer := d.supports(t)
	require.Equal(t, []string{"base", "eip155:8453"}, answer.networks())
	require.Equal(t, []string{"railguard", "bazaar"}, answer.Extensions)
	require.Equal(t, map[string]any{"eip155:*": []any{"0x1"}}, answer.Signers)

	d.chain.says(500, `{}`)
	d.supports(t)
	require.Len(t, d.chain.bodies, 1, "kept for a minute")
	d.ledger.now = d.ledger.now.Add(supportedKept)
	require.Equal(t, []string{"base", "eip155:8453"}, d.supports(t).networks(), "told as last")
	require.Len(t, d.chain.bodies, 2)
	d.supports(t)
	require.Len(t, d.chain.bodies, 2, "asked again after a while only")
	d.ledger.now = d.ledger.now.Add(supportedTimeout)
	d.chain.says(200, `{"kinds":[]}`)
	require.Empty(t, d.supports(t).networks())
}

func TestSupportedByTheAssets(t *testing.T) {
	for name, answer := range map[string]fakeAnswer{"away": {503, `{"kinds":[]}`}, "no kinds": {200, `{}`}, "no JSON": {200, `x`}} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.config.Assets = append(slices.Clone(Published), Asset{Network: "eip155:1", Address: payeeEVM, Decimals: 6, Chain: "ETH"})
			d.chain.says(answer.status, answer.body)
			said := d.supports(t)
			require.Equal(t, []string{"base", "eip155:1", "eip155:8453", "ethereum", "solana", network}, said.networks())
			require.Equal(t, []string{"railguard"}, said.Extensions)
			require.NotNil(t, said.Signers)
			d.supports(t)
			require.Len(t, d.chain.bodies, 2, "asked again at the next call")
		})
	}
	t.Run("as many kinds as are passed on", func(t *testing.T) {
		d := newDesk(t)
		kind := `{"x402Version":2,"scheme":"exact","network":"eip155:1"}`
		d.chain.says(200, `{"kinds":[`+strings.Repeat(kind+",", kindsMax)+kind+`]}`)
		require.Len(t, d.supports(t).Kinds, kindsMax)
	})
}

func TestUpstreamCannotBeReached(t *testing.T) {
	d := newDesk(t)
	d.config.Upstream = "http://127.0.0.1:1"
	require.Equal(t, "railguard_upstream_unavailable", d.verifies(t)["invalidReason"])
	require.Equal(t, "settlement_pending", d.settles(t)["errorReason"])
	d.config.Upstream = "http://127.0.0.1:%zz"
	require.Equal(t, "railguard_upstream_unavailable", d.verifies(t)["invalidReason"])
}

func TestReasonsAreCut(t *testing.T) {
	require.Equal(t, strings.Repeat("r", reasonMax), shortenReason(strings.Repeat("r", reasonMax)))
	require.Equal(t, strings.Repeat("r", reasonMax), shortenReason(strings.Repeat("r", reasonMax+1)))
	require.Equal(t, strings.Repeat("r", reasonMax-1), shortenReason(strings.Repeat("r", reasonMax-1)+"é"), "no half of a letter")
}
