package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	joinEvery        = 300 * time.Millisecond
	promoteLag       = 200             // Entries a node may be behind when it gets a vote.
	promoteStable    = 2 * time.Second // It must have kept up for so long.
	removedPatience  = 2 * time.Second
	transferPatience = 3 * time.Second // Longer "in progress" means stuck for good (guard G5).
)

// The verbs that go to the leader.
const (
	verbTransfer = "transfer"
	verbJoin     = "join"
	verbRemove   = "remove"
	verbPromote  = "promote"
	verbDemote   = "demote"
	verbRemoved  = "removed" // Told to a node that is no member any more.
)

// membership is the leader's side of who belongs to the group.
type membership struct {
	changing gate                 // One change at a time.
	caughtUp map[string]time.Time // Since when a node without a vote keeps up. Duties only.

	silentMu sync.Mutex
	silent   map[string]time.Time // Since when a voter has not answered this leader.
}

// toLeader does a verb here, if this node leads, or has the leader do it.
func (n *Node) toLeader(ctx context.Context, verb, id, addr string) error {
	call := port.VerbCall{Verb: verb, ID: id, Addr: addr}
	if n.replica.leads() {
		return n.doVerb(ctx, &call)
	}
	leader, _ := n.replica.remoteLeader()
	if leader == "" {
		return n.peers.noLeaderError()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*membershipPatience)
	defer cancel()
	// A lane of their own: a ping that is not answered in time ends its connection.
	_, err := port.Ask(ctx, n.peers.link(string(leader), linkVerb), &call)
	if errors.Is(err, port.ErrLinkDown) && !errors.Is(err, port.ErrNotSent) {
		return fmt.Errorf("%w: %w", wire.ErrUnknown, err)
	}
	return err
}

// doVerb is the leader's side; only verbRemoved is for any node.
func (n *Node) doVerb(ctx context.Context, v *port.VerbCall) error {
	if v.Verb == verbRemoved {
		n.life.die("this node was removed from the cluster")
		return nil
	}
	if !n.replica.leads() {
		return port.ErrNotLeader
	}
	switch v.Verb {
	case verbTransfer:
		return n.transfer(ctx, v.ID)
	case verbJoin:
		return n.admitMember(ctx, &port.JoinCall{ID: v.ID, Address: v.Addr, Format: uint16(engine.FormatNewest)})
	case verbRemove:
		return n.removeMember(ctx, v.ID)
	case verbPromote:
		return n.promoteMember(ctx, v.ID)
	case verbDemote:
		return n.demoteMember(ctx, v.ID)
	}
	return port.ErrUnknownCall
}

// change makes one membership change.
func (n *Node) change(make func() raft.IndexFuture) error {
	err := make().Error()
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return port.ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return wire.ErrUnknown // It may well be committed by the next leader.
	}
	return err
}

func (n *Node) add(id raft.ServerID, to port.Address, vote bool) error {
	return n.change(func() raft.IndexFuture {
		if vote {
			return n.replica.raft.AddVoter(id, raft.ServerAddress(to.String()), 0, membershipPatience)
		}
		return n.replica.raft.AddNonvoter(id, raft.ServerAddress(to.String()), 0, membershipPatience)
	})
}

// admitMember takes a node in, or follows it to its new address. It comes without a
// vote and gets one when it has caught up. A node that comes back with an empty
// folder loses the vote of its former self first.
func (n *Node) admitMember(ctx context.Context, m *port.JoinCall) error {
	if !n.replica.leads() {
		return n.passOn(ctx, m)
	}
	if n.lineage.waiting.Load() {
		return errLeafDue
	}
	to, err := port.ParseAddress(m.Address)
	if err = errors.Join(err, port.ValidID(m.ID)); err != nil {
		return err
	}
	if format := n.Settings().Format; engine.Format(m.Format) < format {
		return fmt.Errorf("cluster: node %q applies formats up to %d and the cluster has %d: upgrade it", m.ID, m.Format, format)
	}
	id := raft.ServerID(m.ID)
	if server, known := n.replica.find(id); known && string(server.Address) == to.String() {
		return nil
	}
	if err := n.checkReachable(ctx, m.ID, to); err != nil { // Before the gate: who cannot be reached holds up nobody.
		return err
	}
	if err := n.membership.changing.enter(ctx); err != nil {
		return err
	}
	defer n.membership.changing.leave()
	server, known := n.replica.find(id)
	if !known {
		if len(n.replica.servers()) >= port.MembersMax {
			return fmt.Errorf("cluster: it has %d members already", port.MembersMax)
		}
		n.log.Info("a node joins", "peer", m.ID, "addr", to.Host)
		return n.add(id, to, false)
	}
	before, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	if before.Incarnation == to.Incarnation {
		to.Hold = before.Hold
		if before == to {
			return nil
		}
		n.log.Info("a member moved", "peer", m.ID, "from", before.Host, "to", to.Host)
		return n.add(id, to, server.Suffrage == raft.Voter)
	}
	return n.replace(server, to)
}

// checkReachable asks the address that a node gives for its own who is there. Raft
// would count a member that nobody can reach.
func (n *Node) checkReachable(ctx context.Context, id string, to port.Address) error {
	ctx, cancel := context.WithTimeout(ctx, port.CallPatience)
	defer cancel()
	l := n.peers.linkTo(to.Host)
	defer l.Close()
	p, err := port.Ask(ctx, l, port.PingCall{})
	if err != nil {
		return fmt.Errorf("cluster: node %q cannot be reached from the leader at %s, the address it gives (its --advertise): %w", id, to.Host, err)
	}
	if p.ID != id || port.Shown(p.Incarnation) != to.Incarnation {
		return fmt.Errorf("cluster: at %s, the address that node %q gives (its --advertise), is another node: %q", to.Host, id, p.ID)
	}
	return nil
}

// replace takes in a node whose former self is a member.
func (n *Node) replace(server raft.Server, to port.Address) error {
	id := string(server.ID)
	if _, alive := n.peers.fresh(id); alive || id == n.config.ID {
		return fmt.Errorf("cluster: a node %q with another data folder is alive", id)
	}
	n.log.Warn("a member comes back with another data folder: it has forgotten its votes and joins without one", "peer", id)
	if server.Suffrage == raft.Voter {
		err := n.change(func() raft.IndexFuture { return n.replica.raft.DemoteVoter(server.ID, 0, membershipPatience) })
		if err != nil {
			return err
		}
	}
	return n.add(server.ID, to, false)
}

// passOn hands a join on to the leader.
func (n *Node) passOn(ctx context.Context, m *port.JoinCall) error {
	leader, _ := n.replica.remoteLeader()
	if leader == "" {
		return wire.ErrNoLeader
	}
	_, err := port.Ask(ctx, n.peers.link(string(leader), linkControl), m)
	return err
}

func (n *Node) removeMember(ctx context.Context, id string) error {
	if err := n.membership.changing.enter(ctx); err != nil {
		return err
	}
	defer n.membership.changing.leave()
	server, known := n.replica.find(raft.ServerID(id))
	if !known {
		return fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	if server.Suffrage == raft.Voter && n.replica.voterCount() == 1 {
		return fmt.Errorf("%w: %s is the last one", port.ErrAlone, id)
	}
	n.log.Warn("a node is removed", "peer", id)
	err := n.change(func() raft.IndexFuture { return n.replica.raft.RemoveServer(server.ID, 0, membershipPatience) })
	if err != nil || id == n.config.ID {
		return err
	}
	n.tellRemoved(ctx, string(server.Address))
	return nil
}

// tellRemoved lets a removed node stop by itself; if it cannot be reached, it will
// find no leader.
func (n *Node) tellRemoved(ctx context.Context, address string) {
	to, err := port.ParseAddress(address)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, removedPatience)
	defer cancel()
	l := n.peers.linkTo(to.Host)
	defer l.Close()
	if _, err := port.Ask(ctx, l, &port.VerbCall{Verb: verbRemoved}); err != nil {
		n.log.Warn("the removed node could not be told", "addr", to.Host, "error", err)
	}
}

func (n *Node) promoteMember(ctx context.Context, id string) error {
	if err := n.membership.changing.enter(ctx); err != nil {
		return err
	}
	defer n.membership.changing.leave()
	server, known := n.replica.find(raft.ServerID(id))
	if !known {
		return fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	if server.Suffrage == raft.Voter {
		return nil
	}
	if !n.keepsUp(id) {
		return fmt.Errorf("cluster: %s has not caught up with the log yet", id)
	}
	to, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	to.Hold = false
	n.log.Info("a node gets a vote", "peer", id)
	return n.add(server.ID, to, true)
}

// demoteMember takes a vote and holds the node without one.
func (n *Node) demoteMember(ctx context.Context, id string) error {
	if err := n.membership.changing.enter(ctx); err != nil {
		return err
	}
	defer n.membership.changing.leave()
	server, known := n.replica.find(raft.ServerID(id))
	if !known {
		return fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	if server.Suffrage == raft.Voter {
		if n.replica.voterCount() == 1 {
			return fmt.Errorf("%w: %s is the last one", port.ErrAlone, id)
		}
		err := n.change(func() raft.IndexFuture { return n.replica.raft.DemoteVoter(server.ID, 0, membershipPatience) })
		if err != nil {
			return err
		}
	}
	to, err := port.ParseAddress(string(server.Address))
	if err != nil || to.Hold {
		return err
	}
	to.Hold = true
	return n.add(server.ID, to, false)
}

// keepsUp reports whether a peer answers and its log is close behind.
func (n *Node) keepsUp(id string) bool {
	s, ok := n.peers.fresh(id)
	return ok && s.pong.Applied+promoteLag >= n.replica.raft.CommitIndex()
}

// promoteCaughtUp is the leader's duty: a node without a vote that has kept up for a
// while gets one, unless an operator holds it without.
func (n *Node) promoteCaughtUp(now time.Time) {
	m := &n.membership
	if !n.replica.leads() || n.replica.opened.Load() == 0 {
		m.caughtUp = nil
		return
	}
	if m.caughtUp == nil {
		m.caughtUp = make(map[string]time.Time)
	}
	for _, server := range n.replica.servers() {
		id := string(server.ID)
		address, err := port.ParseAddress(string(server.Address))
		if server.Suffrage == raft.Voter || err != nil || address.Hold || !n.keepsUp(id) {
			delete(m.caughtUp, id)
			continue
		}
		since, known := m.caughtUp[id]
		if !known {
			m.caughtUp[id] = now
			continue
		}
		if now.Sub(since) >= promoteStable {
			delete(m.caughtUp, id)
			n.life.running.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), membershipPatience)
				defer cancel()
				if err := n.promoteMember(ctx, id); err != nil {
					n.log.Warn("a node that caught up got no vote", "peer", id, "error", err)
				}
			})
			return
		}
	}
}

// transfer hands leadership on.
func (n *Node) transfer(ctx context.Context, to string) error {
	if n.replica.voterCount() < 2 {
		return port.ErrAlone
	}
	n.replica.transferring.Store(true)
	defer n.replica.transferring.Store(false)
	if to == "" {
		return n.awaitTransfer(ctx, n.replica.raft.LeadershipTransfer())
	}
	server, known := n.replica.find(raft.ServerID(to))
	switch {
	case !known || server.Suffrage != raft.Voter:
		return fmt.Errorf("%w with a vote: %s", port.ErrNoPeer, to)
	case to == n.config.ID:
		return nil
	}
	return n.awaitTransfer(ctx, n.replica.raft.LeadershipTransferToServer(server.ID, server.Address))
}

// awaitTransfer does not wait for ever: raft leaves a transfer unanswered that was
// asked for when it shut down, and one that never ends (guard G5).
func (n *Node) awaitTransfer(ctx context.Context, future raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- future.Error() }()
	ctx, cancel := context.WithTimeout(ctx, 2*transferPatience)
	defer cancel()
	select {
	case err := <-done:
		return err
	case <-n.life.stop:
		return wire.ErrShuttingDown
	case <-ctx.Done():
		return fmt.Errorf("cluster: leadership was not handed on in time: %w", ctx.Err())
	}
}
