package httpapi

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/listtest"
	"railguard/ofac/sample"
)

// realWallets are the addresses that the published list holds; one in eight in short runs.
func realWallets(t *testing.T) (all []string) {
	for i, row := range listtest.ReadRows(t, filepath.Join(listtest.DataFolder(t), "ofac", "2026-08-22", "all_wallets.txt")) {
		if row[0] != "" && (i%8 == 0 || !testing.Short()) {
			all = append(all, row[0])
		}
	}
	require.NotEmpty(t, all)
	return all
}

// placesOfWallets are the members in which a call names a wallet, and the rule that judges it.
var placesOfWallets = []struct{ said, rule string }{
	{`,"cpWallet":"%s"`, "R6_COUNTERPARTY_WALLET_OFAC"},
	{`,"cpName":"Corner Bakery","payerWallet":"%s"`, "R4_OPERATOR_WALLET_LIVE"},
	{`,"cpName":"Corner Bakery","wallets":[{"role":"payer","address":"%s"}]`, "R4_OPERATOR_WALLET_LIVE"},
	{`,"cpName":"Corner Bakery","wallets":[{"role":"payee","address":"%s"}]`, "R6_COUNTERPARTY_WALLET_OFAC"},
	{`,"cpWallet":"` + cleanWallet + `","wallets":[{"role":"intermediary","address":"%s"}]`, "R6_COUNTERPARTY_WALLET_OFAC"},
	{`,"cpWallet":"` + cleanWallet + `","wallets":[{"role":"fee","address":"` + cleanWallet + `"},{"role":"fee","address":"%s"}]`, "R6_COUNTERPARTY_WALLET_OFAC"},
}

// TestEveryListedWalletOverEveryDoor: every published wallet blocks in every role in a batch, in one role
// or another over every other door, and as the wallet of an operator.
func TestEveryListedWalletOverEveryDoor(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	wallets := realWallets(t)
	party := forbiddenParty()
	for _, wallet := range wallets {
		party.Addresses = append(party.Addresses, ofac.Address{Ticker: "ETH", Value: wallet})
	}
	n.activate(append(sample.Entities(), party), sample.Meta())
	doors := n.doors(token)
	facilitator, behind := n.facilitator()
	var items []string
	var wants []string
	for i, wallet := range wallets {
		if i%50 == 0 {
			n.nextHour()
		}
		for _, place := range placesOfWallets {
			items, wants = append(items, `{"token":"`+token+`","amount":1`+fmt.Sprintf(place.said, wallet)+`}`), append(wants, place.rule)
		}
		place := placesOfWallets[i%len(placesOfWallets)]
		said := fmt.Sprintf(place.said, wallet)
		require.Equal(t, "BLOCK "+place.rule, verdict(t, n.screen(token, said)), said)
		for _, door := range []string{"dry run", "MCP", "MCP, dry run"} {
			require.False(t, doors[door](said), "%s: %s", door, said)
		}
		for _, tell := range paidBy(wallet) {
			p := newPayment(token, 2, i)
			tell(p)
			w := sendTo(facilitator, "screener", "/x402/verify", p.write(t))
			require.Contains(t, w.Body.String(), `"railguard_block"`, wallet)
		}
		if len(items)+len(placesOfWallets) > engine.BatchMax || i == len(wallets)-1 {
			n.nextHour()
			v := answer(t, n.do("screener", "POST", "/v1/screen/batch", `{"payments":[`+strings.Join(items, ",")+`]}`), 200)
			for at, result := range v.GetArray("results") {
				require.Equal(t, "BLOCK "+wants[at], textOf(result, "verdict")+" "+textOf(result, "rule"), items[at])
			}
			items, wants = nil, nil
		}
	}
	require.Zero(t, behind.asked)
}

// paidBy are the payments over x402 of which a wallet is payer or payee, if a chain of x402 has it.
func paidBy(wallet string) []func(p *paymentBody) {
	if strings.HasPrefix(wallet, "0x") && len(wallet) == 42 {
		return []func(p *paymentBody){
			func(p *paymentBody) { p.signed["from"] = wallet },
			func(p *paymentBody) { p.signed["to"], p.wanted["payTo"], p.accepted["payTo"] = wallet, wallet, wallet },
		}
	}
	if key, err := base58.Decode(wallet); err == nil && len(key) == 32 {
		return []func(p *paymentBody){
			func(p *paymentBody) { p.onSolana(wallet, honestSOL, ownerSOL, "") },
			func(p *paymentBody) { p.onSolana(honestSOL, wallet, ownerSOL, "") },
			func(p *paymentBody) { p.onSolana(honestSOL, honestSOL, wallet, "") },
		}
	}
	return nil
}

// TestEveryListedWalletOfAnOperator: an agent of an operator with a listed wallet pays nobody.
func TestEveryListedWalletOfAnOperator(t *testing.T) {
	n := newTestNode(t)
	wallets := realWallets(t)
	party := forbiddenParty()
	for _, wallet := range wallets {
		party.Addresses = append(party.Addresses, ofac.Address{Ticker: "ETH", Value: wallet})
	}
	n.activate(append(sample.Entities(), party), sample.Meta())
	refused := 0
	for i, wallet := range wallets {
		if i%50 == 0 {
			n.nextHour()
		}
		body := fmt.Sprintf(`{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme %d","purpose":"p","operatorWallet":%q}`, i, wallet)
		w := n.do("operator", "POST", "/v1/agents/register", body)
		if w.Code == 422 { // A wallet of a chain that no agent pays on is refused: there is no token to ask with.
			require.Equal(t, "operatorWallet", member(t, w.Body.Bytes(), "param"), wallet)
			refused++
			continue
		}
		registered := answer(t, w, 201)
		require.Equal(t, "BLOCK R3_OPERATOR_OFAC_ISSUANCE", verdict(t, n.screen(textOf(registered, "token"), `,"cpName":"Corner Bakery"`)), wallet)
	}
	require.Less(t, refused*20, len(wallets))
}

// everywhere asks about one payment over every door, and tells whether each lets it through.
func (n *testNode) everywhere(said string) map[string]bool {
	n.t.Helper()
	_, token := n.registered("")
	through := map[string]bool{}
	for door, sentOn := range n.doors(token) {
		through[door] = sentOn(said)
	}
	return through
}

func (n *testNode) requireEverywhere(want bool, said, why string) {
	n.t.Helper()
	for door, through := range n.everywhere(said) {
		require.Equal(n.t, want, through, "%s, %s: %s", why, door, said)
	}
}

// TestThePartyLeftOut: a payment by a chain's token that tells nobody is let through over no door; where
// somebody is told, in whatever member, or nothing is told of the payment at all, it is.
func TestThePartyLeftOut(t *testing.T) {
	n := newTestNode(t)
	for _, flow := range []string{`,"chain":"ETH"`, `,"chain":"base"`, `,"chain":"SOL"`, `,"rail":"USDC"`, `,"chain":"BASE","rail":"USDC"`} {
		for _, left := range []string{
			"", `,"cpWallet":""`, `,"cpWallet":"  ","cpName":" "`, `,"cpName":null,"wallets":[],"cpIdentifiers":[]`, `,"payerWallet":"` + cleanWallet + `"`,
			`,"wallets":[{"role":"payer","address":"` + cleanWallet + `"}]`, `,"memo":"for the bakery","cpCountry":"DE","cpType":"business","cpAddress":"Main Street 5"`,
		} {
			n.requireEverywhere(false, flow+left, "nobody is told")
		}
		n.nextHour()
	}
	for _, told := range []string{"", `,"chain":"ACH"`, `,"chain":"BASE","cpWallet":"` + cleanWallet + `"`, `,"rail":"USDC","cpName":"Corner Bakery","cpWallet":"` + cleanWallet + `"`} {
		n.requireEverywhere(true, told, "somebody is told, or nobody need be")
	}
}

// TestAListOfLastWeek: a list that nobody confirmed for seven days lets nothing through, over any door,
// until somebody confirms it.
func TestAListOfLastWeek(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	facilitator, behind := n.facilitator()
	paid := func(call string, number int) bool {
		w := sendTo(facilitator, "screener", "/x402/"+call, newPayment(token, 2, number).write(t))
		return strings.Contains(w.Body.String(), `"isValid":true`) || strings.Contains(w.Body.String(), `"success":true`)
	}
	n.advance(7*engine.DayLength - engine.Hour)
	n.requireEverywhere(true, `,"cpName":"Corner Bakery"`, "a list of six days")
	require.True(t, paid("verify", 1))
	n.advance(2 * engine.Hour)
	n.requireEverywhere(false, `,"cpName":"Corner Bakery"`, "a list of last week")
	asked := behind.asked
	require.False(t, paid("settle", 1), "nor what was verified before")
	require.False(t, paid("verify", 2))
	require.False(t, paid("settle", 3))
	require.Equal(t, asked, behind.asked)
	n.confirmList()
	n.requireEverywhere(true, `,"cpName":"Corner Bakery"`, "confirmed")
	require.True(t, paid("settle", 4))
}

// TestALicence: one officer puts none in force, neither with a second key nor by confirming it, and two
// do. It lets pass what it names until its last day is over, and from then on nothing.
func TestALicence(t *testing.T) {
	const (
		medicine = `,"cpName":"Corner Pharmacy","cpCountry":"IR"`
		licence  = `{"policy":{"jurisdictions":{"exemptions":[{"id":"gl-8","licence":"31 CFR 560.530","countries":["IR"],"from":"2020-01-01","until":"2026-03-24","reason":"medicine"}]}},"reason":"a licence"}`
	)
	n := newTestNode(t)
	for name, person := range map[string]string{"pia": "Pia", "again": "Pia", "dora": "Dora"} {
		n.addKey(wire.APIKey{ID: "key_" + name, Name: name, Roles: wire.RolePolicy, Person: person, PersonKey: strings.ToLower(person)}, testSecret(name))
	}
	n.advance(engine.DayLength) // A key confirms once it is a day old. It is the 23rd.
	n.confirmList()
	proposed := answer(t, n.do("pia", "PUT", "/v1/policy", licence), 202)
	confirm := func(key string) *httptest.ResponseRecorder {
		return n.do(key, "POST", "/v1/proposals/"+textOf(proposed, "proposalId")+"/confirm", ``)
	}
	for _, key := range []string{"pia", "again"} {
		answer(t, confirm(key), 409)
		require.Contains(t, []int{202, 409}, n.do(key, "PUT", "/v1/policy", licence).Code, "%s says the same again", key)
	}
	for _, key := range []string{"reviewer", "auditor", "operator", "screener", "ops"} {
		require.Contains(t, []int{403, 404}, confirm(key).Code, key)
	}
	n.requireEverywhere(false, medicine, "one officer alone")
	answer(t, confirm("dora"), 200)
	n.requireEverywhere(true, medicine, "two officers")
	n.requireEverywhere(false, medicine+`,"originCountry":"KP"`, "another country beside it")
	n.advance(engine.DayLength)
	n.confirmList()
	n.requireEverywhere(true, medicine, "its last day")
	n.advance(engine.DayLength)
	n.confirmList()
	n.requireEverywhere(false, medicine, "it ended yesterday")
	_, token := n.registered("")
	require.Equal(t, "BLOCK R24_JURISDICTION", verdict(t, n.screen(token, medicine)))
}
