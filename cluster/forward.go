package cluster

import (
	"context"
	"errors"
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
	framesInFlight  = 2 // While one frame is on its way, a second one leaves only with gatherFor records.
	forwardPatience = 2 * time.Second
)

// forwarder sends this node's records to the leader, in frames over one kept connection. It is
// the sequencer's counterpart on a node that does not lead.
//
// A frame is bound to the term in which the leader was seen. When the leader changes, open
// calls are given up, and the own log tells what became of their records. When only the
// connection broke, the leader is asked which frames arrived.
type forwarder struct {
	life    *life
	replica *replica
	peers   *peers
	waiters *waiters
	signal  func()        // Wakes the sequencer.
	process uint64        // Random number of this process.
	slots   chan struct{} // One token for each frame on its way.
	number  atomic.Uint64 // Number of the last frame.

	committed func(leader string, term, index uint64) // Tells raft the leader's commit index.

	mu      sync.Mutex
	leader  raft.ServerID
	term    uint64
	context context.Context // Cancelled when the leader changes.
	cancel  context.CancelFunc
	open    map[uint64][]attempt // Frames without a reply, by number.
	broken  bool                 // The connection broke: ask what arrived before sending more.
	asking  bool
	lost    bool // The leader is no longer known, and no other one is yet.
}

func newForwarder(l *life, r *replica, p *peers, w *waiters, signal func()) *forwarder {
	f := &forwarder{
		life: l, replica: r, peers: p, waiters: w, signal: signal, process: randomSeq(),
		slots: make(chan struct{}, framesInFlight), open: make(map[uint64][]attempt),
	}
	f.context, f.cancel = context.WithCancel(context.Background())
	return f
}

// forwardWaiting sends waiting records to the leader, if that is another node. The sequencer's
// goroutine calls it.
func (f *forwarder) forwardWaiting() {
	leader, term := f.replica.remoteLeader()
	f.followLeader(leader, term)
	if leader == "" {
		return
	}
	if f.mendLink(leader, term) {
		return
	}
	for len(f.slots) < cap(f.slots) {
		if len(f.slots) > 0 && f.waiters.countQueued() < gatherFor {
			return // sendFrame signals when its frame ends, which leads back here.
		}
		attempts := f.waiters.takeAttempts(term, engine.EntryRecordsMax-1, engine.EntryMax-entryFrame-tickSizeMax, nil)
		if len(attempts) == 0 {
			return
		}
		f.slots <- struct{}{}
		number := f.number.Add(1)
		ctx := f.rememberFrame(number, attempts)
		f.life.running.Add(1)
		go f.sendFrame(ctx, leader, term, number, attempts)
	}
}

// followLeader gives up the calls to a former leader.
func (f *forwarder) followLeader(leader raft.ServerID, term uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := leader == f.leader && term == f.term
	if same && !f.lost || leader == "" && f.lost {
		return
	}
	f.lost = leader == ""
	if same {
		f.broken = f.broken || len(f.open) > 0 // The same leader is back: ask it what arrived.
		return
	}
	f.cancel()
	f.context, f.cancel = context.WithCancel(context.Background())
	if f.lost {
		return // The leader may come back in the same term.
	}
	f.leader, f.term, f.broken = leader, term, false
	clear(f.open)
}

// mendLink reports whether the connection to the leader is broken. If so, it starts asking what
// arrived, unless that is under way.
func (f *forwarder) mendLink(leader raft.ServerID, term uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.broken {
		return false
	}
	if !f.asking {
		f.asking = true
		f.life.running.Add(1)
		go f.askWhatArrived(f.context, leader, term)
	}
	return true
}

func (f *forwarder) rememberFrame(number uint64, attempts []attempt) context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[number] = attempts
	return f.context
}

// closeFrame removes a frame from the open ones. It returns false if the frame was given up
// because the leader changed.
func (f *forwarder) closeFrame(number uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.open[number]
	delete(f.open, number)
	return ok
}

// sendFrame sends one frame and handles its reply.
func (f *forwarder) sendFrame(ctx context.Context, leader raft.ServerID, term, number uint64, attempts []attempt) {
	defer f.life.running.Done()
	defer f.signal()
	defer func() { <-f.slots }()
	message := port.ForwardCall{
		Term: term, Number: number, Process: f.process,
		Count: len(attempts), Records: frameRecords(f.waiters.origin, attempts),
	}
	ctx, cancel := context.WithTimeout(ctx, forwardPatience)
	defer cancel()
	proposalsForwarded.Add(len(attempts))
	r, err := port.Ask(ctx, f.peers.linkTo(string(leader), linkForward), &message)
	switch {
	case err == nil && fate(r.Fate) == fateDone:
		f.closeFrame(number)
		f.waiters.takeReplied(r.Results)
		if n := len(r.Results); n > 0 && r.Results[n-1].Term == term {
			f.committed(string(leader), term, r.Results[n-1].Index)
		}
	case err == nil && fate(r.Fate) == fateNothing, errors.Is(err, port.ErrNotSent):
		f.closeFrame(number)
		f.waiters.giveBackAttempts(attempts)
		time.Sleep(retryPause)
	case err == nil:
		f.closeFrame(number) // The leader does not know the frame's fate: the own log will tell.
	default:
		f.mu.Lock()
		f.broken = f.broken || f.open[number] != nil
		f.mu.Unlock()
	}
}

func frameRecords(origin uint16, attempts []attempt) []byte {
	data := make([]byte, 0, attemptsSize(attempts))
	for i := range attempts {
		a := &attempts[i]
		data = wire.AppendRecord(data, wire.Record{
			Kind: a.kind, Version: wire.RecordVersion, Origin: origin, Seq: a.seq, Body: a.body,
		})
	}
	return data
}

// askWhatArrived repairs a broken connection within a term. The leader says which frames
// arrived and refuses the others from then on, so their records can be tried again at once. The
// frames that arrived are in the leader's log, and the own log brings their results.
func (f *forwarder) askWhatArrived(ctx context.Context, leader raft.ServerID, term uint64) {
	defer f.life.running.Done()
	ctx, cancel := context.WithTimeout(ctx, port.CallPatience)
	defer cancel()
	upTo := f.number.Load()
	message := port.GiveUpCall{Term: term, Number: upTo, Process: f.process}
	r, err := port.Ask(ctx, f.peers.linkTo(string(leader), linkForward), &message)
	lost := f.takeArrived(err == nil && ctx.Err() == nil, upTo, r.Arrived)
	for _, attempts := range lost {
		f.waiters.giveBackAttempts(attempts)
	}
	if err != nil {
		time.Sleep(port.RedialPause)
	}
	f.signal()
}

// takeArrived takes the leader's answer about which frames arrived, and returns the attempts of
// those that did not.
func (f *forwarder) takeArrived(ok bool, upTo uint64, arrived []uint64) (lost [][]attempt) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asking = false
	if !ok {
		return nil
	}
	f.broken = false
	for number, attempts := range f.open {
		if number > upTo {
			continue
		}
		if !slices.Contains(arrived, number) {
			lost = append(lost, attempts)
		}
		delete(f.open, number)
	}
	return lost
}

// arrivals records, on the leader, which frames of each process of each peer arrived in the term
// that it leads.
//
// A frame can arrive late. Its sender may have given it up and sent the records under another
// number, or may have died, and a new process of that node sends frames of its own. So every
// process has its own record, which says nothing about other processes. Records are dropped with
// their term and never before it.
type arrivals struct {
	sequencer *sequencer

	mu    sync.Mutex
	term  uint64
	peers map[string][]*arrival // Most recently used last.
}

// arrival is the record of one process of a peer.
type arrival struct {
	process uint64
	floor   uint64   // Numbers up to it are refused from now on.
	arrived []uint64 // The newest numbers that arrived.
}

const (
	// arrivalsKept is more than the frames that a peer can have on their way.
	arrivalsKept = 16

	// processesKept bounds the records of a peer. A node cannot start so many processes while
	// bytes of the first are still on their way, which is a quarter of an hour.
	processesKept = 1024
)

// arrivalOf returns the record of a process of a peer, or nil if the term is over.
func (a *arrivals) arrivalOf(peer string, term, process uint64) *arrival {
	if term < a.term {
		return nil
	}
	if term > a.term || a.peers == nil {
		a.term, a.peers = term, make(map[string][]*arrival)
	}
	records := a.peers[peer]
	at := slices.IndexFunc(records, func(got *arrival) bool { return got.process == process })
	got := &arrival{process: process}
	switch {
	case at >= 0:
		got = records[at]
		records = slices.Delete(records, at, at+1)
	case len(records) >= processesKept:
		records = slices.Delete(records, 0, 1)
	}
	a.peers[peer] = append(records, got)
	return got
}

// acceptFrame gives a frame to take, and returns ok if that takes it. Only then the frame counts
// as arrived: of one that the sequencer had no room for, its sender must hear that nothing
// happened, also when it asks because the answer was lost. It returns fateNothing as well for a
// frame whose term is over or whose sender gave it up, and fateUnknown for one that arrived
// before.
func (a *arrivals) acceptFrame(peer string, m *port.ForwardCall, take func() bool) (what fate, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.arrivalOf(peer, m.Term, m.Process)
	switch {
	case got == nil:
		return fateNothing, false
	case slices.Contains(got.arrived, m.Number):
		return fateUnknown, false
	case m.Number <= got.floor, !take():
		return fateNothing, false
	}
	if len(got.arrived) >= arrivalsKept {
		got.arrived = slices.Delete(got.arrived, 0, 1)
	}
	got.arrived = append(got.arrived, m.Number)
	return fateDone, true
}

// giveUp returns the numbers that arrived, and refuses all others up to the call's number from
// now on. It is not ok if the term is over.
func (a *arrivals) giveUp(peer string, m *port.GiveUpCall) (arrived []uint64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.arrivalOf(peer, m.Term, m.Process)
	if got == nil {
		return nil, false
	}
	got.floor = max(got.floor, m.Number)
	return slices.Clone(got.arrived), true
}

// takeForwarded hands a peer's frame to the sequencer.
func (a *arrivals) takeForwarded(peer string, m *port.ForwardCall, reply func(*port.ForwardReply, error)) {
	if err := checkFrame(m); err != nil {
		reply(nil, err)
		return
	}
	f := &peerBatch{term: m.Term, count: m.Count, records: m.Records, reply: func(results []wire.Result, what fate) {
		// Replies get a goroutine of their own: a peer that does not read must not hold up the
		// leader. A peer has at most framesInFlight of them.
		go reply(&port.ForwardReply{Fate: uint8(what), Results: results}, nil)
	}}
	what := fateNothing
	if m.Term == a.sequencer.replica.opened.Load() {
		var ok bool
		if what, ok = a.acceptFrame(peer, m, func() bool { return a.sequencer.queueBatch(f) }); ok {
			return
		}
	}
	reply(&port.ForwardReply{Fate: uint8(what)}, nil)
}

var errBadFrame = errors.New("cluster: frame of records is malformed")

// checkFrame checks a frame's bounds, and walks it as Apply will walk the entry it becomes part
// of: a peer's mistake must not become a log entry that stops every node.
func checkFrame(m *port.ForwardCall) error {
	if m.Count < 1 || m.Count > engine.EntryRecordsMax-1 || len(m.Records) > engine.EntryMax-entryFrame-tickSizeMax {
		return errBadFrame
	}
	batch, err := wire.Framed(m.Records, m.Count)
	if err != nil {
		return errBadFrame
	}
	for record, ok := batch.Next(); ok; record, ok = batch.Next() {
		if record.Version != wire.RecordVersion || record.Kind < wire.KindScreen || record.Kind > wire.KindNewest {
			return errBadFrame
		}
	}
	return nil
}

// takeGiveUp answers which frames of a peer arrived, and refuses the others.
func (a *arrivals) takeGiveUp(peer string, m *port.GiveUpCall, reply func(*port.GiveUpReply, error)) {
	if m.Term != a.sequencer.replica.opened.Load() {
		reply(nil, port.ErrNotLeader)
		return
	}
	arrived, ok := a.giveUp(peer, m)
	if !ok {
		reply(nil, port.ErrNotLeader)
		return
	}
	reply(&port.GiveUpReply{Arrived: arrived}, nil)
}
