package border

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzCursor(f *testing.F) {
	f.Add("agents-", uint64(5), "YWdlbnRzKzox")
	f.Fuzz(func(t *testing.T, kind string, n uint64, text string) {
		if len(kind) < 100 && n != 0 {
			read, ok := parseCursor(kind, 2, writeCursor(kind, n, n/2))
			if !ok || read[0] != n || read[1] != n/2 {
				t.Fatalf("%q %d: %d %v", kind, n, read, ok)
			}
		}
		parseCursor(kind, 3, text)
	})
}

// Pages cover a table once, whatever their size and direction.
func TestPagesCoverTheTable(t *testing.T) {
	for _, ascending := range []bool{false, true} {
		for _, count := range []uint64{0, 1, 7, 8} {
			for limit := 1; limit <= 9; limit++ {
				var seen []uint64
				p := RowQuery{ListQuery: ListQuery{kind: "k", Limit: limit, Ascending: ascending}}
				for calls := 0; ; calls++ {
					require.Less(t, calls, 20)
					next := p.Scan(count, func(row uint64) bool { seen = append(seen, row); return row%2 == 1 })
					if next == "" {
						break
					}
					after, ok := parseCursor(p.cursorKind(), 1, next)
					require.True(t, ok)
					p.After = after[0]
				}
				require.Len(t, seen, int(count))
				for i, row := range seen {
					want := uint64(i) + 1
					if !ascending {
						want = count - uint64(i)
					}
					require.Equal(t, want, row)
				}
			}
		}
	}
	// A cursor from a time when the table was longer works.
	p := RowQuery{ListQuery: ListQuery{kind: "k", Limit: 5}, After: 100}
	require.Empty(t, p.Scan(3, func(uint64) bool { return true }))
	p.Ascending = true
	require.Empty(t, p.Scan(3, func(uint64) bool { t.Fatal("no such row"); return true }))
}
