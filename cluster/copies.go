package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"railguard/cluster/port"
)

// A copy of a member's folder has its id and its incarnation. If a node on the copy takes the
// member's place, it has forgotten votes and entries that the group depends on. If it runs beside
// the member, two processes vote as one. So nodes refuse a node whose log ends before what it had
// applied, a member's address changes only when nobody answers at the old one, and a node that
// learns it is such a copy ends.

// lookAt shakes hands with a host and returns who answered. If that host refuses this node, it
// returns both the answer and the error.
func (g *greeter) lookAt(host string, timeout time.Duration) (port.Welcome, error) {
	conn, w, err := g.meetNode(host, port.ProtocolCalls, "", "", timeout)
	if err == nil {
		err = conn.Close()
	}
	return w, err
}

// checkReachable dials the address that a node gives as its own, and makes the node there prove
// the cluster secret. Without this, raft could count a member that nobody can reach, or that
// ends as soon as it has the state.
func (m *membership) checkReachable(ctx context.Context, id string, to port.Address) (port.Welcome, error) {
	heard := m.peers.greeter.nodesHeard()[id]
	w, err := m.peers.greeter.lookAt(to.Host, patienceOf(ctx))
	switch {
	case errors.Is(err, port.ErrRefused):
		return w, fmt.Errorf("cluster: node %q at %s, the address it gives (its --advertise): %w", id, to.Host, err)
	case err != nil:
		return w, fmt.Errorf("cluster: node %q cannot be reached from the leader at %s, the address it gives (its --advertise): %w", id, to.Host, err)
	case w.ID != id || w.Incarnation != to.Incarnation:
		return w, fmt.Errorf("cluster: at %s, the address that node %q gives (its --advertise), is another node: %q", to.Host, id, w.ID)
	case heard.wentBack(w.Incarnation, w.LastIndex):
		return w, port.ErrWentBack
	}
	l := m.peers.linkToAddress(to.Host)
	defer l.Close()
	return w, m.secret.checkPeer(ctx, l, w.ID, w.Incarnation)
}

// checkMoved dials the address that a member had. If its folder is in use there by another
// process than at its new address, one of the two is a copy.
func (m *membership) checkMoved(ctx context.Context, id string, before port.Address, there port.Welcome) error {
	w, err := m.peers.greeter.lookAt(before.Host, patienceOf(ctx))
	switch {
	case w.ID != id || w.Incarnation != there.Incarnation:
		if m.peers.isAnswering(id) && !m.peers.isProcess(id, there.Process) {
			return fmt.Errorf("cluster: node %q still answers from where it was: try again", id)
		}
		return nil
	case w.Process == there.Process: // One node behind two addresses.
		return nil
	case err != nil && !errors.Is(err, port.ErrRefused):
		return fmt.Errorf("cluster: node %q at %s, where it was: %w", id, before.Host, err)
	}
	return port.ErrCopy
}

func patienceOf(ctx context.Context) time.Duration {
	if end, bounded := ctx.Deadline(); bounded {
		return max(min(time.Until(end), port.CallPatience), time.Millisecond)
	}
	return port.CallPatience
}

// endOutdated ends this node if a peer rightly says that its log ends before what it had
// applied: the folder is an older copy.
func (g *greeter) endOutdated(w *port.Welcome) {
	if last := g.replica.raft.LastIndex(); last < w.Reached {
		g.life.endProcess(fmt.Sprintf("the data folder is an older copy: its log ends at %d and this node had applied %d (so says %s). "+
			"If folders were put back on several nodes, the others may be the older ones: look at all of them before any is wiped", last, w.Reached, w.ID))
	}
}

// trouble is the last reason why a peer refused this node or could not prove itself. Silence of
// a peer is no trouble.
type trouble struct {
	text string
	at   time.Time
	told time.Time
}

const (
	troubleFresh     = 10 * time.Second
	troubleToldEvery = 10 * time.Second
)

// noteTrouble keeps and logs why a connection was refused.
func (g *greeter) noteTrouble(host string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err == nil:
		g.trouble.at = time.Time{}
	case errors.Is(err, port.ErrRefused), errors.Is(err, port.ErrUnproven), errors.Is(err, errStranger), errors.Is(err, port.ErrWentBack):
		g.trouble.text, g.trouble.at = host+": "+port.Plain(err.Error()), time.Now()
		if time.Since(g.trouble.told) >= troubleToldEvery {
			g.trouble.told = time.Now()
			g.log.Error("no peer talks with this node", "addr", host, "reason", port.Plain(err.Error()))
		}
	}
}

// describeTrouble returns ": " and the present trouble, or nothing if there is none.
func (g *greeter) describeTrouble() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range []*trouble{&g.trouble, &g.unwelcome} {
		if !t.at.IsZero() && time.Since(t.at) <= troubleFresh {
			return ": " + t.text
		}
	}
	return ""
}

// noteUnwelcome keeps why the group does not take this node in, and logs it now and then, as it
// asks three times a second. A nil err means that it was taken in, or nobody was there to ask.
func (g *greeter) noteUnwelcome(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.unwelcome.at = time.Time{}
		return
	}
	reason := port.Plain(err.Error())
	g.unwelcome.text, g.unwelcome.at = "the group does not take this node in yet: "+reason, time.Now()
	if time.Since(g.unwelcome.told) >= troubleToldEvery {
		g.unwelcome.told = time.Now()
		g.log.Warn("the group does not take this node in yet", "error", reason)
	}
}

// dialNode opens a connection to a node and proves who is at its ends.
func (g *greeter) dialNode(host string, protocol byte, id, incarnation string, timeout time.Duration) (net.Conn, error) {
	conn, _, err := g.meetNode(host, protocol, id, incarnation, timeout)
	return conn, err
}
