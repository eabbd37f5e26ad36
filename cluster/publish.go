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

// published is the state that edges read without a lock: immutable values behind atomic
// pointers. Only the apply goroutine writes them, except that the list keeper publishes a list
// that was compiled late. A restore builds a whole new one and swaps it in, so that no reader
// sees half of it.
type published struct {
	agents pages[engine.AgentProfile]
	users  pages[engine.UserProfile]
	fleets pages[engine.FleetProfile]

	operators pages[engine.OperatorProfile]

	listing  sync.Mutex // Held when list or settings is written.
	settings atomic.Pointer[fsm.Settings]
	list     atomic.Pointer[ofac.Index] // May be an older list than the settings name, while tables are being made.

	dispositions sync.Map // leaf uint64 -> leaf uint64
	comments     sync.Map // leaf uint64 -> []uint64, replaced whole
	proposals    sync.Map // leaf uint64 -> leaf uint64, only open ones
	outcomes     sync.Map // leaf uint64 -> [2]uint64: the ending, and a late settle or 0
	oldest       atomic.Uint64
	oldestDay    atomic.Uint32 // The date of the oldest leaf.
	keysFrom     atomic.Uint64 // See fsm.View.KeysFrom.
	endedFrom    atomic.Uint64 // See fsm.Effects.EndedFrom.
	usedFrom     atomic.Uint64 // See fsm.Effects.UsedFrom.
}

func newPublished() *published {
	p := &published{
		agents: newPages[engine.AgentProfile](math.MaxUint32),
		users:  newPages[engine.UserProfile](math.MaxUint32), // Slots of erased users are not used again.
		fleets: newPages[engine.FleetProfile](math.MaxUint32),

		operators: newPages[engine.OperatorProfile](engine.OperatorsMax),
	}
	p.settings.Store(&fsm.Settings{Format: engine.Format1})
	return p
}

// takeEffects publishes one entry's effects. It stores the list before the settings that name
// it, so that an edge never judges with an older list than it claims.
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
	for _, slot := range out.AgentsGone {
		p.agents.putProfile(uint32(slot), nil)
	}
	for _, slot := range out.FleetsGone {
		p.fleets.putProfile(uint32(slot), nil)
	}
	for _, profile := range out.Operators {
		p.operators.putProfile(uint32(profile.Slot), profile)
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
	p.oldestDay.Store(uint32(out.OldestDay))
	p.keysFrom.Store(out.KeysFrom)
	p.endedFrom.Store(out.EndedFrom)
	p.usedFrom.Store(out.UsedFrom)
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

// linkOutcome links a payment to the leaf that says what became of it: that it is unresolved,
// or how it ended. A late settle is linked besides.
func (p *published) linkOutcome(link fsm.LeafLink) {
	leaves := [2]uint64{link.Later}
	if known, ok := p.outcomes.Load(link.Leaf); ok && link.Late {
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

// forgetOutcomes drops the links of leaves that are past retention, and of endings that the state has
// forgotten. It may run while the writer writes: a link below oldest is never written again, and an
// ending that is dropped although it was written meanwhile is found in the files.
func (p *published) forgetOutcomes() {
	oldest, ended := p.oldest.Load(), p.endedFrom.Load()
	p.outcomes.Range(func(key, value any) bool {
		if leaves := value.([2]uint64); max(leaves[0], leaves[1]) < ended {
			p.outcomes.CompareAndDelete(key, value)
		}
		return true
	})
	for _, links := range []*sync.Map{&p.dispositions, &p.comments, &p.outcomes} {
		links.Range(func(key, _ any) bool {
			if key.(uint64) < oldest {
				links.Delete(key)
			}
			return true
		})
	}
}

// state is what readers see of the applied log: the published values, log time, the applied
// index, and frozen views.
type state struct {
	published atomic.Pointer[published]
	clock     Clock
	statuses  *statusKeeper
	logTime   atomic.Pointer[instant]
	commands  atomic.Uint64 // Index of the last applied entry of our own kind.
	progress  progress
	views     viewCache
	asks      asks
	hasten    func()       // Asks the leader for the commit index; nil: nobody is asked.
	displaced atomic.Int64 // Log time at which R25 last forgot a pair that still counted; 0: never here.
}

func newState(clock Clock, freeze func() *fsm.View) *state {
	s := &state{clock: clock, views: viewCache{gate: newGate(), freeze: freeze}}
	s.published.Store(newPublished())
	return s
}

// asks is what readers ask the state between two entries, because no View has the maps.
type asks interface {
	ReferenceUsed(engine.ReferenceKey) (record uint64, used, known bool)
	OperatorsNamed(name string) (engine.OperatorSlot, int)
	OperatorsLike(fold string) []engine.OperatorSlot
}

// instant is log time after an entry, and the time when this node applied it.
type instant struct {
	time engine.Time
	at   engine.Time // Monotonic.
	live bool        // When it was applied, the entry was the newest committed one, and of the present term.
	off  engine.Time // The test clock's offset then: settings may be newer than this.
	run  engine.Time // Monotonic: since when live entries have come without a longer pause.
}

// follow notes that an entry was applied after the one before.
func (i *instant) follow(before *instant) *instant {
	i.run = i.at
	if before != nil && before.live && i.live && i.at-before.at <= engine.Time(sampleFresh) {
		i.run = before.run
	}
	return i
}

// logTimeAhead is how far published log time may run ahead of the last entry.
const logTimeAhead = 2 * engine.Second

// Settings returns everything edges need besides profiles; never nil.
func (s *state) Settings() *fsm.Settings { return s.published.Load().settings.Load() }

// List returns the active list, or nil if none is open. While the tables of the list in the
// settings are being made, it may be another list.
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

// Operator returns an operator's profile, nil when there is none.
func (s *state) Operator(slot engine.OperatorSlot) *engine.OperatorProfile {
	return s.published.Load().operators.profileAt(uint32(slot))
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

// Outcomes returns the leaves of a payment's outcome: none, its ending, or its ending and its
// late settle.
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

// ReferenceUsed returns the leaf of the record that uses a payment reference, in the state
// applied here.
func (s *state) ReferenceUsed(key engine.ReferenceKey) (uint64, bool, bool) {
	return s.asks.ReferenceUsed(key)
}

// KeysFrom implements edge.Published.
func (s *state) KeysFrom() uint64 { return s.published.Load().keysFrom.Load() }

// UsedFrom implements edge.Published.
func (s *state) UsedFrom() uint64 { return s.published.Load().usedFrom.Load() }

// EndedFrom implements edge.Published.
func (s *state) EndedFrom() uint64 { return s.published.Load().endedFrom.Load() }

// OperatorsNamed returns how many operators have a legal name, and the first of them.
func (s *state) OperatorsNamed(name string) (engine.OperatorSlot, int) {
	return s.asks.OperatorsNamed(name)
}

// OperatorsLike returns operators whose names have the fold.
func (s *state) OperatorsLike(fold string) []engine.OperatorSlot { return s.asks.OperatorsLike(fold) }

// Comments returns the leaves of a review's comments, oldest first.
func (s *state) Comments(leaf uint64) []uint64 {
	value, ok := s.published.Load().comments.Load(leaf)
	if !ok {
		return nil
	}
	return value.([]uint64)
}

// LogTime returns the present log time: that of the last entry, moved on by this node's clock,
// by at most 2 s.
func (s *state) LogTime() engine.Time {
	last := s.logTime.Load()
	if last == nil {
		return 0
	}
	passed := s.clock.Monotonic() - last.at
	return last.time + min(max(passed, 0), logTimeAhead)
}

// rawLogTime returns applied log time without the test clock's offset. Stamps are compared with
// it.
func (s *state) rawLogTime() engine.Time {
	last := s.logTime.Load()
	if last == nil {
		return 0
	}
	return last.time - last.off
}

// Applied returns the applied log index.
func (s *state) Applied() uint64 { return s.progress.noteReached() }

// hastenAfter is how long a waiter waits for an index before this node asks the leader.
const hastenAfter = 3 * time.Millisecond

// WaitApplied waits until index is applied here. If that takes longer than hastenAfter, it asks
// the leader for the commit index: a follower may have the entry and not know that it is
// committed.
func (s *state) WaitApplied(ctx context.Context, index uint64) error {
	if s.progress.noteReached() >= index {
		return nil
	}
	if s.hasten != nil {
		defer time.AfterFunc(hastenAfter, s.hasten).Stop()
	}
	return s.progress.awaitIndex(ctx, index)
}

// progress is how far this node has applied the log. Readers can wait for it.
type progress struct {
	index  atomic.Uint64
	mu     sync.Mutex
	moved  chan struct{} // Closed at the next move; nil when nobody waits.
	halted error         // Set once: the index will never move again.
}

func (p *progress) noteReached() uint64 { return p.index.Load() }

// advanceTo moves the index. Only the apply goroutine calls it.
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

// haltWith fails all present and later waits for an index that was not reached.
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

// statusLag is how much longer than its minute a node may still give out status lists: so long
// may the next minute's first entry and the making of its lists take.
const statusLag = 15 * engine.Second

// statusKeeper makes the status lists of every minute of log time, outside the apply goroutine.
// Each node makes them from the state at the same log index, so they are the same everywhere.
type statusKeeper struct {
	life  *life
	views chan *fsm.View // Only the newest view waits: a view keeps every page of its state in memory.
	made  atomic.Pointer[fsm.Statuses]
}

func newStatusKeeper(l *life) *statusKeeper {
	return &statusKeeper{life: l, views: make(chan *fsm.View, 1)}
}

// offerView gives the keeper a view, in place of one that still waits. The apply goroutine
// calls it.
func (k *statusKeeper) offerView(view *fsm.View) {
	select {
	case <-k.views:
	default:
	}
	k.views <- view // Nobody else sends.
}

// replaceView forgets the lists of the former state. After a restore the new lists may have to
// wait for the next minute.
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

// Statuses returns the status lists of the present minute of log time or, while those are being
// made, of the minute before. It returns nil if this node has neither. A node that hears of no
// new entries cannot tell by log time alone that it is behind, so its own clocks are checked
// too.
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
