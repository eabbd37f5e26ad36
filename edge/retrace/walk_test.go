package retrace

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
)

// bundles is a history that, like the store, always scans whole bundles.
type bundles uint64

func (b bundles) Scan(q audit.Query, visit func(uint64, audit.Leaf) bool) (audit.ScanResult, error) {
	const bundle = 256
	to := min(q.To, (q.From/bundle+1)*bundle)
	for at := q.From; at < to; at++ {
		if !visit(at, audit.Leaf{}) {
			return audit.ScanResult{Next: at + 1}, nil
		}
	}
	return audit.ScanResult{Next: to, Done: to == q.To}, nil
}
func (b bundles) FindTime(int64) uint64 { return 0 }
func (b bundles) Size() uint64          { return uint64(b) }

// Even if a step is a whole bundle, a walk computes without a break only for a slice and one
// more leaf. Then it rests three times as long, so it takes a quarter of a processor.
func TestWalkRestsWithinAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const leaves, one = 2560, 40 * time.Microsecond
		w := Walk{History: bundles(leaves), Rest: walkRest}
		began, end := time.Now(), time.Now() // When the work on each leaf ended.
		seen, stretch, longest := 0, time.Duration(0), time.Duration(0)
		for passed := false; !passed; {
			var err error
			passed, err = w.Step(context.Background(), leaves, func(context.Context, []byte, []uint64) error {
				if time.Now().After(end) {
					stretch = 0
				}
				time.Sleep(one) // It computes in the test's fake time.
				end, seen = time.Now(), seen+1
				stretch += one
				longest = max(longest, stretch)
				return nil
			})
			require.NoError(t, err)
		}
		require.Equal(t, leaves, seen)
		require.LessOrEqual(t, longest, walkSlice+one)
		require.InDelta(t, 0.25, float64(leaves*one)/float64(time.Since(began)), 0.02)
	})
}

// After each of its rests a walk makes way for verdicts. A run does so for as long as it has time;
// then it says that it is late, once.
func TestWalkMakesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ways := 0
		slow := func(context.Context, []byte, []uint64) error {
			time.Sleep(walkSlice)
			return nil
		}
		step := func(w *Walk) {
			w.Next, ways = 0, 0
			_, err := w.Step(context.Background(), 100, slow)
			require.NoError(t, err)
		}
		step(&Walk{History: bundles(100), Rest: walkRest, MakeWay: func() { ways++ }})
		require.GreaterOrEqual(t, ways, 99)

		var said bytes.Buffer
		r := &Retro{walk: Walk{History: bundles(100), Rest: walkRest}, log: slog.New(slog.NewTextHandler(&said, nil)), since: time.Now()}
		r.SetMakeWay(func() { ways++ })
		step(&r.walk)
		require.GreaterOrEqual(t, ways, 99)
		require.Empty(t, said.String())
		time.Sleep(retroDue)
		step(&r.walk)
		require.Zero(t, ways)
		require.Equal(t, 1, strings.Count(said.String(), "late"), said.String())
	})
}

// With Rest 0 a walk does not rest. A walk whose context ends stops in its rest.
func TestWalkWithoutRestAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, []byte, []uint64) error {
			time.Sleep(walkSlice)
			return nil
		}
		w := Walk{History: bundles(300)}
		began := time.Now()
		for range 2 {
			_, err := w.Step(context.Background(), 300, slow)
			require.NoError(t, err)
		}
		require.Equal(t, 300*walkSlice, time.Since(began))
		w = Walk{History: bundles(300), Rest: walkRest}
		ctx, cancel := context.WithTimeout(context.Background(), 5*walkSlice)
		defer cancel()
		began = time.Now()
		_, err := w.Step(ctx, 300, slow)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*walkSlice, time.Since(began))
	})
}
