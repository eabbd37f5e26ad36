package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit/audittest"
	"railguard/engine"
	"railguard/fsm/wire"
)

// One leave, many who take it.
//
//	RAILGUARD_SIM_REDEEMS=N  how many rounds of TestOneRedeems to run
const (
	redeemsEnv      = "RAILGUARD_SIM_REDEEMS"
	redeemsShort    = 8
	redeemersAtOnce = 300
	roundsOfWorld   = 25 // So many rounds one world lives.
)

// TestOneRedeems (statement P11): in each round 300 callers redeem one payment on three nodes, and the
// leader loses its power meanwhile. One of them gets it. Every second one of them asks with a key until
// it is answered; in half of the rounds all do, and then one is told that it got it.
func TestOneRedeems(t *testing.T) {
	rounds := redeemsShort
	if n, err := strconv.Atoi(os.Getenv(redeemsEnv)); err == nil {
		rounds = n
	}
	var sum redeemed
	for first := 0; first < rounds; first += roundsOfWorld {
		t.Run(fmt.Sprintf("rounds from %d", first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := NewWorld(t, uint64(first)+9000, 3), &History{}
				w.StartAll()
				defer w.StopAll()
				prepare(w, h)
				for round := first; round < min(first+roundsOfWorld, rounds); round++ {
					sum.add(w.redeemAtOnce(t, h, round))
				}
				h.CheckAll(t, w, spendLimits)
			})
		})
	}
	t.Logf("%d rounds: %d calls, %d payments redeemed, %d callers were told so, %d that it is used, %d do not know", rounds, sum.calls, sum.leaves, sum.got, sum.used, sum.unknown)
	require.Equal(t, rounds, sum.leaves)
}

// redeemed is what came of calls that redeem.
type redeemed struct{ calls, leaves, got, used, unknown int }

func (r *redeemed) add(more redeemed) {
	r.calls, r.leaves, r.got, r.used, r.unknown = r.calls+more.calls, r.leaves+more.leaves, r.got+more.got, r.used+more.used, r.unknown+more.unknown
}

// redeemAtOnce is one round. It demands that one leaf took the leave, and that callers heard of it.
func (w *World) redeemAtOnce(t *testing.T, h *History, round int) (sum redeemed) {
	pay := payment{name: fmt.Sprintf("round-%d", round), agent: truant, amount: engine.Dollar, idem: keyOf(fmt.Sprint("round ", round))}
	if round%2 == 0 {
		pay.hold = 600
	}
	never := make(chan struct{})
	paid := h.Pay(t.Context(), func(try int) *Host { return w.hosts[try%3] }, pay, never)
	require.NoError(t, paid.Err)
	require.Equal(t, "PROCEED", paid.Verdict)
	ops := make([]*Op, redeemersAtOnce)
	var callers sync.WaitGroup
	for i := range ops {
		one := leave{of: paid, op: []uint8{wire.PayRedeem, wire.PayConfirm | wire.PayRedeem}[i%2], name: fmt.Sprintf("%s-%d", pay.name, i)}
		callers.Go(func() {
			time.Sleep(time.Duration(i%60) * time.Millisecond)
			at := func(try int) *Host { return w.hosts[(i+try)%3] }
			if i%2 == 0 || round%4 < 2 {
				one.idem = keyOf(one.name)
				ops[i] = h.InsistOnLeave(context.Background(), at, &one, never)
			} else if ops[i] = h.Leave(context.Background(), at(0), &one); ops[i] == nil {
				ops[i] = &Op{Err: errDown}
			}
		})
	}
	time.Sleep(time.Duration(round%31) * 2 * time.Millisecond)
	killed := w.leading()
	killed.Crash(audittest.Loss(round % 3))
	callers.Wait()
	killed.Start()
	w.AwaitReady(time.Minute)
	w.AwaitEqual(time.Minute)
	taken := w.whoRedeemed(t, paid.Leaf)
	require.Len(t, taken, 1, "leaves that redeem the payment of leaf %d", paid.Leaf)
	sum = redeemed{calls: len(ops), leaves: 1}
	for _, op := range ops {
		switch {
		case op.Err == nil:
			sum.got++
			require.Equal(t, taken[0], op.Leaf)
		case errors.Is(op.Err, wire.ErrUnknown):
			sum.unknown++
		case op.Refused == wire.RefusedUsed:
			sum.used++
			require.Equal(t, taken[0], op.Told, "what used it")
		}
	}
	require.LessOrEqual(t, sum.got, 1)
	require.True(t, sum.got == 1 || round%4 >= 2 && sum.unknown > 0, "nobody knows that he got it")
	return sum
}

// whoRedeemed returns the leaves by which a payment was redeemed.
func (w *World) whoRedeemed(t *testing.T, record uint64) (leaves []uint64) {
	view, err := w.hosts[0].Node().View(t.Context(), 0)
	require.NoError(t, err)
	for i := record + 1; i < view.Size; i++ {
		data, err := w.hosts[0].Node().Audit().Leaf(i)
		require.NoError(t, err)
		if member(data, "state") == "redeemed" && uint64(number(data, "screenedLeaf")) == record {
			leaves = append(leaves, i)
		}
	}
	return leaves
}

// TestSilentOverFailover (statement P14): payments are redeemed and nobody says more of them. The leader
// loses its power after the redeem and before the end of their holds, at it, or after it, and comes back
// later. Each one is unresolved at its end, goes on counting, and one alert tells of it.
func TestSilentOverFailover(t *testing.T) {
	for name, early := range map[string]time.Duration{"long before": 20 * time.Second, "just before": 20 * time.Millisecond, "at the end": 0, "just after": -20 * time.Millisecond, "twice": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, h := NewWorld(t, 77, 3), &History{}
				w.StartAll()
				defer w.StopAll()
				prepare(w, h)
				var silent []*Op
				for i := range 6 {
					silent = append(silent, w.redeemed(t, h, fmt.Sprintf("silent-%d", i), 60))
				}
				first := time.Unix(0, int64(silent[0].At)).Add(time.Minute)
				time.Sleep(time.Until(first) - early)
				down := []*Host{w.leading()}
				down[0].Crash(audittest.Loss(1))
				if name == "twice" {
					time.Sleep(600 * time.Millisecond) // The next leader is elected, and has told of nothing.
					down[0].Start()
					down = append(down, w.leading())
					down[1].Crash(audittest.Loss(1))
				}
				time.Sleep(30 * time.Second)
				down[len(down)-1].Start()
				w.AwaitReady(time.Minute)
				time.Sleep(10 * time.Second)
				w.AwaitEqual(time.Minute)
				for _, op := range silent {
					require.Equal(t, 1, w.alertsOf(t, op.Leaf), "alerts that tell of the payment of leaf %d", op.Leaf)
				}
				h.CheckAll(t, w, spendLimits)
			})
		})
	}
}

// redeemed makes a payment with a hold and redeems it.
func (w *World) redeemed(t *testing.T, h *History, name string, seconds uint32) *Op {
	never := make(chan struct{})
	at := func(try int) *Host { return w.hosts[try%3] }
	paid := h.Pay(t.Context(), at, payment{name: name, agent: truant, amount: engine.Dollar, idem: keyOf(name), hold: seconds}, never)
	require.NoError(t, paid.Err)
	require.NoError(t, h.InsistOnLeave(t.Context(), at, &leave{of: paid, op: wire.PayRedeem, name: name + "-redeem", idem: keyOf(name + " redeem")}, never).Err)
	return paid
}

// TestFirstAnswerOutlivesRevocation: a payment is redeemed with a key and its agent is revoked. Whoever asks
// again with that key gets the first answer, which went through before the revocation.
func TestFirstAnswerOutlivesRevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 79, 3), &History{}
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		never := make(chan struct{})
		at := func(try int) *Host { return w.hosts[try%3] }
		paid := h.Pay(t.Context(), at, payment{name: "paid", agent: outcast, amount: engine.Dollar, idem: keyOf("paid")}, never)
		require.NoError(t, paid.Err)
		asked := &leave{of: paid, op: wire.PayRedeem, name: "redeem", idem: keyOf("redeem")}
		first := h.InsistOnLeave(t.Context(), at, asked, never)
		require.NoError(t, first.Err)
		require.Equal(t, "PROCEED", first.Verdict)
		require.NoError(t, h.Revoke(t.Context(), w.hosts[0], outcast, "revoke").Err)
		time.Sleep(time.Second)
		h.repeatLeave(t.Context(), at(1), asked, first)
		again := h.ops[len(h.ops)-1]
		require.Nil(t, again.Data, "the answer is a replay")
		require.Equal(t, first.Leaf, again.Leaf)
		w.AwaitEqual(time.Minute)
		h.CheckAll(t, w, spendLimits)
	})
}

// alertsOf counts the leaves that tell that a payment is unresolved.
func (w *World) alertsOf(t *testing.T, record uint64) (count int) {
	view, err := w.hosts[0].Node().View(t.Context(), 0)
	require.NoError(t, err)
	for i := record + 1; i < view.Size; i++ {
		data, err := w.hosts[0].Node().Audit().Leaf(i)
		require.NoError(t, err)
		if member(data, "alert") == "unresolved_payment" && uint64(number(data, "screenedLeaf")) == record {
			count++
		}
	}
	return count
}

// TestLeaveLapses (statement P19): payments are approved, and some are held. The nodes are without power
// until shortly before the approvals end. Then clients at all nodes confirm and redeem; whoever comes
// before the end gets leave, and nobody who comes after it, whatever node is asked and whoever leads.
func TestLeaveLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, h := NewWorld(t, 1, 3), &History{}
		w.lapse = engine.Hour
		w.StartAll()
		defer w.StopAll()
		prepare(w, h)
		never := make(chan struct{})
		at := func(try int) *Host { return w.hosts[try%3] }
		for i := range 40 { // The limit of child is 15 dollars.
			name := fmt.Sprintf("paid-%d", i)
			h.Pay(t.Context(), at, payment{name: name, agent: child, amount: engine.Dollar, idem: keyOf(name)}, never)
		}
		require.Greater(t, len(h.held), 20)
		for i := range 100 {
			h.Dispose(t.Context(), at, func(count int) int { return i % count }, fmt.Sprintf("decision-%d", i), keyOf(fmt.Sprint("decision ", i)), never)
		}
		require.NotEmpty(t, h.approved)
		w.powerOff(w.hosts)
		time.Sleep(time.Hour - 30*time.Second)
		w.StartAll()
		before, after := 0, 0
		for i := range 600 {
			of := h.approved[i%len(h.approved)]
			op := h.Leave(t.Context(), w.hosts[i%3], &leave{of: of, op: []uint8{wire.PayConfirm, wire.PayConfirm, wire.PayRedeem}[i%3], name: fmt.Sprintf("late-%d", i)})
			switch {
			case op == nil:
			case op.Err == nil:
				before++
			case op.Refused == wire.RefusedLapsed:
				after++
			}
			if i == 200 {
				w.transfer()
			}
			time.Sleep(120 * time.Millisecond)
		}
		w.AwaitEqual(time.Minute)
		t.Logf("%d approved, %d calls before the end had leave, %d after it had none", len(h.approved), before, after)
		require.NotZero(t, before)
		require.NotZero(t, after)
		h.CheckAll(t, w, spendLimits)
	})
}

// TestControlOfLeaves does the same as TestControlLeaves to histories in which payments are confirmed and
// redeemed.
func TestControlOfLeaves(t *testing.T) {
	screen, event := screened, happened
	again := func(state, at, more string) string {
		if !strings.Contains(more, `"expiresAt"`) {
			more += `,"expiresAt":"2000-01-01T08:00:30.000Z"`
		}
		return fmt.Sprintf(`{"kind":"payment.confirmed","time":"%s","screenedLeaf":0,"state":"%s","listVersion":0,"leftOut":0,%s}`, at, state, more)
	}
	told := event("alert.opened", noon, `"alert":"unresolved_payment",`+first)
	walkDoctored(t, []doctored{
		{"redeemed", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED"`), event("due", noon, `"state":"unresolved",`+first), told}, ""},
		{"redeemed twice", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED"`), again("redeemed", soon, `"verdict":"PROCEED"`)}, "leaf 0 was redeemed (true)"},
		{"confirmed after it was redeemed", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED"`), again("held", soon, `"verdict":"PROCEED"`)}, "leaf 0 was redeemed (true)"},
		{"redeemed after it was settled", []string{screen(morning, 1, held), event("hold.settled", soon, first), again("redeemed", soon, `"verdict":"PROCEED"`)}, `"settled" or unresolved`},
		{"redeemed too late", []string{screen(morning, 1, held), again("redeemed", noon, `"verdict":"PROCEED"`)}, "the leave of leaf 0 ended at"},
		{"redeemed after its permit", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED","permitEnds":"`+soon+`"`)}, "the permit ended at"},
		{"redeemed without leave", []string{screen(morning, 1, review), again("redeemed", soon, `"verdict":"PROCEED"`)}, "leaf 0 had no leave"},
		{"redeemed of a revoked one", []string{screen(morning, 1, held), event("agent.revoked", morning, `"agent":"1"`), again("redeemed", soon, `"verdict":"PROCEED"`)}, "agent 1 is revoked"},
		{"redeemed and returned", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED"`), event("due", noon, `"state":"expired",`+first)}, "leaf 0 returns by itself, redeemed: true"},
		{"redeemed, silent and untold", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED"`), event("due", noon, `"state":"unresolved",`+first)}, "0 alerts tell of it"},
		{"redeemed, silent and told twice", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"PROCEED"`), event("due", noon, `"state":"unresolved",`+first), told, told}, "2 alerts tell of it"},
		{"a REVIEW that takes the leave", []string{screen(morning, 1, held), again("redeemed", soon, `"verdict":"REVIEW"`)}, "REVIEW leaves leaf 0 redeemed"},
		{"counted twice", []string{screen(morning, 1, held), again("held", soon, `"verdict":"REVIEW","rule":"R11_DAILY_LIMIT"`)}, "R11_DAILY_LIMIT again, and all that counts has room"},
		{"over the limit by an approval", []string{screen(morning, 1, held), event("review.dispositioned", morning, approvedOf(9)), again("held", soon, `"verdict":"PROCEED"`)}, "goes through again, and agent 1 is over its limit"},
		{"a BLOCK returns what had leave", []string{screen(morning, 1, held), again("released", soon, `"verdict":"BLOCK"`), event("hold.released", soon, first)}, "BLOCK leaves leaf 0 released"},
		{"a BLOCK that counts", []string{screen(morning, 1, review), event("review.dispositioned", morning, approvedOf(0)), again("released", soon, `"verdict":"BLOCK"`), screen(soon, 1, review)}, "judged a BLOCK, and still counts"},
		{"a BLOCK that counts at the end", []string{screen(morning, 1, review), event("review.dispositioned", morning, approvedOf(0)), again("released", soon, `"verdict":"BLOCK"`)}, "still counts at the end"},
		{"a BLOCK", []string{screen(morning, 1, review), event("review.dispositioned", morning, approvedOf(0)), again("released", soon, `"verdict":"BLOCK"`), event("hold.released", soon, first), screen(soon, 1, proceed)}, ""},
		{"approved, not redeemed and unmarked", []string{screen(morning, 1, review), event("review.dispositioned", morning, approvedOf(0)), event("hold.settled", soon, first)}, "unpermitted: false"},
		{"approved, redeemed and marked", []string{screen(morning, 1, review), event("review.dispositioned", morning, approvedOf(0)), again("redeemed", soon, `"verdict":"PROCEED"`),
			event("hold.settled", soon, first+`,"unpermitted":true`)}, "unpermitted: true"},
	})
}
