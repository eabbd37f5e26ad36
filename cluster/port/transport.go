package port

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"railguard/engine"
)

const (
	// RPCsInFlight turns pipelining off (guard G2): a follower is not left behind
	// by one passing append error.
	RPCsInFlight = 1
	// raftConnections is how many idle connections to one peer raft keeps.
	raftConnections = 3
	// RPCTimeout is raft's own timeout. A snapshot gets as much for every 256 KiB.
	RPCTimeout = 2 * time.Second
	// appendBytesMax bounds one append to a peer, which must be sent and written within
	// RPCTimeout: 2 MiB are 0.84 s on the slowest link that is supported, 20 Mbit/s, and
	// 0.4 s on the slowest disk, 5 MB/s. Four of the largest entries.
	appendBytesMax = 2 * engine.MiB
	// termLead is how far above ours a peer's term may be. A forged packet with the
	// highest term would end elections for good.
	termLead = 1_000_000
	// raftPeersMax bounds the inbound transports. Those of peers that are gone are dropped
	// first.
	raftPeersMax = 16
)

// Transport has the methods that raft needs for pre-vote and shutdown.
type Transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// MainLoopHeartbeats hides the transport's heartbeat fast path (guard G1, hashicorp/raft issue
// 695). With the fast path, a heartbeat of a new leader raises the term and demotes an old
// leader on the connection's goroutine, while the old leader's main loop may be about to
// append. Its entry then has the new term, and two nodes can commit different entries at one
// index. Without it heartbeats wait for the main loop like everything else.
//
// Pre-vote still works, since the embedded transport has it.
type MainLoopHeartbeats struct{ Transport }

// SetHeartbeatHandler implements raft.Transport by doing nothing.
func (MainLoopHeartbeats) SetHeartbeatHandler(func(raft.RPC)) {}

// PeerTransport is raft's network. This node's requests go out through the embedded transport.
// Requests of others come in through one transport for each peer, to which the mux gives proven
// connections. So the sender of every RPC is known, and the RPC must name it.
type PeerTransport struct {
	*raft.NetworkTransport
	self     Address
	term     func() uint64
	logger   hclog.Logger
	consumer chan raft.RPC
	closing  chan struct{}

	acks   acks   // Confirmations of followers, while this node leads.
	behind Behind // nil: raft accepts or refuses every append itself.

	mu      sync.Mutex
	inbound map[string]*inboundRaft
	closed  bool
}

// inboundRaft is the transport for one peer's requests.
type inboundRaft struct {
	*raft.NetworkTransport
	conns chan net.Conn
	heard heard
	users int           // Count of connections; guarded by PeerTransport.mu.
	gone  chan struct{} // Closed when it is dropped.
}

// raftStream is a StreamLayer between the mux and a transport.
type raftStream struct {
	self   Address
	conns  chan net.Conn // nil: no connection ever comes in.
	dial   func(address raft.ServerAddress, timeout time.Duration) (net.Conn, error)
	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (s *raftStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.conns:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (s *raftStream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr implements net.Listener.
func (s *raftStream) Addr() net.Addr { return StreamAddr(s.self.String()) }

// Dial implements raft.StreamLayer.
func (s *raftStream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if s.dial == nil {
		return nil, errors.New("cluster: nothing is dialled from here")
	}
	select {
	case <-s.closed:
		return nil, net.ErrClosed
	default:
		return s.dial(address, timeout)
	}
}

type StreamAddr string

// Network implements net.Addr.
func (StreamAddr) Network() string { return "railguard" }

// String implements net.Addr.
func (a StreamAddr) String() string { return string(a) }

// idMark separates a member's id from its address in the string given to Dial, so that Dial
// knows whom it dials: "n2@10.0.0.2:7000/6f1d0c55e2a94b17".
const idMark = "@"

// NewPeerTransport makes raft's network. dial opens a proven connection to a
// member; lookup finds a member's current address.
func NewPeerTransport(self Address, logger hclog.Logger, term func() uint64,
	dial func(id string, to Address, timeout time.Duration) (net.Conn, error),
	lookup func(raft.ServerID) (raft.ServerAddress, error)) *PeerTransport {
	out := &raftStream{self: self, closed: make(chan struct{})}
	out.dial = func(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
		id, rest, known := strings.Cut(string(address), idMark)
		if !known {
			id, rest = "", string(address)
		}
		to, err := ParseAddress(rest)
		if err != nil {
			return nil, err
		}
		return dial(id, to, timeout)
	}
	return &PeerTransport{
		NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
			Stream: out, MaxPool: raftConnections, MaxRPCsInFlight: RPCsInFlight, Timeout: RPCTimeout,
			Logger: logger, ServerAddressProvider: addressFunc(lookup),
		}),
		self: self, term: term, logger: logger,
		consumer: make(chan raft.RPC), closing: make(chan struct{}),
		inbound: make(map[string]*inboundRaft),
	}
}

// TellCommits makes heartbeats carry the commit index, which commit returns. It must be called
// before raft uses the transport.
func (t *PeerTransport) TellCommits(commit func() uint64) { t.acks.commit = commit }

// AcceptBehind makes raft accept an append that follows this node's newest snapshot. It must be
// called before raft uses the transport.
func (t *PeerTransport) AcceptBehind(behind Behind) { t.behind = behind }

// Committed records a peer's statement, made outside raft's messages, that as leader of a term
// it knows index to be committed.
func (t *PeerTransport) Committed(peer string, term, index uint64) {
	t.mu.Lock()
	in := t.inbound[peer]
	t.mu.Unlock()
	if in != nil {
		in.heard.learnCommitted(term, index)
	}
}

// AppendEntries implements raft.Transport. Raft bounds an append by the number of its entries
// alone, which can be more than a link carries or a disk writes in time: then no append to a
// peer that is behind would ever succeed. So entries that do not fit are cut off the request;
// raft sees what was sent and sends the rest next.
func (t *PeerTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	if isHeartbeat(request) {
		request = t.acks.loadHeartbeat(id, request, t.term)
	}
	if err := CheckTerms(request); err != nil {
		return err
	}
	request.Entries = fittingEntries(request.Entries)
	err := t.NetworkTransport.AppendEntries(id, target, request, response)
	if err == nil {
		t.acks.noteAnswer(id, request, response)
	}
	return err
}

// fittingEntries returns as many entries, from the first on, as one append may carry, and at
// least one.
func fittingEntries(entries []*raft.Log) []*raft.Log {
	size := 0
	for i, entry := range entries {
		if size += len(entry.Data) + len(entry.Extensions); size > appendBytesMax && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

type addressFunc func(raft.ServerID) (raft.ServerAddress, error)

// ServerAddr implements raft.ServerAddressProvider.
func (b addressFunc) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	address, err := b(id)
	if err != nil {
		return "", err
	}
	return raft.ServerAddress(id) + idMark + address, nil
}

// Consumer implements raft.Transport.
func (t *PeerTransport) Consumer() <-chan raft.RPC { return t.consumer }

// LocalAddr implements raft.Transport.
func (t *PeerTransport) LocalAddr() raft.ServerAddress { return raft.ServerAddress(t.self.String()) }

// EncodePeer implements raft.Transport.
func (t *PeerTransport) EncodePeer(_ raft.ServerID, address raft.ServerAddress) []byte {
	return []byte(address)
}

// DecodePeer implements raft.Transport.
func (t *PeerTransport) DecodePeer(data []byte) raft.ServerAddress { return raft.ServerAddress(data) }

// Close implements raft.WithClose.
func (t *PeerTransport) Close() error {
	t.mu.Lock()
	inbound := t.inbound
	t.inbound = map[string]*inboundRaft{}
	if !t.closed {
		t.closed = true
		close(t.closing)
	}
	t.mu.Unlock()
	for _, in := range inbound {
		in.NetworkTransport.CloseStreams()
		_ = in.NetworkTransport.Close()
	}
	t.NetworkTransport.CloseStreams()
	return t.NetworkTransport.Close()
}

// Receive gives a peer's connection to its transport, and returns when the connection is done.
func (t *PeerTransport) Receive(id string, conn net.Conn) {
	in, err := t.transportOf(id)
	if err != nil {
		return
	}
	defer t.releasePeer(in)
	watched := &watchedConn{Conn: conn, closed: make(chan struct{})}
	select {
	case in.conns <- watched:
	case <-t.closing:
		return
	}
	select {
	case <-watched.closed:
	case <-t.closing:
	}
}

// watchedConn signals when its user closes it.
type watchedConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close implements net.Conn.
func (c *watchedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// transportOf returns a peer's transport for one more connection. It makes the transport at the
// first one.
func (t *PeerTransport) transportOf(id string) (*inboundRaft, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, net.ErrClosed
	}
	if in := t.inbound[id]; in != nil {
		in.users++
		return in, nil
	}
	if len(t.inbound) >= raftPeersMax && !t.dropUnused() {
		return nil, fmt.Errorf("cluster: more than %d raft peers", raftPeersMax)
	}
	stream := &raftStream{self: t.self, conns: make(chan net.Conn), closed: make(chan struct{})}
	in := &inboundRaft{conns: stream.conns, users: 1, heard: heard{wake: make(chan struct{}, 1)}, gone: make(chan struct{}), NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: stream, MaxPool: 0, MaxRPCsInFlight: RPCsInFlight, Timeout: RPCTimeout, Logger: t.logger,
	})}
	t.inbound[id] = in
	go t.passRPCs(id, in)
	return in, nil
}

func (t *PeerTransport) releasePeer(in *inboundRaft) {
	t.mu.Lock()
	in.users--
	t.mu.Unlock()
}

// dropUnused drops a transport without connections: over the years a node meets more peers than
// there are at a time.
func (t *PeerTransport) dropUnused() bool {
	for id, in := range t.inbound {
		if in.users == 0 {
			delete(t.inbound, id)
			close(in.gone)
			_ = in.NetworkTransport.Close()
			return true
		}
	}
	return false
}

// passRPCs hands a peer's RPCs to raft's main loop, if checkRPC accepts them.
func (t *PeerTransport) passRPCs(id string, in *inboundRaft) {
	for goesOn := true; goesOn; {
		select {
		case rpc := <-in.Consumer():
			if err := t.checkRPC(id, rpc); err != nil {
				rpcsRefused.Inc()
				t.logger.Error("raft message refused", "peer", id, "error", err)
				refuseRPC(rpc, err)
				continue
			}
			if request, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
				in.heard.notePassing(request)
			}
			goesOn = t.handToRaft(rpc)
		case <-in.heard.wake:
			if rpc, ok := in.heard.appendOf(); ok {
				goesOn = t.handToRaft(rpc)
			}
		case <-in.gone:
			return
		case <-t.closing:
			return
		}
	}
}

// handToRaft waits until raft takes an RPC. It returns false if the transport is closed before.
func (t *PeerTransport) handToRaft(rpc raft.RPC) bool {
	if request, ok := rpc.Command.(*raft.AppendEntriesRequest); ok {
		t.behind.AcceptAppend(request)
	}
	select {
	case t.consumer <- rpc:
		return true
	case <-t.closing:
		return false
	}
}

func refuseRPC(rpc raft.RPC, err error) {
	if rpc.Reader != nil {
		_, _ = io.Copy(io.Discard, rpc.Reader) // The next RPC comes after the snapshot's bytes.
	}
	rpc.Respond(nil, err)
}

// checkRPC checks an RPC against its connection: the id that it claims, and a term that
// elections can have reached and that the entries have.
func (t *PeerTransport) checkRPC(id string, rpc raft.RPC) error {
	headed, ok := rpc.Command.(raft.WithRPCHeader)
	if !ok {
		return fmt.Errorf("no header in %T", rpc.Command)
	}
	if header := headed.GetRPCHeader(); string(header.ID) != id {
		return fmt.Errorf("claims to be %q", header.ID)
	}
	var term uint64
	switch command := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		term = command.Term
	case *raft.RequestVoteRequest:
		term = command.Term
	case *raft.RequestPreVoteRequest:
		term = command.Term
	case *raft.InstallSnapshotRequest:
		term = command.Term
	}
	if ours := t.term(); term > ours+termLead {
		return fmt.Errorf("term %d is absurd: ours is %d", term, ours)
	}
	return CheckTerms(rpc.Command)
}

const loneTimeout = time.Second

// LoneTransport returns the transport of a node without a cluster address: a group of one that
// listens nowhere.
func LoneTransport(self Address) Transport {
	_, alone := raft.NewInmemTransportWithTimeout(raft.ServerAddress(self.String()), loneTimeout)
	return alone
}
