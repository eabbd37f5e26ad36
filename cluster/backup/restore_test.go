package backup

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/nodekey"
	"railguard/cluster/recovery"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

func (w *world) order() Order {
	return Order{Dir: filepath.Join(w.t.TempDir(), "restored"), ID: "m1", Address: "10.0.0.1:7001", Now: time.Unix(0, int64(w.now)).Add(time.Hour)}
}

// requireSameLeaves compares the content of leaves in two histories.
func requireSameLeaves(t *testing.T, want, got *audit.Store, first, end uint64) {
	for index := first; index < end; index++ {
		wanted, err := want.Record(index)
		require.NoError(t, err)
		is, err := got.Record(index)
		require.NoError(t, err)
		require.Equal(t, wanted.Data, is.Data)
		require.Equal(t, wanted.Time, is.Time)
		require.Equal(t, wanted.Keys, is.Keys)
	}
}

func openHistory(t *testing.T, dir string) *audit.Store {
	store, err := audit.OpenReadOnly(audit.OSDir(filepath.Join(dir, datadir.AuditFolder)), audit.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestWhatIsRestoredIsWhatWasSaved(t *testing.T) {
	w := newWorld(t, "c-test")
	w.notes(600) // Three bundles.
	keys := keyPair(t)
	before := files(t, w.dir)
	path, saved := w.save(keys, 0)
	require.Equal(t, before, files(t, w.dir), "saving leaves nothing in the folder")
	view := w.machine.Freeze()
	require.Equal(t, view.Size, saved.Leaves)
	require.Equal(t, "n1", saved.Node)
	require.Equal(t, uint64(3), saved.Recovery)
	require.Equal(t, w.lists, saved.Lists)
	require.Equal(t, 1, saved.Counts.APIKeys)
	require.Equal(t, w.lists[0], saved.List)
	require.NotEmpty(t, saved.LeftOut)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(content), partManifest, "no name is in clear")

	verified, err := Verify(path, keys)
	require.NoError(t, err)
	require.Equal(t, saved.Manifest, verified.Manifest)
	manifest, err := Inspect(path, keys)
	require.NoError(t, err)
	require.Equal(t, &saved.Manifest, manifest)

	order := w.order()
	restored, err := Restore([]string{path}, keys, order)
	require.NoError(t, err)
	require.Equal(t, saved.Epoch+1, restored.Epoch)
	require.Greater(t, restored.Index, saved.Index)
	require.Equal(t, saved.TreeSize+1, restored.TreeSize, "the leaf that tells of it")
	require.NoError(t, ReadBack(restored))
	require.NoError(t, HistoryHolds(restored))

	requireSameLeaves(t, w.history, openHistory(t, order.Dir), 0, saved.TreeSize)
	last, err := openHistory(t, order.Dir).Leaf(saved.TreeSize)
	require.NoError(t, err)
	var told map[string]any
	require.NoError(t, json.Unmarshal(last, &told))
	require.Equal(t, []any{"cluster.restored", float64(saved.Index), float64(saved.TreeSize), saved.TreeHead, "m1"},
		[]any{told["kind"], told["backupIndex"], told["backupTreeSize"], told["backupTreeHead"], told["node"]})

	list, err := os.ReadFile(filepath.Join(order.Dir, datadir.ListFolder, w.lists[0]+listSuffix))
	require.NoError(t, err)
	require.Equal(t, "a list that nobody opens", string(list))
	at, err := os.Stat(filepath.Join(order.Dir, datadir.ListFolder, w.lists[0]+listSuffix))
	require.NoError(t, err)
	require.Equal(t, int64(w.now)/int64(time.Second), at.ModTime().Unix(), "lists keep their age")

	who, err := datadir.ReadIdentity(order.Dir)
	require.NoError(t, err)
	require.Equal(t, []any{"m1", "c-test", uint64(4), restored.Lineage}, []any{who.ID, who.ClusterID, who.Recovery, who.Lineage})
	requireGroupOfOne(t, order, who, restored)
}

// requireGroupOfOne reads the folder as raft does at a start.
func requireGroupOfOne(t *testing.T, order Order, who datadir.Identity, restored *Restored) {
	folder := filepath.Join(order.Dir, datadir.RaftFolder)
	snapshots, err := datadir.OpenSnapshots(datadir.SystemDisk{}, folder, hclog.NewNullLogger())
	require.NoError(t, err)
	listed, err := snapshots.List()
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, restored.Index, listed[0].Index)
	servers := listed[0].Configuration.Servers
	require.Len(t, servers, 1)
	require.Equal(t, raft.ServerID("m1"), servers[0].ID)
	require.Equal(t, raft.Voter, servers[0].Suffrage)
	require.Contains(t, string(servers[0].Address), "10.0.0.1:7001")
	require.Contains(t, string(servers[0].Address), who.Incarnation)
	data, err := os.ReadFile(filepath.Join(order.Dir, datadir.KeyFile))
	require.NoError(t, err)
	key, err := nodekey.Parse(data)
	require.NoError(t, err)
	require.Equal(t, who.Incarnation, key.Digest(), "a new key: no backup has one")
	store, err := datadir.OpenLog(folder)
	require.NoError(t, err)
	defer store.Close()
	term, err := store.GetUint64(datadir.RaftTermKey)
	require.NoError(t, err)
	require.Equal(t, listed[0].Term, term, "no vote of before counts")
}

// A restored node without an address has its id in place of it until it gives one.
func TestRestoreWithoutAnAddress(t *testing.T) {
	key, err := nodekey.Draw()
	require.NoError(t, err)
	r := &restoring{order: Order{ID: "m1"}, key: key}
	require.Equal(t, "m1/"+key.Digest(), string(r.listMembers().Servers[0].Address))
}

// History comes from several files: a full one, and what was added since.
func TestRestoreOfSeveralFiles(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	w.notes(300)
	full, first := w.save(keys, 0)
	w.notes(300)
	w.addList([]byte("another list"), w.now)
	added, second := w.save(keys, first.TreeSize)
	require.Equal(t, first.TreeSize-first.TreeSize%audit.BundleLeaves, second.From, "a bundle is whole")
	require.Less(t, second.Leaves, second.TreeSize)
	require.Contains(t, fmt.Sprint(second.LeftOut), fmt.Sprintf("history before leaf %d", second.From))
	w.notes(300)
	third, last := w.save(keys, second.TreeSize)

	restored, err := Restore([]string{full, added, third}, keys, w.order())
	require.NoError(t, err)
	require.NoError(t, HistoryHolds(restored))
	requireSameLeaves(t, w.history, openHistory(t, restored.Dir), 0, last.TreeSize)
	for _, list := range w.lists {
		require.FileExists(t, filepath.Join(restored.Dir, datadir.ListFolder, list+listSuffix))
	}

	for name, c := range map[string]struct {
		files []string
		says  string
	}{
		"one is missing":   {[]string{full, third}, "one is missing"},
		"the full is not":  {[]string{added, third}, "one is missing"},
		"the newest first": {[]string{third, full}, "one is missing"},
		"older after newer": {func() []string {
			whole, _ := w.save(keys, 0)
			return []string{whole, full}
		}(), "name the oldest first"},
		"none": {nil, "are needed"},
	} {
		t.Run(name, func(t *testing.T) {
			order := w.order()
			_, err := Restore(c.files, keys, order)
			require.ErrorContains(t, err, c.says)
			require.NoFileExists(t, filepath.Join(order.Dir, datadir.IdentityFile), "no node starts on it")
		})
	}
	other := newWorld(t, "c-other")
	other.notes(900)
	foreign, _ := other.save(keys, 0)
	_, err = Restore([]string{full, foreign}, keys, w.order())
	require.ErrorContains(t, err, "of cluster c-other, and the file before of cluster c-test")
}

// Histories of one cluster that diverged are not put together.
func TestRestoreOfFilesThatParted(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	w.notes(300)
	full, first := w.save(keys, 0)
	parted := newWorld(t, "c-test") // A cluster of the same id, with other leaves.
	for range 700 {
		parted.note(7)
	}
	added, _ := parted.save(keys, first.TreeSize)
	_, err := Restore([]string{full, added}, keys, w.order())
	require.Error(t, err)
}

func TestRestoreNeedsAnEmptyFolder(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	path, _ := w.save(keys, 0)
	order := w.order()
	require.NoError(t, os.MkdirAll(filepath.Join(order.Dir, "lost+found"), 0o700))
	_, err := Restore([]string{path}, keys, order)
	require.NoError(t, err, "what every disk has is nothing")

	_, err = Restore([]string{path}, keys, order)
	require.ErrorIs(t, err, ErrNotEmpty)
	require.ErrorContains(t, err, "--confirm c-test")
	order.Confirm = "c-other"
	_, err = Restore([]string{path}, keys, order)
	require.ErrorContains(t, err, `the backup is of cluster "c-test", not of "c-other"`)

	held, err := datadir.Lock(filepath.Join(order.Dir, datadir.LockFile))
	require.NoError(t, err)
	order.Confirm = "c-test"
	_, err = Restore([]string{path}, keys, order)
	require.ErrorContains(t, err, "in use: stop the node")
	require.NoError(t, held.Close())

	before, err := os.ReadFile(filepath.Join(order.Dir, datadir.IdentityFile))
	require.NoError(t, err)
	restored, err := Restore([]string{path}, keys, order)
	require.NoError(t, err)
	require.NoError(t, ReadBack(restored))
	aside, err := os.ReadFile(filepath.Join(order.Dir, datadir.RestoreAside(order.Now), datadir.IdentityFile))
	require.NoError(t, err)
	require.Equal(t, before, aside, "what was there is moved aside whole")
	require.DirExists(t, filepath.Join(order.Dir, "lost+found"))
	_, err = Restore([]string{path}, keys, order)
	require.Error(t, err, "in the same second what was moved aside stands there already")

	for _, wrong := range []Order{{ID: "m1"}, {Dir: order.Dir}} {
		_, err := Restore([]string{path}, keys, wrong)
		require.ErrorContains(t, err, "are needed")
	}
	unfit := w.order()
	require.NoError(t, os.WriteFile(unfit.Dir, nil, 0o600))
	_, err = Restore([]string{path}, keys, unfit)
	require.ErrorContains(t, err, "data folder")
}

// A new epoch tells ids of the restored cluster from those that the lost lineage gave out.
func TestRestoreBeginsAnEpoch(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	w.notes(3)
	path, _ := w.save(keys, 0)
	for epoch, want := range map[uint16]uint16{0: 1, 197: 197} {
		order := w.order()
		order.Epoch = epoch
		restored, err := Restore([]string{path}, keys, order)
		require.NoError(t, err)
		require.Equal(t, want, restored.Epoch)
	}
	order := w.order()
	order.Epoch = 198
	_, err := Restore([]string{path}, keys, order)
	require.ErrorContains(t, err, "epoch 198 cannot begin here")
	require.NoFileExists(t, filepath.Join(order.Dir, datadir.IdentityFile))

	// A restored cluster is backed up and restored like any other.
	order = w.order()
	order.Epoch = 7
	restored, err := Restore([]string{path}, keys, order)
	require.NoError(t, err)
	second := filepath.Join(t.TempDir(), "second")
	_, err = Create(second, keys, bytes.NewReader(stoppedParts(t, restored, 0)))
	require.NoError(t, err)
	order = w.order()
	again, err := Restore([]string{second}, keys, order)
	require.NoError(t, err)
	require.Equal(t, uint16(8), again.Epoch)
	require.NotEqual(t, restored.Lineage, again.Lineage)
	order = w.order()
	order.Epoch = 7
	_, err = Restore([]string{second}, keys, order)
	require.ErrorContains(t, err, "the backup is of epoch 7", "an epoch begins once")
}

// stoppedParts returns the parts of a backup of a restored folder on which no node runs.
func stoppedParts(t *testing.T, restored *Restored, from uint64) []byte {
	who, err := datadir.ReadIdentity(restored.Dir)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Stopped(&recovery.Still{View: stateOf(t, restored).Freeze(), Identity: who}, restored.Dir, t.TempDir(), func(string) {})(&out, from))
	return out.Bytes()
}

func stateOf(t *testing.T, restored *Restored) *fsm.Machine {
	states, err := filepath.Glob(filepath.Join(restored.Dir, datadir.RaftFolder, "snapshots", "*", "state.bin"))
	require.NoError(t, err)
	require.Len(t, states, 1)
	file, err := os.Open(states[0])
	require.NoError(t, err)
	defer file.Close()
	machine, err := fsm.Restore(file)
	require.NoError(t, err)
	return machine
}

// What has expired since the backup is erased from the disk before anything is served.
func TestRestoreErasesWhatHasExpired(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	w.notes(40)
	old := w.machine.Freeze().Size
	w.apply(wire.KindClock, &wire.Clock{Advance: 60 * engine.DayLength}) // Only days that the group lived through count.
	w.notes(3)
	path, saved := w.save(keys, 0)
	order := w.order()
	order.Now = order.Now.Add(40 * 24 * time.Hour)
	restored, err := Restore([]string{path}, keys, order)
	require.NoError(t, err)
	require.Equal(t, old-saved.Oldest, restored.Forgotten)
	history := openHistory(t, order.Dir)
	erased, err := history.Record(old - 1)
	require.True(t, err != nil || erased.Erased, "the text of a leaf past its retention is gone")
	_, err = history.Leaf(old)
	require.NoError(t, err)
	require.NoError(t, HistoryHolds(restored), "hashes stay")

	second := filepath.Join(t.TempDir(), "second")
	report, err := Create(second, keys, bytes.NewReader(stoppedParts(t, restored, 0)))
	require.NoError(t, err)
	require.Equal(t, old, report.Erased)
	require.Contains(t, fmt.Sprint(report.LeftOut), fmt.Sprintf("the content of %d leaves", old))
	again, err := Restore([]string{second}, keys, w.order())
	require.NoError(t, err)
	require.NoError(t, HistoryHolds(again))
}

func TestReadBackFindsDamage(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	w.notes(20)
	path, _ := w.save(keys, 0)
	restored, err := Restore([]string{path}, keys, w.order())
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(*Restored)
		says   string
	}{
		"digest":  {func(r *Restored) { r.Digest = "00" }, "has digest"},
		"index":   {func(r *Restored) { r.Index++ }, "at index"},
		"cluster": {func(r *Restored) { r.ClusterID = "c-other" }, "cluster is c-test"},
		"lineage": {func(r *Restored) { r.Lineage = "x" }, "lineage is"},
		"epoch":   {func(r *Restored) { r.Epoch++ }, "epoch is 1"},
		"key set": {func(r *Restored) { r.JWKS = "x" }, "key set is"},
		"list":    {func(r *Restored) { r.List = "x" }, "list is"},
		"counts":  {func(r *Restored) { r.Counts.Agents++ }, "counts is"},
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := *restored
			c.change(&spoilt)
			require.ErrorContains(t, ReadBack(&spoilt), c.says)
		})
	}
	for name, change := range map[string]func(*Restored){
		"the backup's tree head": func(r *Restored) { r.Report.TreeHead = r.TreeHead },
		"the restored tree head": func(r *Restored) { r.TreeHead = r.Report.TreeHead },
		"leaves that are not":    func(r *Restored) { r.TreeSize++ },
	} {
		spoilt := *restored
		change(&spoilt)
		require.ErrorContains(t, HistoryHolds(&spoilt), "restored history of", name)
	}

	states, err := filepath.Glob(filepath.Join(restored.Dir, datadir.RaftFolder, "snapshots", "*", "state.bin"))
	require.NoError(t, err)
	content, err := os.ReadFile(states[0])
	require.NoError(t, err)
	for _, spoilt := range [][]byte{content[:len(content)-1], nil, slices.Concat(content[:len(content)/2], []byte{content[len(content)/2] ^ 1}, content[len(content)/2+1:])} {
		require.NoError(t, os.WriteFile(states[0], spoilt, 0o600))
		require.ErrorContains(t, ReadBack(restored), "the restored state")
	}
	require.NoError(t, os.Remove(states[0]))
	require.ErrorContains(t, ReadBack(restored), "has 0 states")
	require.NoError(t, os.RemoveAll(filepath.Join(restored.Dir, datadir.AuditFolder)))
	require.ErrorContains(t, HistoryHolds(restored), "restored history")
}

// The node that was started on the folder has gone on, and no user or key is missing or was
// added.
func TestLives(t *testing.T) {
	w := newWorld(t, "c-test")
	keys := keyPair(t)
	w.notes(20)
	path, _ := w.save(keys, 0)
	restored, err := Restore([]string{path}, keys, w.order())
	require.NoError(t, err)
	started := &world{t: t, machine: stateOf(t, restored), term: 9, now: w.now + 2*engine.Hour, index: restored.Index}
	state := func() *bytes.Buffer {
		var out bytes.Buffer
		_, err := started.machine.Freeze().WriteTo(&out)
		require.NoError(t, err)
		return &out
	}
	require.ErrorContains(t, Lives(state(), restored, 0), "it has written nothing")
	started.history, err = audit.Open(audit.OSDir(filepath.Join(restored.Dir, datadir.AuditFolder)), audit.Options{})
	require.NoError(t, err)
	defer started.history.Close()
	started.apply(wire.KindTick, &wire.Tick{})
	require.ErrorContains(t, Lives(state(), restored, 0), "it has written nothing", "a tick is no leaf")
	started.note(1)
	require.NoError(t, Lives(state(), restored, 0))
	started.apply(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{ID: "l", Prefix: "q", Hashes: [][]byte{bytes.Repeat([]byte("l"), 32)}, Roles: wire.RoleScreener}})
	require.ErrorContains(t, Lives(state(), restored, 0), "counts is")
	require.NoError(t, Lives(state(), restored, 1))
	require.ErrorContains(t, Lives(bytes.NewReader(state().Bytes()[1:]), restored, 1), "the restored state")
	require.Equal(t, hex.EncodeToString(started.machine.Freeze().Settings().List.Digest[:]), restored.List)
}
