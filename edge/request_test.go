package edge_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/strictjson"
)

// readOf reads a screening body and returns the error's code and member.
func readOf(w *edgetest.World, call *edge.Call) (code, param string) {
	j := w.BeginCall(call)
	defer j.Reset()
	err := j.Read()
	var refused *edge.Refusal
	var invalid *strictjson.InvalidBody
	switch {
	case errors.As(err, &refused):
		return refused.Code, refused.Param
	case errors.As(err, &invalid):
		return "invalid", invalid.Findings[0].Param
	case err != nil:
		return err.Error(), ""
	}
	return "", ""
}

// The errors of a body are reported in a fixed order: missing members, unknown members, invalid
// content (decision 30).
func TestReadingARequest(t *testing.T) {
	w := edgetest.New(t)
	long := strings.Repeat("x", engine.FieldMax)
	for _, c := range []struct{ name, body, code, param string }{
		{"the least", `{"token":"x","amount":0}`, "", ""},
		{"nothing", `{}`, "missing_token", "token"},
		{"no amount", `{"token":"x"}`, "missing_amount", "amount"},
		{"what is missing goes before what is unknown", `{"token":"x","chains":"BASE"}`, "missing_amount", "amount"},
		{"a misspelling", `{"token":"x","amount":1,"cpNames":"a"}`, "unknown_field", "cpNames"},
		{"what is unknown goes before the amount", `{"token":"x","amount":-1,"cpNames":"a"}`, "unknown_field", "cpNames"},
		{"a member of nobody's", `{"token":"x","amount":1,"zebra":1}`, "", ""},
		{"an idempotency key outside of a batch", `{"token":"x","amount":1,"idempotencyKey":"k"}`, "", ""},
		{"the largest amount", `{"token":"x","amount":1e12}`, "", ""},
		{"a larger amount", `{"token":"x","amount":1000000000001}`, "invalid_amount", "amount"},
		{"a negative amount", `{"token":"x","amount":-0.01}`, "invalid_amount", "amount"},
		{"an amount as text", `{"token":"x","amount":"1"}`, "invalid_amount", "amount"},
		{"an amount that is none", `{"token":"x","amount":true}`, "invalid_amount", "amount"},
		{"the amount goes before the rest", `{"token":"x","amount":-1,"chain":5}`, "invalid_amount", "amount"},
		{"a token that is no text is judged", `{"token":5,"amount":1,"userToken":[1]}`, "", ""},
		{"a chain that is no text", `{"token":"x","amount":1,"chain":5}`, "invalid", "chain"},
		{"the longest chain", `{"token":"x","amount":1,"chain":"` + long + `"}`, "", ""},
		{"a longer chain", `{"token":"x","amount":1,"chain":"x` + long + `"}`, "invalid", "chain"},
		{"no hold", `{"token":"x","amount":1,"hold":null}`, "", ""},
		{"the shortest hold", `{"token":"x","amount":1,"hold":{"ttlSeconds":30}}`, "", ""},
		{"a shorter hold", `{"token":"x","amount":1,"hold":{"ttlSeconds":29}}`, "invalid", "hold"},
		{"the longest hold", `{"token":"x","amount":1,"hold":{"ttlSeconds":604800}}`, "", ""},
		{"a longer hold", `{"token":"x","amount":1,"hold":{"ttlSeconds":604801}}`, "invalid", "hold"},
		{"a hold without a time", `{"token":"x","amount":1,"hold":{}}`, "invalid", "hold"},
		{"a hold with no time", `{"token":"x","amount":1,"hold":{"ttlSeconds":null}}`, "invalid", "hold"},
		{"a hold in another case", `{"token":"x","amount":1,"hold":{"ttlseconds":30}}`, "invalid", "hold"},
		{"a hold that says more", `{"token":"x","amount":1,"hold":{"ttlSeconds":30,"a":1}}`, "invalid", "hold"},
		{"a hold that is a number", `{"token":"x","amount":1,"hold":30}`, "invalid", "hold"},
		{"the longest reference", `{"token":"x","amount":1,"paymentRef":"` + strings.Repeat("~", 128) + `"}`, "", ""},
		{"a longer reference", `{"token":"x","amount":1,"paymentRef":"` + strings.Repeat("~", 129) + `"}`, "invalid", "paymentRef"},
		{"an empty reference", `{"token":"x","amount":1,"paymentRef":""}`, "invalid", "paymentRef"},
		{"a reference that is not ASCII", `{"token":"x","amount":1,"paymentRef":"ä"}`, "invalid", "paymentRef"},
		{"a reference of the service's own", `{"token":"x","amount":1,"paymentRef":"X402:settlement:1"}`, "invalid_field", "paymentRef"},
		{"a reference that names x402", `{"token":"x","amount":1,"paymentRef":"x402"}`, "", ""},
		{"a reference with a control character", `{"token":"x","amount":1,"paymentRef":"a\tb"}`, "invalid", "paymentRef"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, param := readOf(w, w.NewCall(edgetest.Admin(), c.body))
			require.Equal(t, []string{c.code, c.param}, []string{code, param})
		})
	}
	own := w.NewCall(edgetest.Admin(), `{"token":"x","amount":1,"paymentRef":"x402:settlement:1"}`)
	own.Facilitator = true
	code, _ := readOf(w, own)
	require.Empty(t, code, "the facilitator makes payments under them")
	for literal, says := range map[string]string{`"1"`: "it is a string", `true`: "not a number", `-1`: "below zero"} {
		j := w.BeginCall(w.NewCall(edgetest.Admin(), `{"token":"x","amount":`+literal+`}`))
		require.Contains(t, refusalOf(t, j.Read()).Message, says)
	}
	for _, c := range []struct {
		name string
		ok   bool
	}{{"", false}, {" ", true}, {"~", true}, {"\x1f", false}, {"\x7f", false}} {
		require.Equal(t, c.ok, edge.SoundReference(c.name), "%q", c.name)
	}
}

// A strict caller is refused any unknown member. For other callers the answer names the first
// of them. In a batch the idempotency key is a member.
func TestUnknownMembers(t *testing.T) {
	w := edgetest.New(t)
	call := w.NewCall(edgetest.Admin(), `{"token":"x","amount":1,"zebra":1,"yak":2}`)
	call.Strict = true
	j := w.BeginCall(call)
	refused := refusalOf(t, j.Read())
	require.Equal(t, "unknown_field", refused.Code)
	require.True(t, refused.BadRequest)
	require.Len(t, refused.Details, 2)
	item := w.NewCall(edgetest.Admin(), `{"token":"x","amount":1,"idempotencyKey":"k"}`)
	item.Strict, item.Item = true, true
	code, _ := readOf(w, item)
	require.Empty(t, code)
	item.Item = false
	code, param := readOf(w, item)
	require.Equal(t, "unknown_field", code)
	require.Equal(t, "idempotencyKey", param)

	var strangers []strictjson.UnknownMember
	require.Nil(t, edge.Warnings(strangers))
	for i := range 9 {
		strangers = append(strangers, strictjson.UnknownMember{Param: "m" + strconv.Itoa(i)})
	}
	require.Len(t, edge.Warnings(strangers), 8)
	require.Len(t, edge.Warnings(strangers[:8]), 8)
	require.Equal(t, `"code":"unknown_field","param":"m0"`, string(edge.Warnings(strangers)[0]))
	require.NoError(t, edge.RefuseStrangers(strangers, false))

	// The refusal of a missing member names the member that may be its misspelling.
	j = w.BeginCall(w.NewCall(edgetest.Admin(), `{"tokn":"x","amount":1}`))
	refused = refusalOf(t, j.Read())
	require.Equal(t, "missing_token", refused.Code)
	require.Contains(t, refused.Message, `"tokn"`)
	require.Contains(t, string(refused.Extra), `"didYouMean":"token"`)
}

// The record holds the members of a call as they were sent. It never holds the token.
func TestRecordOfARequest(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	call := w.NewCall(edgetest.Admin(), payment(token, `,"chain":"BASE","rail":"USDC","cpWallet":"0x1111111111111111111111111111111111111111","cpName":"Paper \u0026 Ink",`+
		`"cpType":"business","protocol":"p","model":"m-1","travelRuleRef":"t","cpCountry":"FR","cpDateOfBirth":"1980","cpAddress":"Lyon","paymentRef":"r-1","hold":{"ttlSeconds":60},"zebra":1`))
	call.RequestID, call.Trace = "req_7", "0af7651916cd43dd8448eb211c80319c"
	l := w.ScreenedCall(call)
	for path, want := range map[string]string{
		"_request/chain": "BASE", "_request/rail": "USDC", "_request/cpName": "Paper & Ink", "_request/cpType": "business", "_request/protocol": "p",
		"_request/model": "m-1", "_request/travelRuleRef": "t", "_request/cpCountry": "FR", "_request/cpDateOfBirth": "1980", "_request/cpAddress": "Lyon",
		"_request/paymentRef": "r-1", "requestId": "req_7", "keyId": "key_admin", "node": "n1", "version": "0.0.0-test", "ofacSource": "kv:sample",
		"traceId": "0af7651916cd43dd8448eb211c80319c",
	} {
		require.Equal(t, want, l.Text(strings.Split(path, "/")...), path)
	}
	require.NotContains(t, string(l.Shown), token)
	require.Contains(t, string(l.Raw("warnings")), "zebra")
	require.True(t, l.Has("hold"))
	j, _ := w.Begin(edgetest.Admin(), `{}`)
	seconds, reference := edge.PaymentOf(j, &l)
	require.Equal(t, uint32(60), seconds)
	require.NotEqual(t, engine.ReferenceKey{}, reference)

	bare := w.NewCall(edgetest.Admin(), payment(token, ""))
	bare.Trace = "not a trace id"
	l = w.ScreenedCall(bare)
	require.False(t, l.Has("traceId"))
	require.False(t, l.Has("warnings"))
}
