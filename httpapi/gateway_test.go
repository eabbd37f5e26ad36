package httpapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine/permit"
	"railguard/fsm/wire"
	"railguard/httpapi/gateway"
)

const gatewayMap = `version: 1
profiles:
  payouts:
    mode: permit
    audience: https://pay.example.org
    routes:
    - match: {method: POST, path: /v1/payouts}
      amount: {pointer: /amount, scale: 2}
      currency: {pointer: /currency}
      payee: {pointer: /destination/address}
      ref: {header: idempotency-key}
    - match: {method: GET, path: /v1/payouts/*}
      allow: true
  agents:
    mode: screen
    routes:
    - match: {method: POST, path: /pay}
      token: {header: x-railguard-token}
      amount: {pointer: /amount}
      payee: {pointer: /to}
      constants: {chain: BASE, rail: USDC, currency: USD}
    - match: {method: POST, path: /permitted}
      token: {header: x-railguard-token}
      amount: {pointer: /amount}
      payee: {pointer: /to}
      payer: {pointer: /from}
      permit: {ttlSeconds: 60, aud: https://pay.example.org}
`

// asked is a gateway's room in front of a node.
type asked struct {
	n    *testNode
	room http.Handler
}

func (n *testNode) gateway() *asked {
	n.addKey(wire.APIKey{ID: "key_gateway", Name: "an Envoy", Roles: wire.RoleGateway, Owner: "cal_gate"}, testSecret("gateway"))
	m, err := gateway.ReadMap(strings.NewReader(gatewayMap))
	require.NoError(n.t, err)
	room, err := gateway.New(gateway.Config{
		API: n.api.Handler(), Map: m,
		Trust: func() (permit.Want, error) {
			return permit.Want{Keys: n.permitKeys(), Issuer: testPublicURL, Now: n.LogTime()}, nil
		},
	})
	require.NoError(n.t, err)
	return &asked{n, room}
}

func (a *asked) ask(role, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", gateway.Root+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+testSecret(role))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.room.ServeHTTP(w, r)
	return w
}

const (
	gatewayPayee  = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	gatewayPayout = `{"amount":2500,"currency":"USD","destination":{"address":"` + gatewayPayee + `"}}`
)

// TestGateway (statement P39): a permit of this service goes through once and for its payment; what a
// request says is screened as any payment; a client is told no rule.
func TestGateway(t *testing.T) {
	n := newTestNode(t)
	a := n.gateway()
	_, token := n.registered("")
	screened := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`",`+permittedPayment+`,"permit":{"aud":"https://pay.example.org"}}`), 200)
	leave := textOf(screened, "permit")
	paid := func(body string) *httptest.ResponseRecorder {
		return a.ask("gateway", "payouts/v1/payouts", body, "Idempotency-Key", "inv-2026-0007", "railguard-permit", leave)
	}
	for body, code := range map[string]string{
		strings.Replace(gatewayPayout, "2500", "2501", 1):                              "permit_mismatch",
		strings.Replace(gatewayPayout, gatewayPayee, listedWallet, 1):                  "permit_mismatch",
		strings.Replace(gatewayPayout, `"amount":2500`, `"amount":2500,"amount":1`, 1): "request_unmapped",
	} {
		w := paid(body)
		require.Equal(t, 403, w.Code, w.Body.String())
		require.Equal(t, code, w.Header().Get("X-Railguard-Error"))
	}
	size := n.store.Size()
	w := paid(gatewayPayout)
	require.Equal(t, 200, w.Code, w.Body.String())
	require.Equal(t, "PROCEED", w.Header().Get("X-Railguard-Verdict"))
	require.Equal(t, leave, w.Header().Get("Railguard-Permit"))
	w = paid(gatewayPayout)
	require.Equal(t, 403, w.Code, w.Body.String())
	require.Equal(t, "permit_used", w.Header().Get("X-Railguard-Error"))
	require.LessOrEqual(t, n.store.Size(), size+1, "a permit that was used leaves no second record")

	w = a.ask("gateway", "agents/pay", `{"amount":25,"to":"`+gatewayPayee+`"}`, "X-Railguard-Token", token)
	require.Equal(t, 200, w.Code, w.Body.String())
	record := answer(t, n.do("auditor", "GET", "/v1/audit/"+w.Header().Get("X-Railguard-Txn"), ""), 200)
	require.Equal(t, []string{"PROCEED", "key_gateway"}, []string{textOf(record, "verdict"), textOf(record, "keyId")})
	require.Nil(t, record.Get("hold"), "nothing is held for what goes on at once")
	again := a.ask("gateway", "agents/pay", `{"amount":25,"to":"`+gatewayPayee+`"}`, "X-Railguard-Token", token)
	require.NotEqual(t, w.Header().Get("X-Railguard-Txn"), again.Header().Get("X-Railguard-Txn"), "an equal payment is another one")

	for verdict, c := range map[string][2]string{
		"BLOCK":   {listedWallet, token},
		"UNKNOWN": {gatewayPayee, "no token"},
	} {
		w := a.ask("gateway", "agents/pay", `{"amount":25,"to":"`+c[0]+`"}`, "X-Railguard-Token", c[1])
		require.Equal(t, 403, w.Code)
		require.Equal(t, verdict, w.Header().Get("X-Railguard-Verdict"))
		require.NotEmpty(t, w.Header().Get("X-Railguard-Txn"))
		var told map[string]string
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &told))
		require.Equal(t, map[string]string{
			"error": "payment_refused", "code": "payment_refused", "message": "this payment has no leave", "txnId": w.Header().Get("X-Railguard-Txn"), "requestId": w.Header().Get("X-Request-Id"),
		}, told)
	}
	w = a.ask("gateway", "agents/pay", `{"amount":25,"to":"`+strings.Repeat("x", 300)+`"}`, "X-Railguard-Token", token)
	require.Equal(t, []any{403, "request_unmapped"}, []any{w.Code, w.Header().Get("X-Railguard-Error")}, "what the API cannot take is no payment")
}

// A permit is no leave any more if its agent was revoked meanwhile, or its payment given back.
func TestGatewayJudgesOfNow(t *testing.T) {
	n := newTestNode(t)
	a := n.gateway()
	n.addCaller("settler", "", wire.RoleSettler)
	for verdict, end := range map[string]func(agent, txn string){
		"BLOCK": func(agent, _ string) {
			answer(t, n.do("operator", "POST", "/v1/agents/"+agent+"/revoke", `{"reason":"stolen"}`), 200)
		},
		"": func(_, txn string) {
			answer(t, n.do("settler", "POST", "/v1/transactions/"+txn+"/release", `{"reason":"cancelled"}`), 200)
		},
	} {
		agent, token := n.registered("")
		screened := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":25,"cpWallet":"`+gatewayPayee+`","paymentRef":"inv-`+verdict+`","permit":{"aud":"https://pay.example.org"}}`), 200)
		end(agent, textOf(screened, "txnId"))
		w := a.ask("gateway", "payouts/v1/payouts", gatewayPayout, "Idempotency-Key", "inv-"+verdict, "railguard-permit", textOf(screened, "permit"))
		require.Equal(t, 403, w.Code, w.Body.String())
		require.Equal(t, verdict, w.Header().Get("X-Railguard-Verdict"))
		require.Equal(t, map[string]string{"BLOCK": "", "": "permit_expired"}[verdict], w.Header().Get("X-Railguard-Error"))
		require.NotRegexp(t, `\bR2\b`, w.Body.String())
	}
}

// A permit that mode screen asked for is one of the API's own: the API behind can check it.
func TestGatewaysPermit(t *testing.T) {
	n := newTestNode(t)
	a := n.gateway()
	_, token := n.registered("")
	w := a.ask("gateway", "agents/permitted", `{"amount":"25.5","to":"`+gatewayPayee+`","from":"`+honestPayer+`"}`, "X-Railguard-Token", token)
	require.Equal(t, 200, w.Code, w.Body.String())
	claims, err := n.verifyPermit(w.Header().Get("Railguard-Permit"), "https://pay.example.org", nil)
	require.NoError(t, err)
	require.Equal(t, w.Header().Get("X-Railguard-Txn"), claims.TxnID)
	require.NotNil(t, answer(t, n.do("auditor", "GET", "/v1/audit/"+claims.TxnID, ""), 200).Get("hold"), "a permit holds its payment")
}

// The role gateway opens its own doors alone, and those that ask for no role.
func TestRoleGateway(t *testing.T) {
	n := newTestNode(t)
	a := n.gateway()
	for _, r := range n.publicRoutes() {
		if r.Roles == 0 {
			continue
		}
		if r.Path == "/v1/permits/redeem" {
			require.Equal(t, 422, n.do("gateway", "POST", r.Path, `{"permit":"x"}`).Code)
			continue
		}
		require.Zero(t, (r.Roles|r.Outsiders)&wire.RoleGateway, r.Path)
		body := ""
		if r.Method != http.MethodGet {
			body = "{}"
		}
		w := n.do("gateway", r.Method, strings.NewReplacer("{", "", "}", "", "...", "").Replace(r.Path), body)
		require.Equal(t, 403, w.Code, "%s %s: %s", r.Method, r.Path, w.Body.String())
	}
	for _, role := range []string{"screener", "admin"} {
		require.Equal(t, 403, a.ask(role, "agents/pay", "{}").Code)
		require.Equal(t, "request_unmapped", a.ask(role, "agents/pay", "{}").Header().Get("X-Railguard-Error"), "these may ask too")
	}
	for _, role := range []string{"operator", "reviewer", "auditor", "policy", "ops"} {
		w := a.ask(role, "agents/pay", "{}")
		require.Equal(t, []any{403, "no_verdict"}, []any{w.Code, w.Header().Get("X-Railguard-Error")})
		require.Contains(t, w.Body.String(), `"code":"forbidden"`)
	}
	require.Equal(t, 401, a.ask("stranger", "payouts/v1/payouts/po_1", "").Code, "a stranger learns nothing of the map")
}
