package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/seal"
)

// testNode is a group of one node with a real state machine and history. follower adds nodes.
type testNode struct {
	edge.Published // Only the methods defined below work.

	t       testing.TB
	mutex   sync.Mutex
	machine *fsm.Machine
	out     fsm.Effects
	index   uint64
	now     engine.Time
	store   *audit.Store
	disk    *audittest.MemDir // The disk of store.
	set     *fsm.Settings
	role    string
	secrets *seal.Secrets
	deaf    bool // If set, proposals fail.
	records []wire.Delivery
	others  []*audit.Store // Histories of the followers.
}

// TestMain seals and reads a segment before any test: the codec of segments is made once in a
// process, and one made within a bubble of testing/synctest is of no use outside of it.
func TestMain(m *testing.M) {
	store, err := audit.Open(audittest.NewMemDir(), audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	if err != nil {
		panic(err)
	}
	leaves := make([]audit.Leaf, 1<<audit.SegmentLevelMin)
	for i := range leaves {
		leaves[i].Data = []byte{byte(i)}
	}
	if err := store.Append(0, leaves); err != nil {
		panic(err)
	}
	store.FindTime(0) // It reads the segment.
	if err := store.Close(); err != nil {
		panic(err)
	}
	m.Run()
}

const testStart = engine.Time(1774150408589) * engine.Millisecond

func newTestNode(t testing.TB) *testNode {
	disk := audittest.NewMemDir()
	store, err := audit.Open(disk, audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	n := &testNode{t: t, machine: fsm.New(), now: testStart, store: store, disk: disk, role: "leader", secrets: seal.NewSecrets([]byte("a secret of the tests")),
		set: &fsm.Settings{Policy: engine.DefaultPolicy()}}
	n.must(wire.KindGenesis, &wire.Genesis{
		ClusterID: "c", Dev: true, Issuer: "did:kya:railguard", PublicURL: "https://rg.example", Policy: *engine.DefaultPolicy(),
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{9}},
	})
	return n
}

func (n *testNode) must(kind wire.Kind, record any) wire.Result {
	r, err := n.Propose(context.Background(), kind, wire.Encode(record))
	require.NoError(n.t, err)
	require.NotEqual(n.t, wire.Refused, r.Code, "refusal %d", r.Refusal)
	return r
}

func (n *testNode) Propose(_ context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.deaf {
		return wire.Result{}, wire.ErrNoQuorum
	}
	if kind == wire.KindDelivery {
		var d wire.Delivery
		require.NoError(n.t, wire.DecodeBody(body, &d))
		n.records = append(n.records, d)
	}
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: n.now})
	entry = wire.Seal(wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: n.index, Body: body}), 1)
	n.index++
	n.machine.Apply(n.index, 1, entry, &n.out)
	require.Empty(n.t, n.out.Stop)
	var leaves []audit.Leaf
	for _, l := range n.out.Leaves {
		leaves = append(leaves, audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data})
	}
	if len(leaves) > 0 {
		for _, store := range append([]*audit.Store{n.store}, n.others...) {
			require.NoError(n.t, store.Append(n.out.FirstLeaf, leaves))
		}
	}
	if n.out.Settings != nil {
		n.set = n.out.Settings
	}
	return n.out.Results[0], nil
}

func (n *testNode) becomes(role string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.role = role
}

func (n *testNode) Role() string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.role
}

func (n *testNode) Settings() *fsm.Settings {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.set
}

func (n *testNode) LogTime() engine.Time {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.now
}

func (n *testNode) Applied() uint64 { n.mutex.Lock(); defer n.mutex.Unlock(); return n.index }
func (n *testNode) Audit() *audit.Store {
	return n.store
}
func (n *testNode) Leaf(_ context.Context, index uint64) ([]byte, error) {
	return n.store.Leaf(index)
}
func (n *testNode) View(context.Context, uint64) (*fsm.View, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.machine.Freeze(), nil
}
func (n *testNode) ReadIndex(context.Context) (uint64, error)              { return n.Applied(), nil }
func (n *testNode) WaitApplied(context.Context, uint64) error              { return nil }
func (n *testNode) ReferenceUsed(engine.ReferenceKey) (uint64, bool, bool) { return 0, false, true }
func (n *testNode) UsedFrom() uint64                                       { return 0 }
func (n *testNode) ReferenceLeaves(engine.ReferenceKey) ([]audit.PlacedLeaf, uint64, error) {
	return nil, 0, nil
}
func (n *testNode) KeysFrom() uint64                                         { return 0 }
func (n *testNode) KeyedLeaves([16]byte) ([]audit.PlacedLeaf, uint64, error) { return nil, 0, nil }
func (n *testNode) EndedFrom() uint64                                        { return 0 }
func (n *testNode) EndingLeaves(uint64) ([]audit.PlacedLeaf, uint64, error)  { return nil, 0, nil }
func (n *testNode) OperatorsNamed(string) (engine.OperatorSlot, int)         { return 0, 0 }
func (n *testNode) OperatorsLike(string) []engine.OperatorSlot               { return nil }
func (n *testNode) Agent(engine.AgentSlot) *engine.AgentProfile              { return nil }
func (n *testNode) User(engine.UserSlot) *engine.UserProfile                 { return nil }
func (n *testNode) Fleet(engine.FleetSlot) *engine.FleetProfile              { return nil }
func (n *testNode) Operator(engine.OperatorSlot) *engine.OperatorProfile {
	return nil
}

// event causes an event that the institution's webhooks get, and returns its id.
func (n *testNode) event() string {
	n.mutex.Lock()
	at := n.index
	n.mutex.Unlock()
	key := wire.APIKey{ID: fmt.Sprint("k", at), Name: "n", Roles: wire.RoleAdmin, Hashes: [][]byte{append(make([]byte, 24), fmt.Appendf(nil, "%08d", at)...)}}
	r := n.must(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: key})
	return fmt.Sprintf("evt_%d_0", r.Leaf)
}

// rots damages the bytes appended to the history since before, a result of Files. A second
// call repairs them.
func (n *testNode) rots(before map[string]int64) { rot(n.t, n.disk, before) }

func rot(t testing.TB, disk *audittest.MemDir, before map[string]int64) {
	for name, length := range disk.Files() {
		for at := before[name] + 40; at < length; at += 8 {
			require.NoError(t, disk.FlipBit(name, 8*at))
		}
	}
}

func (n *testNode) hook(change ...func(*wire.WebhookPut)) uint32 {
	key, err := seal.NewWebhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(n.t, err)
	sealed, err := n.secrets.SealWebhookKey(key)
	require.NoError(n.t, err)
	put := &wire.WebhookPut{Op: wire.WebhookCreate, Webhook: wire.Webhook{URL: "https://hooks.example/in", Secrets: [][]byte{sealed}}}
	for _, do := range change {
		do(put)
	}
	n.must(wire.KindWebhook, put)
	return n.Settings().WebhookNext
}

func (n *testNode) cursor(id uint32) uint64 {
	v, _ := n.View(context.Background(), 0)
	seq, _, _, found := v.Cursor(id)
	require.True(n.t, found)
	return seq
}

// receivers replaces the network.
type receivers struct {
	mutex  sync.Mutex
	answer func(hook uint32, id string) Attempt
	got    map[uint32][]string // Events of every attempt, by webhook.
	bodies map[string]map[string]any
}

func (r *receivers) post(_ context.Context, hook *wire.Webhook, _ engine.Time, id string, body []byte) Attempt {
	var document map[string]any
	if err := json.Unmarshal(body, &document); err != nil {
		return Attempt{Failure: err.Error()}
	}
	r.mutex.Lock()
	answer := r.answer
	r.got[hook.ID] = append(r.got[hook.ID], id)
	r.bodies[id] = document
	r.mutex.Unlock()
	if answer == nil {
		return Attempt{Status: 200}
	}
	return answer(hook.ID, id)
}

// answers sets what the receivers answer from now on; nil: 200.
func (r *receivers) answers(by func(hook uint32, id string) Attempt) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.answer = by
}

func (r *receivers) had(hook uint32) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string(nil), r.got[hook]...)
}

func newReceivers() *receivers {
	return &receivers{got: map[uint32][]string{}, bodies: map[string]map[string]any{}}
}

// dispatcher returns a dispatcher of the node that sends to r.
func (n *testNode) dispatcher(r *receivers) *Dispatcher {
	judges := edge.New(edge.Deps{Published: n, Records: n, Secrets: n.secrets, Node: "n1", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	return New(n, NewReader(n, judges), r.post, slog.New(slog.NewTextHandler(io.Discard, nil)))
}
