package fsm

import (
	"strings"
	"testing"

	"railguard/engine"
	"railguard/fsm/wire"
)

// BenchmarkApplyScreen applies entries of 100 screening records over 10,000
// agents, frozen once per 50 entries. The figure is per record.
func BenchmarkApplyScreen(b *testing.B) {
	w := newWorld(b)
	const agents = 10_000
	for range agents {
		w.register("agent", dailyLimit(1_000_000))
	}
	fragment := withName(`"` + strings.Repeat("x", 160) + `"`)
	var entries [][]byte
	slot := engine.AgentSlot(0)
	for range 100 {
		var records []wire.Record
		for range 100 {
			slot = slot%agents + 1
			s := w.screening(slot, engine.Dollar/100)
			s.Fragment = fragment
			records = append(records, w.record(wire.KindScreen, s))
		}
		entries = append(entries, w.entry(records...))
	}
	var out Effects
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += 100 {
		if i%5000 == 0 {
			w.m.Freeze()
		}
		w.index++
		w.m.Apply(w.index, w.term, entries[i/100%len(entries)], &out)
		if out.Results[0].Code != wire.Applied {
			b.Fatal(out.Results[0])
		}
	}
}

// BenchmarkSnapshot writes the snapshot of 100,000 agents; MB/s is of its bytes.
func BenchmarkSnapshot(b *testing.B) {
	w := newWorld(b)
	for range 100_000 {
		w.register("agent", dailyLimit(1_000_000))
	}
	view := w.m.Freeze()
	for b.Loop() {
		n, err := view.WriteTo(discard{})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
