package httpapi

import (
	"encoding/base64"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/httpapi/casework"
)

// Every paged list refuses a garbled cursor, or one of another list: it never reaches the
// index.
func TestForeignCursors(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	for range 3 {
		n.screen(token, "")
	}
	own := answer(t, n.do("auditor", "GET", "/v1/audit?limit=1", ""), 200)
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, path := range []string{"/v1/queue", "/v1/queue?sort=amount", "/v1/audit", "/v1/agents", "/v1/fleets", "/v1/cleared", "/v1/policy/versions"} {
		for _, cursor := range []string{
			encode("1.3w5e11264sgsf.0.0"), encode("1.0.0.0"), encode("queue-:1"), encode("queue.-:1.2.3"), encode("audit-:1.2"), encode("audit-:9.1.2"),
			encode("agents-:0"), encode("agents-:1.2"), encode("x-:1"), "=", "%00", strings.Repeat("A", 300),
		} {
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			w := n.do("admin", "GET", path+separator+"cursor="+cursor, "")
			require.Equal(t, "cursor", textOf(answer(t, w, 400), "param"), "%s %q", path, cursor)
		}
	}
	answer(t, n.do("auditor", "GET", "/v1/queue?cursor="+textOf(own, "nextCursor"), ""), 400)
	answer(t, n.do("auditor", "GET", "/v1/audit?limit=1&order=asc&cursor="+textOf(own, "nextCursor"), ""), 400)
	answer(t, n.do("auditor", "GET", "/v1/audit?limit=1&cursor="+textOf(own, "nextCursor"), ""), 200)
}

// A page of the queue continues after the last review shown, whatever was decided
// meanwhile: no review is repeated and none is left out.
func TestQueuePagesHoldStill(t *testing.T) {
	for _, query := range []string{"", "&sort=amount", "&sort=priority", "&sort=age", "&sort=amount&order=asc"} {
		n := newTestNode(t)
		_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":1}`)
		waiting := map[string]bool{}
		for _, amount := range []string{"30", "20", "20", "10", "50"} {
			record := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`}`), 200)
			require.Equal(t, "REVIEW", textOf(record, "verdict"))
			waiting[textOf(record, "txnId")] = true
		}
		cursor := ""
		for len(waiting) > 0 {
			listed := answer(t, n.do("reviewer", "GET", "/v1/queue?limit=1"+query+cursor, ""), 200)
			require.Len(t, listed.GetArray("data"), 1, "%s: %d are passed over", query, len(waiting))
			txn := textOf(listed, "data", "0", "txnId")
			require.True(t, waiting[txn], "%s: shown twice", query)
			delete(waiting, txn)
			answer(t, n.do("reviewer", "POST", "/v1/reviews/"+txn, `{"disposition":"REJECTED","reviewedBy":"r","notes":"x"}`), 200)
			cursor = "&cursor=" + textOf(listed, "nextCursor")
			if textOf(listed, "nextCursor") == "" {
				require.Empty(t, waiting, query)
			}
		}
	}
}

// An open case is found, however many newer ones were decided since.
func TestOldOpenCasesAreNeverDropped(t *testing.T) {
	before := casework.QueueScanMax
	casework.QueueScanMax = 4
	defer func() { casework.QueueScanMax = before }()
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":1}`)
	asked := func() string {
		return textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":2}`), 200), "txnId")
	}
	old := asked()
	for range 10 {
		answer(t, n.do("reviewer", "POST", "/v1/reviews/"+asked(), `{"disposition":"REJECTED","reviewedBy":"r"}`), 200)
	}
	for range 10 {
		asked()
	}
	for _, query := range []string{"", "?sort=age", "?sort=amount", "?sort=priority", "?state=open"} {
		found := false
		for cursor, pages := "", 0; pages < 12 && !found; pages++ {
			separator := "?"
			if query != "" {
				separator = "&"
			}
			listed := answer(t, n.do("reviewer", "GET", "/v1/queue"+query+separator+"limit=3"+cursor, ""), 200)
			for _, item := range listed.GetArray("data") {
				found = found || textOf(item, "txnId") == old
				require.Equal(t, 11, item.GetInt("similarOpen"))
			}
			if textOf(listed, "nextCursor") == "" {
				break
			}
			cursor = "&cursor=" + textOf(listed, "nextCursor")
		}
		require.True(t, found, query)
	}
	next := answer(t, n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"r"}`), 200)
	require.Equal(t, old, textOf(next, "txnId"), "the oldest of equal priority")
}

// Skipping a case returns the one after it, and 204 when all were skipped.
func TestNextCaseButTheSkipped(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register(`,"spendPolicy":{"maxSingleTxUSDC":0.5}`)
	var txns []string
	for range 3 {
		txns = append(txns, textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200), "txnId"))
		n.advance(engine.Second)
	}
	next := func(skip string) *httptest.ResponseRecorder {
		return n.do("reviewer", "POST", "/v1/queue/next", `{"assignee":"Ann","skip":`+skip+`}`)
	}
	require.Equal(t, txns[0], textOf(answer(t, next(`null`), 200), "txnId"))
	require.Equal(t, txns[0], textOf(answer(t, next(`[]`), 200), "txnId"), "her own again")
	require.Equal(t, txns[1], textOf(answer(t, next(`["`+txns[0]+`","txn_00000000","no id"]`), 200), "txnId"))
	require.Equal(t, txns[2], textOf(answer(t, next(`["`+txns[0]+`","`+txns[1]+`"]`), 200), "txnId"))
	require.Equal(t, 204, next(quotedList(txns...)).Code)
	for bad, param := range map[string]string{`"` + txns[0] + `"`: "skip", `[7]`: "skip[0]"} {
		require.Equal(t, param, textOf(answer(t, next(bad), 422), "param"), bad)
	}
	require.Equal(t, "skip", textOf(answer(t, next(quotedList(slices.Repeat(txns, 34)...)), 422), "param"), "102")
}
