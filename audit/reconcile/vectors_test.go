package reconcile

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/strictjson"
)

// vectorRecord is a record of testdata/records.ndjson.
type vectorRecord struct {
	TxnID, Verdict, ScreenedAt, Amount, Payee, Payer, PaymentRef, Nonce string
	Disposition, DisposedAt, RedeemedAt, LapsesAt                       string
	End                                                                 *struct{ State, At, Amount, RailRef string }
}

func instant(t testing.TB, text string) engine.Time {
	if text == "" {
		return 0
	}
	at, ok := strictjson.ParseTime(text)
	require.True(t, ok, text)
	return at
}

var verdicts = map[string]engine.Verdict{"PROCEED": engine.Proceed, "REVIEW": engine.Review, "BLOCK": engine.Block, "UNKNOWN": engine.Unknown}

// take adds a record of the vectors to a run.
func (v *vectorRecord) take(t testing.TB, r *Run) {
	dollars := func(text string) engine.USD {
		amount, err := engine.ParseUSD(text)
		require.NoError(t, err)
		return amount
	}
	verdict, known := verdicts[v.Verdict]
	require.True(t, known)
	require.NoError(t, r.addRecord(&Record{
		TxnID: v.TxnID, Verdict: verdict, ScreenedAt: instant(t, v.ScreenedAt), Amount: dollars(v.Amount), Payee: Account(v.Payee), Payer: Account(v.Payer),
		PaymentRef: v.PaymentRef, Nonce: v.Nonce,
	}))
	at, _ := r.indexOf(v.TxnID)
	row := &r.records[at]
	row.approved, row.redeemed = v.Disposition == "APPROVED", v.RedeemedAt != ""
	row.disposedAt, row.lapsesAt = instant(t, v.DisposedAt), instant(t, v.LapsesAt)
	if v.End == nil {
		return
	}
	if v.End.State == "settled" {
		r.settleRecord(at, dollars(v.End.Amount), v.End.RailRef)
		return
	}
	if state := endings[v.End.State]; state.ended {
		row.endedAt = instant(t, v.End.At)
		if state.released {
			row.releasedAt = row.endedAt
		}
	}
}

// vectorRun is a run of testdata whose records are taken.
func vectorRun(t *testing.T) *Run {
	var options struct {
		From, To                         string
		SkewSeconds, SettleWithinSeconds engine.Time
	}
	text, err := os.ReadFile("testdata/options.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &options))
	r, err := New(Settings{
		Rail: "USDC", From: instant(t, options.From), To: instant(t, options.To),
		Skew: options.SkewSeconds * engine.Second, SettleWithin: options.SettleWithinSeconds * engine.Second,
	})
	require.NoError(t, err)
	records, err := os.ReadFile("testdata/records.ndjson")
	require.NoError(t, err)
	for line := range bytes.Lines(records) {
		var v vectorRecord
		require.NoError(t, json.Unmarshal(line, &v))
		v.take(t, r)
	}
	return r
}

// expected is what the reference gives.
type expected struct {
	Lines, Settlements uint64
	MatchedBy, Classes map[string]uint64
	Findings           []map[string]any
}

// resultOf is a result in the form of the reference.
func resultOf(t testing.TB, result *Result) (e expected) {
	e = expected{Lines: result.run.lines, Settlements: result.run.paymentCount, MatchedBy: map[string]uint64{}, Classes: map[string]uint64{}}
	for w, count := range result.run.matched {
		if count.Number > 0 {
			e.MatchedBy[wayNames[w]] = count.Number
		}
	}
	for c := range classCount {
		if n := result.CountOf(c).Number; n > 0 {
			e.Classes[c.String()] = n
		}
	}
	var text bytes.Buffer
	require.NoError(t, result.WriteFindings(&text))
	for line := range bytes.Lines(text.Bytes()) {
		var f map[string]any
		require.NoError(t, json.Unmarshal(line, &f), string(line))
		e.Findings = append(e.Findings, f)
	}
	return e
}

// TestVectors: the published records and extract give the published result, each of its classes.
func TestVectors(t *testing.T) {
	r := vectorRun(t)
	extract, err := os.Open("testdata/extract.ndjson")
	require.NoError(t, err)
	defer extract.Close()
	require.NoError(t, ReadLines(extract, r.Settlement))
	result, err := r.End()
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/expected.json")
	require.NoError(t, err)
	var want expected
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, resultOf(t, result))
}

// TestOrderChangesNothing: whatever the order of an extract's lines, findings and sums are the same.
func TestOrderChangesNothing(t *testing.T) {
	extract, err := os.ReadFile("testdata/extract.ndjson")
	require.NoError(t, err)
	var lines [][]byte
	for line := range bytes.Lines(extract) {
		lines = append(lines, line)
	}
	var first []byte
	for shift := range lines {
		r := vectorRun(t)
		for i := range lines {
			at := (shift*7 + i*13) % len(lines) // 13 and 38 have no common divisor.
			require.NoError(t, ReadLines(bytes.NewReader(lines[at]), r.Settlement))
		}
		result, err := r.End()
		require.NoError(t, err)
		var findings bytes.Buffer
		require.NoError(t, result.WriteFindings(&findings))
		told := append(result.Summary(), findings.Bytes()...)
		if first == nil {
			first = told
		}
		require.Equal(t, string(first), string(told))
	}
}

// TestClassesAreOrdered: the numbers of the classes have the order of their names, in which
// findings are told.
func TestClassesAreOrdered(t *testing.T) {
	for c := Class(1); c < classCount; c++ {
		require.Less(t, (c - 1).String(), c.String())
	}
}
