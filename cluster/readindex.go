package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
	"railguard/fsm/wire"
)

// readRounds gathers read-index requests: one round of asking a quorum serves all requests that
// came before it began.
//
// A round reads the commit index and then asks the voters for their terms. If a quorum answers
// with terms no higher than the leader's own, no node with a higher term had been elected when
// they answered: such an election needs a quorum too, the two quorums share a voter, and that
// voter would have answered with the higher term. So the commit index was the group's newest
// when it was read. (raft's own VerifyLeader counts answers to heartbeats sent before it was
// called, and so does not prove this.)
type readRounds struct {
	replica  *replica
	peers    *peers
	progress *progress
	patience time.Duration   // Time limit of one call.
	stop     <-chan struct{} // Closed when the node ends.

	committed func(leader string, term, index uint64) // Tells raft the leader's commit index.
	hastening atomic.Bool
	newest    atomic.Int64 // When the newest call began whose index was confirmed and applied here: time since opened.
	opened    time.Time

	mu   sync.Mutex
	next *readRound // Gathers requests of all nodes at the leader; nil when nobody waits.
	busy bool

	sharing  sync.Mutex
	gathered *readRound // Gathers this node's own callers; nil when nobody waits.
	asking   bool
}

type readRound struct {
	done  chan struct{}
	term  uint64
	index uint64
	err   error
}

const (
	readRoundPatience = time.Second

	// readGather is the shortest time between two questions of one node to the leader: callers
	// that come meanwhile share the next one.
	readGather = 3 * time.Millisecond
	// readOverlap is how long callers wait for a question that is under way before theirs is
	// asked beside it: the leader that it went to may be gone.
	readOverlap = 50 * time.Millisecond
)

// confirmedCommit is the leader's part of awaitRound. It returns the index, and the term in
// which this node, as leader, knew it to be committed.
func (r *readRounds) confirmedCommit(ctx context.Context, term uint64) (index, of uint64, err error) {
	if r.replica.onlyVoter() {
		return r.replica.raft.CommitIndex(), 0, nil
	}
	r.mu.Lock()
	if r.next == nil {
		r.next = &readRound{done: make(chan struct{})}
	}
	round := r.next
	if !r.busy {
		r.busy = true
		go r.runReadRounds(term)
	}
	r.mu.Unlock()
	select {
	case <-round.done:
		return round.index, round.term, round.err
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
}

// runReadRounds runs rounds while someone waits.
func (r *readRounds) runReadRounds(term uint64) {
	for {
		r.mu.Lock()
		round := r.next
		r.next = nil
		if round == nil {
			r.busy = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		round.term = term
		round.index, round.err = r.readRoundOnce(term)
		close(round.done)
		if settled := r.replica.settled.Load(); settled != 0 {
			term = settled
		}
	}
}

func (r *readRounds) readRoundOnce(term uint64) (uint64, error) {
	if r.replica.settled.Load() != term {
		return 0, wire.ErrNoLeader
	}
	index := r.replica.raft.CommitIndex()
	ctx, cancel := context.WithTimeout(context.Background(), readRoundPatience)
	defer cancel()
	var asked []string
	for _, server := range r.replica.listServers() {
		if server.Suffrage == raft.Voter && server.ID != r.replica.self {
			asked = append(asked, string(server.ID))
		}
	}
	terms := make(chan uint64, len(asked))
	for _, id := range asked {
		go func() {
			got, err := port.Ask(ctx, r.peers.linkTo(id, linkConfirm), port.TermCall{})
			if err != nil {
				terms <- 0
				return
			}
			terms <- got.Term
		}()
	}
	quorum := (len(asked)+1)/2 + 1
	agreed := 1
	for range asked {
		if agreed >= quorum {
			break
		}
		switch got := <-terms; {
		case got > term:
			return 0, wire.ErrNoLeader
		case got > 0:
			agreed++
		}
	}
	if agreed < quorum {
		return 0, wire.ErrNoQuorum
	}
	if r.replica.raft.CurrentTerm() != term || !r.replica.isLeader() {
		return 0, wire.ErrNoLeader // This node's own vote counted for a term that is over.
	}
	return index, nil
}

// askReadIndexHere answers a peer. It fails if this node does not lead.
func (r *readRounds) askReadIndexHere(ctx context.Context) (index, of uint64, err error) {
	term := r.replica.settled.Load()
	if term == 0 || !r.replica.isLeader() {
		return 0, 0, port.ErrNotLeader
	}
	return r.confirmedCommit(ctx, term)
}

// awaitRound returns the leader's commit index, confirmed by a quorum after it was read, and
// waits until it is applied here. A read after it sees everything that was acknowledged before
// the call.
func (r *readRounds) awaitRound(ctx context.Context) (uint64, error) {
	ctx, cancel := withinLimit(ctx, r.patience)
	defer cancel()
	began := time.Now()
	index, err := r.shareReadIndex(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.progress.awaitIndex(ctx, index); err != nil {
		return 0, fmt.Errorf("read index %d: %w", index, err)
	}
	r.noteConfirmed(began)
	return index, nil
}

// noteConfirmed notes that this node has applied all that was committed at that time.
func (r *readRounds) noteConfirmed(at time.Time) {
	since := int64(at.Sub(r.opened))
	for was := r.newest.Load(); since > was && !r.newest.CompareAndSwap(was, since); was = r.newest.Load() {
	}
}

// sinceConfirmed returns for how long nobody has confirmed what this node has applied.
func (r *readRounds) sinceConfirmed() time.Duration {
	return time.Since(r.opened) - time.Duration(r.newest.Load())
}

// shareReadIndex is askReadIndex for many callers of this node: one question to the leader
// serves all that came before it was asked.
func (r *readRounds) shareReadIndex(ctx context.Context) (uint64, error) {
	if r.replica.settled.Load() != 0 && r.replica.isLeader() && r.replica.onlyVoter() {
		return r.replica.raft.CommitIndex(), nil // There is nobody to ask.
	}
	r.sharing.Lock()
	if r.gathered == nil {
		r.gathered = &readRound{done: make(chan struct{})}
	}
	round := r.gathered
	if !r.asking {
		r.asking = true
		go r.askForCallers()
	}
	r.sharing.Unlock()
	select {
	case <-round.done:
		return round.index, round.err
	case <-ctx.Done():
		return 0, r.translateUnled(ctx.Err())
	case <-r.stop:
		return 0, wire.ErrShuttingDown
	}
}

// askForCallers asks the leader while callers wait, once for all that have gathered.
func (r *readRounds) askForCallers() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		r.sharing.Lock()
		round := r.gathered
		r.gathered, r.asking = nil, round != nil
		r.sharing.Unlock()
		if round == nil {
			return
		}
		began := time.Now()
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), r.patience)
			defer cancel()
			round.index, round.err = r.askReadIndex(ctx)
			close(round.done)
		}()
		pause.Reset(readOverlap)
		select {
		case <-round.done:
		case <-pause.C:
		}
		if rest := readGather - time.Since(began); rest > 0 {
			time.Sleep(rest)
		}
	}
}

// askReadIndex asks the leader, and again while leadership moves.
func (r *readRounds) askReadIndex(ctx context.Context) (uint64, error) {
	readsAsked.Inc()
	for {
		index, err := r.askReadIndexOnce(ctx)
		if err == nil {
			return index, nil
		}
		if gone := r.peers.leaderlessError(); gone != nil {
			return 0, gone
		}
		timer := time.NewTimer(4 * retryPause)
		select {
		case <-timer.C:
		case <-r.stop:
			timer.Stop()
			return 0, wire.ErrShuttingDown
		case <-ctx.Done():
			timer.Stop()
			return 0, r.translateUnled(err)
		}
	}
}

// translateUnled replaces an error of the port, which means nothing to callers, with the one
// that says that no leader answered.
func (r *readRounds) translateUnled(err error) error {
	if errors.Is(err, wire.ErrNoLeader) || errors.Is(err, wire.ErrNoQuorum) || errors.Is(err, wire.ErrShuttingDown) {
		return err
	}
	return fmt.Errorf("%w: %w", r.peers.noLeaderError(), err)
}

func (r *readRounds) askReadIndexOnce(ctx context.Context) (uint64, error) {
	leader, _ := r.replica.remoteLeader()
	if leader == "" {
		index, _, err := r.askReadIndexHere(ctx)
		if err == port.ErrNotLeader {
			err = wire.ErrNoLeader
		}
		return index, err
	}
	ctx, cancel := context.WithTimeout(ctx, readRoundPatience)
	defer cancel()
	got, err := port.Ask(ctx, r.peers.linkTo(string(leader), linkConfirm), port.ReadIndexCall{})
	if err != nil {
		return 0, err
	}
	if got.Term > 0 {
		r.committed(string(leader), got.Term, got.Index)
	}
	return got.Index, nil
}

// hastenRound asks the leader for the commit index on a goroutine of its own, unless that is
// under way. The answer makes this node apply the entries that it already has.
func (r *readRounds) hastenRound() {
	if !r.hastening.CompareAndSwap(false, true) {
		return
	}
	defer r.hastening.Store(false)
	if leader, _ := r.replica.remoteLeader(); leader == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), readRoundPatience)
	defer cancel()
	_, _ = r.askReadIndexOnce(ctx) // Without an answer the next heartbeat tells it.
}

// contactLeader asks the leader for a sign of life, by a real call.
func (r *readRounds) contactLeader(ctx context.Context) error {
	leader, _ := r.replica.remoteLeader()
	if leader == "" {
		if r.replica.settled.Load() == 0 {
			return wire.ErrNoLeader
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return r.peers.pingNode(ctx, string(leader))
}
