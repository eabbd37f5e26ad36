package recovery

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// oldTerm is the term of all entries of the old group.
const oldTerm = 3

// word is a complete order, confirmed by two people.
var word = Order{ClusterID: "c-test", By: "Ada", Second: "Bob", Reason: "the hall burnt down"}

// oldGroup is the log of three nodes. Each folder has a part of it.
type oldGroup struct {
	t       testing.TB
	log     []*raft.Log
	servers []raft.Server
}

func newOldGroup(t testing.TB) *oldGroup {
	g := &oldGroup{t: t}
	for _, id := range []string{"n1", "n2", "n3"} {
		address := port.Address{Host: id + ".example:7001", Incarnation: incarnation(id)}.String()
		g.servers = append(g.servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(address)})
	}
	g.add(raft.LogConfiguration, raft.EncodeConfiguration(raft.Configuration{Servers: g.servers}))
	g.propose(wire.KindGenesis, &wire.Genesis{
		ClusterID: "c-test", Dev: true, Issuer: "did:kya:railguard", IDKey: [16]byte{1}, SaltKey: [16]byte{2}, Policy: *engine.DefaultPolicy(),
		SigningKey: wire.SigningKey{KID: "cc-v1", Public: make([]byte, 64), Sealed: []byte{9}},
	})
	return g
}

func incarnation(id string) string { return strings.Repeat(id, 16) }

func (g *oldGroup) add(kind raft.LogType, data []byte) uint64 {
	index := uint64(len(g.log) + 1)
	g.log = append(g.log, &raft.Log{Index: index, Term: oldTerm, Type: kind, Data: data})
	return index
}

// propose adds an entry of one record and returns its index.
func (g *oldGroup) propose(kind wire.Kind, body any) uint64 {
	now := engine.Time(1774150408589) * engine.Millisecond
	entry := wire.AppendHeader(nil, wire.Header{Format: engine.Format1, Term: oldTerm, Time: now})
	entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: uint64(len(g.log) + 1), Body: wire.Encode(body)})
	return g.add(raft.LogCommand, wire.Seal(entry, 1))
}

// note adds an entry of one leaf.
func (g *oldGroup) note(text string) uint64 {
	return g.propose(wire.KindNote, &wire.Note{Event: "agent.refused", Common: wire.Common{Fragment: fmt.Appendf(nil, `"text":%q`, text)}})
}

func (g *oldGroup) notes(count int) (last uint64) {
	for i := range count {
		last = g.note(fmt.Sprint("note ", i))
	}
	return last
}

// extent says which part of the log a folder has.
type extent struct {
	snapshot uint64 // 0: none.
	first    uint64 // First entry of the log on disk; 0: 1.
	last     uint64 // 0: no log.
	written  uint64 // The last entry whose leaves are in history.
}

func upTo(last uint64) extent { return extent{last: last, written: last} }

// folder makes a stopped node's folder.
func (g *oldGroup) folder(id string, has extent, changes ...func(*datadir.Identity)) string {
	dir := filepath.Join(g.t.TempDir(), id)
	for _, name := range []string{datadir.RaftFolder, datadir.AuditFolder} {
		require.NoError(g.t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	who := datadir.Identity{Format: datadir.Format, ID: id, Incarnation: incarnation(id), ClusterID: "c-test"}
	for _, change := range changes {
		change(&who)
	}
	data, err := json.Marshal(&who)
	require.NoError(g.t, err)
	require.NoError(g.t, os.WriteFile(filepath.Join(dir, datadir.IdentityFile), data, 0o600))
	require.NoError(g.t, os.WriteFile(filepath.Join(dir, datadir.LockFile), nil, 0o600))
	g.writeLog(dir, has)
	g.writeState(dir, has)
	return dir
}

func (g *oldGroup) writeLog(dir string, has extent) {
	store, err := datadir.OpenLog(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(g.t, err)
	require.NoError(g.t, store.SetUint64(datadir.RaftTermKey, oldTerm))
	if has.last > 0 { // The last entry is a write of its own, so damage before it does not look like a torn write.
		require.NoError(g.t, store.StoreLogs(g.log[max(has.first, 1)-1:has.last-1]))
		require.NoError(g.t, store.StoreLogs(g.log[has.last-1:has.last]))
	}
	require.NoError(g.t, store.Close())
}

// writeState writes history and the snapshot.
func (g *oldGroup) writeState(dir string, has extent) {
	history, err := audit.Open(audit.OSDir(filepath.Join(dir, datadir.AuditFolder)), audit.Options{})
	require.NoError(g.t, err)
	defer func() { require.NoError(g.t, history.Close()) }()
	machine := fsm.New()
	var out fsm.Effects
	for _, entry := range g.log[:max(has.snapshot, has.written)] {
		if entry.Type == raft.LogCommand {
			machine.Apply(entry.Index, entry.Term, entry.Data, &out)
			require.Empty(g.t, out.Stop)
		}
		if entry.Index <= has.written && entry.Type == raft.LogCommand && len(out.Leaves) > 0 {
			var leaves []audit.Leaf
			for i := range out.Leaves {
				leaves = append(leaves, audit.Leaf{Time: int64(out.Leaves[i].Time), Keys: out.Leaves[i].Filters, Data: out.Leaves[i].Data})
			}
			require.NoError(g.t, history.Append(out.FirstLeaf, leaves))
		}
		if entry.Index == has.snapshot {
			g.writeSnapshot(dir, entry, machine.Freeze())
		}
	}
}

func (g *oldGroup) writeSnapshot(dir string, entry *raft.Log, view *fsm.View) {
	snapshots, err := datadir.OpenSnapshots(datadir.SystemDisk{}, filepath.Join(dir, datadir.RaftFolder), hclog.NewNullLogger())
	require.NoError(g.t, err)
	_, nowhere := raft.NewInmemTransport("")
	sink, err := snapshots.Create(raft.SnapshotVersionMax, entry.Index, entry.Term, raft.Configuration{Servers: g.servers}, 1, nowhere)
	require.NoError(g.t, err)
	_, err = view.WriteTo(sink)
	require.NoError(g.t, err)
	require.NoError(g.t, sink.Close())
}

// hashFolder hashes the names, sizes, modes and times of everything in a folder, and the first
// bytes of each file: the log is 16 MiB long from its start, and empty except for these.
func hashFolder(t testing.TB, dir string) string {
	sum := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		fmt.Fprintln(sum, path, info.Size(), info.Mode(), info.ModTime())
		if !entry.Type().IsRegular() {
			return nil
		}
		file, err := os.Open(path)
		require.NoError(t, err)
		_, err = io.Copy(sum, io.LimitReader(file, 64<<10))
		require.NoError(t, err)
		return file.Close()
	}))
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// lastEntry reads a folder's term and the last entry of its log.
func lastEntry(t testing.TB, dir string) (term uint64, entry raft.Log) {
	store, err := datadir.OpenLog(filepath.Join(dir, datadir.RaftFolder))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	term, err = store.GetUint64(datadir.RaftTermKey)
	require.NoError(t, err)
	last, err := store.LastIndex()
	require.NoError(t, err)
	require.NoError(t, store.GetLog(last, &entry))
	return term, entry
}

// recoverer returns a Recoverer with a fixed time.
func recoverer(after func(step string) error) *Recoverer {
	return &Recoverer{Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Free: datadir.FreeSpace, After: after}
}

func recovered(t testing.TB, source Source, order Order) *Report {
	report, err := recoverer(func(string) error { return nil }).Run(source, order)
	require.NoError(t, err)
	return report
}
