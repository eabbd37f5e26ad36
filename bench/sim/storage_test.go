package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAllDisksHang: the disks of all nodes hang for 1 to 60 s. No process ends, and verdicts come
// again within a second after the disks answer.
func TestAllDisksHang(t *testing.T) {
	for _, lasts := range []time.Duration{time.Second, 1600 * time.Millisecond, 4100 * time.Millisecond, 14 * time.Second, 16 * time.Second, 60 * time.Second} {
		for _, busy := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, busy %v", lasts, busy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, h := NewWorld(t, uint64(lasts), 3), &History{}
					w.StartAll()
					defer w.StopAll()
					leader(t, w)
					if busy {
						go func() { h.Register(t.Context(), leader(t, w), "before") }()
					}
					w.hangAll(lasts)
					began := time.Now()
					for i := 0; h.Register(t.Context(), w.leading(), fmt.Sprint("after ", i)).Err != nil; i++ {
						require.Less(t, time.Since(began), 10*time.Second)
						time.Sleep(10 * time.Millisecond)
					}
					took := time.Since(began)
					t.Logf("verdicts again after %v", took)
					require.LessOrEqual(t, took, time.Second)
					w.AwaitReady(time.Minute)
					w.AwaitEqual(time.Minute)
					require.Empty(t, w.GaveUp())
					require.Empty(t, w.Restarts(), "slowness ends no node that nobody replaces")
				})
			})
		}
	}
}

// TestOneDiskHangs: the disk of one node hangs for a minute, the leader's or another's. Verdicts
// come again after the patience of a leader and an election, and the node ends once it is clear
// that the others go on without it.
func TestOneDiskHangs(t *testing.T) {
	for _, leads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w, h := NewWorld(t, 7, 3), &History{}
			w.StartAll()
			defer w.StopAll()
			hung, other := leader(t, w), w.Hosts()[0]
			if other == hung {
				other = w.Hosts()[1]
			}
			if !leads {
				hung, other = other, hung
			}
			hung.Doom().Hang()
			began := time.Now()
			for i := 0; h.Register(t.Context(), other, fmt.Sprint("after ", i)).Err != nil; i++ {
				require.Less(t, time.Since(began), 10*time.Second)
				time.Sleep(10 * time.Millisecond)
			}
			t.Logf("verdicts again after %v", time.Since(began))
			require.Less(t, time.Since(began), 5*time.Second)
			for i := 0; len(w.Restarts()) == 0; i++ {
				require.Less(t, time.Since(began), 20*time.Second, "others go on: its callers are to go to them")
				require.NoError(t, h.Register(t.Context(), other, fmt.Sprint("meanwhile ", i)).Err)
				time.Sleep(100 * time.Millisecond)
			}
			require.Greater(t, time.Since(began), 14*time.Second)
			require.Contains(t, w.Restarts()[0], "disk stalled")
			w.mend()
			w.AwaitReady(time.Minute)
			w.AwaitEqual(time.Minute)
			require.Empty(t, w.GaveUp())
		})
	}
}
