package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestTableAgainstModel applies the same random operations to a table and a plain slice, and
// checks that every frozen copy stays as it was.
func TestTableAgainstModel(t *testing.T) {
	rows := chunkRows[int, [16]int]()
	rapid.Check(t, func(t *rapid.T) {
		var table Table[int, [16]int]
		start := rapid.Uint64Range(0, 2*rows).Draw(t, "start")
		table.startAt(start)
		first := start
		var model []int
		type frozen struct {
			table Table[int, [16]int]
			first uint64
			rows  []int
		}
		var kept []frozen
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0, 1, 2, 3:
				for n := range rapid.IntRange(1, 48).Draw(t, "many") {
					require.Equal(t, first+uint64(len(model)), table.Append(n))
					model = append(model, n)
				}
			case 4, 5, 6:
				if len(model) > 0 {
					i := rapid.IntRange(0, len(model)-1).Draw(t, "edit")
					*table.Edit(first + uint64(i)) += 7
					model[i] += 7
				}
			case 7:
				for range min(len(model), rapid.IntRange(0, 500).Draw(t, "drop back")) {
					table.DropBack()
					model = model[:len(model)-1]
				}
				for range min(len(model), rapid.IntRange(0, 5000).Draw(t, "drop")) {
					table.DropFront()
					model = model[1:]
					first++
				}
			case 8:
				kept = append(kept, frozen{table.Freeze(), first, append([]int(nil), model...)})
			case 9:
				for i, want := range model {
					require.Equal(t, want, *table.At(first + uint64(i)))
				}
			}
		}
		for _, f := range kept {
			require.Equal(t, len(f.rows), f.table.Len())
			for i, want := range f.rows {
				require.Equal(t, want, *f.table.At(f.first + uint64(i)))
			}
		}
	})
}
