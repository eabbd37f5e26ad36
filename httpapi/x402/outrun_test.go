package x402

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// otherwise are changes that leave the signed payment the same and make another call of it.
var otherwise = map[string]func(body, payload, wanted map[string]any){
	"another agent's credential": func(_, payload, _ map[string]any) {
		payload["extensions"].(map[string]any)["railguard"] = map[string]any{"info": map[string]any{"token": "another"}}
	},
	"another user's credential": func(_, payload, _ map[string]any) {
		payload["extensions"].(map[string]any)["railguard"] = map[string]any{"info": map[string]any{"token": "t", "userToken": "another"}}
	},
	"no credential": func(_, payload, _ map[string]any) { payload["extensions"] = map[string]any{} },
	"another amount": func(body, payload, wanted map[string]any) {
		both("amount", "9000000")(body, payload, wanted)
		authorized("value", "9000000")(body, payload, wanted)
	},
	"another payee": func(body, payload, wanted map[string]any) {
		both("payTo", payerEVM)(body, payload, wanted)
		authorized("to", payerEVM)(body, payload, wanted)
	},
}

const chainEVM = `{"isValid":true,"success":true,"transaction":"0xabc","network":"eip155:8453"}`

// TestOneSignedPaymentHasOneCredential (line I15): whoever asks, a signed payment is sent on with the first
// credential that it was sent on with, and booked once. A chain makes one payment of one payer, token and
// nonce, so that one of another amount does not get the answer of a small one either.
func TestOneSignedPaymentHasOneCredential(t *testing.T) {
	const id = "payment_0123456789"
	identified := func(change func(body, payload, wanted map[string]any)) string {
		return evmBody(func(body, payload, wanted map[string]any) {
			if change != nil {
				change(body, payload, wanted)
			}
			payload["extensions"].(map[string]any)[identifier] = map[string]any{"info": map[string]any{"id": id}}
		})
	}
	for name, change := range otherwise {
		for _, key := range []string{"a", "b"} {
			for outcome, chain := range map[string]string{"settled": chainEVM, "unknown": chainSilent} {
				t.Run(name+" by key "+key+" of one that is "+outcome, func(t *testing.T) {
					d := newDesk(t)
					d.chain.says(200, chain)
					_, held := d.send(t, "/verify", identified(change), "Authorization", key)
					_, first := d.send(t, "/settle", identified(nil), "Authorization", "a")
					require.Equal(t, outcome == "settled", first["success"], first)
					sent, screened := len(d.chain.bodies), len(d.ledger.screened)
					_, second := d.send(t, "/settle", identified(change), "Authorization", key)
					require.Equal(t, false, second["success"])
					require.Equal(t, "railguard_conflict", second["errorReason"], second)
					require.Empty(t, second["transaction"])
					require.Nil(t, shown(second), "nothing is told of the other one's record")
					if own := shown(held); own != nil {
						require.Equal(t, "released", d.ledger.ending(own["txnId"].(string))["state"], "what was held for it is not counted beside it")
					}
					_, verified := d.send(t, "/verify", identified(change), "Authorization", key)
					require.Equal(t, "railguard_conflict", verified["invalidReason"], verified)
					require.Len(t, d.chain.bodies, sent)
					require.Len(t, d.ledger.screened, screened, "nothing is judged or booked for it")
				})
			}
		}
	}
}

// TestTheFirstCredentialAtOnce: of two calls at once with two credentials the log decides.
func TestTheFirstCredentialAtOnce(t *testing.T) {
	d := newDesk(t)
	d.chain.says(200, chainEVM)
	var first map[string]any
	d.ledger.before = func(r *http.Request) {
		if r.URL.Path == "/v1/screen" { // The other call is faster, on another node.
			d.ledger.before = nil
			_, first = d.send(t, "/settle", evmBody(nil))
		}
	}
	d.ledger.verdicts = []string{"PROCEED", "PROCEED"} // The policy lets a reference be used twice.
	_, second := d.send(t, "/settle", evmBody(otherwise["another agent's credential"]))
	require.Equal(t, true, first["success"], first)
	require.Equal(t, "railguard_conflict", second["errorReason"], second)
	require.Len(t, d.chain.bodies, 1)
	require.Equal(t, "released", d.ledger.ending("txn_2")["state"])
	require.Equal(t, "settled", d.ledger.ending("txn_1")["state"])
}

// TestAFailedPaymentIsFree: what was certainly not made binds nobody.
func TestAFailedPaymentIsFree(t *testing.T) {
	d := newDesk(t)
	d.chain.says(200, `{"success":false,"errorReason":"insufficient_funds"}`)
	_, first := d.send(t, "/settle", evmBody(nil))
	require.Equal(t, "insufficient_funds", first["errorReason"])
	d.chain.says(200, chainEVM)
	_, second := d.send(t, "/settle", evmBody(otherwise["another agent's credential"]))
	require.Equal(t, true, second["success"], second)
}

// TestAVerifyThatWasOutrunHoldsNothing: if the facilitator behind says that the payment cannot be made any
// more, because it was made with another credential, what was held for this one is released.
func TestAVerifyThatWasOutrunHoldsNothing(t *testing.T) {
	d := newDesk(t)
	d.chain.says(200, chainEVM)
	mine := evmBody(otherwise["another agent's credential"])
	_, held := d.send(t, "/verify", mine)
	require.Equal(t, true, held["isValid"], held)
	_, settled := d.send(t, "/settle", evmBody(nil))
	require.Equal(t, true, settled["success"], settled)
	d.chain.says(200, `{"isValid":false,"invalidReason":"nonce_used"}`)
	_, again := d.send(t, "/verify", mine)
	require.Equal(t, "nonce_used", again["invalidReason"])
	require.Equal(t, "released", d.ledger.ending(shown(held)["txnId"].(string))["state"])
}

// TestTheMissingCredentialIsNamed: a client without a credential learns what is missing. One whose
// credential is no good learns that it is no good.
func TestTheMissingCredentialIsNamed(t *testing.T) {
	bare := evmBody(func(_, payload, _ map[string]any) { delete(payload, "extensions") })
	for name, c := range map[string]struct {
		body, verdict, reason string
		headers               []string
	}{
		"none":             {bare, "UNKNOWN", "railguard_credential_missing", nil},
		"none, and listed": {bare, "BLOCK", "railguard_block", nil},
		"in the header":    {bare, "UNKNOWN", "railguard_unknown", []string{"X-Railguard-Token", "t"}},
		"in the payment":   {evmBody(nil), "UNKNOWN", "railguard_unknown", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.ledger.verdicts = []string{c.verdict, c.verdict}
			_, verified := d.send(t, "/verify", c.body, c.headers...)
			_, settled := d.send(t, "/settle", c.body, c.headers...)
			require.Equal(t, c.reason, verified["invalidReason"])
			require.Equal(t, c.reason, settled["errorReason"])
			missing := c.reason == "railguard_credential_missing"
			for _, message := range []any{verified["invalidMessage"], settled["errorMessage"]} {
				require.Contains(t, message, "R12 txn_")
				if missing {
					require.Contains(t, message, "extensions.railguard.info.token")
					require.Contains(t, message, "X-Railguard-Token")
				} else {
					require.NotContains(t, message, "X-Railguard-Token")
				}
			}
			require.Empty(t, d.chain.bodies)
		})
	}
}
