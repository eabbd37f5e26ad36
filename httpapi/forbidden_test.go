package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/ofac"
	"railguard/ofac/sample"
)

// forbidden is what a call may tell of somebody or some place that is forbidden.
var forbidden = []struct{ what, value string }{
	{"wallet", listedWallet}, {"name", "Zorbal Frobnitz Holding"},
	{"tax", "1234567890"}, {"bic", "QUUXDEFF"}, {"email", "pay@quuxven.com"}, {"website", "https://www.quuxven.com"}, {"phone", "+49 30 188526301"}, {"passport", "T36369585"}, {"imo", "IMO 6166689"},
	{"code", "IR"}, {"country", "Iran"}, {"country", "North Korea"}, {"code", "PRK"}, {"number", "408"}, {"country", "Crimea"},
	{"iban of Iran", "IR820540102680020817909002"}, {"email of Iran", "a@silibank.ir"}, {"website of Iran", "https://shop.ir/x"}, {"phone of Iran", "+98 21 8852 6301"}, {"bic of Iran", "MELIIRTH"},
}

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
	for _, class := range strings.Fields("tax_id registration national_id passport aircraft_tail account") {
		members[identifier(class)] = "code,number,country,bic of Iran" // No number, and no sign of what it is.
	}
	members[identifier("phone")] = "passport" // Its digits are a number.
	members[`"cpIdentifiers":[{"type":"account","value":"99887766554433","country":%s}]`] = ""
	return members
}

// TestForbiddenIsNeverSentOn: whoever tells somebody or some place that is forbidden gets no PROCEED,
// wherever it is told and over every door. What passes is named above.
func TestForbiddenIsNeverSentOn(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	fact := func(kind ofac.FactKind, label, value string) ofac.Fact {
		return ofac.Fact{Kind: kind, Label: label, Value: value}
	}
	n.activate(append(sample.Entities(), ofac.Entity{
		UID: 900_001, Type: ofac.Company, Lists: ofac.ListSDN,
		Names: []ofac.Name{{AliasType: "Name", Primary: true, Script: "Latin", Full: "ZORBAL FROBNITZ HOLDING"}},
		Facts: []ofac.Fact{
			fact(ofac.FactDocument, "Tax ID No.", "1234567890, Russia"), fact(ofac.FactOther, "SWIFT/BIC", "QUUXDEFF"), fact(ofac.FactOther, "Email Address", "pay@quuxven.com"),
			fact(ofac.FactOther, "Website", "www.quuxven.com"), fact(ofac.FactOther, "Phone Number", "4930188526301"), fact(ofac.FactDocument, "Passport", "T36369585, Germany"), fact(ofac.FactDocument, "Identification Number", "IMO 6166689"),
		},
	}), sample.Meta())
	for member, passes := range toldMembers() {
		n.advance(engine.Hour) // The agent's pace is not what is asked here.
		n.confirmList()
		for _, f := range forbidden {
			value, err := json.Marshal(f.value)
			require.NoError(t, err)
			said := "," + fmt.Sprintf(member, value)
			if !strings.Contains(said, `"cpName"`) {
				said += `,"cpName":"Corner Bakery"`
			}
			want := slices.Contains(strings.Split(passes, ","), f.what)
			for door, sentOn := range map[string]func() bool{
				"single": func() bool { w := n.screen(token, said); return w.Code == 200 && verdict(t, w) == "PROCEED null" },
				"batch": func() bool {
					w := n.do("screener", "POST", "/v1/screen/batch", `{"payments":[{"token":"`+token+`","amount":1`+said+`}]}`)
					return w.Code == 200 && strings.Contains(w.Body.String(), `"verdict":"PROCEED"`)
				},
				"dry run": func() bool {
					w := n.do("screener", "POST", "/v1/screen/dry-run", `{"token":"`+token+`","amount":1`+said+`}`)
					return w.Code == 200 && strings.Contains(w.Body.String(), `"verdict":"PROCEED"`)
				},
			} {
				if want && strings.Contains(member, "paymentRef") {
					continue // It may be used once.
				}
				require.Equal(t, want, sentOn(), "%s: %s, %s", door, f.what, said)
			}
		}
	}
}
