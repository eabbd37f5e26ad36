package edgetest

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
	"railguard/seal"
)

// Start is the log time at which a world begins: 2026-03-22T03:33:28.589Z, a Sunday.
const Start = engine.Time(1774150408589) * engine.Millisecond

// World is a cluster of one node. It implements edge.Published, edge.Records and
// retrace.Cluster.
type World struct {
	T      testing.TB
	Judges *edge.Judges
	Store  *audit.Store
	*Indexes
	Secrets *seal.Secrets

	ReadError  error       // If set, every question to the leader fails with it.
	LeafError  error       // If set, every reading of a leaf fails with it.
	Asked      int         // How often the leader was asked.
	Waited     int         // How often a judge waited for an entry.
	Ahead      engine.Time // How far the clocks are ahead of log time.
	Uncompiled bool        // No list has its tables: whoever asks for one has to wait.

	ViewIsNewer bool // A View shows the leader's state even if this node is behind.
	Stuck       bool // A node that is behind stays so, whatever it waits for.

	mutex   sync.Mutex
	machine *fsm.Machine
	out     fsm.Effects
	seq     uint64
	lists   map[[32]byte]*ofac.Index
	leads   state  // The state that the leader has committed.
	shown   *state // The part of it that this node has applied; nil: all.
}

// state is the state that a node has published. Its maps are copied before they are changed.
type state struct {
	index        uint64
	now          engine.Time
	settings     *fsm.Settings
	list         *ofac.Index
	agents       map[engine.AgentSlot]*engine.AgentProfile
	users        map[engine.UserSlot]*engine.UserProfile
	fleets       map[engine.FleetSlot]*engine.FleetProfile
	operators    map[engine.OperatorSlot]*engine.OperatorProfile
	dispositions map[uint64]uint64
	proposals    map[uint64]uint64
	comments     map[uint64][]uint64
	outcomes     map[uint64][]uint64
	view         *fsm.View // Set only for a node that is behind.
}

// New returns a world that has been bootstrapped and has the sample list active.
func New(t testing.TB) *World {
	return NewWith(t, func(*wire.Genesis) {})
}

// NewWith is New with another genesis.
func NewWith(t testing.TB, change func(*wire.Genesis)) *World {
	t.Helper()
	w := &World{
		T: t, Secrets: seal.NewSecrets([]byte("a cluster secret of the tests")), machine: fsm.New(), lists: map[[32]byte]*ofac.Index{},
		leads: state{
			now: Start, settings: &fsm.Settings{Policy: engine.DefaultPolicy()}, agents: map[engine.AgentSlot]*engine.AgentProfile{},
			users: map[engine.UserSlot]*engine.UserProfile{}, fleets: map[engine.FleetSlot]*engine.FleetProfile{}, operators: map[engine.OperatorSlot]*engine.OperatorProfile{},
			dispositions: map[uint64]uint64{}, proposals: map[uint64]uint64{}, comments: map[uint64][]uint64{}, outcomes: map[uint64][]uint64{},
		},
	}
	store, err := audit.Open(audittest.NewMemDir(), audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	w.Store = store
	w.Indexes = OpenIndexes(t, store)
	w.Judges = w.NewJudges()
	genesis, err := seal.NewGenesis(seal.GenesisOptions{Secrets: w.Secrets, PublicURL: "https://pay.example.com", Dev: true, TestClock: true})
	require.NoError(t, err)
	genesis.ClusterID, genesis.IDKey, genesis.SaltKey = "cl_test", [16]byte{1, 2, 3}, [16]byte{4, 5, 6}
	change(&genesis)
	w.Must(wire.KindGenesis, &genesis)
	w.Activate(sample.Entities())
	return w
}

// NewJudges returns new judges for the same node, with empty caches.
func (w *World) NewJudges() *edge.Judges {
	return edge.New(edge.Deps{
		Published: w, Records: w, Secrets: w.Secrets, Node: "n1", Version: "0.0.0-test", Logger: slog.New(slog.DiscardHandler),
	})
}

// Must applies a record and demands that it is applied.
func (w *World) Must(kind wire.Kind, record any) wire.Result {
	w.T.Helper()
	result, err := w.Propose(w.T.Context(), kind, wire.Encode(record))
	require.NoError(w.T, err)
	require.Equal(w.T, wire.Applied, result.Code, "refusal %d", result.Refusal)
	return result
}

// Propose applies one record in an entry of its own.
func (w *World) Propose(_ context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seq++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: w.leads.now})
	entry = wire.Seal(wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: w.seq, Body: body}), 1)
	w.leads.index++
	w.machine.Apply(w.leads.index, 1, entry, &w.out)
	require.Empty(w.T, w.out.Stop)
	w.keepLeaves()
	w.publish()
	return w.out.Results[0], nil
}

func (w *World) keepLeaves() {
	leaves := make([]audit.Leaf, len(w.out.Leaves))
	for i, l := range w.out.Leaves {
		leaves[i] = audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data}
	}
	if len(leaves) > 0 {
		require.NoError(w.T, w.Store.Append(w.out.FirstLeaf, leaves))
	}
	w.Take(&w.out, leaves, w.leads.outcomes)
}

// publish publishes the effects of an entry, as a node does.
func (w *World) publish() {
	s := &w.leads
	for _, p := range w.out.Agents {
		s.agents[p.Slot] = p
	}
	for _, p := range w.out.Users {
		s.users[p.Slot] = p
	}
	for _, slot := range w.out.UsersGone {
		delete(s.users, slot)
	}
	for _, slot := range w.out.AgentsGone {
		delete(s.agents, slot)
	}
	for _, slot := range w.out.FleetsGone {
		delete(s.fleets, slot)
	}
	for _, p := range w.out.Fleets {
		s.fleets[p.Slot] = p
	}
	for _, p := range w.out.Operators {
		s.operators[p.Slot] = p
	}
	for _, link := range w.out.Dispositions {
		s.dispositions[link.Leaf] = link.Later
	}
	for _, link := range w.out.Proposals {
		if s.proposals[link.Leaf] = link.Later; link.Later == 0 {
			delete(s.proposals, link.Leaf)
		}
	}
	for _, link := range w.out.Comments {
		s.comments[link.Leaf] = append(s.comments[link.Leaf], link.Later)
	}
	for _, link := range w.out.Outcomes {
		if !link.Late { // It takes the place of the leaf that said that the payment is unresolved.
			s.outcomes[link.Leaf] = nil
		}
		s.outcomes[link.Leaf] = append(s.outcomes[link.Leaf], link.Later)
	}
	if w.out.ListData != nil {
		s.list = compiled(w.T, w.out.ListData)
		w.lists[s.list.Digest()] = s.list
	}
	if w.out.Settings != nil {
		s.settings = w.out.Settings
	}
}

// Advance moves log time forward, as ticks do.
func (w *World) Advance(d engine.Time) {
	w.mutex.Lock()
	w.leads.now += d
	w.mutex.Unlock()
	_, err := w.Propose(w.T.Context(), wire.KindTick, wire.Encode(&wire.Tick{}))
	require.NoError(w.T, err)
}

// FallBehind makes this node miss everything that is applied from now on, until it asks the
// leader or waits for an entry.
func (w *World) FallBehind() { w.shown = w.snapshot() }

func (w *World) snapshot() *state {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	s := w.leads
	s.agents, s.users, s.fleets, s.operators = maps.Clone(s.agents), maps.Clone(s.users), maps.Clone(s.fleets), maps.Clone(s.operators)
	s.dispositions, s.proposals = maps.Clone(s.dispositions), maps.Clone(s.proposals)
	s.comments, s.outcomes = maps.Clone(s.comments), maps.Clone(s.outcomes)
	s.view = w.machine.Freeze()
	return &s
}

// Behind does something that this node misses until it asks the leader.
func (w *World) Behind(do func()) {
	judges := w.Judges
	w.Judges = w.NewJudges() // do itself runs on judges that are not behind.
	before := w.snapshot()
	do()
	w.Judges, w.shown = judges, before
}

// compiledLists caches the lists of all worlds of a test binary, by their entities.
var compiledLists sync.Map

func compiled(t testing.TB, entities []byte) *ofac.Index {
	if list, known := compiledLists.Load(string(entities)); known {
		return list.(*ofac.Index)
	}
	list, err := ofac.Compile(entities, ofac.MatcherVersion)
	require.NoError(t, err)
	compiledLists.Store(string(entities), list)
	return list
}

// Activate replicates a list under the sample's label and makes it the active one.
func (w *World) Activate(entities []ofac.Entity) *ofac.Index {
	w.T.Helper()
	return w.ActivateWith(entities, sample.Meta())
}

// ActivateWith is Activate of a list that has others beside OFAC's.
func (w *World) ActivateWith(entities []ofac.Entity, meta ofac.Meta) *ofac.Index {
	w.T.Helper()
	data, err := ofac.EncodeEntities(entities, meta)
	require.NoError(w.T, err)
	list := compiled(w.T, data)
	counts := list.Counts()
	info := &wire.ListInfo{
		Digest: list.Digest(), Source: sample.Source, Sample: true, Entries: uint32(counts.Entries), SDN: uint32(counts.Lists[ofac.SDN]), CONS: uint32(counts.Lists[ofac.CONS]), Size: uint32(len(data)),
	}
	_, err = w.Propose(w.T.Context(), wire.KindListChunk, wire.Encode(&wire.ListChunk{Digest: info.Digest, Total: info.Size, Data: data, Info: info}))
	require.NoError(w.T, err)
	w.Must(wire.KindListActivate, &wire.ListActivate{Digest: info.Digest, Force: true})
	return list
}

// ChangeEntry activates the active list with one entry changed.
func (w *World) ChangeEntry(uid uint32, change func(*ofac.Entity)) {
	entities := w.List().Entities()
	at := slices.IndexFunc(entities, func(e ofac.Entity) bool { return e.UID == uid })
	require.NotEqual(w.T, -1, at, "no entry %d", uid)
	change(&entities[at])
	w.Activate(entities)
}

// read calls look with the state that this node has published.
func read[T any](w *World, look func(*state) T) T {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.shown != nil {
		return look(w.shown)
	}
	return look(&w.leads)
}

// Settings and the methods after it implement edge.Published.
func (w *World) Settings() *fsm.Settings {
	return read(w, func(s *state) *fsm.Settings { return s.settings })
}
func (w *World) List() *ofac.Index        { return read(w, func(s *state) *ofac.Index { return s.list }) }
func (w *World) LogTime() engine.Time     { return read(w, func(s *state) engine.Time { return s.now }) }
func (w *World) ClocksAhead() engine.Time { return w.Ahead }
func (w *World) Applied() uint64          { return read(w, func(s *state) uint64 { return s.index }) }
func (w *World) Agent(slot engine.AgentSlot) *engine.AgentProfile {
	return read(w, func(s *state) *engine.AgentProfile { return s.agents[slot] })
}
func (w *World) User(slot engine.UserSlot) *engine.UserProfile {
	return read(w, func(s *state) *engine.UserProfile { return s.users[slot] })
}
func (w *World) Fleet(slot engine.FleetSlot) *engine.FleetProfile {
	return read(w, func(s *state) *engine.FleetProfile { return s.fleets[slot] })
}
func (w *World) Operator(slot engine.OperatorSlot) *engine.OperatorProfile {
	return read(w, func(s *state) *engine.OperatorProfile { return s.operators[slot] })
}
func (w *World) Comments(leaf uint64) []uint64 {
	return read(w, func(s *state) []uint64 { return s.comments[leaf] })
}
func (w *World) Outcomes(leaf uint64) []uint64 {
	return read(w, func(s *state) []uint64 { return s.outcomes[leaf] })
}
func (w *World) Disposition(leaf uint64) (uint64, bool) {
	later := read(w, func(s *state) uint64 { return s.dispositions[leaf] })
	return later, later != 0
}
func (w *World) Proposal(leaf uint64) (uint64, bool) {
	later := read(w, func(s *state) uint64 { return s.proposals[leaf] })
	return later, later != 0
}
func (w *World) Statuses() *fsm.Statuses { return nil }

// ListAs returns any list that was ever active. A world has tables of the newest matcher only.
func (w *World) ListAs(digest [32]byte, matcher uint16) (*ofac.Index, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch list := w.lists[digest]; {
	case w.Uncompiled:
		return nil, ofac.ErrBeingCompiled
	case matcher != ofac.MatcherVersion:
		return nil, ofac.ErrMatcherVersion
	case list == nil:
		return nil, errors.New("no such list")
	default:
		return list, nil
	}
}

func (w *World) ListByDigest(digest [32]byte) (*ofac.Index, error) {
	return w.ListAs(digest, ofac.MatcherVersion)
}

// ForgetList makes a list unavailable on all nodes.
func (w *World) ForgetList(digest [32]byte) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.lists, digest)
}

// Leaf and the methods after it implement edge.Records.
func (w *World) Leaf(_ context.Context, index uint64) ([]byte, error) {
	if w.LeafError != nil {
		return nil, w.LeafError
	}
	return w.Store.Leaf(index)
}

func (w *World) View(context.Context, uint64) (*fsm.View, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.shown != nil && !w.ViewIsNewer {
		return w.shown.view, w.ReadError
	}
	return w.machine.Freeze(), w.ReadError
}

func (w *World) ReadIndex(context.Context) (uint64, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.Asked++
	if w.ReadError == nil && !w.Stuck {
		w.shown = nil
	}
	return w.leads.index, w.ReadError
}

func (w *World) WaitApplied(_ context.Context, index uint64) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.Waited++
	if w.ReadError == nil && !w.Stuck {
		w.shown = nil
	}
	return w.ReadError
}

// ReferenceUsed asks the state machine, as a node does.
func (w *World) ReferenceUsed(key engine.ReferenceKey) (uint64, bool, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.machine.ReferenceUsed(key)
}

func (w *World) OperatorsNamed(name string) (engine.OperatorSlot, int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.machine.OperatorsNamed(name)
}

func (w *World) OperatorsLike(fold string) []engine.OperatorSlot {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.machine.OperatorsLike(fold)
}

// Role implements retrace.Cluster: a cluster of one leads.
func (w *World) Role() string { return "leader" }
