package cluster

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/cluster/port"
	"railguard/cluster/timing"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/ofac"
)

// encodedList returns a small list with one company of that name.
func encodedList(t testing.TB, name string) []byte {
	t.Helper()
	entities, err := ofac.EncodeEntities([]ofac.Entity{{
		UID: 7, Type: ofac.Company, Lists: ofac.ListSDN, Programs: []string{"TEST"},
		Names: []ofac.Name{{ID: 1, AliasType: "Name", Primary: true, Script: "Latin", Full: name}},
	}}, ofac.Meta{Source: name, PublishedAt: 1, Sample: true})
	require.NoError(t, err)
	return entities
}

func stageList(t testing.TB, n *Node, entities []byte) [32]byte {
	t.Helper()
	digest := ofac.Digest(entities)
	r, err := n.Stage(t.Context(), entities, wire.ListInfo{Digest: digest, Source: "test", Entries: 1, Sample: true}, false, wire.Common{})
	require.NoError(t, err)
	require.Equal(t, wire.Applied, r.Code, "%+v", r)
	return digest
}

func activateList(t testing.TB, n *Node, digest [32]byte) wire.Result {
	t.Helper()
	return propose(t, n, wire.KindListActivate, wire.Encode(&wire.ListActivate{Digest: digest}))
}

// awaitList waits until verdicts are given from the list.
func awaitList(t testing.TB, n *Node, digest [32]byte) {
	t.Helper()
	require.Eventually(t, func() bool { return n.List() != nil && n.List().Digest() == digest && n.checkList().OK }, 20*time.Second, 2*time.Millisecond)
}

// A staged list is compiled outside the apply goroutine, and its activation takes the very
// tables that were made.
func TestStagedListIsCompiledAhead(t *testing.T) {
	n := openAlone(t, t.TempDir())
	digest := stageList(t, n, encodedList(t, "FIRST WORKS"))
	ahead, err := n.ListByDigest(digest)
	require.NoError(t, err)
	require.Equal(t, digest, ahead.Digest())
	require.Nil(t, n.List(), "staged is not active")
	activateList(t, n, digest)
	require.Same(t, ahead, n.List())
	require.Nil(t, n.lists.ahead, "let go of when it was staged")

	// Another list's tables are never taken for it.
	other := stageList(t, n, encodedList(t, "THIRD WORKS"))
	digest = stageList(t, n, encodedList(t, "FOURTH WORKS"))
	require.Len(t, n.lists.nameTables(), 2, "the active and the staged one")
	activateList(t, n, digest)
	require.Equal(t, digest, n.List().Digest())
	require.NotEqual(t, other, digest)
}

// A staged list is on disk before it is activated. At activation its file is renamed and not
// written again.
func TestStagedListIsOnDiskAhead(t *testing.T) {
	n := openAlone(t, t.TempDir())
	entities := encodedList(t, "FIRST WORKS")
	digest := stageList(t, n, entities)
	awaitFile(t, n.lists.stagedPath(digest))
	written, err := os.Stat(n.lists.stagedPath(digest))
	require.NoError(t, err)
	activateList(t, n, digest)
	awaitFile(t, n.lists.listPath(digest))
	kept, err := os.Stat(n.lists.listPath(digest))
	require.NoError(t, err)
	require.True(t, os.SameFile(written, kept), "the very file")
	require.NoFileExists(t, n.lists.stagedPath(digest))
	data, err := os.ReadFile(n.lists.listPath(digest))
	require.NoError(t, err)
	require.Equal(t, entities, data)
}

// The former list's tables stay in memory while the past is to be screened against what that list
// did not have, and are dropped when that has ended. So they need not be compiled again while the
// new list's first verdicts are given.
func TestFormerListIsKeptUntilThePastIsScreened(t *testing.T) {
	n := openAlone(t, t.TempDir())
	first := stageList(t, n, encodedList(t, "FIRST WORKS"))
	activateList(t, n, first)
	before := n.List()
	second := stageList(t, n, encodedList(t, "SECOND WORKS"))
	activateList(t, n, second)
	former, err := n.ListByDigest(first)
	require.NoError(t, err)
	require.Same(t, before, former)
	require.Len(t, n.lists.nameTables(), 1, "others wait for tables of the active and the staged list alone")

	retro := func(op uint8, run wire.RetroRun) {
		r := propose(t, n, wire.KindRetro, wire.Encode(&wire.Retro{Op: op, Run: run}))
		require.Equal(t, wire.Applied, r.Code, "%+v", r)
	}
	retro(wire.RetroBegin, wire.RetroRun{List: 2, Against: 1})
	former, err = n.ListByDigest(first)
	require.NoError(t, err)
	require.Same(t, before, former, "while it runs")
	retro(wire.RetroEnd, *n.Settings().Retro)
	n.lists.mu.Lock()
	kept := n.lists.readyList(keyOf(before))
	n.lists.mu.Unlock()
	require.Nil(t, kept)
	former, err = n.ListByDigest(first)
	require.NoError(t, err)
	require.NotSame(t, before, former, "made again")
	require.Equal(t, second, n.List().Digest())
}

// A list whose tables are not made when it is activated is compiled then. Until they are made
// the former list is no substitute: the node is not ready and says why.
func TestListNotCompiledInTime(t *testing.T) {
	n := openAlone(t, t.TempDir())
	first := stageList(t, n, encodedList(t, "FIRST WORKS"))
	activateList(t, n, first)
	before := n.List()
	digest := stageList(t, n, encodedList(t, "SECOND WORKS"))
	forget := func() { // Acts as if the keeper had not got to the list.
		n.lists.mu.Lock()
		n.lists.ready = slices.DeleteFunc(n.lists.ready, func(index *ofac.Index) bool { return index.Digest() == digest })
		n.lists.mu.Unlock()
	}
	forget()
	settings := *n.Settings()
	settings.List = settings.Staged[0]
	require.Nil(t, n.lists.followEntry(&fsm.Effects{Settings: &settings, ListData: encodedList(t, "SECOND WORKS"), Time: n.LogTime()}))
	require.Equal(t, "the active list is being compiled", n.lists.whyMissing(&settings))
	_, err := n.ListByDigest(digest)
	require.ErrorIs(t, err, ofac.ErrBeingCompiled)
	require.Same(t, before, n.List())

	activateList(t, n, digest)
	awaitList(t, n, digest)
}

// Bytes that are no list of entities make readiness fail with the reason, and staging does not
// wait for tables that will never exist.
func TestListThatCannotBeCompiled(t *testing.T) {
	n := openAlone(t, t.TempDir())
	notOne := []byte("not a list")
	_, err := n.Stage(t.Context(), notOne, wire.ListInfo{}, false, wire.Common{})
	require.ErrorIs(t, err, ofac.ErrEntities, "what this node cannot compile is not replicated")
	require.Empty(t, n.Settings().Staged)
	digest := ofac.Digest(notOne) // Another binary may have staged it.
	chunk := wire.ListChunk{Digest: digest, Total: uint32(len(notOne)), Data: notOne, Info: &wire.ListInfo{Digest: digest, Entries: 1, Sample: true}}
	require.Equal(t, wire.Applied, propose(t, n, wire.KindListChunk, wire.Encode(&chunk)).Code)
	activateList(t, n, digest)
	require.Eventually(t, func() bool { return strings.Contains(n.checkList().Text, "cannot") }, 10*time.Second, time.Millisecond)
	check := n.checkList()
	require.False(t, check.OK)
	require.Contains(t, check.Text, "cannot be compiled")
	require.Nil(t, n.List())
}

// Tables are only in memory: a node that starts makes them again from the log's entities, even
// if its files of them are gone, and is not ready before.
func TestTablesAreMadeAtTheStart(t *testing.T) {
	dir := t.TempDir()
	n := openAlone(t, dir)
	digest := stageList(t, n, encodedList(t, "FIRST WORKS"))
	activateList(t, n, digest)
	for _, snapshot := range []bool{false, true} {
		for name, spoil := range map[string]func(path string) error{
			"kept":   func(string) error { return nil },
			"gone":   os.Remove,
			"rotten": func(path string) error { return os.WriteFile(path, []byte("rotten"), 0o600) },
		} {
			if snapshot {
				_, err := n.Snapshot(t.Context())
				require.NoError(t, err)
			}
			path := n.lists.listPath(digest)
			awaitFile(t, path)
			require.NoError(t, n.Close())
			require.NoError(t, spoil(path))
			n = openAlone(t, dir)
			awaitList(t, n, digest)
			require.Equal(t, digest, n.List().Digest(), name)
			left, err := filepath.Glob(filepath.Join(n.lists.dir, "[^.]*"))
			require.NoError(t, err)
			require.Subset(t, []string{path}, left, "entities alone")
		}
	}
}

// awaitFile waits for a file that is written outside the apply goroutine.
func awaitFile(t testing.TB, path string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, 10*time.Second, 2*time.Millisecond)
}

// Staging ends when every voter that answers has the tables, so the activation holds up no
// verdict on any node. A node that restarts makes the tables again and is ready with the same
// list.
func TestEveryNodeCompiles(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	digest := stageList(t, g.follower(), encodedList(t, "FIRST WORKS"))
	want := tablesKey{digest, ofac.MatcherVersion}
	for id, n := range g.all() {
		require.NotNil(t, tablesNamed(n.lists.nameTables(), want), id)
		require.Nil(t, n.List())
	}
	activateList(t, g.follower(), digest)
	g.awaitEqual()
	for id, n := range g.all() {
		require.NotNil(t, n.List(), id)
		require.Equal(t, digest, n.List().Digest(), id)
	}
	for i := range 2 {
		node := g.follower()
		id := node.NodeID()
		g.close(id)
		if i == 1 { // A silent voter delays the others only until its last answer is too old to count.
			digest = stageList(t, g.leader(), encodedList(t, "SECOND WORKS"))
			activateList(t, g.leader(), digest)
		}
		node = g.open(id)
		awaitList(t, node, digest)
		g.awaitEqual()
	}
}

// A release with another matcher version carries the previous one too. While it is rolled out,
// every node judges with the version in force. The raise waits for all nodes, and needs no
// restart, no import and no pause. A binary without the version in force gives no verdict and
// says so.
func TestMatcherIsRaisedUnderWay(t *testing.T) {
	upgraded := func(c *Config) { c.Matchers = ofac.Matchers{1, 2} }
	g := newGroup(t)
	g.form(3)
	digest := stageList(t, g.leader(), encodedList(t, "FIRST WORKS"))
	activateList(t, g.leader(), digest)
	for i, id := range []string{"n1", "n2", "n3"} {
		if i > 0 {
			require.ErrorIs(t, g.all()["n1"].MatcherReady(2), ErrMatcherNotReady, "%s is not upgraded", id)
		}
		g.close(id)
		n := g.open(id, upgraded)
		awaitList(t, n, digest)
		require.EqualValues(t, 1, n.List().Matcher())
	}
	g.awaitReady()
	require.Eventually(t, func() bool {
		return g.leader().MatcherReady(2) == nil
	}, 20*time.Second, 50*time.Millisecond)
	for id, n := range g.all() {
		require.Eventually(t, func() bool { // Possible once the node has heard of all others.
			return strings.Contains(strings.Join(n.Status(t.Context()).Warnings, "\n"), "every voter carries matcher version 2, and 1 is in force")
		}, 20*time.Second, 10*time.Millisecond, id)
		s := n.Status(t.Context())
		require.EqualValues(t, 1, s.Matcher, "carried is not in force")
		for _, node := range s.Nodes {
			require.Equal(t, []uint16{1, 2}, node.Matchers, "%s of %s", node.ID, id)
		}
	}
	propose(t, g.leader(), wire.KindMatcher, wire.Encode(&wire.Matcher{To: 2}))
	g.awaitEqual()
	for id, n := range g.all() {
		require.Equal(t, tablesKey{digest, 2}, keyOf(n.List()), "%s at the very entry", id)
		require.True(t, n.checkList().OK)
		old, err := n.ListAs(digest, 1)
		require.NoError(t, err, "for replays")
		require.EqualValues(t, 1, old.Matcher())
	}

	old := g.follower().NodeID()
	g.close(old)
	n, err := Open(g.config(old))
	require.NoError(t, err)
	defer n.Close()
	require.Eventually(t, func() bool { return n.Settings().Matcher == 2 }, 20*time.Second, 5*time.Millisecond)
	check := n.checkList()
	require.False(t, check.OK)
	require.Equal(t, "matcher version 2 is in force and this binary carries [1]: upgrade it", check.Text)
	_, err = n.ListByDigest(digest)
	require.ErrorIs(t, err, ofac.ErrMatcherVersion)
}

// Every node can give every list of the last 90 days, from its own disk or from another node's,
// even if its own folder is empty or damaged.
func TestListsOfAnEmptiedNode(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	digests := make([][32]byte, 3)
	for i := range digests {
		n := g.follower()
		digests[i] = stageList(t, n, encodedList(t, fmt.Sprintf("WORKS NUMBER %c", 'A'+i)))
		activateList(t, n, digests[i])
	}
	g.awaitEqual()
	emptied := g.follower()
	for i, digest := range digests[:2] {
		require.Eventually(t, func() bool { // Every node writes it outside the apply goroutine.
			for _, n := range g.all() {
				if _, err := os.Stat(n.lists.listPath(digest)); err != nil {
					return false
				}
			}
			return true
		}, 10*time.Second, 5*time.Millisecond)
		if i == 0 {
			require.NoError(t, os.Remove(emptied.lists.listPath(digest)))
		} else {
			require.NoError(t, os.WriteFile(emptied.lists.listPath(digest), []byte("not the list"), 0o600))
		}
		list, err := emptied.ListByDigest(digest)
		require.NoError(t, err)
		require.Equal(t, digest, list.Digest())
		require.FileExists(t, emptied.lists.listPath(digest), "kept now")
	}
	_, err := emptied.ListByDigest([32]byte{1})
	require.ErrorIs(t, err, ErrNoList)
}

// rested returns how long a compile rests. It has so many pieces, each a slice long, on a node
// that applies an entry in each of them.
func rested(k *listKeeper, key tablesKey, pieces int, each func(piece int)) time.Duration {
	applied := uint64(0)
	k.pace = timing.NewPace(2, timing.Slice, func() uint64 { applied++; return applied }, nil)
	began, step := time.Now(), k.restBetween(key)
	for i := range pieces {
		time.Sleep(timing.Slice) // In this test's time this stands for computing.
		each(i)
		step()
	}
	return time.Since(began) - time.Duration(pieces)*timing.Slice
}

// The tables of a staged list are compiled with rests, beside verdicts. Tables that verdicts
// wait for are compiled at once.
func TestCompileRestsUnlessItIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func(name string) *ofac.Index {
			index, err := ofac.Compile(encodedList(t, name), ofac.MatcherVersion)
			require.NoError(t, err)
			return index
		}
		first, second := open("FIRST"), open("SECOND")
		keeper := func() *listKeeper {
			k := newListKeeper(t.TempDir(), ofac.Carried(), newLife(slog.New(slog.DiscardHandler), nil), newState(&handClock{}, nil), nil, nil)
			k.matcher, k.ready = ofac.MatcherVersion, []*ofac.Index{first}
			k.active.digest, k.staged = first.Digest(), []wantedList{{digest: second.Digest()}}
			return k
		}
		none := func(int) {}
		k := keeper()
		require.Equal(t, 200*timing.Slice, rested(k, keyOf(second), 100, none), "twice as long as it computes")
		require.Less(t, rested(k, keyOf(second), 100_000, none), compileDue, "and ends within a bound")

		k.active.digest = second.Digest()
		require.Zero(t, rested(k, keyOf(second), 100, none), "the active list: calls are held until it is made")
		k = keeper()
		require.Equal(t, 20*timing.Slice, rested(k, keyOf(second), 100, func(piece int) {
			if piece == 10 {
				k.active.digest = second.Digest()
			}
		}), "activated in the middle of it")
		k = keeper()
		k.ready = nil
		require.Zero(t, rested(k, keyOf(second), 100, none), "a node that can give no verdict has none to rest for")
		k = keeper()
		close(k.life.stop)
		require.Zero(t, rested(k, keyOf(second), 100, none), "a node that is being closed")
	})
}

// A list is compiled with the help of the active list's tables in the same version, or without
// help if there are none.
func TestCompileTakesFromTheActiveList(t *testing.T) {
	n := openAlone(t, t.TempDir())
	require.Nil(t, n.lists.similarList(ofac.MatcherVersion))
	digest := stageList(t, n, encodedList(t, "FIRST WORKS"))
	activateList(t, n, digest)
	awaitList(t, n, digest)
	require.Equal(t, n.List(), n.lists.similarList(ofac.MatcherVersion))
	require.Nil(t, n.lists.similarList(ofac.MatcherVersion+1))
}

// TestTwoBuildsOfOneMatcher: a node that answers sample questions otherwise, with the same list and
// version of the matcher, is named in the status, and no version is raised meanwhile.
func TestTwoBuildsOfOneMatcher(t *testing.T) {
	g := newGroup(t)
	g.form(3)
	digest := stageList(t, g.follower(), encodedList(t, "FIRST WORKS"))
	activateList(t, g.follower(), digest)
	g.awaitEqual()
	leader, id := g.leader(), g.follower().NodeID()
	require.Empty(t, leader.lists.judgesOtherwise())
	var tables []port.ListTables
	require.Eventually(t, func() bool {
		s, _ := leader.peers.freshSample(id)
		tables = slices.Clone(s.pong.Tables)
		return len(tables) > 0
	}, groupPatience, time.Millisecond)
	require.NotZero(t, tables[0].Sample)
	require.Eventually(t, func() bool { // The next ping brings the true answer again.
		tables[0].Sample++
		leader.peers.mu.Lock()
		s := leader.peers.samples[id]
		s.pong.Tables, s.at = tables, time.Now()
		leader.peers.samples[id] = s
		leader.peers.mu.Unlock()
		warnings := strings.Join(leader.Status(t.Context()).Warnings, "\n")
		err := leader.MatcherReady(ofac.MatcherVersion)
		return strings.Contains(warnings, id+" (release") && err != nil && strings.Contains(err.Error(), "judges names otherwise")
	}, groupPatience, time.Millisecond)
}
