package httpapi

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/audittest"
	"railguard/audit/note"
	"railguard/cluster/report"
	"railguard/edge"
	"railguard/edge/edgetest"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/ofac/sample"
	"railguard/seal"
	"railguard/webhooks"
)

// testNode is a cluster of one node in this process. Behind the interfaces of Deps it has a
// real state machine and a real audit store; only tests move its clock.
type testNode struct {
	t     testing.TB
	mutex sync.Mutex

	machine *fsm.Machine
	out     fsm.Effects
	index   uint64
	seq     uint64
	now     engine.Time
	store   *audit.Store
	*edgetest.Indexes
	disk     *audittest.MemDir // The disk of the audit store.
	written  []audit.Leaf      // All leaves.
	builder  *fsm.StatusBuilder
	statuses *fsm.Statuses // Statuses of the current minute.

	settings     *fsm.Settings
	agents       map[engine.AgentSlot]*engine.AgentProfile
	users        map[engine.UserSlot]*engine.UserProfile
	fleets       map[engine.FleetSlot]*engine.FleetProfile
	operators    map[engine.OperatorSlot]*engine.OperatorProfile
	dispositions map[uint64]uint64
	comments     map[uint64][]uint64
	outcomes     map[uint64][]uint64
	proposals    map[uint64]uint64
	list         *ofac.Index
	lists        map[[32]byte]*ofac.Index
	matchers     ofac.Matchers // Matcher versions that this node has.

	secrets *seal.Secrets
	api     *API
	deps    Deps // The Deps from which api was made.

	proposeError error                                          // If set, every proposal fails with it.
	leafGate     chan struct{}                                  // If set, reading a leaf waits until it is closed.
	leafError    error                                          // If set, reading a leaf fails with it.
	many         func(bodies [][]byte) ([]wire.Result, []error) // If set, it answers ProposeMany.
	before       func(kind wire.Kind)                           // Called without the lock before a proposal is applied.
	status       *report.ClusterStatus                          // If set, Status returns it.
	verbs        []string                                       // Cluster verbs called, in order.
	orderedBy    wire.Common                                    // Who asked for the last change of a member, and why.
	currentness  *report.Currentness                            // If set, what Currentness says.
	readError    error                                          // If set, ReadIndex fails with it.
	hidden       map[engine.AgentSlot]int                       // Agent reports these profiles as unknown for that many calls.
	behind       engine.Time                                    // How far log time lags behind the leader's, until ReadIndex.
}

// testStart is 2026-03-22T03:33:28.589Z, a Sunday.
const testStart = engine.Time(1774150408589) * engine.Millisecond

// Secrets of the test keys; the bootstrap key is admin.
const testAdminSecret = "rg_live_admin000000000000000000000"

var testRoles = map[string]uint16{
	"operator": wire.RoleOperator, "screener": wire.RoleScreener, "reviewer": wire.RoleReviewer,
	"auditor": wire.RoleAuditor, "policy": wire.RolePolicy, "ops": wire.RoleOps, "settler": wire.RoleSettler, "viewer": wire.RoleViewer, "gateway": wire.RoleGateway,
}

func testSecret(role string) string {
	if role == "admin" {
		return testAdminSecret
	}
	return "rg_live_" + role + strings.Repeat("0", 28-len(role))
}

// newTestNode boots a cluster of one with fixed secrets, the embedded sample list and one
// API key per role.
func newTestNode(t testing.TB) *testNode {
	t.Helper()
	return newTestNodeWith(t, func(*wire.Genesis) {})
}

// newTestNodeWith returns a node whose genesis was changed.
func newTestNodeWith(t testing.TB, change func(*wire.Genesis)) *testNode {
	t.Helper()
	n := &testNode{
		t: t, builder: fsm.NewStatusBuilder(), machine: fsm.New(), now: testStart, settings: &fsm.Settings{Policy: engine.DefaultPolicy()},
		agents: map[engine.AgentSlot]*engine.AgentProfile{}, users: map[engine.UserSlot]*engine.UserProfile{},
		fleets: map[engine.FleetSlot]*engine.FleetProfile{}, operators: map[engine.OperatorSlot]*engine.OperatorProfile{}, dispositions: map[uint64]uint64{},
		comments: map[uint64][]uint64{}, outcomes: map[uint64][]uint64{}, proposals: map[uint64]uint64{}, lists: map[[32]byte]*ofac.Index{}, matchers: ofac.Carried(), hidden: map[engine.AgentSlot]int{},
		secrets: seal.NewSecrets([]byte("a cluster secret of the tests")),
	}
	n.disk = audittest.NewMemDir()
	store, err := audit.Open(n.disk, audit.Options{SegmentLevel: audit.SegmentLevelMin, SealInline: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	n.store = store
	n.Indexes = edgetest.OpenIndexes(t, store)
	n.deps = Deps{
		Proposer: n, Published: n, Records: n, Lists: n, Operations: n, Secrets: n.secrets,
		Node: "n1", Version: "0.0.0-test", AdminToken: "admin-token-of-the-tests", Now: n.wallClock,
		Backup: partsOfABackup, Webhooks: webhooks.NewSender(webhooks.SenderConfig{Secrets: n.secrets, Version: "0.0.0-test", Dev: true, Dial: dialLoopback}),
	}
	n.reopen(nil)
	genesis := n.genesis()
	change(genesis)
	n.must(wire.KindGenesis, genesis)
	for _, role := range edge.RoleNames[:6] {
		n.addKey(wire.APIKey{ID: "key_" + role, Name: "test " + role, Roles: testRoles[role]}, testSecret(role))
	}
	n.activate(sample.Entities(), sample.Meta())
	return n
}

// genesis is NewGenesis with every random choice fixed, so that transcripts have the same
// bytes on every run.
func (n *testNode) genesis() *wire.Genesis {
	g, err := seal.NewGenesis(seal.GenesisOptions{
		Secrets: n.secrets, PublicURL: "https://pay.example.com", Dev: true, TestClock: true, APISecret: testAdminSecret,
	})
	require.NoError(n.t, err)
	g.ClusterID, g.IDKey, g.SaltKey, g.APIKey.ID, g.Policy.TwoPersons = "cl_test", [16]byte{1, 2, 3}, [16]byte{4, 5, 6}, "key_bootstrap", 0 // Only tests of two persons want two.
	for number, key := range map[byte]*wire.SigningKey{7: &g.SigningKey, 8: &g.PermitKey} {
		scalar := make([]byte, 32)
		scalar[31] = number
		private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
		require.NoError(n.t, err)
		public, err := private.PublicKey.Bytes()
		require.NoError(n.t, err)
		key.Public = public[1:]
		key.Sealed, err = n.secrets.Seal(seal.LabelSigningKey, scalar)
		require.NoError(n.t, err)
	}
	seed := make([]byte, note.SeedSize)
	signer, err := note.NewSigner("pay.example.com/cl_test", seed)
	require.NoError(n.t, err)
	g.LogKeys = signer.VerifierKeys()
	g.LogSeed, err = n.secrets.Seal(seal.LabelLogSeed, seed)
	require.NoError(n.t, err)
	return &g
}

// addKey makes an API key. Its owner is an operator's legal name here, or a caller's id.
func (n *testNode) addKey(key wire.APIKey, secret string) {
	key.Prefix, key.Hashes = seal.KeyPrefix(secret), [][]byte{seal.HashAPISecret(secret)}
	put := &wire.APIKeyPut{Op: wire.KeyCreate, Key: key}
	if !strings.HasPrefix(key.Owner, wire.OwnerCallerPrefix) {
		put.Operator, put.Key.Owner = operatorNamed(key.Owner), ""
	}
	n.must(wire.KindAPIKey, put)
}

func (n *testNode) must(kind wire.Kind, record any) wire.Result {
	n.t.Helper()
	result, err := n.Propose(context.Background(), kind, wire.Encode(record))
	require.NoError(n.t, err)
	require.Equal(n.t, wire.Applied, result.Code, "refusal %d", result.Refusal)
	return result
}

// wallClock is the node's own clock; it equals log time.
func (n *testNode) wallClock() time.Time {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return time.Unix(0, int64(n.now))
}

// advance moves log time on, as ticks do.
func (n *testNode) advance(d engine.Time) {
	n.mutex.Lock()
	n.now += d
	n.mutex.Unlock()
	_, err := n.Propose(context.Background(), wire.KindTick, wire.Encode(&wire.Tick{}))
	require.NoError(n.t, err)
}

// testNode implements Proposer with these methods.

func (n *testNode) Propose(_ context.Context, kind wire.Kind, body []byte) (wire.Result, error) {
	if n.before != nil {
		n.before(kind)
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.proposeError != nil && kind != wire.KindTick {
		return wire.Result{}, n.proposeError
	}
	if len(body) > engine.RecordMax && kind != wire.KindPolicy && kind != wire.KindWhitelist && kind != wire.KindListChunk {
		return wire.Result{}, wire.ErrTooLarge
	}
	n.seq++
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: n.now})
	entry = wire.Seal(wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: n.seq, Body: body}), 1)
	n.index++
	n.machine.Apply(n.index, 1, entry, &n.out)
	require.Empty(n.t, n.out.Stop)
	n.publish()
	return n.out.Results[0], nil
}

// ProposeMany applies the records in order, as one entry.
func (n *testNode) ProposeMany(ctx context.Context, kind wire.Kind, bodies [][]byte) ([]wire.Result, []error) {
	if n.many != nil {
		return n.many(bodies)
	}
	results, errs := make([]wire.Result, len(bodies)), make([]error, len(bodies))
	if n.before != nil {
		n.before(kind)
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: 1, Time: n.now})
	for i, body := range bodies {
		if errs[i] = n.proposeError; errs[i] != nil {
			return results, slices.Repeat([]error{n.proposeError}, len(bodies))
		}
		n.seq++
		entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: n.seq, Body: body})
	}
	n.index++
	n.machine.Apply(n.index, 1, wire.Seal(entry, len(bodies)), &n.out)
	require.Empty(n.t, n.out.Stop)
	n.publish()
	copy(results, n.out.Results)
	return results, errs
}

// publish handles effects as the cluster's adapter does.
func (n *testNode) publish() {
	leaves := make([]audit.Leaf, len(n.out.Leaves))
	for i, l := range n.out.Leaves {
		leaves[i] = audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data}
	}
	for _, l := range leaves {
		l.Data = bytes.Clone(l.Data)
		n.written = append(n.written, l)
	}
	if len(leaves) > 0 {
		require.NoError(n.t, n.store.Append(n.out.FirstLeaf, leaves))
	}
	n.Take(&n.out, leaves, n.outcomes)
	for _, p := range n.out.Agents {
		n.agents[p.Slot] = p
	}
	for _, p := range n.out.Users {
		n.users[p.Slot] = p
	}
	forget(n.users, n.out.UsersGone)
	forget(n.agents, n.out.AgentsGone)
	forget(n.fleets, n.out.FleetsGone)
	for _, p := range n.out.Fleets {
		n.fleets[p.Slot] = p
	}
	for _, p := range n.out.Operators {
		n.operators[p.Slot] = p
	}
	for _, link := range n.out.Dispositions {
		n.dispositions[link.Leaf] = link.Later
	}
	for _, link := range n.out.Proposals {
		if n.proposals[link.Leaf] = link.Later; link.Later == 0 {
			delete(n.proposals, link.Leaf)
		}
	}
	for _, link := range n.out.Outcomes {
		if !link.Late {
			delete(n.outcomes, link.Leaf)
		}
		n.outcomes[link.Leaf] = append(n.outcomes[link.Leaf], link.Later)
	}
	for _, link := range n.out.Comments {
		n.comments[link.Leaf] = append(n.comments[link.Leaf], link.Later)
	}
	if n.out.ListData != nil {
		list, err := openEntities(n.out.ListData)
		require.NoError(n.t, err)
		n.list, n.lists[list.Digest()] = list, list
	}
	if n.out.Settings != nil {
		n.settings = n.out.Settings
	}
	if n.out.Statuses != nil {
		n.statuses = n.builder.Build(n.out.Statuses)
	}
}

// testNode implements Published with these methods.

func (n *testNode) Settings() *fsm.Settings {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.settings
}
func (n *testNode) List() *ofac.Index { n.mutex.Lock(); defer n.mutex.Unlock(); return n.list }
func (n *testNode) LogTime() engine.Time {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.now - n.behind
}
func (n *testNode) Applied() uint64 { n.mutex.Lock(); defer n.mutex.Unlock(); return n.index }

func (n *testNode) Agent(slot engine.AgentSlot) *engine.AgentProfile {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.hidden[slot] > 0 {
		n.hidden[slot]--
		return nil
	}
	return n.agents[slot]
}

func (n *testNode) User(slot engine.UserSlot) *engine.UserProfile {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.users[slot]
}

func (n *testNode) Fleet(slot engine.FleetSlot) *engine.FleetProfile {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.fleets[slot]
}

func (n *testNode) Disposition(leaf uint64) (uint64, bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	later, ok := n.dispositions[leaf]
	return later, ok
}

func (n *testNode) ListByDigest(digest [32]byte) (*ofac.Index, error) {
	return n.ListAs(digest, n.Settings().Matcher)
}

func (n *testNode) ListAs(digest [32]byte, matcher uint16) (*ofac.Index, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.matchers.Carries(matcher) {
		return nil, fmt.Errorf("%w %d", ofac.ErrMatcherVersion, matcher)
	}
	if list := n.lists[digest]; list != nil {
		return list, nil
	}
	return nil, errors.New("no such list")
}

// testNode implements Records with these methods.

func (n *testNode) Audit() *audit.Store { return n.store }

func (n *testNode) Leaf(ctx context.Context, index uint64) ([]byte, error) {
	if n.leafGate != nil {
		select {
		case <-n.leafGate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if n.leafError != nil {
		return nil, n.leafError
	}
	return n.store.Leaf(index)
}

func (n *testNode) View(context.Context, uint64) (*fsm.View, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.machine.Freeze(), nil
}

func (n *testNode) ReadIndex(context.Context) (uint64, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.readError == nil {
		n.behind = 0
	}
	return n.index, n.readError
}

// testNode implements Lists with these methods.

func (n *testNode) Stage(ctx context.Context, entities []byte, info wire.ListInfo, replace bool, common wire.Common) (wire.Result, error) {
	var result wire.Result
	step := min(engine.ListChunkMax, (len(entities)+1)/2) // At least two entries of the log are needed to stage a list.
	for offset := 0; offset < len(entities); offset += step {
		end := min(offset+step, len(entities))
		chunk := &wire.ListChunk{Digest: info.Digest, Total: uint32(len(entities)), Offset: uint32(offset), Data: entities[offset:end]}
		if end == len(entities) {
			chunk.Info, chunk.Common, chunk.Replace = &info, common, replace
		}
		var err error
		if result, err = n.Propose(ctx, wire.KindListChunk, wire.Encode(chunk)); err != nil {
			return result, err
		}
	}
	return result, nil
}

// testNode implements Operations with these methods.

func (n *testNode) NodeID() string { return "n1" }
func (n *testNode) Role() string   { return "leader" }

func (n *testNode) Status(context.Context) report.ClusterStatus {
	if n.status != nil {
		return *n.status
	}
	return report.ClusterStatus{
		ClusterID: "cl_test", Node: "n1", Role: "leader", Term: 1, Leader: &report.LeaderInfo{ID: "n1", Addr: "127.0.0.1:7000", APIAddr: "127.0.0.1:8080"},
		Quorum: report.QuorumInfo{Voters: 1, Healthy: 1}, Writes: report.WriteState{State: "ok"},
		Nodes: []report.NodeStatus{{ID: "n1", Suffrage: "voter", Role: "leader", Healthy: true, FormatMax: uint16(engine.FormatNewest)}},
	}
}

func (n *testNode) Ready(_ context.Context, query report.ReadyQuery) report.Readiness {
	ready := report.Readiness{Ready: true, Checks: []report.ReadyCheck{{Name: "node", OK: true, Text: "ok"}}}
	if !query.NoLeader {
		ready.Checks = append(ready.Checks, report.ReadyCheck{Name: "leader", OK: true, Text: "ok (n1)"})
	}
	return ready
}

func (n *testNode) verb(words ...string) error {
	n.verbs = append(n.verbs, strings.Join(words, " "))
	return nil
}

func (n *testNode) TransferLeader(_ context.Context, to string) error { return n.verb("transfer", to) }
func (n *testNode) Undrain()                                          { _ = n.verb("undrain") }
func (n *testNode) Drain(context.Context) error                       { return n.verb("drain") }
func (n *testNode) Admit(_ context.Context, id, addr, _ string, by wire.Common) error {
	n.orderedBy = by
	return n.verb("admit", id, addr)
}
func (n *testNode) Remove(_ context.Context, id string, force bool, by wire.Common) error {
	n.orderedBy = by
	return n.verb(forced("remove", id, force)...)
}
func (n *testNode) Promote(_ context.Context, id string, by wire.Common) error {
	n.orderedBy = by
	return n.verb("promote", id)
}
func (n *testNode) Demote(_ context.Context, id string, force bool, by wire.Common) error {
	n.orderedBy = by
	return n.verb(forced("demote", id, force)...)
}

// MatcherReady behaves as if all nodes had this node's matchers.
func (n *testNode) MatcherReady(to uint16) error {
	if !n.matchers.Carries(to) {
		return fmt.Errorf("cluster: not ready: n1 carries %v", n.matchers)
	}
	return nil
}

func forced(verb, id string, force bool) []string {
	if force {
		return []string{verb, id, "force"}
	}
	return []string{verb, id}
}

func (n *testNode) Snapshot(context.Context) (report.SnapshotInfo, error) {
	return report.SnapshotInfo{ID: "1-2", Index: n.Applied(), Term: 1, Size: 3, Time: "2026-03-22T00:00:00.000Z"}, n.verb("snapshot")
}

func (n *testNode) SaveSnapshot(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, "snapshot bytes")
	return err
}
