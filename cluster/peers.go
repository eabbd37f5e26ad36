package cluster

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/engine"
)

const (
	pingEvery   = 250 * time.Millisecond
	pingTimeout = 400 * time.Millisecond
	// sampleFresh is how old a ping's answer may be to count: as a sign of life, and
	// as a sample of a clock.
	sampleFresh = 3 * time.Second
	// clockClamp is how far stamps may stand from the median of a quorum's clocks.
	clockClamp = engine.Second
)

// linkLane keeps different traffic to one peer apart.
type linkLane uint8

const (
	linkControl linkLane = iota
	linkForward
	linkFetch
	linkRead // Of single leaves: who waits for a record does not wait behind segments.
	linkVerb
)

type linkKey struct {
	id   string
	lane linkLane
}

// sample is what the last ping of a peer told.
type sample struct {
	pong   port.Pong
	at     time.Time
	offset engine.Time // The peer's wall clock minus ours.
	base   engine.Time // Our wall clock minus our monotonic one, then.
	trip   time.Duration
	silent bool // A ping since then was not answered.
}

// reached is the highest index that a peer said to have applied: committed, so its
// log on disk can never end below it again.
type reached struct {
	incarnation string
	applied     uint64
}

// peers is what this node knows of the others.
type peers struct {
	node *Node

	mu      sync.Mutex
	links   map[linkKey]*port.Link
	samples map[string]sample
	reached map[string]reached
	asked   map[string]bool // A ping is under way.
	closed  bool
}

func newPeers(n *Node) *peers {
	return &peers{node: n, links: map[linkKey]*port.Link{}, samples: map[string]sample{}, reached: map[string]reached{}, asked: map[string]bool{}}
}

var errNoPort = errors.New("cluster: this node has no port between nodes")

// link returns the connection to a member, dialled when it is used.
func (p *peers) link(id string, lane linkLane) *port.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := linkKey{id, lane}
	if l := p.links[key]; l != nil {
		return l
	}
	l := port.NewLink(func(timeout time.Duration) (net.Conn, error) {
		to, err := p.node.replica.addressOf(raft.ServerID(id))
		if err != nil {
			return nil, err
		}
		return p.node.dialPeer(to.Host, port.ProtocolCalls, id, to.Incarnation, timeout)
	})
	if p.closed {
		l.Close()
	}
	p.links[key] = l
	return l
}

// linkTo is a connection to an address whose node is not known yet.
func (p *peers) linkTo(host string) *port.Link {
	return port.NewLink(func(timeout time.Duration) (net.Conn, error) {
		return p.node.dialPeer(host, port.ProtocolCalls, "", "", timeout)
	})
}

func (p *peers) close() {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = map[linkKey]*port.Link{}
	p.mu.Unlock()
	for _, l := range links {
		l.Close()
	}
}

// forget drops the connections of those who are no members any more.
func (p *peers) forget(members []raft.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, l := range p.links {
		if !slices.ContainsFunc(members, func(s raft.Server) bool { return string(s.ID) == key.id }) {
			l.Close()
			delete(p.links, key)
			delete(p.samples, key.id)
			delete(p.reached, key.id)
		}
	}
}

// fresh returns a peer's last answer if it is new enough.
func (p *peers) fresh(id string) (sample, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.samples[id]
	return s.seenFrom(p.node.clockBase()), ok && time.Since(s.at) < sampleFresh
}

// last returns a peer's last answer, however old.
func (p *peers) last(id string) (sample, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.samples[id]
	return s.seenFrom(p.node.clockBase()), ok
}

// watchPeers is the goroutine that asks the others how they are.
func (n *Node) watchPeers() {
	defer n.life.running.Done()
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.life.stop:
			return
		case <-ticker.C:
		case <-n.pingNow:
		}
		members := n.replica.servers()
		n.peers.forget(members)
		for _, member := range members {
			if string(member.ID) != n.config.ID {
				n.pingBeside(string(member.ID))
			}
		}
	}
}

// pingBeside pings a peer unless a ping is under way.
func (n *Node) pingBeside(id string) {
	p := n.peers
	p.mu.Lock()
	busy := p.asked[id]
	p.asked[id] = true
	p.mu.Unlock()
	if busy {
		return
	}
	n.life.running.Add(1)
	go func() {
		defer n.life.running.Done()
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		_ = n.ping(ctx, id)
		p.mu.Lock()
		delete(p.asked, id)
		p.mu.Unlock()
	}()
}

// ping asks one peer and keeps the answer.
func (n *Node) ping(ctx context.Context, id string) error {
	sent, wall, base := time.Now(), n.config.Clock.Wall(), n.clockBase()
	answer, err := port.Ask(ctx, n.peers.link(id, linkControl), port.PingCall{})
	if err != nil {
		n.peers.mu.Lock()
		if last, known := n.peers.samples[id]; known {
			last.silent = true
			n.peers.samples[id] = last
		}
		n.peers.mu.Unlock()
		return err
	}
	trip := time.Since(sent)
	if answer.Recorded {
		n.recorded(0) // Another node wrote the leaf of the recovery that this one kept its folder in.
	}
	n.peers.mu.Lock()
	n.peers.samples[id] = sample{
		pong: *answer, at: time.Now(), trip: trip,
		offset: answer.Wall - (wall + engine.Time(trip/2)), base: base,
	}
	if before := n.peers.reached[id]; before.incarnation != answer.Incarnation || before.applied < answer.Applied {
		n.peers.reached[id] = reached{answer.Incarnation, answer.Applied}
	}
	n.peers.mu.Unlock()
	return nil
}

// wentBack reports whether a node's log ends below what that node had applied
// before: its folder was put back from an older copy. It has forgotten votes and
// entries that the group counts on.
func (r reached) wentBack(incarnation string, lastIndex uint64) bool {
	return r.incarnation == incarnation && lastIndex < r.applied
}

// heard returns what all peers said to have reached.
func (p *peers) heard() map[string]reached {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.reached)
}

// pong is what this node tells of itself.
func (n *Node) pong() *port.Pong {
	commit := n.replica.raft.CommitIndex()
	self := n.self(commit)
	settings := n.Settings()
	p := &port.Pong{
		ID: n.config.ID, Incarnation: n.folder.Identity().Incarnation,
		Wall: n.config.Clock.Wall(), Term: n.replica.raft.CurrentTerm(), Role: self.Role,
		Applied: self.AppliedIndex, Commit: commit, Release: n.config.Version, APIAddr: n.config.APIAddr,
		UpSince: self.UpSince, DiskFree: int32(self.DiskFreePct), ListVersion: self.ListVersion,
		FormatMax: uint16(engine.FormatNewest), Leads: n.sequencer.opened.Load() != 0,
		Healthy: self.Healthy, Member: len(n.replica.servers()) > 0 || settings.Genesis != nil,
		Expect: n.config.BootstrapExpect, Address: n.address.String(),
		Missing: n.catchup.busy.Load(), Use: n.use.lately(),
	}
	if settings.Genesis != nil {
		p.ClusterID = settings.Genesis.ClusterID
	}
	_, p.Recovery, _ = n.folder.Known()
	p.Recorded = p.Recovery > 0 && !n.recovery.waiting.Load()
	return p
}

// voterOffsets returns the fresh voters' clocks as offsets from ours, our own 0
// among them, and how many voters make a quorum.
func (n *Node) voterOffsets() (offsets []engine.Time, quorum int) {
	voters := 0
	for _, server := range n.replica.servers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if string(server.ID) == n.config.ID {
			offsets = append(offsets, 0)
		} else if s, ok := n.peers.fresh(string(server.ID)); ok {
			offsets = append(offsets, s.offset)
		}
	}
	return offsets, voters/2 + 1
}

// medianOffset returns how far the median of a quorum's clocks stands from ours.
// When their number is even, log time itself, moved on by the monotonic clock, is
// asked as one more witness: of two clocks alone nobody can tell the wrong one.
func (n *Node) medianOffset() (engine.Time, bool) {
	offsets, quorum := n.voterOffsets()
	if len(offsets) < quorum || len(offsets) == 0 {
		return 0, false
	}
	if len(offsets)%2 == 0 {
		if logOffset, ok := n.logOffset(); ok {
			offsets = append(offsets, logOffset)
		}
	}
	slices.Sort(offsets)
	return offsets[(len(offsets)-1)/2], true
}

// logOffset is how far log time stands from our wall clock, if an entry came lately
// and was new then: log time of a replay or a snapshot says nothing about now.
func (n *Node) logOffset() (engine.Time, bool) {
	last := n.logTime.Load()
	if last == nil || !last.live {
		return 0, false
	}
	passed := n.config.Clock.Monotonic() - last.at
	if passed > engine.Time(sampleFresh) {
		return 0, false
	}
	return n.rawLogTime() + passed - n.config.Clock.Wall(), true
}

// clockKnown tells whether a new leader may begin to stamp. Without the clocks of
// a quorum, and without entries of late to go on from, it would restart from the
// time of the last entry and need ten times the pause to catch up: after a power
// cut of the whole group, or at its birth, it waits for its peers' clocks instead.
func (n *Node) clockKnown() bool {
	if n.replica.alone.Load() {
		return true
	}
	if _, ok := n.medianOffset(); ok {
		return true
	}
	if _, ok := n.logOffset(); ok {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, server := range n.replica.servers() {
		if id := string(server.ID); id != n.config.ID && server.Suffrage == raft.Voter {
			all.Go(func() { _ = n.ping(ctx, id) })
		}
	}
	all.Wait()
	_, ok := n.medianOffset()
	return ok
}

// clockTarget is where the leader's stamps lean to: its own wall clock, clamped to
// the median of a quorum's clocks. Without a quorum's clocks stamps go on by the
// monotonic clock alone.
func (n *Node) clockTarget() engine.Time {
	wall := n.config.Clock.Wall()
	if n.replica.alone.Load() {
		return wall
	}
	median, ok := n.medianOffset()
	if !ok {
		offset, ok := n.logOffset()
		if !ok {
			return n.rawLogTime()
		}
		return wall + offset
	}
	return wall + min(max(0, median-clockClamp), median+clockClamp)
}

// clockOffset is how far this node's wall clock is off: from the median of a
// quorum's clocks, and alone from log time moved on by the monotonic clock.
func (n *Node) clockOffset() engine.Time {
	if n.replica.alone.Load() {
		offset, ok := n.logOffset()
		if !ok {
			return 0
		}
		return -offset
	}
	median, _ := n.medianOffset()
	return -median
}

// reachable counts the voters that answered lately, this node among them, and how
// many there are.
func (n *Node) reachable() (answering, voters int) {
	for _, server := range n.replica.servers() {
		if server.Suffrage != raft.Voter {
			continue
		}
		voters++
		if string(server.ID) == n.config.ID {
			answering++
		} else if s, ok := n.peers.fresh(string(server.ID)); ok && !s.silent {
			answering++
		}
	}
	return answering, voters
}
