package edge_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// rule returns the rule that decides a payment, "null" for none.
func rule(w *edgetest.World, token string) string {
	l := w.Screened(edgetest.Admin(), payment(token, ""))
	return l.Text("rule")
}

// What hits one agent's operator hits each of its agents, of before and of after, and nobody
// else's. A wallet that is listed leaves the operator by an officer's word alone, and a
// transferred agent does not take it along.
func TestWhatHitsAnOperatorHitsAllItsAgents(t *testing.T) {
	const clean = `,"operatorWallet":"0x1111111111111111111111111111111111111111"`
	w := edgetest.New(t)
	tenant := w.Caller("key_acme", wire.RoleOperator, "Acme Inc")
	officer := w.Caller("key_officer", wire.RolePolicy|wire.RoleOperator, "")
	register := func(caller *edge.Caller, operator, extra string) (id, token string) {
		l, err := w.Register(caller, `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"`+operator+`","purpose":"p"`+extra+`}`)
		require.NoError(t, err)
		return l.Text("agentId"), w.AgentToken(&l)
	}
	_, before := register(tenant, "Acme Inc", "")
	_, other := register(edgetest.Admin(), "Globex Ltd", "")
	require.Empty(t, rule(w, before))
	listed, own := register(tenant, "Acme Inc", `,"operatorWallet":"`+listedWallet(t)+`"`)
	_, after := register(tenant, "Acme Inc", "")
	owner, cleanly := register(tenant, "Acme Inc", clean)
	for _, token := range []string{own, before, after, cleanly} {
		require.Equal(t, "R3_OPERATOR_OFAC_ISSUANCE", rule(w, token))
	}
	require.Empty(t, rule(w, other), "another operator's")
	_, err := w.Reissue(tenant, listed, `{"operatorWallet":"0x1111111111111111111111111111111111111111"}`)
	require.Equal(t, "forbidden", refusalOf(t, err).Code)
	l, err := w.Reissue(officer, listed, `{"operatorWallet":"0x1111111111111111111111111111111111111111"}`)
	require.NoError(t, err)
	for _, token := range []string{w.AgentToken(&l), before, after, cleanly} {
		require.Empty(t, rule(w, token))
	}

	// The list takes the wallet up later: R4, and as long as it stands there.
	uid := w.List().Entities()[0].UID
	w.ChangeEntry(uid, func(e *ofac.Entity) {
		e.Addresses = append(e.Addresses, ofac.Address{Ticker: "ETH", Value: "0x1111111111111111111111111111111111111111"})
	})
	require.Equal(t, "R4_OPERATOR_WALLET_LIVE", rule(w, before))
	_, err = w.Reissue(tenant, listed, `{"operatorWallet":"0x2222222222222222222222222222222222222222"}`)
	require.Equal(t, "forbidden", refusalOf(t, err).Code, "it is listed now")
	for _, agent := range []string{listed, owner} {
		_, err = w.Reissue(officer, agent, `{"operatorLegalName":"Globex Ltd"}`)
		require.NoError(t, err)
	}
	require.Equal(t, "R4_OPERATOR_WALLET_LIVE", rule(w, before))
	require.Empty(t, rule(w, other), "the wallet was the old operator's")
	w.ChangeEntry(uid, func(e *ofac.Entity) { e.Addresses = e.Addresses[:len(e.Addresses)-1] })
	require.Empty(t, rule(w, before))

	// A suspension counts for whoever registers later.
	j, _ := w.Begin(officer, `{}`)
	operator, err := j.KnownOperator("Acme Inc")
	require.NoError(t, err)
	w.Must(wire.KindStatus, &wire.Status{Common: wire.Common{Fragment: []byte(`"by":"x"`)}, Target: wire.TargetOperator, Slot: uint32(operator.Slot), To: engine.Suspended})
	_, late := register(tenant, "Acme Inc", "")
	require.Equal(t, "R2_CREDENTIAL_STATUS", rule(w, late))
}

// A tax number that is listed when an agent is registered or re-issued hits each agent of its
// operator. The answer says whose it is and does not show the number. It leaves the agent by an
// officer's word alone.
func TestAListedTaxNumberHitsAllAgents(t *testing.T) {
	const listed, clean = `,"operatorEIN":"95-4227517"`, `,"operatorEIN":"111111111"`
	w := edgetest.New(t)
	tenant := w.Caller("key_acme", wire.RoleOperator, "Acme Inc")
	officer := w.Caller("key_officer", wire.RolePolicy|wire.RoleOperator, "")
	register := func(caller *edge.Caller, operator, extra string) (l edge.Leaf, id, token string) {
		l, err := w.Register(caller, `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"`+operator+`","purpose":"p"`+extra+`}`)
		require.NoError(t, err)
		return l, l.Text("agentId"), w.AgentToken(&l)
	}
	uid := w.List().Entities()[0].UID
	w.ChangeEntry(uid, func(e *ofac.Entity) {
		e.Facts = append(e.Facts, ofac.Fact{Kind: ofac.FactDocument, Label: "US FEIN", Value: "95-4227517"})
	})
	l, _, before := register(tenant, "Acme Inc", clean)
	require.Equal(t, "CLEAR", l.Text("ofacAtIssuance"))
	_, _, other := register(edgetest.Admin(), "Globex Ltd", "")
	require.Empty(t, rule(w, before))
	l, id, own := register(tenant, "Acme Inc", listed)
	require.Equal(t, "MATCH", l.Text("ofacAtIssuance"))
	said := string(l.Raw("matches"))
	require.Contains(t, said, `"uid":"`+strconv.FormatUint(uint64(uid), 10)+`"`)
	require.Contains(t, said, `"document":"US FEIN"`)
	require.NotContains(t, said, "4227517")
	_, _, after := register(tenant, "Acme Inc", "")
	delegate, err := w.Delegate(tenant, `{"parentAgentId":"`+id+`","agentName":"Sub","purpose":"p"}`)
	require.NoError(t, err)
	for _, token := range []string{own, before, after, w.AgentToken(&delegate)} {
		require.Equal(t, "R5_OPERATOR_NAME_OFAC", rule(w, token))
	}
	seen := w.Screened(edgetest.Admin(), payment(own, ""))
	require.Equal(t, "The operator's tax number is on the OFAC list.", seen.Text("reason"))
	require.Empty(t, rule(w, other), "another operator's")

	_, err = w.Reissue(tenant, id, `{"operatorEIN":"11-1111111"}`)
	require.Equal(t, "forbidden", refusalOf(t, err).Code)
	_, err = w.Reissue(tenant, id, `{"operatorEIN":"954227517"}`)
	require.NoError(t, err, "the same number")
	_, err = w.Reissue(tenant, delegate.Text("agentId"), `{"agentName":"Other"}`)
	require.NoError(t, err)
	require.Equal(t, "R5_OPERATOR_NAME_OFAC", rule(w, before))
	_, err = w.Reissue(officer, id, `{"operatorEIN":"11-1111111"}`)
	require.NoError(t, err)
	require.Equal(t, "R5_OPERATOR_NAME_OFAC", rule(w, before), "its delegate has the number still")
	_, err = w.Reissue(tenant, delegate.Text("agentId"), `{}`)
	require.Equal(t, "forbidden", refusalOf(t, err).Code)
	_, err = w.Reissue(officer, delegate.Text("agentId"), `{}`)
	require.NoError(t, err)
	require.Empty(t, rule(w, before))
	l, err = w.Reissue(officer, id, `{"operatorEIN":"95-4227517"}`)
	require.NoError(t, err)
	require.True(t, l.Flag("taxMatched"), "a re-issue looks, too")
	require.Equal(t, "R5_OPERATOR_NAME_OFAC", rule(w, before))

	// A policy that refuses who matches refuses a listed number.
	w.SetPolicy(func(p *engine.Policy) { p.RefuseOnMatch = true })
	_, err = w.Register(tenant, `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"`+listed+`}`)
	require.Equal(t, "operator_sanctioned", refusalOf(t, err).Code)
}

// An operator has a bounded number of wallets: one more is refused, and one that it has is not.
func TestWalletsOfAnOperator(t *testing.T) {
	w := edgetest.New(t)
	register := func(n int) error {
		_, err := w.Register(edgetest.Admin(), fmt.Sprintf(`{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p","operatorWallet":"0x%040d"}`, n))
		return err
	}
	for n := range engine.OperatorWalletsMax {
		require.NoError(t, register(n))
	}
	require.NoError(t, register(0))
	require.Equal(t, "limit_reached", refusalOf(t, register(engine.OperatorWalletsMax)).Code)
	id, _ := w.Registered("")
	_, err := w.Reissue(edgetest.Admin(), id, fmt.Sprintf(`{"operatorWallet":"0x%040d"}`, engine.OperatorWalletsMax))
	require.Equal(t, "limit_reached", refusalOf(t, err).Code)
}

// Owners have references of their own, but a settlement by the facilitator is everybody's: a
// signed payment is settled once, whichever merchant sends it. Nobody else finds it.
func TestSettlementsAreEverybodys(t *testing.T) {
	w := edgetest.New(t)
	_, token := w.Registered("")
	shop, gate := w.Caller("key_shop", wire.RoleScreener, "cal_shop"), w.Caller("key_gate", wire.RoleScreener, "cal_gate")
	screened := func(caller *edge.Caller, reference string) string {
		call := w.NewCall(caller, payment(token, `,"paymentRef":"`+reference+`"`))
		call.Facilitator = true
		j := w.BeginCall(call)
		require.NoError(t, j.Read())
		l, err := w.Settle(j, wire.KindScreen, func() (any, error) { return j.Screen() })
		require.NoError(t, err)
		return l.Text("rule")
	}
	for _, reference := range []string{"inv-1", "x402:payment:1"} {
		require.Empty(t, screened(shop, reference))
		require.Empty(t, screened(gate, reference), "%s is in nobody's way", reference)
	}
	require.Empty(t, screened(shop, "x402:settlement:1"))
	require.Equal(t, "R25_STRUCTURING", screened(gate, "x402:settlement:1"))
	find := func(caller *edge.Caller, facilitator bool) error {
		call := w.NewCall(caller, `{}`)
		call.Facilitator = facilitator
		_, err := edge.ReferencedRecord(w.BeginCall(call), "x402:settlement:1")
		return err
	}
	require.NoError(t, find(gate, true))
	require.Equal(t, "not_found", refusalOf(t, find(gate, false)).Code)
	require.Equal(t, "not_found", refusalOf(t, find(edgetest.Admin(), false)).Code)
}

// Two companies have one name: "new" makes the second, the id tells which is meant, and what
// names neither is refused.
func TestTwoOperatorsOfOneName(t *testing.T) {
	w := edgetest.New(t)
	body := func(extra string) string {
		return `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Smith Ltd","purpose":"p"` + extra + `}`
	}
	register := func(extra string) string {
		l, err := w.Register(edgetest.Admin(), body(extra))
		require.NoError(t, err)
		return l.Text("operatorId")
	}
	first := register("")
	require.Equal(t, first, register(""))
	second := register(`,"operatorId":"new"`)
	require.NotEqual(t, first, second)
	require.Equal(t, second, register(`,"operatorId":"`+second+`"`))
	l, err := w.Register(edgetest.Admin(), body(""))
	require.NoError(t, err)
	require.NotContains(t, []string{first, second}, l.Text("operatorId"), "nobody says which is meant")
	require.Len(t, l.Value.GetArray("similarOperators"), 2)

	j, _ := w.Begin(edgetest.Admin(), `{}`)
	_, err = j.KnownOperator("Smith Ltd")
	require.Equal(t, "operator_ambiguous", refusalOf(t, err).Code)
	known, err := j.KnownOperator(second)
	require.NoError(t, err)
	require.Equal(t, "Smith Ltd", known.LegalName)
	_, err = w.Reissue(edgetest.Admin(), l.Text("agentId"), `{"operatorLegalName":"Smith Ltd"}`)
	require.ErrorContains(t, err, "refusal "+strconv.Itoa(int(wire.RefusedAmbiguous)))
	_, err = w.Reissue(edgetest.Admin(), l.Text("agentId"), `{"operatorId":"`+first+`"}`)
	require.NoError(t, err)
	for extra, code := range map[string]string{`,"operatorId":"opr_zzzzzzzzzzzz"`: "not_found", `,"operatorId":"Smith Ltd"`: "invalid_field"} {
		_, err = w.Register(edgetest.Admin(), body(extra))
		require.Contains(t, []string{code, "invalid_field"}, refusalOf(t, err).Code, extra)
	}
	tenant := w.Caller("key_globex", wire.RoleOperator, "Globex Ltd")
	_, err = w.Register(tenant, strings.Replace(body(`,"operatorId":"new"`), "Smith", "Globex", 1))
	require.Equal(t, "forbidden", refusalOf(t, err).Code, "an operator makes none")
}
