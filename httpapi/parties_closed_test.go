package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"
)

// wholeParty returns the page of the party of the newest payment to a name that hit an entry.
func (n *testNode) wholeParty(uid string) *fastjson.Value {
	n.t.Helper()
	for _, party := range n.parties("state=all") {
		if textOf(party, "entry", "uid") == uid {
			return answer(n.t, n.do("reviewer", "GET", "/v1/parties/"+textOf(party, "partyId"), ""), 200)
		}
	}
	require.Fail(n.t, "no party of that entry", uid)
	return nil
}

// TestClosedWorkStaysWithItsParty: an alert, a report and a sanctions case that wait for nobody any more
// stand on the page of their party, each with who closed it, when and why.
func TestClosedWorkStaysWithItsParty(t *testing.T) {
	n := partyNode(t)
	_, token := n.registered("")
	paid, _ := n.payTo(token, 300, "Miroslav Vorontzak", "")
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+paid, `{"disposition":"ESCALATE_SAR","reviewedBy":"Carla","notes":"layering"}`), 200)
	answer(t, n.do("admin", "POST", "/v1/transactions/"+paid+"/settle", `{"amount":300}`), 200)
	page := n.wholeParty("900001")
	require.Empty(t, page.GetArray("closed"))
	require.Len(t, page.GetArray("alerts"), 1)
	require.Len(t, page.GetArray("reports"), 1)

	n.advance(1_000_000_000)
	alert := textOf(page, "alerts", "0", "alertId")
	answer(t, n.do("reviewer", "POST", "/v1/alerts/"+alert+"/acknowledge", `{"by":"Ann","reason":"the rail paid twice"}`), 200)
	n.advance(1_000_000_000)
	answer(t, n.do("reviewer", "POST", "/v1/sar/"+paid+"/move", `{"to":"CLOSED","by":"Bob","reason":"his brother"}`), 200)
	page = n.wholeParty("900001")
	require.Empty(t, page.GetArray("alerts"))
	require.Empty(t, page.GetArray("reports"))
	closed := page.GetArray("closed")
	require.Len(t, closed, 2, page.String())
	require.Equal(t, `{"itemId":"sar_`+paid+`","kind":"report","txnId":"`+paid+`","state":"CLOSED","own":true,"amount":300,"openedAt":`+page.Get("payments", "0", "screenedAt").String()+
		`,"closedAt":`+page.Get("acts", "0", "time").String()+`,"closedBy":"Bob","closedByKey":"key_reviewer","reason":"his brother","persons":[]}`, closed[0].String())
	require.Equal(t, "acknowledged", textOf(closed[1], "state"))
	require.Equal(t, "alert", textOf(closed[1], "kind"))
	require.Equal(t, "not_allowed", textOf(closed[1], "alert"))
	require.Equal(t, "Ann", textOf(closed[1], "closedBy"))
	require.Equal(t, "the rail paid twice", textOf(closed[1], "reason"))
	require.Equal(t, "sar.moved", textOf(page, "acts", "0", "what"))
	require.Equal(t, "alert.acknowledged", textOf(page, "acts", "1", "what"))
	require.Equal(t, alert, textOf(page, "acts", "1", "alertId"))
	require.Zero(t, page.GetInt("closedLeft"))

	n.payTo(token, 9, "Corner Bakery", "")
	for _, party := range n.parties("state=all") {
		if textOf(party, "name") == "Corner Bakery" {
			other := answer(t, n.do("reviewer", "GET", "/v1/parties/"+textOf(party, "partyId"), ""), 200)
			require.Empty(t, other.GetArray("closed"), "it is nobody else's")
		}
	}
}

// TestClosedCaseStaysWithItsParty: a case that was found not to be the party is told with the officer who
// found so, also after its party was blocked again.
func TestClosedCaseStaysWithItsParty(t *testing.T) {
	n := partyNode(t)
	_, token := n.registered("")
	_, verdict := n.payTo(token, 7, "Miroslav Petrovich Vorontsak", "")
	require.Equal(t, "BLOCK", verdict)
	page := n.wholeParty("900001")
	require.Len(t, page.GetArray("cases"), 1)
	id := textOf(page, "cases", "0", "caseId")
	answer(t, n.do("reviewer", "POST", "/v1/sanctions/cases/"+id+"/move", `{"to":"NOT_THE_PARTY","by":"Carla","reason":"another passport"}`), 200)
	n.advance(1_000_000_000)
	again, _ := n.payTo(token, 8, "Miroslav Petrovich Vorontsak", "")
	page = n.wholeParty("900001")
	require.Empty(t, page.GetArray("cases"))
	closed := page.GetArray("closed")
	require.Len(t, closed, 1, page.String())
	require.Equal(t, "NOT_THE_PARTY", textOf(closed[0], "state"))
	require.Equal(t, id, textOf(closed[0], "itemId"))
	require.Equal(t, again, textOf(closed[0], "txnId"))
	require.Equal(t, "Carla", textOf(closed[0], "closedBy"))
	require.Equal(t, "another passport", textOf(closed[0], "reason"))
}
