package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/seal"
)

func (n *testNode) doKey(secret, method, path, body string) int {
	n.t.Helper()
	return n.do("", method, path, body, "Authorization", "Bearer "+secret).Code
}

// TestAPIKeyLife takes a key through its life: created, used, rotated at once, rotated with an
// overlap (two secrets are good until it is over), revoked.
func TestAPIKeyLife(t *testing.T) {
	n := newTestNode(t)
	w := n.doAdmin("POST", "/admin/keys", `{"name":"acme-prod","roles":["screener","operator"],"operator":"Acme Inc","expires":"90d","rate":"2000/s"}`)
	v := answer(t, w, 201)
	id, first := textOf(v, "keyId"), textOf(v, "key")
	require.Regexp(t, `^rg_live_[0-9A-Za-z]{28}$`, first)
	require.Equal(t, first[:16], textOf(v, "prefix"))
	require.Equal(t, []string{"operator", "screener"}, []string{textOf(v, "roles", "0"), textOf(v, "roles", "1")})
	require.Equal(t, n.operatorID("Acme Inc"), textOf(v, "owner"))
	require.Equal(t, 2000, v.GetInt("rate"))
	require.Equal(t, 200, n.doKey(first, "GET", "/v1/agents", ""))
	require.Equal(t, 403, n.doKey(first, "GET", "/v1/match?name=x", ""))

	second := textOf(answer(t, n.doAdmin("POST", "/admin/keys/"+id+"/rotate", ""), 200), "key")
	require.Equal(t, 401, n.doKey(first, "GET", "/v1/agents", ""), "the secret before ends at once")
	require.Equal(t, 200, n.doKey(second, "GET", "/v1/agents", ""))
	refused(t, n.doAdmin("POST", "/admin/keys/"+id+"/rotate", `{"overlap":"169h"}`), 422, "invalid_field")
	third := textOf(answer(t, n.doAdmin("POST", "/admin/keys/"+id+"/rotate", `{"overlap":"24h"}`), 200), "key")
	require.Contains(t, n.doAdmin("GET", "/admin/keys", "").Body.String(), `"oldSecretUntil":"`+(n.LogTime()+engine.DayLength).String()+`"`)
	require.Equal(t, 200, n.doKey(second, "GET", "/v1/agents", ""))
	require.Equal(t, 200, n.doKey(third, "GET", "/v1/agents", ""))
	n.advance(engine.DayLength)
	require.Equal(t, 401, n.doKey(second, "GET", "/v1/agents", ""))
	require.Equal(t, 200, n.doKey(third, "GET", "/v1/agents", ""))

	v = answer(t, n.doAdmin("DELETE", "/admin/keys/"+id, ""), 200)
	require.Nil(t, v.Get("key"))
	require.Equal(t, 401, n.doKey(third, "GET", "/v1/agents", ""))
	answer(t, n.doAdmin("DELETE", "/admin/keys/"+id, ""), 200)
	answer(t, n.doAdmin("POST", "/admin/keys/"+id+"/rotate", ""), 409)
	answer(t, n.doAdmin("POST", "/admin/keys/key_unknown/rotate", ""), 404)

	list := n.doAdmin("GET", "/admin/keys", "").Body.String()
	for _, secret := range []string{first, second, third} {
		require.NotContains(t, list, secret)
	}
	for i := range n.store.Size() {
		data, err := n.store.Leaf(i)
		require.NoError(t, err)
		require.NotContains(t, string(data), first)
		require.NotContains(t, string(data), third)
	}
}

// A secret is shown once: an idempotent replay shows the key without its secret.
func TestAPIKeyReplay(t *testing.T) {
	n := newTestNode(t)
	first := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"a","roles":"admin"}`, "Idempotency-Key", "k"), 201)
	again := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"a","roles":"admin"}`, "Idempotency-Key", "k"), 201)
	require.Equal(t, textOf(first, "keyId"), textOf(again, "keyId"))
	require.NotEmpty(t, textOf(first, "key"))
	require.Equal(t, "null", again.Get("key").String())
	require.Equal(t, "admin", textOf(again, "roles", "0"))
}

func TestAPIKeyExpires(t *testing.T) {
	n := newTestNode(t)
	secret := textOf(answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"a","roles":"auditor","expires":"1d"}`), 201), "key")
	require.Equal(t, 200, n.doKey(secret, "GET", "/v1/agents", ""))
	n.advance(engine.DayLength)
	require.Equal(t, 401, n.doKey(secret, "GET", "/v1/agents", ""))
	v := answer(t, n.doAdmin("GET", "/admin/keys?limit=1", ""), 200)
	require.Equal(t, "expired", textOf(v, "data", "0", "status"))
}

func TestAPIKeyRefused(t *testing.T) {
	n := newTestNode(t)
	cases := []struct{ name, body, param string }{
		{"no name", `{}`, "name"},
		{"unknown role", `{"name":"a","roles":["root"]}`, "roles"},
		{"no role", `{"name":"a"}`, "roles"},
		{"an empty list of roles", `{"name":"a","roles":[]}`, "roles"},
		{"a role of the house", `{"name":"a","operator":"Acme","roles":"operator,auditor"}`, "roles"},
		{"overlap", `{"name":"a","roles":"ops","expires":"forever"}`, "expires"},
		{"network", `{"name":"a","roles":"ops","ips":["10.0.0.0/33"]}`, "ips"},
		{"expiry in the past", `{"name":"a","roles":"ops","expiresAt":"2020-01-01"}`, "expiresAt"},
		{"expiry of no length", `{"name":"a","roles":"ops","expires":"0d"}`, "expires"},
		{"expiry too far", `{"name":"a","roles":"ops","expires":"3651d"}`, "expires"},
		{"rate below zero", `{"name":"a","roles":"ops","rate":-1}`, "rate"},
		{"rate in words", `{"name":"a","roles":"ops","rate":"fast"}`, "rate"},
		{"operator of nothing", `{"name":"a","roles":"ops","operator":"!!"}`, "operator"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := answer(t, n.doAdmin("POST", "/admin/keys", c.body), 422)
			require.Equal(t, c.param, textOf(v, "param"))
		})
	}
	v := answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"a","roles":"ops","networks":"10.0.0.0/8, ::1","rate":0}`), 201)
	require.Len(t, v.GetArray("networks"), 2)
	require.Equal(t, "0", v.Get("rate").String())
}

// The admin listener takes its own token or an unscoped admin key, nothing else;
// the public one has no such paths at all.
func TestAdminListenerGuards(t *testing.T) {
	n := newTestNode(t)
	require.Equal(t, 401, n.doAdmin("GET", "/admin/keys", "", "Authorization", "Bearer wrong").Code)
	require.Equal(t, 200, n.doAdmin("GET", "/admin/keys", "", "Authorization", "Bearer "+testAdminSecret).Code)
	require.Equal(t, 403, n.doAdmin("GET", "/admin/keys", "", "Authorization", "Bearer "+testSecret("ops")).Code)
	scoped := textOf(answer(t, n.doAdmin("POST", "/admin/keys", `{"name":"tenant","roles":"operator","operator":"Acme"}`), 201), "key")
	require.Contains(t, []int{401, 403}, n.doAdmin("GET", "/admin/keys", "", "Authorization", "Bearer "+scoped).Code)
	for _, path := range []string{"/admin/keys", "/admin/signing-keys", "/v1/admin/keys", "/v1/keys"} {
		require.Equal(t, 404, n.do("admin", "GET", path, "").Code)
		require.Equal(t, 404, n.do("admin", "POST", path, `{"name":"x"}`).Code)
	}
	require.Equal(t, 401, n.do("", "GET", "/v1/agents", "", "Authorization", "Bearer admin-token-of-the-tests").Code)
}

// A planned rotation publishes the new key at once and signs with it after 24 hours. Tokens
// of the old key stay valid until they expire.
func TestSigningKeyRotation(t *testing.T) {
	n := newTestNode(t)
	agent, old := n.registered("")
	screen := func(token string) string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200), "verdict")
	}
	v := answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", ""), 201)
	require.Equal(t, "cc-v2", textOf(v, "kid"))
	require.Contains(t, n.do("", "GET", "/v1/.well-known/jwks.json", "").Body.String(), "cc-v2")
	_, before := n.registered("")
	require.Equal(t, "cc-v1", kidOf(t, before))
	n.advance(engine.DayLength)
	_, after := n.registered("")
	require.Equal(t, "cc-v2", kidOf(t, after))
	require.Equal(t, "PROCEED", screen(old))
	require.Equal(t, "PROCEED", screen(after))
	v = answer(t, n.doAdmin("GET", "/admin/signing-keys", ""), 200)
	require.Equal(t, "signing", textOf(v, "data", "0", "state"))
	require.Equal(t, []string{"pm-v1", "permit", "signing"}, []string{textOf(v, "data", "1", "kid"), textOf(v, "data", "1", "for"), textOf(v, "data", "1", "state")})
	require.Equal(t, "retired", textOf(v, "data", "2", "state"))
	require.NotContains(t, string(v.MarshalTo(nil)), `"d"`)
	// Reading the old token again returns the same bytes.
	require.Equal(t, old, textOf(answer(t, n.do("operator", "GET", "/v1/agents/"+agent, ""), 200), "token"))
}

// In an emergency rotation the new key signs at once, and every token of the old key gives
// R2.
func TestSigningKeyEmergency(t *testing.T) {
	n := newTestNode(t)
	agent, old := n.registered("")
	v := answer(t, n.doAdmin("POST", "/admin/signing-keys/cc-v1/revoke", `{"reason":"leaked"}`), 409)
	require.Equal(t, "invalid_transition", textOf(v, "code"), "it is the only one")
	for _, body := range []string{`{"emergency":true}`, `{"revoke":"cc-v1","reason":"x"}`, `{"emergency":true,"revoke":"cc-v9","reason":"x"}`} {
		answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", body), 422)
	}
	v = answer(t, n.doAdmin("POST", "/admin/signing-key/rotate", `{"emergency":true,"revoke":"cc-v1","reason":"leaked"}`), 201)
	require.Equal(t, "cc-v2", textOf(v, "kid"))
	require.Equal(t, "cc-v1", textOf(v, "revoked"))
	v = answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+old+`","amount":1}`), 200)
	require.Equal(t, "R2_CREDENTIAL_STATUS", textOf(v, "rule"))
	require.Equal(t, "null", answer(t, n.do("operator", "GET", "/v1/agents/"+agent, ""), 200).Get("token").String())
	v = answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/reissue", ""), 201)
	require.Equal(t, "cc-v2", kidOf(t, textOf(v, "token")))
	v = answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+textOf(v, "token")+`","amount":1}`), 200)
	require.Equal(t, "PROCEED", textOf(v, "verdict"))
	answer(t, n.doAdmin("POST", "/admin/signing-keys/cc-v1/revoke", `{"reason":"again"}`), 200)
	answer(t, n.doAdmin("POST", "/admin/signing-keys/cc-v7/revoke", `{"reason":"x"}`), 404)
}

func kidOf(t *testing.T, token string) string {
	t.Helper()
	header, _, _ := strings.Cut(token, ".")
	return textOf(jwtPart(t, header), "kid")
}

// A node that cannot unseal the signing key registers nobody.
func TestWrongSecretRegistersNobody(t *testing.T) {
	n := newTestNode(t)
	n.api = n.another(func(d *Deps) { d.Secrets = seal.NewSecrets([]byte("another cluster's secret")) })
	size := n.store.Size()
	for path, body := range map[string]string{
		"/v1/agents/register": `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`,
		"/v1/users/register":  `{"legalName":"Jane"}`,
	} {
		v := answer(t, n.do("operator", "POST", path, body), 503)
		require.Equal(t, "overloaded", textOf(v, "code"))
	}
	require.Equal(t, size, n.store.Size())
}

// Only clusters that were bootstrapped with a test clock have one.
func TestNoTestClock(t *testing.T) {
	n := newTestNode(t)
	settings, genesis := *n.settings, *n.settings.Genesis
	genesis.TestClock = false
	settings.Genesis = &genesis
	n.settings = &settings
	v := answer(t, n.do("admin", "POST", "/v1/test/clock", `{"advance":"1h"}`), 404)
	require.Equal(t, "not_found", textOf(v, "code"))
}
