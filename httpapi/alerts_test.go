package httpapi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
	"railguard/httpapi/casework"
)

// lateSettles opens count alerts: it settles payments that were not allowed.
func (n *testNode) lateSettles(token string, count int) (txns []string) {
	n.t.Helper()
	for range count {
		txn := textOf(answer(n.t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":20}`), 200), "txnId")
		answer(n.t, n.do("screener", "POST", "/v1/transactions/"+txn+"/settle", `{}`), 200)
		txns = append(txns, txn)
	}
	return txns
}

func TestAlerts(t *testing.T) {
	n := newTestNode(t)
	empty := answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200)
	require.Empty(t, empty.GetArray("data"))
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	txns := n.lateSettles(token, 5)

	all := answer(t, n.do("auditor", "GET", "/v1/alerts", ""), 200)
	require.Len(t, all.GetArray("data"), 5)
	newest := all.Get("data", "0")
	require.Equal(t, txns[4], textOf(newest, "txnId"))
	require.Equal(t, "not_allowed", textOf(newest, "kind"))
	require.Equal(t, "open", textOf(newest, "state"))
	require.Equal(t, casework.AlertTexts[wire.AlertNotAllowed], textOf(newest, "text"))
	require.Equal(t, 20, newest.GetInt("amount"))
	paid := answer(t, n.do("auditor", "GET", "/v1/audit/"+txns[4], ""), 200)
	require.Equal(t, textOf(paid, "agentId"), textOf(newest, "agentId"), "who paid")
	require.Equal(t, textOf(paid, "agentName"), textOf(newest, "agentName"))
	require.NotZero(t, all.GetUint64("asOfIndex"))

	path := "/v1/alerts/" + textOf(newest, "alertId")
	require.Equal(t, newest.String(), answer(t, n.do("reviewer", "GET", path, ""), 200).String())
	for body, param := range map[string]string{`{}`: "by", `{"by":"Ann"}`: "reason", `{"by":"Ann","reason":" "}`: "reason"} {
		require.Equal(t, param, textOf(answer(t, n.do("reviewer", "POST", path+"/acknowledge", body), 422), "param"), body)
	}
	answer(t, n.do("auditor", "POST", path+"/acknowledge", `{"by":"Ann","reason":"known"}`), 403)
	for _, unknown := range []string{"alr_aaaaaaaaaaaa", "x", txns[0]} {
		answer(t, n.do("reviewer", "GET", "/v1/alerts/"+unknown, ""), 404)
		answer(t, n.do("reviewer", "POST", "/v1/alerts/"+unknown+"/acknowledge", `{"by":"Ann","reason":"known"}`), 404)
	}
	body := `{"by":"Ann","reason":"the rail is late on Sundays"}`
	done := answer(t, n.do("reviewer", "POST", path+"/acknowledge", body, "Idempotency-Key", "a1"), 200)
	require.Equal(t, "acknowledged", textOf(done, "state"))
	require.Equal(t, "Ann", textOf(done, "acknowledgedBy"))
	require.Equal(t, done.String(), answer(t, n.do("reviewer", "POST", path+"/acknowledge", body, "Idempotency-Key", "a1"), 200).String())
	require.Equal(t, done.String(), answer(t, n.do("reviewer", "GET", path, ""), 200).String())
	late := answer(t, n.do("admin", "POST", path+"/acknowledge", `{"by":"Bob","reason":"mine"}`), 409)
	require.Equal(t, "invalid_transition", textOf(late, "code"))
	require.Equal(t, "Ann", textOf(late, "acknowledgedBy"))

	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/alerts?state=open", ""), 200).GetArray("data"), 4)
	require.Len(t, answer(t, n.do("reviewer", "GET", "/v1/alerts?state=acknowledged&kind=not_allowed", ""), 200).GetArray("data"), 1)
	require.Empty(t, answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=late_settle", ""), 200).GetArray("data"))
	for _, bad := range []string{"?state=new", "?kind=x", "?cursor=abc", "?limit=0"} {
		answer(t, n.do("reviewer", "GET", "/v1/alerts"+bad, ""), 400)
	}
	require.Contains(t, n.doAdmin("GET", "/metrics", "").Body.String(), `railguard_alerts_open{kind="not_allowed"} 4`)
}

// Paging returns every alert once, in either order, even when others are opened meanwhile.
func TestAlertPages(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered(`,"spendPolicy":{"maxSingleTxUSDC":5}`)
	n.lateSettles(token, 7)
	for _, order := range []string{"desc", "asc"} {
		seen, query := map[string]bool{}, "/v1/alerts?limit=2&order="+order
		for path := query; ; {
			page := answer(t, n.do("reviewer", "GET", path, ""), 200)
			for _, item := range page.GetArray("data") {
				require.False(t, seen[textOf(item, "alertId")])
				seen[textOf(item, "alertId")] = true
			}
			next := textOf(page, "nextCursor")
			if next == "" {
				break
			}
			if len(seen) == 4 && order == "desc" {
				n.lateSettles(token, 1)
			}
			path = query + "&cursor=" + next
		}
		require.Len(t, seen, map[string]int{"desc": 7, "asc": 8}[order])
	}
}

// Alerts belong to the institution: a key with an operator's scope sees neither alerts nor
// their events, whatever its roles.
func TestAlertsAreTheInstitutions(t *testing.T) {
	n := newTenants(t)
	answer(t, n.do("acme", "POST", "/v1/transactions/"+n.txn+"/settle", `{}`), 200)
	for _, path := range []string{"/v1/alerts", "/v1/alerts/alr_aaaaaaaaaaaa"} {
		answer(t, n.do("acme", "GET", path, ""), 403)
	}
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts", ""), 200).GetArray("data")
	require.NotEmpty(t, alerts)
	id := textOf(alerts[0], "alertId")
	answer(t, n.do("reviewer", "POST", "/v1/alerts/"+id+"/acknowledge", `{"by":"Ann","reason":"known"}`), 200)

	names, all := n.told("reviewer", "alert.*")
	require.Equal(t, []string{"alert.opened", "alert.acknowledged"}, names)
	for _, e := range all {
		require.Equal(t, id, textOf(e, "data", "alertId"))
		require.Nil(t, e.Get("data", "reason"), "what people wrote is not told")
	}
	names, _ = n.told("acme", "alert.*")
	require.Empty(t, names)
	names, _ = n.told("policy", "alert.*")
	require.Empty(t, names)
}

// An operator who is listed after its agents were registered opens one alert per list.
func TestAlertOfAListedOperator(t *testing.T) {
	n := newTestNode(t)
	_, token := n.registered("")
	require.Equal(t, "PROCEED", textOf(answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200), "verdict"))
	n.activate(testEntities("Acme Inc"), testMeta("2026-03-20", false))
	for range 2 {
		blocked := answer(t, n.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":1}`), 200)
		require.Equal(t, "R5_OPERATOR_NAME_OFAC", textOf(blocked, "rule"))
	}
	alerts := answer(t, n.do("reviewer", "GET", "/v1/alerts?kind=operator_listed", ""), 200).GetArray("data")
	require.Len(t, alerts, 1)
	require.Equal(t, "Acme Inc", textOf(alerts[0], "operatorLegalName"))
	require.True(t, strings.HasPrefix(textOf(alerts[0], "operatorId"), "opr_"))
	require.Equal(t, 2, alerts[0].GetInt("listVersion"))
}
