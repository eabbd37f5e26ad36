package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/mcp"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// forbidden is what a call may tell of somebody or some place that is forbidden.
var forbidden = []struct{ what, value string }{
	{"wallet", listedWallet}, {"wallet of Solana", listedSolana}, {"name", "Zorbal Frobnitz Holding"},
	{"tax", "1234567890"}, {"bic", "QUUXDEFF"}, {"bic beside its label", "SWIFT/BIC QUUXDEFF"}, {"email", "pay@quuxven.com"}, {"website", "https://www.quuxven.com"}, {"phone", "+49 30 188526301"}, {"passport", "T36369585"}, {"imo", "IMO 6166689"},
	{"code", "IR"}, {"country", "Iran"}, {"country", "North Korea"}, {"code", "PRK"}, {"number", "408"}, {"country", "Crimea"},
	{"iban of Iran", "IR820540102680020817909002"}, {"email of Iran", "a@silibank.ir"}, {"website of Iran", "https://shop.ir/x"}, {"phone of Iran", "+98 21 8852 6301"}, {"bic of Iran", "MELIIRTH"},
}

// listedSolana is the wallet of the listed party on another chain than listedWallet.
const listedSolana = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"

// passing says what a text may hold without a word of it: a number beside nothing that says what it
// is, and a country's name in a sentence. In a member that is meant for it, each of them is seen.
const passing = "tax,bic,passport,code,number,country,bic of Iran"

// toldMembers are the members in which somebody may be told, and what passes there.
func toldMembers() map[string]string {
	members := map[string]string{}
	for _, name := range strings.Fields("cpWallet payerWallet cpCountry originCountry chain rail cpType") {
		members[`"`+name+`":%s`] = ""
	}
	for _, name := range strings.Fields("cpName memo protocol travelRuleRef paymentRef underlyingModel") {
		members[`"`+name+`":%s`] = passing
	}
	for _, name := range strings.Fields("cpRegion cpAddress") {
		members[`"`+name+`":%s`] = "tax,bic,passport,number,bic of Iran"
	}
	for _, role := range strings.Fields("payer payee intermediary fee") {
		members[`"wallets":[{"role":"`+role+`","address":%s}]`] = ""
	}
	identifier := func(class string) string { return `"cpIdentifiers":[{"type":"` + class + `","value":%s}]` }
	for _, class := range strings.Fields("bic iban lei imo mmsi email website duns") {
		members[identifier(class)] = ""
	}
	for _, class := range strings.Fields("tax_id registration national_id passport account") {
		members[identifier(class)] = "code,number,country,bic of Iran,bic beside its label" // No number, and no sign of what it is.
	}
	members[identifier("aircraft_tail")] = "code,number,country,bic of Iran"
	members[identifier("phone")] = "passport" // Its digits are a number.
	members[`"cpIdentifiers":[{"type":"account","value":"99887766554433","country":%s}]`] = ""
	return members
}

// forbiddenParty is the listed party of the table: a name, and an identifier of many classes.
func forbiddenParty() ofac.Entity {
	fact := func(kind ofac.FactKind, label, value string) ofac.Fact {
		return ofac.Fact{Kind: kind, Label: label, Value: value}
	}
	return ofac.Entity{
		UID: 900_001, Type: ofac.Company, Lists: ofac.ListSDN,
		Names:     []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "ZORBAL FROBNITZ HOLDING"}},
		Addresses: []ofac.Address{{Ticker: "SOL", Value: listedSolana}},
		Facts: []ofac.Fact{
			fact(ofac.FactDocument, "Tax ID No.", "1234567890, Russia"), fact(ofac.FactOther, "SWIFT/BIC", "QUUXDEFF"), fact(ofac.FactOther, "Email Address", "pay@quuxven.com"),
			fact(ofac.FactOther, "Website", "www.quuxven.com"), fact(ofac.FactOther, "Phone Number", "4930188526301"), fact(ofac.FactDocument, "Passport", "T36369585, Germany"), fact(ofac.FactDocument, "Identification Number", "IMO 6166689"),
		},
	}
}

// doors are the ways to ask about a payment with the members of a screening call. Each tells whether
// the payment was let through. A tool of MCP takes the same members, the model by its shorter name.
func (n *testNode) doors(token string) map[string]func(said string) bool {
	tools, asked := n.tools(), 0
	payment := func(said string) string { return `{"token":"` + token + `","amount":1` + said + `}` }
	proceeds := func(w *httptest.ResponseRecorder) bool {
		return w.Code == 200 && strings.Contains(w.Body.String(), `"verdict":"PROCEED"`)
	}
	tool := func(name, said string) bool {
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + strings.Replace(payment(said), `"underlyingModel"`, `"model"`, 1) + `}}`
		w := sendTo(tools, "screener", mcp.Path, call)
		require.Equal(n.t, 200, w.Code, w.Body.String())
		require.NotContains(n.t, w.Body.String(), `"unknown_field"`, "the tool has the member: %s", said)
		return proceeds(w)
	}
	return map[string]func(said string) bool{
		"single": func(said string) bool { return proceeds(n.screen(token, said)) },
		"batch": func(said string) bool {
			return proceeds(n.do("screener", "POST", "/v1/screen/batch", `{"payments":[`+payment(said)+`]}`))
		},
		"stream":  func(said string) bool { return proceeds(n.do("screener", "POST", "/v1/screen/stream", payment(said))) },
		"dry run": func(said string) bool { return proceeds(n.do("screener", "POST", "/v1/screen/dry-run", payment(said))) },
		"MCP": func(said string) bool {
			asked++
			return tool("screen", said+`,"idempotencyKey":"`+token[len(token)-8:]+strconv.Itoa(asked)+`"`)
		},
		"MCP, dry run": func(said string) bool { return tool("dry_run", said) },
	}
}

// tools is the protocol of agents in front of the API.
func (n *testNode) tools() http.Handler {
	tools, err := mcp.New(mcp.Config{API: n.api.Handler(), PublicURL: func() string { return "https://pay.example.com" }, Version: "0.0.0-test"})
	require.NoError(n.t, err)
	return tools
}

// sendTo makes one call of what stands in front of the API.
func sendTo(handler http.Handler, role, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+testSecret(role))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// nextHour moves time on, because neither the agent's pace, nor the key's, nor the list's age is what
// is asked here.
func (n *testNode) nextHour() {
	n.advance(engine.Hour)
	n.confirmList()
	for i := range n.settings.Keys {
		n.settings.Keys[i].Rate = -1
	}
}

// TestForbiddenIsNeverSentOn: whoever tells somebody or some place that is forbidden gets no PROCEED,
// wherever it is told and over every door. What passes is named above.
func TestForbiddenIsNeverSentOn(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	n.activate(append(sample.Entities(), forbiddenParty()), sample.Meta())
	doors := n.doors(token)
	for member, passes := range toldMembers() {
		n.nextHour()
		for _, f := range forbidden {
			value, err := json.Marshal(f.value)
			require.NoError(t, err)
			said := "," + fmt.Sprintf(member, value)
			if !strings.Contains(said, `"cpName"`) {
				said += `,"cpName":"Corner Bakery"`
			}
			want := slices.Contains(strings.Split(passes, ","), f.what)
			for door, sentOn := range doors {
				if want && strings.Contains(member, "paymentRef") {
					continue // It may be used once.
				}
				require.Equal(t, want, sentOn(said), "%s: %s, %s", door, f.what, said)
			}
		}
	}
}
