package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/x402"
	"railguard/ofac"
)

// guarded is three nodes, each with the x402 handler in front, and one chain behind them.
type guarded struct {
	*group
	chain *chain
	doors map[string]http.Handler
	ahead atomic.Int64 // How far the facilitators' clock and log time are ahead.
	nonce int
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{group: newGroupAlone(t), chain: newChain(t), doors: map[string]http.Handler{}}
	g.form(ofac.Carried())
	g.useSample()
	g.awaitReady()
	for id := range g.nodes {
		g.guard(id)
	}
	if now := time.Now().UTC(); now.Add(time.Hour).Day() != now.Day() {
		g.advance(time.Hour) // All payments must count for the same day: the parts of this test advance time by less than half an hour.
	}
	return g
}

func (g *guarded) guard(id string) {
	door, err := x402.New(x402.Config{
		API: g.nodes[id].api.Handler(), Upstream: g.chain.URL, VerifyTimeout: 2 * time.Second, SettleTimeout: 2 * time.Second,
		Now: func() time.Time { return time.Now().Add(time.Duration(g.ahead.Load())) },
	})
	require.NoError(g.t, err)
	g.doors[id] = heldGuest(g.t, door)
}

// advance moves log time and the facilitators' clock.
func (g *guarded) advance(d time.Duration) {
	g.leader().must(g.t, http.StatusOK, "POST", "/v1/test/clock", fmt.Sprintf(`{"advance":%q}`, d))
	g.ahead.Add(int64(d))
}

// payer registers an agent and returns its id and credential.
func (g *guarded) payer(more string) (agent, token string) {
	answer := g.nodes["n1"].must(g.t, http.StatusCreated, "POST", "/v1/agents/register",
		`{"agentName":"payer","agentType":"supervised","operatorLegalName":"Quiet Harbour Bakery","purpose":"pays"`+more+`}`)
	return answer["agentId"].(string), answer["token"].(string)
}

// payment returns a new payment.
func (g *guarded) payment(token, units string) x402Body {
	g.nonce++
	return x402Body{version: 2, nonce: g.nonce, units: units, token: token}
}

// counted returns the dollars that count for today, according to the leader.
func (g *guarded) counted(agent string) (spent, held float64) {
	limits := g.nodes["n1"].must(g.t, http.StatusOK, "GET", "/v1/agents/"+agent+"/limits?consistency=leader", "")
	return limits["spentUSDC"].(float64), limits["heldUSDC"].(float64)
}

// awaitUnresolved waits until the agent has an unresolved payment.
func (g *guarded) awaitUnresolved(agent string) {
	require.Eventually(g.t, func() bool {
		answer := g.nodes["n1"].must(g.t, http.StatusOK, "GET", "/v1/transactions/unresolved?consistency=leader&agentId="+agent, "")
		payments, _ := answer["data"].([]any)
		return len(payments) == 1
	}, 20*time.Second, 20*time.Millisecond)
}

func TestX402(t *testing.T) {
	if testing.Short() {
		t.Skip("three nodes and a chain")
	}
	g := newGuarded(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *guarded)
	}{
		{"paid", x402Paid}, {"proven", x402Proven}, {"border", x402Border}, {"refused", x402Refused}, {"judged again", x402JudgedAgain}, {"without a hold", x402WithoutHold},
		{"verify behind", x402VerifyBehind}, {"settle behind", x402SettleBehind}, {"unknown, then known", x402Retried}, {"at once", x402AtOnce}, {"at once, references off", x402ReferencesOff}, {"verified while settled", x402VerifiedMeanwhile},
		{"leader gone", x402LeaderGone}, {"expired", x402Expired}, {"supported", x402Supported},
	} {
		t.Run(part.name, func(t *testing.T) {
			g.t = t
			g.chain.say("")
			part.run(t, g)
		})
	}
	requireAllSeen(t, "x402")
}

// A payment is held when it is verified and spent when it is settled, once, at whichever node.
// The credential is not passed on.
func x402Paid(t *testing.T, g *guarded) {
	for version := 1; version <= 2; version++ {
		agent, token := g.payer("")
		body := g.payment(token, "1250001")
		body.version = version
		verified := x402Call(t, g.doors["n1"], "/verify", body.String())
		require.True(t, verified.IsValid, "%+v", verified)
		require.Equal(t, "PROCEED", verified.Extensions.Railguard.Verdict)
		require.NotEmpty(t, verified.Extensions.Railguard.HoldExpiresAt)
		spent, held := g.counted(agent)
		require.Equal(t, [2]float64{0, 1.250001}, [2]float64{spent, held})
		twice := x402Call(t, g.doors["n2"], "/verify", body.String())
		require.Equal(t, verified.Extensions.Railguard.TxnID, twice.Extensions.Railguard.TxnID, "one hold")
		_, held = g.counted(agent)
		require.Equal(t, 1.250001, held)

		settled := x402Call(t, g.doors["n3"], "/settle", body.String())
		require.True(t, settled.Success, "%+v", settled)
		require.NotEmpty(t, settled.Transaction)
		require.Equal(t, map[int]string{1: "base", 2: "eip155:8453"}[version], settled.Network)
		spent, held = g.counted(agent)
		require.Equal(t, [2]float64{1.250001, 0}, [2]float64{spent, held})
		record := g.nodes["n1"].must(t, 200, "GET", "/v1/audit/"+verified.Extensions.Railguard.TxnID, "")
		require.Equal(t, settled.Transaction, record["payment"].(map[string]any)["railRef"])
		require.Equal(t, fmt.Sprintf("pay_%d", g.nonce), record["_request"].(map[string]any)["travelRuleRef"])

		_, calls := g.chain.asked()
		for _, again := range []string{body.String(), strings.Replace(body.String(), "{", "{ ", 1)} {
			repeated := x402Call(t, g.doors["n2"], "/settle", again)
			require.Equal(t, settled.Transaction, repeated.Transaction, "%+v", repeated)
			late := x402Call(t, g.doors["n1"], "/verify", again)
			require.Equal(t, "railguard_already_settled", late.InvalidReason)
		}
		stolen := strings.Replace(body.String(), fmt.Sprintf("pay_%d", g.nonce), "another", 1)
		require.Equal(t, "duplicate_settlement", x402Call(t, g.doors["n2"], "/settle", stolen).ErrorReason, "one payment opens one door")
		_, now := g.chain.asked()
		require.Equal(t, calls, now, "it was not sent again")
		for _, sent := range g.chain.bodies {
			require.NotContains(t, sent, token)
			require.Contains(t, sent, "payment-identifier")
		}
	}
	agent, token := g.payer("") // The credential is beside the payment.
	body := g.payment("", "5")
	require.Equal(t, "railguard_credential_missing", x402Call(t, g.doors["n1"], "/verify", body.String()).InvalidReason)
	body = g.payment("", "5")
	require.True(t, x402Call(t, g.doors["n1"], "/verify", body.String(), "X-Railguard-Token", token).IsValid)
	require.True(t, x402Call(t, g.doors["n1"], "/settle", body.String(), "X-Railguard-Token", token).Success)
	spent, _ := g.counted(agent)
	require.Equal(t, 0.000005, spent)
}

// Only a call without an API key, or a body that is not JSON, gets an error; every other call
// gets an answer.
func x402Border(t *testing.T, g *guarded) {
	_, token := g.payer("")
	door, good := g.doors["n1"], g.payment(token, "1").String()
	for _, path := range []string{"/x402/verify", "/x402/settle"} {
		require.Equal(t, 401, x402Do(door, "", "POST", path, good).Code)
		require.Equal(t, 401, x402Do(door, "rg_live_nobody", "POST", path, good).Code)
		require.Equal(t, 401, x402Do(door, groupKey, "POST", path, good, "Authorization", "Bearer x").Code)
		require.Equal(t, 405, x402Do(door, groupKey, "GET", path, "").Code)
		require.Equal(t, 400, x402Do(door, groupKey, "POST", path+"?x=1", good).Code)
		for _, bad := range []string{"", "{", "[]", "{}{}", "7", `{"x402Version":2,}`} {
			require.Equal(t, 400, x402Do(door, groupKey, "POST", path, bad).Code, bad)
		}
	}
	require.Equal(t, 401, x402Do(door, "", "GET", "/x402/supported", "").Code)
	require.Equal(t, 405, x402Do(door, groupKey, "POST", "/x402/supported", "").Code)
	require.Equal(t, 400, x402Do(door, groupKey, "GET", "/x402/supported?x=1", "").Code)
	for _, path := range []string{"/x402", "/x402/", "/x402/verify/", "/x402/%76erify", "/x402x"} {
		require.Equal(t, 404, x402Do(door, groupKey, "POST", path, good).Code, path)
	}
	require.Equal(t, 200, x402Do(door, groupKey, "GET", "/v1/key", "").Code, "the API is behind")
	for change, reason := range map[[2]string]string{
		{`{"x402Version":2`, `{"x402Version":3`}:                                   "invalid_x402_version",
		{`"paymentPayload":{"x402Version":2`, `"paymentPayload":{"x402Version":1`}: "invalid_payload",
		{`"accepted":{"scheme":"exact"`, `"accepted":{"scheme":"upto"`}:            "invalid_payload",
		{`exact`, `upto`}: "unsupported_scheme",
		{`"accepted":{"scheme":"exact","network":"eip155:8453","amount":"1"`, `"accepted":{"scheme":"exact","network":"eip155:8453","amount":"2"`}: "invalid_payload",
		{`"value":"1"`, `"value":"2"`}:                                           "invalid_exact_evm_payload_authorization_value",
		{`"to":"0x209693`, `"to":"0x309693`}:                                     "invalid_exact_evm_payload_recipient_mismatch",
		{`"amount":"1"`, `"amount":"01"`}:                                        "invalid_payment_requirements",
		{`"amount":"1"`, `"amount":"-1"`}:                                        "invalid_payment_requirements",
		{`"amount":"1"`, `"amount":1`}:                                           "invalid_payment_requirements",
		{`"asset":"0x83`, `"asset":"0x93`}:                                       "invalid_payment_requirements",
		{`eip155:8453`, `eip155:137`}:                                            "invalid_payment_requirements",
		{`"maxTimeoutSeconds":60`, `"maxTimeoutSeconds":700000`}:                 "invalid_payment_requirements",
		{`"maxTimeoutSeconds":60`, `"maxTimeoutSeconds":-1`}:                     "invalid_payment_requirements",
		{`"nonce":"0x00`, `"nonce":"0x`}:                                         "invalid_payload",
		{`"signature"`, `"Authorization":{},"signature"`}:                        "invalid_payload", // Another parser would take the other member.
		{`"signature"`, `"ſignature":1,"signature"`}:                             "invalid_payload",
		{`"signature"`, `"a":"` + strings.Repeat("a", 70<<10) + `","signature"`}: "invalid_payload",
	} {
		bad := strings.ReplaceAll(good, change[0], change[1])
		require.NotEqual(t, good, bad, change[0])
		require.Equal(t, reason, x402Call(t, door, "/verify", bad).InvalidReason, "%q", change[1])
		settled := x402Call(t, door, "/settle", bad)
		require.Equal(t, reason, settled.ErrorReason)
		require.False(t, settled.Success)
	}
	require.Equal(t, "invalid_payload", x402Call(t, door, "/verify", good, "X-Railguard-Token", "another").InvalidReason)
	key := g.nodes["n1"].newKey(t, `{"name":"o","roles":["operator"]}`)
	w := x402Do(door, key, "POST", "/x402/verify", good)
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), "railguard_forbidden")
	verified, settled := g.chain.asked()
	require.Zero(t, verified+settled, "nothing of this was sent")
}

// newKey makes an API key and returns its secret.
func (n *groupNode) newKey(t testing.TB, body string) string {
	code, answer := n.admin("POST", "/admin/keys", body)
	require.Equal(t, 201, code, "%v", answer)
	return answer["key"].(string)
}

// A payment whose verdict is not PROCEED is not sent and has no hold.
func x402Refused(t *testing.T, g *guarded) {
	agent, token := g.payer(`,"spendPolicy":{"maxSingleTxUSDC":10}`)
	for _, c := range []struct {
		body   func() x402Body
		reason string
		rule   string
	}{
		{func() x402Body { b := g.payment(token, "1"); b.payTo = badPayee; return b }, "railguard_block", "R6_COUNTERPARTY_WALLET_OFAC"},
		{func() x402Body { return g.payment(token, "10000001") }, "railguard_review", "R10_SINGLE_TX_LIMIT"},
		{func() x402Body { return g.payment("nonsense", "1") }, "railguard_unknown", "R1_NO_CREDENTIAL"},
		{func() x402Body { return g.payment(token, strings.Repeat("9", 78)) }, "railguard_refused", ""},
	} {
		for _, first := range []string{"/verify", "/settle"} {
			body := c.body().String()
			for range 2 {
				answer := x402Call(t, g.doors["n1"], first, body)
				require.Equal(t, c.reason, answer.reason(), "%+v", answer)
				require.Equal(t, c.rule, answer.Extensions.Railguard.Rule)
				require.Equal(t, c.reason, x402Call(t, g.doors["n2"], "/settle", body).ErrorReason)
			}
		}
	}
	verified, settled := g.chain.asked()
	require.Zero(t, verified+settled)
	spent, held := g.counted(agent)
	require.Zero(t, spent+held)
}

// Settle checks status and list again. If they have changed since verify, that counts, and the
// hold is released.
func x402JudgedAgain(t *testing.T, g *guarded) {
	agent, token := g.payer("")
	body := g.payment(token, "4000000").String()
	require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
	g.nodes["n2"].must(t, 200, "POST", "/v1/agents/"+agent+"/suspend", `{"reason":"found out"}`)
	for range 2 {
		settled := x402Call(t, g.doors["n3"], "/settle", body)
		require.Equal(t, "railguard_block", settled.ErrorReason, "%+v", settled)
		require.Equal(t, "R2_CREDENTIAL_STATUS", settled.Extensions.Railguard.Rule)
	}
	_, calls := g.chain.asked()
	require.Zero(t, calls)
	spent, held := g.counted(agent)
	require.Zero(t, spent+held)
}

// A settle without a verify before it screens anew, with a hold.
func x402WithoutHold(t *testing.T, g *guarded) {
	agent, token := g.payer("")
	body := g.payment(token, "3000000").String()
	settled := x402Call(t, g.doors["n2"], "/settle", body)
	require.True(t, settled.Success, "%+v", settled)
	require.Equal(t, settled.Transaction, x402Call(t, g.doors["n3"], "/settle", body).Transaction)
	spent, held := g.counted(agent)
	require.Equal(t, [2]float64{3, 0}, [2]float64{spent, held})
	// The same signed payment with another credential is not sent on, whatever node is asked.
	_, calls := g.chain.asked()
	other, token2 := g.payer("")
	stolen := strings.Replace(body, token, token2, 1)
	require.Equal(t, "railguard_conflict", x402Call(t, g.doors["n1"], "/settle", stolen).ErrorReason)
	require.Equal(t, "railguard_conflict", x402Call(t, g.doors["n2"], "/verify", stolen).InvalidReason)
	spent, held = g.counted(other)
	require.Zero(t, spent+held)
	_, now := g.chain.asked()
	require.Equal(t, calls, now)
}

// For each answer that the facilitator behind us gives to a verify, this is what becomes of the
// hold.
func x402VerifyBehind(t *testing.T, g *guarded) {
	for mode, reason := range map[string]string{
		"refuses": "insufficient_funds", "refuses with 402": "insufficient_funds",
		"times out": "railguard_upstream_unavailable", "500": "railguard_upstream_unavailable", "says nothing": "railguard_upstream_unavailable",
		"is no JSON": "railguard_upstream_unavailable", "answers twice": "railguard_upstream_unavailable",
		"names another payer": "railguard_upstream_unavailable", "talks without end": "railguard_upstream_unavailable",
		"sends elsewhere": "railguard_upstream_unavailable", "502 that succeeds": "railguard_upstream_unavailable",
	} {
		g.chain.say(mode)
		agent, token := g.payer("")
		body := g.payment(token, "2000000").String()
		verified := x402Call(t, g.doors["n1"], "/verify", body)
		require.Equal(t, reason, verified.InvalidReason, "%s: %+v", mode, verified)
		_, held := g.counted(agent)
		g.chain.say("")
		again := x402Call(t, g.doors["n2"], "/verify", body)
		if reason == "insufficient_funds" {
			require.Zero(t, held, mode)
			require.Equal(t, reason, again.InvalidReason, "as it was answered before")
			continue
		}
		require.Equal(t, 2.0, held, mode)
		require.True(t, again.IsValid, "%s: %+v", mode, again)
		require.Equal(t, verified.Extensions.Railguard.TxnID, again.Extensions.Railguard.TxnID)
	}
}

// For each answer that the facilitator behind us gives to a settle, this is what becomes of the
// hold: a definite failure releases it, an unknown outcome keeps it.
func x402SettleBehind(t *testing.T, g *guarded) {
	for mode, reason := range map[string]string{
		"refuses": "insufficient_funds", "refuses with 402": "insufficient_funds",
		"times out": "settlement_pending", "500": "settlement_pending", "502 that succeeds": "settlement_pending", "is not sure": "settlement_pending",
		"fails on the chain": "settlement_pending", "says nothing": "settlement_pending", "is no JSON": "settlement_pending",
		"answers twice": "settlement_pending", "names a member twice": "settlement_pending", "names another payer": "settlement_pending",
		"names another network": "settlement_pending", "names no transaction": "settlement_pending",
		"talks without end": "settlement_pending", "sends elsewhere": "settlement_pending",
	} {
		for _, verified := range []bool{true, false} {
			g.chain.say("")
			agent, token := g.payer("")
			body := g.payment(token, "2000000").String()
			if verified {
				require.True(t, x402Call(t, g.doors["n1"], "/verify", body).IsValid)
			}
			g.chain.say(mode)
			settled := x402Call(t, g.doors["n2"], "/settle", body)
			require.Equal(t, reason, settled.ErrorReason, "%s: %+v", mode, settled)
			require.Empty(t, settled.Transaction)
			spent, held := g.counted(agent)
			require.Zero(t, spent, mode)
			g.chain.say("")
			again := x402Call(t, g.doors["n3"], "/settle", body)
			require.Equal(t, reason, again.ErrorReason, "%s: %+v", mode, again)
			_, calls := g.chain.asked()
			require.Zero(t, calls, "not sent again meanwhile")
			want := 2.0
			if reason == "insufficient_funds" {
				want = 0
			}
			require.Equal(t, want, held, mode)
		}
	}
}
