package httpapi

import (
	"errors"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/examine"
	"railguard/audit/reconcile"
	"railguard/engine"
)

// asAdmin sends one request to the admin listener with a role's key.
func (n *testNode) asAdmin(role, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8180"
	r.Header.Set("Authorization", "Bearer "+testSecret(role))
	w := httptest.NewRecorder()
	n.api.AdminHandler().ServeHTTP(w, r)
	return w
}

// railCase is records of an hour, and an extract of which one line nobody asked for.
type railCase struct {
	*testNode
	from, to engine.Time
	extract  string
}

func newRailCase(t testing.TB) *railCase {
	r := &railCase{testNode: newTestNode(t)}
	_, token := r.register("")
	r.from = r.now / engine.Second * engine.Second
	line := func(id, amount, ref string) {
		r.extract += `{"id":"` + id + `","time":"` + r.now.String() + `","amount":"` + amount + `","currency":"USD","payee":"0x00000000000000000000000000000000000000aa","refs":["` + ref + `"]}` + "\n"
	}
	for i, amount := range []string{"1", "2.5", "3"} {
		v := answer(t, r.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":`+amount+`,"rail":"USDC","chain":"BASE","cpName":"Corner Bakery","cpWallet":"0x00000000000000000000000000000000000000aa","payerWallet":"0x1111111111111111111111111111111111111111"}`), 200)
		require.Equal(t, "PROCEED", textOf(v, "verdict"), v)
		r.advance(engine.Second)
		if i != 1 {
			line("paid-"+amount, amount, textOf(v, "txnId"))
		}
	}
	line("stray", "7", "")
	r.to = r.now
	r.advance(2 * engine.Second)
	r.do("screener", "POST", "/v1/screen", `{"token":"`+token+`","amount":9,"rail":"ACH"}`) // Log time passes the end.
	r.advance(engine.Second)
	return r
}

func (r *railCase) query(more ...string) string {
	query := url.Values{"rail": {"usdc"}, "from": {r.from.String()}, "to": {r.to.String()}, "settleWithinSeconds": {"1"}, "skewSeconds": {"0"}}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return "/v1/reconciliations?" + query.Encode()
}

// await waits until a job has ended, and returns its answer.
func (r *railCase) await(id string) (text string) {
	require.Eventually(r.t, func() bool {
		text = r.asAdmin("auditor", "GET", "/v1/reconciliations/"+id, "").Body.String()
		return !strings.Contains(text, `"state":"running"`)
	}, 20*time.Second, 5*time.Millisecond)
	return text
}

// begin posts the extract.
func (r *railCase) begin(path string) string {
	return textOf(answer(r.t, r.asAdmin("reviewer", "POST", path, r.extract), 202), "reconciliationId")
}

// TestReconciliationOnlineIsOffline: summary and findings are those of an export of the same time,
// to the byte, and a changed extract gives others.
func TestReconciliationOnlineIsOffline(t *testing.T) {
	r := newRailCase(t)
	id := r.begin(r.query())
	r.await(id)
	v := answer(t, r.asAdmin("auditor", "GET", "/v1/reconciliations/"+id, ""), 200)
	require.Equal(t, "done", textOf(v, "state"), v)
	findings := r.asAdmin("policy", "GET", "/v1/reconciliations/"+id+"/findings", "")
	require.Equal(t, 200, findings.Code)
	require.Equal(t, "application/x-ndjson", findings.Header().Get("Content-Type"))
	require.Equal(t, `{"class":"never_settled","fault":false,"settlement":null,"txnIds":["`+strings.Split(strings.Split(findings.Body.String(), `txnIds":["`)[1], `"`)[0]+`"]}`+"\n"+
		`{"class":"unscreened","fault":true,"settlement":"stray","txnIds":[]}`+"\n", findings.Body.String())

	summary, offline := r.offline(t, textOf(v, "result", "records", "from"), textOf(v, "result", "records", "to"), r.extract)
	data, err := r.store.Leaf(r.store.Size() - 2) // The alert about the fault is the last one.
	require.NoError(t, err)
	require.Contains(t, string(data), `"kind":"reconciliation.done"`)
	require.Contains(t, string(data), `"reconciliationId":"`+id+`","actorKeyId":"key_reviewer",`+summary[1:], "the log holds the summary, and who asked")
	require.Equal(t, findings.Body.String(), offline)
	require.JSONEq(t, summary, string(v.Get("result").MarshalTo(nil)))
	require.NotContains(t, summary, "txn_", "no record is named in what goes into the log")

	changed, _ := r.offline(t, textOf(v, "result", "records", "from"), textOf(v, "result", "records", "to"), strings.Replace(r.extract, `"7"`, `"8"`, 1))
	require.NotEqual(t, summary, changed)
	list := answer(t, r.asAdmin("auditor", "GET", "/v1/reconciliations", ""), 200)
	require.Equal(t, id, textOf(list.GetArray("data")[0], "reconciliationId"))
}

// offline does what `railguard reconcile` does with an export.
func (r *railCase) offline(t *testing.T, from, to, extract string) (summary, findings string) {
	export := r.do("auditor", "GET", "/v1/audit/export?from="+from+"&to="+to, "")
	require.Equal(t, 200, export.Code)
	run, err := reconcile.New(reconcile.Settings{Rail: "USDC", From: r.from, To: r.to, SettleWithin: engine.Second, Format: "lines"})
	require.NoError(t, err)
	report, err := examine.File(export.Body, examine.Options{Keys: r.do("", "GET", "/log/keys", "").Body.String(), KeysGiven: true, Visit: func(l *examine.Record) error {
		return run.Leaf(l.Index, l.Stored())
	}})
	require.NoError(t, err)
	require.NoError(t, run.Records(reconcile.Span{First: report.First, End: report.End, From: report.From, To: report.To}))
	require.NoError(t, run.ReadFile(strings.NewReader(extract), readLines(run)))
	result, err := run.End()
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, result.WriteFindings(&text))
	return string(result.Summary()), text.String()
}

// TestReconciliationIsAsked: who may ask, and what is refused before a job begins.
func TestReconciliationIsAsked(t *testing.T) {
	r := newRailCase(t)
	defer r.api.Close()
	for role, code := range map[string]int{"policy": 202, "reviewer": 202, "auditor": 403, "operator": 403, "screener": 403, "ops": 403} {
		w := r.asAdmin(role, "POST", r.query(), r.extract)
		require.Equal(t, code, w.Code, "%s: %s", role, w.Body)
		if code == 202 {
			r.await(textOf(answer(t, w, 202), "reconciliationId"))
		}
	}
	require.Equal(t, 403, r.asAdmin("screener", "GET", "/v1/reconciliations", "").Code)
	require.Equal(t, 404, r.asAdmin("auditor", "GET", "/v1/reconciliations/rec_none", "").Code)
	require.Equal(t, 404, r.asAdmin("auditor", "GET", "/v1/reconciliations/rec_none/findings", "").Code)
	require.Equal(t, 404, r.do("auditor", "GET", "/v1/reconciliations/rec_none", "").Code, "on the admin listener alone")
	for name, path := range map[string]string{
		"rail": r.query("rail", "PIGEON"), "from": r.query("from", "soon"), "to": r.query("to", r.from.String()), "format": r.query("format", "mt940"),
		"network": r.query("network", "eip155:1"), "assets": r.query("format", "x402", "assets", "nothing"), "skewSeconds": r.query("skewSeconds", "86401"),
		"settleWithinSeconds": r.query("settleWithinSeconds", "0"), "recordsFrom": r.query("recordsFrom", r.to.String()), "whatever": r.query("whatever", "1"),
	} {
		w := r.asAdmin("policy", "POST", path, r.extract)
		require.Equal(t, 400, w.Code, "%s: %s", name, w.Body)
	}
}

// TestReconciliationThatFails: what is no extract ends the job with its reason, and so does a leaf
// that is not written; a job that failed has no findings.
func TestReconciliationThatFails(t *testing.T) {
	r := newRailCase(t)
	r.proposeError = errors.New("no leader")
	id := r.begin(r.query())
	require.Contains(t, r.await(id), `"problem":"the log does not hold that it ended: no leader"`)
	r.proposeError = nil
	require.Equal(t, 409, r.asAdmin("auditor", "GET", "/v1/reconciliations/"+id+"/findings", "").Code)
	r.extract = `{"id":"a"}`
	require.Contains(t, r.await(r.begin(r.query())), `line 1: not a settlement`)
}

func readLines(run *reconcile.Run) func(io.Reader) error {
	return func(file io.Reader) error { return reconcile.ReadLines(file, run.Settlement) }
}
