package cluster

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// Guard G1 (hashicorp/raft issue 695). The tests play this schedule of our own:
//
// 1. r1 leads. From now on nothing gets from r1 to the others or back, except one
//    heartbeat that was on its way: its answer comes late, and extends r1's lease
//    once more.
// 2. The others elect a leader of the next term, whose first entry takes the
//    index that r1 would give next.
// 3. A heartbeat of the new leader reaches r1. On the fast path the connection's
//    goroutine raises r1's term and demotes it, while r1's main loop is still
//    in the leader's select.
// 4. A client proposes to r1. The main loop writes the entry with the term of
//    the new leader: the same index and term, and another content.
// 5. The network heals. The new leader's entry at that index looks to r1 like the
//    one it has, and r1 applies its own.

// staleLeader plays the schedule and returns where the replicas diverged, or "". run varies
// when the late answer and the proposal of step 4 come.
func staleLeader(t testing.TB, wrap func(port.Transport) raft.Transport, run int) string {
	g := newRawGroup(t, 3, func(id string, n *rawNode) {
		n.wrap = wrap
		if id == "r1" { // r1 gives up later than the others: timeouts are no part of Raft's safety.
			n.config.HeartbeatTimeout, n.config.ElectionTimeout = 400*time.Millisecond, 400*time.Millisecond
			n.config.LeaderLeaseTimeout = 400 * time.Millisecond
		} else {
			n.config.HeartbeatTimeout, n.config.ElectionTimeout = 100*time.Millisecond, 100*time.Millisecond
			n.config.LeaderLeaseTimeout = 90 * time.Millisecond
		}
	})
	defer g.stopAll()
	stale := g.lead("r1")
	for i := range 3 {
		require.NoError(t, stale.raft.Apply(fmt.Appendf(nil, "before-%d", i), time.Second).Error())
	}
	require.True(t, g.awaitEqual(10*time.Second))

	release := make(chan struct{})
	var once sync.Once
	late := false
	g.follow(func(m rawMessage) (fate rawFate) {
		switch {
		case m.from == "r1" && m.to == "r2" && m.kind == "heartbeat" && !late:
			late = true
			return rawFate{late: release}
		case m.from == "r1" || m.to == "r1":
			return rawFate{lost: true}
		}
		return rawFate{}
	})
	lateAnswer := time.AfterFunc(time.Duration(250+5*run)*time.Millisecond, func() { once.Do(func() { close(release) }) })
	defer func() { lateAnswer.Stop(); once.Do(func() { close(release) }) }()

	term := stale.raft.CurrentTerm()
	fresh := g.leader("r1")
	require.Equal(t, raft.Leader, stale.raft.State(), "two leaders, of two terms")
	require.Greater(t, fresh.raft.CurrentTerm(), term)
	g.follow(func(m rawMessage) rawFate {
		if m.from == fresh.id && m.to == "r1" && m.kind == "heartbeat" {
			return rawFate{replyLost: true}
		}
		return rawFate{lost: m.from == "r1" || m.to == "r1"}
	})
	proposed := proposeToStale(stale, term, run)
	g.follow(nil)
	for _, f := range proposed {
		_ = f.Error() // The proposal is lost, refused or, in a group that diverged, "done".
	}
	require.NoError(t, g.leader("").raft.Apply([]byte("after"), time.Second).Error())
	g.awaitEqual(20 * time.Second)
	return g.diverged()
}

// proposeToStale proposes to the old leader around the moment at which the new one's
// heartbeat reaches it.
func proposeToStale(stale *rawNode, term uint64, run int) (all []raft.ApplyFuture) {
	propose := func(name string) { all = append(all, stale.raft.Apply([]byte(name), time.Second)) }
	if run%4 == 3 { // These runs also propose all the time before that moment.
		for i := 0; i < 100 && stale.raft.CurrentTerm() == term; i++ {
			propose(fmt.Sprintf("meanwhile-%d", i))
			time.Sleep(time.Millisecond)
		}
	}
	for range 2000 {
		if stale.raft.CurrentTerm() != term {
			break
		}
		time.Sleep(time.Duration(run%4+1) * 100 * time.Microsecond)
	}
	synctest.Wait()
	propose("stale")
	propose("stale too")
	return all
}

const g1Runs = 20

func staleLeaderRuns(t *testing.T, wrap func(port.Transport) raft.Transport) (diverged int) {
	for run := range g1Runs {
		synctest.Test(t, func(t *testing.T) {
			if where := staleLeader(t, wrap, run); where != "" {
				diverged++
				t.Logf("run %d: replicas diverged: %s", run, where)
			}
		})
	}
	return diverged
}

// TestGuardG1StaleLeader: with heartbeats on the main loop no run diverges.
func TestGuardG1StaleLeader(t *testing.T) {
	require.Zero(t, staleLeaderRuns(t, func(t port.Transport) raft.Transport { return port.MainLoopHeartbeats{Transport: t} }))
}

// TestGuardG1NegativeControl: with the library's fast path the same schedule does diverge.
// Otherwise the test above would prove nothing.
func TestGuardG1NegativeControl(t *testing.T) {
	diverged := staleLeaderRuns(t, func(t port.Transport) raft.Transport { return t })
	t.Logf("%d of %d runs diverged", diverged, g1Runs)
	require.NotZero(t, diverged)
}

// handlerRecorder notes whether raft sets a heartbeat handler on it.
type handlerRecorder struct {
	port.Transport
	set bool
}

func (r *handlerRecorder) SetHeartbeatHandler(func(raft.RPC)) { r.set = true }

// TestGuardG1HandlerIsNeverSet: the transport that raft holds in a running node gets no
// heartbeat handler. The transports on which its peers' messages arrive are tested in port.
func TestGuardG1HandlerIsNeverSet(t *testing.T) {
	recorder := &handlerRecorder{}
	port.MainLoopHeartbeats{Transport: recorder}.SetHeartbeatHandler(func(raft.RPC) {})
	require.False(t, recorder.set, "the wrapper lets no handler through")

	g := newGroup(t)
	g.form(3)
	propose(t, g.follower(), wire.KindRegister, register("a"))
	for id, n := range g.all() {
		held := reflect.ValueOf(n.replica.raft).Elem().FieldByName("trans").Elem()
		require.Equal(t, reflect.TypeFor[port.MainLoopHeartbeats](), held.Type(), "%s: raft holds the wrapper", id)
		transport := n.gateway.transport.(*port.PeerTransport)
		requireNoHandler(t, transport.NetworkTransport)
	}
}

func requireNoHandler(t *testing.T, transport *raft.NetworkTransport) {
	field := reflect.ValueOf(transport).Elem().FieldByName("heartbeatFn")
	require.True(t, field.IsValid(), "the library names it otherwise now: look again")
	require.True(t, field.IsNil(), "a heartbeat handler is set")
}
