package retrace_test

import (
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"railguard/edge/edgetest"
	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/ofac"
)

// One party's name brings out a panic, and so does one record. Both are passed over and counted,
// and the others are found.
func TestRetroPassesOverAPanic(t *testing.T) {
	w := edgetest.New(t)
	l, err := w.Register(edgetest.Admin(), `{"agentName":"Bot","agentType":"supervised","operatorLegalName":"Acme Inc","purpose":"p"}`)
	require.NoError(t, err)
	token := w.AgentToken(&l)
	for _, name := range []string{"Paper Tiger Holding", "Glass Tiger Holding"} {
		w.Screened(edgetest.Admin(), `{"token":"`+token+`","amount":1,"cpName":"`+name+`"}`)
	}
	screenPast(t, leading(w))
	w.Activate(added(w, "PAPER TIGER HOLDING", "GLASS TIGER HOLDING"))
	sources := w.Judges.Retracing()
	panics, cleared := 0, sources.Cleared
	sources.Panicked = func() { panics++ }
	sources.Cleared = func(name string, told *engine.Told, list *ofac.Index) []uint32 {
		if name == "Acme Inc" || name == "Paper Tiger Holding" {
			panic("a fault of ours")
		}
		return cleared(name, told, list)
	}
	r := retrace.NewRetro(w, w.Store, w.Leaf, sources, slog.New(slog.DiscardHandler))
	r.SetRest(0)
	screenPast(t, r)
	found := hits(t, w)
	require.Len(t, found, 1, "the other record is found")
	require.Equal(t, `[900002]`, found[0].why)
	require.Equal(t, 2, panics)
}

// A backtest that brings out a panic fails; the node goes on.
func TestAJobEndsOfItsPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t)
		o.pay(1)
		sources := o.Judges.Retracing()
		panics := 0
		sources.Panicked = func() { panics++ }
		sources.Record = nil
		o.runner.Close()
		o.runner = retrace.NewJobRunner("n1", o.Store, o.Leaf, sources, o.LogTime)
		o.runner.SetRest(0)
		defer o.runner.Close()
		job, err := o.runner.Start(o.order(retrace.Backtest, edgetest.Start, o.LogTime()+engine.Hour))
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 1, panics)
		require.Contains(t, string(shown(t, job, true).GetStringBytes("error")), "a fault of ours")
	})
}
