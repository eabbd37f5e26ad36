package httpapi

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// Who shows no key of the institution hears whether a node is ready, and what specification 4.9
// makes public. Nothing tells them who leads, votes, or how old the list is.
func TestStrangersHearReadyOrNot(t *testing.T) {
	n := newTestNode(t)
	n.addKey(wire.APIKey{ID: "key_tenant", Name: "tenant", Roles: wire.RoleScreener, Owner: "acme"}, "rg_live_tenant0000000000000000000000")
	as := func(path, secret string) (int, string) {
		r, w := httptest.NewRequest("GET", path, nil), httptest.NewRecorder()
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		n.api.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for name, secret := range map[string]string{"no key": "", "a wrong key": "rg_live_nobody0000000000000000000000", "a customer's key": "rg_live_tenant0000000000000000000000"} {
		status, text := as("/readyz", secret)
		require.Equal(t, 200, status, name)
		require.Equal(t, "ready\n", text, name)
		_, text = as("/v1/health", secret)
		require.Regexp(t, `^\{"status":"ok","version":"[^"]*","ofac":\{"source":"[^"]*","count":\d+,"syncedAt":"[^"]*"\},"kv":"connected","signingKey":"[a-z]+"\}\s*$`, text, name)
	}
	require.Contains(t, n.do("screener", "GET", "/readyz", "").Body.String(), "[+]drain serving\n")
	require.Contains(t, n.do("screener", "GET", "/v1/health", "").Body.String(), `"role":"leader"`)
	require.Contains(t, n.doAdmin("GET", "/readyz", "").Body.String(), "[+]drain serving\n", "who reaches the admin listener is of the house")
	n.api.SetLeaving()
	status, text := as("/readyz", "")
	require.Equal(t, 503, status)
	require.Equal(t, "not ready\n", text)
}

// An address that sends many wrong keys is turned away; a right key from there is answered, as are
// other addresses and calls without a key.
func TestWrongKeysAreSlowedDown(t *testing.T) {
	n := newTestNode(t)
	as := func(from, secret string) int {
		r, w := httptest.NewRequest("GET", "/v1/key", nil), httptest.NewRecorder()
		r.RemoteAddr = from
		if secret != "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		n.api.Handler().ServeHTTP(w, r)
		return w.Code
	}
	const near, far, wrong = "198.51.100.7:1000", "198.51.100.8:1000", "rg_live_nobody0000000000000000000000"
	braked := 0
	for range 300 {
		if as(near, wrong) == 429 {
			braked++
		}
	}
	require.Greater(t, braked, 150)
	require.Equal(t, 401, as(far, wrong), "another address")
	require.Equal(t, 401, as(near, ""), "no key is no guess")
	require.Equal(t, 200, as(near, testSecret("screener")), "nobody is locked out by his neighbour")
	r, w := httptest.NewRequest("GET", "/readyz", nil), httptest.NewRecorder()
	r.RemoteAddr = near
	r.Header.Set("Authorization", "Bearer "+wrong)
	n.api.Handler().ServeHTTP(w, r)
	require.Equal(t, "ready\n", w.Body.String(), "health is answered to whoever asks")
}
