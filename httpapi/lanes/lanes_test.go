package lanes

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Queues take turns: a caller with many waiting calls gets one turn for each turn of
// another.
func TestLinesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLane(1, 64, 8)
		ctx := context.Background()
		require.NoError(t, l.Enter(ctx, "first"))
		var order []string
		for _, who := range []string{"many", "many", "many", "many", "few", "other"} {
			go func() {
				if l.Enter(ctx, who) == nil {
					order = append(order, who) // Only one place: one writer at a time.
					l.Leave(who)
				}
			}()
			synctest.Wait()
		}
		l.Leave("first")
		synctest.Wait()
		require.Equal(t, []string{"many", "few", "other", "many", "many", "many"}, order)
		require.Empty(t, l.queues)
		require.Equal(t, 1, l.free)
	})
}

// Long work that calls Pass lets every other caller run between its steps.
func TestLongWorkPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLane(1, 64, 8)
		ctx := context.Background()
		var order []string
		require.NoError(t, l.Enter(ctx, "long"))
		for _, who := range []string{"a", "a", "b"} {
			go func() {
				if l.Enter(ctx, who) == nil {
					order = append(order, who)
					l.Leave(who)
				}
			}()
			synctest.Wait()
		}
		for range 4 {
			order = append(order, "long")
			require.NoError(t, l.Pass(ctx, "long"))
		}
		l.Leave("long")
		require.Equal(t, "a", order[1])
		require.Equal(t, "b", order[2])
		require.Len(t, order, 7)
		require.Empty(t, l.queues)
		require.Equal(t, 1, l.free)
	})
}

// The lane and each caller are bounded. A call that gives up waiting leaves nothing behind.
func TestLaneIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLane(1, 3, 2)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.NoError(t, l.Enter(ctx, "a"))
		results := make(chan error, 8)
		enter := func(who string) { results <- l.Enter(ctx, who) }
		go enter("a")
		synctest.Wait()
		require.ErrorIs(t, l.Enter(ctx, "a"), ErrFull, "of one caller")
		go enter("b")
		go enter("c")
		synctest.Wait()
		require.ErrorIs(t, l.Enter(ctx, "d"), ErrFull, "of all")
		l.mutex.Lock()
		require.Len(t, l.queues, 3)
		l.mutex.Unlock()
		time.Sleep(2 * time.Second)
		for range 3 {
			require.ErrorIs(t, <-results, context.DeadlineExceeded)
		}
		require.Zero(t, l.waiting)
		require.Zero(t, l.next.Len())
		require.NoError(t, l.Pass(ctx, "a"), "nobody waits")
		l.Leave("a")
		require.Empty(t, l.queues)
		require.NoError(t, l.Enter(context.Background(), "d"))
	})
}

func TestAddresses(t *testing.T) {
	a := NewAddresses(10, 20, 4)
	now := time.Unix(1000, 0)
	one, same, other := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("203.0.113.1")
	require.True(t, a.Allow(one, 20, now))
	require.False(t, a.Allow(same, 1, now), "an IPv6 client is its /64")
	require.True(t, a.Allow(other, 1, now))
	require.True(t, a.Allow(netip.MustParseAddr("::ffff:203.0.113.1"), 19, now))
	require.False(t, a.Allow(other, 1, now), "mapped is the same")
	require.True(t, a.Allow(one, 10, now.Add(time.Second)))
	require.False(t, a.Allow(one, 1, now.Add(time.Second)))
	require.True(t, a.Allow(netip.Addr{}, 500, now), "no address is one; no call costs more than a burst")
	require.False(t, a.Allow(netip.Addr{}, 1, now))
	for i := range 1000 {
		a.Allow(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1, now.Add(time.Second))
		require.LessOrEqual(t, len(a.now)+len(a.before), 8, strconv.Itoa(i))
	}
}
