package sim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// schedule runs one seed, and tells what was done and when.
func schedule(t testing.TB, seed uint64, tell func(what string)) (counts map[string]int) {
	draw := rand.New(rand.NewPCG(seed, 3))
	nodes := 3
	if draw.IntN(8) == 0 {
		nodes = 5
	}
	if draw.IntN(4) == 0 { // The schedule begins a few seconds before midnight.
		time.Sleep(24*time.Hour - time.Duration(2000+draw.IntN(6000))*time.Millisecond)
	}
	tooLong := time.AfterFunc(scheduleMax, func() { panic(fmt.Sprintf("seed %d still runs after %v of its time", seed, scheduleMax)) })
	defer tooLong.Stop()
	w, h := NewWorld(t, seed, nodes), &History{}
	w.calls = h
	after := w.drawEnding(rand.New(rand.NewPCG(seed, 4))) // A source of its own, so that the faults of a seed stay the same.
	start := time.Now()
	w.tell = func(what string) { tell(fmt.Sprintf("%8.3fs %s", time.Since(start).Seconds(), what)) }
	if seed%4 == 2 { // Whatever nobody redeems returns at the end of its hold.
		w.need = engine.PermitOfAll
	}
	if seed%2 == 1 {
		w.mixBuilds()
	}
	w.StartAll()
	defer w.StopAll()
	prepare(w, h)
	if seed%3 == 0 {
		h.hold(w)
	}
	l := &load{world: w, history: h, seed: seed, pause: 35 * time.Millisecond, stop: make(chan struct{})}
	ts := newTenants(w, h, seed)
	l.run(2 * nodes)
	ts.run(l)
	defer l.end() // A check that fails must not leave clients in the bubble.
	for range 4 + draw.IntN(5) {
		time.Sleep(time.Duration(50+draw.IntN(400)) * time.Millisecond)
		w.strike(w.drawFault())
		if seed%2 == 1 && draw.IntN(3) > 0 {
			w.trace("upgrade")
			w.upgrade()
		}
		if draw.IntN(3) > 0 { // Otherwise the fault goes on during the next ones.
			w.mend()
		}
		w.Observe(w.one())
	}
	w.mend()
	time.Sleep(300 * time.Millisecond)
	l.end()
	w.settle(t)
	ts.check(t)
	w.requireTime(t)
	require.Empty(t, w.requireOneMatcher())
	h.CheckAll(t, w, spendLimits)
	reads := h.CheckReads(t, 0)
	good, unknown, refused := h.Count()
	w.trace(fmt.Sprintf("%d acknowledged, %d unknown, %d refused", good, unknown, refused))
	limits := spendLimits
	limits.Need = w.need
	b := newBooks(limits)
	for i, leaf := range w.leavesOf(w.hosts[0]) {
		b.leaf(i, leaf)
	}
	w.liveOn(t, h, after)
	w.countLock.Lock()
	defer w.countLock.Unlock()
	maps.Copy(b.counts, w.counted)
	b.counts["found in files"] = int(h.forgotten.Load())
	b.counts["reads"], b.counts["acknowledged"] = reads, good // A schedule with hard faults may have few of these; all schedules together must have enough.
	return b.counts
}

// settle waits until the world has recovered: within a bounded time after the last fault every
// node is ready and has applied the same index.
func (w *World) settle(t testing.TB) {
	w.beside.Wait()
	w.AwaitReady(liveAfter)
	w.AwaitEqual(liveAfter)
	require.Empty(t, w.GaveUp())
}

// requireTime requires that log time is right, whatever the clocks were meanwhile, and that no leaf
// is erased: no world lives as long as 90 days.
func (w *World) requireTime(t testing.TB) {
	for _, host := range w.hosts {
		off := time.Duration(host.Node().LogTime()) - time.Duration(time.Now().UnixNano())
		require.Less(t, off.Abs(), time.Minute, "log time of %s is %v off", host.ID, off)
		require.Zero(t, host.Node().Audit().Oldest(), "leaves are erased on %s", host.ID)
	}
}

// scheduleMax is much longer than a schedule takes in its virtual time. A schedule that waits for
// something that never comes ends then, and reports where it waits.
const scheduleMax = time.Hour

// liveAfter is how long the group may take to recover after the last fault. Raft waits up to
// 10.24 s before it tries again to reach a peer that did not answer.
const liveAfter = 30 * time.Second

// Prove runs schedules in a program that go test has not made: count of them, from a seed on. It
// prints the faults of each with their virtual time, and whether all promises held, and ends the
// process: with code 1 if one did not.
func Prove(seed uint64, count int) {
	prepareProcess()
	tests := make([]testing.InternalTest, count)
	for i := range tests {
		seed := seed + uint64(i)
		tests[i] = testing.InternalTest{Name: fmt.Sprintf("seed=%d", seed), F: func(t *testing.T) {
			var told []string
			t.Cleanup(func() {
				verdict := "every promise held"
				if t.Failed() {
					verdict = "A PROMISE WAS BROKEN"
				}
				fmt.Printf("seed %d: %s\n  %s\n", seed, verdict, strings.Join(told, "\n  "))
			})
			synctest.Test(t, func(t *testing.T) { schedule(t, seed, func(what string) { told = append(told, what) }) })
		}}
	}
	os.Args = os.Args[:1] // The flags of testing are not those of the program.
	testing.Main(func(string, string) (bool, error) { return true, nil }, tests, nil, nil)
}
