package httpapi

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// metricsOf are the lines about reconciliations that a node shows, without the classes of which there
// are none.
func (r *railCase) metricsOf(t *testing.T) (lines []string) {
	w := r.asAdmin("ops", "GET", "/metrics", "")
	require.Equal(t, 200, w.Code)
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "railguard_reconciliation_") && !(strings.Contains(line, "class=") && strings.HasSuffix(line, " 0\n")) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// TestReconciliationTells: the institution gets an event, a reviewer an alert for the fault, and
// whoever watches the nodes what was found and when.
func TestReconciliationTells(t *testing.T) {
	r := newRailCase(t)
	require.Empty(t, r.metricsOf(t))
	id := r.begin(r.query())
	require.Contains(t, r.await(id), `"state":"done"`)
	v := answer(t, r.asAdmin("auditor", "GET", "/v1/reconciliations/"+id, ""), 200)
	require.Equal(t, `{"opened":1,"known":0}`, v.Get("alerts").String())

	for role, sees := range map[string]bool{"reviewer": true, "auditor": true, "policy": true, "ops": true, "operator": false, "screener": false} {
		w := r.do(role, "GET", "/v1/events?types=reconciliation.done", "")
		if !sees {
			require.NotContains(t, w.Body.String(), id, role)
			continue
		}
		event := answer(t, w, 200).GetArray("data")
		require.Len(t, event, 1, role)
		require.Equal(t, `{"reconciliationId":"`+id+`","rail":"USDC","from":"`+r.from.String()+`","to":"`+r.to.String()+`","settlements":3,"findings":2,"faults":1,"findingsDigest":"`+
			textOf(v, "result", "findingsDigest")+`"}`, event[0].Get("data").String())
	}

	alerts := answer(t, r.do("reviewer", "GET", "/v1/alerts?kind=reconciliation_fault", ""), 200).GetArray("data")
	require.Len(t, alerts, 1)
	require.Equal(t, []string{"open", id, "USDC", "unscreened", "stray", "[]"}, []string{
		textOf(alerts[0], "state"), textOf(alerts[0], "reconciliationId"), textOf(alerts[0], "rail"), textOf(alerts[0], "class"), textOf(alerts[0], "settlement"), alerts[0].Get("txnIds").String(),
	})
	event := answer(t, r.do("reviewer", "GET", "/v1/events?types=alert.opened", ""), 200).GetArray("data")
	require.Len(t, event, 1)
	require.Equal(t, "unscreened", textOf(event[0], "data", "class"))
	require.NotContains(t, event[0].Get("data").String(), "stray", "what an extract calls its payments leaves by the alert alone")

	r.advance(90 * engine.Second)
	require.Equal(t, []string{
		`railguard_reconciliation_age_seconds{rail="USDC"} 90`,
		`railguard_reconciliation_findings{rail="USDC",class="never_settled"} 1`,
		`railguard_reconciliation_findings{rail="USDC",class="unscreened"} 1`,
	}, r.metricsOf(t))
}

// TestReconciliationAgain: a fault that was told of opens no second alert, open or acknowledged, in
// the same time or another. Another fault opens its own.
func TestReconciliationAgain(t *testing.T) {
	r := newRailCase(t)
	r.await(r.begin(r.query()))
	again := r.await(r.begin(r.query("from", (r.from - engine.Hour).String())))
	require.Contains(t, again, `"alerts":{"opened":0,"known":1}`)
	alert := answer(t, r.do("reviewer", "GET", "/v1/alerts", ""), 200).GetArray("data")
	require.Len(t, alert, 1)
	answer(t, r.do("reviewer", "POST", "/v1/alerts/"+textOf(alert[0], "alertId")+"/acknowledge", `{"by":"ann","reason":"asked the treasurer"}`), 200)
	r.extract += strings.ReplaceAll(strings.Split(r.extract, "\n")[2], "stray", "stray-2") + "\n"
	require.Contains(t, r.await(r.begin(r.query())), `"alerts":{"opened":1,"known":1}`)
	require.Len(t, answer(t, r.do("reviewer", "GET", "/v1/alerts?state=open", ""), 200).GetArray("data"), 1)
}

// TestReconciliationAlertsAreBounded: of more than 1,000 faults the first have alerts, and what the
// log did not take at first is proposed again.
func TestReconciliationAlertsAreBounded(t *testing.T) {
	r := newRailCase(t)
	stray := strings.Split(r.extract, "\n")[2]
	for i := range 1100 {
		r.extract += strings.ReplaceAll(stray, "stray", "stray-"+strconv.Itoa(i)) + "\n"
	}
	asked := 0
	r.many = func(bodies [][]byte) ([]wire.Result, []error) {
		asked++
		results, errs := make([]wire.Result, len(bodies)), make([]error, len(bodies))
		for i, body := range bodies {
			if results[i], errs[i] = r.Propose(t.Context(), wire.KindAlert, body); asked == 2 && i%2 == 0 {
				errs[i] = errors.New("no leader") // It was applied, and nobody knows.
			}
		}
		return results, errs
	}
	v := r.await(r.begin(r.query()))
	require.Contains(t, v, `"alerts":{"opened":950,"known":50}`)
	require.NotContains(t, v, `"problem"`)
	require.Equal(t, 11, asked)
	require.Contains(t, v, `"faults":1101`)
	view, err := r.View(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 1000, view.AlertsOpen()[wire.AlertReconciled])
}

// TestReconciliationOverdue: a rail that the policy wants compared is overdue until it was, and again
// when its time is over, on every node and after a restart.
func TestReconciliationOverdue(t *testing.T) {
	r := newRailCase(t)
	warned := func() string {
		status := r.do("ops", "GET", "/v1/cluster/status", "").Body.String()
		ready := r.do("ops", "GET", "/readyz", "").Body.String()
		require.Equal(t, strings.Contains(status, "reconciled"), strings.Contains(ready, "[+]reconciliation WARNING: "), "%s %s", status, ready)
		return ready
	}
	require.NotContains(t, warned(), "reconcil")
	answer(t, r.do("policy", "PUT", "/v1/policy", `{"reconcile":[{"rail":"USDC","every":"24h"}]}`), 200)
	require.Contains(t, warned(), "USDC was never reconciled: the policy demands it every 24 h\n")
	require.Equal(t, []string{`railguard_reconciliation_age_seconds{rail="USDC"} -1`, `railguard_reconciliation_overdue{rail="USDC"} 1`}, r.metricsOf(t))

	r.await(r.begin(r.query()))
	require.NotContains(t, warned(), "reconcil")
	require.Contains(t, r.metricsOf(t), `railguard_reconciliation_overdue{rail="USDC"} 0`)
	r.advance(24 * engine.Hour)
	require.Contains(t, r.metricsOf(t), `railguard_reconciliation_overdue{rail="USDC"} 0`)
	r.advance(engine.Hour)
	require.Contains(t, r.metricsOf(t), `railguard_reconciliation_overdue{rail="USDC"} 1`)
	require.Contains(t, warned(), "USDC was last reconciled 25 h ago, with payments up to "+r.to.String()+": the policy demands it every 24 h\n")

	before := r.metricsOf(t)
	r.reopen(func(*Deps) {}) // It reads the leaf from history.
	require.Equal(t, before, r.metricsOf(t))
	answer(t, r.do("policy", "PUT", "/v1/policy", `{"policy":{},"reason":"the rail is closed"}`), 200)
	require.NotContains(t, warned(), "reconcil")
	require.NotContains(t, strings.Join(r.metricsOf(t), "\n"), "overdue")
}
