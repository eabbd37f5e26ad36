package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	confirming = "POST /v1/transactions/txn_1/confirm"
	settling   = "POST /v1/transactions/txn_1/settle"
	releasing  = "POST /v1/transactions/txn_1/release"
)

// What a first-hand confirmation says, and what the API is asked.
func TestConfirmTellsTheVerdict(t *testing.T) {
	for name, c := range map[string]struct{ verdict, state, sentence string }{
		"held":       {"PROCEED", "held", "PROCEED: the payment may be made."},
		"redeemed":   {"PROCEED", "redeemed", "PROCEED: the payment may be made now, once: its leave is taken."},
		"to review":  {"REVIEW", "held", "REVIEW (R12): do not pay. It has no leave now, and no officer is asked: screen the payment anew. the reason."},
		"blocked":    {"BLOCK", "released", "BLOCK (R12): do not pay, and do not ask again in other words. The payment was given back. the reason."},
		"of nobody":  {"UNKNOWN", "held", "UNKNOWN (R12): do not pay. The credential is missing or no good: get one from the agent's operator. the reason."},
		"of a later": {"PARDON", "held", "UNKNOWN (R12): do not pay. The credential is missing or no good: get one from the agent's operator. the reason."},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers[confirming] = fakeAnswer{status: 200, body: strings.Replace(verdictBody(c.verdict), `{`, `{"confirmedAt":"2026-03-22T03:33:28.589Z","payment":{"state":"`+c.state+`"},"approval":{"state":"open"},`, 1)}
			o := callTool(t, g, "confirm", `{"txnId":"txn_1","token":"t","redeem":true,"idempotencyKey":"c-1"}`)
			require.False(t, o.IsError)
			require.Equal(t, c.sentence, o.Content[0].Text)
			require.Equal(t, c.verdict == "PROCEED", strings.Contains(o.Content[0].Text, leaveWords))
			require.Equal(t, map[string]any{"state": "open"}, o.Members["approval"])
			require.Equal(t, map[string]any{"state": c.state}, o.Members["payment"])
			require.Equal(t, "2026-03-22T03:33:28.589Z", o.Members["confirmedAt"])
			requireNoSecret(t, o.Members)
			require.Len(t, api.asked, 2)
			require.Equal(t, "c-1", api.asked[1].key)
			require.JSONEq(t, `{"token":"t","redeem":true}`, api.asked[1].body)
		})
	}
	g, api := newDesk(t)
	api.answers[confirming] = fakeAnswer{status: 200, body: verdictBody("PROCEED")}
	require.False(t, callTool(t, g, "confirm", `{"txnId":"txn_1"}`).IsError)
	require.Empty(t, api.asked[1].key, "it needs none")
	require.JSONEq(t, `{}`, api.asked[1].body)
	callTool(t, g, "confirm", `{"txnId":"../key"}`).requireFailed(t, "not_found", "none")
	callTool(t, g, "confirm", `{"txnId":"txn_1","idempotencyKey":7}`).requireFailed(t, "invalid_field", "none")
}

// A permit of a confirmation is in nothing that a model reads, first-hand or repeated.
func TestPermitOfAConfirmation(t *testing.T) {
	for name, headers := range map[string]map[string]string{"first": nil, "repeated": {"Idempotent-Replayed": "true"}} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers[confirming] = fakeAnswer{status: 200, body: `{"verdict":"PROCEED","txnId":"txn_1","rule":null,"reason":"ok","permit":"a.bearers.secret","permitExpiresAt":"2026-03-22T03:35:28.000Z"}`, headers: headers}
			api.answers["GET /v1/audit/txn_1"] = fakeAnswer{status: 200, body: recordBody("PROCEED", `"permit":"a.bearers.secret",`)}
			o := callTool(t, g, "confirm", `{"txnId":"txn_1","permit":{"ttlSeconds":60}}`)
			require.Equal(t, "a.bearers.secret", o.Meta["railguard/permit"])
			require.JSONEq(t, `{"permit":{"ttlSeconds":60}}`, api.asked[1].body)
			require.Equal(t, "2026-03-22T03:35:28.000Z", o.Members["permitExpiresAt"])
			read, err := json.Marshal([]any{o.Content, o.Members})
			require.NoError(t, err)
			require.NotContains(t, string(read), "bearers")
		})
	}
}

// A confirmation that is refused says in what state the payment is. It is an error, and gives no leave.
func TestRefusedConfirmations(t *testing.T) {
	for name, c := range map[string]struct{ body, code, sentence string }{
		"used":        {`"code":"permit_used","redeemedAt":"2026-03-22T03:33:28.589Z"`, "permit_used", "Not confirmed (redeemed): let through or paid: do not pay again."},
		"lapsed":      {`"code":"approval_lapsed"`, "approval_lapsed", "Not confirmed (lapsed): no leave any more: do not pay. Screen a payment that is to be made."},
		"often":       {`"code":"limit_reached"`, "limit_reached", "Not confirmed (as often as it can be): no leave any more: do not pay. Screen a payment that is to be made."},
		"waiting":     {`"code":"invalid_transition","state":"waiting"`, "invalid_transition", "Not confirmed (waiting): no officer has approved it: do not pay. Ask get_verdict until its disposition is APPROVED."},
		"rejected":    {`"code":"invalid_transition","state":"rejected"`, "invalid_transition", "Not confirmed (rejected): an officer rejected it: do not pay."},
		"not allowed": {`"code":"invalid_transition","state":"not_allowed"`, "invalid_transition", "Not confirmed (not allowed): its verdict gave no leave: do not pay."},
		"released":    {`"code":"invalid_transition","state":"released"`, "invalid_transition", "Not confirmed (released): no leave any more: do not pay. Screen a payment that is to be made."},
		"another":     {`"code":"invalid_transition","state":"parked"`, "invalid_transition", "No verdict: do not pay. invalid_transition: m"},
		"no state":    {`"code":"invalid_transition"`, "invalid_transition", "No verdict: do not pay. invalid_transition: m"},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers[confirming] = fakeAnswer{status: 409, body: `{"message":"m",` + c.body + `}`}
			o := callTool(t, g, "confirm", `{"txnId":"txn_1"}`)
			require.True(t, o.IsError)
			require.Equal(t, c.sentence, o.Content[0].Text)
			require.NotContains(t, o.Content[0].Text, leaveWords)
			require.Equal(t, []any{c.code, "none"}, []any{o.Members["code"], o.Members["outcome"]})
			require.Equal(t, name == "used", o.Members["redeemedAt"] != nil)
			require.NotContains(t, o.Members, "verdict")
		})
	}
}

// Settle and release say what the API booked; what only a settler may say, they say in a sentence.
func TestSettleAndRelease(t *testing.T) {
	const settle, release = `{"txnId":"txn_1","amount":3,"railRef":"0xabc","idempotencyKey":"s"}`, `{"txnId":"txn_1","reason":"the rail refused it"}`
	for name, c := range map[string]struct {
		tool, call, arguments, body string
		answer                      fakeAnswer
		failed                      bool
		sentence                    string
	}{
		"settled":  {"settle", settling, settle, `{"amount":3,"railRef":"0xabc"}`, fakeAnswer{status: 200, body: `{"txnId":"txn_1","state":"settled","amount":3,"unpermitted":true,"index":9,` + secrets + `}`}, false, "Settled: the payment is booked as paid. Do not pay again."},
		"released": {"release", releasing, release, `{"reason":"the rail refused it"}`, fakeAnswer{status: 200, body: `{"txnId":"txn_1","state":"released","amount":3,` + secrets + `}`}, false, "Released: the payment was given back and has no leave any more. Do not pay; screen a payment that is to be made."},
		"a settler's to release": {"release", releasing, release, `{"reason":"the rail refused it"}`, fakeAnswer{status: 403, body: `{"code":"settler_required","message":"m"}`}, true,
			"Nothing was changed (settler_required): only a settler gives back what counts of a payment, and an agent's key never is one. The payment goes on counting until the operator's settler says what became of it. Do not pay again."},
		"a settler's to settle for less": {"settle", settling, settle, `{"amount":3,"railRef":"0xabc"}`, fakeAnswer{status: 403, body: `{"code":"settler_required","message":"m"}`}, true,
			"Nothing was changed (settler_required): only a settler gives back what counts of a payment, and an agent's key never is one. The payment goes on counting until the operator's settler says what became of it. Do not pay again."},
		"nothing left":       {"release", releasing, release, `{"reason":"the rail refused it"}`, fakeAnswer{status: 409, body: `{"code":"invalid_transition","message":"m"}`}, true, "Nothing was changed: invalid_transition: m. Do not pay again."},
		"not known":          {"settle", settling, settle, `{"amount":3,"railRef":"0xabc"}`, fakeAnswer{status: 503, body: `{"code":"timeout","message":"m"}`}, true, "No verdict: do not pay. timeout: m Whether the call was recorded is not known: repeat it with the same idempotencyKey, and do not pay meanwhile."},
		"no state":           {"settle", settling, settle, `{"amount":3,"railRef":"0xabc"}`, fakeAnswer{status: 200, body: `{"txnId":"txn_1"}`}, true, "No verdict: do not pay. internal_error: the service did not answer as it should Whether the call was recorded is not known: repeat it with the same idempotencyKey, and do not pay meanwhile."},
		"another's payments": {"settle", settling, settle, `{"amount":3,"railRef":"0xabc"}`, fakeAnswer{status: 404, body: `{"code":"not_found","message":"m"}`}, true, "Nothing was changed: not_found: m. Do not pay again."},
	} {
		t.Run(name, func(t *testing.T) {
			g, api := newDesk(t)
			api.answers[c.call] = c.answer
			o := callTool(t, g, c.tool, c.arguments)
			require.Equal(t, c.failed, o.IsError)
			require.Equal(t, c.sentence, o.Content[0].Text)
			require.NotContains(t, o.Content[0].Text, leaveWords)
			requireNoSecret(t, o.Members)
			require.NotContains(t, o.Members, "index")
			require.Len(t, api.asked, 2)
			require.JSONEq(t, c.body, api.asked[1].body)
			require.Equal(t, map[string]string{"settle": "s", "release": ""}[c.tool], api.asked[1].key)
		})
	}
	g, api := newDesk(t)
	callTool(t, g, "release", `{"txnId":"txn_1"}`).requireFailed(t, "missing_field", "none")
	callTool(t, g, "settle", `{"txnId":"nonsense"}`).requireFailed(t, "not_found", "none")
	callTool(t, g, "settle", `{"txnId":"txn_1","reason":"r"}`).requireFailed(t, "unknown_field", "none")
	require.Len(t, api.asked, 3, "the API is asked who calls, and no more")
}
