package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reconciled is what a test reads of a summary.
type reconciled struct {
	Findings, Faults, Lines, Settlements uint64
	FindingsDigest, Account              string
	Files                                []struct{ SHA256 string }
	Records                              struct{ First, End, Payments uint64 }
	MatchedBy, Classes                   map[string]struct {
		Count  uint64
		Amount string
	}
	Because []string
}

func (r *reconciled) counts() map[string]uint64 {
	counts := map[string]uint64{}
	for name, count := range r.Classes {
		counts[name] = count.Count
	}
	return counts
}

// railWorld is a log with payments of every fate, and what a rail says of them.
type railWorld struct {
	*outsider
	token    string
	from, to time.Time
	lines    []string
	paid     int
}

const shopWallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

// pay screens a payment on a rail.
func (w *railWorld) pay(more string) string {
	w.t.Helper()
	w.paid++
	answer := w.node.must(w.t, 200, "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":%d.5,"rail":"USDC","cpWallet":"%s"%s}`, w.token, w.paid, shopWallet, more))
	return answer["txnId"].(string)
}

// line adds a settlement.
func (w *railWorld) line(amount, payee, ref string) {
	at := time.Now().UTC().Format(time.RFC3339Nano)
	w.lines = append(w.lines, fmt.Sprintf(`{"id":"l%02d","time":"%s","amount":"%s","currency":"USD","payee":"%s","refs":["%s"]}`, len(w.lines), at, amount, payee, ref))
}

// amount is the amount of the last payment.
func (w *railWorld) amount() string { return fmt.Sprintf("%d.5", w.paid) }

// export waits until the time is over, and exports all of it.
func (w *railWorld) export(name string, more ...string) string {
	w.to = time.Now().UTC().Add(1100 * time.Millisecond).Truncate(time.Millisecond)
	require.Eventually(w.t, func() bool { return time.Now().After(w.to) }, 10*time.Second, 10*time.Millisecond)
	w.node.must(w.t, 200, "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":1,"rail":"ACH"}`, w.token)) // Log time passes the end, too.
	w.checkpoint(w.now.Size)
	w.ask(append([]string{"audit", "export", "--file", w.in(name), "--url", w.server.URL, "--key", groupKey, "--data", w.in("none")}, more...)...)
	return w.in(name)
}

func (w *railWorld) args(export string, files ...string) []string {
	return append([]string{"reconcile", "--rail", "usdc", "--from", w.from.Format(time.RFC3339Nano), "--to", w.to.Format(time.RFC3339Nano), "--settle-within", "1s", "--skew", "0s",
		"--export", export, "--keys", w.keys}, files...)
}

func newRailWorld(t *testing.T) *railWorld {
	o := newOutsider(t)
	answer := o.node.must(t, 201, "POST", "/v1/agents/register", `{"agentName":"payer","agentType":"supervised","operatorLegalName":"Quiet Harbour Bakery","purpose":"pays","spendPolicy":{"maxSingleTxUSDC":1000}}`)
	return &railWorld{outsider: o, token: answer["token"].(string), from: time.Now().UTC().Truncate(time.Millisecond)}
}

// fates makes payments of every fate that leaves of today tell.
func (w *railWorld) fates() {
	must := func(path, body string) { w.t.Helper(); w.node.must(w.t, 200, "POST", path, body) }
	hold := `,"hold":{"ttlSeconds":600}`
	paid := w.pay(hold)
	must("/v1/transactions/"+paid+"/settle", `{"amount":`+w.amount()+`,"railRef":"0xFEED01"}`)
	w.line(w.amount(), strings.ToLower(shopWallet), "0xfeed01")
	w.pay(`,"paymentRef":"inv-2"`)
	w.line(w.amount(), shopWallet, "inv-2")
	w.pay("")
	w.line(w.amount(), shopWallet, "") // inferred
	released := w.pay(hold)
	code, answer := serveCall(w.node.api.Handler(), w.node.newKey(w.t, `{"name":"rail","roles":["settler"]}`), "POST", "/v1/transactions/"+released+"/release", `{"reason":"payment_failed"}`)
	require.Equal(w.t, 200, code, "%v", answer)
	time.Sleep(5 * time.Millisecond) // The clocks' skew is 0 here: the payment is surely later.
	w.line(w.amount(), shopWallet, "for "+released)
	w.line("3", shopWallet, "nobody asked") // unscreened
	blocked := w.pay(`,"payerWallet":"0x098B716B8Aaf21512996dC57EB0615e2383E2f96"`)
	w.line(w.amount(), shopWallet, blocked)
	told := w.pay(hold)
	must("/v1/transactions/"+told+"/settle", `{"amount":`+w.amount()+`,"railRef":"0xFEED07"}`)
	review := w.node.must(w.t, 200, "POST", "/v1/screen", fmt.Sprintf(`{"token":"%s","amount":6000,"rail":"USDC","cpWallet":"%s"}`, w.token, shopWallet))["txnId"].(string)
	must("/v1/reviews/"+review, `{"disposition":"APPROVED","reviewedBy":"carla","notes":"invoice 4711"}`)
	time.Sleep(5 * time.Millisecond)
	w.line("6000", shopWallet, review)
	other := w.pay("")
	w.line(w.amount(), "0x000000000000000000000000000000000000dEaD", other)
	w.pay("")                                                                         // never settled
	w.node.must(w.t, 200, "POST", "/v1/screen", `{"token":"`+w.token+`","amount":7}`) // No rail: never missed.
}

// Payments of every fate, exported and compared offline with what a rail says of them.
func TestReconcile(t *testing.T) {
	w := newRailWorld(t)
	w.fates()
	export := w.export("export.ndjson")
	extract := w.write("extract.ndjson", strings.Join(w.lines, "\n")+"\n")
	findings := w.in("findings.ndjson")
	out, code, err := run(t, append(w.args(export, extract), "--json", "--findings", findings)...)
	require.ErrorContains(t, err, "faults were found: 5")
	require.Equal(t, exitFaults, code)
	var r reconciled
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	require.Equal(t, map[string]uint64{"after_end": 1, "unscreened": 1, "not_allowed": 1, "told_not_found": 1, "payee": 1, "never_settled": 1, "inferred": 1}, r.counts(), out+readFile(t, findings))
	require.Equal(t, "3", r.Classes["unscreened"].Amount)
	require.Equal(t, uint64(1), r.MatchedBy["railRef"].Count)
	require.Equal(t, uint64(1), r.MatchedBy["paymentRef"].Count)
	require.Equal(t, []string{"extract_unauthenticated", "inferred", "unwitnessed"}, r.Because)
	sum := sha256.Sum256([]byte(readFile(t, findings)))
	require.Equal(t, hex.EncodeToString(sum[:]), r.FindingsDigest)
	sum = sha256.Sum256([]byte(readFile(t, extract)))
	require.Equal(t, hex.EncodeToString(sum[:]), r.Files[0].SHA256)

	again, _, _ := run(t, append(w.args(export, extract), "-o", "json")...)
	require.Equal(t, out, again, "the same bytes")
	people, _, _ := run(t, w.args(export, extract)...)
	for _, says := range []string{"5 FAULT(S): USDC from ", "FAULT unscreened", "notice never_settled", "paid to another account than allowed", "NOT shown:  that the rail made these files"} {
		require.Contains(t, people, says)
	}
	require.NotContains(t, people, " gap ")

	forged := strings.Replace(readFile(t, export), `"type":"end"`, `"type":"end","more":1`, 1)
	w.refused(exitFailed, "not proven", w.args(w.write("forged", forged), extract)...)
	w.refused(exitUsage, "not a proof or an export", w.args(extract, extract)...)
	w.refused(exitUsage, "not a known member", w.args(export, w.write("wrong", `{"id":"a","time":"2026-11-23","amount":"1","currency":"USD","memo":"x"}`))...)
	w.refused(exitUsage, "expected the FILE", w.args(export)...)

	// A time that the export does not cover is a gap.
	w.to = w.to.Add(time.Hour)
	out, _, _ = run(t, append(w.args(export, extract), "--json")...)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, uint64(1), r.counts()["gap"], out)
}

// What agrees ends with 0; an export of one agent alone is refused.
func TestReconcileWithoutFaults(t *testing.T) {
	w := newRailWorld(t)
	txn := w.pay("")
	w.line(w.amount(), shopWallet, txn)
	agent := w.node.must(t, 200, "GET", "/v1/audit/"+txn, "")["agentId"].(string)
	export := w.export("export.ndjson")
	extract := w.write("extract.ndjson", strings.Join(w.lines, "\n"))
	require.Contains(t, w.ask(w.args(export, extract)...), "NO FAULT: USDC from ")
	for format, more := range map[string][]string{"x402": nil, "erc20": {"--network", "eip155:8453"}} {
		args := append(w.args(export, "../../audit/reconcile/formats/testdata/"+format+".ndjson"), "--json", "--format", format)
		out, code, _ := run(t, append(args, more...)...)
		require.Equal(t, exitFaults, code, out)
		require.Contains(t, out, `"eip155:8453/erc20:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"`)
		require.Contains(t, out, `"unscreened":{"count":`, out)
	}
	w.refused(exitUsage, "only the records of one agent", w.args(w.export("agent.ndjson", "--agent", agent), extract)...)
	for says, args := range map[string][]string{
		"--rail must be":    {"--from", "2026-01-01", "--to", "2026-01-02", "--rail", "PIGEON"},
		"--from and --to":   {"--rail", "ACH"},
		"--export is":       {"--rail", "ACH", "--from", "2026-01-01", "--to", "2026-01-02"},
		"--keys is":         {"--rail", "ACH", "--from", "2026-01-01", "--to", "2026-01-02", "--export", export},
		"from must be":      {"--rail", "ACH", "--from", "2026-01-02", "--to", "2026-01-02", "--export", export, "--keys", w.keys},
		"belong to":         {"--rail", "ACH", "--from", "2026-01-01", "--to", "2026-01-02", "--export", export, "--keys", w.keys, "--network", "eip155:1"},
		"not a format":      {"--rail", "ACH", "--from", "2026-01-01", "--to", "2026-01-02", "--export", export, "--keys", w.keys, "--format", "mt940"},
		"must be 0 to 24 h": {"--rail", "ACH", "--from", "2026-01-01", "--to", "2026-01-02", "--export", export, "--keys", w.keys, "--skew", "25h"},
	} {
		w.refused(exitUsage, says, append([]string{"reconcile", extract}, args...)...)
	}
}
