package edge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/edge/edgetest"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/ofac"
	"railguard/strictjson"
)

// What a call can tell besides name and cpWallet, with the rule by which the payment is judged when it is
// made and after list and policy have changed. recheck tells whether that is a BLOCK.
var toldAgain = []struct {
	name, extra  string
	before, then string // "": PROCEED.
	recheck      bool
}{
	{"the wallet that pays", `,"payerWallet":"0x1111111111111111111111111111111111111111"`, "", "R4_OPERATOR_WALLET_LIVE", true},
	{"another wallet that pays", `,"wallets":[{"role":"payer","address":"0x1111111111111111111111111111111111111111"}]`, "", "R4_OPERATOR_WALLET_LIVE", true},
	{"the wallet of a fee", `,"wallets":[{"role":"fee","address":"0x1111111111111111111111111111111111111111"}]`, "", "R6_COUNTERPARTY_WALLET_OFAC", true},
	{"a wallet of nobody", `,"payerWallet":"0x2222222222222222222222222222222222222222"`, "", "R20_COUNTERPARTY", false},
	{"a tax number", `,"cpIdentifiers":[{"type":"duns","value":"123456789"},{"type":"tax_id","value":"77-88-99-00-11","country":"DE"}]`, "", "R7_COUNTERPARTY_NAME_OFAC", true},
	{"a tax number of another country", `,"cpIdentifiers":[{"type":"tax_id","value":"7788990011","country":"FR"}]`, "", "R21_POSSIBLE_NAME_MATCH", false},
	{"a number that is none", `,"cpIdentifiers":[{"type":"iban","value":"DE88370400440532013000"}]`, "R19_RAIL_CHAIN_MISMATCH", "R19_RAIL_CHAIN_MISMATCH", false},
	{"a memo", `,"memo":"rent to Zorbal Frobnitz Holding"`, "", "R21_POSSIBLE_NAME_MATCH", false},
	{"a wallet in the memo", `,"memo":"send to 0x1111111111111111111111111111111111111111"`, "", "R21_POSSIBLE_NAME_MATCH", false},
	{"a country that the policy adds", `,"cpCountry":"Belarus"`, "R24_JURISDICTION", "R24_JURISDICTION", true},
	{"a country that the policy adds later", `,"cpCountry":"KEN"`, "", "R24_JURISDICTION", true},
	{"a region", `,"cpCountry":"UA","cpRegion":"43"`, "R24_JURISDICTION", "R24_JURISDICTION", true},
	{"a region of that country", `,"cpRegion":"KE-30"`, "", "R24_JURISDICTION", true},
	{"where the payment was asked from", `,"originCountry":"Kenya"`, "", "R24_JURISDICTION", true},
	{"a telephone number", `,"cpIdentifiers":[{"type":"phone","value":"+254 20 123 4567"}]`, "", "R24_JURISDICTION", true},
	{"the country of a number", `,"cpIdentifiers":[{"type":"account","value":"123456789012","country":"KE"}]`, "", "R24_JURISDICTION", true},
	{"a country that cannot be read", `,"originCountry":"Atlantis"`, "R20_COUNTERPARTY", "R20_COUNTERPARTY", false},
	{"an address", `,"cpAddress":"Moi Avenue 5, Mombasa, Kenya"`, "", "R20_COUNTERPARTY", false},
	{"a licence that ends", `,"cpType":"business","cpCountry":"Iran"`, "", "R24_JURISDICTION", true},
	{"more than the licence allows", `,"cpType":"individual","cpCountry":"Iran"`, "R24_JURISDICTION", "R24_JURISDICTION", true},
}

const (
	placesBefore = `{"jurisdictions":{"block":["CU","IR","KP","UA-43","UA-40","BY"],"exemptions":[{"id":"gl-8","licence":"31 CFR 560.530","countries":["IR"],"cpTypes":["business"],"from":"2026-01-01","until":"2026-12-31","reason":"medicine"}]}}`
	placesThen   = `{"payer":{"mustBeOperators":"review"},"jurisdictions":{"block":["CU","IR","KP","UA-43","UA-40","BY","KE"]}}`
)

// setPolicyOf puts a document in force.
func setPolicyOf(t *testing.T, w *edgetest.World, document string) {
	parsed, wrong := engine.ParsePolicy([]byte(document), w.LogTime(), engine.NewestRules)
	require.Empty(t, wrong)
	w.SetPolicy(func(p *engine.Policy) {
		version := p.Version
		*p = *parsed
		p.Version = version
	})
}

// TestWhatIsToldIsJudgedAgain: replay says what the record says, also after list and policy have
// changed; a backtest with the new ones says what the same call gets now; the recheck blocks what would
// be blocked now.
func TestWhatIsToldIsJudgedAgain(t *testing.T) {
	for _, c := range toldAgain {
		t.Run(c.name, func(t *testing.T) {
			w := edgetest.New(t)
			setPolicyOf(t, w, placesBefore)
			_, token := w.Registered("")
			body := payment(token, c.extra)
			l := w.Screened(edgetest.Admin(), body)
			require.Equal(t, c.before, l.Text("rule"), string(l.Shown))
			require.True(t, replayed(t, w, &l).GetBool("match"))
			told := explained(t, w, &l).Get("ladder").String()

			setPolicyOf(t, w, placesThen)
			w.ChangeEntry(6365, func(e *ofac.Entity) {
				e.Names = []ofac.Name{{ID: 1, Primary: true, Full: "ZORBAL FROBNITZ HOLDING"}}
				e.Addresses = []ofac.Address{{Ticker: "ETH", Value: "0x1111111111111111111111111111111111111111"}}
				e.Facts = []ofac.Fact{{Kind: ofac.FactDocument, Label: "Tax ID No.", Value: "7788990011, Germany"}}
			})
			r := replayed(t, w, &l)
			require.True(t, r.GetBool("match"), r.String())
			require.Equal(t, told, explained(t, w, &l).Get("ladder").String())

			now := w.Screened(edgetest.Admin(), body)
			require.Equal(t, c.then, now.Text("rule"), string(now.Shown))
			var again retrace.Case
			again.Open(l.Record)
			outcome := again.Judge(engine.NewLooker(), w.List(), w.Settings().Policy)
			require.Empty(t, outcome.Assumed)
			require.Equal(t, now.Text("verdict"), outcome.Decision.Verdict.String())
			require.Equal(t, now.Text("rule"), outcome.Decision.Code())
			require.Equal(t, now.Text("reason"), engine.NewestRules.FullReason(outcome.Decision.Rule, outcome.Decision.Sub, outcome.Decision.Idle, 0))

			j, _ := w.Begin(edgetest.Admin(), `{}`)
			var m strictjson.Members
			require.NoError(t, j.Recheck(&m, &l))
			require.Equal(t, c.recheck, len(m) > 0, string(m))
			if c.recheck {
				require.Equal(t, c.then, string(parsed(t, m).GetStringBytes("recheck", "rule")))
			}
		})
	}
}
