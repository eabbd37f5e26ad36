package keyindex_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/keyindex"
)

// synthetic is a history whose leaf n was written at n times a step and has the key of n.
type synthetic struct {
	size uint64
	step int64
}

func (h *synthetic) Size() uint64 { return h.size }

func (h *synthetic) Record(index uint64) (audit.Leaf, error) {
	return audit.Leaf{Time: int64(index) * h.step, Keys: []uint64{mixed(index)}}, nil
}

func (h *synthetic) FindTime(time int64) uint64 { return uint64(max(0, (time+h.step-1)/h.step)) }

func mixed(n uint64) uint64 {
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	return (n^n>>31)&^15 | 3
}

// BenchmarkFind looks for keys in an index of 20 million leaves, as they are after 17 minutes at
// 20,000 calls a second: of calls that were never made, and of calls that were.
func BenchmarkFind(b *testing.B) {
	const leaves = 20 << 20
	history := &synthetic{step: int64(50 * time.Microsecond)}
	x, err := keyindex.Open(audit.OSDir(b.TempDir()), history, keyindex.Options{IsKey: isKey, Kept: 24 * time.Hour, Inline: true})
	require.NoError(b, err)
	batch := make([]audit.Leaf, 512)
	began := time.Now()
	for history.size < leaves {
		for i := range batch {
			batch[i], _ = history.Record(history.size + uint64(i))
		}
		first := history.size
		history.size += uint64(len(batch))
		x.Add(first, batch)
		if history.size%(1<<16) == 0 {
			x.Settle()
		}
	}
	b.Logf("%d leaves in %v", leaves, time.Since(began))
	for name, from := range map[string]uint64{"absent": 1 << 40, "present": 0} {
		b.Run(name, func(b *testing.B) {
			for n := uint64(0); b.Loop(); n++ {
				found, err := x.Find(mixed(from+n*7919%leaves), 16)
				if err != nil || (len(found.Leaves) == 0) != (from > 0) {
					b.Fatal(found, err)
				}
			}
		})
	}
	require.NoError(b, x.Close())
}
