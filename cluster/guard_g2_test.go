package cluster

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// Guard G2 (hashicorp/raft issue 612): after an append error that passes, a leader
// that replicates by a pipeline can stop replicating to that follower for good,
// while its heartbeats go on. The sender waits for room in a queue that the
// reader of answers, which has given up at the error, empties no more. In
// this build a failing disk ends the node (guard G4), so what is left of such
// errors are refusals and broken connections; and pipelining is off.

const passingErrors = 25

// flakyLog fails appends now and then, and is slow, so that the leader is ahead of it.
type flakyLog struct {
	*raft.InmemStore
	mu      sync.Mutex
	appends int
	failed  int
	slow    time.Duration
}

var errPassing = errors.New("it will pass")

func (f *flakyLog) StoreLogs(logs []*raft.Log) error {
	time.Sleep(f.slow)
	f.mu.Lock()
	f.appends++
	fail := f.failed < passingErrors && f.appends%3 == 0
	if fail {
		f.failed++
	}
	f.mu.Unlock()
	if fail {
		return errPassing
	}
	return f.InmemStore.StoreLogs(logs)
}

func (f *flakyLog) StoreLog(log *raft.Log) error { return f.StoreLogs([]*raft.Log{log}) }

func (f *flakyLog) errors() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// appendErrors gives one follower 25 append errors under constant load and reports
// whether it caught up within two minutes of virtual time.
func appendErrors(t testing.TB, inFlight int) (caughtUp bool) {
	var flaky *flakyLog
	g := newRawGroup(t, 3, func(id string, n *rawNode) {
		n.inFlight = inFlight
		if id == "r3" {
			flaky = &flakyLog{InmemStore: n.stable, slow: 2 * time.Millisecond}
			n.log = flaky
			n.config.HeartbeatTimeout, n.config.ElectionTimeout = 10*time.Minute, 10*time.Minute // It never leads.
		}
	})
	defer g.stopAll()
	leader := g.leader("r3")
	for i := 0; flaky.errors() < passingErrors && i < 60_000; i++ {
		require.NoError(t, leader.raft.Apply(fmt.Appendf(nil, "entry-%d", i), time.Second).Error())
	}
	reached := g.awaitEqual(2 * time.Minute)
	require.Equal(t, raft.Leader, leader.raft.State(), "one leader all the time")
	require.Empty(t, g.diverged())
	return reached && flaky.errors() == passingErrors
}

// TestGuardG2FollowerCatchesUp: 25 append errors on one follower, and it catches up.
func TestGuardG2FollowerCatchesUp(t *testing.T) {
	for range 3 {
		synctest.Test(t, func(t *testing.T) { require.True(t, appendErrors(t, rpcsInFlight)) })
	}
}

// TestGuardG2NegativeControl: with the library's pipelining the same errors leave
// the follower behind for good.
func TestGuardG2NegativeControl(t *testing.T) {
	wedged := 0
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			if !appendErrors(t, raft.DefaultMaxRPCsInFlight) {
				wedged++
			}
		})
	}
	t.Logf("%d of 3 followers were left behind", wedged)
	require.NotZero(t, wedged)
}

// TestGuardG2BrokenConnections: the answers to 25 appends are lost on the way, as by
// a connection that breaks; the follower catches up.
func TestGuardG2BrokenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRawGroup(t, 3, nil)
		defer g.stopAll()
		leader := g.leader("")
		other := g.ids[0]
		if other == leader.id {
			other = g.ids[1]
		}
		left := passingErrors
		g.follow(func(m rawMessage) (fate rawFate) {
			if m.to == other && m.kind == "append" && left > 0 {
				left--
				fate = rawFate{lost: left%2 == 0, replyLost: left%2 == 1}
			}
			return fate
		})
		for i := range 50 {
			require.NoError(t, leader.raft.Apply(fmt.Appendf(nil, "entry-%d", i), time.Second).Error())
		}
		require.True(t, g.awaitEqual(10*time.Minute), "it catches up")
		require.Zero(t, left)
		require.Empty(t, g.diverged())
	})
}

// TestGuardG2NoPipeline: the transport of a node refuses to pipeline.
func TestGuardG2NoPipeline(t *testing.T) {
	transport := newPeerTransport(memberAddress{host: "127.0.0.1:1"}, hclog.NewNullLogger(),
		func() uint64 { return 1 }, nil, nil)
	_, err := transport.AppendEntriesPipeline("n2", "127.0.0.1:2")
	require.ErrorIs(t, err, raft.ErrPipelineReplicationNotSupported)
	require.NoError(t, transport.Close())
}
