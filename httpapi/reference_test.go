package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"
)

// A payment is found by its reference, in its owner's scope only, while it uses the
// reference.
func TestFindPaymentByReference(t *testing.T) {
	n := newTestNode(t)
	n.addSettler()
	_, token := n.registered("")
	const path = "/v1/transactions?paymentRef="
	answer(t, n.do("screener", "GET", path+"a%2Fb", ""), 404)
	for _, bad := range []string{"/v1/transactions", path, path + "%C3%A9", path + "a&paymentRef=b", path + "a&more=1"} {
		require.Equal(t, "bad_request", textOf(answer(t, n.do("screener", "GET", bad, ""), 400), "code"), bad)
	}
	answer(t, n.do("ops", "GET", path+"a%2Fb", ""), 403)
	held := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20,"hold":{"ttlSeconds":60},"paymentRef":"a/b"}`), 200)
	found := answer(t, n.do("screener", "GET", path+"a%2Fb", ""), 200)
	require.Equal(t, textOf(held, "txnId"), textOf(found, "txnId"))
	require.Equal(t, "held", textOf(found, "hold", "state"))
	require.Nil(t, found.Get("payment"))
	answer(t, n.do("screener", "GET", path+"a%2fB", ""), 404)

	answer(t, n.do("settler", "POST", "/v1/transactions/"+textOf(held, "txnId")+"/settle", `{"railRef":"0xabc"}`), 200)
	require.Equal(t, "0xabc", textOf(answer(t, n.do("screener", "GET", path+"a%2Fb", ""), 200), "payment", "railRef"))

	other := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20,"hold":{"ttlSeconds":60},"paymentRef":"c"}`), 200)
	answer(t, n.do("settler", "POST", "/v1/transactions/"+textOf(other, "txnId")+"/release", `{"reason":"payment_failed"}`), 200)
	answer(t, n.do("screener", "GET", path+"c", ""), 404) // The reference is free again.
}

func TestAgentsOfAnUnknownFleet(t *testing.T) {
	n := newTestNode(t)
	v := answer(t, n.do("operator", "GET", "/v1/agents?fleetId="+n.api.Judges().Now().IDs.FleetID(7), ""), 404)
	require.Equal(t, "not_found", textOf(v, "code"))
	answer(t, n.do("operator", "GET", "/v1/agents?fleetId=flt_none", ""), 400) // Not an id of this service.
}

// A screener may ask in advance what a payment would be told, and learns no more than that.
func TestScreenersDryRunIsPublic(t *testing.T) {
	n := newTestNode(t)
	agent, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	for body, verdict := range map[string]string{
		`{"token":"` + token + `","amount":1,"surprise":true}`: "PROCEED",
		`{"token":"` + token + `","amount":20}`:                "REVIEW",
		`{"token":"nonsense","amount":20}`:                     "UNKNOWN",
	} {
		dry := answer(t, n.do("screener", "POST", "/v1/screen/dry-run", body), 200)
		call := answer(t, n.do("screener", "POST", "/v1/screen", body), 200)
		require.Equal(t, verdict, textOf(dry, "verdict"))
		for _, name := range []string{"verdict", "rule", "reason", "agentId", "agentName", "warnings"} {
			require.Equal(t, jsonOf(call.Get(name)), jsonOf(dry.Get(name)), "%s: %s", body, name)
		}
		for _, inner := range []string{"ladder", "triggered", "shadow", "matches", "parties", "notSimulated"} {
			require.Nil(t, dry.Get(inner), "%s: behind the wall", inner)
		}
	}
	require.EqualValues(t, 1, answer(t, n.do("screener", "GET", "/v1/agents/"+agent+"/limits", ""), 200).GetInt("spentUSDC"), "the call's alone")
	both := answer(t, n.do("policy", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1}`), http.StatusOK)
	require.NotEmpty(t, both.GetArray("ladder"))
}

func jsonOf(v *fastjson.Value) string {
	if v == nil {
		return "absent"
	}
	return v.String()
}
