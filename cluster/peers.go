package cluster

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	pingEvery   = 250 * time.Millisecond
	pingTimeout = 400 * time.Millisecond
	// sampleFresh is how old the answer to a ping may be to count as a sign of life, or as a
	// sample of a clock.
	sampleFresh = 3 * time.Second
	// clockClamp is how far a stamp may be from the median of a quorum's clocks.
	clockClamp = engine.Second
)

// linkUse separates different traffic to one peer.
type linkUse uint8

const (
	linkControl linkUse = iota
	linkForward
	linkFetch
	linkRead // Single leaves: a caller who waits for a record must not wait behind segments.
	linkVerb
	linkRelay
	linkConfirm // Read indices: no other late call may end their connection.
)

type linkKey struct {
	id  string
	use linkUse
}

// sample is a peer's last answer to a ping.
type sample struct {
	pong   port.Pong
	at     time.Time
	offset engine.Time // The peer's wall clock minus ours.
	base   engine.Time // Our wall clock minus our monotonic one, at that time.
	trip   time.Duration
	silent bool // A later ping was not answered.
}

// peers has this node's links to the other members and their answers to pings.
type peers struct {
	life    *life
	clock   Clock
	replica *replica
	greeter *greeter
	pingNow chan struct{}

	mu      sync.Mutex
	links   map[linkKey]*port.Link
	dialled map[linkKey]string // The host that a link dialled last.
	samples map[string]sample
	asked   map[string]bool // A ping is under way.
	closed  bool

	relayed atomic.Pointer[relayed] // Answers what other nodes relay to this one; nil: nobody does.
}

func newPeers(l *life, clock Clock, r *replica, g *greeter) *peers {
	return &peers{
		life: l, clock: clock, replica: r, greeter: g, pingNow: make(chan struct{}, 1),
		links: map[linkKey]*port.Link{}, dialled: map[linkKey]string{}, samples: map[string]sample{}, asked: map[string]bool{},
	}
}

var errNoPort = errors.New("cluster: this node has no port between nodes")

// hasNoPort reports whether the node has no port and so can ask nobody.
func (p *peers) hasNoPort() bool { return p.greeter.mux == nil }

// pingVoters asks every other voter, and waits for their answers.
func (p *peers) pingVoters() {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, server := range p.replica.listServers() {
		if id := string(server.ID); server.ID != p.replica.self && server.Suffrage == raft.Voter {
			all.Go(func() { _ = p.pingNode(ctx, id) })
		}
	}
	all.Wait()
}

// linkTo returns the link to a member. It is dialled at its first use.
func (p *peers) linkTo(id string, use linkUse) *port.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := linkKey{id, use}
	if l := p.links[key]; l != nil {
		return l
	}
	l := port.NewLink(func(timeout time.Duration) (net.Conn, error) {
		to, err := p.replica.addressOf(raft.ServerID(id))
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.dialled[key] = to.Host
		p.mu.Unlock()
		return p.greeter.dialNode(to.Host, port.ProtocolCalls, id, to.Incarnation, timeout)
	})
	if p.closed {
		l.Close()
	}
	p.links[key] = l
	return l
}

// linkToAddress returns a link to an address whose node is not known yet.
func (p *peers) linkToAddress(host string) *port.Link {
	l, _ := p.linkAndMeet(host)
	return l
}

// linkAndMeet is linkToAddress, and returns who was met there, once the link was used.
func (p *peers) linkAndMeet(host string) (l *port.Link, met *port.Peer) {
	met = new(port.Peer)
	return port.NewLink(func(timeout time.Duration) (net.Conn, error) {
		conn, w, err := p.greeter.meetNode(host, port.ProtocolCalls, "", "", timeout)
		*met = port.Peer{ID: w.ID, Incarnation: w.Incarnation}
		return conn, err
	}), met
}

func (p *peers) closePeers() {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = map[linkKey]*port.Link{}
	p.mu.Unlock()
	for _, l := range links {
		l.Close()
	}
}

// forgetMembers closes the links to nodes that are no longer members, and to addresses that
// members no longer have: a node that answers there is not the one that the group counts on.
func (p *peers) forgetMembers(members []raft.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, l := range p.links {
		if !slices.ContainsFunc(members, func(s raft.Server) bool { return string(s.ID) == key.id }) {
			l.Close()
			delete(p.links, key)
			delete(p.samples, key.id)
			p.greeter.forgetNode(key.id)
		}
	}
	for key, host := range p.dialled {
		at := slices.IndexFunc(members, func(s raft.Server) bool { return string(s.ID) == key.id })
		if at >= 0 && port.HostOf(string(members[at].Address)) == host {
			continue
		}
		delete(p.dialled, key)
		if l := p.links[key]; l != nil {
			l.Close()
			delete(p.links, key)
		}
		if last, known := p.samples[key.id]; known {
			last.silent = true
			p.samples[key.id] = last
		}
	}
}

// isProcess reports whether a peer's last answer came from the given process.
func (p *peers) isProcess(id string, process uint64) bool {
	last, known := p.lastSample(id)
	return known && last.pong.Process == process
}

// freshSample returns a peer's last answer if it is new enough.
func (p *peers) freshSample(id string) (sample, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.samples[id]
	return s.seenFrom(clockBase(p.clock)), ok && time.Since(s.at) < sampleFresh
}

// lastSample returns a peer's last answer, however old.
func (p *peers) lastSample(id string) (sample, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.samples[id]
	return s.seenFrom(clockBase(p.clock)), ok
}

// watchPeers is the goroutine that pings the other members.
func (p *peers) watchPeers() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.life.stop:
			return
		case <-ticker.C:
		case <-p.pingNow:
		}
		members := p.replica.listServers()
		p.forgetMembers(members)
		p.greeter.endStrangers()
		for _, member := range members {
			if member.ID != p.replica.self {
				p.pingBeside(string(member.ID))
			}
		}
	}
}

// pingBeside pings a peer on a goroutine of its own, unless a ping is under way.
func (p *peers) pingBeside(id string) {
	p.mu.Lock()
	busy := p.asked[id]
	p.asked[id] = true
	p.mu.Unlock()
	if busy {
		return
	}
	p.life.running.Add(1)
	go func() {
		defer p.life.running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		_ = p.pingNode(ctx, id)
		p.mu.Lock()
		delete(p.asked, id)
		p.mu.Unlock()
	}()
}

// pingNode pings one peer and keeps the answer.
func (p *peers) pingNode(ctx context.Context, id string) error {
	sent, wall, base := time.Now(), p.clock.Wall(), clockBase(p.clock)
	answer, err := port.Ask(ctx, p.linkTo(id, linkControl), port.PingCall{})
	if err != nil {
		p.mu.Lock()
		if last, known := p.samples[id]; known {
			last.silent = true
			p.samples[id] = last
		}
		p.mu.Unlock()
		return err
	}
	trip := time.Since(sent)
	if answer.Recorded {
		p.greeter.lineage.noteRecorded(0) // Another node wrote the leaf of the recovery for which this one kept its folder.
	}
	p.mu.Lock()
	p.samples[id] = sample{
		pong: *answer, at: time.Now(), trip: trip,
		offset: answer.Wall - (wall + engine.Time(trip/2)), base: base,
	}
	p.mu.Unlock()
	p.greeter.noteNode(answer, id)
	return nil
}

// countReachable returns how many voters answered lately, with this node, and how many there
// are.
func (p *peers) countReachable() (answering, voters int) {
	for _, server := range p.replica.listServers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if server.ID == p.replica.self {
			answering++
		} else if s, ok := p.freshSample(string(server.ID)); ok && !s.silent {
			answering++
		}
	}
	return answering, voters
}

// isAnswering reports whether a peer answered the last ping, lately enough. This node always
// does.
func (p *peers) isAnswering(id string) bool {
	if id == string(p.replica.self) {
		return true
	}
	s, fresh := p.freshSample(id)
	return fresh && !s.silent
}

// anyStays reports whether a member stays although it met a later recovery.
func (p *peers) anyStays() bool {
	return slices.ContainsFunc(p.replica.otherIDs(), func(id raft.ServerID) bool {
		s, fresh := p.freshSample(string(id))
		return fresh && s.pong.Stays
	})
}

// findRoomiest returns another voter that answers and whose disk has room: the one that has
// applied the most. It returns "" if there is none.
func (p *peers) findRoomiest() (id string) {
	var furthest uint64
	for _, server := range p.replica.listServers() {
		if server.Suffrage != raft.Voter || server.ID == p.replica.self {
			continue
		}
		s, fresh := p.freshSample(string(server.ID))
		if fresh && !s.silent && !s.pong.Low && (id == "" || s.pong.Applied > furthest) {
			id, furthest = string(server.ID), s.pong.Applied
		}
	}
	return id
}

// leaderFirst returns links to the others, the leader's first.
func (p *peers) leaderFirst(use linkUse) []*port.Link {
	leader, _ := p.replica.remoteLeader()
	members := p.replica.otherIDs()
	slices.SortStableFunc(members, func(a, b raft.ServerID) int { return cmp.Compare(truthGauge(b == leader), truthGauge(a == leader)) })
	return p.linksTo(members, use)
}

func (p *peers) linksTo(members []raft.ServerID, use linkUse) (links []*port.Link) {
	for _, id := range members {
		links = append(links, p.linkTo(string(id), use))
	}
	return links
}

// leaderlessError returns the error of a node that has been without a leader for too long.
func (p *peers) leaderlessError() error {
	if _, _, without := p.replica.currentLeader(time.Now()); without > leaderlessMax {
		return p.noLeaderError()
	}
	return nil
}

// noLeaderError returns ErrNoQuorum for a group that cannot elect a leader, and ErrNoLeader for
// one that can.
func (p *peers) noLeaderError() error {
	if answering, voters := p.countReachable(); voters > 0 && answering < voters/2+1 {
		return wire.ErrNoQuorum
	}
	return wire.ErrNoLeader
}
