package recovery

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/cluster/datadir"
)

func TestRecoverWritesOneMembership(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	for name, has := range map[string]extent{
		"from its log":                     upTo(last),
		"from a snapshot and a log":        {snapshot: 4, first: 2, last: last, written: last},
		"from a snapshot without a log":    {snapshot: last, written: last},
		"over a log before its snapshot's": {snapshot: last, last: 3, written: last},
	} {
		t.Run(name, func(t *testing.T) {
			dir := g.folder("n2", has)
			before := recovered(t, Source{Dir: dir, ID: "n2"}, word)
			require.Equal(t, last, before.LastIndex)
			term, entry := lastEntry(t, dir)
			require.Equal(t, uint64(oldTerm+1), term)
			require.Equal(t, []any{last + 1, uint64(oldTerm + 1), raft.LogConfiguration}, []any{entry.Index, entry.Term, entry.Type})
			members := raft.DecodeConfiguration(entry.Data).Servers
			require.Equal(t, []raft.Server{{ID: "n2", Suffrage: raft.Voter, Address: g.servers[1].Address}}, members)

			who, err := datadir.ReadIdentity(dir)
			require.NoError(t, err)
			require.Equal(t, uint64(1), who.Recovery)
			require.Len(t, who.Lineage, 2*lineageBytes)
			record, err := datadir.ReadRecord(dir)
			require.NoError(t, err)
			require.Equal(t, datadir.RecoveryWaiting, record.State)
			require.Equal(t, []any{"Ada", "Bob", "the hall burnt down", "2027-01-15T08:00:00.000Z", who.Lineage, last, uint64(oldTerm)},
				[]any{record.By, record.Second, record.Reason, record.DecidedAt, record.Lineage, record.LastIndex, record.LastTerm})
			require.Equal(t, before.TreeHead, record.TreeHead)
			require.Len(t, record.Former, 3)

			after, err := Inspect(Source{Dir: dir})
			require.NoError(t, err)
			require.Equal(t, []uint64{last + 1, oldTerm + 1}, []uint64{after.LastIndex, after.LastTerm})
			require.Equal(t, []any{before.AuditLeaves, before.TreeHead, before.StateDigest}, []any{after.AuditLeaves, after.TreeHead, after.StateDigest}, "state and history are as they were")
			require.ErrorContains(t, word.checkAgainst(after), "was recovered already")
		})
	}
}

// A copy of the changed files is kept as they were.
func TestRecoverKeepsACopy(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	dir := g.folder("n1", upTo(g.notes(6)))
	old := map[string][]byte{}
	written, still, err := datadir.LogFiles(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(t, err)
	for _, path := range append([]string{filepath.Join(dir, datadir.IdentityFile)}, append(written, still...)...) {
		old[filepath.Base(path)], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	report := recovered(t, Source{Dir: dir}, word)
	kept := filepath.Join(dir, report.Earlier.Backup)
	entries, err := os.ReadDir(kept)
	require.NoError(t, err)
	require.Len(t, entries, len(old))
	for name, want := range old {
		data, err := os.ReadFile(filepath.Join(kept, name))
		require.NoError(t, err)
		require.Equal(t, want, data, name)
	}
}

// After a kill behind any step, no node starts on the folder until the same command has
// finished it. This test kills the command after each step, one after the other.
func TestRecoverGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	dir := g.folder("n1", upTo(last))
	killed := errors.New("killed")
	killAfter := func(step string) {
		_, err := recoverer(func(done string) error {
			if done == step {
				return killed
			}
			return nil
		}).Run(Source{Dir: dir}, word)
		require.ErrorIs(t, err, killed, step)
		require.ErrorContains(t, err, "run the same command again")
	}
	var lineage string
	for _, step := range []string{"begun", "copy of node.json", "copy of raft.db", "backup", "term", "membership", "identity"} {
		killAfter(step)
		record, err := datadir.ReadRecord(dir)
		require.NoError(t, err)
		require.True(t, record.Begun(), step)
		if lineage == "" {
			lineage = record.Lineage
		}
		require.Equal(t, lineage, record.Lineage, "one recovery has one lineage")
		halfway, err := Inspect(Source{Dir: dir})
		require.NoError(t, err)
		require.Equal(t, last, halfway.LastIndex, "what the recovery wrote is not looked at")
		require.Len(t, halfway.Members, 3)
		require.Contains(t, halfway.Warnings[0], "not finished")
	}
	other := word
	other.Keep = []string{"n2"}
	_, err := Recover(Source{Dir: dir, Peers: []datadir.Survivor{{Node: "n2", Index: 1, Term: 1}}}, other)
	require.ErrorContains(t, err, "the recovery that was begun keeps []")

	again := word
	again.By = "Eve"
	recovered(t, Source{Dir: dir}, again)
	finished, err := datadir.ReadRecord(dir)
	require.NoError(t, err)
	require.True(t, finished.Waits())
	require.Equal(t, lineage, finished.Lineage)
	require.Equal(t, "Eve", finished.By, "who gave the word last answers for it")
	term, entry := lastEntry(t, dir)
	require.Equal(t, []uint64{oldTerm + 1, last + 1}, []uint64{term, entry.Index}, "one entry, however often it was killed")
	who, err := datadir.ReadIdentity(dir)
	require.NoError(t, err)
	require.Equal(t, []any{lineage, uint64(1)}, []any{who.Lineage, who.Recovery})
	folders, err := filepath.Glob(filepath.Join(dir, BackupNameStart+"*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
}

func TestRecoverRefuses(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	dir, far := g.folder("n1", upTo(last-1)), g.folder("n2", upTo(last))
	change := func(change func(*Order)) Order {
		order := word
		change(&order)
		return order
	}
	report, err := Inspect(Source{Dir: dir})
	require.NoError(t, err)
	behind, err := Inspect(Source{Dir: dir, Compare: []string{far}})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		report *Report
		order  Order
		says   string
	}{
		"another cluster":      {report, change(func(o *Order) { o.ClusterID = "c-other" }), `is of cluster "c-test", not of "c-other"`},
		"nobody":               {report, change(func(o *Order) { o.By = " " }), "name both"},
		"no second":            {report, change(func(o *Order) { o.Second = "\t" }), "name both"},
		"one person twice":     {report, change(func(o *Order) { o.Second = " aDA " }), "two different people"},
		"no reason":            {report, change(func(o *Order) { o.Reason = " " }), "say why"},
		"another is further":   {behind, word, "n2 is further than this node: recover from it"},
		"no member to keep":    {report, change(func(o *Order) { o.Keep = []string{"n9"} }), "n9 cannot be kept"},
		"itself to keep":       {report, change(func(o *Order) { o.Keep = []string{"n1"} }), "n1 cannot be kept"},
		"a kept one's end":     {report, change(func(o *Order) { o.Keep = []string{"n3"} }), "known where its log ends"},
		"kept, and it is more": {behind, change(func(o *Order) { o.Keep, o.ForceBehind = []string{"n2"}, true }), "the furthest must be recovered"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.order.checkAgainst(c.report)
			require.ErrorIs(t, err, ErrOrder)
			require.ErrorContains(t, err, c.says)
		})
	}
	forced := change(func(o *Order) { o.ForceBehind = true })
	require.NoError(t, forced.checkAgainst(behind))
	before := hashFolder(t, dir)
	_, err = Recover(Source{Dir: dir, Compare: []string{far}}, word)
	require.ErrorIs(t, err, ErrOrder)
	require.Equal(t, before, hashFolder(t, dir), "nothing was changed")
}

// The copy of the log must leave BackupSpare free: with one byte less, nothing is begun.
func TestRecoverNeedsRoomForTheCopy(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	dir := g.folder("n1", upTo(last))
	written, _, err := datadir.LogFiles(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(t, err)
	needed := uint64(BackupSpare)
	for _, path := range written {
		info, err := os.Stat(path)
		require.NoError(t, err)
		needed += uint64(info.Size())
	}
	free := func(bytes uint64, err error) *Recoverer {
		r := recoverer(func(string) error { return nil })
		r.Free = func(string) (uint64, uint64, error) { return bytes, 1 << 40, err }
		return r
	}
	before := hashFolder(t, dir)
	_, err = free(needed-1, nil).Run(Source{Dir: dir}, word)
	require.ErrorIs(t, err, ErrOrder)
	require.ErrorContains(t, err, "make room first")
	_, err = free(0, os.ErrPermission).Run(Source{Dir: dir}, word)
	require.ErrorContains(t, err, "free space")
	require.Equal(t, before, hashFolder(t, dir))
	forced := word
	forced.ForceBehind = true
	further := []datadir.Survivor{{Node: "n2", Index: last + 1, Term: oldTerm}}
	_, err = free(needed, nil).Run(Source{Dir: dir, Peers: further}, forced)
	require.NoError(t, err)
	record, err := datadir.ReadRecord(dir)
	require.NoError(t, err)
	require.True(t, record.Forced, "that another one was further is on record")
	require.Equal(t, further, record.Survivors)
}

// follower returns a folder that may follow the recovery of n1, and that recovery's record.
func follower(t *testing.T, g *oldGroup, last uint64) (dir, from string) {
	origin := g.folder("n1", upTo(last))
	order := word
	order.Keep = []string{"n2", "n2", "n1"} // Naming a node twice, or the node itself, adds nothing.
	recovered(t, Source{Dir: origin, Peers: []datadir.Survivor{{Node: "n2", Index: last - 1, Term: oldTerm}}}, order)
	_, entry := lastEntry(t, origin)
	require.Equal(t, g.servers[:2], raft.DecodeConfiguration(entry.Data).Servers, "both are the new group")
	return g.folder("n2", upTo(last-1)), filepath.Join(origin, datadir.RecoveryFile)
}

func TestFollowKeepsAnotherSurvivor(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	dir, from := follower(t, g, last)
	killed := errors.New("killed")
	for _, step := range []string{"begun", "identity"} { // The test stops after one step and then after the other, on the same folder.
		_, err := FollowStepwise(Source{Dir: dir}, from, "c-test", func(done string) error {
			if done == step {
				return killed
			}
			return nil
		})
		require.ErrorIs(t, err, killed)
		record, err := datadir.ReadRecord(dir)
		require.NoError(t, err)
		require.True(t, record.Begun(), "no node starts on it")
		_, err = Recover(Source{Dir: dir}, word)
		require.ErrorContains(t, err, "about to follow the recovery of n1")
	}
	require.NoError(t, os.Remove(filepath.Join(dir, datadir.LockFile))) // A copied folder has no lock file either.
	report, err := Follow(Source{Dir: dir, ID: "n2"}, from, "c-test")
	require.NoError(t, err)
	require.Equal(t, []any{"n1", uint64(1), []string{"n2"}}, []any{report.Earlier.Node, report.Earlier.Recovery, report.Earlier.Kept})
	origin, err := datadir.ReadRecord(filepath.Dir(from))
	require.NoError(t, err)
	mine, err := datadir.ReadRecord(dir)
	require.NoError(t, err)
	require.Equal(t, origin, mine)
	who, err := datadir.ReadIdentity(dir)
	require.NoError(t, err)
	require.Equal(t, []any{"n2", origin.Lineage, uint64(1)}, []any{who.ID, who.Lineage, who.Recovery})
	term, entry := lastEntry(t, dir)
	require.Equal(t, []uint64{oldTerm, last - 1}, []uint64{term, entry.Index}, "its log is left as it is")
}

func TestFollowRefuses(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	dir, from := follower(t, g, last)
	f, err := openStill(dir, "n2")
	require.NoError(t, err)
	defer f.close()
	for name, c := range map[string]struct {
		change func(*datadir.Record)
		begun  *datadir.Record
		says   string // "": the folder may follow.
	}{
		"as it is":           {change: func(*datadir.Record) {}},
		"not finished":       {change: func(r *datadir.Record) { r.State = datadir.RecoveryBegun }, says: "is not finished"},
		"on record":          {change: func(r *datadir.Record) { r.State = datadir.RecoveryRecorded }},
		"of another cluster": {change: func(r *datadir.Record) { r.ClusterID = "c-other" }, says: `the recovery is of cluster "c-other"`},
		"not kept":           {change: func(r *datadir.Record) { r.Kept = []string{"n3"} }, says: "does not keep n2"},
		"of a later one":     {change: func(r *datadir.Record) { r.Recovery = 2 }, says: "is of recovery 0 and cannot follow recovery 2"},
		"of an earlier one":  {change: func(r *datadir.Record) { r.Recovery = 0 }, says: "cannot follow recovery 0"},
		"as far as it":       {change: func(r *datadir.Record) { r.LastIndex-- }},
		"not as far as it":   {change: func(r *datadir.Record) { r.LastIndex -= 2 }, says: "recover from n2 instead"},
		"of an older term":   {change: func(r *datadir.Record) { r.LastTerm-- }, says: "recover from n2 instead"},
		"it was wiped":       {change: func(r *datadir.Record) { r.Former[1].Incarnation = "0000000000000000" }, says: "not the one that the group knows as n2"},
		"another was wiped":  {change: func(r *datadir.Record) { r.Former[2].Incarnation = "0000000000000000" }},
		"another was begun":  {func(*datadir.Record) {}, &datadir.Record{State: datadir.RecoveryBegun, Lineage: "fedcba9876543210"}, "another recovery was begun"},
	} {
		t.Run(name, func(t *testing.T) {
			record, err := datadir.ReadRecord(filepath.Dir(from))
			require.NoError(t, err)
			c.change(record)
			f.record = c.begun
			if err = checkFollower(record, f); c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
		})
	}
	require.NoError(t, f.close())
	before := hashFolder(t, dir)
	for says, c := range map[string][2]string{
		`is of cluster "c-test", not of "c-other"`:  {from, "c-other"},
		"is not the recovered node's recovery.json": {filepath.Join(filepath.Dir(from), datadir.IdentityFile), "c-test"},
		"is not the recovered":                      {filepath.Join(t.TempDir(), datadir.RecoveryFile), "c-test"},
	} {
		_, err := Follow(Source{Dir: dir}, c[0], c[1])
		require.ErrorIs(t, err, ErrOrder)
		require.ErrorContains(t, err, says)
	}
	require.Equal(t, before, hashFolder(t, dir), "nothing was changed")
	_, err = Follow(Source{Dir: g.folder("n2", upTo(last-1), func(w *datadir.Identity) { w.Superseded = "of old" })}, from, "c-test")
	require.ErrorContains(t, err, "was left behind")
}

// If somebody else changes the folder during a recovery, the recovery is refused and not
// finished.
func TestRecoverRefusesALogThatWentOn(t *testing.T) {
	t.Parallel()
	g := newOldGroup(t)
	last := g.notes(6)
	dir := g.folder("n1", upTo(last-2))
	_, err := recoverer(func(done string) error {
		if done != "term" {
			return nil
		}
		store, err := datadir.OpenLog(filepath.Join(dir, datadir.RaftFolder))
		if err == nil {
			return errors.Join(store.StoreLogs(g.log[last-2:]), store.Close())
		}
		return err
	}).Run(Source{Dir: dir}, word)
	require.Error(t, err)
	record, err := datadir.ReadRecord(dir)
	require.NoError(t, err)
	require.True(t, record.Begun())
}

func TestStateOf(t *testing.T) {
	record := &datadir.Record{State: "waiting", Node: "n1", Kept: []string{"n2"}, Recovery: 2, Lineage: "l", DecidedAt: "d", By: "a", Second: "b", Reason: "r", Backup: "f"}
	data, err := json.Marshal(stateOf(record))
	require.NoError(t, err)
	require.JSONEq(t, `{"state":"waiting","node":"n1","recovery":2,"lineage":"l","decidedAt":"d","by":"a","second":"b","reason":"r","backup":"f","kept":["n2"]}`, string(data))
	require.Equal(t, "2027-01-15T08:00:00.000Z", instantOf(time.Unix(1_800_000_000, 0)))
}
