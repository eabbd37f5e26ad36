package x402

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chainSilent is an answer that does not say whether a payment was made.
const chainSilent = `{}`

func TestSettleAfterVerify(t *testing.T) {
	d := newDesk(t)
	d.verifies(t)
	answer := d.settles(t)
	require.Equal(t, true, answer["success"], answer)
	require.Equal(t, "5sig", answer["transaction"])
	require.Equal(t, network, answer["network"])
	require.Len(t, d.ledger.screened, 2)
	again := d.ledger.screened[1]
	require.Equal(t, 0.0, again["amount"], "what the payment is worth is held already")
	require.NotContains(t, again, "hold")
	require.True(t, strings.HasPrefix(again["paymentRef"].(string), "x402:settlement:"))
	require.Equal(t, map[string]any{"state": "settled", "amount": 0.000001, "railRef": "5sig", "forwarded": true}, d.ledger.ending("txn_1"))
	require.Nil(t, d.ledger.ending("txn_2"), "the judgement holds nothing")
	require.Equal(t, "101", d.ledger.headers[len(d.ledger.headers)-2].Get("X-Railguard-Min-Index"), "who won is read from the claim's index on")

	require.Equal(t, "duplicate_settlement", d.settles(t)["errorReason"])
	require.Len(t, d.chain.bodies, 2, "sent on once")
}

func TestSettleWithoutVerify(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, d *desk){
		"nobody verified": func(*testing.T, *desk) {},
		"the hold has ended": func(t *testing.T, d *desk) {
			d.verifies(t)
			id := d.ledger.users[onlyReference(t, d)]
			d.ledger.records[id]["payment"] = map[string]any{"state": "expired"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			prepare(t, d)
			before := len(d.ledger.screened)
			require.Equal(t, true, d.settles(t)["success"])
			require.Len(t, d.ledger.screened, before+1)
			claim := d.ledger.screened[before]
			require.Equal(t, 0.000001, claim["amount"])
			require.Equal(t, map[string]any{"ttlSeconds": 360.0}, claim["hold"])
			require.Equal(t, "settled", d.ledger.ending(d.ledger.users[claim["paymentRef"].(string)])["state"])
		})
	}
}

func onlyReference(t *testing.T, d *desk) string {
	require.Len(t, d.ledger.users, 1)
	for reference := range d.ledger.users {
		return reference
	}
	return ""
}

// A definite failure releases, success books, and everything else leaves the hold as it is.
func TestSettleReadsTheChain(t *testing.T) {
	const settled, failed, pending = "settled", "failed", "pending"
	for name, c := range map[string]struct {
		status  int
		body    string
		outcome string
	}{
		"made":                            {200, chainGood, settled},
		"made, of the same amount":        {200, strings.Replace(chainGood, `"network"`, `"amount":"1","network"`, 1), settled},
		"made, of another amount":         {200, strings.Replace(chainGood, `"network"`, `"amount":"2","network"`, 1), pending},
		"made, on another network":        {200, strings.Replace(chainGood, network, "eip155:1", 1), pending},
		"made, without a network":         {200, `{"success":true,"transaction":"5sig"}`, pending},
		"made, without a transaction":     {200, `{"success":true,"network":"` + network + `"}`, pending},
		"made, transaction with a space":  {200, strings.Replace(chainGood, "5sig", "5 sig", 1), pending},
		"made, transaction at the bound":  {200, strings.Replace(chainGood, "5sig", strings.Repeat("s", transactionMax), 1), settled},
		"made, transaction one past it":   {200, strings.Replace(chainGood, "5sig", strings.Repeat("s", transactionMax+1), 1), pending},
		"made, with another status":       {402, chainGood, pending},
		"not made":                        {200, `{"success":false,"errorReason":"insufficient_funds"}`, failed},
		"not made, as payment required":   {402, `{"success":false,"errorReason":"insufficient_funds"}`, failed},
		"not made, without a reason":      {200, `{"success":false}`, pending},
		"not made, but sent":              {200, `{"success":false,"errorReason":"insufficient_funds","transaction":"5sig"}`, pending},
		"under way":                       {200, `{"success":false,"errorReason":"settlement_pending"}`, pending},
		"an error of no meaning":          {200, `{"success":false,"errorReason":"unexpected_settle_error"}`, pending},
		"a state that may end either way": {400, `{"success":false,"errorReason":"invalid_transaction_state"}`, pending},
		"its own error":                   {502, `{"success":false,"errorReason":"insufficient_funds"}`, pending},
		"nothing":                         {200, `{}`, pending},
		"no JSON":                         {200, `OK`, pending},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.verifies(t)
			d.chain.says(c.status, c.body)
			answer := d.settles(t)
			switch c.outcome {
			case settled:
				require.Equal(t, true, answer["success"], answer)
				require.Equal(t, "settled", d.ledger.ending("txn_1")["state"])
			case failed:
				require.Equal(t, "insufficient_funds", answer["errorReason"])
				for _, id := range []string{"txn_1", "txn_2"} {
					require.Equal(t, map[string]any{"state": "released", "reason": "x402: insufficient_funds"}, d.ledger.ending(id))
				}
			default:
				require.Equal(t, false, answer["success"])
				require.Equal(t, "settlement_pending", answer["errorReason"])
				require.Nil(t, d.ledger.ending("txn_1"))
				require.Nil(t, d.ledger.ending("txn_2"))
			}
			calls := len(d.chain.bodies)
			d.settles(t)
			require.Len(t, d.chain.bodies, calls, "asked again at once, nothing is sent on")
		})
	}
}

// A late failure is no proof: another caller may have tried since.
func TestSettleDistrustsALateFailure(t *testing.T) {
	for name, c := range map[string]struct {
		took   time.Duration
		reason string
	}{
		"in time":     {settleDefault + apiPatience - 1, "insufficient_funds"},
		"at the time": {settleDefault + apiPatience, "settlement_pending"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.chain.answer = func(w http.ResponseWriter, _ *http.Request) {
				d.ledger.mutex.Lock()
				d.ledger.now = d.ledger.now.Add(c.took)
				d.ledger.mutex.Unlock()
				_, _ = io.WriteString(w, `{"success":false,"errorReason":"insufficient_funds"}`)
			}
			require.Equal(t, c.reason, d.settles(t)["errorReason"])
		})
	}
}

func TestSettleRefusesByVerdict(t *testing.T) {
	d := newDesk(t)
	d.verifies(t)
	d.ledger.verdicts = []string{"BLOCK"}
	answer := d.settles(t)
	require.Equal(t, "railguard_block", answer["errorReason"])
	require.Equal(t, "R12 txn_2: the reason of R12", answer["errorMessage"])
	require.Equal(t, map[string]any{"state": "released", "reason": "x402: railguard_block"}, d.ledger.ending("txn_1"), "what verify held is given back")
	require.Len(t, d.chain.bodies, 1)
	require.Equal(t, "railguard_block", d.settles(t)["errorReason"], "the claim stands")
	d.ledger.users = map[string]string{}
	require.Equal(t, "railguard_block", d.settles(t)["errorReason"], "and so does the body's answer when the claim is forgotten")
}

// Once the first attempt is certainly over, the facilitator behind is asked once more.
func TestSettleAgainWhenTheOutcomeIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		after    time.Duration
		chain    string
		verdicts []string
		override string
		reason   string // "": it was made.
		message  string
		sent     bool
	}{
		"too early":              {after: settleDefault + bookingTime - 1, chain: chainGood, reason: "settlement_pending", message: "is being settled"},
		"made":                   {after: settleDefault + bookingTime, chain: chainGood, sent: true},
		"a failure says nothing": {after: time.Hour, chain: `{"success":false,"errorReason":"nonce_used"}`, reason: "settlement_pending", message: "is not known", sent: true},
		"still silent":           {after: time.Hour, chain: chainSilent, reason: "settlement_pending", message: "is not known", sent: true},
		"blocked meanwhile":      {after: time.Hour, chain: chainGood, verdicts: []string{"BLOCK"}, reason: "settlement_pending", message: "now it would not be: R12 txn_2"},
		"no verdict now":         {after: time.Hour, chain: chainGood, override: "POST /v1/screen", reason: "settlement_pending", message: "cannot be screened again now"},
		"the ledger is away":     {after: time.Hour, chain: chainGood, override: "GET /v1/transactions", reason: "railguard_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.chain.says(200, chainSilent)
			require.Equal(t, "settlement_pending", d.settles(t)["errorReason"])
			d.chain.says(200, c.chain)
			d.ledger.now = d.ledger.now.Add(c.after)
			d.ledger.verdicts = c.verdicts
			if c.override != "" {
				d.ledger.override[c.override] = fakeAnswer{503, `{}`}
			}
			sent := len(d.chain.bodies)
			answer := d.settles(t)
			require.Equal(t, c.sent, len(d.chain.bodies) > sent)
			if c.reason == "" {
				require.Equal(t, true, answer["success"], answer)
				require.Equal(t, "settled", d.ledger.ending("txn_1")["state"])
				require.Equal(t, 0.0, d.ledger.screened[1]["amount"])
				require.NotContains(t, d.ledger.screened[1], "paymentRef")
				return
			}
			require.Equal(t, c.reason, answer["errorReason"])
			require.Contains(t, answer["errorMessage"], c.message)
			require.Nil(t, d.ledger.ending("txn_1"))
		})
	}
}

func TestSettleAfterItsEnd(t *testing.T) {
	t.Run("the chain said no", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, `{"success":false,"errorReason":"insufficient_funds"}`)
		require.Equal(t, "insufficient_funds", d.settles(t)["errorReason"])
		d.chain.says(200, chainGood)
		answer := d.settles(t)
		require.Equal(t, "insufficient_funds", answer["errorReason"], "one body, one answer")
		require.Equal(t, "as this payment was answered before", answer["errorMessage"])
		require.Len(t, d.chain.bodies, 1)
	})
	t.Run("an officer released it", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, chainSilent)
		d.settles(t)
		d.ledger.records["txn_1"]["payment"] = map[string]any{"state": "released", "reason": "not on the chain"}
		require.Equal(t, "railguard_released", d.settles(t)["errorReason"])
	})
	t.Run("its hold expired", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, chainSilent)
		d.settles(t)
		d.ledger.expire("txn_1")
		d.chain.says(200, chainGood)
		answer := d.settles(t)
		require.Equal(t, "settlement_pending", answer["errorReason"], "an expiry says nothing of the chain")
		require.Contains(t, answer["errorMessage"], "is being settled")
		d.ledger.now = d.ledger.now.Add(time.Hour)
		require.Equal(t, true, d.settles(t)["success"])
		require.Equal(t, "settled", d.ledger.ending("txn_1")["state"], "late")
	})
	t.Run("the hold of verify was settled by hand", func(t *testing.T) {
		d := newDesk(t)
		d.verifies(t)
		d.ledger.records["txn_1"]["payment"] = map[string]any{"state": "settled", "railRef": "5hand"}
		answer := d.settles(t)
		require.Equal(t, "duplicate_settlement", answer["errorReason"], "nobody may open a door for it twice")
		require.Len(t, d.ledger.screened, 1)
	})
	t.Run("its record is gone", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, `{"success":false,"errorReason":"insufficient_funds"}`)
		d.settles(t)
		d.ledger.override["GET /v1/audit/"] = fakeAnswer{404, `{"code":"not_found"}`}
		answer := d.settles(t)
		require.Equal(t, "settlement_pending", answer["errorReason"])
		require.Contains(t, answer["errorMessage"], "sent for settlement before")
	})
}

// When two calls screen one payment at once, the one whose record uses the settlement
// reference forwards it, and the other releases its hold.
func TestSettleGoesByTheWinner(t *testing.T) {
	for name, c := range map[string]struct {
		loser  string
		review string
		ending map[string]any
		reason string
	}{
		"the loser was refused":          {"REVIEW", "", map[string]any{"state": "settled", "railRef": "5first"}, "duplicate_settlement"},
		"the loser held as well":         {"PROCEED", "", map[string]any{"state": "settled", "railRef": "5first"}, "duplicate_settlement"},
		"the winner is under way":        {"PROCEED", "", nil, "settlement_pending"},
		"the loser found another's":      {"REVIEW", "waiting", nil, "settlement_pending"},
		"the loser found another's late": {"REVIEW", "other", map[string]any{"state": "settled", "railRef": "5first"}, "duplicate_settlement"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.ledger.verdicts, d.ledger.review = []string{c.loser}, c.review
			d.ledger.before = func(r *http.Request) {
				if r.URL.Path != "/v1/screen" {
					return
				}
				d.ledger.before = nil // The winner calls in between, on another node.
				winner := map[string]any{"verdict": "PROCEED", "txnId": "txn_w", "index": 90, "screenedAt": d.ledger.now, "hold": map[string]any{"state": "held"}}
				if c.ending != nil {
					winner["payment"] = c.ending
				}
				p, err := readPayment([]byte(goodBody), Published, "")
				require.NoError(t, err)
				winner["keyId"], winner["requestId"] = d.ledger.keyOf(r), p.callID()
				d.ledger.records["txn_w"], d.ledger.users[p.settleReference()] = winner, "txn_w"
			}
			answer := d.settles(t)
			require.Equal(t, c.reason, answer["errorReason"], answer)
			require.Empty(t, d.chain.bodies)
			if c.loser == "PROCEED" {
				require.Equal(t, map[string]any{"state": "released", "reason": "x402: another call settles this payment"}, d.ledger.ending("txn_2"))
			}
		})
	}
}

// A body that found no hold before and finds one now is screened in both forms.
func TestSettleFindsTheAnswerOfEitherForm(t *testing.T) {
	d := newDesk(t)
	d.chain.says(200, `{"success":false,"errorReason":"insufficient_funds"}`)
	d.settles(t) // This call has a hold of its own, which is released.
	d.chain.says(200, chainGood)
	d.verifies(t)
	answer := d.settles(t)
	require.Equal(t, "insufficient_funds", answer["errorReason"], answer)
	require.Len(t, d.ledger.screened, 2)
}

// A payment is settled for one caller only. If the call that settled it is repeated, it gets the
// success again; no other call does.
func TestSettleTwice(t *testing.T) {
	call := func(id, url string) func(body, payload, wanted map[string]any) {
		return func(_, payload, _ map[string]any) {
			payload["resource"] = map[string]any{"url": url}
			if id != "" {
				payload["extensions"].(map[string]any)[identifier] = map[string]any{"info": map[string]any{"id": id}}
			}
		}
	}
	const id, url, duplicate = "payment_0123456789", "https://a.example/1", "duplicate_settlement"
	for name, c := range map[string]struct {
		firstID, id, url, key string
		reason                string // "": the first answer.
		foreign               bool
	}{
		"the same call":             {firstID: id, id: id, url: url, key: "a"},
		"another resource":          {firstID: id, id: id, url: url + "2", key: "a", reason: duplicate},
		"another identifier":        {firstID: id, id: id + "2", url: url, key: "a", reason: duplicate},
		"no identifier now":         {firstID: id, url: url, key: "a", reason: duplicate},
		"never an identifier":       {url: url, key: "a", reason: duplicate},
		"another key":               {firstID: id, id: id, url: url, key: "b", reason: duplicate, foreign: true},
		"another key and its place": {firstID: id, id: id, url: "https://b.example/", key: "b", reason: duplicate, foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.chain.says(200, `{"success":true,"transaction":"0xabc","network":"eip155:8453"}`)
			_, first := d.send(t, "/settle", evmBody(call(c.firstID, url)), "Authorization", "a")
			require.Equal(t, true, first["success"], first)
			require.NotContains(t, shown(first), "replayed")
			_, second := d.send(t, "/settle", evmBody(call(c.id, c.url)), "Authorization", c.key)
			require.Len(t, d.chain.bodies, 1)
			require.Equal(t, c.foreign, shown(second) == nil, "a stranger is told no transaction of others")
			if c.reason == "" {
				require.Equal(t, true, shown(second)["replayed"])
				delete(shown(second), "replayed")
				require.Equal(t, first["transaction"], second["transaction"])
				require.Equal(t, shown(first)["txnId"], shown(second)["txnId"])
				return
			}
			require.Equal(t, false, second["success"])
			require.Equal(t, c.reason, second["errorReason"])
			require.Empty(t, second["transaction"])
		})
	}
	t.Run("while the first is under way", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, chainSilent)
		_, first := d.send(t, "/settle", evmBody(call(id, url)), "Authorization", "a")
		require.Equal(t, "settlement_pending", first["errorReason"])
		d.ledger.now = d.ledger.now.Add(time.Hour)
		_, second := d.send(t, "/settle", evmBody(call(id, url)), "Authorization", "b")
		require.Equal(t, duplicate, second["errorReason"])
		require.Len(t, d.chain.bodies, 1, "another call does not bring it to its end")
	})
	t.Run("the caller's key is not known", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, `{"success":true,"transaction":"0xabc","network":"eip155:8453"}`)
		d.ledger.override["GET /v1/key"] = fakeAnswer{503, `{}`}
		_, first := d.send(t, "/settle", evmBody(call(id, url)))
		require.Equal(t, true, first["success"], first)
		_, second := d.send(t, "/settle", evmBody(call(id, url)))
		require.Equal(t, duplicate, second["errorReason"])
	})
}

// shown returns the members about the screening, nil where there are none.
func shown(answer map[string]any) map[string]any {
	extensions, _ := answer["extensions"].(map[string]any)
	members, _ := extensions[extension].(map[string]any)
	return members
}

func TestSettleWithoutTheAPI(t *testing.T) {
	for call, reason := range map[string]string{
		"GET /v1/transactions": "railguard_unavailable", "POST /v1/screen": "railguard_unavailable",
	} {
		d := newDesk(t)
		d.ledger.override[call] = fakeAnswer{503, `{}`}
		require.Equal(t, reason, d.settles(t)["errorReason"], call)
		require.Empty(t, d.chain.bodies)
	}
	t.Run("the reference cannot be read after the claim", func(t *testing.T) {
		d := newDesk(t)
		d.ledger.before = func(r *http.Request) {
			if r.URL.Path == "/v1/screen" {
				d.ledger.override["GET /v1/transactions"] = fakeAnswer{503, `{}`}
			}
		}
		require.Equal(t, "railguard_unavailable", d.settles(t)["errorReason"])
		require.Empty(t, d.chain.bodies, "who won is not known, so nothing is sent")
	})
	t.Run("the hold cannot be given back", func(t *testing.T) {
		d := newDesk(t)
		d.chain.says(200, `{"success":false,"errorReason":"insufficient_funds"}`)
		d.ledger.override["POST /v1/transactions/"] = fakeAnswer{503, `{}`}
		require.Equal(t, "insufficient_funds", d.settles(t)["errorReason"], "it ends by itself")
	})
}

// On a chain whose payments name the payer, another payer's payment is not this one.
func TestSettleComparesThePayer(t *testing.T) {
	const other = "0x0000000000000000000000000000000000000001"
	for payer, c := range map[string]struct{ valid, made bool }{
		"": {true, true}, payerEVM: {true, true}, strings.ToLower(payerEVM): {true, true}, other: {false, false},
	} {
		d := newDesk(t)
		d.chain.says(200, `{"isValid":true,"success":true,"transaction":"0xabc","network":"eip155:8453","payer":"`+payer+`"}`)
		_, verified := d.send(t, "/verify", evmBody(nil))
		require.Equal(t, c.valid, verified["isValid"], payer)
		require.Equal(t, payerEVM, verified["payer"])
		_, settled := d.send(t, "/settle", evmBody(nil))
		require.Equal(t, c.made, settled["success"], payer)
	}
}

// TestForgedSettlementOpensNothing (line T12): a payment that somebody says was made, and that
// this facilitator did not send on, is no success.
func TestForgedSettlementOpensNothing(t *testing.T) {
	d := newDesk(t)
	d.chain.says(504, "")
	body := evmBody(func(_, payload, _ map[string]any) {
		payload["extensions"] = map[string]any{identifier: map[string]any{"info": map[string]any{"id": "p-1"}}, extension: map[string]any{"info": map[string]any{"token": "t"}}}
	})
	_, first := d.send(t, "/settle", body, "Authorization", "a")
	require.Equal(t, "settlement_pending", first["errorReason"], first)
	for _, record := range d.ledger.records {
		record["payment"] = map[string]any{"state": "settled", "railRef": "0xFORGED"}
	}
	_, second := d.send(t, "/settle", body, "Authorization", "a")
	require.Equal(t, false, second["success"], second)
	require.Equal(t, "duplicate_settlement", second["errorReason"])
	require.Empty(t, second["transaction"])
}

// TestLostAnswerIsUnresolved: a payment that was sent on and whose answer was lost is
// unresolved. It is settled on its one hold when the outcome is known at last, and until then
// neither verify nor settle holds anything more for it.
func TestLostAnswerIsUnresolved(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, true, d.verifies(t)["isValid"])
	d.chain.says(504, "")
	lost := d.settles(t)
	require.Equal(t, "settlement_pending", lost["errorReason"])
	require.Equal(t, "unresolved", lost["extensions"].(map[string]any)["railguard"].(map[string]any)["state"])
	d.ledger.leaveUnresolved("txn_1")
	d.ledger.now = d.ledger.now.Add(time.Hour)
	screened := len(d.ledger.screened)
	refused := d.verifies(t)
	require.Equal(t, "railguard_unresolved", refused["invalidReason"], refused)
	require.Len(t, d.ledger.screened, screened)
	d.chain.says(200, chainGood)
	require.Equal(t, true, d.settles(t)["success"])
	require.Equal(t, "settled", d.ledger.ending("txn_1")["state"])
	for _, call := range d.ledger.screened[screened:] {
		require.Nil(t, call["hold"], "nothing more is held")
	}
}

// TestLapsedHoldIsNotSentOn: a payment that was verified and not settled in time may have been
// made by somebody else.
func TestLapsedHoldIsNotSentOn(t *testing.T) {
	d := newDesk(t)
	require.Equal(t, true, d.verifies(t)["isValid"])
	d.ledger.leaveUnresolved("txn_1")
	require.Equal(t, "railguard_unresolved", d.settles(t)["errorReason"])
	require.Len(t, d.ledger.screened, 1)
	require.Len(t, d.chain.bodies, 1, "verify alone was sent on")
}
