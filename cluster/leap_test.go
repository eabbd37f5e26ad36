package cluster

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// worldClock is the clock of all machines of a test: it can be set, and it can let time pass.
type worldClock struct {
	Clock
	wall, passed atomic.Int64
}

func (c *worldClock) Wall() engine.Time {
	return c.Clock.Wall() + engine.Time(c.wall.Load()+c.passed.Load())
}
func (c *worldClock) Monotonic() engine.Time {
	return c.Clock.Monotonic() + engine.Time(c.passed.Load())
}

func (c *worldClock) set(by engine.Time)  { c.wall.Store(int64(by)) }
func (c *worldClock) pass(by engine.Time) { c.passed.Add(int64(by)) }

func newWorldClock() (*worldClock, func(*Config)) {
	c := &worldClock{Clock: SystemClock()}
	return c, func(config *Config) { config.Clock = c }
}

// openWaiting opens a group of one that will not open its term.
func openWaiting(t *testing.T, dir string, change ...func(*Config)) *Node {
	config := aloneConfig(t, dir)
	for _, c := range change {
		c(&config)
	}
	n, err := Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.Eventually(t, func() bool { return n.clocks.waiting.Load() != nil }, groupPatience, 2*time.Millisecond)
	return n
}

// says returns what a check of readiness says; ok reports whether it is content.
func says(n *Node, name string) (text string, ok bool) {
	for _, check := range n.Ready(context.Background(), report.ReadyQuery{}).Checks {
		if check.Name == name {
			return check.Text, check.OK
		}
	}
	return "", false
}

func confirmTime(until engine.Time) []byte {
	return wire.Encode(&wire.TimeConfirm{NotAfter: until})
}

// TestALeapWaits (line K1): a group starts with clocks 100 days ahead. No term is opened, and it
// says why. When the clocks are right again, the group goes on as if nothing had happened.
func TestALeapWaits(t *testing.T) {
	dir := t.TempDir()
	clock, with := newWorldClock()
	n := openAlone(t, dir, with)
	first := propose(t, n, wire.KindRegister, register("first"))
	require.NoError(t, n.Close())

	clock.set(100 * engine.DayLength)
	n = openWaiting(t, dir, with)
	_, err := n.Propose(t.Context(), wire.KindRegister, register("second"))
	require.ErrorIs(t, err, wire.ErrTimeUncertain)
	_, errs := n.ProposeMany(t.Context(), wire.KindRegister, [][]byte{register("third")})
	require.ErrorIs(t, errs[0], wire.ErrTimeUncertain)
	said, ok := says(n, "leader")
	require.False(t, ok)
	for _, part := range []string{"100 days beyond", "mend NTP", "railguard cluster confirm-time --not-after " + n.clocks.waiting.Load().confirmDate()} {
		require.Contains(t, said, part)
	}
	status := n.Status(t.Context())
	require.Equal(t, "time_unconfirmed", status.Writes.State)
	require.Contains(t, strings.Join(status.Warnings, "\n"), "100 days beyond")
	require.Zero(t, n.replica.opened.Load())

	clock.set(0)
	awaitReady(t, n)
	second := propose(t, n, wire.KindRegister, register("second"))
	require.Less(t, second.Time-first.Time, engine.Minute)
	data, err := n.Leaf(t.Context(), first.Leaf)
	require.NoError(t, err)
	require.Contains(t, string(data), `"agentName":"first"`)
}

// TestPersonsLetTimeLeap: clocks that are right after a long outage are confirmed, and the term is
// opened. A leap erases nothing.
func TestPersonsLetTimeLeap(t *testing.T) {
	dir := t.TempDir()
	clock, with := newWorldClock()
	n := openAlone(t, dir, with)
	first := propose(t, n, wire.KindRegister, register("first"))
	require.NoError(t, n.Close())

	clock.set(100 * engine.DayLength)
	n = openWaiting(t, dir, with)
	r, err := n.Propose(t.Context(), wire.KindTime, confirmTime(clock.Wall()-engine.Hour))
	require.NoError(t, err)
	require.Equal(t, wire.Applied, r.Code)
	time.Sleep(4 * leapRetry)
	require.NotNil(t, n.clocks.waiting.Load(), "an hour less than the clocks say was confirmed")
	r, err = n.Propose(t.Context(), wire.KindTime, confirmTime(clock.Wall()+engine.Hour))
	require.NoError(t, err)
	require.Equal(t, wire.Applied, r.Code)
	require.Contains(t, string(r.Data), `"kind":"clock.confirmed"`)
	require.Less(t, r.Time-first.Time, engine.Minute, "stamps go on until the leap")
	awaitReady(t, n)
	second := propose(t, n, wire.KindRegister, register("second"))
	require.Greater(t, second.Time-first.Time, 99*engine.DayLength)
	n.retention.applyRetention()
	data, err := n.Leaf(t.Context(), first.Leaf)
	require.NoError(t, err, "100 days by the clocks, and not one lived")
	require.Contains(t, string(data), `"agentName":"first"`)
}

// TestCredibleLeap: an outage within the bound needs nobody, and one past it does.
func TestCredibleLeap(t *testing.T) {
	dir := t.TempDir()
	clock, with := newWorldClock()
	n := openAlone(t, dir, with)
	first := propose(t, n, wire.KindRegister, register("first"))
	require.NoError(t, n.Close())
	clock.set(59 * engine.Minute)
	n = openAlone(t, dir, with)
	second := propose(t, n, wire.KindRegister, register("second"))
	require.Greater(t, second.Time-first.Time, 58*engine.Minute)
	require.NoError(t, n.Close())
	clock.set(59*engine.Minute + 61*engine.Minute)
	require.NoError(t, openWaiting(t, dir, with).Close())
	n = openAlone(t, dir, with, func(c *Config) { c.LeapMax = 2 * engine.Hour })
	require.NoError(t, n.Close())
	clock.set(1000 * engine.DayLength)
	openAlone(t, dir, with, func(c *Config) { c.LeapMax = -1 })
}

// TestClocksLeapWhileItLeads: clocks that leap while a leader leads move nothing: further than the
// bound its stamps do not even lean towards them.
func TestClocksLeapWhileItLeads(t *testing.T) {
	clock, with := newWorldClock()
	n := openAlone(t, t.TempDir(), with)
	before := propose(t, n, wire.KindRegister, register("before"))
	began := clock.Monotonic()
	clock.set(9 * engine.Hour)
	clock.pass(10 * engine.Minute)
	after := propose(t, n, wire.KindRegister, register("after"))
	passed := clock.Monotonic() - began
	require.InDelta(t, float64(passed), float64(after.Time-before.Time), float64(10*engine.Second))
	require.Eventually(t, func() bool { return n.ClocksAhead() > 8*engine.Hour }, groupPatience, 5*time.Millisecond)
	require.Contains(t, strings.Join(n.Status(t.Context()).Warnings, "\n"), "further than it may leap")
	_, ok := says(n, "clock")
	require.False(t, ok, "of a group of one nobody can tell which is wrong")
	require.Equal(t, wire.Applied, propose(t, n, wire.KindTime, confirmTime(clock.Wall()+engine.Hour)).Code)
}

// TestLogTimeCatchesUp (line K16): log time that is behind the clocks is told, and catches up after
// a minute if the leap is credible.
func TestLogTimeCatchesUp(t *testing.T) {
	clock, with := newWorldClock()
	n := openAlone(t, t.TempDir(), with)
	before := propose(t, n, wire.KindRegister, register("before"))
	clock.set(40 * engine.Minute)
	require.Eventually(t, func() bool { return n.clocks.logBehind() > 39*engine.Minute }, groupPatience, 5*time.Millisecond)
	require.Contains(t, strings.Join(n.Status(t.Context()).Warnings, "\n"), "log time is 40m")
	said, _ := says(n, "clock")
	require.Contains(t, said, "behind the clocks")
	require.Less(t, propose(t, n, wire.KindRegister, register("meanwhile")).Time-before.Time, 2*engine.Minute)
	time.Sleep(2 * tickEvery) // The leader has seen it by then.
	clock.pass(behindSteady + engine.Second)
	require.Eventually(t, func() bool { return n.ClocksAhead() == 0 }, groupPatience, 5*time.Millisecond)
	after := propose(t, n, wire.KindRegister, register("after"))
	require.Greater(t, after.Time-before.Time, 40*engine.Minute)
	awaitReady(t, n)
	require.NotContains(t, strings.Join(n.Status(t.Context()).Warnings, "\n"), "log time")
}

// TestAllClocksLeapAtAStart (line K1): three nodes lose power and come up with clocks nine hours
// ahead, as hardware clocks in local time are. Any node says what is the matter, and takes what
// persons say. One that lived through the pause bears it out.
func TestAllClocksLeapAtAStart(t *testing.T) {
	clock, with := newWorldClock()
	g := newGroup(t, with, patient)
	g.form(3)
	first := propose(t, g.leader(), wire.KindRegister, register("first"))
	g.closeAll()
	clock.set(9 * engine.Hour)
	for _, id := range []string{"n1", "n2", "n3"} {
		g.open(id)
	}
	waits := func() bool {
		for _, n := range g.all() {
			if n.clocks.waiting.Load() == nil {
				return false
			}
		}
		return true
	}
	require.Eventually(t, waits, groupPatience, 5*time.Millisecond)
	var follower *Node
	for id, n := range g.all() {
		said, ok := says(n, "leader")
		require.False(t, ok)
		require.Contains(t, said, "9h0m", id)
		_, err := n.Propose(t.Context(), wire.KindRegister, register(id))
		require.ErrorIs(t, err, wire.ErrTimeUncertain, id)
		if !n.replica.isLeader() {
			follower = n
		}
	}
	var r wire.Result
	require.Eventually(t, func() bool {
		var err error
		r, err = follower.Propose(t.Context(), wire.KindTime, confirmTime(clock.Wall()+engine.Hour))
		return err == nil
	}, groupPatience, 50*time.Millisecond)
	require.Equal(t, wire.Applied, r.Code)
	g.awaitReady()
	after := propose(t, follower, wire.KindRegister, register("after"))
	require.Greater(t, after.Time-first.Time, 8*engine.Hour)
	g.awaitEqual()

	// A pause that one process lives through is borne out by its monotonic clock.
	last := g.leader().replica.self
	for id := range g.all() {
		if id != string(last) {
			g.close(id)
		}
	}
	clock.pass(3 * engine.DayLength)
	for _, id := range []string{"n1", "n2", "n3"} {
		if id != string(last) {
			g.open(id)
		}
	}
	g.awaitReady()
	later := propose(t, g.leader(), wire.KindRegister, register("later"))
	// Until the leader has heard the others' clocks anew its stamps may lean by a tenth of what passed, which they
	// catch up within minutes.
	require.Greater(t, later.Time-after.Time, 3*engine.DayLength/slewShare*(slewShare-1)-engine.Hour)
}
