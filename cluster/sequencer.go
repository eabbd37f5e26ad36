package cluster

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/recorder"
	"railguard/engine"
	"railguard/fsm/wire"
)

const (
	entriesInFlight = 3 // Two or three are best: more only lengthen the queue in front of the disk.

	// gatherFor is how many records an entry must have to leave while another one is on its
	// way. An entry costs as much as ten records, so fewer records wait until that one ends,
	// and by then more have come.
	gatherFor       = 64
	enqueuePatience = time.Second
	tickEvery       = time.Second
	retryPause      = 5 * time.Millisecond // Pause after an attempt that raft turned away.
	entryFrame      = 24                   // Header and checksum of an entry.
	peerFramesMax   = 64                   // Frames of all peers that may wait here.
)

// sequencer turns records into entries while this node leads. One goroutine builds entries. An
// entry takes all waiting records when the entry before it has ended, or as soon as there are
// enough for one. There is no timer, so the slower the disk, the larger the batches.
//
// A term is opened by a Tick of its own. Nothing else is proposed before that is applied. Then
// everything of older terms has been applied here, and followers see an entry of the new term,
// which releases what was bound to the old one.
type sequencer struct {
	life      *life
	state     *state
	replica   *replica
	clocks    *clocks
	lineage   *lineage
	waiters   *waiters
	forwarder *forwarder // It sends records while another node leads.
	digests   *digests
	founding  func() wire.Genesis // nil: this node must not make a genesis.
	pingNow   chan<- struct{}
	clock     stamper

	said        chan saying // What persons say of the time while a leap waits.
	ticked      uint64      // The term in which a tick without a leap was applied.
	met         bool        // This process has asked the other voters once, or was a member of a living group.
	behindSince engine.Time // Since when log time has been behind the clocks, on the monotonic clock; 0: it is not.

	wake  chan struct{}
	slots chan struct{} // One token for each entry in flight.

	tickDue bool

	peersFirst bool
	stuck      atomic.Int64 // Since when raft has said "transfer in progress", on the monotonic clock; 0: it does not say so.

	mu      sync.Mutex
	batches []*peerBatch // Frames of peers, in order of arrival.

	attempts []attempt // Reused by buildEntry.
}

// peerBatch is a batch of records that a peer forwards. The records go into one entry, and their
// results go back together.
type peerBatch struct {
	term    uint64 // The term that the peer saw; another term is refused.
	count   int
	records []byte // Framed as in an entry.
	reply   func(results []wire.Result, fate fate)
}

// fate says what became of a batch that has no results.
type fate uint8

const (
	fateDone    fate = iota // The numbers are in messages between nodes and never change.
	fateNothing             // Certainly nothing happened.
	fateUnknown
)

// entry is one log entry in the making.
type entry struct {
	term    uint64
	data    []byte
	count   int
	own     []attempt
	batches []*peerBatch
	first   int // Position of the first record of own.
	sent    time.Time
}

func (s *sequencer) wakeSequencer() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// sequenceRecords is the sequencer's goroutine.
func (s *sequencer) sequenceRecords() {
	pulse := time.NewTicker(tickEvery)
	defer pulse.Stop()
	for {
		select {
		case <-s.life.stop:
			s.dropBatches()
			return
		case <-pulse.C:
			s.tickDue = true
		case <-s.wake:
		case <-s.waiters.wake:
		}
		s.proposeWaiting()
	}
}

// proposeWaiting proposes the waiting records if this node leads, as long as fewer entries are
// in flight than allowed.
func (s *sequencer) proposeWaiting() {
	if !s.replica.isLeader() {
		s.replica.opened.Store(0)
		s.replica.settled.Store(0)
		s.noteLeap(nil)
		s.dropBatches()
		s.forwarder.forwardWaiting()
		return
	}
	term := s.replica.raft.CurrentTerm()
	if term != s.replica.opened.Load() && !s.openTerm(term) {
		pause := retryPause
		if s.replica.leap.Load() != nil {
			pause = leapRetry
		}
		time.AfterFunc(pause, s.wakeSequencer)
		return
	}
	if s.tickDue {
		s.catchUp(term)
	}
	for s.hasGathered() { // finishEntry signals, which leads back here.
		e := s.buildEntry(term)
		if e == nil {
			return
		}
		s.submitEntry(e)
	}
}

// hasGathered reports whether the waiting records, if there are any, may be proposed now.
func (s *sequencer) hasGathered() bool {
	inFlight := len(s.slots)
	return inFlight == 0 || inFlight < cap(s.slots) && s.waiters.countQueued()+s.framedRecords() >= gatherFor
}

// openTerm begins a term of leadership.
func (s *sequencer) openTerm(term uint64) bool {
	s.replica.opened.Store(0)
	if s.ticked != term {
		s.replica.settled.Store(0)
	}
	s.dropBatches()
	if !s.met && !s.lineage.lives() { // One of them may be of a recovery without this node.
		s.clocks.peers.pingVoters()
	}
	s.met = true
	if !s.lineage.maySpeak() || !s.clocks.clocksKnown() {
		return false
	}
	if !s.beginTime(term) {
		return false
	}
	if !s.proposeGenesis(term) || !s.recordRecovery(term) {
		return false
	}
	s.clock.restartStamps(max(s.clock.last, s.state.rawLogTime()), s.clocks.credibleTarget(0))
	s.behindSince = 0
	s.replica.settled.Store(term)
	s.replica.opened.Store(term)
	s.tickDue = false
	termsLed.Inc()
	s.life.log.Info("leading", "term", term)
	s.life.record.Note(recorder.Entry{Kind: recorder.Leading, Term: term, Index: s.replica.raft.CommitIndex()})
	select { // The peers are pinged now, because their answers from before this term may be out of date.
	case s.pingNow <- struct{}{}:
	default:
	}
	return true
}

// proposeGenesis proposes the first record of a cluster if there is none. Everything of older
// terms has been applied here, so it is certainly missing.
func (s *sequencer) proposeGenesis(term uint64) bool {
	if s.state.Settings().Genesis != nil || s.founding == nil {
		return true
	}
	record := s.founding()
	if !s.proposeAlone(term, wire.KindGenesis, wire.Encode(&record)) {
		return false
	}
	if s.state.Settings().Genesis == nil {
		s.life.endProcess("the genesis of this cluster was refused by the state machine: it is not complete")
		return false
	}
	return true
}

// proposeAlone puts one record of this node into an entry, and waits until it is applied here.
func (s *sequencer) proposeAlone(term uint64, kind wire.Kind, body []byte) bool {
	_, done := s.proposeOne(term, kind, body)
	return done
}

// proposeOne is proposeAlone and also returns the record's result.
func (s *sequencer) proposeOne(term uint64, kind wire.Kind, body []byte) (wire.Result, bool) {
	e := s.beginEntry(term, len(body)+recordFrame)
	e.addRecord(wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: s.waiters.origin, Body: body})
	future := s.replica.raft.Apply(wire.Seal(e.data, e.count), enqueuePatience)
	done := make(chan error, 1)
	go func() { done <- future.Error() }()
	select {
	case err := <-done:
		s.noteStuck(err) // Without this, a leader that is elected again in this state would never open its term.
		results, ok := future.Response().([]wire.Result)
		if err != nil || !ok || len(results) != 1 || results[0].Code == wire.Fenced {
			return wire.Result{}, false
		}
		return results[0], true
	case <-s.life.stop:
		return wire.Result{}, false
	}
}

func (s *sequencer) beginEntry(term uint64, size int) *entry {
	format := max(s.state.Settings().Format, engine.Format1)
	header := wire.Header{Format: format, Term: term, Time: s.clock.nextStamp(s.clocks.credibleTarget(s.clock.evenStamp()))}
	return &entry{term: term, data: wire.AppendHeader(make([]byte, 0, size+entryFrame), header)}
}

func (e *entry) addRecord(r wire.Record) {
	e.data = wire.AppendRecord(e.data, r)
	e.count++
}

// buildEntry makes the next entry of waiting records, or returns nil if none waits. Frames of
// peers go first in every other entry, and own records in the others, so that neither starves.
func (s *sequencer) buildEntry(term uint64) *entry {
	count, size := engine.EntryRecordsMax, engine.EntryMax-entryFrame
	if s.tickDue {
		count, size = count-1, size-tickSizeMax
	}
	var batches []*peerBatch
	s.attempts = s.attempts[:0]
	s.peersFirst = !s.peersFirst
	if s.peersFirst {
		batches, count, size = s.takeBatches(term, count, size)
		s.attempts = s.waiters.takeAttempts(term, count, size, s.attempts)
	} else {
		s.attempts = s.waiters.takeAttempts(term, count, size, s.attempts)
		batches, _, _ = s.takeBatches(term, count-len(s.attempts), size-attemptsSize(s.attempts))
	}
	if len(batches) == 0 && len(s.attempts) == 0 && !s.tickDue {
		return nil
	}
	return s.assembleEntry(term, batches)
}

func (s *sequencer) assembleEntry(term uint64, batches []*peerBatch) *entry {
	size := attemptsSize(s.attempts) + tickSizeMax
	for _, f := range batches {
		size += len(f.records)
	}
	e := s.beginEntry(term, size)
	if s.tickDue {
		s.tickDue = false
		e.addRecord(wire.Record{Kind: wire.KindTick, Version: wire.RecordVersion, Origin: s.waiters.origin, Body: s.tickBody()})
	}
	for _, f := range batches {
		e.data = append(e.data, f.records...)
		e.count += f.count
	}
	e.first, e.batches = e.count, batches
	e.own = append([]attempt(nil), s.attempts...)
	for i := range e.own {
		a := &e.own[i]
		e.addRecord(wire.Record{Kind: a.kind, Version: wire.RecordVersion, Origin: s.waiters.origin, Seq: a.seq, Body: a.body})
	}
	e.data = wire.Seal(e.data, e.count)
	return e
}

const tickSizeMax = 96

func (s *sequencer) tickBody() []byte {
	claim := s.digests.nextClaim()
	if claim == nil {
		return nil
	}
	return wire.Encode(claim)
}

func attemptsSize(attempts []attempt) (size int) {
	for i := range attempts {
		size += attempts[i].sizeBytes()
	}
	return size
}

// submitEntry hands an entry to raft. It blocks while raft's main loop writes the entry before;
// meanwhile the next batch gathers.
func (s *sequencer) submitEntry(e *entry) {
	s.slots <- struct{}{}
	entriesProposed.Inc()
	recordsProposed.Add(e.count)
	e.sent = time.Now()
	future := s.replica.raft.Apply(e.data, enqueuePatience)
	s.life.running.Add(1)
	go s.finishEntry(e, future)
}

// finishEntry waits for an entry's fate. The adapter has answered the own records that have
// results, from the own log, so only errors matter here.
func (s *sequencer) finishEntry(e *entry, future raft.ApplyFuture) {
	defer s.life.running.Done()
	err := future.Error()
	var results []wire.Result
	if err == nil {
		results, _ = future.Response().([]wire.Result)
		commitSeconds.Observe(time.Since(e.sent))
	}
	switch what := fateOf(err); {
	case what == fateDone && len(results) == e.count:
		s.stuck.Store(0)
		e.replyFrames(results)
	case what == fateNothing:
		e.dropBatches(fateNothing)
		s.waiters.giveBackAttempts(e.own)
		s.noteStuck(err)
		time.Sleep(retryPause) // The pause keeps the slot, since raft turns entries away at once and for some time.
	default:
		s.life.log.Warn("outcome of an entry is open until the log tells", "term", e.term, "records", e.count, "error", err)
		e.dropBatches(fateUnknown)
	}
	<-s.slots
	s.wakeSequencer()
}

// noteStuck ends a leader whose raft says "leadership transfer in progress" for good (guard G5,
// hashicorp/raft issue 696).
func (s *sequencer) noteStuck(err error) {
	if !errors.Is(err, raft.ErrLeadershipTransferInProgress) || s.replica.transferring.Load() {
		s.stuck.Store(0)
		return
	}
	now := int64(s.clock.clock.Monotonic()) // This clock does not jump, so a jump of the wall clock ends nobody.
	if s.stuck.CompareAndSwap(0, now) {
		return
	}
	if time.Duration(now-s.stuck.Load()) > transferPatience {
		s.life.endProcess("leadership transfer does not end: restart this node")
	}
}

// fateOf returns the fate that one of raft's errors means (decision 23, no. 3). Only errors
// that certainly come before the append mean fateNothing; any other error is unknown.
func fateOf(err error) fate {
	switch {
	case err == nil:
		return fateDone
	case errors.Is(err, raft.ErrNotLeader),
		errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fateNothing
	}
	return fateUnknown
}

func (e *entry) replyFrames(results []wire.Result) {
	at := e.first
	for i := len(e.batches) - 1; i >= 0; i-- {
		f := e.batches[i]
		f.reply(results[at-f.count:at], fateDone)
		at -= f.count
	}
}

func (e *entry) dropBatches(what fate) {
	for _, f := range e.batches {
		f.reply(nil, what)
	}
}

// queueBatch queues a batch of a peer. It returns false if it refuses it.
func (s *sequencer) queueBatch(f *peerBatch) bool {
	if f.term != s.replica.opened.Load() {
		return false
	}
	s.mu.Lock()
	full := len(s.batches) >= peerFramesMax
	if !full {
		s.batches = append(s.batches, f)
	}
	s.mu.Unlock()
	s.wakeSequencer()
	return !full
}

// framedRecords returns how many records wait in batches of peers.
func (s *sequencer) framedRecords() (count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.batches {
		count += f.count
	}
	return count
}

// takeBatches takes whole batches of peers within the bounds, and returns what remains of the
// bounds. It refuses batches of another term: nothing of them happened.
func (s *sequencer) takeBatches(term uint64, count, size int) ([]*peerBatch, int, int) {
	s.mu.Lock()
	var taken, stale []*peerBatch
	at := 0
	for ; at < len(s.batches); at++ {
		f := s.batches[at]
		if f.term != term {
			stale = append(stale, f)
			continue
		}
		if f.count > count || len(f.records) > size {
			break
		}
		taken = append(taken, f)
		count -= f.count
		size -= len(f.records)
	}
	s.batches = append(s.batches[:0], s.batches[at:]...)
	s.mu.Unlock()
	for _, f := range stale {
		f.reply(nil, fateNothing)
	}
	return taken, count, size
}

// dropBatches refuses all waiting batches.
func (s *sequencer) dropBatches() {
	s.mu.Lock()
	batches := s.batches
	s.batches = nil
	s.mu.Unlock()
	for _, f := range batches {
		f.reply(nil, fateNothing)
	}
}
