package cluster

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"railguard/engine"
	"railguard/fsm"
	"railguard/ofac"
)

// published is what edges read without a lock: immutable values behind atomic
// pointers, written by the apply goroutine alone; the list keeper brings a list that
// was not compiled in time. A restore builds a whole new
// one and swaps it in, so that no reader sees half of it.
type published struct {
	agents pages[engine.AgentProfile]
	users  pages[engine.UserProfile]
	fleets pages[engine.FleetProfile]

	listing  sync.Mutex // Of the next two, when they are written.
	settings atomic.Pointer[fsm.Settings]
	list     atomic.Pointer[ofac.Index] // May be behind the settings, while its tables are being made.

	dispositions sync.Map // leaf uint64 -> leaf uint64
	comments     sync.Map // leaf uint64 -> []uint64, replaced whole
	proposals    sync.Map // leaf uint64 -> leaf uint64, open ones alone
	outcomes     sync.Map // leaf uint64 -> [2]uint64: the ending, a late settle or 0
	oldest       atomic.Uint64
}

func newPublished() *published {
	p := &published{
		agents: newPages[engine.AgentProfile](engine.AgentsMax),
		users:  newPages[engine.UserProfile](math.MaxUint32), // Slots of erased users are not given out again.
		fleets: newPages[engine.FleetProfile](engine.FleetsMax),
	}
	p.settings.Store(&fsm.Settings{Format: engine.Format1})
	return p
}

// takeEffects brings one entry's effects to the readers. The list goes before the
// settings that name it, so that an edge never judges with an older list than
// the basis it claims.
func (p *published) takeEffects(out *fsm.Effects, opened *ofac.Index) {
	for _, profile := range out.Agents {
		p.agents.putProfile(uint32(profile.Slot), profile)
	}
	for _, profile := range out.Users {
		p.users.putProfile(uint32(profile.Slot), profile)
	}
	for _, slot := range out.UsersGone {
		p.users.putProfile(uint32(slot), nil)
	}
	for _, profile := range out.Fleets {
		p.fleets.putProfile(uint32(profile.Slot), profile)
	}
	for _, link := range out.Dispositions {
		p.dispositions.Store(link.Leaf, link.Later)
	}
	for _, link := range out.Comments {
		p.linkComment(link)
	}
	for _, link := range out.Proposals {
		if link.Later == 0 {
			p.proposals.Delete(link.Leaf)
		} else {
			p.proposals.Store(link.Leaf, link.Later)
		}
	}
	for _, link := range out.Outcomes {
		p.linkOutcome(link)
	}
	if out.Settings != nil {
		p.listing.Lock()
		if opened != nil {
			p.list.Store(opened)
		}
		p.settings.Store(out.Settings)
		p.listing.Unlock()
	}
	p.oldest.Store(out.Oldest)
}

// bringIndex publishes a list, if the settings name it and its version of the matcher.
func (p *published) bringIndex(index *ofac.Index) {
	p.listing.Lock()
	defer p.listing.Unlock()
	settings := p.settings.Load()
	if settings.List != nil && settings.List.Digest == index.Digest() && settings.Matcher == index.Matcher() {
		p.list.Store(index)
	}
}

// linkOutcome links a payment's ending, the first of its leaves, or its late settle.
func (p *published) linkOutcome(link fsm.LeafLink) {
	leaves := [2]uint64{link.Later}
	if known, ok := p.outcomes.Load(link.Leaf); ok && known.([2]uint64)[0] < link.Later {
		leaves = [2]uint64{known.([2]uint64)[0], link.Later}
	}
	p.outcomes.Store(link.Leaf, leaves)
}

func (p *published) linkComment(link fsm.LeafLink) {
	var known []uint64
	if value, ok := p.comments.Load(link.Leaf); ok {
		known = value.([]uint64)
	}
	if len(known) >= engine.CommentsKept {
		known = known[1:]
	}
	p.comments.Store(link.Leaf, append(known[:len(known):len(known)], link.Later))
}

// forgetOutcomes drops links of leaves that left the retention. It runs beside the
// writer; a link below oldest is never written again.
func (p *published) forgetOutcomes() {
	oldest := p.oldest.Load()
	for _, links := range []*sync.Map{&p.dispositions, &p.comments, &p.outcomes} {
		links.Range(func(key, _ any) bool {
			if key.(uint64) < oldest {
				links.Delete(key)
			}
			return true
		})
	}
}

// state is what readers see of what is applied here: the published values of now, log
// time, how far the log is applied, and frozen views.
type state struct {
	published     atomic.Pointer[published]
	clock         Clock
	statuses      *statusKeeper
	logTime       atomic.Pointer[instant]
	commands      atomic.Uint64 // Index of the last applied entry of our own kind.
	progress      progress
	views         viewCache
	referenceUsed func(engine.ReferenceKey) (uint64, bool) // Asks the state between two entries.
	hasten        func()                                   // Asks the leader what is committed; nil: nobody is asked.
	displaced     atomic.Int64                             // Log time at which R25 last forgot a pair that still counted; 0: never here.
}

func newState(clock Clock, freeze func() *fsm.View) *state {
	s := &state{clock: clock, views: viewCache{gate: newGate(), freeze: freeze}}
	s.published.Store(newPublished())
	return s
}

// instant is log time after an entry, and when this node applied it.
type instant struct {
	time engine.Time
	at   engine.Time // Monotonic.
	live bool        // The entry was new: the newest committed, of the term of now.
}

// logTimeAhead is how far published log time may run ahead of the last entry.
const logTimeAhead = 2 * engine.Second

// Settings returns everything edges need besides profiles; never nil.
func (s *state) Settings() *fsm.Settings { return s.published.Load().settings.Load() }

// List returns the active list, nil when none is open. It may be another one than the
// settings name for as long as the tables of that one are made here.
func (s *state) List() *ofac.Index { return s.published.Load().list.Load() }

// Agent returns an agent's profile, nil when there is none.
func (s *state) Agent(slot engine.AgentSlot) *engine.AgentProfile {
	return s.published.Load().agents.profileAt(uint32(slot))
}

// User returns a user's profile, nil when unknown or erased.
func (s *state) User(slot engine.UserSlot) *engine.UserProfile {
	return s.published.Load().users.profileAt(uint32(slot))
}

// Fleet returns a fleet's profile, nil when there is none.
func (s *state) Fleet(slot engine.FleetSlot) *engine.FleetProfile {
	return s.published.Load().fleets.profileAt(uint32(slot))
}

// Disposition returns the leaf of a review's disposition.
func (s *state) Disposition(leaf uint64) (uint64, bool) {
	value, ok := s.published.Load().dispositions.Load(leaf)
	if !ok {
		return 0, false
	}
	return value.(uint64), true
}

// Proposal returns the leaf of the open proposal on a review.
func (s *state) Proposal(leaf uint64) (uint64, bool) {
	value, ok := s.published.Load().proposals.Load(leaf)
	if !ok {
		return 0, false
	}
	return value.(uint64), true
}

// Outcomes returns the leaves that tell how a payment ended: none, its ending, or that
// and its late settle.
func (s *state) Outcomes(leaf uint64) []uint64 {
	value, ok := s.published.Load().outcomes.Load(leaf)
	if !ok {
		return nil
	}
	leaves := value.([2]uint64)
	if leaves[1] == 0 {
		return leaves[:1]
	}
	return leaves[:]
}

// ReferenceUsed returns the leaf of the record that uses a payment reference, as of what
// is applied here.
func (s *state) ReferenceUsed(key engine.ReferenceKey) (uint64, bool) { return s.referenceUsed(key) }

// Comments returns the leaves of a review's comments, oldest first.
func (s *state) Comments(leaf uint64) []uint64 {
	value, ok := s.published.Load().comments.Load(leaf)
	if !ok {
		return nil
	}
	return value.([]uint64)
}

// LogTime is log time as of now: that of the last entry, moved on by this node's
// clock, by at most 2 s.
func (s *state) LogTime() engine.Time {
	last := s.logTime.Load()
	if last == nil {
		return 0
	}
	passed := s.clock.Monotonic() - last.at
	return last.time + min(max(passed, 0), logTimeAhead)
}

// rawLogTime is applied log time without the test clock's offset: what stamps are
// compared with.
func (s *state) rawLogTime() engine.Time {
	last := s.logTime.Load()
	if last == nil {
		return 0
	}
	return last.time - s.Settings().ClockOffset
}

// Applied returns the applied log index.
func (s *state) Applied() uint64 { return s.progress.noteReached() }

// hastenAfter is how long who waits for an index waits for it to come by itself.
const hastenAfter = 3 * time.Millisecond

// WaitApplied waits until index is applied here. A follower that has it in its log, and
// has not heard that it is committed, asks.
func (s *state) WaitApplied(ctx context.Context, index uint64) error {
	if s.progress.noteReached() >= index {
		return nil
	}
	if s.hasten != nil {
		defer time.AfterFunc(hastenAfter, s.hasten).Stop()
	}
	return s.progress.awaitIndex(ctx, index)
}

// progress is how far this node applied the log, to be waited for.
type progress struct {
	index  atomic.Uint64
	mu     sync.Mutex
	moved  chan struct{} // Closed at the next move; nil when nobody waits.
	halted error         // Set once: no move will ever come.
}

func (p *progress) noteReached() uint64 { return p.index.Load() }

// advanceTo is called by the one writer.
func (p *progress) advanceTo(index uint64) {
	if index <= p.index.Load() {
		return
	}
	p.index.Store(index)
	p.mu.Lock()
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
	p.mu.Unlock()
}

// haltWith fails everybody who waits, now and later, for an index that was not reached.
func (p *progress) haltWith(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.halted == nil {
		p.halted = err
	}
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

func (p *progress) awaitIndex(ctx context.Context, index uint64) error {
	for p.index.Load() < index {
		p.mu.Lock()
		if p.halted != nil {
			p.mu.Unlock()
			return p.halted
		}
		if p.moved == nil {
			p.moved = make(chan struct{})
		}
		moved := p.moved
		p.mu.Unlock()
		if p.index.Load() >= index {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// statusLag is how much later than its minute a node may still hand out the status lists
// of the minute before: for the entry that begins the minute to come, and for making them.
const statusLag = 15 * engine.Second

// statusKeeper makes the status lists of every minute of log time, beside the writer: each
// node for itself, out of the state at one log index, so that they are the same everywhere.
type statusKeeper struct {
	life  *life
	views chan *fsm.View // The newest one that waits: it holds on to every page of its state.
	made  atomic.Pointer[fsm.Statuses]
}

func newStatusKeeper(l *life) *statusKeeper {
	return &statusKeeper{life: l, views: make(chan *fsm.View, 1)}
}

// offerView is called by the apply goroutine. A newer view replaces one that still waits.
func (k *statusKeeper) offerView(view *fsm.View) {
	select {
	case <-k.views:
	default:
	}
	k.views <- view // Nobody else sends.
}

// replaceView forgets the lists of the state before; those of a restored one may have to wait
// for the next minute.
func (k *statusKeeper) replaceView(view *fsm.View) {
	k.made.Store(nil)
	if view != nil {
		k.offerView(view)
	}
}

// keepStatuses is the goroutine that keeps the status lists.
func (k *statusKeeper) keepStatuses() {
	builder := fsm.NewStatusBuilder()
	for {
		select {
		case view := <-k.views:
			k.made.Store(builder.Build(view))
		case <-k.life.stop:
			return
		}
	}
}

// Statuses returns the status lists of the running minute of log time, or while they are
// made those of the minute before; nil when this node has neither. A node that hears of no
// new entries does not know that it is behind by log time alone: its own clocks say so.
func (s *state) Statuses() *fsm.Statuses {
	lists, last := s.statuses.made.Load(), s.logTime.Load()
	if lists == nil || last == nil {
		return nil
	}
	every := engine.LimitsOf(s.Settings().Format).StatusEvery
	now := last.time + max(s.clock.Monotonic()-last.at, 0)
	wall := s.clock.Wall() + s.Settings().ClockOffset
	if now >= lists.At+every+statusLag || wall >= lists.At+2*every {
		return nil
	}
	return lists
}
