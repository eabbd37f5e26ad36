package fsm

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// probeRow is a row of a table that only these tests declare.
type probeRow struct {
	Leaf uint64
	At   engine.Time
}

type probePage = [2]probeRow

func codeProbeRow(c *coder, row *probeRow) {
	codeUnsigned(c, &row.Leaf)
	codeSigned(c, &row.At)
}

// declareProbe declares the table for one test. Its rows expire after an hour, the oldest
// first.
func declareProbe(t *testing.T, since engine.Format) *tableOf[probeRow, probePage] {
	held := map[*tables]*Table[probeRow, probePage]{}
	probe := &tableOf[probeRow, probePage]{
		section: section{number: 900, since: since, most: func(*engine.Limits) int { return 6 }, shownAs: "probes"},
		of: func(t *tables) *Table[probeRow, probePage] {
			if held[t] == nil {
				held[t] = new(Table[probeRow, probePage])
			}
			return held[t]
		},
		code: codeProbeRow, queue: true,
		fits: func(*Machine) fitting[probeRow] {
			return func(_ uint64, row, before *probeRow) bool { return before == nil || row.Leaf > before.Leaf }
		},
		over:   func(m *Machine, row *probeRow) bool { return row.At+engine.Hour <= m.now },
		forget: func(m *Machine) { held[&m.tables].DropFront() },
	}
	before := planned
	planned = newPlan(append(slices.Clone(before.all), probe), before.derived...)
	t.Cleanup(func() { planned = before })
	return probe
}

// TestATableIsOneDeclaration: freeze, snapshot, restore, digest, expiry and gauge work for a
// table by its declaration alone.
func TestATableIsOneDeclaration(t *testing.T) {
	probe := declareProbe(t, engine.Format1)
	w := furnished(t)
	rows := probe.of(&w.m.tables)
	for leaf := range uint64(5) {
		rows.Append(probeRow{Leaf: leaf + 1, At: w.m.now})
	}
	rows.DropFront()

	frozen := w.m.Freeze()
	digest := frozen.Digest()
	rows.Edit(4).At++
	require.Equal(t, w.m.now, probe.of(&frozen.tables).At(4).At, "a view does not change")
	require.NotEqual(t, digest, w.m.Freeze().Digest())

	restored := restoredFrom(t, w.m)
	require.Equal(t, w.m.Freeze().Digest(), restored.Freeze().Digest())
	again := probe.of(&restored.tables)
	require.EqualValues(t, []uint64{1, 5}, []uint64{again.First(), again.Next()})
	require.Equal(t, *rows.At(4), *again.At(4))
	require.Contains(t, frozen.Fills(), Fill{Table: "probes", Rows: 4, Most: 6})

	refused := func(why string) {
		var snapshot bytes.Buffer
		_, err := w.m.Freeze().WriteTo(&snapshot)
		require.NoError(t, err)
		_, err = Restore(&snapshot)
		require.ErrorContains(t, err, why)
	}
	rows.Append(probeRow{Leaf: 2, At: w.m.now})
	refused("section 900: row 5 does not fit")
	rows.Append(probeRow{Leaf: 8, At: w.m.now})
	rows.Append(probeRow{Leaf: 9, At: w.m.now})
	refused("section 900: row broken")

	w.now += engine.Hour + 1
	require.Equal(t, wire.Unchanged, w.do(wire.KindTick, nil).Code)
	require.Zero(t, rows.Len())
}

// TestATableBeginsWithItsFormat: neither the snapshot nor the digest of an older format
// includes the table, and Restore refuses an older snapshot that does.
func TestATableBeginsWithItsFormat(t *testing.T) {
	w := furnished(t)
	snapshot := func() []byte {
		var data bytes.Buffer
		_, err := w.m.Freeze().WriteTo(&data)
		require.NoError(t, err)
		return data.Bytes()
	}
	want, digest := snapshot(), w.m.Freeze().Digest()

	probe := declareProbe(t, engine.FormatNewest+1)
	require.Equal(t, want, snapshot())
	require.Equal(t, digest, w.m.Freeze().Digest())
	require.Equal(t, digest, restoredFrom(t, w.m).Freeze().Digest())
	probe.of(&w.m.tables).Append(probeRow{Leaf: 1})
	require.PanicsWithValue(t, "BUG: rows of a newer format", func() { snapshot() })

	probe.since = engine.Format1
	newer := snapshot()
	probe.since = engine.FormatNewest + 1
	_, err := Restore(bytes.NewReader(newer))
	require.ErrorIs(t, err, ErrSnapshot)
}
