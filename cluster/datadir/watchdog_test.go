package datadir

import (
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// handBeats replaces the watchdog's timers. A beat comes when the test fires it, whatever a
// clock would show.
type handBeats struct {
	armed time.Duration // Pause before the next beat; 0: no beat is armed.
	total time.Duration // Sum of the pauses before all beats.
	beat  func()
}

func (h *handBeats) later(d time.Duration, beat func()) beatTimer {
	h.beat = beat
	h.Reset(d)
	return h
}

func (h *handBeats) Reset(d time.Duration) bool {
	h.armed = d
	h.total += d
	return true
}

func (h *handBeats) Stop() bool {
	was := h.armed != 0
	h.armed = 0
	return was
}

// fire triggers the armed beat, however late, and reports whether there was one.
func (h *handBeats) fire() bool {
	if h.armed == 0 {
		return false
	}
	h.armed = 0
	h.beat()
	return true
}

// TestGuardG4PausedProcess: a process that was stopped in the middle of a write sees one late
// beat when it goes on, not the end of the watchdog's patience.
func TestGuardG4PausedProcess(t *testing.T) {
	const limit = 1500 * time.Millisecond
	watched := func(during func(h *handBeats)) (*Guarded, fatalities, error) {
		hand := &handBeats{}
		disk := &duringWrite{memoryLog: newMemoryLog(), during: func() { during(hand) }, done: make(chan struct{})}
		store, gave := guardOver(t, disk, limit)
		store.stalls.patience = func() Patience { return Patience{Lead: limit, End: limit, Never: limit} }
		store.stalls.later = hand.later
		store.stalls.fatal = func(reason string) { gave.fatal(reason); store.End() }
		returned, written := make(chan struct{}), errStands
		go func() {
			defer close(returned)
			written = store.StoreLog(&raft.Log{Index: 1})
		}()
		if disk.wait(); len(gave) == 0 {
			<-returned
		} else {
			store.Release()
			<-returned
		}
		err := written
		require.Zero(t, hand.armed, "no beat is left behind a write")
		return store, gave, err
	}
	t.Run("paused once, for however long", func(t *testing.T) {
		store, gave, err := watched(func(h *handBeats) { require.True(t, h.fire()) })
		require.NoError(t, err)
		require.Empty(t, gave.all())
		require.NoError(t, store.StoreLog(&raft.Log{Index: 2}), "and it goes on")
	})
	t.Run("paused again and again", func(t *testing.T) {
		_, gave, err := watched(func(h *handBeats) {
			for range watchBeats - 1 {
				require.True(t, h.fire())
			}
		})
		require.NoError(t, err)
		require.Empty(t, gave.all())
	})
	t.Run("stalled disk", func(t *testing.T) {
		_, gave, err := watched(func(h *handBeats) {
			beats := 0
			for h.fire() {
				beats++
			}
			require.Equal(t, watchBeats, beats)
			require.InDelta(t, limit, h.total, watchBeats, "a stall is caught at the limit")
		})
		require.Equal(t, errStands, err)
		require.Len(t, gave.all(), 1)
		require.Contains(t, gave.all()[0], "disk stalled")
	})
	t.Run("a pause within a stall", func(t *testing.T) {
		_, gave, _ := watched(func(h *handBeats) {
			for h.fire() {
			}
			require.LessOrEqual(t, h.total, limit, "beats after the pause are not longer")
		})
		require.Len(t, gave.all(), 1)
	})
	t.Run("late beat of an ended write", func(t *testing.T) {
		var late func()
		_, gave, err := watched(func(h *handBeats) { late = h.beat })
		require.NoError(t, err)
		for range 2 * watchBeats {
			late()
		}
		require.Empty(t, gave.all())
	})
}

// duringWrite is a log that calls during in the middle of an append that begins with entry 1.
type duringWrite struct {
	*memoryLog
	during func()
	done   chan struct{} // Closed when during is over.
}

func (d *duringWrite) wait() { <-d.done }

// errStands stands for a write that never returned.
var errStands = errors.New("it stands still")

func (d *duringWrite) StoreLogs(logs []*raft.Log) error {
	if logs[0].Index == 1 {
		d.during()
		close(d.done)
	}
	return d.memoryLog.StoreLogs(logs)
}
