package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// testGenesis returns a genesis without real secrets, under whose policy no list is too old: there is
// none, and payments that are all reviewed would show nothing of limits.
func testGenesis() wire.Genesis {
	policy := *engine.DefaultPolicy()
	policy.ListReviewAge = 0
	return wire.Genesis{
		ClusterID: "test-cluster", Dev: true, Issuer: "did:kya:test", PublicURL: "https://localhost",
		IDKey: [16]byte{1}, SaltKey: [16]byte{2},
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{1}},
		Policy:     policy,
	}
}

// aloneConfig returns the configuration of a group of one on its own folder.
func aloneConfig(t testing.TB, dir string) Config {
	return Config{
		ID: "n1", DataDir: dir, BootstrapExpect: 1, Genesis: testGenesis, Version: "test",
		Timing: Timing{Heartbeat: 50 * time.Millisecond, Commit: 5 * time.Millisecond},
		Fatal:  func(reason string) { t.Errorf("node gave up: %s", reason) },
	}
}

func openAlone(t testing.TB, dir string, change ...func(*Config)) *Node {
	config := aloneConfig(t, dir)
	for _, c := range change {
		c(&config)
	}
	n, err := Open(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	awaitReady(t, n)
	return n
}

func awaitReady(t testing.TB, n *Node) {
	require.Eventually(t, func() bool {
		return n.Ready(t.Context(), report.ReadyQuery{}).Ready
	}, groupPatience, 2*time.Millisecond, "%v", n.Ready(context.Background(), report.ReadyQuery{}))
}

// register returns a record that registers an agent under a name.
func register(name string) []byte {
	return wire.Encode(&wire.Register{
		Common:   wire.Common{Fragment: []byte(`"agentName":"` + name + `"`)},
		Operator: wire.OperatorRef{Name: "acme"},
		Profile: engine.AgentProfile{
			AgentName: name, OperatorLegalName: "Acme", Type: engine.Supervised,
			Policy: engine.SpendPolicy{MaxSingle: engine.NoLimit, DailyLimit: engine.NoLimit},
		},
	})
}

// propose proposes a record through a node. It tries again after an error that says that
// nothing happened, as when the group is electing another leader.
func propose(t testing.TB, n *Node, kind wire.Kind, body []byte) wire.Result {
	t.Helper()
	r, err := n.Propose(t.Context(), kind, body)
	for began := time.Now(); (errors.Is(err, wire.ErrNoLeader) || errors.Is(err, wire.ErrNoQuorum)) && time.Since(began) < groupPatience; {
		time.Sleep(20 * time.Millisecond)
		r, err = n.Propose(t.Context(), kind, body)
	}
	require.NoError(t, err)
	require.Equal(t, wire.Applied, r.Code, "%+v", r)
	return r
}

func TestAloneProposeAndReopen(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	require.NotNil(t, n.Settings().Genesis)
	first := propose(t, n, wire.KindRegister, register("first"))
	require.Contains(t, string(first.Data), `"agentName":"first"`)
	leaf, err := n.Leaf(t.Context(), first.Leaf)
	require.NoError(t, err)
	require.Equal(t, first.Data, leaf)
	require.Equal(t, "first", n.Agent(1).AgentName)
	require.Nil(t, n.Agent(2))
	require.NoError(t, n.Close())

	again := openAlone(t, dir)
	require.Equal(t, "first", again.Agent(1).AgentName)
	leaf, err = again.Leaf(t.Context(), first.Leaf)
	require.NoError(t, err)
	require.Equal(t, first.Data, leaf)
	second := propose(t, again, wire.KindRegister, register("second"))
	require.Equal(t, first.Leaf+1, second.Leaf)
	require.Greater(t, second.Index, first.Index)
	require.GreaterOrEqual(t, second.Time, first.Time)
}

func TestAloneSnapshotAndReopen(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	for i := range 20 {
		propose(t, n, wire.KindRegister, register(fmt.Sprintf("before-%d", i)))
	}
	info, err := n.Snapshot(t.Context())
	require.NoError(t, err)
	require.NotZero(t, info.Index)
	for i := range 5 {
		propose(t, n, wire.KindRegister, register(fmt.Sprintf("after-%d", i)))
	}
	before, err := n.View(t.Context(), n.Applied())
	require.NoError(t, err)
	require.NoError(t, n.Close())
	requirePrivate(t, dir)

	again := openAlone(t, dir)
	require.NoError(t, again.WaitApplied(t.Context(), before.Index))
	require.Equal(t, "after-4", again.Agent(25).AgentName)
	view, err := again.View(t.Context(), before.Index)
	require.NoError(t, err)
	require.Equal(t, before.Root, mustRoot(t, again, before.Size))
	require.GreaterOrEqual(t, view.Size, before.Size)
	require.Equal(t, info.Index, newestSnapshot(again.snaps))
}

func mustRoot(t testing.TB, n *Node, size uint64) [32]byte {
	root, err := n.Audit().Root(size)
	require.NoError(t, err)
	return root
}

// requirePrivate checks that nobody but the owner can read anything in a folder.
func requirePrivate(t *testing.T, dir string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %v", path, info.Mode())
		return nil
	}))
}

func TestAloneManyCallers(t *testing.T) {
	n := openAlone(t, t.TempDir())
	const callers, each = 32, 40
	leaves := make(chan uint64, callers*each)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				r, err := n.Propose(t.Context(), wire.KindRegister, register(fmt.Sprintf("agent-%d-%d", c, i)))
				if err == nil && r.Code == wire.Applied {
					leaves <- r.Leaf
				}
			}
		})
	}
	all.Wait()
	close(leaves)
	seen := map[uint64]bool{}
	for leaf := range leaves {
		require.False(t, seen[leaf], "leaf %d answered twice", leaf)
		seen[leaf] = true
	}
	require.Len(t, seen, callers*each)
	require.Zero(t, n.waiters.countWaiting())
}

func TestViewHoldsWhatWasApplied(t *testing.T) {
	n := openAlone(t, t.TempDir())
	for i := range 50 {
		r := propose(t, n, wire.KindRegister, register(fmt.Sprintf("a%d", i)))
		view, err := n.View(t.Context(), r.Index)
		require.NoError(t, err)
		require.GreaterOrEqual(t, view.Index, r.Index)
		require.Equal(t, i+1, view.Agents())
	}
}

func TestReadIndexAlone(t *testing.T) {
	n := openAlone(t, t.TempDir())
	r := propose(t, n, wire.KindRegister, register("a"))
	index, err := n.ReadIndex(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, index, r.Index)
	require.GreaterOrEqual(t, n.Applied(), index)
}

func TestStageList(t *testing.T) {
	n := openAlone(t, t.TempDir())
	var parties []ofac.Entity
	for i := range 6_000 {
		parties = append(parties, ofac.Entity{
			UID: uint32(i + 1), Type: ofac.Company, Lists: ofac.ListSDN, Programs: []string{"TEST"},
			Names: []ofac.Name{{ID: uint32(i + 1), AliasType: "Name", Primary: true, Script: "Latin", Full: fmt.Sprintf("Company of the number %d", i)}},
		})
	}
	entities, err := ofac.EncodeEntities(parties, ofac.Meta{Source: "test", PublishedAt: 1})
	require.NoError(t, err)
	require.Greater(t, len(entities), 2*engine.ListChunkMax, "in several records")
	r, err := n.Stage(t.Context(), entities, wire.ListInfo{Source: "test", Entries: 6_000}, false, wire.Common{})
	require.NoError(t, err)
	require.Equal(t, wire.Applied, r.Code)
	require.Len(t, n.Settings().Staged, 1)
	require.EqualValues(t, len(entities), n.Settings().Staged[0].Size)

	_, err = n.Stage(t.Context(), nil, wire.ListInfo{}, false, wire.Common{})
	require.ErrorIs(t, err, wire.ErrTooLarge)
}

func TestWaitsUntilTold(t *testing.T) {
	config := aloneConfig(t, t.TempDir())
	config.BootstrapExpect = 0
	n, err := Open(config)
	require.NoError(t, err)
	defer n.Close()
	time.Sleep(5 * config.Timing.Heartbeat) // Long enough for an election, if one were to come.
	ready := n.Ready(t.Context(), report.ReadyQuery{})
	require.False(t, ready.Ready)
	require.Equal(t, waitingText, ready.Checks[0].Text)
	require.Nil(t, n.Settings().Genesis)
	status := n.Status(t.Context())
	require.Contains(t, status.Warnings, waitingText)
	require.Equal(t, "no_quorum", status.Writes.State)
	require.Nil(t, status.Leader)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = n.Propose(ctx, wire.KindRegister, register("a"))
	require.ErrorIs(t, err, wire.ErrNoLeader)
}

func TestProposeTooLarge(t *testing.T) {
	n := openAlone(t, t.TempDir())
	for _, test := range []struct {
		kind wire.Kind
		max  int
	}{
		{wire.KindScreen, engine.RecordMax},
		{wire.KindPolicy, engine.PolicyRecordMax},
	} {
		_, err := n.Propose(t.Context(), test.kind, make([]byte, test.max+1))
		require.ErrorIs(t, err, wire.ErrTooLarge)
		r, err := n.Propose(t.Context(), test.kind, make([]byte, test.max))
		require.NoError(t, err)
		require.Equal(t, wire.RefusedMalformed, r.Refusal)
	}
}

func TestStatusAlone(t *testing.T) {
	n := openAlone(t, t.TempDir())
	r := propose(t, n, wire.KindRegister, register("a"))
	s := n.Status(t.Context())
	require.Equal(t, "test-cluster", s.ClusterID)
	require.Equal(t, "leader", s.Role)
	require.Equal(t, "n1", s.Leader.ID)
	require.Equal(t, report.QuorumInfo{Voters: 1, Healthy: 1}, s.Quorum)
	require.Equal(t, "ok", s.Writes.State)
	require.GreaterOrEqual(t, s.Index.Applied, r.Index)
	require.Len(t, s.Nodes, 1)
	require.True(t, s.Nodes[0].Healthy)
	require.Zero(t, s.Nodes[0].Lag)
	require.Empty(t, s.Warnings)
}

func TestDrainAndClose(t *testing.T) {
	n := openAlone(t, t.TempDir())
	propose(t, n, wire.KindRegister, register("a"))
	require.NoError(t, n.Drain(t.Context()))
	require.False(t, n.Ready(t.Context(), report.ReadyQuery{}).Ready)
	_, err := n.Propose(t.Context(), wire.KindRegister, register("b"))
	require.ErrorIs(t, err, wire.ErrShuttingDown)
	require.NoError(t, n.Close())
	_, err = n.Propose(t.Context(), wire.KindRegister, register("c"))
	require.ErrorIs(t, err, wire.ErrShuttingDown)
	require.Error(t, n.WaitApplied(t.Context(), n.Applied()+1))
}
