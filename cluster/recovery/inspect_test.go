package recovery

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// The logs of three nodes end differently, and Inspect shows which one is the furthest.
func TestInspectComparesThreeEnds(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(10)
	near, middle, far := g.folder("n1", upTo(last-4)), g.folder("n2", upTo(last-2)), g.folder("n3", upTo(last))
	for dir, want := range map[string]struct {
		compare []string
		last    uint64
		behind  bool
	}{
		near: {[]string{middle, far}, last - 4, true}, middle: {[]string{near, far}, last - 2, true}, far: {[]string{near, middle}, last, false},
	} {
		before := hashFolder(t, dir)
		report, err := Inspect(Source{Dir: dir, Compare: want.compare})
		require.NoError(t, err)
		require.Equal(t, before, hashFolder(t, dir), "looking changes nothing")
		require.Empty(t, report.Problems)
		require.Empty(t, report.Warnings)
		require.Equal(t, "n3", report.Furthest)
		require.Equal(t, want.behind, report.Behind)
		require.Equal(t, []uint64{1, want.last, oldTerm, oldTerm}, []uint64{report.FirstIndex, report.LastIndex, report.LastTerm, report.Term})
		require.Len(t, report.Survivors, 2)
		require.Len(t, report.Members, 3)
		require.Equal(t, []any{"c-test", filepath.Base(dir)}, []any{report.ClusterID, report.Node})
		for _, member := range report.Members {
			require.Equal(t, datadir.Member{ID: member.ID, Addr: member.ID + ".example:7001", Incarnation: incarnation(member.ID), Voter: true, Self: member.ID == report.Node}, member)
		}
	}
	// A shorter log of a newer term is further than a longer log of an older term.
	for text, behind := range map[string]bool{
		fmt.Sprintf("n1=%d/%d", last, oldTerm): false, fmt.Sprintf("n1=%d/%d", last+1, oldTerm): true, fmt.Sprintf("n1=1/%d", oldTerm+1): true, fmt.Sprintf("n1=%d/%d", last+9, oldTerm-1): false,
	} {
		peer, err := ParseSurvivor(text)
		require.NoError(t, err)
		report, err := Inspect(Source{Dir: far, Peers: []datadir.Survivor{peer}})
		require.NoError(t, err)
		require.Equal(t, behind, report.Behind, text)
	}
}

// Inspect separates what is certainly committed from what may never have been.
func TestInspectTellsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	g.notes(5)
	claimed := uint64(len(g.log))
	tick := g.propose(wire.KindTick, &wire.Tick{Index: claimed - 1, Digest: make([]byte, 32)})
	last := g.notes(3)
	for name, c := range map[string]struct {
		has       extent
		committed uint64
		by        string
		leaves    int
	}{
		"the snapshot":           {extent{snapshot: 4, last: 6, written: 4}, 4, "the snapshot", 2},
		"nothing":                {extent{last: 4}, 0, "the snapshot", 3},
		"leaves that it wrote":   {extent{last: 6, written: 5}, 5, "the leaves this node has written", 1},
		"a leader's digest":      {extent{last: tick, written: 3}, claimed - 1, "a leader's digest in the log", 1},
		"leaves behind a digest": {extent{last: last, written: last}, last, "the leaves this node has written", 0},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Inspect(Source{Dir: g.folder("n1", c.has)})
			require.NoError(t, err)
			require.Equal(t, c.committed, report.CommittedIndex)
			require.Equal(t, c.by, report.CommittedBy)
			require.Equal(t, c.has.last-c.committed, report.Uncertain.Entries)
			require.Equal(t, uint64(c.leaves), report.Uncertain.Leaves)
			require.Len(t, report.Uncertain.Listed, c.leaves)
			for _, leaf := range report.Uncertain.Listed {
				require.Greater(t, leaf.Index, c.committed)
				require.NotEmpty(t, leaf.ID)
			}
			if c.has.last > c.committed {
				require.Equal(t, []uint64{c.committed + 1, c.has.last}, []uint64{report.Uncertain.First, report.Uncertain.Last})
			} else {
				require.Zero(t, report.Uncertain.First+report.Uncertain.Last)
			}
		})
	}
	t.Run("the first of many are listed", func(t *testing.T) {
		many := newOldGroup(t)
		many.notes(uncertainListed + 1)
		report, err := Inspect(Source{Dir: many.folder("n1", extent{last: uint64(len(many.log)), written: 2})})
		require.NoError(t, err)
		require.Equal(t, uint64(uncertainListed+1), report.Uncertain.Leaves)
		require.Len(t, report.Uncertain.Listed, uncertainListed)
		require.Equal(t, "agent.refused", report.Uncertain.Listed[0].Kind)
	})
}

func TestInspectWarnsAndForbids(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(5)
	alone := newOldGroup(t)
	alone.servers = alone.servers[:1]
	alone.add(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: alone.servers}))
	watching := newOldGroup(t)
	watching.servers[0].Suffrage = raft.Nonvoter
	watching.add(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: watching.servers}))
	removed := newOldGroup(t)
	removed.add(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: removed.servers[1:]}))
	member := func(change func(*datadir.Identity)) string { return g.folder("n1", upTo(last), change) }
	for name, c := range map[string]struct {
		dir, problem, warning string
	}{
		"never a member":       {dir: member(func(w *datadir.Identity) { w.ClusterID = "" }), problem: "never was a member"},
		"left behind":          {dir: member(func(w *datadir.Identity) { w.Superseded = "n2 was recovered" }), problem: "left behind by another recovery: n2 was recovered"},
		"wiped":                {dir: member(func(w *datadir.Identity) { w.Incarnation = incarnation("xx") }), problem: "wiped and never joined anew"},
		"no membership":        {dir: g.folder("n1", extent{}), problem: "no membership stands"},
		"the only voter":       {dir: alone.folder("n1", upTo(uint64(len(alone.log)))), problem: "is the only voter"},
		"no vote":              {dir: watching.folder("n1", upTo(uint64(len(watching.log)))), warning: "had no vote"},
		"no member":            {dir: removed.folder("n1", upTo(uint64(len(removed.log)))), warning: "is no member in the newest membership"},
		"history is shorter":   {dir: g.folder("n1", extent{snapshot: last, last: last, written: 4}), warning: "the rest stood on the other nodes alone"},
		"history is of others": {dir: otherHistory(t, g, last), problem: "its tree head differs"},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Inspect(Source{Dir: c.dir})
			require.NoError(t, err)
			if c.problem != "" {
				require.Contains(t, strings.Join(report.Problems, "; "), c.problem)
				order := word
				order.ClusterID = report.ClusterID
				require.ErrorContains(t, order.checkAgainst(report), c.problem, "it forbids a recovery")
				return
			}
			require.Empty(t, report.Problems)
			require.Contains(t, strings.Join(report.Warnings, "; "), c.warning)
		})
	}
	report, err := Inspect(Source{Dir: g.folder("n1", extent{snapshot: last, last: last, written: 4})})
	require.NoError(t, err)
	require.Equal(t, report.AuditLeaves-report.AuditOnDisk, report.AuditMissing)
}

// otherHistory returns a folder whose leaves do not belong to its state.
func otherHistory(t *testing.T, g *oldGroup, last uint64) string {
	dir := g.folder("n1", extent{snapshot: last, last: last, written: last})
	other := newOldGroup(t)
	for i := range 5 {
		other.note(fmt.Sprint("other_", i))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, datadir.AuditFolder)))
	require.NoError(t, os.Rename(filepath.Join(other.folder("n1", upTo(last)), datadir.AuditFolder), filepath.Join(dir, datadir.AuditFolder)))
	return dir
}

func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(5)
	dir := g.folder("n1", upTo(last))
	foreign := g.folder("n2", upTo(last), func(w *datadir.Identity) { w.ClusterID = "c-other" })
	parted := g.folder("n2", upTo(last), func(w *datadir.Identity) { w.Lineage = "0123456789abcdef" })
	survivors := make([]datadir.Survivor, survivorsMax+1)
	for i := range survivors {
		survivors[i] = datadir.Survivor{Node: fmt.Sprint("m", i), Index: 1, Term: 1}
	}
	for name, c := range map[string]struct {
		source Source
		says   string
	}{
		"another node":       {Source{Dir: dir, ID: "n2"}, `belongs to node "n1", not to "n2"`},
		"no folder":          {Source{Dir: t.TempDir()}, "no node's data folder"},
		"another cluster":    {Source{Dir: dir, Compare: []string{foreign}}, `is of cluster "c-test"`},
		"itself":             {Source{Dir: dir, Compare: []string{g.folder("n1", upTo(last))}}, "n1 is compared with itself"},
		"itself, by hand":    {Source{Dir: dir, Peers: []datadir.Survivor{{Node: "n1", Index: 1, Term: 1}}}, "n1 is compared with itself"},
		"no folder of peers": {Source{Dir: dir, Compare: []string{t.TempDir()}}, "no node's data folder"},
		"too many peers":     {Source{Dir: dir, Peers: survivors}, "at most"},
		"entries are lost":   {Source{Dir: g.folder("n1", extent{first: 4, last: last})}, "entries between are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Inspect(c.source)
			require.ErrorContains(t, err, c.says)
		})
	}
	_, err := Inspect(Source{Dir: dir, ID: "n1", Peers: survivors[:survivorsMax]})
	require.NoError(t, err)
	report, err := Inspect(Source{Dir: dir, Compare: []string{parted}})
	require.NoError(t, err)
	require.Contains(t, report.Problems[0], "the two cannot be compared")

	held, err := datadir.Lock(filepath.Join(dir, datadir.LockFile))
	require.NoError(t, err)
	for _, look := range []func() error{
		func() error { _, err := Inspect(Source{Dir: dir}); return err },
		func() error { _, err := Recover(Source{Dir: dir}, word); return err },
		func() error { _, err := Committed(dir); return err },
		func() error { _, err := Follow(Source{Dir: dir}, "x", "c-test"); return err },
	} {
		require.ErrorIs(t, look(), ErrFolderInUse)
	}
	require.NoError(t, held.Close())
}

// Damage of any file is an error that names the folder, and never a crash.
func TestInspectFindsDamage(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(5)
	dir := g.folder("n1", extent{snapshot: 4, first: 3, last: last, written: 4})
	for name, c := range map[string]struct {
		file  string // A pattern below the folder.
		spoil func(data []byte) []byte
		says  string
	}{
		"node.json is no JSON":      {datadir.IdentityFile, func([]byte) []byte { return []byte("{") }, "node.json"},
		"node.json is newer":        {datadir.IdentityFile, func([]byte) []byte { return []byte(`{"format":4}`) }, "a newer release wrote it"},
		"node.json is a draft's":    {datadir.IdentityFile, func([]byte) []byte { return []byte(`{"format":2}`) }, "a draft before 0.2.0 wrote it"},
		"recovery.json is no JSON":  {datadir.RecoveryFile, func([]byte) []byte { return []byte("{") }, "recovery.json"},
		"recovery.json is newer":    {datadir.RecoveryFile, func([]byte) []byte { return []byte(`{"format":4}`) }, "a newer release wrote it"},
		"votes are cut":             {"raft/raft.db", func(data []byte) []byte { return data[:len(data)/2] }, ""},
		"votes are empty":           {"raft/raft.db", func([]byte) []byte { return []byte("x") }, ""},
		"an entry is flipped":       {"raft/*.log", func(data []byte) []byte { data[bytes.Index(data, []byte("note 3"))] ^= 1; return data }, ""},
		"the snapshot's state ends": {"raft/snapshots/*/state.bin", func(data []byte) []byte { return data[:len(data)/2] }, "its checksum is wrong"},
		"the snapshot's state lies": {"raft/snapshots/*/state.bin", func(data []byte) []byte { data[len(data)/2] ^= 1; return data }, "its checksum is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.file == datadir.RecoveryFile {
				path := filepath.Join(dir, c.file)
				require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"format":%d}`, datadir.Format), 0o600))
				defer os.Remove(path)
			}
			paths, err := filepath.Glob(filepath.Join(dir, c.file))
			require.NoError(t, err)
			require.NotEmpty(t, paths)
			data, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(paths[0], c.spoil(bytes.Clone(data)), 0o600))
			_, err = Inspect(Source{Dir: dir})
			require.NoError(t, os.WriteFile(paths[0], data, 0o600))
			require.ErrorContains(t, err, c.says)
			_, err = Inspect(Source{Dir: dir})
			require.NoError(t, err, "with the file as it was")
		})
	}
}

func TestParseSurvivor(t *testing.T) {
	good, err := ParseSurvivor("n2=12345/7")
	require.NoError(t, err)
	require.Equal(t, datadir.Survivor{Node: "n2", Index: 12345, Term: 7, From: "given"}, good)
	for _, text := range []string{"", "n2", "n2=", "n2=1", "n2=1/", "n2=/1", "=1/1", "n2=0/1", "n2=1/0", "n2=-1/1", "n2=1/1/1", "n2=18446744073709551616/1", "n 2=1/1"} {
		_, err := ParseSurvivor(text)
		require.ErrorContains(t, err, "is not of the form NODE=INDEX/TERM", text)
	}
}

// Committed returns the state without entries that may never have been committed.
func TestCommitted(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	for name, has := range map[string]extent{"with a snapshot": {snapshot: 3, last: last, written: 5}, "from the log alone": {last: last, written: 5}} {
		t.Run(name, func(t *testing.T) {
			dir := g.folder("n1", has)
			before := hashFolder(t, dir)
			still, err := Committed(dir)
			require.NoError(t, err)
			require.Equal(t, uint64(5), still.View.Index)
			require.Equal(t, last, still.LastIndex)
			require.Equal(t, "n1", still.Identity.ID)
			_, err = datadir.Lock(filepath.Join(dir, datadir.LockFile))
			require.Error(t, err, "no node starts on it meanwhile")
			require.NoError(t, still.Close())
			require.Equal(t, before, hashFolder(t, dir))
			again, err := Committed(dir)
			require.NoError(t, err)
			require.NoError(t, again.Close())
		})
	}
	begun := g.folder("n1", upTo(last))
	_, err := recoverer(func(string) error { return os.ErrDeadlineExceeded }).Run(Source{Dir: begun}, word)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	for says, dir := range map[string]string{
		"never was a member":          g.folder("n1", upTo(last), func(w *datadir.Identity) { w.ClusterID = "" }),
		"was left behind: of old":     g.folder("n1", upTo(last), func(w *datadir.Identity) { w.Superseded = "of old" }),
		"was begun and not finished":  begun,
		"its tree head differs":       otherHistory(t, g, last-1),
		"no node's data folder":       t.TempDir(),
		"entries between are missing": g.folder("n1", extent{first: 4, last: last}),
	} {
		_, err := Committed(dir)
		require.ErrorContains(t, err, says)
	}
}

// TestCompareKnowsWhoHasMore: a folder whose log was cut, by a group with another past, is not
// named as behind: its history and its note have committed entries that no longer log gives.
func TestCompareKnowsWhoHasMore(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(12)
	longer := g.folder("n3", upTo(last-3))
	cut := g.folder("n2", extent{last: last - 6, written: last})
	report, err := Inspect(Source{Dir: longer, Compare: []string{cut}})
	require.NoError(t, err)
	require.Equal(t, "n2", report.Furthest)
	require.True(t, report.Behind)
	require.Len(t, report.Survivors, 1)
	require.Greater(t, report.Survivors[0].Written, report.Own.Leaves)
	require.NotEmpty(t, report.Survivors[0].Head)
	require.Contains(t, strings.Join(report.Warnings, "; "), "n2 had committed entries that are gone from its log")
	report, err = Inspect(Source{Dir: cut, Compare: []string{longer}})
	require.NoError(t, err)
	require.Equal(t, "n2", report.Furthest)
	require.Contains(t, strings.Join(report.Problems, "; "), "committed entries are gone from the log")

	noted := g.folder("n1", extent{last: last - 6, written: last - 3}) // A power cut took the last leaves, and not the note.
	reached, err := datadir.OpenReached(datadir.SystemDisk{}, noted)
	require.NoError(t, err)
	require.NoError(t, reached.NoteApplied(last-1))
	require.NoError(t, reached.Close())
	report, err = Inspect(Source{Dir: longer, Compare: []string{noted}})
	require.NoError(t, err)
	require.Equal(t, "n1", report.Furthest, "it had applied more than the longer log has")
	require.Equal(t, last-1, report.Survivors[0].Applied)

	other := newOldGroup(t)
	other.notes(3)
	other.propose(wire.KindTick, &wire.Tick{})
	other.notes(9)
	strange := other.folder("n2", upTo(uint64(len(other.log))))
	report, err = Inspect(Source{Dir: longer, Compare: []string{strange}})
	require.NoError(t, err)
	require.Contains(t, strings.Join(report.Problems, "; "), "the histories of n3 and n2 differ within their first")
}

// TestLoggedLeaves: the leaves that history does not have any more are in the log, and those of
// entries behind what the node had applied are told apart.
func TestLoggedLeaves(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	for name, has := range map[string]extent{
		"a log":                upTo(last),
		"a snapshot and a log": {snapshot: 4, first: 2, last: last, written: last},
	} {
		t.Run(name, func(t *testing.T) {
			dir := g.folder("n2", has)
			whole, err := Inspect(Source{Dir: dir})
			require.NoError(t, err)
			reached, err := datadir.OpenReached(datadir.SystemDisk{}, dir)
			require.NoError(t, err)
			require.NoError(t, reached.NoteApplied(last-1))
			require.NoError(t, reached.Close())
			from := whole.AuditLeaves - 2
			var seen []LoggedLeaf
			require.NoError(t, LoggedLeaves(dir, from, func(leaf LoggedLeaf) error {
				seen = append(seen, leaf)
				return nil
			}))
			require.Len(t, seen, 2)
			require.Equal(t, []uint64{from, from + 1}, []uint64{seen[0].Index, seen[1].Index})
			require.Equal(t, []bool{true, false}, []bool{seen[0].Certain, seen[1].Certain})
			require.Contains(t, string(seen[1].Data), `"kind"`)
		})
	}
	require.Error(t, LoggedLeaves(t.TempDir(), 0, func(LoggedLeaf) error { return nil }), "no node's folder")
}
