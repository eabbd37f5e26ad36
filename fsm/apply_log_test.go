package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/fsm/wire"
)

// TestLogLines: a recovery and a change of keys each begin a line of the log. Lines survive
// snapshots, and the oldest are dropped when there are too many.
func TestLogLines(t *testing.T) {
	w := newWorld(t)
	seed := bytes.Repeat([]byte{9}, 60)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindLogKey, &wire.LogKeyPut{}).Refusal)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindLogKey, &wire.LogKeyPut{Seed: make([]byte, w.m.limits.FieldBytes+1)}).Refusal)
	require.Empty(t, w.m.settings.LogLines)
	rotated := w.do(wire.KindLogKey, &wire.LogKeyPut{Seed: seed})
	require.Equal(t, wire.Applied, rotated.Code)
	require.Contains(t, string(rotated.Data), fmt.Sprintf(`"fromTreeSize":%d`, rotated.Leaf+1))
	recovered := w.do(wire.KindNote, &wire.Note{Event: wire.EventRecovered, Lineage: "abc"})
	require.Equal(t, wire.Applied, recovered.Code)
	again := w.do(wire.KindLogKey, &wire.LogKeyPut{Seed: seed[1:]})
	lines := restoredFrom(t, w.m).settings.LogLines
	require.Equal(t, []*wire.LogStretch{
		{From: rotated.Leaf + 1, At: rotated.Time, Seed: seed},
		{From: recovered.Leaf + 1, At: recovered.Time, Lineage: "abc", Seed: seed},
		{From: again.Leaf + 1, At: again.Time, Lineage: "abc", Seed: seed[1:]},
	}, lines)
	for i := range w.m.limits.LogLines {
		w.do(wire.KindLogKey, &wire.LogKeyPut{Seed: []byte{byte(i + 1)}})
	}
	require.Len(t, w.m.settings.LogLines, w.m.limits.LogLines)
	require.Equal(t, []byte{1}, w.m.settings.LogLines[0].Seed)
}
