package fsm

import (
	"fmt"
	"strings"
	"testing"

	"railguard/engine"
	"railguard/fsm/wire"
)

// BenchmarkApplyScreen applies entries of 100 screening records over 10,000
// agents, frozen once per 50 entries. The figure is per record.
func BenchmarkApplyScreen(b *testing.B) { applyShards(b, 1, 100) }

// BenchmarkApplyShards is an upper bound for applying an entry in parallel over shards. Each
// shard is a Machine with its own agents and its own goroutine, and every entry waits for all
// shards. The figure is per record; a single shard runs without goroutines.
func BenchmarkApplyShards(b *testing.B) {
	for _, records := range []int{8, 40, 100, 480} {
		for _, shards := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("records=%d/shards=%d", records, shards), func(b *testing.B) { applyShards(b, shards, records) })
		}
	}
}

// shard is a machine with the part of every entry that is for it.
type shard struct {
	*world
	entries [][]byte
	work    chan int
}

func newShard(b *testing.B, agents, records int) *shard {
	s := &shard{world: newWorld(b), work: make(chan int)}
	for range agents {
		s.register("agent", dailyLimit(1_000_000))
	}
	fragment := withName(`"` + strings.Repeat("x", 160) + `"`)
	slot := 0
	for range 100 {
		var all []wire.Record
		for range records {
			slot = slot%agents + 1
			one := s.screening(engine.AgentSlot(slot), engine.Dollar/100)
			one.Fragment = fragment
			all = append(all, s.record(wire.KindScreen, one))
		}
		s.entries = append(s.entries, s.entry(all...))
	}
	return s
}

func (s *shard) applyOne(i int) wire.Code {
	if i%50 == 0 {
		s.m.Freeze()
	}
	s.index++
	s.m.Apply(s.index, s.term, s.entries[i%len(s.entries)], &s.out)
	return s.out.Results[0].Code
}

func applyShards(b *testing.B, count, records int) {
	const agents = 10_000
	var shards []*shard
	done := make(chan wire.Code, count)
	for range count {
		s := newShard(b, agents/count, records/count)
		shards = append(shards, s)
		defer close(s.work)
		go func() {
			for i := range s.work {
				done <- s.applyOne(i)
			}
		}()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i*records < b.N; i++ {
		if count == 1 {
			done <- shards[0].applyOne(i)
		}
		for _, s := range shards[:count&^1] { // A single shard has no goroutines.
			s.work <- i
		}
		for range shards {
			if code := <-done; code != wire.Applied {
				b.Fatal(code)
			}
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

// BenchmarkOwnersOfList measures who owns each of 500 alerts where as many others are claimed as may be:
// by asking for each, and by reading all claims once.
func BenchmarkOwnersOfList(b *testing.B) {
	w := newWorld(b)
	const listed = 500
	for i := range uint64(engine.LimitsOf(engine.FormatNewest).Works) {
		r := w.do(wire.KindWork, &wire.Work{Common: wire.Common{Fragment: []byte(`"by":"ann"`)}, Op: wire.QueueClaim, Subject: wire.WorkSubject(wire.WorkRecord, i), Who: "ann"})
		if r.Code != wire.Applied {
			b.Fatalf("claim %d: refusal %d", i, r.Refusal)
		}
	}
	view := w.m.Freeze()
	b.Run("each", func(b *testing.B) {
		for b.Loop() {
			for i := range uint64(listed) {
				view.WorkOn(wire.WorkSubject(wire.WorkAlert, i))
			}
		}
	})
	b.Run("once", func(b *testing.B) {
		for b.Loop() {
			claims := map[uint64]*Claim{}
			view.Works(func(subject uint64, claim *Claim) bool {
				claims[subject] = claim
				return true
			})
			for i := range uint64(listed) {
				_ = claims[wire.WorkSubject(wire.WorkAlert, i)]
			}
		}
	})
}
