package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// BenchmarkScale fills a state with RAILGUARD_SCALE_AGENTS agents (default 20,000) and prints
// what they cost: `make scale` runs it with 2,000,000.
func BenchmarkScale(b *testing.B) {
	agents := 20_000
	if text := os.Getenv("RAILGUARD_SCALE_AGENTS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(b, err)
		agents = n
	}
	for b.Loop() {
		scale(b, agents)
	}
}

// scale fills a state once, and screens, digests, writes and restores it.
func scale(b *testing.B, agents int) {
	print := func(what, format string, values ...any) {
		fmt.Printf("scale %d: %-44s %s\n", agents, what, fmt.Sprintf(format, values...))
	}
	w := newWorld(b)
	empty := heap()
	began := time.Now()
	w.fill(agents)
	print("registered", "%v", time.Since(began).Round(time.Millisecond))
	each := func(what string) {
		now := heap()
		print(what, "%.0f bytes and %.2f objects an agent", float64(now.bytes-empty.bytes)/float64(agents), float64(now.objects-empty.objects)/float64(agents))
	}
	each("heap, none has screened")
	random := rand.New(rand.NewPCG(1, 2))
	w.screenSome(random, agents, agents/10, 0)
	each("heap, a tenth has screened")

	digester := NewDigester()
	digest := func(what string) {
		view := w.m.Freeze()
		at := time.Now()
		digester.Digest(view)
		print(what, "%v", time.Since(at).Round(time.Millisecond/10))
	}
	digest("digest, the first")
	digest("digest, nothing changed")
	w.screenSome(random, agents, 20_000, 0)
	digest("digest, 20,000 screened since (4 s of 5,000)")

	builder := NewStatusBuilder()
	lists := func(what string) {
		view := w.m.Freeze()
		at := time.Now()
		builder.Build(view)
		print(what, "%v, %d entries evaluated", time.Since(at).Round(time.Millisecond/10), builder.evaluated)
	}
	lists("status lists, the first")
	lists("status lists, nothing changed")
	w.m.registry.touchStatuses(1, 1)
	lists("status lists, one agent touched")

	plain := w.screenSome(random, agents, 20_000, 0)
	frozen := w.screenSome(random, agents, 20_000, 25)
	print("copied for a freeze, 200/s at 5,000 records/s", "%.0f KB", float64(frozen-plain)/800/1024)

	view := w.m.Freeze()
	at := time.Now()
	size, err := view.WriteTo(discard{})
	require.NoError(b, err)
	print("snapshot written", "%v, %.1f MB, %.0f bytes an agent", time.Since(at).Round(time.Millisecond), float64(size)/1e6, float64(size)/float64(agents))
	var snapshot bytes.Buffer
	snapshot.Grow(int(size))
	_, err = view.WriteTo(&snapshot)
	require.NoError(b, err)
	want := digester.Digest(view)
	w.m, view, digester = nil, nil, NewDigester() //nolint:wastedassign // Nothing may keep the old state alive.
	runtime.GC()
	at = time.Now()
	w.m, err = Restore(bytes.NewReader(snapshot.Bytes()))
	require.NoError(b, err)
	print("restored", "%v", time.Since(at).Round(time.Millisecond))
	require.Equal(b, want, digester.Digest(w.m.Freeze()))
	digester = nil
	snapshot = bytes.Buffer{}
	each("heap, restored")
	runtime.KeepAlive(w)
}

type heapUse struct{ bytes, objects int64 }

func heap() heapUse {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return heapUse{int64(stats.HeapAlloc), int64(stats.HeapObjects)}
}

// fill registers agents as an institution has them: 500 an operator, with a policy,
// a sealed number, a wallet and one of a few frameworks and models.
func (w *world) fill(agents int) {
	var out Effects
	for first := 0; first < agents; first += 500 {
		operator := fmt.Sprintf("Operator %d Incorporated", first/500)
		var records []wire.Record
		for n := first; n < min(first+500, agents); n++ {
			body := &wire.Register{Operator: named(operator), Profile: engine.AgentProfile{
				AgentName: fmt.Sprintf("Procurement agent %d", n), Type: engine.Supervised, OperatorLegalName: operator,
				AgentFramework: []string{"langgraph", "crewai", "autogen"}[n%3], Model: []string{"model-large-4", "model-small-4"}[n%2],
				OperatorWallet: fmt.Sprintf("0x%040d", first/500), Purpose: "Buys office supplies from approved vendors.",
				EINSealed: bytes.Repeat([]byte{byte(n)}, 38), EINMasked: fmt.Sprintf("**-***%04d", first/500%10000),
				PolicyJSON: []byte(`{"maxSingleTransaction":500,"dailyLimit":1000000,"allowedChains":["base"]}`),
				Policy:     engine.SpendPolicy{MaxSingle: 500 * engine.Dollar, DailyLimit: 1_000_000 * engine.Dollar},
			}}
			body.Basis.List = w.m.settings.ListVersion
			records = append(records, w.record(wire.KindRegister, body))
		}
		w.quietly(&out, records)
	}
}

// screenSome screens random agents, 25 records an entry, and returns how many bytes were
// allocated. If freeze is set, it freezes the state after every so many records.
func (w *world) screenSome(random *rand.Rand, agents, calls, freeze int) uint64 {
	var out Effects
	fragment := withName(`"` + string(bytes.Repeat([]byte{'x'}, 160)) + `"`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for done := 0; done < calls; done += 25 {
		w.now += 5 * engine.Millisecond
		var records []wire.Record
		for range 25 {
			s := w.screening(engine.AgentSlot(1+random.IntN(agents)), engine.Dollar/100)
			s.Fragment = fragment
			records = append(records, w.record(wire.KindScreen, s))
		}
		w.quietly(&out, records)
		if freeze > 0 {
			w.m.Freeze()
		}
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// quietly applies records without keeping the log.
func (w *world) quietly(out *Effects, records []wire.Record) {
	entry := w.entry(records...)
	w.index++
	w.m.Apply(w.index, w.term, entry, out)
	require.Empty(w.t, out.Stop)
	for i := range out.Results {
		require.Equal(w.t, wire.Applied, out.Results[i].Code)
	}
}
