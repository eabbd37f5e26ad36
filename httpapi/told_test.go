package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
