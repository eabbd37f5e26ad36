package httpapi

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// TestWhatACallTellsIsRecorded: the record keeps what a call tells of the counterparty as it was
// sent. Who may not see personal data sees neither memo nor identifiers.
func TestWhatACallTellsIsRecorded(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	const told = `,"cpName":"Corner Bakery","cpCountry":"de","cpRegion":"DE-BE","originCountry":"France","memo":"invoice 7","cpIdentifiers":[{"type":"tax_id","value":"12345678901","country":"DE"}]`
	w := n.screen(token, told)
	id := member(t, w.Body.Bytes(), "txnId")
	record := answer(t, n.do("admin", "GET", "/v1/audit/"+id, ""), 200)
	require.Equal(t, "DE-BE", textOf(record, "_request", "cpRegion"))
	require.Equal(t, "France", textOf(record, "_request", "originCountry"))
	require.Equal(t, "invoice 7", textOf(record, "_request", "memo"))
	require.Equal(t, "12345678901", textOf(record, "_request", "cpIdentifiers", "0", "value"))
}

// TestWhatACallTellsMustBeReadable: what cannot be read is refused, because what is passed over is
// judged by nobody.
func TestWhatACallTellsMustBeReadable(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	one := `{"type":"bic","value":"DEUTDEFF"}`
	for said, param := range map[string]string{
		`,"cpRegion":7`:           "cpRegion",
		`,"originCountry":["KP"]`: "originCountry",
		`,"origincountry":"KP"`:   "origincountry",
		`,"memo":{}`:              "memo",
		`,"memo":"` + strings.Repeat("ж", 513) + `"`:                                                     "memo",
		`,"cpIdentifier":[]`:                                                                             "cpIdentifier",
		`,"cpIdentifiers":{}`:                                                                            "cpIdentifiers",
		`,"cpIdentifiers":["x"]`:                                                                         "cpIdentifiers[0]",
		`,"cpIdentifiers":[{"type":"bic"}]`:                                                              "cpIdentifiers[0]",
		`,"cpIdentifiers":[{"value":"DEUTDEFF"}]`:                                                        "cpIdentifiers[0]",
		`,"cpIdentifiers":[{"type":"BIC","value":"x"}]`:                                                  "cpIdentifiers[0].type",
		`,"cpIdentifiers":[{"type":"other","value":"x"}]`:                                                "cpIdentifiers[0].type",
		`,"cpIdentifiers":[` + one + `,{"type":"bic","value":"x","land":"KP"}]`:                          "cpIdentifiers[1].land",
		`,"cpIdentifiers":[` + strings.TrimSuffix(strings.Repeat(one+",", 9), ",") + `]`:                 "cpIdentifiers",
		`,"cpIdentifiers":[{"type":"account","value":"` + strings.Repeat("7", 257) + `"}]`:               "cpIdentifiers[0].value",
		`,"cpIdentifiers":[{"type":"account","value":"7","country":"` + strings.Repeat("7", 257) + `"}]`: "cpIdentifiers[0].country",
	} {
		v := answer(t, n.screen(token, said), 400)
		require.Equal(t, param, textOf(v, "param"), "%s: %s", said, v)
	}
}

// TestWhatACallTellsIsJudged: a listed identifier blocks over every way a payment can be asked about,
// the record says which member hit and as what, and a memo is reviewed and never blocked.
func TestWhatACallTellsIsJudged(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	n.activate(withNumbers(), sample.Meta())
	one := func(class, value, country string) string {
		return `,"cpName":"Corner Bakery","cpIdentifiers":[{"type":"duns","value":"123456789"},{"type":"` + class + `","value":"` + value + `","country":"` + country + `"}]`
	}
	const listed, possible, malformed = "BLOCK R7_COUNTERPARTY_NAME_OFAC", "REVIEW R21_POSSIBLE_NAME_MATCH", "REVIEW R19_RAIL_CHAIN_MISMATCH"
	for _, c := range []struct{ said, want, reason, party, why string }{
		{one("tax_id", "12-345-678-90", "RU"), listed, "An identifier of the counterparty is a listed party's.", "counterparty", ""},
		{one("tax_id", "12345678901", "RU"), `PROCEED null`, "", "", ""},
		{one("registration", "1234567890", "RU"), possible, "An identifier of the counterparty may be a listed party's.", "counterparty", "listed as an identifier of another kind"},
		{one("tax_id", "1234567890", "Kenya"), possible, "An identifier of the counterparty may be a listed party's.", "counterparty", "the countries differ"},
		{one("bic", "QUUXIRTH123", ""), listed, "An identifier of the counterparty is a listed party's.", "counterparty", ""},
		{one("iban", "DE88370400440532013000", ""), malformed, "An iban among cpIdentifiers is none: its length or its check digits are wrong.", "", ""},
		{`,"cpName":"Corner Bakery","memo":"rent to Zorbal Frobnitz Holding"`, possible, "The memo names a listed party, or a wallet or an identifier of one.", "memo", "listed name among other words"},
		{`,"cpName":"Corner Bakery","memo":"pay ` + listedWallet + `"`, possible, "The memo names a listed party, or a wallet or an identifier of one.", "memo", "a wallet in the memo"},
		{`,"cpName":"Corner Bakery","memo":"BIC QUUXIRTH"`, possible, "The memo names a listed party, or a wallet or an identifier of one.", "memo", ""},
		{`,"cpName":"Corner Bakery","memo":"rent for March"`, `PROCEED null`, "", "", ""},
	} {
		w := n.screen(token, c.said)
		require.Equal(t, c.want, verdict(t, w), c.said)
		if c.reason == "" {
			continue
		}
		require.Equal(t, c.reason, member(t, w.Body.Bytes(), "reason"), c.said)
		path := "/v1/audit/" + member(t, w.Body.Bytes(), "txnId")
		record := answer(t, n.do("auditor", "GET", path, ""), 200)
		require.Equal(t, c.party, textOf(record, "matches", "0", "party"), record.String())
		require.Equal(t, c.why, textOf(record, "matches", "0", "why"), record.String())
		if c.party == "counterparty" {
			require.Equal(t, "cpIdentifiers[1]", textOf(record, "matches", "0", "member"))
		}
		explained := answer(t, n.do("auditor", "GET", path+"/explain", ""), 200)
		require.Contains(t, explained.String(), c.reason)
		replayed := answer(t, n.do("auditor", "POST", path+"/replay", ""), 200)
		require.Equal(t, "true", replayed.Get("match").String(), replayed.String())
		batch := answer(t, n.do("screener", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1`+c.said+`}]}`), 200)
		require.Equal(t, strings.Fields(c.want)[0], textOf(batch, "results", "0", "verdict"), c.said)
		dry := answer(t, n.do("screener", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1`+c.said+`}`), 200)
		require.Equal(t, strings.Fields(c.want)[0], textOf(dry, "verdict"), c.said)
	}
}

// withNumbers is the sample list and a company with identifiers.
func withNumbers() []ofac.Entity {
	entities := sample.Entities()
	return append(entities, ofac.Entity{UID: 900_001, Type: ofac.Company, Lists: ofac.ListSDN,
		Names: []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "ZORBAL FROBNITZ HOLDING"}},
		Facts: []ofac.Fact{{Kind: ofac.FactDocument, Label: "Tax ID No.", Value: "1234567890, Russia"}, {Label: "SWIFT/BIC", Value: "QUUXIRTH"}}})
}

// TestRecordsAreFoundByAnIdentifier: by its type and its value in any spelling, among other identifiers
// and of no other type's form; only by who sees it in the record.
func TestRecordsAreFoundByAnIdentifier(t *testing.T) {
	n := newTestNode(t)
	n.addCaller("globex", "Globex", wire.RoleOperator|wire.RoleScreener)
	_, token := n.registered("")
	told := n.screen(token, `,"cpName":"Corner Bakery","cpIdentifiers":[{"type":"tax_id","value":"77-070 83893"},{"type":"bic","value":"deutdeff500"},{"type":"email","value":"Info@Bakery.example"}]`)
	n.screen(token, `,"cpName":"Corner Bakery","cpIdentifiers":[{"type":"tax_id","value":"7707083894"}]`)
	id := member(t, told.Body.Bytes(), "txnId")
	for identifier, found := range map[string]bool{
		"tax_id:7707083893": true, "tax_id: 7707.083.893 ": true, "registration:7707083893": true, "tax_id:7707083894": false, "bic:DEUTDEFF500": true, "bic:DEUTDEFF": false,
		"email:info@bakery.example": true, "website:bakery.example": false, "account:info@bakery.example": false,
	} {
		query := "?identifier=" + url.QueryEscape(identifier)
		for _, key := range []string{"auditor", "reviewer", "screener"} {
			v := answer(t, n.do(key, "GET", "/v1/audit"+query, ""), 200)
			require.Equal(t, found, textOf(v, "data", "0", "txnId") == id, "%s: %s", key, identifier)
			require.Less(t, len(v.GetArray("data")), 2)
		}
		v := answer(t, n.do("auditor", "POST", "/v1/audit/search", `{"identifier":"`+identifier+`"}`), 200)
		require.Equal(t, found, textOf(v, "data", "0", "txnId") == id, identifier)
		require.Empty(t, answer(t, n.do("globex", "GET", "/v1/audit"+query, ""), 200).GetArray("data"), "another's record")
		require.Equal(t, 403, n.do("ops", "GET", "/v1/audit"+query, "").Code, "whose key sees it masked")
	}
	for _, bad := range []string{"7707083893", "tax_id", "tax_id:", "tax_id:--", "other:1", "letter:1", "tax_id:" + strings.Repeat("7", 257)} {
		require.Equal(t, "identifier", textOf(answer(t, n.do("auditor", "GET", "/v1/audit?identifier="+url.QueryEscape(bad), ""), 400), "param"), bad)
	}
}
