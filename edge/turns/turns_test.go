package turns

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	cheap = 20 * time.Microsecond
	dear  = 3 * time.Millisecond
)

// work takes a turn for an owner and works for a while.
func work(t *Turns, name string, length time.Duration) error {
	turn, err := t.Take(context.Background(), t.Owner(name))
	if err != nil {
		return err
	}
	time.Sleep(length)
	turn.End(length)
	return nil
}

// requireIdle checks that nothing is left behind when every rest is over.
func requireIdle(t *testing.T, turns *Turns) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	require.Zero(t, turns.state.Load())
	require.Empty(t, turns.ready)
	for name, owner := range *turns.owners.Load() {
		require.Zero(t, owner.held.Load(), name)
		require.Zero(t, owner.waiting.Len(), name)
	}
}

// The one processor of a node goes to two floods of the same owner and to a calm owner: the
// calm one waits for the turn that is under way and for no other.
func TestCalmOwnerWaitsForOneTurn(t *testing.T) {
	for _, places := range []int{1, 2, 8} {
		t.Run(strconv.Itoa(places), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := New(places)
				ctx, stop := context.WithCancel(context.Background())
				var flood sync.WaitGroup
				for range 32 {
					flood.Go(func() {
						for ctx.Err() == nil {
							if work(turns, "flood", dear) != nil {
								time.Sleep(dear) // Too much of its work waits.
							}
						}
					})
				}
				time.Sleep(time.Second)
				worst := time.Duration(0)
				for range 1000 {
					began := time.Now()
					require.NoError(t, work(turns, "calm", cheap))
					worst = max(worst, time.Since(began))
					time.Sleep(time.Millisecond)
				}
				stop()
				flood.Wait()
				if places == 1 {
					require.LessOrEqual(t, worst, dear+cheap)
				} else {
					require.Equal(t, cheap, worst, "half of the places are never taken by turns that are long")
				}
				requireIdle(t, turns)
			})
		})
	}
}

// Dear owners that always have work waiting get the same time, however long their turns are.
func TestOwnersGetTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		lengths := map[string]time.Duration{"short": 100 * time.Microsecond, "long": 2 * time.Millisecond, "longer": 5 * time.Millisecond}
		var had sync.Map
		var all sync.WaitGroup
		for name, length := range lengths {
			total := new(atomic.Int64)
			had.Store(name, total)
			for range 8 {
				all.Go(func() {
					for ctx.Err() == nil {
						require.NoError(t, work(turns, name, length))
						total.Add(int64(length))
					}
				})
			}
		}
		all.Wait()
		for name := range lengths {
			total, _ := had.Load(name)
			share := time.Duration(total.(*atomic.Int64).Load()).Seconds() / 2
			require.InDelta(t, 1.0/3, share, 0.02, name)
		}
		requireIdle(t, turns)
	})
}

// Beside calm owners a dear one has a sixteenth of the processors, or an eighth of the only one;
// alone, and beside another dear owner, it rests for nobody.
func TestDearOwnerRestsBesideOthers(t *testing.T) {
	for _, places := range []int{1, 2, 8} {
		t.Run(strconv.Itoa(places), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := New(places)
				ctx, stop := context.WithCancel(context.Background())
				var worked [2]atomic.Int64
				var flood sync.WaitGroup
				for i := range 64 {
					name := i % len(worked)
					flood.Go(func() {
						for ctx.Err() == nil {
							if work(turns, "flood "+strconv.Itoa(name), dear) == nil {
								worked[name].Add(int64(dear))
							} else {
								time.Sleep(dear) // Too much of its work waits.
							}
						}
					})
				}
				// shares returns what part of the processors each of the floods has in a second.
				shares := func(meanwhile func()) (shares [2]float64) {
					before := [2]int64{worked[0].Load(), worked[1].Load()}
					end := time.Now().Add(time.Second)
					for time.Now().Before(end) {
						meanwhile()
						time.Sleep(time.Millisecond)
					}
					for i := range shares {
						shares[i] = time.Duration(worked[i].Load()-before[i]).Seconds() / float64(places)
					}
					return shares
				}
				rest := func() {}
				calm := func() { require.NoError(t, work(turns, "calm", cheap)) }
				for _, share := range shares(rest) {
					require.InDelta(t, 1.0/2, share, 0.05, "two dear owners share the processors")
				}
				shares(calm)
				most := 1.0 / 16
				if places == 1 {
					most = 1.0 / 8
				}
				for _, share := range shares(calm) {
					require.InDelta(t, most, share, 0.01)
				}
				shares(rest)
				for _, share := range shares(rest) {
					require.InDelta(t, 1.0/2, share, 0.05, "the calm owner has gone")
				}
				stop()
				flood.Wait()
				requireIdle(t, turns)
			})
		})
	}
}

// Beside calm owners no more dear calls may wait than are served in time, rests included.
func TestBacklogCountsRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		for range 100 {
			require.NoError(t, work(turns, "flood", dear))
			require.NoError(t, work(turns, "calm", cheap))
		}
		var refused atomic.Int64
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if work(turns, "flood", dear) == ErrFull {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		most := int64(waitMax/(dear*(1+restTimes))) + 2 // As above.
		require.InDelta(t, 100-most, refused.Load(), 2)
		all.Wait()
		requireIdle(t, turns)
	})
}

// An owner may have a bounded amount of work waiting: many cheap calls or some dear ones.
// Another owner is not refused.
func TestBacklogOfAnOwnerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		require.NoError(t, work(turns, "other", cheap))
		for range 100 {
			require.NoError(t, work(turns, "flood", dear))
		}
		var refused, served atomic.Int64
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				if work(turns, "flood", dear) == ErrFull {
					refused.Add(1)
				} else {
					served.Add(1)
				}
			})
		}
		synctest.Wait()
		most := int64(backlogMax/dear) + 2 // One is running, and one more may wait when the bound is not yet passed.
		require.InDelta(t, 500-most, refused.Load(), 2)
		for range 2000 {
			all.Go(func() { require.NoError(t, work(turns, "other", cheap)) })
		}
		synctest.Wait()
		require.Positive(t, turns.Waiting())
		all.Wait()
		require.Equal(t, int64(500), refused.Load()+served.Load())
		requireIdle(t, turns)
	})
}

// What an owner did while it was alone is held against it for a moment, not for ever.
func TestDebtIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		for range 1000 {
			require.NoError(t, work(turns, "old", dear))
		}
		began := time.Now()
		var waited time.Duration
		var all sync.WaitGroup
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					require.NoError(t, work(turns, "new", dear))
				}
			})
		}
		synctest.Wait()
		all.Go(func() {
			require.NoError(t, work(turns, "old", dear))
			waited = time.Since(began)
		})
		all.Wait()
		require.LessOrEqual(t, waited, debtMax+3*dear)
	})
}

// A call that stops waiting leaves nothing behind.
func TestWaitingEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		first, err := turns.Take(context.Background(), turns.Owner("a"))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = turns.Take(ctx, turns.Owner("b"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		first.End(cheap)
		first.End(cheap) // The second time does nothing.
		requireIdle(t, turns)
	})
}

// Many goroutines take and end turns at once: no place is lost, and never more are taken than
// there are.
func TestNoPlaceIsLost(t *testing.T) { synctest.Test(t, takeManyTurns) }

func takeManyTurns(t *testing.T) {
	turns := New(3)
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		name := strconv.Itoa(i % 5)
		all.Go(func() {
			for k := range 400 {
				ctx, cancel := context.WithCancel(context.Background())
				if k%7 == 0 {
					cancel()
				}
				turn, err := turns.Take(ctx, turns.Owner(name))
				if err == nil {
					now := inside.Add(1)
					for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
					}
					if k%16 == 0 {
						runtime.Gosched()
					}
					inside.Add(-1)
					turn.End(time.Duration(k%5) * 60 * time.Microsecond)
				}
				cancel()
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	requireIdle(t, turns)
}

// The number of owners that are remembered is bounded.
func TestOwnersAreBounded(t *testing.T) {
	turns := New(1)
	many := make(map[string]*Owner, ownersKept)
	for i := range ownersKept {
		many[strconv.Itoa(i)] = &Owner{at: -1}
	}
	turns.owners.Store(&many)
	busy, err := turns.Take(context.Background(), turns.Owner("7"))
	require.NoError(t, err)
	turns.Owner("one more")
	require.Len(t, *turns.owners.Load(), 2)
	require.Same(t, busy.owner, turns.Owner("7"))
}

// BenchmarkTurn takes and ends a turn that nobody waits for.
func BenchmarkTurn(b *testing.B) {
	turns, ctx := New(runtime.GOMAXPROCS(0)), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		turn, _ := turns.Take(ctx, turns.Owner("ACME"))
		turn.End(cheap)
	}
}
