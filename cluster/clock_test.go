package cluster

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// handClock is a clock that the test moves.
type handClock struct{ wall, monotonic engine.Time }

func (c *handClock) Wall() engine.Time      { return c.wall }
func (c *handClock) Monotonic() engine.Time { return c.monotonic }

func (c *handClock) pass(d engine.Time) {
	c.wall += d
	c.monotonic += d
}

func TestShiftedClock(t *testing.T) {
	const noon = 1_000_000 * engine.Second
	by := engine.Time(0)
	c := ShiftedClock(&handClock{wall: noon, monotonic: 7}, func() engine.Time { return by })
	for _, by = range []engine.Time{0, 5 * engine.Minute, -5 * engine.Minute, engine.DayLength, 0} {
		require.Equal(t, noon+by, c.Wall())
		require.Equal(t, engine.Time(7), c.Monotonic(), "only the wall clock is wrong")
	}
}

// When our own clock is set, a sample of a peer's clock must not move with it: if a leader's
// clock has just jumped a day, the leader is a day off, and not its peers.
func TestSampleOutlivesOwnJump(t *testing.T) {
	c := &handClock{wall: 1_000_000 * engine.Second}
	seen := sample{offset: 3 * engine.Millisecond, base: clockBase(c)}
	c.pass(engine.Second)
	require.Equal(t, 3*engine.Millisecond, seen.seenFrom(clockBase(c)).offset, "time that passes changes nothing")
	c.wall += engine.DayLength
	require.Equal(t, 3*engine.Millisecond-engine.DayLength, seen.seenFrom(clockBase(c)).offset)
	c.wall -= engine.DayLength
	require.Equal(t, 3*engine.Millisecond, seen.seenFrom(clockBase(c)).offset)
}

func TestStamper(t *testing.T) {
	const noon = 1_000_000 * engine.Second
	begin := func(logTime engine.Time) (*stamper, *handClock) {
		c := &handClock{wall: noon}
		s := &stamper{clock: c}
		s.restartStamps(logTime, c.Wall())
		return s, c
	}
	t.Run("goes with a good clock", func(t *testing.T) {
		s, c := begin(0)
		c.pass(3 * engine.Second)
		require.Equal(t, noon+3*engine.Second, s.nextStamp(c.Wall()))
	})
	t.Run("never goes back", func(t *testing.T) {
		s, c := begin(noon + engine.Hour)
		require.Equal(t, noon+engine.Hour, s.nextStamp(c.Wall()))
		require.Equal(t, noon+engine.Hour, s.nextStamp(c.Wall()))
	})
	t.Run("behind log time it runs slow, it does not stand", func(t *testing.T) {
		s, c := begin(noon + engine.Hour)
		c.pass(100 * engine.Second)
		require.Equal(t, noon+engine.Hour+90*engine.Second, s.nextStamp(c.Wall()))
	})
	t.Run("a jump forward bends by a tenth", func(t *testing.T) {
		s, c := begin(0)
		c.wall += engine.DayLength
		require.Equal(t, noon, s.nextStamp(c.Wall()), "no time has passed")
		c.pass(10 * engine.Second)
		require.Equal(t, noon+11*engine.Second, s.nextStamp(c.Wall()))
	})
	t.Run("a jump back bends by a tenth", func(t *testing.T) {
		s, c := begin(0)
		c.wall -= engine.DayLength
		c.pass(10 * engine.Second)
		require.Equal(t, noon+9*engine.Second, s.nextStamp(c.Wall()))
	})
	t.Run("a bend ends on the target", func(t *testing.T) {
		s, c := begin(0)
		c.wall += engine.Second
		for range 20 {
			c.pass(engine.Second)
			s.nextStamp(c.Wall())
		}
		require.Equal(t, c.wall, s.last)
	})
	t.Run("a monotonic clock that stands still is harmless", func(t *testing.T) {
		s, c := begin(0)
		c.monotonic -= engine.Second
		require.Equal(t, noon, s.nextStamp(c.Wall()))
	})
}

// TestAloneClockJump: a group of one slews against its monotonic clock (decision 47, "Log time").
func TestAloneClockJump(t *testing.T) {
	c := &jumpClock{Clock: SystemClock()}
	n := openAlone(t, t.TempDir(), func(config *Config) { config.Clock = c })
	before := propose(t, n, 4, register("before"))
	c.by.Store(int64(engine.DayLength))
	after := propose(t, n, 4, register("after"))
	require.Less(t, after.Time-before.Time, engine.Minute)
	require.False(t, n.Ready(t.Context(), readyQueryAll).Ready, "the jump shows")
	require.NotEmpty(t, n.Status(t.Context()).Warnings)
}

// The log says once that the clock is off, and once that it is right again.
func TestClockOffIsTold(t *testing.T) {
	var said bytes.Buffer
	c, log := &clocks{}, slog.New(slog.NewTextHandler(&said, nil))
	for _, offset := range []engine.Time{0, 500 * engine.Millisecond, -499 * engine.Millisecond} {
		c.tellOffset(&life{log: log}, offset)
	}
	require.Empty(t, said.String())
	for range 3 {
		c.tellOffset(&life{log: log}, -40*engine.Second)
	}
	require.Equal(t, 1, strings.Count(said.String(), "level=WARN"))
	require.Contains(t, said.String(), "mend NTP")
	require.Contains(t, said.String(), "offsetMillis=-40000")
	c.tellOffset(&life{log: log}, 0)
	c.tellOffset(&life{log: log}, 0)
	require.Equal(t, 1, strings.Count(said.String(), "right again"))
	c.tellOffset(&life{log: log}, engine.Second)
	require.Equal(t, 2, strings.Count(said.String(), "level=WARN"))
}
