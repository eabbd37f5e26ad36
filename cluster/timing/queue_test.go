package timing

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// server answers one call after the other, each after service; before that each call waits for
// disk, which as many calls as come can do at once.
type server struct {
	queue         *Queue
	now           time.Duration
	service, disk time.Duration
	before        time.Duration                // How long a call is said to wait before it can enter.
	stopped       func(now time.Duration) bool // Reports a pause, as of an election.

	waiting []*sent
	free    time.Duration // When the server is free again.
	took    map[string][]time.Duration
	refused map[string]int
}

type sent struct {
	Waiter
	came time.Duration
}

func newServer(service, disk time.Duration) *server {
	s := &server{now: time.Minute, service: service, disk: disk, stopped: func(time.Duration) bool { return false }, took: map[string][]time.Duration{}, refused: map[string]int{}}
	s.queue = NewQueue(func() time.Duration { return s.now }, func() time.Duration { return s.before })
	return s
}

// run sends calls of owners, each with a pause of its own between two calls, for so long.
func (s *server) run(span time.Duration, every map[string]time.Duration) {
	const step = 100 * time.Microsecond
	next := map[string]time.Duration{"calm": s.now, "flood": s.now}
	for end := s.now + span; s.now < end; s.now += step {
		for _, owner := range []string{"calm", "flood"} {
			for every[owner] > 0 && next[owner] <= s.now {
				next[owner] += every[owner]
				call := &sent{came: s.now}
				if !s.queue.Enter(&call.Waiter, owner) {
					s.refused[owner]++
					continue
				}
				s.waiting = append(s.waiting, call)
			}
		}
		if s.stopped(s.now) {
			s.free = s.now
			continue
		}
		for len(s.waiting) > 0 && s.free <= s.now && s.now-s.waiting[0].came >= s.disk {
			call := s.waiting[0]
			s.waiting = s.waiting[1:]
			s.free = max(s.free, s.now-step) + s.service
			owner := call.owner
			s.queue.Leave(&call.Waiter)
			s.took[owner] = append(s.took[owner], s.now-call.came)
		}
	}
}

func p99(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)*99/100]
}

// Above what a node answers, calls are refused before they wait: those that are admitted wait no
// longer than they may, and as many are answered as without the excess.
func TestExcessIsRefusedEarly(t *testing.T) {
	s := newServer(100*time.Microsecond, 2*time.Millisecond)
	s.run(2*time.Second, map[string]time.Duration{"flood": 500 * time.Microsecond}) // 2,000 of 10,000 a second.
	require.Zero(t, s.refused["flood"])
	before := len(s.took["flood"])
	s.run(10*time.Second, map[string]time.Duration{"flood": 83 * time.Microsecond}) // 12,000.
	answered := len(s.took["flood"]) - before
	require.GreaterOrEqual(t, answered, 97_000, "of 100,000 that could be answered")
	require.Less(t, p99(s.took["flood"]), 2*WaitMax)
	require.NotZero(t, s.refused["flood"])
	clear(s.took)
	s.run(5*time.Second, map[string]time.Duration{"flood": 83 * time.Microsecond})
	require.LessOrEqual(t, p99(s.took["flood"]), WaitMax+10*time.Millisecond, "while it lasts, as many are let in as are answered in time")
	s.refused["flood"] = 0
	s.run(time.Second, nil)
	s.run(10*time.Second, map[string]time.Duration{"flood": 112 * time.Microsecond}) // Nine tenths.
	require.Zero(t, s.refused["flood"])
}

// A slow disk is no overload, however many calls wait for it at once: one more waits no longer.
func TestSlowDiskIsNoOverload(t *testing.T) {
	for _, disk := range []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond} {
		s := newServer(100*time.Microsecond, disk)
		s.run(10*disk, map[string]time.Duration{"calm": 2 * disk}) // One after the other: what they take is the calm.
		s.run(10*time.Second, map[string]time.Duration{"calm": 500 * time.Microsecond})
		require.Zero(t, s.refused["calm"], disk)
		require.LessOrEqual(t, s.queue.Late(), time.Duration(0), disk)
	}
}

// An election is no overload: the calls that came meanwhile are answered, and those that come while
// they are.
func TestPauseIsNoOverload(t *testing.T) {
	s := newServer(100*time.Microsecond, 2*time.Millisecond)
	s.stopped = func(now time.Duration) bool { return now%(4*time.Second) < 500*time.Millisecond }
	s.run(20*time.Second, map[string]time.Duration{"calm": 300 * time.Microsecond})
	require.Zero(t, s.refused["calm"])
}

// Whoever sends more than his share is refused, and nobody else.
func TestOnlyWhoSendsMostIsRefused(t *testing.T) {
	s := newServer(100*time.Microsecond, 2*time.Millisecond)
	load := map[string]time.Duration{"flood": 50 * time.Microsecond, "calm": time.Millisecond}
	s.run(time.Second, load)
	clear(s.took)
	s.run(10*time.Second, load)
	require.Less(t, s.refused["calm"], 100, "of 10,000: now and then it has more waiting than the flood")
	require.Greater(t, s.refused["flood"], 50_000)
	require.Less(t, p99(s.took["calm"]), 3*WaitMax, "twice as many as are answered")
}

// One call that waits long by itself is no overload, and nor are many that are soon answered.
func TestOneSlowCallIsNoOverload(t *testing.T) {
	s := newServer(100*time.Microsecond, 40*time.Millisecond)
	s.run(time.Second, map[string]time.Duration{"calm": 100 * time.Millisecond})
	require.True(t, s.queue.Enter(new(Waiter), "slow"))
	s.run(5*time.Second, map[string]time.Duration{"calm": 125 * time.Microsecond})
	require.Empty(t, s.refused)
	age, waiting := s.queue.Oldest()
	require.GreaterOrEqual(t, age, 5*time.Second-time.Millisecond)
	require.Greater(t, waiting, FewCalls, "so that nobody is spared for being few")
}

// What a call waits before it can enter counts as what it waits in the queue.
func TestWaitBeforeTheQueueCounts(t *testing.T) {
	s := newServer(100*time.Microsecond, 30*time.Millisecond)
	s.run(time.Second, map[string]time.Duration{"calm": 50 * time.Millisecond})
	load := map[string]time.Duration{"flood": 125 * time.Microsecond} // 240 at a time.
	s.run(2*time.Second, load)
	require.Empty(t, s.refused)
	require.Zero(t, s.queue.Late())
	s.before = 4 * WaitMax
	s.run(2*time.Second, load)
	require.NotZero(t, s.refused["flood"])
	require.NotEmpty(t, s.waiting, "a few are let in all the same")
	require.GreaterOrEqual(t, s.queue.Late(), WaitMax)

	few := newServer(100*time.Microsecond, 2*time.Millisecond)
	few.before = 2 * WaitMax // A machine that is slow for reasons of its own.
	few.run(2*time.Second, map[string]time.Duration{"calm": 5 * time.Millisecond})
	require.Empty(t, few.refused)
}

// A limit ends with what made it necessary: a burst is served again.
func TestLimitEnds(t *testing.T) {
	s := newServer(100*time.Microsecond, 2*time.Millisecond)
	s.run(5*time.Second, map[string]time.Duration{"flood": 50 * time.Microsecond})
	require.NotZero(t, s.refused["flood"])
	s.run(2*time.Second, map[string]time.Duration{"calm": 5 * time.Millisecond})
	clear(s.refused)
	s.run(30*time.Millisecond, map[string]time.Duration{"flood": 50 * time.Microsecond}) // 600 at once.
	require.Empty(t, s.refused)
}

// A burst that the node answers in time is not refused.
func TestBurstIsServed(t *testing.T) {
	s := newServer(100*time.Microsecond, 2*time.Millisecond)
	s.run(2*time.Second, map[string]time.Duration{"calm": 5 * time.Millisecond})
	s.run(30*time.Millisecond, map[string]time.Duration{"flood": 75 * time.Microsecond}) // 400 at once.
	s.run(time.Second, map[string]time.Duration{"calm": 5 * time.Millisecond})
	require.Empty(t, s.refused)
	_, waiting := s.queue.Oldest()
	require.LessOrEqual(t, waiting, 1)
}

// Expensive work makes way while the oldest call waits longer than in calm, for a bounded time.
func TestWorkMakesWay(t *testing.T) {
	s := newServer(100*time.Microsecond, 10*time.Millisecond)
	s.run(time.Second, map[string]time.Duration{"calm": 5 * time.Millisecond})
	require.LessOrEqual(t, s.queue.Late(), LateFor, "what the disk takes is no reason")
	s.service = 20 * time.Millisecond
	s.run(300*time.Millisecond, map[string]time.Duration{"calm": 5 * time.Millisecond})
	require.Greater(t, s.queue.Late(), LateFor)

	synctest.Test(t, func(t *testing.T) { // Its time stands still but for sleeps.
		calls := &Calls{Single: s.queue, Bulk: NewQueue(nil, nil)}
		began := time.Now()
		calls.MakeWay()
		require.Equal(t, MakeWayMax, time.Since(began))
		began = time.Now()
		(*Calls)(nil).MakeWay()
		NewCalls(nil).MakeWay()
		require.Zero(t, time.Since(began))
	})
}
