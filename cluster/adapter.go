package cluster

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// adapter connects the state machine to raft's FSM interface. Raft calls Apply, Snapshot,
// Restore and StoreConfiguration on one goroutine, and Persist on another one. While a snapshot
// that a leader sent is being restored, the goroutine of the installation has the state, and
// raft's has not (installing).
//
// Apply takes an entry through four steps: machine, history, the state that edges read,
// waiters. So whoever gets an answer finds its leaf and its profile.
type adapter struct {
	life       *life
	folder     *datadir.Folder
	audit      *audit.Store
	indexes    *indexes
	state      *state
	replica    *replica
	waiters    *waiters
	lists      *listKeeper
	history    *history
	digester   *digester
	compaction *compaction
	storage    *storage
	reached    *datadir.Reached
	log        raft.LogStore
	snaps      *datadir.Snapshots
	installing *installing

	effects fsm.Effects
	leaves  []audit.Leaf
	halted  atomic.Bool // The node must stop: nothing is applied or answered any more.

	// mu guards machine for Apply, Freeze and the lookups, so that a reader gets the state
	// between two entries. Nothing else is done under it.
	mu      sync.Mutex
	machine *fsm.Machine
}

// errHalted answers everything that waits for the log on a node that no longer applies it.
var errHalted = fmt.Errorf("cluster: this node has stopped applying the log: %w", wire.ErrShuttingDown)

// Apply implements raft.FSM. It returns the entry's results, one for each record; errRestoring
// if the entry is applied later, when the state is there.
func (a *adapter) Apply(log *raft.Log) any {
	if a.installing.postpone(log.Index) {
		if err := a.reached.NoteApplied(log.Index); err != nil { // It is committed and this disk counts for it, so no cut may take it away.
			return a.haltReplica(fmt.Sprintf("disk failed: log entry %d: %v", log.Index, err))
		}
		return errRestoring
	}
	return a.applyEntry(log)
}

func (a *adapter) applyEntry(log *raft.Log) any {
	if a.halted.Load() {
		return errHalted
	}
	out, began := &a.effects, time.Now()
	before := out.Time
	a.mu.Lock()
	a.machine.Apply(log.Index, log.Term, log.Data, out)
	a.mu.Unlock()
	if out.Stop != "" {
		return a.haltReplica(fmt.Sprintf("log entry %d: %s", log.Index, out.Stop))
	}
	if err := a.appendLeaves(out); err != nil {
		return a.haltReplica(fmt.Sprintf("audit of log entry %d: %v", log.Index, err))
	}
	if err := a.reached.NoteApplied(log.Index); err != nil {
		return a.haltReplica(fmt.Sprintf("disk failed: log entry %d: %v", log.Index, err))
	}
	if a.life.dead.Load() != nil { // The node ended while this entry waited for the disk: nobody hears of it.
		a.halted.Store(true)
		return errHalted
	}
	results := slices.Clone(out.Results)
	if err := a.publishEffects(out, len(log.Data)); err != nil {
		return a.haltReplica(err.Error())
	}
	a.digester.watchEntry(a, out, before)
	a.state.progress.advanceTo(log.Index)
	a.waiters.takeApplied(log.Term, results, began)
	return results
}

// appendLeaves appends the entry's leaves to history. It does not sync: the raft log is
// the write-ahead log until Persist.
func (a *adapter) appendLeaves(out *fsm.Effects) error {
	a.leaves = a.leaves[:0]
	for i := range out.Leaves {
		leaf := &out.Leaves[i]
		a.leaves = append(a.leaves, audit.Leaf{Time: int64(leaf.Time), Keys: leaf.Filters, Data: leaf.Data, Hash: leaf.Hash})
	}
	if len(a.leaves) == 0 {
		return nil
	}
	done := a.storage.Watch("append to history") // A leader whose history hangs writes nothing to its log, so no other watch would end its term (guard G4).
	defer done()
	if err := a.audit.Append(out.FirstLeaf, a.leaves); err != nil {
		return err
	}
	a.indexes.addLeaves(out.FirstLeaf, a.leaves)
	return nil
}

// haltReplica stops this node, whose state may have diverged or whose history cannot be written.
func (a *adapter) haltReplica(reason string) error {
	a.halted.Store(true)
	a.life.endProcess(reason)
	return errHalted
}

// Freeze returns the state between two entries.
func (a *adapter) Freeze() *fsm.View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.machine.Freeze()
}

// These methods look something up in the state between two entries.

func (a *adapter) ReferenceUsed(key engine.ReferenceKey) (uint64, bool, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.machine.ReferenceUsed(key)
}

func (a *adapter) OperatorsNamed(name string) (engine.OperatorSlot, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.machine.OperatorsNamed(name)
}

func (a *adapter) OperatorsLike(fold string) []engine.OperatorSlot {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.machine.OperatorsLike(fold)
}

// StoreConfiguration implements raft.ConfigurationStore. It only advances the applied index,
// because a read index may be that of a membership change.
func (a *adapter) StoreConfiguration(index uint64, _ raft.Configuration) {
	if !a.installing.postpone(index) {
		a.noteConfiguration(index)
	}
}

func (a *adapter) noteConfiguration(index uint64) {
	if !a.halted.Load() {
		a.state.progress.advanceTo(index)
	}
}

// Snapshot implements raft.FSM in O(1): Persist does the writing. It refuses while a snapshot is
// being restored: raft would take the state for one that has all entries it has given to Apply.
func (a *adapter) Snapshot() (raft.FSMSnapshot, error) {
	if a.halted.Load() {
		return nil, errHalted
	}
	count, underWay := a.installing.begun()
	if underWay {
		return nil, errRestoring
	}
	superseded := func() bool { now, _ := a.installing.begun(); return now != count }
	return &snapshot{life: a.life, audit: a.audit, view: a.Freeze(), superseded: superseded}, nil
}

type snapshot struct {
	life       *life
	audit      *audit.Store
	view       *fsm.View
	superseded func() bool // A newer snapshot has been installed meanwhile.
}

// errSuperseded ends the writing of a snapshot that an installed one has overtaken. Raft would
// otherwise go back to it.
var errSuperseded = errors.New("a newer one was installed meanwhile")

// Persist implements raft.FSMSnapshot. History is made durable first: once the
// snapshot stands, raft may forget the entries that could write it again.
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := s.audit.SyncTo(s.view.Size); err != nil {
		s.life.endProcess(fmt.Sprintf("history cannot be made durable: %v", err))
		return errors.Join(err, sink.Cancel())
	}
	err := datadir.WriteGently(sink, s, s.life.hasEnded)
	if err == nil && s.superseded() {
		err = errSuperseded
	}
	if err != nil {
		return errors.Join(fmt.Errorf("snapshot: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// WriteTo implements io.WriterTo for WriteGently.
func (s *snapshot) WriteTo(to io.Writer) (int64, error) {
	return s.view.WriteTo(writerFunc(func(data []byte) (int, error) {
		if s.superseded() {
			return 0, errSuperseded
		}
		return to.Write(data)
	}))
}

type writerFunc func(data []byte) (int, error)

func (w writerFunc) Write(data []byte) (int, error) { return w(data) }

// Release implements raft.FSMSnapshot.
func (s *snapshot) Release() {}

// Restore implements raft.FSM. At the start of a node it restores the snapshot; later, when a
// leader sent one, it only begins to (installing). The new state is built and checked whole
// before it replaces the old one.
func (a *adapter) Restore(source io.ReadCloser) error {
	if a.halted.Load() {
		return errHalted
	}
	if a.replica.started.Load() {
		return a.beginInstall()
	}
	machine, err := fsm.Restore(source)
	if err != nil {
		err = fmt.Errorf("restore of a snapshot: %w", err)
		if errors.Is(err, fsm.ErrNewer) { // No leader has a snapshot that this release can read.
			_ = a.haltReplica(err.Error())
		}
		return err
	}
	return a.adoptMachine(machine)
}

// adoptMachine puts a restored state in the place of this node's.
func (a *adapter) adoptMachine(machine *fsm.Machine) error {
	view := machine.Freeze()
	if err := a.history.adoptView(view); err != nil {
		_ = a.haltReplica(err.Error())
		return err
	}
	a.compaction.countInstall(a.state.commands.Load(), view.Index)
	a.mu.Lock()
	a.machine = machine
	a.mu.Unlock()
	return a.publishEverything(machine)
}

// publishEverything publishes a machine's whole state. It uses effects of its own: the arrays
// that Apply reuses would keep every present profile in memory.
func (a *adapter) publishEverything(machine *fsm.Machine) error {
	var all fsm.Effects
	machine.Everything(&all)
	a.effects = fsm.Effects{Index: all.Index, Term: all.Term, Time: all.Time, Oldest: all.Oldest}
	return a.publishRestored(&all)
}

// publishEffects brings an entry's effects to readers.
func (a *adapter) publishEffects(out *fsm.Effects, size int) error {
	if out.Settings != nil && out.Settings.Genesis != nil {
		if err := a.folder.BelongTo(out.Settings.Genesis.ClusterID); err != nil {
			return err
		}
	}
	p := a.state.published.Load()
	p.takeEffects(out, a.lists.followEntry(out))
	a.lists.publishReady(out)
	live := a.replica.started.Load() && a.replica.raft.CurrentTerm() == out.Term && a.replica.raft.CommitIndex() <= out.Index
	next := &instant{time: out.Time, at: a.state.clock.Monotonic(), live: live, off: p.settings.Load().ClockOffset}
	a.state.logTime.Store(next.follow(a.state.logTime.Load()))
	if out.Statuses != nil {
		a.state.statuses.offerView(out.Statuses)
	}
	a.state.commands.Store(out.Index)
	a.compaction.noteApplied(out.Index, out.Time, size)
	a.audit.Prune(out.Oldest)
	entriesApplied.Inc()
	recordsApplied.Add(len(out.Results))
	for table, refused := range out.SharesRefused {
		if refused > 0 {
			sharesRefused[table].Add(refused)
		}
	}
	alertsUnlisted.Add(out.AlertsUnlisted)
	sarsUnlisted.Add(out.SARsUnlisted)
	if out.PairsDisplaced > 0 {
		pairsDisplaced.Add(out.PairsDisplaced)
		a.state.displaced.Store(int64(out.Time))
	}
	return nil
}

// publishRestored replaces everything that is published with the effects of a restored state.
func (a *adapter) publishRestored(out *fsm.Effects) error {
	p := newPublished()
	if genesis := out.Settings.Genesis; genesis != nil {
		if err := a.folder.BelongTo(genesis.ClusterID); err != nil {
			return err
		}
	}
	p.takeEffects(out, a.lists.followEntry(out))
	a.state.published.Store(p)
	a.lists.publishReady(out)
	a.state.logTime.Store(&instant{time: out.Time, at: a.state.clock.Monotonic(), off: out.Settings.ClockOffset})
	a.state.statuses.replaceView(out.Statuses)
	a.state.commands.Store(out.Index)
	a.compaction.installedAt = out.Index
	a.compaction.ages.noteRestored(out.Index, out.Time)
	a.state.views.dropViews()
	a.waiters.noteJump(out.Term)
	a.state.progress.advanceTo(out.Index)
	return nil
}
