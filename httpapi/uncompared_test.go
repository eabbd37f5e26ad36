package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No name passes of which a part could not be compared, and no clearing and no message of the sender
// makes it pass. The record, its replay and the workbench say the same.
func TestNoNamePassesThatCannotBeCompared(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	letters, signs := "its letters cannot be read", "it has no letter and no digit"
	for said, want := range map[string]string{
		`,"cpName":"สมชาย ใจดี"`:                                           letters,
		`,"cpName":"ហ៊ុន សែន"`:                                             letters,
		`,"cpName":"नरेंद्र मोदी"`:                                         letters,
		`,"cpName":"শেখ হাসিনা"`:                                           letters,
		`,"cpName":"முருகன்"`:                                              letters,
		`,"cpName":"አብይ አህመድ"`:                                             letters,
		`,"cpName":"Somchai Jaidee สมชาย"`:                                 letters,
		`,"cpName":"Somchai\u0e2a Ltd"`:                                    letters,
		`,"cpName":"???"`:                                                  signs,
		`,"cpName":"🙂🙂"`:                                                   signs,
		`,"cpName":"Jane Public","memo":"ค่าเช่า"`:                         letters,
		`,"cpName":"` + strings.TrimSpace(strings.Repeat("a ", 256)) + `"`: "too long to be compared to its end",
		`,"cpName":"` + strings.Repeat("abcde fghij klmno ", 20) + `"`:     "too long to be compared to its end",
		`,"cpName":"Jane Public 🙂 – Ltd."`:                                 "",
		`,"cpName":"Đặng Mỹ Hạnh"`:                                         "",
		`,"cpName":"Γιώργος Λάνθιμος"`:                                     "",
		`,"cpName":"宮崎駿"`:                                                  "",
		`,"cpName":"Jane Public","memo":"???"`:                             "",
	} {
		w := n.screen(token, said)
		if want == "" {
			require.Equal(t, "PROCEED null", verdict(t, w), said)
			continue
		}
		require.Equal(t, "REVIEW R21_POSSIBLE_NAME_MATCH", verdict(t, w), said)
		txn := member(t, w.Body.Bytes(), "txnId")
		record := answer(t, n.do("auditor", "GET", "/v1/audit/"+txn, ""), 200)
		require.Contains(t, textOf(record, "reason"), want, said)
		require.True(t, answer(t, n.do("auditor", "POST", "/v1/audit/"+txn+"/replay", ""), 200).GetBool("match"), said)
	}
	tooLong := n.screen(token, `,"cpName":"`+strings.Repeat("word ", 300)+`"`)
	require.Equal(t, 400, tooLong.Code, "a name of 300 words is refused")
	found := answer(t, n.do("reviewer", "GET", "/v1/match?name=%E0%B8%AA%E0%B8%A1%E0%B8%8A%E0%B8%B2%E0%B8%A2", ""), 200)
	require.Equal(t, "REVIEW", textOf(found, "outcome"))
	require.Equal(t, "สมชาย (Thai): "+letters, textOf(found, "notCompared"))
}

// A name that is turned round is found as people see it.
func TestNamesTurnedRoundAreFound(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, "BLOCK R7_COUNTERPARTY_NAME_OFAC", verdict(t, n.screen(token, `,"cpName":"\u202enidaL nib amasU\u202c"`)))
	require.Equal(t, "PROCEED null", verdict(t, n.screen(token, `,"cpName":"\u202ecilbuP enaJ\u202c"`)))
}
