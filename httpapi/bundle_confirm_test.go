package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/bundle"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// newList puts another list in force.
func (w *bankWeek) newList(content string) {
	w.t.Helper()
	id := w.upload("SDN.CSV", content)
	answer(w.t, w.doAdmin("POST", "/v1/ofac/"+id+"/activate", `{"force":true,"reason":"r"}`), 200)
}

// paidWeek is a log with payments that were confirmed and redeemed: after another list came into
// force, on another day, after an officer approved them, and when they were a BLOCK by then. middle is
// a time behind all screening calls.
func paidWeek(t *testing.T) (w *bankWeek, agent, middle string, txns map[string]string) {
	w = &bankWeek{testNode: listNode(t)}
	w.addSettler()
	agent, token := w.registered(`,"spendPolicy":{"maxSingleTxUSDC":100}`)
	pay := func(verdict, body string) string {
		return textOf(w.screened(verdict, `{"token":"`+token+`",`+body+`}`), "txnId")
	}
	txns = map[string]string{
		"another list": pay("PROCEED", `"amount":1,"cpName":"Quiet Harbour Bakery"`),
		"listed":       pay("PROCEED", `"amount":2,"cpName":"Zebulon Quartermaine"`),
		"approved":     pay("REVIEW", `"amount":101,"cpName":"Acme Ltd"`),
		"suspended":    pay("PROCEED", `"amount":3,"cpName":"Acme Ltd"`),
	}
	permit := textOf(w.screened("PROCEED", `{"token":"`+token+`",`+permittedPayment+`,"permit":{}}`), "permit")
	answer(t, w.do("reviewer", "POST", "/v1/reviews/"+txns["approved"], `{"disposition":"APPROVED","reviewedBy":"nia","notes":"fine"}`), 200)
	w.advance(engine.Minute)
	middle = w.now.String()
	answer(t, w.do("screener", "POST", "/v1/permits/redeem", redeemBody(permit, "")), 200)
	w.newList("2026-03-20;ZEBULON QUARTERMAINE;" + manyNames(33))
	verdict := func(name, body string) string {
		return textOf(answer(t, w.confirmed(txns[name], body), 200), "verdict")
	}
	require.Equal(t, "PROCEED", verdict("another list", `{}`))
	require.Equal(t, "BLOCK", verdict("listed", `{}`))
	day := w.now.Day()
	w.advance(23 * engine.Hour)
	require.NotEqual(t, day, w.now.Day())
	w.confirmList()
	require.Equal(t, "PROCEED", verdict("approved", `{"redeem":true}`))
	answer(t, w.do("operator", "POST", "/v1/agents/"+agent+"/revoke", `{"reason":"stolen"}`), 200)
	require.Equal(t, "BLOCK", verdict("suspended", `{}`))
	return w, agent, middle, txns
}

// paidCount is how many leaves of confirmations paidWeek has.
const paidCount = 5

// TestBundlesJudgeConfirmations: a bundle has what each confirmation and redemption was judged with, and
// they come out as recorded, in a bundle of all, of a time in which no call was screened, and of one
// agent.
func TestBundlesJudgeConfirmations(t *testing.T) {
	w, agent, middle, _ := paidWeek(t)
	for query, decisions := range map[string]int{"": 5, "?from=" + middle: 0, "?agentId=" + agent: 5, "?agentId=" + agent + "&from=" + middle: 0} {
		dir, keys := w.bundleOf(query)
		lists := w.putLists(dir)
		require.Len(t, lists, 2, query)
		require.NoError(t, bundle.Finish(dir, bundleMaker, nil))
		report, err := bundle.Verify(dir, keys)
		require.NoError(t, err, query)
		require.Equal(t, bundle.Confirmations{Same: paidCount}, report.Replay.Confirmations, query)
		require.Equal(t, decisions, report.Replay.Same, query)
		require.Equal(t, lists, report.Lists, query)
		require.NotEmpty(t, report.Policies)
		var table struct{ Decisions, Confirmations int }
		text, err := os.ReadFile(filepath.Join(dir, "bundle.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &table))
		require.Equal(t, [2]int{decisions, paidCount}, [2]int{table.Decisions, table.Confirmations})
		for _, digest := range lists {
			name := bundle.ListFolder + "/" + digest + bundle.ListSuffix
			require.NoError(t, os.Rename(filepath.Join(dir, name), filepath.Join(t.TempDir(), "list")))
			j := bundle.JudgeSource(bundle.Folder(dir), bundle.Options{Keys: keys, Carried: true})
			require.ErrorContains(t, j.Err, name+": is missing", query)
			w.putLists(dir)
		}
	}
}

// TestAPaymentStandsBesideItsConfirmation: nobody can take it out of a file, or put another one in its
// place. Only one from before the file may be missing, and then that is said.
func TestAPaymentStandsBesideItsConfirmation(t *testing.T) {
	w, _, middle, _ := paidWeek(t)
	altered := func(query string, alter func(line map[string]json.RawMessage)) (*bundle.Report, error) {
		dir, keys := w.bundleOf(query)
		path := filepath.Join(dir, bundle.RecordsName)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(line), &members))
			if members["payment"] != nil {
				alter(members)
				raw, err := json.Marshal(members)
				require.NoError(t, err)
				line = string(raw) + "\n"
			}
			out.WriteString(line)
		}
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
		if _, _, err := bundle.RequiredLists(dir); err != nil {
			return nil, err
		}
		w.putLists(dir)
		require.NoError(t, bundle.Finish(dir, bundleMaker, nil))
		return bundle.Verify(dir, keys)
	}
	remove := func(line map[string]json.RawMessage) { delete(line, "payment") }
	_, err := altered("", remove)
	require.ErrorContains(t, err, "whose record is not beside it")
	report, err := altered("?from="+middle, remove)
	require.NoError(t, err)
	require.Equal(t, bundle.Confirmations{NoPayment: paidCount}, report.Replay.Confirmations)
	_, open := report.Sentences()
	require.Contains(t, strings.Join(open, "\n"), "5 confirmations and redemptions cannot be judged again: the record of their payment is from before this bundle")
	var first json.RawMessage
	_, err = altered("", func(line map[string]json.RawMessage) {
		if first == nil {
			first = line["payment"]
		}
		line["payment"] = first
	})
	require.ErrorContains(t, err, "beside it stands")
	for says, alter := range map[string]func(payment map[string]json.RawMessage){
		"leafHash of record": func(p map[string]json.RawMessage) {
			p["leafHash"] = json.RawMessage(`"` + strings.Repeat("A", 43) + `="`)
		},
		"is not in the sign":   func(p map[string]json.RawMessage) { p["path"] = json.RawMessage(`[]`) },
		"unknown member \"x\"": func(p map[string]json.RawMessage) { p["x"] = json.RawMessage(`1`) },
	} {
		_, err = altered("", func(line map[string]json.RawMessage) {
			var payment map[string]json.RawMessage
			require.NoError(t, json.Unmarshal(line["payment"], &payment))
			alter(payment)
			line["payment"], err = json.Marshal(payment)
			require.NoError(t, err)
		})
		require.ErrorContains(t, err, says)
	}
}

// TestALieAboutAConfirmation: what a log that is signed and whole says of a confirmation, and its rules do
// not, is found by a bundle and by a replay.
func TestALieAboutAConfirmation(t *testing.T) {
	w, _, _, txns := paidWeek(t)
	number := func(name string, to uint64) func(said string, x *leafjson.Screen) string {
		return func(said string, _ *leafjson.Screen) string {
			at := strings.Index(said, `"`+name+`":`) + len(name) + 3
			return said[:at] + strconv.FormatUint(to, 10) + said[at+strings.IndexAny(said[at:], ",}"):]
		}
	}
	for what, c := range map[string]struct {
		txn, says, field string
		lie              func(said string, x *leafjson.Screen) string
	}{
		"leave for one who is listed": {"listed", "recorded PROCEED , decided again BLOCK R7_COUNTERPARTY_NAME_OFAC", "verdict", func(said string, x *leafjson.Screen) string {
			x.Verdict, x.Rule, x.Sub, x.Triggered = engine.Proceed, 0, 0, 0
			return strings.Replace(strings.Replace(said, `"verdict":"BLOCK"`, `"verdict":"PROCEED"`, 1), `"rule":"R7_COUNTERPARTY_NAME_OFAC",`, "", 1)
		}},
		"a leaf beside its judgement": {"listed", "leaf.verdict is recorded as PROCEED, and can only be BLOCK", "leaf.verdict", func(said string, _ *leafjson.Screen) string {
			return strings.Replace(said, `"verdict":"BLOCK"`, `"verdict":"PROCEED"`, 1)
		}},
		"the list is not asked": {"listed", "leaf.leftOut is recorded as ", "leaf.leftOut", func(said string, x *leafjson.Screen) string {
			x.Verdict, x.Rule, x.Sub, x.Triggered, x.Idle = engine.Proceed, 0, 0, 0, 1<<engine.RulePartyName
			said = strings.Replace(strings.Replace(said, `"verdict":"BLOCK"`, `"verdict":"PROCEED"`, 1), `"rule":"R7_COUNTERPARTY_NAME_OFAC",`, "", 1)
			return number("leftOut", uint64(x.Paid.Said.LeftOut)|1<<engine.RulePartyName)(said, x)
		}},
		"another list":      {"another list", "leaf.listVersion is recorded as 99", "leaf.listVersion", number("listVersion", 99)},
		"another policy":    {"another list", "leaf.policyVersion is recorded as 99", "leaf.policyVersion", number("policyVersion", 99)},
		"another amount":    {"approved", "leaf.amount is recorded as 1, and can only be 101000000", "leaf.amount", func(said string, x *leafjson.Screen) string { x.Amount = 1; return said }},
		"of an agent alive": {"suspended", "recorded BLOCK R2_CREDENTIAL_STATUS, decided again PROCEED", "verdict", func(said string, x *leafjson.Screen) string { x.Levels[0].Status = engine.Active; return said }},
		"nobody approved it": {"approved", "leaf.approved is recorded as false, and can only be true", "leaf.approved", func(said string, _ *leafjson.Screen) string {
			return strings.Replace(said, `"approved":true`, `"approved":false`, 1)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			w.t = t
			w.rewrite(w.withLie(t, txns[c.txn], c.lie))
			_, err := w.verify()
			require.ErrorContains(t, err, "1 decisions come out otherwise when they are made again: "+txns[c.txn])
			require.ErrorContains(t, err, c.says)
			again := answer(t, w.do("auditor", "POST", "/v1/audit/"+txns[c.txn]+"/replay", ""), 200)
			require.True(t, again.GetBool("match"), "the payment's own record is as it was")
			last := again.GetArray("confirmations")
			require.Len(t, last, 1)
			require.False(t, last[0].GetBool("match"))
			require.Contains(t, last[0].Get("diff").String(), `"field":"`+c.field+`"`)
		})
	}
}

// withLie returns the leaves of a log that says something else of a confirmation.
func (w *bankWeek) withLie(t *testing.T, txn string, lie func(said string, x *leafjson.Screen) string) []audit.Leaf {
	leaves := append([]audit.Leaf(nil), w.written...)
	for i := range leaves {
		var x leafjson.Screen
		if leaf.FormOf(leaves[i].Data) != leaf.FormEvent || x.OpenPaid(leaves[i].Data) != nil || x.TxnID() != txn {
			continue
		}
		said := lie(string(leaves[i].Data), &x)
		judged := base64.StdEncoding.EncodeToString(leaf.AppendScreen(nil, &x.Screen))
		told := strings.Replace(said, x.Paid.Said.Judged, judged, 1)
		require.NotEqual(t, string(leaves[i].Data), told)
		leaves[i].Data = []byte(told)
		return leaves
	}
	t.Fatal("no confirmation of ", txn)
	return nil
}
