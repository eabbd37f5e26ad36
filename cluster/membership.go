package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/cluster/recorder"
	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	joinEvery        = 300 * time.Millisecond
	promoteLag       = 200             // Entries a node may be behind when it gets a vote.
	promoteStable    = 2 * time.Second // The node must have kept up for so long.
	removedPatience  = 2 * time.Second
	transferPatience = 3 * time.Second // A transfer in progress for longer is stuck for good (guard G5).
)

// The verbs that the leader executes.
const (
	verbTransfer = "transfer"
	verbAdmit    = "admit"
	verbRemove   = "remove"
	verbPromote  = "promote"
	verbDemote   = "demote"
)

// proposer puts a record into the log and waits for its outcome.
type proposer func(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)

// membership changes the group on the leader, and carries verbs to the leader.
type membership struct {
	life      *life
	state     *state
	replica   *replica
	lineage   *lineage
	peers     *peers
	propose   proposer
	secret    *secretProver
	deadAfter time.Duration // How long a voter may be silent; below 0: it never loses its vote.

	admitAll bool // A node that asks to join needs no admin.
	named    bool // The operator's authority says which node it is, and not the node's key.

	asking   askingNodes
	changing gate                 // Only one change at a time.
	caughtUp map[string]time.Time // Since when a node without a vote has kept up. Only duties use it.

	silentMu sync.Mutex
	silent   map[string]time.Time // Since when a voter has not answered this leader.
}

// toLeader executes a verb here if this node leads; otherwise it asks the leader to.
func (m *membership) toLeader(ctx context.Context, call port.VerbCall) error {
	err := m.askLeader(ctx, &call)
	if errors.Is(err, port.ErrNotLeader) {
		return m.peers.noLeaderError()
	}
	return err
}

func (m *membership) askLeader(ctx context.Context, call *port.VerbCall) error {
	if m.replica.isLeader() {
		return m.doVerb(ctx, call)
	}
	leader, _ := m.replica.remoteLeader()
	if leader == "" {
		return port.ErrNotLeader
	}
	ctx, cancel := context.WithTimeout(ctx, 2*membershipPatience)
	defer cancel()
	// Verbs have a lane of their own: they take long, and a connection whose peer is silent to
	// pings is dialled anew.
	_, err := port.Ask(ctx, m.peers.linkTo(string(leader), linkVerb), call)
	switch {
	case errors.Is(err, port.ErrNotSent):
		return fmt.Errorf("%w: %w", m.peers.noLeaderError(), err)
	case errors.Is(err, port.ErrLinkDown):
		return fmt.Errorf("%w: %w", wire.ErrUnknown, err)
	}
	return err
}

// doVerb executes a verb on the leader.
func (m *membership) doVerb(ctx context.Context, v *port.VerbCall) error {
	if !m.replica.isLeader() {
		return port.ErrNotLeader
	}
	switch v.Verb {
	case verbTransfer:
		return m.transferLeadership(ctx, v.ID)
	case verbAdmit:
		return m.admitNode(ctx, v)
	case verbRemove:
		return m.removeMember(ctx, v)
	case verbPromote:
		return m.promoteMember(ctx, v)
	case verbDemote:
		return m.demoteMember(ctx, v)
	}
	return port.ErrUnknownCall
}

// changeMembership makes one membership change.
func (m *membership) changeMembership(make func() raft.IndexFuture) error {
	err := make().Error()
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return port.ErrNotLeader
	case errors.Is(err, raft.ErrLeadershipLost), errors.Is(err, raft.ErrRaftShutdown):
		return wire.ErrUnknown // The next leader may still commit the change.
	}
	return err
}

func (m *membership) addServer(id raft.ServerID, to port.Address, vote bool) error {
	return m.changeMembership(func() raft.IndexFuture {
		if vote {
			return m.replica.raft.AddVoter(id, raft.ServerAddress(to.String()), 0, membershipPatience)
		}
		return m.replica.raft.AddNonvoter(id, raft.ServerAddress(to.String()), 0, membershipPatience)
	})
}

// hearJoin answers a node that asks to join.
func (m *membership) hearJoin(ctx context.Context, q *port.JoinCall) error {
	if !m.replica.isLeader() {
		return m.passOn(ctx, q)
	}
	return m.takeIn(ctx, q, m.admitAll, nil)
}

// takeIn takes in a new node if it is admitted, or a member at a new address. A new node has no
// vote until it has caught up. A node that comes back with an empty folder first loses its former
// vote. Who has the cluster secret can ask to join, under any name; so an admin says whether a
// node belongs to the group.
//
// v is the call of an admin who admits the node; nil: the node asks by itself.
func (m *membership) takeIn(ctx context.Context, q *port.JoinCall, admitted bool, v *port.VerbCall) error {
	if !m.replica.isLeader() {
		return port.ErrNotLeader
	}
	if m.lineage.waiting.Load() {
		return errLeafDue
	}
	to, err := port.ParseAddress(q.Address)
	if err = errors.Join(err, port.ValidID(q.ID)); err != nil {
		return err
	}
	if format := m.state.Settings().Format; engine.Format(q.Format) < format {
		m.life.log.Warn("a node of a release that is too old is not taken in", "peer", q.ID, "knows", q.Format, "format", format)
		return port.ErrTooOld
	}
	id := raft.ServerID(q.ID)
	if server, known := m.replica.findServer(id); known && string(server.Address) == to.String() {
		return nil
	}
	if m.isBuried(q.ID, to.Incarnation) {
		return errors.New(wasRemoved(q.ID))
	}
	if err := m.refuseTwin(q.ID, to); err != nil {
		return err
	}
	if !admitted && !m.isAdmitted(id, to) {
		if m.asking.note(q, time.Now()) {
			m.life.log.Warn("a node asks to join, and no admin has admitted it: railguard cluster admit, or find out who it is", "peer", q.ID, "addr", to.Host, "key", to.Incarnation)
		}
		return port.ErrNotAdmitted
	}
	before, err := m.checkDialled(ctx, q.ID, to) // Dialling comes before the gate, so that an unreachable node does not hold up others.
	if err != nil {
		return err
	}
	if err := m.changing.enterGate(ctx); err != nil {
		return err
	}
	defer m.changing.leaveGate()
	server, known := m.replica.findServer(id)
	if known && string(server.Address) != before {
		return errors.New("cluster: its membership has just changed: try again")
	}
	if !known && len(m.replica.listServers()) >= port.MembersMax {
		return fmt.Errorf("cluster: it has %d members already", port.MembersMax)
	}
	by := wire.Common{}
	if v != nil {
		if err := m.writeChange(ctx, v, wire.MemberAdmitted); err != nil {
			return err
		}
		by = v.By
	}
	if !known {
		m.life.note(recorder.Member, q.ID+" joins")
		m.life.log.Info("a node joins", "peer", q.ID, "addr", to.Host)
		return m.addServer(id, to, false)
	}
	return m.followServer(ctx, server, to, by)
}

// checkDialled dials a node that joins; if a member moves, it also dials its old address. It
// returns the member's old address.
func (m *membership) checkDialled(ctx context.Context, id string, to port.Address) (known string, err error) {
	there, err := m.checkReachable(ctx, id, to)
	if err != nil {
		return "", err
	}
	server, found := m.replica.findServer(raft.ServerID(id))
	if !found {
		return "", nil
	}
	before, err := port.ParseAddress(string(server.Address))
	if err == nil && before.Incarnation == to.Incarnation && before.Host != to.Host {
		err = m.checkMoved(ctx, id, before, there)
	}
	return string(server.Address), err
}

// followServer gives a member its new address, or takes it in with its new folder.
func (m *membership) followServer(ctx context.Context, server raft.Server, to port.Address, by wire.Common) error {
	before, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	if before.Incarnation != to.Incarnation {
		return m.replaceServer(ctx, server, before, to, by)
	}
	to.Hold = before.Hold
	if before == to {
		return nil
	}
	m.life.note(recorder.Member, string(server.ID)+" moved")
	m.life.log.Info("a member moved", "peer", server.ID, "from", before.Host, "to", to.Host)
	return m.addServer(server.ID, to, server.Suffrage == raft.Voter)
}

// replaceServer takes in a node whose id a member with another data folder has.
func (m *membership) replaceServer(ctx context.Context, server raft.Server, before, to port.Address, by wire.Common) error {
	id := string(server.ID)
	if err := m.refuseTwin(id, to); err != nil {
		return err
	}
	m.life.note(recorder.Member, id+" comes back with another data folder and without a vote")
	m.life.log.Warn("a member comes back with another data folder: it has forgotten its votes and joins without one", "peer", id)
	if err := m.buryMember(ctx, &wire.Member{Common: by, ID: id, Incarnation: before.Incarnation}); err != nil {
		return err
	}
	if server.Suffrage == raft.Voter {
		err := m.changeMembership(func() raft.IndexFuture { return m.replica.raft.DemoteVoter(server.ID, 0, membershipPatience) })
		if err != nil {
			return err
		}
	}
	return m.addServer(server.ID, to, false)
}

// passOn hands a join on to the leader.
func (m *membership) passOn(ctx context.Context, q *port.JoinCall) error {
	leader, _ := m.replica.remoteLeader()
	if leader == "" {
		return wire.ErrNoLeader
	}
	_, err := port.Ask(ctx, m.peers.linkTo(string(leader), linkControl), q)
	return err
}

// removeMember takes a node out for good. The removal is in the log before the configuration
// changes: a leader may remove itself, and a leader that dies between the two leaves a member
// that stays one.
func (m *membership) removeMember(ctx context.Context, v *port.VerbCall) error {
	id := v.ID
	if err := m.changing.enterGate(ctx); err != nil {
		return err
	}
	defer m.changing.leaveGate()
	server, known := m.replica.findServer(raft.ServerID(id))
	if !known {
		return fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	if server.Suffrage == raft.Voter && m.replica.voterCount() == 1 {
		return fmt.Errorf("%w: %s is the last one", port.ErrAlone, id)
	}
	if err := m.refuseOutvoting(ctx, server, v.Force); err != nil {
		return err
	}
	to, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	m.life.note(recorder.Member, id+" is removed")
	m.life.log.Warn("a node is removed", "peer", id)
	if err := m.buryMember(ctx, &wire.Member{Common: v.By, ID: id, Incarnation: to.Incarnation}); err != nil {
		return err
	}
	err = m.changeMembership(func() raft.IndexFuture { return m.replica.raft.RemoveServer(server.ID, 0, membershipPatience) })
	if err != nil || id == string(m.replica.self) {
		return err
	}
	m.tellRemoved(ctx, id, to)
	return nil
}

// tellRemoved makes a removed node ask whether it is still a member. If the node cannot be
// reached, it learns it from the next node it asks.
func (m *membership) tellRemoved(ctx context.Context, id string, to port.Address) {
	ctx, cancel := context.WithTimeout(ctx, removedPatience)
	defer cancel()
	l := m.peers.linkToAddress(to.Host)
	defer l.Close()
	if _, err := port.Ask(ctx, l, &port.RemovedCall{ID: id, Incarnation: to.Incarnation}); err != nil {
		m.life.log.Warn("the removed node could not be told", "peer", id, "addr", to.Host, "error", err)
	}
}

func (m *membership) promoteMember(ctx context.Context, v *port.VerbCall) error {
	id := v.ID
	if err := m.changing.enterGate(ctx); err != nil {
		return err
	}
	defer m.changing.leaveGate()
	server, known := m.replica.findServer(raft.ServerID(id))
	if !known {
		return fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	to, err := port.ParseAddress(string(server.Address))
	if err != nil || server.Suffrage == raft.Voter && !to.Hold {
		return err
	}
	if !m.keepsUp(id) {
		return fmt.Errorf("cluster: %s has not caught up with the log yet", id)
	}
	if err := m.refuseCrowding(time.Now()); err != nil {
		return err
	}
	if err := m.writeChange(ctx, v, wire.MemberPromoted); err != nil {
		return err
	}
	to.Hold = false
	m.life.note(recorder.Member, id+" gets a vote")
	m.life.log.Info("a node gets a vote", "peer", id)
	return m.addServer(server.ID, to, true)
}

// demoteMember takes a member's vote and keeps it without one. First the configuration says that an
// operator keeps it so: if the leader dies before the second change, it has its vote still, and
// never loses the vote only to be promoted again.
func (m *membership) demoteMember(ctx context.Context, v *port.VerbCall) error {
	id := v.ID
	if err := m.changing.enterGate(ctx); err != nil {
		return err
	}
	defer m.changing.leaveGate()
	server, known := m.replica.findServer(raft.ServerID(id))
	if !known {
		return fmt.Errorf("%w: %s", port.ErrNoPeer, id)
	}
	voter := server.Suffrage == raft.Voter
	if voter && m.replica.voterCount() == 1 {
		return fmt.Errorf("%w: %s is the last one", port.ErrAlone, id)
	}
	if voter {
		if err := m.refuseOutvoting(ctx, server, v.Force); err != nil {
			return err
		}
	}
	to, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	if !voter && to.Hold {
		return nil
	}
	if err := m.writeChange(ctx, v, wire.MemberDemoted); err != nil {
		return err
	}
	if !to.Hold {
		to.Hold = true
		if err := m.addServer(server.ID, to, voter); err != nil {
			return err
		}
	}
	if !voter {
		return nil
	}
	return m.changeMembership(func() raft.IndexFuture { return m.replica.raft.DemoteVoter(server.ID, 0, membershipPatience) })
}

// keepsUp reports whether a peer answers and its log is close behind.
func (m *membership) keepsUp(id string) bool {
	s, ok := m.peers.freshSample(id)
	return ok && s.pong.Applied+promoteLag >= m.replica.raft.CommitIndex()
}

// promoteCaughtUp is a duty of the leader. It gives a vote to a node that has kept up for a
// while, unless an operator keeps it without one or refuseCrowding objects.
func (m *membership) promoteCaughtUp(now time.Time) {
	if !m.replica.isLeader() || m.replica.opened.Load() == 0 {
		m.caughtUp = nil
		return
	}
	if m.caughtUp == nil {
		m.caughtUp = make(map[string]time.Time)
	}
	for _, server := range m.replica.listServers() {
		id := string(server.ID)
		address, err := port.ParseAddress(string(server.Address))
		if server.Suffrage == raft.Voter || err != nil || address.Hold || !m.keepsUp(id) {
			delete(m.caughtUp, id)
			continue
		}
		since, known := m.caughtUp[id]
		if !known {
			m.caughtUp[id] = now
			continue
		}
		if now.Sub(since) >= promoteStable && m.refuseCrowding(now) == nil { // If refused, the status says which nodes do not answer.
			delete(m.caughtUp, id)
			m.life.running.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), membershipPatience)
				defer cancel()
				if err := m.promoteMember(ctx, &port.VerbCall{ID: id}); err != nil {
					m.life.log.Warn("a node that caught up got no vote", "peer", id, "error", err)
				}
			})
			return
		}
	}
}

// transferLeadership hands leadership on.
func (m *membership) transferLeadership(ctx context.Context, to string) error {
	if m.replica.voterCount() < 2 {
		return port.ErrAlone
	}
	m.replica.transferring.Store(true)
	defer m.replica.transferring.Store(false)
	if to == "" {
		return m.awaitTransfer(ctx, m.replica.raft.LeadershipTransfer())
	}
	server, known := m.replica.findServer(raft.ServerID(to))
	switch {
	case !known || server.Suffrage != raft.Voter:
		return fmt.Errorf("%w with a vote: %s", port.ErrNoPeer, to)
	case to == string(m.replica.self):
		return nil
	}
	return m.awaitTransfer(ctx, m.replica.raft.LeadershipTransferToServer(server.ID, server.Address))
}

// awaitTransfer waits for a transfer with a time limit: raft leaves a transfer unanswered if it
// was asked for during shutdown, and one may never end (guard G5).
func (m *membership) awaitTransfer(ctx context.Context, future raft.Future) error {
	done := make(chan error, 1)
	go func() { done <- future.Error() }()
	ctx, cancel := context.WithTimeout(ctx, 2*transferPatience)
	defer cancel()
	select {
	case err := <-done:
		return err
	case <-m.life.stop:
		return wire.ErrShuttingDown
	case <-ctx.Done():
		return fmt.Errorf("cluster: leadership was not handed on in time: %w", ctx.Err())
	}
}
