package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/seal"
)

// A sandbox gives every answer that a caller has to live with, and a misspelt name is an error.
func TestSandboxAnswers(t *testing.T) {
	n := newTestNodeWith(t, func(g *wire.Genesis) { g.Issuer = seal.SandboxIssuer })
	_, token := n.registered("")
	body := func(name string) string { return `{"token":"` + token + `","amount":1,"cpName":"` + name + `"}` }
	for name, want := range map[string]struct {
		status int
		code   string
	}{
		"SANDBOX rate_limited": {429, "rate_limited"}, "SANDBOX idempotency_in_flight": {409, "idempotency_in_flight"},
		"SANDBOX internal_error": {500, "internal_error"}, "SANDBOX no_quorum": {503, "no_quorum"},
		"SANDBOX R31": {400, "invalid_field"}, "SANDBOX r7": {400, "invalid_field"}, "SANDBOX not_found": {400, "invalid_field"},
		"SANDBOX settle no_quorums": {400, "invalid_field"}, "SANDBOX confirm no_quorum": {400, "invalid_field"},
	} {
		w := n.do("screener", "POST", "/v1/screen", body(name))
		require.Equal(t, want.code, textOf(answer(t, w, want.status), "code"), name)
		require.Equal(t, want.status, n.do("policy", "POST", "/v1/screen/dry-run", body(name)).Code, name)
	}
	require.Panics(t, func() { n.do("screener", "POST", "/v1/screen", body("SANDBOX no_answer"), "Idempotency-Key", "lost") })
	found := answer(t, n.do("screener", "POST", "/v1/screen", body("SANDBOX no_answer"), "Idempotency-Key", "lost"), 200)
	require.Equal(t, "PROCEED", textOf(found, "verdict"))
	require.Equal(t, "PROCEED", textOf(answer(t, n.do("screener", "POST", "/v1/screen", body("SANDBOX slow")), 200), "verdict"))
}

// A sandbox's settle and release fail as the counterparty's name says.
func TestSandboxEnds(t *testing.T) {
	n := newTestNodeWith(t, func(g *wire.Genesis) { g.Issuer = seal.SandboxIssuer })
	n.addCaller("settler", "", wire.RoleSettler)
	_, token := n.registered("")
	screened := func(name string) string {
		v := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1,"cpName":"`+name+`","hold":{"ttlSeconds":60}}`), 200)
		require.Equal(t, "PROCEED", textOf(v, "verdict"), name)
		return "/v1/transactions/" + textOf(v, "txnId")
	}
	for _, code := range []string{"no_quorum", "storage_low"} {
		txn := screened("SANDBOX settle " + code)
		require.Equal(t, code, textOf(answer(t, n.do("settler", "POST", txn+"/settle", `{}`), http.StatusServiceUnavailable), "code"))
		answer(t, n.do("settler", "POST", txn+"/release", `{"reason":"r"}`), 200)
	}
	txn := screened("SANDBOX release outcome_unknown")
	require.Equal(t, "outcome_unknown", textOf(answer(t, n.do("settler", "POST", txn+"/release", `{"reason":"r"}`, "Idempotency-Key", "k"), 503), "code"))
	require.Equal(t, "released", textOf(answer(t, n.do("settler", "POST", txn+"/release", `{"reason":"r"}`, "Idempotency-Key", "k"), 200), "state"))
	txn = screened("SANDBOX settle no_answer")
	require.Panics(t, func() { n.do("settler", "POST", txn+"/settle", `{}`, "Idempotency-Key", "s") })
	require.Equal(t, "settled", textOf(answer(t, n.do("settler", "POST", txn+"/settle", `{}`, "Idempotency-Key", "s"), 200), "state"))
}
