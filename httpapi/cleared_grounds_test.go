package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"

	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// hussein is a listed party, born 1980 in Somalia; his namesake was born 1974 in Jordan.
const (
	hussein     = 42956
	namesake    = `"cpName":"Hussein Ahmad Ali"`
	himself     = namesake + `,"cpDateOfBirth":"1974-05-02","cpCountry":"JO"`
	theListed   = namesake + `,"cpDateOfBirth":"1980","cpCountry":"SO","cpAddress":"Tortoroow, Lower Shabelle, Somalia"`
	clearsHim   = `"name":"Hussein Ahmad Ali","uid":"42956","reason":"a cook in Amman: passport seen","expiresAt":"2026-04-20T00:00:00Z"`
	doesNot     = "cleared pair does not hold: "
	tellsLittle = doesNot + "the payment says nothing of what it rests on"
)

func newHusseinNode(t *testing.T) (n *testNode, token string) {
	n = newTestNode(t)
	n.activate(append(sample.Entities(), ofac.Entity{
		UID: hussein, Type: ofac.Individual, Lists: ofac.ListSDN, Sublists: []string{"SDN"}, Programs: []string{"SDGT"},
		Names: []ofac.Name{{ID: 990_001, Primary: true, Script: "Latin", Full: "HUSSEIN, Ali Ahmed"}},
		Facts: []ofac.Fact{
			{Kind: ofac.FactBirthDate, Label: "Birthdate", Value: "1980"}, {Kind: ofac.FactNationality, Label: "Nationality Country", Value: "Somalia"},
			{Kind: ofac.FactPostalAddress, Label: "Address", Value: "Tortoroow, Lower Shabelle, Somalia"},
		},
	}), sample.Meta())
	_, token = n.register("")
	return n, token
}

// pays screens a payment that says so much of its counterparty.
func (n *testNode) pays(token, verdict, said string) (txn string) {
	n.t.Helper()
	return textOf(n.screened(verdict, `{"token":"`+token+`","amount":1,`+said+`}`), "txnId")
}

// hitOn returns what a record says of its match with the listed party, and demands that a replay says
// the same as the record.
func (n *testNode) hitOn(txn string) *fastjson.Value {
	n.t.Helper()
	replayed := answer(n.t, n.do("auditor", "POST", "/v1/audit/"+txn+"/replay", ""), 200)
	require.True(n.t, replayed.GetBool("match"), replayed)
	for _, hit := range answer(n.t, n.do("reviewer", "GET", "/v1/audit/"+txn, ""), 200).GetArray("matches") {
		if textOf(hit, "uid") == "42956" {
			return hit
		}
	}
	require.Fail(n.t, "no match with the listed party")
	return nil
}

// Clearing one person does not let the listed one through (issue 27, point 5).
func TestClearingOneDoesNotLetTheOtherThrough(t *testing.T) {
	n, token := newHusseinNode(t)
	other := answer(t, n.do("admin", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"p"}`), 201)
	before := n.pays(token, "REVIEW", himself)
	v := answer(t, n.do("reviewer", "POST", "/v1/cleared", `{`+clearsHim+`,"txnId":"`+before+`"}`), 201)
	require.JSONEq(t, `{"dateOfBirth":"1974-05-02","country":"JO"}`, v.Get("grounds").String(), "what the officer saw")

	quiet := n.pays(token, "PROCEED", himself)
	require.Equal(t, []string{"cleared pair", "1", ""}, []string{textOf(n.hitOn(quiet), "why"), textOf(n.hitOn(quiet), "clearedId"), textOf(n.hitOn(quiet), "clearing")})
	born := n.pays(token, "PROCEED", namesake+`,"cpDateOfBirth":"1974"`)
	require.Equal(t, "PROCEED", textOf(answer(t, n.confirmed(born, `{}`), 200), "verdict"), "a confirmation holds it against what the record says")
	n.pays(textOf(other, "token"), "PROCEED", himself)
	for said, why := range map[string]string{
		theListed: doesNot + "date of birth differs",
		namesake:  tellsLittle,
		namesake + `,"cpCountry":"JO","cpAddress":"Tortoroow, Lower Shabelle, Somalia"`: doesNot + "address is the listed party's",
		namesake + `,"cpCountry":"Jordan","cpDateOfBirth":"1975"`:                       doesNot + "date of birth differs",
	} {
		hit := n.hitOn(n.pays(textOf(other, "token"), "REVIEW", said))
		require.Equal(t, why, textOf(hit, "clearing"), said)
		require.Equal(t, "possible", textOf(hit, "outcome"))
		dry := answer(t, n.do("reviewer", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1,`+said+`}`), 200)
		require.Equal(t, []string{"REVIEW", why}, []string{textOf(dry, "verdict"), textOf(dry, "matches", "0", "clearing")})
	}

	require.Empty(t, textOf(n.hitOn(before), "clearing"), "made before, and as it was")
	answer(t, n.do("reviewer", "DELETE", "/v1/cleared/1", `{"reason":"over"}`), 200)
	n.hitOn(quiet)
	require.Equal(t, "REVIEW", textOf(answer(t, n.confirmed(quiet, `{}`), 200), "verdict"))
}

// The workbench says whether a pair is cleared for what is asked, or for what a payment says.
func TestTheWorkbenchHoldsClearingsAgainstWhatIsAsked(t *testing.T) {
	n, token := newHusseinNode(t)
	case1 := n.pays(token, "REVIEW", himself)
	answer(t, n.do("reviewer", "POST", "/v1/cleared", `{`+clearsHim+`,"txnId":"`+case1+`"}`), 201)
	says := func(role, members string) string {
		for _, hit := range answer(t, n.do(role, "POST", "/v1/match", `{"name":"Hussein Ahmad Ali"`+members+`}`), 200).GetArray("matches") {
			if textOf(hit, "uid") == "42956" {
				return hit.Get("cleared").String() + " " + textOf(hit, "clearedId") + " " + textOf(hit, "clearing")
			}
		}
		return ""
	}
	require.Equal(t, "true 1 ", says("reviewer", `,"cpDateOfBirth":"1974"`))
	require.Equal(t, "true 1 ", says("reviewer", `,"txnId":"`+case1+`"`))
	require.Equal(t, "false 1 "+tellsLittle, says("reviewer", ``))
	require.Equal(t, "false 1 "+doesNot+"country differs", says("reviewer", `,"cpCountry":"SO"`))
	require.Equal(t, 404, n.do("reviewer", "POST", "/v1/match", `{"name":"Hussein Ahmad Ali","txnId":"txn_nothing"}`).Code)
	v := answer(t, n.do("policy", "GET", "/v1/cleared", ""), 200)
	require.Equal(t, "null", v.Get("data", "0", "grounds").String(), "a key that sees no names sees no dates of birth")
	require.False(t, v.GetBool("data", "0", "nameOnly"))
}

// A clearing by hand says what it rests on, or that it is the name alone; from a case it is what the
// payment said, or whose payment it was.
func TestClearingsSayWhatTheyRestOn(t *testing.T) {
	n, token := newHusseinNode(t)
	bare, told, foreign := n.pays(token, "REVIEW", namesake), n.pays(token, "REVIEW", himself), n.pays(token, "PROCEED", `"cpName":"Quiet Orchard Bakery"`)
	for _, c := range []struct{ members, param string }{
		{``, "grounds"},
		{`,"nameOnly":false`, "grounds"},
		{`,"grounds":{}`, "grounds"},
		{`,"grounds":{"country":"  "}`, "grounds"},
		{`,"nameOnly":true,"grounds":{"country":"JO"}`, "nameOnly"},
		{`,"grounds":{"country":1}`, "grounds.country"},
		{`,"grounds":{"shoe":"44"}`, "grounds.shoe"},
		{`,"grounds":{"address":"` + strings.Repeat("x", 257) + `"}`, "grounds.address"},
		{`,"grounds":{"identifiers":[{"type":"shoe","value":"44"}]}`, "grounds.identifiers[0].type"},
		{`,"grounds":{"identifiers":[` + strings.Repeat(`{"type":"passport","value":"1"},`, 8) + `{"type":"passport","value":"1"}]}`, "grounds.identifiers"},
		{`,"grounds":{"operatorId":"opr_nobody"}`, "grounds.operatorId"},
		{`,"grounds":{"agentId":"agt_nobody"}`, "grounds.agentId"},
		{`,"txnId":"` + foreign + `"`, "txnId"},
	} {
		require.Equal(t, c.param, textOf(answer(t, n.do("reviewer", "POST", "/v1/cleared", `{`+clearsHim+c.members+`}`), 422), "param"), c.members)
	}
	require.Equal(t, 404, n.do("reviewer", "POST", "/v1/cleared", `{`+clearsHim+`,"txnId":"txn_nothing"}`).Code)
	require.Empty(t, n.Settings().Cleared)

	clears := func(members string) *fastjson.Value {
		return answer(t, n.do("reviewer", "POST", "/v1/cleared", `{`+clearsHim+members+`}`), 201)
	}
	v := clears(`,"txnId":"` + bare + `"`)
	require.NotEmpty(t, textOf(v, "grounds", "operatorId"), "the payment said nothing more: the clearing is for its operator")
	require.JSONEq(t, `{"operatorId":"`+textOf(v, "grounds", "operatorId")+`"}`, v.Get("grounds").String())
	n.pays(token, "PROCEED", namesake)
	other := answer(t, n.do("admin", "POST", "/v1/agents/register", `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Globex Ltd","purpose":"p"}`), 201)
	require.Equal(t, doesNot+"another operator pays", textOf(n.hitOn(n.pays(textOf(other, "token"), "REVIEW", namesake)), "clearing"))

	require.JSONEq(t, `{"country":"FR"}`, clears(`,"txnId":"`+told+`","grounds":{"country":"FR"}`).Get("grounds").String(), "the officer knows better than the payment")
	all := `{"dateOfBirth":"1974","country":"JO","address":"12 Rainbow Street, Amman","identifiers":[{"type":"passport","value":"X998877","country":"JO"}],"operatorId":"` +
		textOf(v, "grounds", "operatorId") + `","agentId":"` + textOf(other, "agentId") + `"}`
	require.JSONEq(t, all, clears(`,"grounds":`+all).Get("grounds").String())
	require.JSONEq(t, all, answer(t, n.do("auditor", "GET", "/v1/cleared", ""), 200).Get("data", "0", "grounds").String())
}

// A clearing that rests on the name alone, as those of old stores do, is quiet only where a payment
// says nothing of the listed party.
func TestANameAloneClearsNobodyWhoIsLikeTheListed(t *testing.T) {
	n, token := newHusseinNode(t)
	digest, _ := n.List().EntryDigest(hussein)
	n.must(wire.KindCleared, &wire.ClearedPut{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Pair: wire.ClearedPair{
		Name: ofac.NormaliseName("Hussein Ahmad Ali"), UID: hussein, EntryDigest: digest, Reason: "of an old store",
	}})
	v := answer(t, n.do("reviewer", "GET", "/v1/cleared", ""), 200)
	require.True(t, v.GetBool("data", "0", "nameOnly"))
	require.Equal(t, "{}", v.Get("data", "0", "grounds").String())
	n.hitOn(n.pays(token, "PROCEED", namesake))
	n.hitOn(n.pays(token, "PROCEED", himself))
	require.Equal(t, doesNot+"date of birth is the listed party's", textOf(n.hitOn(n.pays(token, "REVIEW", theListed)), "clearing"))
	require.Equal(t, doesNot+"country is the listed party's", textOf(n.hitOn(n.pays(token, "REVIEW", namesake+`,"cpCountry":"Somalia"`)), "clearing"))
}
