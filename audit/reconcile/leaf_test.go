package reconcile

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// testDay is 2026-11-23.
const testDay = 1795392000 * engine.Second

func testSettings() Settings {
	return Settings{Rail: "USDC", From: testDay, To: testDay + engine.DayLength, Skew: SkewDefault, SettleWithin: SettleWithinChain}
}

// logOf gives a run leaves as the log has them.
type logOf struct {
	t     *testing.T
	run   *Run
	index uint64
}

func newLogOf(t *testing.T, settings Settings) *logOf {
	run, err := New(settings)
	require.NoError(t, err)
	return &logOf{t: t, run: run}
}

// screen adds a screening record; members are literals of its request.
func (l *logOf) screen(txn string, verdict engine.Verdict, dollars engine.USD, members map[leaf.Tag]string) {
	var f leaf.Fragment
	for tag := leaf.TagAmount; tag <= leaf.TagIdentifiers; tag++ {
		if text, given := members[tag]; given {
			f.Set(tag, []byte(text))
		}
	}
	s := leaf.Screen{Rules: 1, Leaf: l.index, At: testDay + 10*engine.Hour, Verdict: verdict, Edge: f.Append([]byte{})}
	s.Judged, s.Sequence, s.Amount = true, 1, dollars*engine.Dollar
	copy(s.Txn[:], txn)
	require.NoError(l.t, l.run.Leaf(l.index, leaf.AppendScreen(nil, &s)))
	l.index++
}

// event adds an event's leaf.
func (l *logOf) event(kind, members string) {
	require.NoError(l.t, l.run.Leaf(l.index, []byte(fmt.Sprintf(`{"kind":"%s","time":"2026-11-23T10:30:00.000Z",%s}`, kind, members))))
	l.index++
}

// pay adds a settlement, an hour and a half after midday's leave.
func (l *logOf) pay(id, at string, dollars engine.USD, refs ...string) {
	require.NoError(l.t, l.run.Settlement(&Settlement{ID: id, Time: at, Amount: Amount{Micro: dollars * engine.Dollar}, Currency: "USD", Refs: refs}))
}

// found ends the run and returns its findings as class, settlement and records.
func (l *logOf) found() (found []string) {
	result, err := l.run.End()
	require.NoError(l.t, err)
	for i := range l.run.findings {
		f := &l.run.findings[i]
		text := strings.TrimSpace(f.class.String() + " " + string(l.run.settlementID(f)))
		for _, record := range l.run.recordsOf(f) {
			text += " " + string(l.run.records[record].txn[:])
		}
		found = append(found, text)
	}
	require.Equal(l.t, int(result.Findings), len(found))
	return found
}

func rail(name string) map[leaf.Tag]string {
	return map[leaf.Tag]string{leaf.TagRail: `"` + name + `"`}
}

// TestLeavesBecomeRecords: what each leaf about a payment changes.
func TestLeavesBecomeRecords(t *testing.T) {
	const txn = `"txnId":"txn_aaaaaaaa","screenedLeaf":0,"recordPrevious":0`
	end := func(state string, amount int) string {
		return fmt.Sprintf(`%s,"state":"%s","amount":%d`, txn, state, amount)
	}
	settled := func(amount int, more string) string {
		return end("settled", amount) + `,"countedUSDC":5,"railRef":"0xFEED"` + more
	}
	review := `"txnId":"txn_aaaaaaaa","reviewedLeaf":0,"recordPrevious":0,"reviewedAt":"2026-11-23T10:20:00.000Z","sarEscalated":false,"disposition":`
	early, mid, after := "2026-11-23T10:10:00Z", "2026-11-23T10:29:00Z", "2026-11-23T10:50:00Z"
	for name, c := range map[string]struct {
		verdict engine.Verdict
		events  [][2]string
		at      string
		dollars engine.USD
		found   []string
	}{
		"nothing":              {engine.Proceed, nil, early, 5, nil},
		"settled":              {engine.Proceed, [][2]string{{"hold.settled", settled(5, "")}}, early, 5, []string{"told_otherwise s aaaaaaaa"}},
		"settled for less":     {engine.Proceed, [][2]string{{"hold.settled", settled(4, "")}}, early, 5, []string{"amount s aaaaaaaa"}},
		"released before":      {engine.Proceed, [][2]string{{"hold.released", end("released", 5)}}, after, 5, []string{"after_end s aaaaaaaa"}},
		"released after":       {engine.Proceed, [][2]string{{"hold.released", end("released", 5)}}, mid, 5, nil},
		"expired":              {engine.Proceed, [][2]string{{"due", `"type":"hold.expired",` + end("expired", 5) + `,"expiredAt":"2026-11-23T10:15:00.000Z"`}}, mid, 5, []string{"after_end s aaaaaaaa"}},
		"expired a moment ago": {engine.Proceed, [][2]string{{"due", `"type":"hold.expired",` + end("expired", 5) + `,"expiredAt":"2026-11-23T10:24:00.000Z"`}}, mid, 5, nil},
		"unresolved":           {engine.Proceed, [][2]string{{"due", `"type":"hold.unresolved",` + end("unresolved", 5) + `,"expiredAt":"2026-11-23T10:15:00.000Z"`}}, mid, 5, nil},
		"told late, paid late": {engine.Proceed, [][2]string{{"hold.released", end("released", 5)}, {"hold.settled", settled(5, `,"late":true`)}}, after, 5, []string{"after_end s aaaaaaaa"}},
		"told in time":         {engine.Proceed, [][2]string{{"hold.released", end("released", 5)}, {"hold.settled", settled(5, "")}}, after, 5, []string{"told_otherwise s aaaaaaaa"}},
		"under review":         {engine.Review, nil, mid, 5, []string{"not_allowed s aaaaaaaa"}},
		"rejected":             {engine.Review, [][2]string{{"review.dispositioned", review + `"REJECTED"`}}, mid, 5, []string{"not_allowed s aaaaaaaa"}},
		"approved":             {engine.Review, [][2]string{{"review.dispositioned", review + `"APPROVED"`}}, mid, 5, nil},
		"paid before approval": {engine.Review, [][2]string{{"review.dispositioned", review + `"APPROVED"`}}, early, 5, []string{"before_verdict s aaaaaaaa"}},
		"the approval lapsed":  {engine.Review, [][2]string{{"review.dispositioned", review + `"APPROVED","payBy":"2026-11-23T10:40:00.000Z"`}}, after, 5, []string{"after_end s aaaaaaaa"}},
		"blocked":              {engine.Block, nil, mid, 5, []string{"not_allowed s aaaaaaaa"}},
		"somebody commented":   {engine.Proceed, [][2]string{{"review.commented", `"txnId":"txn_aaaaaaaa","reviewedLeaf":0,"recordPrevious":0`}}, mid, 5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLogOf(t, testSettings())
			l.screen("aaaaaaaa", c.verdict, 5, rail("USDC"))
			for _, event := range c.events {
				l.event(event[0], event[1])
			}
			l.pay("s", c.at, c.dollars, "txn_aaaaaaaa")
			require.Equal(t, c.found, l.found())
		})
	}
}

// TestWhoseRecordsCount: records of another rail or payer are left out; what a record does not
// say excludes nothing.
func TestWhoseRecordsCount(t *testing.T) {
	const payer = "0x00000000000000000000000000000000000000Aa"
	settings := testSettings()
	settings.Rail, settings.Payer = "usdc", payer
	l := newLogOf(t, settings)
	from := func(account string) map[leaf.Tag]string {
		return map[leaf.Tag]string{leaf.TagRail: `"USDC"`, leaf.TagPayer: `"` + account + `"`}
	}
	l.screen("aaaaaaaa", engine.Proceed, 5, from(strings.ToLower(payer)))
	l.screen("bbbbbbbb", engine.Proceed, 5, from("0x00000000000000000000000000000000000000bb"))
	l.screen("cccccccc", engine.Proceed, 5, rail("ACH"))
	l.screen("dddddddd", engine.Proceed, 5, nil)
	l.screen("eeeeeeee", engine.Proceed, 5, rail("USDC"))
	l.pay("1", "2026-11-23T10:10:00Z", 5, "txn_cccccccc")
	require.NoError(t, l.run.Settlement(&Settlement{ID: "2", Time: "2026-11-23T10:10:00Z", Currency: "USD", Payer: "0x00000000000000000000000000000000000000bb"}))
	require.Equal(t, []string{"never_settled aaaaaaaa", "never_settled eeeeeeee", "unscreened 1"}, l.found())
	require.Equal(t, uint64(1), l.run.aside.otherPayer)
	summary := string((&Result{run: l.run}).Summary())
	require.NotContains(t, strings.ToLower(summary), strings.ToLower(payer), "an account is told as its hash")
	require.Contains(t, summary, `"account":"`)
}

// TestAClaimAllowsNoSecondPayment: an x402 payment has a record that holds it, and one by which its
// settlement is claimed. Who pays the same once more past the guard is found.
func TestAClaimAllowsNoSecondPayment(t *testing.T) {
	const shop = "0x00000000000000000000000000000000000000cc"
	l := newLogOf(t, testSettings())
	of := func(reference string) map[leaf.Tag]string {
		return map[leaf.Tag]string{leaf.TagRail: `"USDC"`, leaf.TagWallet: `"` + shop + `"`, leaf.TagPayment: `"` + reference + `"`}
	}
	l.screen("aaaaaaaa", engine.Proceed, 5, of("x402:payment:1"))
	l.screen("bbbbbbbb", engine.Proceed, 5, of("x402:settlement:1"))
	l.event("hold.settled", `"txnId":"txn_aaaaaaaa","screenedLeaf":0,"recordPrevious":0,"state":"settled","amount":5,"countedUSDC":5,"railRef":"0xFEED"`)
	l.screen("cccccccc", engine.Proceed, 6, of("x402:settlement:2"))
	l.event("hold.settled", `"txnId":"txn_cccccccc","screenedLeaf":3,"recordPrevious":3,"state":"settled","amount":6,"countedUSDC":6,"railRef":"0xDEED"`)
	l.pay("1", "2026-11-23T10:10:00Z", 5, "0xfeed")
	require.NoError(t, l.run.Settlement(&Settlement{ID: "2", Time: "2026-11-23T10:10:00Z", Amount: Amount{Micro: 5 * engine.Dollar}, Currency: "USD", Payee: shop}))
	require.Equal(t, []string{"told_not_found cccccccc", "unscreened 2"}, l.found())
}

// TestPayeesOfBanks: an IBAN or an account number among the identifiers is the payee.
func TestPayeesOfBanks(t *testing.T) {
	settings := testSettings()
	settings.Rail, settings.SettleWithin = "SWIFT", SettleWithinOthers
	l := newLogOf(t, settings)
	told := func(identifiers string) map[leaf.Tag]string {
		return map[leaf.Tag]string{leaf.TagRail: `"SWIFT"`, leaf.TagIdentifiers: identifiers}
	}
	l.screen("aaaaaaaa", engine.Proceed, 5, told(`[{"type":"lei","value":"529900T8BM49AURSDO55"},{"type":"iban","value":"gb33 bukb 2020 1555 5555 55"}]`))
	l.screen("bbbbbbbb", engine.Proceed, 6, told(`[{"type":"account","value":"12345678"}]`))
	for i, payee := range []string{"iban:GB33BUKB20201555555555", "account:12345678"} {
		require.NoError(t, l.run.Settlement(&Settlement{ID: payee, Time: "2026-11-23", Amount: Amount{Micro: engine.USD(5+i) * engine.Dollar}, Currency: "USD", Payee: payee}))
	}
	require.Equal(t, []string{"inferred account:12345678 bbbbbbbb", "inferred iban:GB33BUKB20201555555555 aaaaaaaa"}, l.found())
}

// TestRecordsMustCoverTheTime: a time of which records are missing is a gap.
func TestRecordsMustCoverTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		from, to string
		gaps     int
	}{
		"all":          {"2026-11-22T23:00:00.000Z", "2026-11-23T23:59:59.999Z", 0},
		"begins late":  {"2026-11-22T23:00:00.001Z", "2026-11-24T00:00:00.000Z", 1},
		"ends early":   {"2026-11-22T23:00:00.000Z", "2026-11-23T23:59:59.998Z", 1},
		"much of both": {"2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLogOf(t, testSettings())
			require.NoError(t, l.run.Records(Span{From: c.from, To: c.to}))
			require.Len(t, l.found(), c.gaps)
		})
	}
}

// TestSettlementsAreReadStrictly: what is refused of a line, each at its boundary.
func TestSettlementsAreReadStrictly(t *testing.T) {
	line := func(change ...string) string {
		return strings.NewReplacer(change...).Replace(`{"id":"a","time":"2026-11-23T10:00:00Z","amount":"1","currency":"USD","refs":["r"]}`)
	}
	refs := func(n int) string { return strings.Repeat(`"r",`, n-1) + `"r"` }
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"usual":             {line(), true},
		"a date":            {line("T10:00:00Z", ""), true},
		"18 decimals":       {line(`"1"`, `"0.000000000000000001"`), true},
		"19 decimals":       {line(`"1"`, `"0.0000000000000000001"`), false},
		"12 digits":         {line(`"1"`, `"999999999999"`), true},
		"13 digits":         {line(`"1"`, `"1000000000000"`), false},
		"below zero":        {line(`"1"`, `"-1"`), false},
		"an exponent":       {line(`"1"`, `"1e2"`), false},
		"a leading zero":    {line(`"1"`, `"01"`), false},
		"no digits behind":  {line(`"1"`, `"1."`), false},
		"a number":          {line(`"1"`, `1`), false},
		"an unknown member": {line(`"id"`, `"memo":"x","id"`), false},
		"a member twice":    {line(`"id"`, `"id":"b","id"`), false},
		"another case":      {line(`"id"`, `"ID"`), false},
		"no id":             {line(`"id":"a",`, ""), false},
		"no currency":       {line(`"currency":"USD",`, ""), false},
		"no time":           {line(`"time":"2026-11-23T10:00:00Z",`, ""), false},
		"no zone":           {line("00Z", "00"), false},
		"16 refs":           {line(`"r"`, refs(16)), true},
		"17 refs":           {line(`"r"`, refs(17)), false},
		"a long ref":        {line(`"r"`, `"`+strings.Repeat("é", 256)+`"`), true},
		"a longer ref":      {line(`"r"`, `"`+strings.Repeat("é", 257)+`"`), false},
		"another direction": {line(`"id"`, `"direction":"up","id"`), false},
		"another kind":      {line(`"id"`, `"kind":"gift","id"`), false},
		"of without return": {line(`"id"`, `"of":"b","id"`), false},
		"not UTF-8":         {line(`"r"`, "\"\xff\""), false},
		"something behind":  {line() + "x", false},
		"8 KiB":             {line(`"id"`, `"payeeName":"`+strings.Repeat("x", SettlementBytesMax-len(line())-len(`"payeeName":"",`))+`","id"`), true},
		"more than 8 KiB":   {line(`"id"`, `"payeeName":"`+strings.Repeat("x", SettlementBytesMax-len(line())-len(`"payeeName":"",`)+1)+`","id"`), false},
		"a list":            {`[]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := ReadLines(strings.NewReader("\n"+c.text+"\n"), func(*Settlement) error { return nil })
			require.Equal(t, c.good, err == nil, "%v", err)
			if !c.good {
				require.ErrorIs(t, err, ErrSettlement)
				require.ErrorContains(t, err, "line 2")
			}
		})
	}
}

// TestAmounts: exact texts, sums without overflow.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]string{"0": "0", "0.0": "0", "1500.00": "1500", "0.000000000000000001": "0.000000000000000001", "1.10": "1.1", "999999999999.999999": "999999999999.999999"} {
		amount, err := ParseAmount(text)
		require.NoError(t, err)
		require.Equal(t, want, amount.String())
	}
	var total Total
	most, err := ParseAmount("999999999999.999999999999999999")
	require.NoError(t, err)
	for range 1000 {
		total.add(most)
	}
	require.Equal(t, "999999999999999.999999999999999", total.String())
	half := Amount{Fine: fineUnit / 2}
	require.Equal(t, Amount{Micro: 1}, half.plus(half))
}

// TestAFileIsToldByItsDigest: the digest is of all bytes, read or not.
func TestAFileIsToldByItsDigest(t *testing.T) {
	l := newLogOf(t, testSettings())
	text := `{"id":"a","time":"2026-11-23","amount":"1","currency":"USD"}` + "\n"
	require.NoError(t, l.run.ReadFile(strings.NewReader(text), func(r io.Reader) error {
		return ReadLines(&firstBytes{r, len(text) - 1}, l.run.Settlement)
	}))
	require.Equal(t, []File{{Digest: l.run.files[0].Digest, Bytes: uint64(len(text)), Lines: 1}}, l.run.files)
	other := newLogOf(t, testSettings())
	require.NoError(t, other.run.ReadFile(bytes.NewReader([]byte(text)), func(r io.Reader) error { return ReadLines(r, other.run.Settlement) }))
	require.Equal(t, other.run.files, l.run.files)
}

// firstBytes ends before its source does.
type firstBytes struct {
	inner io.Reader
	left  int
}

func (f *firstBytes) Read(data []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.inner.Read(data[:min(len(data), f.left)])
	f.left -= n
	return n, err
}
