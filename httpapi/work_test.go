package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/ofac/sample"
)

// Alerts and BLOCKs have an owner, a clock and comments; a review's claim is the same in the inbox and
// the queue.
func TestEverythingHasAnOwner(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	n.lateSettles(token, 1)
	alert := textOf(answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200), "data", "0", "alertId")
	item := answer(t, n.do("reviewer", "GET", "/v1/alerts/"+alert, ""), 200)
	require.Equal(t, "null", string(item.Get("assignee").MarshalTo(nil)))
	require.False(t, item.GetBool("overdue"))
	v := answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/claim", `{"assignee":"Ann"}`), 200)
	require.Equal(t, "claimed", textOf(v, "event"))
	require.Equal(t, alert, textOf(v, "itemId"))
	require.Equal(t, "Ann", textOf(answer(t, n.do("auditor", "GET", "/v1/alerts/"+alert, ""), 200), "assignee"))
	listed := answer(t, n.do("auditor", "GET", "/v1/inbox?assignee=Ann", ""), 200)
	require.Equal(t, alert, textOf(listed, "data", "0", "itemId"))
	require.Equal(t, textOf(item, "dueAt"), textOf(listed, "data", "0", "dueAt"))
	require.Equal(t, "claimed_by_other", textOf(answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/claim", `{"assignee":"Bob"}`), 409), "code"))
	answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/comment", `{"comment":"I ask the bank","by":"Bob"}`), 200)
	comments := answer(t, n.do("auditor", "GET", "/v1/inbox/"+alert+"/comments", ""), 200)
	require.Equal(t, "I ask the bank", textOf(comments, "data", "0", "comment"))
	require.Equal(t, "Bob", textOf(comments, "data", "0", "actor"))
	answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/assign", `{"assignee":"Cy"}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/release", `{"force":true}`), 200)
	n.advance(73 * engine.Hour)
	require.True(t, answer(t, n.do("reviewer", "GET", "/v1/alerts/"+alert, ""), 200).GetBool("overdue"))

	txn := n.cases(1)[0]
	require.Equal(t, "review.claimed", textOf(answer(t, n.do("reviewer", "POST", "/v1/inbox/"+txn+"/claim", `{"assignee":"Ann"}`), 200), "event"))
	require.Equal(t, "Ann", textOf(answer(t, n.do("reviewer", "GET", "/v1/queue", ""), 200), "data", "0", "assignee"))

	answer(t, n.do("reviewer", "POST", "/v1/inbox/"+txn+"/release", `{"assignee":"Bob"}`), 409)
	for range engine.CommentsOfKeyMax - 1 {
		answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/comment", `{"comment":"c"}`), 200)
	}
	require.Equal(t, "limit_reached", textOf(answer(t, n.do("reviewer", "POST", "/v1/inbox/"+alert+"/comment", `{"comment":"one more"}`), 409), "code"))
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"Ann"}`), 200)
	require.Equal(t, "invalid_transition", textOf(answer(t, n.do("reviewer", "POST", "/v1/inbox/"+txn+"/assign", `{"assignee":"Cy"}`), 409), "code"))

	for _, wrong := range []string{"alr_00000000", "txn_00000000", "sar_" + txn, "sar_txn_00000000", "x"} {
		answer(t, n.do("reviewer", "POST", "/v1/inbox/"+wrong+"/claim", `{}`), 404)
	}
	answer(t, n.do("screener", "POST", "/v1/inbox/"+alert+"/claim", `{}`), 403)
	answer(t, n.do("auditor", "POST", "/v1/inbox/"+alert+"/claim", `{}`), 403)
	answer(t, n.do("operator", "GET", "/v1/inbox/"+alert+"/comments", ""), 403)
}

// A BLOCK and its sanctions case have owners of their own, which the blocked party does not see.
func TestBlocksHaveOwners(t *testing.T) {
	n := newTestNode(t)
	n.activate(withNumbers(), sample.Meta())
	_, token := n.registered("")
	blocked := textOf(answer(t, n.screen(token, `,"cpName":"Zorbal Frobnitz Holding"`), 200), "txnId")
	id := textOf(answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases", ""), 200), "data", "0", "caseId")
	answer(t, n.do("reviewer", "POST", "/v1/inbox/"+id+"/claim", `{"assignee":"Ann"}`), 200)
	require.Equal(t, "Ann", textOf(answer(t, n.do("reviewer", "GET", "/v1/sanctions/cases/"+id, ""), 200), "assignee"))
	v := answer(t, n.do("reviewer", "POST", "/v1/inbox/"+blocked+"/claim", `{"assignee":"Bob"}`), 200)
	require.Equal(t, blocked, textOf(v, "itemId"))
	passed := textOf(answer(t, n.screen(token, `,"cpName":"Corner Bakery"`), 200), "txnId")
	require.Equal(t, "not_reviewable", textOf(answer(t, n.do("reviewer", "POST", "/v1/inbox/"+passed+"/claim", `{}`), 400), "code"))
}

// A draft outlives the page that it was typed on, and is read by its own person alone.
func TestDrafts(t *testing.T) {
	n := newTestNode(t)
	require.Empty(t, answer(t, n.do("reviewer", "GET", "/v1/drafts", ""), 200).GetArray("data"))
	require.Equal(t, 204, n.do("reviewer", "PUT", "/v1/drafts/decide:txn_1", `{"text":"the same caterer","fields":{"disposition":"APPROVED","by":"Ann"}}`).Code)
	v := answer(t, n.do("reviewer", "GET", "/v1/drafts/decide:txn_1", ""), 200)
	require.Equal(t, "the same caterer", textOf(v, "text"))
	require.Equal(t, "APPROVED", textOf(v, "fields", "disposition"))
	require.Equal(t, "decide:txn_1", textOf(answer(t, n.do("reviewer", "GET", "/v1/drafts", ""), 200), "data", "0", "name"))
	answer(t, n.do("policy", "GET", "/v1/drafts/decide:txn_1", ""), 404)
	require.Empty(t, answer(t, n.do("auditor", "GET", "/v1/drafts", ""), 200).GetArray("data"))
	require.Equal(t, 204, n.do("auditor", "DELETE", "/v1/drafts/decide:txn_1", "").Code, "it has none")
	answer(t, n.do("reviewer", "GET", "/v1/drafts/decide:txn_1", ""), 200)
	require.Equal(t, 204, n.do("reviewer", "DELETE", "/v1/drafts/decide:txn_1", "").Code)
	answer(t, n.do("reviewer", "GET", "/v1/drafts/decide:txn_1", ""), 404)
	answer(t, n.do("reviewer", "PUT", "/v1/drafts/a~b", `{"text":"x"}`), 422)
	answer(t, n.do("reviewer", "PUT", "/v1/drafts/a", `{"fields":{"x":7}}`), 422)
	answer(t, n.do("reviewer", "PUT", "/v1/drafts/a", `{"fields":[]}`), 422)
	answer(t, n.do("screener", "GET", "/v1/drafts", ""), 403)
	answer(t, n.do("operator", "PUT", "/v1/drafts/a", `{}`), 403)
}

// A proposer takes a slip back, the second person reads the first one's reasons, and "next" leases
// nobody what waits for somebody else's signature.
func TestOwnProposals(t *testing.T) {
	n := newTestNode(t)
	answer(t, n.do("policy", "PUT", "/v1/policy", `{"policy":{"review":{"fourEyes":{}}},"reason":"two"}`), 200)
	txns := n.cases(2)
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txns[0], `{"disposition":"REJECTED","reviewedBy":"Ann","notes":"a slip"}`), 200)
	require.Equal(t, txns[1], textOf(answer(t, n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"Ann"}`), 200), "txnId"))
	require.Equal(t, 204, n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"Ann","skip":["`+txns[1]+`"]}`).Code)
	require.Equal(t, txns[0], textOf(answer(t, n.do("admin", "POST", "/v1/queue/next", `{"assignee":"Bob"}`), 200), "txnId"), "it waits for another")
	require.Equal(t, "a slip", textOf(answer(t, n.do("admin", "GET", "/v1/audit/"+txns[0], ""), 200), "proposed", "notes"))
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txns[0]+"/withdraw", `{"reviewedBy":"Ann","reason":"the wrong case"}`), 200)
	answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txns[0], `{"disposition":"APPROVED","reviewedBy":"Ann"}`), 200)
}
