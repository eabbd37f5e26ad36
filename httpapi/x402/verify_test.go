package x402

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestVerifyHoldsWhatWillBePaid(t *testing.T) {
	d := newDesk(t)
	answer := d.verifies(t)
	require.Equal(t, true, answer["isValid"], answer)
	shown := answer["extensions"].(map[string]any)["railguard"].(map[string]any)
	require.Equal(t, map[string]any{"verdict": "PROCEED", "txnId": "txn_1", "reason": "all rules passed", "holdExpiresAt": "2026-03-22T03:39:28Z"}, shown)
	require.Len(t, d.ledger.screened, 1)
	call := d.ledger.screened[0]
	reference, _ := call["paymentRef"].(string)
	require.True(t, strings.HasPrefix(reference, "x402:payment:"), reference)
	delete(call, "paymentRef")
	require.Equal(t, map[string]any{
		"token": "t", "amount": 0.000001, "chain": "SOL", "rail": "USDC", "cpWallet": "payee", "protocol": "x402", "payerWallet": ownerSOL,
		"wallets": []any{map[string]any{"role": "payer", "address": feePayerSOL}},
		"hold":    map[string]any{"ttlSeconds": 360.0}, // 60 seconds of the payment and five minutes.
		"x402": map[string]any{
			"asset": Published[2].assetID(), "units": "1", "nonce": "1a2809fb1e6f349825ed11c40057e54cf4da5d26e0c3b9907067d741e21a4035",
		},
	}, call)
	require.Nil(t, d.ledger.ending("txn_1"), "the hold is open")
	require.Len(t, d.chain.bodies, 1)
	require.True(t, strings.HasPrefix(d.chain.bodies[0], "/verify {"), "a slash at the end of the address counts once")
	require.NotContains(t, d.chain.bodies[0], `"token"`, "the credential is not for the facilitator behind")

	require.Equal(t, true, d.verifies(t)["isValid"])
	require.Len(t, d.ledger.screened, 1, "the hold that is open is the answer")
	require.Len(t, d.chain.bodies, 2)
}

func TestVerifyRefusesByVerdict(t *testing.T) {
	for verdict, reason := range map[string]string{"REVIEW": "railguard_review", "BLOCK": "railguard_block", "UNKNOWN": "railguard_unknown"} {
		t.Run(verdict, func(t *testing.T) {
			d := newDesk(t)
			d.ledger.verdicts = []string{verdict}
			answer := d.verifies(t)
			require.Equal(t, false, answer["isValid"])
			require.Equal(t, reason, answer["invalidReason"])
			require.Equal(t, "R12 txn_1: the reason of R12", answer["invalidMessage"])
			require.Equal(t, "R12", answer["extensions"].(map[string]any)["railguard"].(map[string]any)["rule"])
			require.Empty(t, d.chain.bodies, "nobody else hears of it")
		})
	}
}

// A clear answer of the facilitator behind, whether a payment would be made, is trusted; an
// unclear one counts as unknown.
func TestVerifyReadsTheChain(t *testing.T) {
	const valid, invalid, unknown = "", "insufficient_funds", "railguard_upstream_unavailable"
	for name, c := range map[string]struct {
		status int
		body   string
		reason string
	}{
		"valid":                           {200, `{"isValid":true}`, valid},
		"invalid":                         {200, `{"isValid":false,"invalidReason":"insufficient_funds"}`, invalid},
		"invalid, as a bad request":       {400, `{"isValid":false,"invalidReason":"insufficient_funds"}`, invalid},
		"invalid, as payment required":    {402, `{"isValid":false,"invalidReason":"insufficient_funds"}`, invalid},
		"invalid without a reason":        {200, `{"isValid":false}`, unknown},
		"valid, but with another status":  {400, `{"isValid":true}`, unknown},
		"both":                            {200, `{"isValid":true,"isValid":false,"invalidReason":"x"}`, unknown},
		"a text":                          {200, `{"isValid":"true"}`, unknown},
		"nothing":                         {200, `{}`, unknown},
		"no JSON":                         {200, `<html>`, unknown},
		"its own error":                   {500, `{"isValid":false,"invalidReason":"insufficient_funds"}`, unknown},
		"a redirect":                      {302, `{"isValid":true}`, unknown},
		"an answer as long as one may be": {200, `{"isValid":true,"x":"` + strings.Repeat("a", upstreamMax-len(`{"isValid":true,"x":""}`)) + `"}`, valid},
		"an answer one byte longer":       {200, `{"isValid":true,"x":"` + strings.Repeat("a", upstreamMax-len(`{"isValid":true,"x":""}`)+1) + `"}`, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.chain.says(c.status, c.body)
			answer := d.verifies(t)
			require.Equal(t, c.reason == valid, answer["isValid"], answer)
			if c.reason != valid {
				require.Equal(t, c.reason, answer["invalidReason"])
			}
			if c.reason == invalid {
				require.Equal(t, map[string]any{"state": "released", "reason": "x402: insufficient_funds"}, d.ledger.ending("txn_1"))
				return
			}
			require.Nil(t, d.ledger.ending("txn_1"), "the hold stays")
			require.NotEmpty(t, d.ledger.users)
		})
	}
}

func TestVerifyOutlivesASilentChain(t *testing.T) {
	d := newDesk(t)
	d.config.VerifyTimeout = 10 * time.Millisecond
	d.chain.answer = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	require.Equal(t, "railguard_upstream_unavailable", d.verifies(t)["invalidReason"])
	require.Nil(t, d.ledger.ending("txn_1"))
	d.config.VerifyTimeout = time.Minute
	d.chain.says(200, chainGood)
	require.Equal(t, true, d.verifies(t)["isValid"], "asked again")
	require.Len(t, d.ledger.screened, 1)
}

func TestVerifyOfAPaymentThatCameBefore(t *testing.T) {
	for name, c := range map[string]struct {
		prepare         func(t *testing.T, d *desk)
		reason, message string
	}{
		"the chain said no": {func(t *testing.T, d *desk) {
			d.chain.says(200, `{"isValid":false,"invalidReason":"insufficient_funds"}`)
			d.verifies(t)
			d.chain.says(200, chainGood)
		}, "insufficient_funds", "as this payment was answered before"},
		"its hold has ended": {func(t *testing.T, d *desk) {
			d.verifies(t)
			d.ledger.expire("txn_1")
		}, "railguard_hold_ended", "sign another payment"},
		"it was settled": {func(t *testing.T, d *desk) {
			d.verifies(t)
			d.settles(t)
		}, "railguard_already_settled", "was settled before"},
		"it was settled late": {func(t *testing.T, d *desk) {
			d.verifies(t)
			d.ledger.records["txn_1"]["payment"] = map[string]any{"state": "expired"}
			d.ledger.records["txn_1"]["lateSettlement"] = map[string]any{"state": "settled", "railRef": "5late"}
		}, "railguard_already_settled", "was settled before"},
		"it is being settled without a hold of verify": {func(t *testing.T, d *desk) {
			d.chain.says(500, `{}`)
			d.settles(t)
		}, "railguard_already_settled", "was sent for settlement before"},
		"its record cannot be read": {func(t *testing.T, d *desk) {
			d.verifies(t)
			d.ledger.expire("txn_1")
			d.ledger.override["GET /v1/audit/"] = fakeAnswer{503, `{}`}
		}, "railguard_unavailable", errUnavailable.Error()},
		"its record is gone": {func(t *testing.T, d *desk) {
			d.verifies(t)
			d.ledger.expire("txn_1")
			d.ledger.override["GET /v1/audit/"] = fakeAnswer{404, `{"code":"not_found"}`}
		}, "railguard_unavailable", errUnavailable.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			c.prepare(t, d)
			asked := len(d.chain.bodies)
			answer := d.verifies(t)
			require.Equal(t, false, answer["isValid"])
			require.Equal(t, c.reason, answer["invalidReason"], answer)
			require.Contains(t, answer["invalidMessage"], c.message)
			require.Len(t, d.chain.bodies, asked, "the facilitator behind is not asked")
		})
	}
}

// Only the settlement releases the hold of a payment that is being settled, whatever verify
// learns meanwhile.
func TestVerifyLeavesAHoldToItsSettlement(t *testing.T) {
	d := newDesk(t)
	d.verifies(t)
	d.chain.says(500, `{}`)
	require.Equal(t, "settlement_pending", d.settles(t)["errorReason"])
	d.chain.says(200, `{"isValid":false,"invalidReason":"insufficient_funds"}`)
	require.Equal(t, "insufficient_funds", d.verifies(t)["invalidReason"])
	require.Nil(t, d.ledger.ending("txn_1"))
}

// Verify reports in the protocol's words what the API says instead of a verdict.
func TestVerifyWithoutAVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		call            string
		answer          fakeAnswer
		reason, message string
		asked           int // How many calls are made; 0: as many as the patience allows.
	}{
		"no role":                   {"POST /v1/screen", fakeAnswer{403, `{"code":"forbidden","message":"lacks the role"}`}, "railguard_forbidden", "lacks the role", 1},
		"a body that is refused":    {"POST /v1/screen", fakeAnswer{400, `{"code":"invalid_field","message":"cpWallet"}`}, "railguard_refused", "invalid_field: cpWallet", 1},
		"too many calls":            {"POST /v1/screen", fakeAnswer{429, `{"code":"rate_limited"}`}, "railguard_unavailable", errUnavailable.Error(), 1},
		"no leader":                 {"POST /v1/screen", fakeAnswer{503, `{"code":"no_leader"}`}, "railguard_unavailable", errUnavailable.Error(), 0},
		"the first is not answered": {"POST /v1/screen", fakeAnswer{409, `{"code":"idempotency_in_flight"}`}, "railguard_unavailable", errUnavailable.Error(), 0},
		"no verdict in the answer":  {"POST /v1/screen", fakeAnswer{200, `{"txnId":"txn_1"}`}, "railguard_unavailable", errUnavailable.Error(), 1},
		"no transaction in it":      {"POST /v1/screen", fakeAnswer{200, `{"verdict":"PROCEED"}`}, "railguard_unavailable", errUnavailable.Error(), 1},
		"no JSON":                   {"POST /v1/screen", fakeAnswer{200, `PROCEED`}, "railguard_unavailable", errUnavailable.Error(), 1},
		"a record without an id":    {"GET /v1/transactions", fakeAnswer{200, `{"verdict":"PROCEED"}`}, "railguard_unavailable", errUnavailable.Error(), 1},
		"references are forbidden":  {"GET /v1/transactions", fakeAnswer{403, `{"code":"forbidden","message":"lacks the role"}`}, "railguard_forbidden", "lacks the role", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.ledger.override[c.call] = c.answer
			answer := d.verifies(t)
			require.Equal(t, c.reason, answer["invalidReason"], answer)
			require.Equal(t, c.message, answer["invalidMessage"])
			require.Empty(t, d.chain.bodies)
			asked := 0
			for _, call := range d.ledger.calls {
				if strings.HasPrefix(call, c.call) {
					asked++
				}
			}
			if c.asked == 0 {
				require.Greater(t, asked, 1, "it insists")
				return
			}
			require.Equal(t, c.asked, asked)
		})
	}
}

// A body has one answer: with another credential it is refused.
func TestVerifyOfABodyWithTwoCredentials(t *testing.T) {
	d := newDesk(t)
	body := strings.Replace(goodBody, `"token":"t"`, `"x":"t"`, 1)
	status, answer := d.send(t, "/verify", body, "X-Railguard-Token", "first")
	require.Equal(t, 200, status)
	require.Equal(t, true, answer["isValid"], answer)
	require.Equal(t, "first", d.ledger.screened[0]["token"])
	_, answer = d.send(t, "/verify", body, "X-Railguard-Token", "second")
	require.Equal(t, "railguard_conflict", answer["invalidReason"])
	require.Equal(t, errConflict.Error(), answer["invalidMessage"])
	_, answer = d.send(t, "/settle", body, "X-Railguard-Token", "first")
	require.Equal(t, true, answer["success"], answer)
	_, answer = d.send(t, "/settle", body, "X-Railguard-Token", "second")
	require.Equal(t, "railguard_conflict", answer["errorReason"], answer)
	require.Len(t, d.ledger.screened, 2)
}
