package cluster

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/engine"
)

// This file is about how a node finds its group. A node without data asks the addresses it was
// given to join through. If one of them knows a cluster, the node joins that, whatever else its
// configuration says. Otherwise, if it is to expect N nodes, it waits until exactly N such
// nodes see each other. The one with the lowest id asks each of the others for a promise, which
// is given once in a data folder's life, and with all promises forms the group of all N. So two
// groups can never be formed from the same nodes.

const (
	unreachedMin   = 3 * time.Second
	unreachedEvery = 10 // Rounds without a leader between two calls that tell the group this node's address.
)

// finder finds this node's group, and tells the group the node's address.
type finder struct {
	life       *life
	folder     *datadir.Folder
	state      *state
	replica    *replica
	greeter    *greeter
	peers      *peers
	membership *membership
	secret     *secretProver

	asking    atomic.Bool // This node is asking whether it is still a member.
	unreached int         // Rounds without a leader. Only findGroup uses it.
	waits     trouble     // What a new group waits for. Only findGroup uses it.

	join    []string // Where to look.
	expect  int      // How many nodes form a new group; 0: this one forms none.
	release string
}

// findGroup is the goroutine of a node that is no member yet, or a member under another address or
// incarnation.
func (f *finder) findGroup() {
	ticker := time.NewTicker(joinEvery)
	defer ticker.Stop()
	for {
		select {
		case <-f.life.stop:
			return
		case <-ticker.C:
		}
		switch {
		case f.peers.hasNoPort():
			return
		case len(f.replica.listServers()) == 0:
			f.formOrJoin()
		case f.isMisplaced():
			f.joinThrough(f.knownHosts())
		}
	}
}

// isMisplaced reports whether this node must tell the group its address: the group does not
// know it, or knows another address of it. A node that no leader reaches also does so now and
// then, as its own configuration may be older than the one that names its address.
func (f *finder) isMisplaced() bool {
	known, err := f.replica.addressOf(f.replica.self)
	if f.isPlaced() {
		f.unreached++
		if _, _, without := f.replica.currentLeader(time.Now()); without < unreachedMin {
			f.unreached = 0
		}
		return f.unreached%unreachedEvery == 1
	}
	if f.replica.isLeader() && err == nil {
		to := f.greeter.address
		to.Hold = known.Hold
		if err := f.membership.addServer(f.replica.self, to, true); err != nil {
			f.life.log.Warn("own address not changed", "error", err)
		}
		return false
	}
	_, _, without := f.replica.currentLeader(time.Now())
	return err != nil && len(f.join) > 0 && without > leaderlessMax || err == nil
}

// knownHosts returns the addresses where the group may be: those given, and the members'.
func (f *finder) knownHosts() []string {
	hosts := append([]string(nil), f.join...)
	for _, server := range f.replica.listServers() {
		if server.ID != f.replica.self {
			hosts = append(hosts, port.HostOf(string(server.Address)))
		}
	}
	return hosts
}

// formOrJoin is one round of a node without data: it looks for a group, and joins or forms one.
func (f *finder) formOrJoin() {
	seen, unheard := f.lookAround()
	if through := newestGroup(seen); through != nil {
		f.joinThrough([]string{port.HostOf(through.Address)})
		return
	}
	for _, p := range seen {
		if p.Member {
			return // The group is being formed just now.
		}
	}
	if f.expect == 0 {
		f.tellJoin(len(seen), unheard)
		return
	}
	if err := f.formGroup(seen); err != nil {
		f.tellWait(strings.Join(append([]string{port.Plain(err.Error())}, unheard...), "; "))
	}
}

// tellJoin says who was asked for a group, what came, and what to do.
func (f *finder) tellJoin(answered int, unheard []string) {
	why := unheard
	if answered > 0 {
		why = append(why, fmt.Sprintf("%d nodes answer, and none of them has a group yet", answered))
	}
	if len(why) == 0 {
		why = []string{"--join names nobody but this node"}
	}
	f.tellWait(strings.Join(why, "; ") + ". Give --join the addresses that members have as --cluster, and see that they run and can be reached from here")
}

// tellWait logs what a new group waits for, when that changes and now and then. It is called
// three times a second.
func (f *finder) tellWait(reason string) {
	if f.waits.text == reason && time.Since(f.waits.told) < troubleToldEvery {
		return
	}
	f.waits.text, f.waits.told = reason, time.Now()
	f.life.log.Info("no group yet", "reason", reason)
}

// lookAround asks every given address which node is there. It also returns what came where none
// was.
func (f *finder) lookAround() (seen map[string]*port.Pong, unheard []string) {
	seen = make(map[string]*port.Pong)
	for _, host := range f.join {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		l := f.peers.linkToAddress(host)
		p, err := port.Ask(ctx, l, port.PingCall{})
		l.Close()
		cancel()
		switch {
		case err != nil:
			unheard = append(unheard, "asked "+host+": "+withoutPrefix(err))
		case p.ID != f.greeter.id:
			seen[p.ID] = p
		}
	}
	return seen, unheard
}

// withoutPrefix returns the cause of a call that failed, in plain words.
func withoutPrefix(err error) string {
	return strings.TrimPrefix(port.Plain(err.Error()), port.Plain(port.ErrNotSent.Error())+": ")
}

func (f *finder) joinThrough(hosts []string) {
	message := port.JoinCall{ID: f.greeter.id, Address: f.greeter.address.String(), Release: f.release, Format: uint16(engine.FormatNewest)}
	var last error
	for _, host := range hosts {
		ctx, cancel := context.WithTimeout(context.Background(), membershipPatience)
		l, met := f.peers.linkAndMeet(host)
		_, last = port.Ask(ctx, l, &message)
		l.Close()
		cancel()
		switch {
		case last == nil:
			f.greeter.noteUnwelcome(nil)
			return
		case errors.Is(last, port.ErrWentBack), errors.Is(last, port.ErrCopy), errors.Is(last, port.ErrTooOld):
			if f.greeter.judgeStanding(*met) != nil {
				continue // No node ends because a stranger says so.
			}
			f.life.endProcess("this node is not taken in at " + f.greeter.address.Host + ": " + port.Plain(last.Error()))
			return
		}
	}
	away := errors.Is(last, port.ErrNotSent) || errors.Is(last, port.ErrLinkDown) || errors.Is(last, context.DeadlineExceeded)
	if away || f.isPlaced() { // No host refused it.
		last = nil
	}
	f.greeter.noteUnwelcome(last)
}

// isPlaced reports whether this node's own configuration has its present address and
// incarnation.
func (f *finder) isPlaced() bool {
	known, err := f.replica.addressOf(f.replica.self)
	return err == nil && known.Host == f.greeter.address.Host && known.Incarnation == f.greeter.address.Incarnation
}

// formGroup bootstraps the group if this node is the one to do it.
func (f *finder) formGroup(seen map[string]*port.Pong) error {
	expect := f.expect
	if len(seen)+1 != expect {
		return fmt.Errorf("%d of %d expected nodes are here", len(seen)+1, expect)
	}
	self := raft.Server{Suffrage: raft.Voter, ID: f.replica.self, Address: raft.ServerAddress(f.greeter.address.String())}
	servers := []raft.Server{self}
	for id, p := range seen {
		if p.Expect != expect {
			return fmt.Errorf("node %s expects %d nodes, this one %d", id, p.Expect, expect)
		}
		if err := f.checkSecret(p); err != nil {
			return err
		}
		servers = append(servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(p.Address)})
	}
	sort.Slice(servers, func(i, j int) bool { return servers[i].ID < servers[j].ID })
	if servers[0].ID != self.ID {
		return fmt.Errorf("node %s forms the group", servers[0].ID)
	}
	if err := f.givePromise(&port.PromiseCall{ID: f.greeter.id, Incarnation: f.folder.Identity().Incarnation}); err != nil {
		return err
	}
	for _, server := range servers[1:] {
		if err := f.askPromise(server); err != nil {
			return fmt.Errorf("node %s: %w", server.ID, err)
		}
	}
	f.life.log.Info("forming a group", "nodes", len(servers))
	return f.replica.raft.BootstrapCluster(raft.Configuration{Servers: servers}).Error()
}

// checkSecret asks a node that would be a member to prove that it has the cluster secret.
func (f *finder) checkSecret(p *port.Pong) error {
	to, err := port.ParseAddress(p.Address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), port.CallPatience)
	defer cancel()
	l := f.peers.linkToAddress(to.Host)
	defer l.Close()
	return f.secret.checkPeer(ctx, l, p.ID, p.Incarnation)
}

func (f *finder) askPromise(server raft.Server) error {
	to, err := port.ParseAddress(string(server.Address))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), port.CallPatience)
	defer cancel()
	l := f.peers.linkToAddress(to.Host)
	defer l.Close()
	_, err = port.Ask(ctx, l, &port.PromiseCall{ID: f.greeter.id, Incarnation: f.folder.Identity().Incarnation})
	return err
}

// givePromise promises one node that it may form a group with this node in it, and no other
// node ever may. The promise is on disk before it is given.
func (f *finder) givePromise(m *port.PromiseCall) error {
	if !f.membership.changing.tryEnter() {
		return errors.New("cluster: this node is giving a promise just now")
	}
	defer f.membership.changing.leaveGate()
	switch {
	case len(f.replica.listServers()) > 0 || f.state.Settings().Genesis != nil:
		return errors.New("cluster: this node is a member already")
	case f.expect < 2:
		return errors.New("cluster: this node does not expect to form a group")
	}
	return f.folder.Promise(m.ID + "/" + m.Incarnation)
}
