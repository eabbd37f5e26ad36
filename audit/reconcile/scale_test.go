package reconcile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
)

// planted are the classes of faults in generated data, in turn.
var planted = []Class{NotAllowed, Duplicate, AfterEnd, BeforeVerdict, PayeeDiffers, PayerDiffers, CurrencyDiffers, AmountDiffers, ToldOtherwise, ToldNotFound, LineTwice, Unscreened}

// generated is as many records as settlements, with faults spread among them.
type generated struct {
	payments, faults int
	begin            engine.Time
	want             map[string]uint64 // How many of every fault were planted.
}

// faultOf is the class planted in a payment.
func (g *generated) faultOf(i int) (Class, bool) {
	every := g.payments / g.faults
	if i%every != every/2 || i/every >= g.faults {
		return 0, false
	}
	return planted[(i/every)%len(planted)], true
}

func (g *generated) account(i int) string { return fmt.Sprintf("0x%040x", 0xa11ce0000000+i) }

func (g *generated) txnID(i int) string { return fmt.Sprintf("txn_%08d", i) }

func (g *generated) at(i int) engine.Time {
	return g.begin + engine.Time(i)*(20*engine.Hour/engine.Time(g.payments))
}

// amount repeats itself often, so that what is inferred is inferred by payee and time.
func (g *generated) amount(i int) engine.USD { return engine.USD(1+i%5000) * engine.Dollar / 100 }

// take gives a run the leaves of all payments. The nonce of x402 is in no leaf yet: those records
// come as records.
func (g *generated) take(t testing.TB, r *Run) {
	var bytes []byte
	index := uint64(0)
	add := func(stored []byte) {
		require.NoError(t, r.Leaf(index, stored))
		index++
	}
	for i := range g.payments {
		fault, wrong := g.faultOf(i)
		verdict := engine.Proceed
		if wrong && fault == NotAllowed {
			verdict = engine.Block
		}
		if i%5 == 3 {
			require.NoError(t, r.addRecord(&Record{
				TxnID: g.txnID(i), Verdict: verdict, ScreenedAt: g.at(i), Amount: g.amount(i), Payee: g.account(i % 200_000), Payer: generatedPayer, Nonce: fmt.Sprintf("0x%064X", i),
			}))
		} else {
			bytes = g.appendScreen(bytes[:0], i, verdict)
			add(bytes)
		}
		event := func(kind, members string) {
			add(fmt.Appendf(bytes[:0], `{"kind":"%s","eventId":"evt_%d","time":"%s","index":%d,"leaf":%d,"salt":"00","txnId":"%s","screenedLeaf":%d,"recordPrevious":%d,%s}`,
				kind, i, g.at(i)+engine.Second, i, i, g.txnID(i), i, i, members))
		}
		switch {
		case wrong && fault == AfterEnd:
			event("hold.released", fmt.Sprintf(`"state":"released","amount":%s,"reason":"payment_failed"`, engine.AppendUSD(nil, g.amount(i))))
		case i%5 == 1 || wrong && (fault == ToldOtherwise || fault == ToldNotFound):
			event("hold.settled", fmt.Sprintf(`"state":"settled","amount":%s,"countedUSDC":0,"railRef":"0x%064x"`, engine.AppendUSD(nil, g.amount(i)), 1<<40+i))
		}
	}
}

const generatedPayer = "0x857b06519e91e3a54538791bdbb0e22373e36b66"

// appendScreen writes a payment's screening record as the log has it.
func (g *generated) appendScreen(dst []byte, i int, verdict engine.Verdict) []byte {
	var f leaf.Fragment
	f.Set(leaf.TagAmount, engine.AppendUSD(nil, g.amount(i)))
	f.Set(leaf.TagWallet, []byte(`"`+g.account(i%200_000)+`"`))
	f.Set(leaf.TagRail, []byte(`"USDC"`))
	if i%5 == 2 {
		f.Set(leaf.TagPayment, fmt.Appendf(nil, `"inv-%d"`, i))
	}
	f.Set(leaf.TagPayer, []byte(`"`+generatedPayer+`"`))
	s := leaf.Screen{Rules: 1, Leaf: uint64(i), At: g.at(i), Verdict: verdict, Edge: f.Append([]byte{})}
	s.Judged, s.Sequence, s.Amount = true, 1, g.amount(i)
	copy(s.Txn[:], g.txnID(i)[len(txnPrefix):])
	return leaf.AppendScreen(dst, &s)
}

// write writes all settlements as lines.
func (g *generated) write(out io.Writer) {
	w := bufio.NewWriterSize(out, 64<<10)
	for i := range g.payments {
		fault, wrong := g.faultOf(i)
		if wrong {
			g.want[fault.String()]++
		}
		payee, payer, currency, amount, ref, at := g.account(i%200_000), "0x857B06519E91E3A54538791BDBB0E22373E36B66", "USD", g.amount(i), "", g.at(i)+20*engine.Second
		switch i % 5 {
		case 0:
			ref = g.txnID(i) + " thank you"
		case 1:
			ref = fmt.Sprintf("0x%064X", 1<<40+i)
		case 2:
			ref = fmt.Sprintf("inv-%d", i)
		case 3:
			ref = fmt.Sprintf("0x%064x", i)
		}
		if wrong {
			if ref = g.txnID(i); fault == Unscreened {
				ref, payee = "", "0x000000000000000000000000000000000000dead"
			}
		}
		switch {
		case !wrong:
		case fault == ToldNotFound:
			continue
		case fault == AfterEnd:
			at += 10 * engine.Minute
		case fault == BeforeVerdict:
			at -= 10 * engine.Minute
		case fault == PayeeDiffers:
			payee = "0x000000000000000000000000000000000000dead"
		case fault == PayerDiffers:
			payer = "0x000000000000000000000000000000000000dead"
		case fault == CurrencyDiffers:
			currency = "EUR"
		case fault == AmountDiffers:
			amount++
		}
		line := fmt.Sprintf(`{"id":"0x%064x:0","time":"%s","amount":"%s","currency":"%s","direction":"out","payee":"%s","payer":"%s","refs":["%s"]}`+"\n",
			i, at, Amount{Micro: amount}, currency, payee, payer, ref)
		_, _ = w.WriteString(line)
		if wrong && fault == LineTwice {
			_, _ = w.WriteString(line)
		}
		if wrong && fault == Duplicate {
			_, _ = w.WriteString(strings.Replace(line, `:0",`, `:1",`, 1))
		}
	}
	_ = w.Flush()
}

// runGenerated reconciles generated data. Every planted fault must be found, and no other.
func runGenerated(t testing.TB, payments, faults int) *Result {
	g := &generated{payments: payments, faults: faults, begin: 1795392000 * engine.Second, want: map[string]uint64{}}
	r, err := New(Settings{Rail: "USDC", From: g.begin, To: g.begin + engine.DayLength, Skew: SkewDefault, SettleWithin: SettleWithinChain})
	require.NoError(t, err)
	g.take(t, r)
	reader, writer := io.Pipe()
	go func() { g.write(writer); _ = writer.Close() }()
	require.NoError(t, r.ReadFile(reader, func(file io.Reader) error { return ReadLines(file, r.Settlement) }))
	result, err := r.End()
	require.NoError(t, err)
	found := map[string]uint64{}
	for c := range classCount {
		if n := result.CountOf(c).Number; n > 0 && c.IsFault() {
			found[c.String()] = n
		}
	}
	// The record whose payment went elsewhere unscreened is never settled, which is a notice.
	require.Equal(t, g.want, found)
	require.Equal(t, uint64(faults), result.Faults)
	require.Len(t, found, len(planted))
	require.NoError(t, result.WriteFindings(io.Discard))
	return result
}

// TestPlantedFaultsAreFound: 100 faults of 12 classes among 20,000 payments, none invented.
func TestPlantedFaultsAreFound(t *testing.T) { runGenerated(t, 20_000, 100) }

// TestPlantedFaultsAtScale is for measuring: RAILGUARD_SETTLEMENTS=1000000 GOMAXPROCS=2 go test
// ./audit/reconcile -run AtScale -v. With 1,000,000 it must end within 120 s and 1.5 GiB.
func TestPlantedFaultsAtScale(t *testing.T) {
	payments, err := strconv.Atoi(os.Getenv("RAILGUARD_SETTLEMENTS"))
	if err != nil {
		t.Skip("RAILGUARD_SETTLEMENTS says how many")
	}
	begin := time.Now()
	runGenerated(t, payments, 500)
	took, peak := time.Since(begin), peakMemory(t)
	t.Logf("%d settlements, 500 faults: %.1f s, peak %d MiB", payments, took.Seconds(), peak>>20)
	if payments <= 1_000_000 {
		require.Less(t, took, 120*time.Second)
		require.Less(t, peak, uint64(1536<<20))
	}
}

// peakMemory is the most memory that the process had.
func peakMemory(t testing.TB) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.Sys
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseUint(fields[1], 10, 64)
			require.NoError(t, err)
			return kilobytes << 10
		}
	}
	return 0
}

// TestEqualPaymentsAreNoTrap: settlements and records that all look alike, or that all have one
// text in common, cost no more than others.
func TestEqualPaymentsAreNoTrap(t *testing.T) {
	const payments = 20_000
	for name, ref := range map[string]string{"nothing in common": "", "one reference": "rent"} {
		t.Run(name, func(t *testing.T) {
			g := &generated{begin: 1795392000 * engine.Second}
			r, err := New(Settings{Rail: "USDC", From: g.begin, To: g.begin + engine.DayLength, Skew: SkewDefault, SettleWithin: SettleWithinChain})
			require.NoError(t, err)
			for i := range payments {
				require.NoError(t, r.addRecord(&Record{TxnID: g.txnID(i), Verdict: engine.Proceed, ScreenedAt: g.begin, Amount: engine.Dollar, Payee: "account:A", PaymentRef: ref}))
			}
			begin := time.Now()
			for i := range payments {
				require.NoError(t, r.Settlement(&Settlement{ID: strconv.Itoa(i), Time: "2026-11-23", Amount: Amount{Micro: engine.Dollar}, Currency: "USD", Payee: "account:A", Refs: []string{ref}}))
			}
			result, err := r.End()
			require.NoError(t, err)
			require.Equal(t, uint64(payments), result.CountOf(Ambiguous).Number)
			require.Equal(t, uint64(payments), result.Findings, "an ambiguous record is in no other finding")
			require.Less(t, time.Since(begin), 20*time.Second)
		})
	}
}
