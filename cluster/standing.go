package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
)

// The cluster secret only proves that somebody may ask. A member is whom raft's configuration
// names, by its id and its incarnation, which is the digest of its key. So a node that is in the
// group speaks raft with members alone, answers others nothing of the state, and obeys nobody
// else. A node that is not in the group yet cannot know who is: it believes who has the secret.
//
// A member that was away may have a configuration that does not name the present leader. It asks
// the members that it does know, each proven by its key, whether that node is one of them.

const (
	vouchedMax = 2 * port.MembersMax // Nodes that were vouched for and are remembered.
	vouchEvery = time.Second
)

// vouchers remembers for which nodes a member has vouched. A later removal counts more.
type vouchers struct {
	mu      sync.Mutex
	vouched map[port.Peer]bool
	asked   map[port.Peer]time.Time // When members were last asked about a node.
}

func (v *vouchers) has(peer port.Peer) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.vouched[peer]
}

// mayAsk reports whether it is time to ask about a node.
func (v *vouchers) mayAsk(peer port.Peer, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for other, at := range v.asked {
		if now.Sub(at) >= vouchEvery {
			delete(v.asked, other)
		}
	}
	if _, lately := v.asked[peer]; lately || len(v.asked) >= vouchedMax {
		return false
	}
	if v.asked == nil {
		v.asked = make(map[port.Peer]time.Time)
	}
	v.asked[peer] = now
	return true
}

func (v *vouchers) note(peer port.Peer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.vouched == nil || len(v.vouched) >= vouchedMax {
		v.vouched = make(map[port.Peer]bool)
	}
	v.vouched[peer] = true
}

// isPlaced reports whether this node is a member by its own configuration.
func (g *greeter) isPlaced() bool {
	return isMember(g.replica, g.id, g.folder.Identity().Incarnation)
}

// judgeStanding returns nil for a member, and for everybody while this node is not in the group
// itself yet.
func (g *greeter) judgeStanding(peer port.Peer) error {
	switch {
	case !g.replica.started.Load():
		return nil
	case !g.isPlaced() && !isGone(g.state, g.id, g.folder.Identity().Incarnation):
		return nil
	case isMember(g.replica, peer.ID, peer.Incarnation):
		return nil
	case g.vouchers.has(peer) && !isGone(g.state, peer.ID, peer.Incarnation):
		return nil
	}
	return port.ErrForeignKey
}

// refuseStranger is judgeStanding for a node that wants something. It counts and logs a refusal.
func (g *greeter) refuseStranger(peer port.Peer) error {
	err := g.judgeStanding(peer)
	if err != nil {
		port.CountForeignKey()
		g.tellForeign(peer)
	}
	return err
}

// tellForeign logs now and then that a node is refused which has the secret and is no member.
func (g *greeter) tellForeign(peer port.Peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.foreignTold) < troubleToldEvery {
		return
	}
	g.foreignTold = time.Now()
	known, err := g.replica.addressOf(raft.ServerID(peer.ID))
	if err != nil {
		g.log.Warn("a node that is no member is refused: admit it, or find out who it is", "peer", peer.ID, "key", peer.Incarnation)
		return
	}
	g.log.Error("a node takes a member's name with another key and is refused: its folder was wiped, or somebody who has the cluster secret passes for it",
		"peer", peer.ID, "key", peer.Incarnation, "member", known.Incarnation)
}

// askAbout asks the members that this node knows whether a node is one of them, on a goroutine of
// its own.
func (f *finder) askAbout(peer port.Peer) {
	if !f.greeter.vouchers.mayAsk(peer, time.Now()) {
		return
	}
	f.life.running.Go(func() {
		for _, id := range f.replica.otherIDs() {
			if string(id) == peer.ID {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
			answer, err := port.Ask(ctx, f.peers.linkTo(string(id), linkControl), &port.VouchCall{ID: peer.ID, Incarnation: peer.Incarnation})
			cancel()
			if err == nil && answer.Member {
				f.greeter.vouchers.note(peer)
				f.life.log.Info("a member vouches for a node that this one does not know yet", "peer", peer.ID, "by", id)
				return
			}
		}
	})
}

// answerVouch tells a member whether a node is a member too.
func (g *greeter) answerVouch(_ context.Context, _ string, q *port.VouchCall) (*port.VouchReply, error) {
	if !g.replica.started.Load() || !g.isPlaced() {
		return nil, fmt.Errorf("cluster: node %q is not in the group itself", g.id)
	}
	return &port.VouchReply{Member: isMember(g.replica, q.ID, q.Incarnation)}, nil
}

// endStrangers ends raft's connections to nodes that are members no longer, or never were: they
// came in when this node did not know the group yet.
func (g *greeter) endStrangers() {
	g.mux.EndRaft(func(peer port.Peer) bool { return g.judgeStanding(peer) != nil })
}
