package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/audit/proof"
	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
	"railguard/cluster/report"
	"railguard/engine"
	"railguard/fsm/wire"
)

// order is a complete order, confirmed by two people.
var order = recovery.Order{ClusterID: "test-cluster", By: "Ada", Second: "Bob", Reason: "the hall burnt down"}

// hashFolder hashes names, modes and bytes of everything in a folder.
func hashFolder(t *testing.T, dir string) string {
	sum := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		fmt.Fprintln(sum, path, info.Mode(), info.ModTime())
		if entry.Type().IsRegular() {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			sum.Write(data)
		}
		return nil
	}))
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func (g *group) folder(id string) string { return filepath.Join(g.dir, id) }

// loseMajority forms three nodes, lets them acknowledge records, and stops all of them. The
// survivor has one more entry of its own that nobody acknowledged.
func loseMajority(t *testing.T, g *group) (survivor string, lost []string) {
	g.form(3)
	leader := g.leader()
	for i := range 10 {
		propose(t, leader, wire.KindRegister, register(fmt.Sprintf("a%d", i)))
	}
	keyed := wire.Note{Event: "agent.refused", Common: wire.Common{Idem: &wire.Idem{Key: [16]byte{7}, Body: [16]byte{7}}}}
	propose(t, leader, wire.KindNote, wire.Encode(&keyed))
	_, err := leader.Snapshot(t.Context())
	require.NoError(t, err)
	for i := range 10 {
		propose(t, leader, wire.KindRegister, register(fmt.Sprintf("b%d", i)))
	}
	g.awaitEqual()
	survivor = leader.NodeID()
	for id := range g.all() {
		if id != survivor {
			lost = append(lost, id)
			g.close(id)
		}
	}
	g.close(survivor)
	g.leaveUncommitted(survivor)
	return survivor, lost
}

// leaveUncommitted appends one more entry to the log of a closed node, as a leader that lost
// its followers leaves behind. The test writes it by hand: a leader that notices the loss too
// early appends nothing more.
func (g *group) leaveUncommitted(id string) {
	store, err := datadir.OpenLog(filepath.Join(g.folder(id), datadir.RaftFolder))
	require.NoError(g.t, err)
	defer func() { require.NoError(g.t, store.Close()) }()
	last, err := store.LastIndex()
	require.NoError(g.t, err)
	var end, entry raft.Log
	require.NoError(g.t, store.GetLog(last, &end))
	for index := last; entry.Type != raft.LogCommand || entry.Index == 0; index-- {
		require.NoError(g.t, store.GetLog(index, &entry))
	}
	batch, err := wire.Decode(entry.Data)
	require.NoError(g.t, err)
	head := wire.AppendHeader(nil, wire.Header{Format: batch.Header.Format, Term: end.Term, Time: batch.Header.Time + 1})
	data := wire.AppendRecord(head, wire.Record{Kind: wire.KindRegister, Version: wire.RecordVersion, Body: register("never acknowledged")})
	require.NoError(g.t, store.StoreLog(&raft.Log{Index: last + 1, Term: end.Term, Type: raft.LogCommand, Data: wire.Seal(data, 1)}))
}

// recoveredLeaves returns the leaves of recoveries, with their indices.
func recoveredLeaves(t *testing.T, n *Node) (found []audit.Leaf, indices []uint64) {
	_, err := n.Audit().Scan(audit.Query{
		To: n.Audit().Size(), Keys: []uint64{engine.FilterKey(engine.FilterKind, wire.EventRecovered)},
	}, func(index uint64, leaf audit.Leaf) bool {
		found, indices = append(found, leaf), append(indices, index)
		return true
	})
	require.NoError(t, err)
	return found, indices
}

func TestRecoverLostMajority(t *testing.T) {
	g := newGroup(t)
	survivor, lost := loseMajority(t, g)
	dir := g.folder(survivor)

	before := hashFolder(t, dir)
	report, err := recovery.Inspect(recovery.Source{Dir: dir, Compare: []string{g.folder(lost[0])}})
	require.NoError(t, err)
	require.Equal(t, before, hashFolder(t, dir), "looking changes nothing")
	require.Empty(t, report.Problems)
	require.Equal(t, "test-cluster", report.ClusterID)
	require.Equal(t, survivor, report.Node)
	require.Len(t, report.Members, 3)
	require.NotZero(t, report.SnapshotIndex)
	require.Equal(t, survivor, report.Furthest)
	require.False(t, report.Behind)
	require.NotZero(t, report.Uncertain.Entries)
	require.Equal(t, report.LastIndex-report.CommittedIndex, report.Uncertain.Entries)
	require.Equal(t, uint64(1), report.Uncertain.Leaves, "the registration nobody acknowledged")
	require.Equal(t, "agent.registered", report.Uncertain.Listed[0].Kind)
	require.Equal(t, report.AuditOnDisk+1, report.AuditLeaves)

	_, err = recovery.Recover(recovery.Source{Dir: dir}, order)
	require.NoError(t, err)
	report, err = recovery.Inspect(recovery.Source{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, datadir.RecoveryWaiting, report.Earlier.State)
	require.Len(t, report.Members, 1)

	n := g.open(survivor)
	awaitReady(t, n)
	requireRecorded(t, n, report)
	require.Equal(t, "b9", n.Agent(20).AgentName)
	require.Equal(t, "never acknowledged", n.Agent(21).AgentName)
	keyed := wire.Note{Event: "agent.refused", Common: wire.Common{Idem: &wire.Idem{Key: [16]byte{7}, Body: [16]byte{7}}}}
	again, err := n.Propose(t.Context(), wire.KindNote, wire.Encode(&keyed))
	require.NoError(t, err)
	require.Equal(t, wire.Replayed, again.Code, "keys of idempotency are kept")

	joinAnew(t, g, n, lost)
	for _, other := range g.all() {
		leaves, _ := recoveredLeaves(t, other)
		require.Len(t, leaves, 1)
		require.Eventually(t, func() bool { return len(other.Audit().Missing(1)) == 0 }, 20*time.Second, 10*time.Millisecond)
	}

	for id := range g.all() { // The whole group restarts, and the lineage must stay.
		g.close(id)
	}
	for _, id := range append([]string{survivor}, lost...) {
		g.open(id)
	}
	g.awaitReady()
	propose(t, g.leader(), wire.KindRegister, register("later"))
	leaves, _ := recoveredLeaves(t, g.leader())
	require.Len(t, leaves, 1, "one leaf for ever")
	g.awaitEqual()
}

// requireRecorded checks the leaf: it is the recovered group's first one, and has a proof.
func requireRecorded(t *testing.T, n *Node, report *recovery.Report) {
	leaves, indices := recoveredLeaves(t, n)
	require.Len(t, leaves, 1)
	require.Equal(t, report.AuditLeaves, indices[0], "no leaf came before it")
	var told map[string]any
	require.NoError(t, json.Unmarshal(leaves[0].Data, &told))
	require.Equal(t, "test-cluster", told["clusterId"])
	require.Equal(t, n.NodeID(), told["node"])
	require.Equal(t, "Ada", told["by"])
	require.Equal(t, "Bob", told["second"])
	require.Equal(t, order.Reason, told["reason"])
	require.Equal(t, n.lineage.record.Lineage, told["lineage"])
	require.Equal(t, n.lineage.record.Lineage, n.Settings().Lineage)
	require.Equal(t, n.lineage.record.Lineage, n.Settings().LogLines[len(n.Settings().LogLines)-1].Lineage, "the log goes on under its name")
	require.EqualValues(t, n.lineage.record.LastIndex, told["lastIndex"])
	require.EqualValues(t, n.lineage.record.LastIndex+1, told["possiblyLostFromIndex"])
	size := n.Audit().Size()
	path, err := n.Audit().Inclusion(indices[0], size)
	require.NoError(t, err)
	require.NoError(t, proof.VerifyInclusion(leaves[0].Data, indices[0], size, path, mustRoot(t, n, size)))
}

// joinAnew wipes the lost nodes and lets them join through the recovered one.
func joinAnew(t *testing.T, g *group, n *Node, lost []string) {
	for _, id := range lost {
		require.NoError(t, os.RemoveAll(g.folder(id)))
		g.open(id, join(g.host(n.NodeID())))
	}
	require.Eventually(t, func() bool { return n.Status(t.Context()).Quorum.Voters == 1+len(lost) }, 30*time.Second, 20*time.Millisecond)
	g.awaitReady()
	propose(t, n, wire.KindRegister, register("with the new ones"))
	g.awaitEqual()
}

func TestRecoverAfterAnyKill(t *testing.T) {
	g := newGroup(t)
	survivor, _ := loseMajority(t, g)
	killed := errors.New("killed")
	for _, step := range []string{"begun", "copy of node.json", "copy of raft.db", "backup", "term", "membership", "identity", "waiting"} {
		t.Run(step, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), survivor)
			require.NoError(t, os.CopyFS(dir, os.DirFS(g.folder(survivor))))
			before, err := recovery.Inspect(recovery.Source{Dir: dir})
			require.NoError(t, err)
			_, err = recovery.RecoverStepwise(recovery.Source{Dir: dir}, order, func(done string) error {
				if done == step {
					return killed
				}
				return nil
			})
			require.ErrorIs(t, err, killed)
			if step != "waiting" {
				_, err = Open(g.config(survivor, func(c *Config) { c.DataDir = dir }))
				require.ErrorContains(t, err, "not finished")
				halfway, err := recovery.Inspect(recovery.Source{Dir: dir})
				require.NoError(t, err)
				require.Equal(t, datadir.RecoveryBegun, halfway.Earlier.State)
				require.Equal(t, before.LastIndex, halfway.LastIndex)
				require.Equal(t, before.Members, halfway.Members)
				_, err = recovery.Recover(recovery.Source{Dir: dir}, order)
				require.NoError(t, err)
			}
			n := g.open(survivor, func(c *Config) { c.DataDir = dir })
			awaitReady(t, n)
			requireRecorded(t, n, before)
			require.Equal(t, "never acknowledged", n.Agent(21).AgentName)
			saved, err := filepath.Glob(filepath.Join(dir, recovery.BackupNameStart+"*"))
			require.NoError(t, err)
			require.Len(t, saved, 1)
			require.Equal(t, mustRead(t, filepath.Join(g.folder(survivor), datadir.IdentityFile)), mustRead(t, filepath.Join(saved[0], datadir.IdentityFile)))
			written, still, err := datadir.LogFiles(filepath.Join(g.folder(survivor), datadir.RaftFolder))
			require.NoError(t, err)
			for _, path := range append(written, still...) {
				require.True(t, bytes.Equal(mustRead(t, path), mustRead(t, filepath.Join(saved[0], filepath.Base(path)))), path)
			}
			g.close(survivor)
		})
	}
}

func mustRead(t *testing.T, path string) []byte {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// TestRecoverLeafOnceAfterKill: a node is killed after it wrote the leaf and before it recorded
// that on disk. It writes no second leaf.
func TestRecoverLeafOnceAfterKill(t *testing.T) {
	g := newGroup(t)
	survivor, _ := loseMajority(t, g)
	_, err := recovery.Recover(recovery.Source{Dir: g.folder(survivor)}, order)
	require.NoError(t, err)
	waiting := mustRead(t, filepath.Join(g.folder(survivor), datadir.RecoveryFile))
	awaitReady(t, g.open(survivor))
	g.close(survivor)
	require.NoError(t, os.WriteFile(filepath.Join(g.folder(survivor), datadir.RecoveryFile), waiting, 0o600))
	n := g.open(survivor)
	awaitReady(t, n)
	leaves, _ := recoveredLeaves(t, n)
	require.Len(t, leaves, 1)
	require.False(t, n.lineage.waiting.Load())
}

func TestRecoverRefusals(t *testing.T) {
	g := newGroup(t)
	survivor, lost := loseMajority(t, g)
	dir := g.folder(survivor)
	change := func(change func(*recovery.Order)) recovery.Order {
		o := order
		change(&o)
		return o
	}
	end, err := recovery.Inspect(recovery.Source{Dir: dir})
	require.NoError(t, err)
	further := datadir.Survivor{Node: "n9", Index: end.LastIndex + 1, Term: end.LastTerm, From: "given"}
	newer := datadir.Survivor{Node: "n9", Index: 1, Term: end.LastTerm + 1, From: "given"}
	cases := []struct {
		name   string
		source recovery.Source
		order  recovery.Order
		says   string
	}{
		{"wrong cluster", recovery.Source{Dir: dir}, change(func(o *recovery.Order) { o.ClusterID = "other" }), `is of cluster "test-cluster", not of "other"`},
		{"no first name", recovery.Source{Dir: dir}, change(func(o *recovery.Order) { o.By = " " }), "name both"},
		{"no second name", recovery.Source{Dir: dir}, change(func(o *recovery.Order) { o.Second = "" }), "name both"},
		{"one person", recovery.Source{Dir: dir}, change(func(o *recovery.Order) { o.Second = " aDA" }), "two different people"},
		{"no reason", recovery.Source{Dir: dir}, change(func(o *recovery.Order) { o.Reason = "" }), "say why"},
		{"another node", recovery.Source{Dir: dir, ID: "n7"}, order, `not to "n7"`},
		{"no folder", recovery.Source{Dir: g.dir}, order, "no node's data folder"},
		{"longer log", recovery.Source{Dir: dir, Peers: []datadir.Survivor{further}}, order, "n9 is further"},
		{"newer term", recovery.Source{Dir: dir, Peers: []datadir.Survivor{newer}}, order, "n9 is further"},
		{"behind a folder", recovery.Source{Dir: g.folder(lost[0]), Compare: []string{dir}}, order, survivor + " is further"},
		{"itself", recovery.Source{Dir: dir, Peers: []datadir.Survivor{{Node: survivor, Index: 1, Term: 1}}}, order, "compared with itself"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := hashFolder(t, g.dir)
			_, err := recovery.Recover(c.source, c.order)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, before, hashFolder(t, g.dir))
		})
	}
	t.Run("no room for the copy", func(t *testing.T) {
		before := hashFolder(t, dir)
		full := &recovery.Recoverer{Now: time.Now, After: func(string) error { return nil },
			Free: func(string) (uint64, uint64, error) { return recovery.BackupSpare, 1 << 40, nil }}
		_, err := full.Run(recovery.Source{Dir: dir}, order)
		require.ErrorContains(t, err, "make room first")
		require.Equal(t, before, hashFolder(t, dir))
	})
	t.Run("a running node", func(t *testing.T) {
		g.open(survivor)
		defer g.close(survivor)
		_, err := recovery.Inspect(recovery.Source{Dir: dir})
		require.ErrorIs(t, err, recovery.ErrFolderInUse)
		_, err = recovery.Recover(recovery.Source{Dir: dir}, order)
		require.ErrorIs(t, err, recovery.ErrFolderInUse)
	})
	t.Run("behind and forced", func(t *testing.T) {
		forced := change(func(o *recovery.Order) { o.ForceBehind = true })
		_, err := recovery.Recover(recovery.Source{Dir: dir, Peers: []datadir.Survivor{further}}, forced)
		require.NoError(t, err)
		_, err = recovery.Recover(recovery.Source{Dir: dir}, order)
		require.ErrorContains(t, err, "recovered already")
	})
}

func TestRecoverNeedsALostMajority(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	require.NoError(t, n.Close())
	_, err := recovery.Recover(recovery.Source{Dir: dir}, order)
	require.ErrorContains(t, err, "the only voter")
}

// TestRecoverOldNodesComeBack: the lost nodes were only away, and together are a majority of
// the old group. They end when they meet the recovered node.
func TestRecoverOldNodesComeBack(t *testing.T) {
	g := newGroup(t)
	survivor, lost := loseMajority(t, g)
	_, err := recovery.Recover(recovery.Source{Dir: g.folder(survivor)}, order)
	require.NoError(t, err)

	for _, id := range lost { // They serve again before the recovered node starts.
		g.open(id)
	}
	propose(t, g.leader(), wire.KindRegister, register("in the old group"))
	_, err = Open(g.config(survivor))
	require.ErrorContains(t, err, "and yet they answer")
	propose(t, g.leader(), wire.KindRegister, register("the old group goes on"))
	for _, id := range lost {
		g.close(id)
	}

	n := g.open(survivor)
	awaitReady(t, n)
	for _, id := range lost {
		old := g.open(id)
		require.Eventually(t, func() bool { return len(g.gave[id].all()) > 0 }, 10*time.Second, 10*time.Millisecond, "%s", id)
		require.Contains(t, g.gave[id].all()[0], fmt.Sprintf("was recovered without node %q", id))
		_, err = old.Propose(t.Context(), wire.KindRegister, register("too late"))
		require.Error(t, err)
		g.close(id)
		_, err = Open(g.config(id))
		require.ErrorContains(t, err, "was left behind")
		_, err = recovery.Recover(recovery.Source{Dir: g.folder(id)}, order)
		require.ErrorContains(t, err, "left behind by another recovery")
	}
	leaves, _ := recoveredLeaves(t, n)
	require.Len(t, leaves, 1)
	joinAnew(t, g, n, lost)
}

// TestRecoverKeepingAnother: three of five nodes are lost. The two survivors go on together,
// each with its own folder.
func TestRecoverKeepingAnother(t *testing.T) {
	g := newGroup(t)
	g.form(5)
	first := g.leader()
	for i := range 10 {
		propose(t, first, wire.KindRegister, register(fmt.Sprintf("a%d", i)))
	}
	g.awaitEqual()
	second := g.follower().NodeID()
	for id := range g.all() {
		if id != first.NodeID() && id != second {
			g.close(id)
		}
	}
	g.close(second)
	g.close(first.NodeID())
	g.leaveUncommitted(first.NodeID())

	ends := map[string]*recovery.Report{}
	for _, id := range []string{first.NodeID(), second} {
		report, err := recovery.Inspect(recovery.Source{Dir: g.folder(id)})
		require.NoError(t, err)
		ends[id] = report
	}
	ahead, behind := first.NodeID(), second
	a, b := datadir.Survivor{Index: ends[ahead].LastIndex, Term: ends[ahead].LastTerm}, datadir.Survivor{Index: ends[behind].LastIndex, Term: ends[behind].LastTerm}
	if b.Ahead(&a) {
		ahead, behind = behind, ahead
	}
	keeping := order
	keeping.Keep = []string{ahead, behind, behind}
	from := filepath.Join(g.folder(ahead), datadir.RecoveryFile)
	_, err := recovery.Follow(recovery.Source{Dir: g.folder(behind)}, from, order.ClusterID)
	require.ErrorContains(t, err, "is not the recovered node's")
	_, err = recovery.Recover(recovery.Source{Dir: g.folder(ahead), Compare: []string{g.folder(behind)}}, keeping)
	require.NoError(t, err)
	for id := range g.hosts {
		if id != ahead && id != behind {
			_, err = recovery.Follow(recovery.Source{Dir: g.folder(id)}, from, order.ClusterID)
			require.ErrorContains(t, err, "does not keep "+id)
		}
	}
	_, err = recovery.Follow(recovery.Source{Dir: g.folder(behind)}, from, "other")
	require.ErrorContains(t, err, `not of "other"`)
	requireFollowAgain(t, g, behind, from)

	n := g.open(ahead)
	other := g.open(behind)
	g.awaitReady()
	require.Equal(t, n, g.leader())
	require.Eventually(t, func() bool { return !other.lineage.waiting.Load() }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, report.QuorumInfo{Voters: 2, Healthy: 2}, n.Status(t.Context()).Quorum)
	g.awaitEqual()
	leaves, _ := recoveredLeaves(t, n)
	require.Len(t, leaves, 1)
	require.NoError(t, n.TransferLeader(t.Context(), behind))
	require.Eventually(t, func() bool { return other.replica.opened.Load() != 0 }, 10*time.Second, 5*time.Millisecond)
	g.awaitEqual()
	leaves, _ = recoveredLeaves(t, other)
	require.Len(t, leaves, 1, "the other one writes no second leaf")
}

// requireFollowAgain kills Follow after each step, and then runs it to the end.
func requireFollowAgain(t *testing.T, g *group, id, from string) {
	killed := errors.New("killed")
	for _, step := range []string{"begun", "identity"} {
		_, err := recovery.FollowStepwise(recovery.Source{Dir: g.folder(id)}, from, order.ClusterID, func(done string) error {
			if done == step {
				return killed
			}
			return nil
		})
		require.ErrorIs(t, err, killed)
		_, err = Open(g.config(id))
		require.ErrorContains(t, err, "not finished")
		_, err = recovery.Recover(recovery.Source{Dir: g.folder(id)}, order)
		require.ErrorContains(t, err, "about to follow the recovery of")
	}
	_, err := recovery.Follow(recovery.Source{Dir: g.folder(id)}, from, order.ClusterID)
	require.NoError(t, err)
	_, err = recovery.Follow(recovery.Source{Dir: g.folder(id)}, from, order.ClusterID)
	require.ErrorContains(t, err, "recovered already")
}

func TestParseSurvivor(t *testing.T) {
	s, err := recovery.ParseSurvivor("n2=12345/7")
	require.NoError(t, err)
	require.Equal(t, datadir.Survivor{Node: "n2", Index: 12345, Term: 7, From: "given"}, s)
	for _, text := range []string{"", "n2", "n2=", "n2=1", "=1/2", "n2=1/", "n2=/1", "n2=0/1", "n2=1/0", "n2=-1/2", "n2=1/2/3", "n 2=1/2", "n2=18446744073709551616/1"} {
		_, err := recovery.ParseSurvivor(text)
		require.Error(t, err, "%q", text)
	}
}
