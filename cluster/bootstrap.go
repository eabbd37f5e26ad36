package cluster

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/engine"
)

// How a node finds its group. A node without data asks the addresses it was given
// to join through. If one of them knows a cluster, it joins that, whatever else
// it was told. Otherwise, told to expect N nodes, it waits until exactly N such
// nodes see each other; the one with the lowest id asks each of the others for a
// promise, given once in a data folder's life, and with all of them forms the
// group of all N. So no two groups can come out of the same nodes.

// findGroup is the goroutine of a node that is not, or not rightly, a member yet.
func (n *Node) findGroup() {
	defer n.life.running.Done()
	ticker := time.NewTicker(joinEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.life.stop:
			return
		case <-ticker.C:
		}
		switch {
		case n.greeter.mux == nil:
			return
		case len(n.replica.servers()) == 0:
			n.formOrJoin()
		case n.misplaced():
			n.joinThrough(n.knownHosts())
		}
	}
}

// misplaced reports whether the group does not know this node, or not where it is.
func (n *Node) misplaced() bool {
	known, err := n.replica.addressOf(raft.ServerID(n.config.ID))
	if err == nil && known.Host == n.address.Host && known.Incarnation == n.address.Incarnation {
		return false
	}
	if n.replica.leads() && err == nil {
		to := n.address
		to.Hold = known.Hold
		if err := n.add(raft.ServerID(n.config.ID), to, true); err != nil {
			n.log.Warn("own address not changed", "error", err)
		}
		return false
	}
	_, _, without := n.replica.current(time.Now())
	return err != nil && len(n.config.Join) > 0 && without > leaderlessMax || err == nil
}

// knownHosts are where the group may be: the addresses given, and the members'.
func (n *Node) knownHosts() []string {
	hosts := append([]string(nil), n.config.Join...)
	for _, server := range n.replica.servers() {
		if string(server.ID) != n.config.ID {
			hosts = append(hosts, port.HostOf(string(server.Address)))
		}
	}
	return hosts
}

// formOrJoin is one round of a node without data.
func (n *Node) formOrJoin() {
	seen := n.lookAround()
	if through := newestGroup(seen); through != nil {
		n.joinThrough([]string{port.HostOf(through.Address)})
		return
	}
	for _, p := range seen {
		if p.Member {
			return // It forms a group just now.
		}
	}
	if n.config.BootstrapExpect == 0 {
		return
	}
	if err := n.form(seen); err != nil {
		n.log.Info("no group yet", "reason", err)
	}
}

// lookAround asks every given address who is there.
func (n *Node) lookAround() map[string]*port.Pong {
	seen := make(map[string]*port.Pong)
	for _, host := range n.config.Join {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		l := n.peers.linkTo(host)
		p, err := port.Ask(ctx, l, port.PingCall{})
		l.Close()
		cancel()
		if err == nil && p.ID != n.config.ID {
			seen[p.ID] = p
		} else if errors.Is(err, port.ErrRefused) {
			n.log.Error("a peer refuses this node", "addr", host, "error", err)
		}
	}
	return seen
}

func (n *Node) joinThrough(hosts []string) {
	message := port.JoinCall{ID: n.config.ID, Address: n.address.String(), Release: n.config.Version, Format: uint16(engine.FormatNewest)}
	var last error
	for _, host := range hosts {
		ctx, cancel := context.WithTimeout(context.Background(), membershipPatience)
		l := n.peers.linkTo(host)
		_, last = port.Ask(ctx, l, &message)
		l.Close()
		cancel()
		if last == nil {
			return
		}
	}
	if last != nil {
		n.log.Warn("not a member yet", "error", last)
	}
}

// form bootstraps the group if this node is the one to do it.
func (n *Node) form(seen map[string]*port.Pong) error {
	expect := n.config.BootstrapExpect
	if len(seen)+1 != expect {
		return fmt.Errorf("%d of %d expected nodes are here", len(seen)+1, expect)
	}
	self := raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(n.config.ID), Address: raft.ServerAddress(n.address.String())}
	servers := []raft.Server{self}
	for id, p := range seen {
		if p.Expect != expect {
			return fmt.Errorf("node %s expects %d nodes, this one %d", id, p.Expect, expect)
		}
		if _, err := port.ParseAddress(p.Address); err != nil {
			return err
		}
		servers = append(servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(p.Address)})
	}
	sort.Slice(servers, func(i, j int) bool { return servers[i].ID < servers[j].ID })
	if servers[0].ID != self.ID {
		return fmt.Errorf("node %s forms the group", servers[0].ID)
	}
	if err := n.promise(&port.PromiseCall{ID: n.config.ID, Incarnation: n.folder.Identity().Incarnation}); err != nil {
		return err
	}
	for _, server := range servers[1:] {
		if err := n.askPromise(server); err != nil {
			return fmt.Errorf("node %s: %w", server.ID, err)
		}
	}
	n.log.Info("forming a group", "nodes", len(servers))
	return n.replica.raft.BootstrapCluster(raft.Configuration{Servers: servers}).Error()
}

func (n *Node) askPromise(server raft.Server) error {
	to, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), port.CallPatience)
	defer cancel()
	l := n.peers.linkTo(to.Host)
	defer l.Close()
	_, err = port.Ask(ctx, l, &port.PromiseCall{ID: n.config.ID, Incarnation: n.folder.Identity().Incarnation})
	return err
}

// promise lets one node, and for ever only that one, form a group with this node
// in it. It is on disk before it is given.
func (n *Node) promise(m *port.PromiseCall) error {
	if !n.membership.changing.tryEnter() {
		return errors.New("cluster: this node is giving a promise just now")
	}
	defer n.membership.changing.leave()
	switch {
	case len(n.replica.servers()) > 0 || n.Settings().Genesis != nil:
		return errors.New("cluster: this node is a member already")
	case n.config.BootstrapExpect < 2:
		return errors.New("cluster: this node does not expect to form a group")
	}
	return n.folder.Promise(m.ID + "/" + m.Incarnation)
}
