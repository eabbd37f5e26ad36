package sim

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/bench/spec"
	"railguard/engine"
)

// TestModelAllows: the model of bench/spec allows every step of some runs in which a leader dies,
// and the runs have what the model speaks of. TestSchedules holds every schedule against it.
func TestModelAllows(t *testing.T) {
	counts := map[spec.Kind]int{}
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			trace := tracedRun(t, seed)
			require.Empty(t, trace.Check())
			for _, seen := range trace.Seen {
				counts[seen.Kind]++
			}
			require.True(t, slices.ContainsFunc(trace.Seen, func(s spec.Seen) bool { return s.Limit }), "a limit refused something")
			require.True(t, slices.ContainsFunc(trace.Answers, func(a spec.Heard) bool { return a.Term > trace.Answers[0].Term }), "there was a change of leader")
		})
	}
	for _, kind := range []spec.Kind{spec.Pay, spec.Settle, spec.Release} {
		require.NotZero(t, counts[kind], "%v", counts)
	}
}

// tracedRun lets clients pay, settle and release with keys while a leader is killed.
func tracedRun(t *testing.T, seed uint64) *spec.Trace {
	w, h := NewWorld(t, seed, 3), &History{}
	w.StartAll()
	defer w.StopAll()
	prepare(w, h)
	l := &load{world: w, history: h, seed: seed, pause: 35 * time.Millisecond, stop: make(chan struct{})}
	l.run(6)
	defer l.end()
	time.Sleep(time.Second)
	killed := w.leading()
	killed.Crash(w.loss())
	time.Sleep(2 * time.Second)
	killed.Start()
	w.AwaitReady(time.Minute)
	for i := range 70 { // More than the limits of miser and of its fleet, in one-dollar payments.
		h.Screen(t.Context(), w.hosts[i%3], payment{name: fmt.Sprintf("much-%d", i), agent: miser, amount: engine.Dollar})
	}
	l.end()
	w.AwaitEqual(time.Minute)
	return h.traceOf(w.leavesOf(w.hosts[0]), spendLimits)
}

// TestControlTrace doctors what was seen of a run in one place at a time, and the model must refuse
// each.
func TestControlTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trace := tracedRun(t, 1)
		limited := slices.IndexFunc(trace.Seen, func(s spec.Seen) bool { return s.Limit })
		settled := slices.IndexFunc(trace.Seen, func(s spec.Seen) bool { return s.Kind == spec.Settle && !s.Late })
		told := slices.IndexFunc(trace.Answers, func(a spec.Heard) bool { return a.Outcome == spec.WasTold && a.Verdict == spec.Proceed })
		last := len(trace.Seen) - 1
		for name, doctor := range map[string]func(d *spec.Trace){
			"goes through":                 func(d *spec.Trace) { d.Seen[limited].Verdict = spec.Proceed },
			"time goes back":               func(d *spec.Trace) { d.Seen[last].At -= time.Minute.Milliseconds() },
			"is applied twice":             func(d *spec.Trace) { d.Seen[last].Name = d.Seen[settled].Name },
			"ends a second time":           func(d *spec.Trace) { d.Seen[last] = d.Seen[settled]; d.Seen[last].At = trace.Seen[last].At },
			"there is none":                func(d *spec.Trace) { d.Seen[settled].Payment = settled },
			"the caller was told of":       func(d *spec.Trace) { d.Answers[told].Leaf = last },
			"the caller was told verdict":  func(d *spec.Trace) { d.Answers[told].Verdict = spec.Block },
			"nothing happened, the caller": func(d *spec.Trace) { d.Answers[told].Outcome = spec.NothingHappened },
			"stands after":                 func(d *spec.Trace) { d.Answers[told].Term += 100 },
			"log time leaps":               func(d *spec.Trace) { shift(d.Seen[last/2:], 2*leapMost) },
		} {
			doctored := *trace
			doctored.Seen, doctored.Answers = slices.Clone(trace.Seen), slices.Clone(trace.Answers)
			doctor(&doctored)
			require.Contains(t, fmt.Sprint(doctored.Check()), name)
		}
	})
}

// shift moves leaves to later times.
func shift(seen []spec.Seen, by time.Duration) {
	for i := range seen {
		seen[i].At += by.Milliseconds()
	}
}
