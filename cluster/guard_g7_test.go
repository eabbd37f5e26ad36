package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// Guard G7. A leader that cannot reach a peer waits longer and longer until it tries again, and knows by
// then up to which index it will send. Meanwhile another leader is elected, and entries of the next term
// take the place of those that the former one never got committed. Then the former leader's attempt
// comes, with these entries and under its own term. The peer, which has not heard of the next term,
// takes them: its log is ahead of its term. With the guard such an append is refused.

// lateAttempt plays the defect, and returns the term of the peer and that of its last entry.
func lateAttempt(t testing.TB, guarded bool) (term, last uint64) {
	g := newRawGroup(t, 5, func(_ string, n *rawNode) { n.terms = guarded })
	defer g.stopAll()
	former, peer := g.lead("r1"), g.nodes["r3"]
	require.True(t, g.awaitEqual(10*time.Second))
	tried, cut := make(chan struct{}, 1), false
	script := func(m rawMessage) rawFate {
		if m.from == "r1" && m.to == "r3" && m.kind == "append" {
			select {
			case tried <- struct{}{}:
			default:
			}
		}
		ofPeer, ofFormer := m.from == "r3" || m.to == "r3", m.from == "r1" || m.to == "r1"
		return rawFate{lost: ofPeer || ofFormer && (cut || m.from == "r1" && m.kind == "append")}
	}
	g.follow(func(m rawMessage) rawFate { return rawFate{lost: m.from == "r3" || m.to == "r3"} })
	require.NoError(t, former.raft.Apply([]byte("behind it"), time.Second).Error())
	time.Sleep(time.Minute) // Now it waits 10 s between attempts.
	g.follow(script)
	former.raft.Apply([]byte("never committed"), time.Second)
	<-tried
	<-tried // Behind this one it knows the entry.
	time.Sleep(rawTimeout + 100*time.Millisecond)
	g.follow(func(m rawMessage) rawFate { cut = true; return script(m) })
	next := g.leader("r1")
	g.follow(func(m rawMessage) rawFate { // The former leader hears the next one, and the peer hears the former one alone.
		return rawFate{lost: m.from == "r3" || m.to == "r3" && m.from != "r1"}
	})
	require.Eventually(t, func() bool { return lastTermOf(t, former) == next.raft.CurrentTerm() }, 5*time.Second, time.Millisecond)
	require.Greater(t, former.raft.CurrentTerm(), peer.raft.CurrentTerm())
	time.Sleep(15 * time.Second)
	term, last = peer.raft.CurrentTerm(), lastTermOf(t, peer)
	g.follow(nil)
	require.True(t, g.awaitEqual(time.Minute))
	require.Empty(t, g.diverged())
	return term, last
}

// lastTermOf returns the term of the last entry in a replica's log.
func lastTermOf(t testing.TB, n *rawNode) uint64 {
	var entry raft.Log
	require.NoError(t, n.log.GetLog(n.raft.LastIndex(), &entry))
	return entry.Term
}

// TestGuardG7LateAttempt: the peer's log is never ahead of its term.
func TestGuardG7LateAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, last := lateAttempt(t, true)
		require.LessOrEqual(t, last, term)
	})
}

// TestGuardG7NegativeControl: without the guard it is.
func TestGuardG7NegativeControl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term, last := lateAttempt(t, false)
		require.Greater(t, last, term)
	})
}
