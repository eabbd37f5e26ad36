package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
)

// These tests show the library's defects and our guards with raft alone, without nodes. Raft uses
// its own network transport over pipes, in which a script loses or delays messages. The tests run
// in a bubble of virtual time, and the state machine only lists the entries that it gets.

// rawGroup is a group of replicas and the network between them.
type rawGroup struct {
	t     testing.TB
	ids   []string
	nodes map[string]*rawNode
	tune  func(id string, r *rawNode)

	mu     sync.Mutex
	accept map[string]chan net.Conn
	script func(m rawMessage) rawFate // nil: everything arrives.
}

// rawMessage is a request about to leave.
type rawMessage struct {
	from, to, kind string // kind: heartbeat, append, vote, prevote, snapshot, now.
}

// rawFate is the fate of a request and of its answer.
type rawFate struct {
	lost      bool            // The request is lost.
	replyLost bool            // The request arrives; the answer is lost.
	late      <-chan struct{} // The answer waits for this.
}

// rawNode is one replica and the data it keeps over restarts.
type rawNode struct {
	id        string
	raft      *raft.Raft
	transport *rawTransport
	config    *raft.Config
	inFlight  int
	log       raft.LogStore // Wraps stable, or is what the test puts in front of it.
	behind    port.Behind   // nil: guard G6 is off.
	terms     bool          // Guard G7 is on.
	stable    *raft.InmemStore
	snapshots raft.SnapshotStore
	machine   *rawMachine
	wrap      func(port.Transport) raft.Transport
}

const (
	rawTimeout = 500 * time.Millisecond
	rawTrip    = time.Millisecond
)

// newRawGroup starts replicas that form a group. tune may change each of them before its start.
func newRawGroup(t testing.TB, count int, tune func(id string, n *rawNode)) *rawGroup {
	g := &rawGroup{t: t, nodes: map[string]*rawNode{}, tune: tune, accept: map[string]chan net.Conn{}}
	var servers []raft.Server
	for i := range count {
		id := fmt.Sprintf("r%d", i+1)
		g.ids = append(g.ids, id)
		g.accept[id] = make(chan net.Conn)
		servers = append(servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	for _, id := range g.ids {
		g.start(id, raft.Configuration{Servers: servers})
	}
	return g
}

// start runs a replica on the data it has kept.
func (g *rawGroup) start(id string, first raft.Configuration) {
	n := g.nodes[id]
	if n == nil {
		n = &rawNode{id: id, stable: raft.NewInmemStore(), snapshots: raft.NewInmemSnapshotStore(), inFlight: port.RPCsInFlight}
		n.log = n.stable
		n.wrap = func(t port.Transport) raft.Transport { return port.MainLoopHeartbeats{Transport: t} }
		n.config = raft.DefaultConfig()
		n.config.LocalID, n.config.Logger = raft.ServerID(id), hclog.NewNullLogger()
		n.config.HeartbeatTimeout, n.config.ElectionTimeout = 200*time.Millisecond, 200*time.Millisecond
		n.config.LeaderLeaseTimeout, n.config.CommitTimeout = 180*time.Millisecond, 10*time.Millisecond
		n.config.SnapshotInterval, n.config.SnapshotThreshold = never, 1<<62
		if g.tune != nil {
			g.tune(id, n)
		}
		g.nodes[id] = n
	}
	n.machine = &rawMachine{}
	stream := &rawStream{group: g, id: id, closed: make(chan struct{})}
	n.transport = &rawTransport{group: g, id: id, behind: n.behind, terms: n.terms, closed: stream.closed, NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream, MaxPool: 3, MaxRPCsInFlight: n.inFlight, Timeout: rawTimeout, Logger: n.config.Logger,
	})}
	trans := n.wrap(n.transport)
	if len(first.Servers) > 0 {
		require.NoError(g.t, raft.BootstrapCluster(n.config, n.log, n.stable, n.snapshots, trans, first))
	}
	var err error
	n.raft, err = raft.NewRaft(n.config, n.machine, n.log, n.stable, n.snapshots, trans)
	require.NoError(g.t, err)
}

// stop ends a replica.
func (g *rawGroup) stop(id string) {
	n := g.nodes[id]
	require.NoError(g.t, n.raft.Shutdown().Error())
	n.transport.CloseStreams()
	_ = n.transport.NetworkTransport.Close()
}

func (g *rawGroup) stopAll() {
	for _, id := range g.ids {
		g.stop(id)
	}
}

// abandon ends replicas some of whose goroutines hang.
func (g *rawGroup) abandon() {
	for _, n := range g.nodes {
		n.raft.Shutdown()
		n.transport.CloseStreams()
		_ = n.transport.NetworkTransport.Close()
	}
}

// follow sets the script.
func (g *rawGroup) follow(script func(m rawMessage) rawFate) {
	g.mu.Lock()
	g.script = script
	g.mu.Unlock()
}

// cutOff loses all messages to and from a replica from now on.
func (g *rawGroup) cutOff(id string) {
	g.follow(func(m rawMessage) rawFate { return rawFate{lost: m.from == id || m.to == id} })
}

func (g *rawGroup) fate(m rawMessage) rawFate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.script == nil {
		return rawFate{}
	}
	return g.script(m)
}

// leader waits for a leader other than not, of the highest term there is.
func (g *rawGroup) leader(not string) *rawNode {
	for range 60_000 {
		var best *rawNode
		for _, id := range g.ids {
			n := g.nodes[id]
			if id != not && n.raft.State() == raft.Leader && (best == nil || n.raft.CurrentTerm() > best.raft.CurrentTerm()) {
				best = n
			}
		}
		if best != nil {
			return best
		}
		time.Sleep(time.Millisecond)
	}
	g.t.Fatal("no leader")
	return nil
}

// lead makes the given replica the leader.
func (g *rawGroup) lead(id string) *rawNode {
	for range 100 {
		n := g.leader("")
		if n.id == id && n.raft.Apply([]byte("lead"), time.Second).Error() == nil {
			return n
		}
		if n.id != id {
			_ = n.raft.LeadershipTransferToServer(raft.ServerID(id), raft.ServerAddress(id)).Error()
		}
		time.Sleep(50 * time.Millisecond)
	}
	g.t.Fatalf("%s does not lead", id)
	return nil
}

// equal reports whether all replicas have applied the leader's last entry.
func (g *rawGroup) equal() bool {
	last := g.leader("").raft.LastIndex()
	for _, n := range g.nodes {
		if n.raft.AppliedIndex() < last {
			return false
		}
	}
	return true
}

// awaitEqual waits up to patience of virtual time, and reports whether all replicas became
// equal.
func (g *rawGroup) awaitEqual(patience time.Duration) bool {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if g.equal() {
			return true
		}
	}
	return false
}

// diverged returns where two replicas' state machines were given different entries for one
// index, or "".
func (g *rawGroup) diverged() string {
	seen := map[uint64]string{}
	for _, id := range g.ids {
		for index, data := range g.nodes[id].machine.all() {
			if other, known := seen[index]; known && other != data {
				return fmt.Sprintf("index %d: %q and %q", index, other, data)
			}
			seen[index] = data
		}
	}
	for _, id := range g.ids { // One replica may have got an entry for an index that another one skipped.
		n := g.nodes[id]
		has := n.machine.all()
		for index, data := range seen {
			if _, ok := has[index]; !ok && index <= n.raft.AppliedIndex() && index > n.machine.from() {
				return fmt.Sprintf("index %d: %q and, on %s, nothing", index, data, id)
			}
		}
	}
	return ""
}

// rawMachine lists the entries it was given.
type rawMachine struct {
	mu       sync.Mutex
	entries  map[uint64]string
	restored uint64
	installs int
}

func (m *rawMachine) Apply(log *raft.Log) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[uint64]string{}
	}
	m.entries[log.Index] = string(log.Data)
	return nil
}

func (m *rawMachine) all() map[uint64]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.entries)
}

func (m *rawMachine) from() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restored
}

func (m *rawMachine) installed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.installs
}

func (m *rawMachine) Snapshot() (raft.FSMSnapshot, error) { return &rawSnapshot{m.all()}, nil }

func (m *rawMachine) Restore(source io.ReadCloser) error {
	entries := map[uint64]string{}
	if err := json.NewDecoder(source).Decode(&entries); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries, m.installs = entries, m.installs+1
	return nil
}

type rawSnapshot struct{ entries map[uint64]string }

func (s *rawSnapshot) Persist(sink raft.SnapshotSink) error {
	var all bytes.Buffer
	if err := json.NewEncoder(&all).Encode(s.entries); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if _, err := sink.Write(all.Bytes()); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

func (s *rawSnapshot) Release() {}

// rawStream joins the replicas' network transports by pipes.
type rawStream struct {
	group  *rawGroup
	id     string
	closed chan struct{}
	once   sync.Once
}

func (s *rawStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.group.accept[s.id]:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *rawStream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *rawStream) Addr() net.Addr { return port.StreamAddr(s.id) }

func (s *rawStream) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if !slices.Contains(s.group.ids, string(to)) {
		return nil, fmt.Errorf("no replica %s", to)
	}
	near, far := net.Pipe()
	select {
	case s.group.accept[string(to)] <- far:
		return near, nil
	case <-time.After(timeout):
		return nil, errors.Join(errors.New("not accepted"), near.Close(), far.Close())
	}
}

// rawTransport is the library's transport, controlled by the script.
type rawTransport struct {
	*raft.NetworkTransport
	group  *rawGroup
	id     string
	behind port.Behind
	terms  bool
	closed chan struct{}
}

// Consumer implements raft.Transport.
func (t *rawTransport) Consumer() <-chan raft.RPC {
	if t.behind == nil {
		return t.NetworkTransport.Consumer()
	}
	out := make(chan raft.RPC)
	go func() {
		for {
			select {
			case rpc := <-t.NetworkTransport.Consumer():
				if request, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
					t.behind.AcceptAppend(request)
				}
				select {
				case out <- rpc:
				case <-t.closed:
					return
				}
			case <-t.closed:
				return
			}
		}
	}()
	return out
}

var errRawLost = errors.New("lost on the way")

func (t *rawTransport) carry(to raft.ServerID, kind string, call func() error) error {
	fate := t.group.fate(rawMessage{from: t.id, to: string(to), kind: kind})
	if fate.lost {
		time.Sleep(rawTimeout)
		return errRawLost
	}
	time.Sleep(rawTrip) // Without this pause a livelock would take no virtual time at all.
	err := call()
	if fate.late != nil {
		<-fate.late
	}
	if fate.replyLost {
		time.Sleep(rawTimeout)
		return errRawLost
	}
	return err
}

func (t *rawTransport) AppendEntries(id raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest, a *raft.AppendEntriesResponse) error {
	kind := "append"
	if q.PrevLogEntry == 0 && q.PrevLogTerm == 0 && len(q.Entries) == 0 && q.LeaderCommitIndex == 0 {
		kind = "heartbeat" // raft's fast path takes such an append for a heartbeat.
	}
	return t.carry(id, kind, func() error {
		if err := port.CheckTerms(q); t.terms && err != nil {
			return err
		}
		return t.NetworkTransport.AppendEntries(id, to, q, a)
	})
}

func (t *rawTransport) RequestVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, a *raft.RequestVoteResponse) error {
	return t.carry(id, "vote", func() error { return t.NetworkTransport.RequestVote(id, to, q, a) })
}

func (t *rawTransport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest, a *raft.RequestPreVoteResponse) error {
	return t.carry(id, "prevote", func() error { return t.NetworkTransport.RequestPreVote(id, to, q, a) })
}

func (t *rawTransport) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest, a *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.carry(id, "snapshot", func() error { return t.NetworkTransport.InstallSnapshot(id, to, q, a, data) })
}

func (t *rawTransport) TimeoutNow(id raft.ServerID, to raft.ServerAddress, q *raft.TimeoutNowRequest, a *raft.TimeoutNowResponse) error {
	return t.carry(id, "now", func() error { return t.NetworkTransport.TimeoutNow(id, to, q, a) })
}
