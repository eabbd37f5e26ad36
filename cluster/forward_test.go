package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// TestForwarderFollows: when the leader is lost, its calls are given up at once. The same
// leader in the same term is asked what arrived; another leader never is.
func TestForwarderFollows(t *testing.T) {
	f := newForwarder(nil, nil, nil, nil, nil)
	f.followLeader("n1", 3)
	calls := f.rememberFrame(1, []attempt{{seq: 7}})
	f.followLeader("n1", 3)
	require.NoError(t, calls.Err())
	require.False(t, f.broken)

	f.followLeader("", 0)
	require.Error(t, calls.Err(), "nobody waits for a leader that is gone")
	again := f.context
	f.followLeader("", 0)
	require.NoError(t, again.Err())
	f.followLeader("n1", 3)
	require.True(t, f.broken, "it is asked what arrived")
	require.Contains(t, f.open, uint64(1))
	lost := f.takeArrived(true, f.number.Load()+1, nil)
	require.Equal(t, [][]attempt{{{seq: 7}}}, lost, "and what did not is tried again")
	require.Empty(t, f.open)

	f.rememberFrame(2, []attempt{{seq: 8}})
	f.followLeader("", 0)
	f.followLeader("n2", 4)
	require.False(t, f.broken)
	require.Empty(t, f.open, "the own log tells")
	require.False(t, f.closeFrame(2))
}

// TestArrivalsOfEveryProcess: what one process gave up stays refused, whatever processes of
// that peer follow. Only the next term begins without records.
func TestArrivalsOfEveryProcess(t *testing.T) {
	var a arrivals
	taken := func() bool { return true }
	frame := func(term, process, number uint64) bool {
		_, ok := a.acceptFrame("n2", &port.ForwardCall{Term: term, Process: process, Number: number}, taken)
		return ok
	}
	giveUp := func(term, process, number uint64) (arrived []uint64, ok bool) {
		return a.giveUp("n2", &port.GiveUpCall{Term: term, Process: process, Number: number})
	}
	require.True(t, frame(3, 100, 1))
	what, ok := a.acceptFrame("n2", &port.ForwardCall{Term: 3, Process: 100, Number: 1}, taken)
	require.False(t, ok, "a frame arrives once")
	require.Equal(t, fateUnknown, what, "and nobody is told that it came to nothing")
	arrived, ok := giveUp(3, 100, 2)
	require.True(t, ok)
	require.Equal(t, []uint64{1}, arrived)
	for process := uint64(101); process < 100+processesKept; process++ {
		require.True(t, frame(3, process, 1))
		require.False(t, frame(3, 100, 2), "late, after process %d came", process)
	}
	require.True(t, frame(3, 100, 3))
	require.True(t, frame(3, 7, 1))
	require.Len(t, a.peers["n2"], processesKept)

	require.True(t, frame(4, 100, 2), "another term")
	require.False(t, frame(3, 100, 4), "a term that is over")
	_, ok = giveUp(3, 100, 4)
	require.False(t, ok)
	require.False(t, frame(4, 100, 2), "and that changed nothing")
}

// TestRefusedFramesNeverArrived: a frame for which the sequencer had no room did not arrive. If
// that answer is lost and its sender asks, it hears that nothing happened, and sends the records
// again at once instead of telling its callers that the outcome is unknown.
func TestRefusedFramesNeverArrived(t *testing.T) {
	r := newReplica("n1", time.Now())
	r.opened.Store(3)
	a := arrivals{sequencer: &sequencer{replica: r, wake: make(chan struct{}, 1), batches: make([]*peerBatch, peerFramesMax)}}
	records := frameRecords(1, []attempt{{seq: 1, kind: wire.KindScreen}})
	answers := make(chan *port.ForwardReply, 2)
	send := func(number uint64) {
		a.takeForwarded("n2", &port.ForwardCall{Term: 3, Process: 100, Number: number, Count: 1, Records: records}, func(reply *port.ForwardReply, err error) {
			require.NoError(t, err)
			answers <- reply
		})
	}
	send(1)
	require.Equal(t, uint8(fateNothing), (<-answers).Fate)
	a.sequencer.batches = nil
	send(2)
	arrived, ok := a.giveUp("n2", &port.GiveUpCall{Term: 3, Process: 100, Number: 2})
	require.True(t, ok)
	require.Equal(t, []uint64{2}, arrived)
	send(1)
	require.Equal(t, uint8(fateNothing), (<-answers).Fate, "given up, it comes to nothing for good")
}
