package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// BenchmarkSnapshotByAgents writes, restores and freezes states of a growing
// number of agents; each agent has screened once. MB/s is of the snapshot's bytes.
func BenchmarkSnapshotByAgents(b *testing.B) {
	for _, agents := range []int{1_000, 10_000, 100_000} {
		w := worldOfAgents(b, agents)
		w.screenAll(agents)
		view := w.m.Freeze()
		var snapshot bytes.Buffer
		_, err := view.WriteTo(&snapshot)
		require.NoError(b, err)
		size := int64(snapshot.Len())
		run := func(name string, bytes int64, do func() error) {
			b.Run(fmt.Sprintf("%s/agents=%d", name, agents), func(b *testing.B) {
				b.SetBytes(bytes)
				b.ReportAllocs()
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(size)/float64(agents), "B/agent")
			})
		}
		run("write", size, func() error {
			_, err := view.WriteTo(discard{})
			return err
		})
		run("restore", size, func() error {
			_, err := Restore(bytes.NewReader(snapshot.Bytes()))
			return err
		})
		run("freeze", 0, func() error {
			w.m.Freeze()
			return nil
		})
	}
}

// TestSnapshotIsBoundedByAgents: a history twenty times as long makes no larger snapshot.
func TestSnapshotIsBoundedByAgents(t *testing.T) {
	const agents = 500
	w := worldOfAgents(t, agents)
	size := func() int64 {
		n, err := w.m.Freeze().WriteTo(discard{})
		require.NoError(t, err)
		return n
	}
	w.screenAll(agents)
	once, leaves := size(), w.m.Freeze().Size
	for range 20 {
		w.screenAll(agents)
	}
	require.Greater(t, w.m.Freeze().Size, 7*leaves)
	// Counters have variable lengths: a row may grow by some bytes, but not with each record.
	require.InDelta(t, once, size(), agents*32)
}

func worldOfAgents(t testing.TB, agents int) *world {
	w := newWorld(t)
	for i := range agents {
		w.register(fmt.Sprintf("Procurement Agent %d", i), dailyLimit(1_000_000_000))
	}
	return w
}

// screenAll screens each agent once, in entries of 100 records.
func (w *world) screenAll(agents int) {
	var out Effects
	fragment := withName(`"` + string(bytes.Repeat([]byte{'x'}, 160)) + `"`)
	for first := 1; first <= agents; first += 100 {
		var records []wire.Record
		for slot := first; slot < min(first+100, agents+1); slot++ {
			s := w.screening(engine.AgentSlot(slot), engine.Dollar/100)
			s.Fragment = fragment
			records = append(records, w.record(wire.KindScreen, s))
		}
		entry := w.entry(records...)
		w.index++
		w.m.Apply(w.index, w.term, entry, &out)
		for i := range out.Results {
			require.Equal(w.t, wire.Applied, out.Results[i].Code)
		}
	}
}
