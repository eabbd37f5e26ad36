package retrace

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// Cluster is what retro-screening reads the state from and writes its hits to.
type Cluster interface {
	Role() string // "leader" on the one node that screens.
	Settings() *fsm.Settings
	View(ctx context.Context, minIndex uint64) (*fsm.View, error)
	Propose(ctx context.Context, kind wire.Kind, body []byte) (wire.Result, error)
}

// Retro screens the recorded and registered parties against a newly activated list. It runs on
// the leader, from a replicated cursor. It reports only what the new list adds: nothing that
// the list before said of the same party.
type Retro struct {
	cluster Cluster
	walk    Walk // Walks over records; the cursor is in the log.
	sources Sources
	log     *slog.Logger
	leaves  uint64 // How many leaves are looked at for each record to the log, see retroRecords.

	cancel context.CancelFunc
	done   sync.WaitGroup

	now, before *engine.Looker // now asks the activated list; before asks the list before it.
	one         Case
	asked       int
	payer       engine.AgentProfile // Stands for the payer of a record. Its one setting is whether names on non-SDN lists count.
	seen        seenParties         // Counterparties that matched nobody on the list.

	run      uint64    // The list of the run in progress,
	since    time.Time // since when this node has made it,
	late     bool      // and whether it said that the run is late.
	stuckAt  uint64    // The leaf at which something could not be read.
	stuck    time.Time
	patience time.Duration
}

const (
	retroEvery   = time.Second
	retroRecords = 4096 // Leaves looked at between two records to the log.
	retroSlots   = 1024 // Parties looked at between two records to the log.
	retroTimeout = 10 * time.Second
	// retroParts is into how many parts a step divides the parties. It rests after each.
	retroParts = 16
	// retroPatience is how long an unreadable record delays a run. One leaf that all nodes have
	// lost must not keep every later list from being looked at.
	retroPatience = 10 * time.Minute
	// retroDue is how long a run makes way for verdicts that wait. After that it only rests.
	retroDue = time.Hour
)

// NewRetro makes the retro-screening of a node. Start begins it.
func NewRetro(cluster Cluster, history History, fetch func(context.Context, uint64) ([]byte, error), sources Sources, log *slog.Logger) *Retro {
	r := &Retro{
		cluster: cluster, walk: Walk{History: history, Fetch: fetch, Rest: walkRest}, sources: sources, log: log, leaves: retroRecords,
		cancel: func() {}, now: engine.NewLooker(), before: engine.NewLooker(), patience: retroPatience,
	}
	r.walk.Lost = r.judgeUnread
	return r
}

// SetMakeWay sets how a run makes way for verdicts between two steps, before Start.
func (r *Retro) SetMakeWay(makeWay func()) {
	r.walk.MakeWay = func() {
		if time.Since(r.since) < retroDue {
			makeWay()
		} else if !r.late {
			r.late = true
			r.log.Warn("retro-screening is late, because verdicts use the processors: it makes way for them no longer", "due", retroDue)
		}
	}
}

// judgeUnread decides about a record at the walk's place that could not be read. It returns an
// error to have it tried again, because a missing node may come back. Once patience is over it
// logs the record and returns nil, so that the walk skips it.
func (r *Retro) judgeUnread(why error) error {
	now := time.Now()
	if r.stuck.IsZero() || r.stuckAt != r.walk.Next {
		r.stuckAt, r.stuck = r.walk.Next, now
	}
	if now.Sub(r.stuck) < r.patience {
		return fmt.Errorf("retro-screening: leaf %d or one soon after it: %w", r.walk.Next, why)
	}
	r.log.Error("retro-screening: a record that no node can read is passed over", "from", r.walk.Next, "error", why)
	return nil
}

// Start starts the goroutine.
func (r *Retro) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.done.Go(func() { r.runLoop(ctx) })
}

// Stop ends the goroutine and waits for it.
func (r *Retro) Stop() {
	r.cancel()
	r.done.Wait()
}

// runLoop is the goroutine. Whichever node leads continues from the replicated cursor.
func (r *Retro) runLoop(ctx context.Context) {
	ticker := time.NewTicker(retroEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for r.cluster.Role() == "leader" {
			more, err := r.Step(ctx)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("retro-screening: tried again in a second", "error", err)
			}
			if err != nil || !more {
				break
			}
		}
		if r.cluster.Role() != "leader" {
			r.seen.dropAll()
		}
	}
}

// Step does the next piece of work: it begins a run for an activated list, or looks at a few
// more parties or records. more says whether there is more to do.
func (r *Retro) Step(ctx context.Context) (more bool, err error) {
	s := r.cluster.Settings()
	if s.Genesis == nil || s.List == nil {
		return false, nil
	}
	if run := s.Retro; run != nil && run.EndedAt == 0 {
		return true, r.advanceRun(ctx, s, run)
	}
	covered := firstVersion(s)
	if s.Retro != nil && s.Retro.Covered != 0 {
		covered = s.Retro.Covered
	}
	if covered == 0 || covered >= s.ListVersion {
		r.seen.dropAll()
		return false, nil // Parties that were recorded or registered under the first list were screened against it.
	}
	from := max(s.List.ActivatedAt-engine.Retention, 0)
	return true, r.proposeRecord(ctx, &wire.Retro{Op: wire.RetroBegin, Run: wire.RetroRun{
		List: s.ListVersion, Against: covered, From: from, Leaf: r.walk.History.FindTime(int64(from)),
	}})
}

// firstVersion returns the first list that anybody can have been screened against. Before the
// first run it counts as covered: however many lists were activated since, their additions are
// looked for in one run.
func firstVersion(s *fsm.Settings) uint64 {
	first := s.ListVersion
	for _, info := range s.History {
		first = min(first, info.Version)
	}
	return first
}

func (r *Retro) proposeRecord(ctx context.Context, record *wire.Retro) error {
	ctx, cancel := context.WithTimeout(ctx, retroTimeout)
	defer cancel()
	result, err := r.cluster.Propose(ctx, wire.KindRetro, wire.Encode(record))
	if err != nil {
		return fmt.Errorf("retro-screening: %w", err)
	}
	if result.Code != wire.Applied && result.Code != wire.Unchanged {
		return fmt.Errorf("retro-screening: refused, %d %d", result.Code, result.Refusal)
	}
	return nil
}

// lists are the two lists to compare. If before is nil, every entry of now counts as new.
type lists struct {
	now, before *ofac.Index
	at          engine.Time // When the run began: an entry that has ended by then names nobody. It is replicated, so that every leader asks as of one time.
}

// advanceRun looks at the next parties, or at the next records if no parties are left, and
// writes the result to the log.
func (r *Retro) advanceRun(ctx context.Context, s *fsm.Settings, run *wire.RetroRun) error {
	if r.run != run.List {
		r.run, r.since, r.late = run.List, time.Now(), false
	}
	compared, err := r.openLists(ctx, s, run)
	if err != nil {
		return err
	}
	r.seen.useBasis(answerBasis{compared, s.Policy})
	next := *run
	record := &wire.Retro{Op: wire.RetroAdvance}
	view, err := r.cluster.View(ctx, 0)
	if err != nil {
		return fmt.Errorf("retro-screening: %w", err)
	}
	left, err := r.lookAtParties(ctx, view, s.Policy, &compared, &next, &record.Hits)
	if err != nil {
		return err
	}
	if !left {
		if left, err = r.lookAtRecords(ctx, s.Policy, &compared, &next, &record.Hits); err != nil {
			return err
		}
	}
	if !left {
		record.Op = wire.RetroEnd
	}
	record.Run = next
	return r.proposeRecord(ctx, record)
}

// openLists opens the two lists with the tables of the current matcher version.
func (r *Retro) openLists(ctx context.Context, s *fsm.Settings, run *wire.RetroRun) (compared lists, err error) {
	compared.at = run.StartedAt
	for _, info := range s.History {
		list := &compared.now
		switch info.Version {
		case run.List:
		case run.Against:
			list = &compared.before
		default:
			continue
		}
		if *list, err = r.sources.List(ctx, info.Digest, s.Matcher); err != nil {
			return compared, fmt.Errorf("retro-screening: list version %d: %w", info.Version, err)
		}
	}
	if compared.now == nil {
		return compared, fmt.Errorf("retro-screening: list version %d is no longer known", run.List)
	}
	return compared, nil
}

// lookAtParties looks at a bounded number of operators, agents and users. left says whether
// there are more of them.
func (r *Retro) lookAtParties(ctx context.Context, view *fsm.View, policy *engine.Policy, compared *lists, next *wire.RetroRun, hits *[]wire.RetroHit) (left bool, err error) {
	_, users := view.UserSlots()
	kinds := []struct {
		at   *uint32
		end  uint64 // The slot after the last.
		look func(slot uint32) (f engine.Facts, target wire.Target)
	}{
		{&next.Operator, uint64(view.Operators()) + 1, func(slot uint32) (engine.Facts, wire.Target) { return operatorFacts(view, slot), wire.TargetOperator }},
		{&next.Agent, uint64(view.AgentSlots()) + 1, func(slot uint32) (engine.Facts, wire.Target) { return agentFacts(view, slot), wire.TargetAgent }},
		{&next.User, users, func(slot uint32) (engine.Facts, wire.Target) { return userFacts(view, slot), wire.TargetUser }},
	}
	looked := 0
	began := time.Now()
	for _, kind := range kinds {
		for ; uint64(*kind.at) < kind.end; *kind.at++ {
			if looked == retroSlots || len(*hits) == wire.RetroHitsMost {
				return true, nil
			}
			if looked++; looked%(retroSlots/retroParts) == 0 {
				if err := r.walk.restAfter(ctx, began); err != nil {
					return true, err
				}
				began = time.Now()
			}
			if err := r.passOver(contain(func() error {
				f, target := kind.look(*kind.at)
				f.Policy = policy
				r.lookAtParty(view, f, target, *kind.at, compared, hits)
				return nil
			}), "slot", uint64(*kind.at)); err != nil {
				return true, err
			}
		}
	}
	return false, nil
}

// lookAtParty asks the lists about one party.
func (r *Retro) lookAtParty(view *fsm.View, f engine.Facts, target wire.Target, slot uint32, compared *lists, hits *[]wire.RetroHit) {
	if f.ChainSize > 0 {
		f.OperatorCleared = r.clearedEntries(f.Chain[0].OperatorLegalName, f.ToldOfPayer(), compared)
	}
	if f.User != nil {
		f.UserCleared = r.clearedEntries(f.User.LegalName, f.ToldOfPayer(), compared)
	}
	hit, found := r.askLists(&f, compared)
	if target == wire.TargetAgent {
		found = r.askTax(view, engine.AgentSlot(slot), compared.now, &hit) || found
	}
	if found {
		hit.Target, hit.Slot = target, slot
		*hits = append(*hits, hit)
	}
}

// clearedEntries returns the entries that an officer has cleared for a name by today: what was
// cleared once raises no new alert.
func (r *Retro) clearedEntries(name string, told engine.Told, compared *lists) []uint32 {
	if name == "" {
		return nil
	}
	return r.sources.Cleared(name, &told, compared.now)
}

// operatorFacts returns facts that ask the list for an operator's name.
func operatorFacts(view *fsm.View, slot uint32) (f engine.Facts) {
	if _, profile, known := view.Operator(engine.OperatorSlot(slot)); known {
		f.Chain[0], f.ChainSize = &engine.AgentProfile{OperatorLegalName: profile.LegalName, Operator: profile.Slot}, 1
	}
	return f
}

// agentFacts returns facts to screen the operator's wallet of an agent that is not revoked or
// expired; otherwise they have no agent.
func agentFacts(view *fsm.View, slot uint32) (f engine.Facts) {
	_, profile, known := view.Agent(engine.AgentSlot(slot))
	if status := view.Effective(engine.AgentSlot(slot)); known && status != engine.Revoked && status != engine.Expired {
		f.Chain[0], f.ChainSize = &engine.AgentProfile{OperatorWallet: profile.OperatorWallet, Policy: profile.Policy}, 1
	}
	return f
}

// askTax looks an agent's tax number up in the list that is in force, unless the registry says
// already that it is listed. It adds what it finds to a hit. An agent that is revoked counts too: its
// number is its operator's, who may have others.
func (r *Retro) askTax(view *fsm.View, slot engine.AgentSlot, list *ofac.Index, hit *wire.RetroHit) bool {
	_, profile, known := view.Agent(slot)
	if !known || profile.TaxMatched || len(profile.EINSealed) == 0 {
		return false
	}
	digits, err := r.sources.EIN(profile.EINSealed)
	if err != nil {
		r.log.Error("retro-screening: a tax number that this node cannot open is passed over", "agent", slot, "error", err)
		return false
	}
	match, listed := list.TaxNumber(digits)
	if !listed {
		return false
	}
	hit.Tax, hit.Listed = true, true
	if len(hit.Entries) < wire.RetroEntriesMost && !slices.Contains(hit.Entries, match.UID) {
		hit.Entries = append(hit.Entries, match.UID)
	}
	return true
}

// userFacts returns facts that ask the list for the name of a user that is not revoked.
func userFacts(view *fsm.View, slot uint32) (f engine.Facts) {
	if row, profile, known := view.User(engine.UserSlot(slot)); known && profile != nil && row.Status != engine.Revoked {
		f.User = profile
	}
	return f
}

// lookAtRecords looks at the counterparties of the next records. left says whether there are
// more.
func (r *Retro) lookAtRecords(ctx context.Context, policy *engine.Policy, compared *lists, next *wire.RetroRun, hits *[]wire.RetroHit) (left bool, err error) {
	r.walk.Next = next.Leaf
	defer func() { next.Leaf = r.walk.Next }()
	for r.walk.Next < next.Leaf+r.leaves && len(*hits) < wire.RetroHitsMost {
		passed, err := r.walk.Step(ctx, next.Until, func(ctx context.Context, data []byte, _ []uint64) error {
			return r.passOver(contain(func() error { return r.lookAtRecord(ctx, data, next, policy, compared, hits) }), "leaf", r.walk.Next)
		})
		if err != nil || passed {
			return false, err
		}
	}
	return true, nil
}

func (r *Retro) lookAtRecord(ctx context.Context, data []byte, run *wire.RetroRun, policy *engine.Policy, compared *lists, hits *[]wire.RetroHit) error {
	if leaf.FormOf(data) != leaf.FormScreen {
		return nil
	}
	x, err := r.sources.Record(ctx, data)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return r.judgeUnread(err)
	}
	if !run.Asked && x.ListVersion >= run.List {
		return nil // The call was judged with this list or a later one.
	}
	c := &r.one
	c.Open(x)
	party := partyQueryOf(c)
	if party.name == "" && party.wallet == "" && party.others == "" {
		return nil
	}
	if r.seen.leadsToNobody(party) {
		return nil
	}
	r.asked++
	runtime.Gosched() // This lets a call that waits for a core run after one name at most.
	r.payer.Policy.CONS = party.cons
	f := engine.Facts{Request: c.Facts.Request, Policy: policy, ChainSize: 1, PartyCleared: r.clearedEntries(c.Facts.Request.Name, c.Told(), compared)}
	f.Chain[0] = &r.payer
	hit, found := r.askLists(&f, compared)
	if !found && f.PartyCleared == nil { // If entries are cleared for the name, the answer is not remembered, because a clearing can be taken back meanwhile.
		r.seen.addParty(party)
	}
	if found && !run.Asked && x.ListVersion > run.Against {
		if hit, found, err = r.askJudgingList(ctx, &f, x.ListVersion, *compared); err != nil {
			return err
		}
	}
	if found {
		hit.Leaf, hit.At, hit.Amount, hit.Verdict = x.Leaf, x.At, c.Facts.Request.Amount, x.Verdict
		hit.Screener = screenerOf(r.cluster.Settings(), x.KeyID())
		if *hits = append(*hits, hit); len(*hits) == wire.RetroHitsMost {
			return errEnough
		}
	}
	return nil
}

// askJudgingList asks again for a call that was judged with a list between the two that a run
// compares: what that list said of the party is reported already. If that list is no longer known,
// all that the new list says is reported.
func (r *Retro) askJudgingList(ctx context.Context, f *engine.Facts, version uint64, compared lists) (hit wire.RetroHit, found bool, err error) {
	compared.before = nil
	s := r.cluster.Settings()
	at := slices.IndexFunc(s.History, func(info *wire.ListInfo) bool { return info.Version == version })
	if at >= 0 {
		if compared.before, err = r.sources.List(ctx, s.History[at].Digest, s.Matcher); err != nil {
			return hit, false, fmt.Errorf("retro-screening: list version %d: %w", version, err)
		}
	}
	hit, found = r.askLists(f, &compared)
	return hit, found, nil
}

// screenerOf returns the row of the API key with an id, or wire.ScreenerUnknown.
func screenerOf(s *fsm.Settings, id string) uint32 {
	at := slices.IndexFunc(s.Keys, func(key *wire.APIKey) bool { return key.ID == id })
	if at < 0 {
		return wire.ScreenerUnknown
	}
	return uint32(at + 1)
}

// nobody is a request without a counterparty.
var nobody engine.Request

// askLists asks the list. If there are matches, it also asks the list before, and drops those
// that this one had already.
func (r *Retro) askLists(f *engine.Facts, compared *lists) (hit wire.RetroHit, found bool) {
	if f.Request == nil {
		f.Request = &nobody
	}
	f.List, f.Now = compared.now, compared.at
	before := *f
	r.now.Look(f)
	matches := matchesOf(f)
	if len(matches) > 0 && compared.before != nil {
		before.List = compared.before
		r.before.Look(&before)
		said := matchesOf(&before)
		matches = slices.DeleteFunc(matches, func(m match) bool {
			return slices.ContainsFunc(said, func(s match) bool { return s.uid == m.uid && s.wallet == m.wallet && s.outcome >= m.outcome })
		})
	}
	for _, m := range matches {
		hit.Wallet, hit.Listed = hit.Wallet || m.wallet, hit.Listed || m.outcome == ofac.Listed
		if len(hit.Entries) < wire.RetroEntriesMost && !slices.Contains(hit.Entries, m.uid) {
			hit.Entries = append(hit.Entries, m.uid)
		}
	}
	return hit, len(matches) > 0
}

// SetRest is like SetRest of a JobRunner. The setters are for tests and benches, before Start.
func (r *Retro) SetRest(times int) { r.walk.Rest = times }

// SetPatience sets how long an unreadable record delays a run.
func (r *Retro) SetPatience(d time.Duration) { r.patience = d }

// SetStep sets how many leaves are looked at between two records to the log.
func (r *Retro) SetStep(leaves uint64) { r.leaves = leaves }

// Asked returns for how many records' counterparties the list was asked. It is for tests and
// benches, while nothing runs.
func (r *Retro) Asked() int { return r.asked }
