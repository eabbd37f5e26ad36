package backup

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/nodekey"
	"railguard/cluster/port"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Order says where a backup is restored, and as which node.
type Order struct {
	Dir         string    // The new node's data folder: empty, or Confirm is given.
	ID          string    // The new node's id.
	Address     string    // The address of its port between nodes; "": the node gives it when it starts.
	Confirm     string    // The cluster's id, which a person typed. With it, files in Dir are moved aside.
	Ask         []string  // Addresses of other nodes that may be of a group of this cluster that lives. They are asked before the first start, with the members of the backup.
	Tails       []string  // Files of what the log took after the last backup, oldest first.
	Revocations []string  // Files of events, and data folders of the lost group: what ended after the backup ends again.
	Epoch       uint16    // The epoch of new ids; 0: the one after the backup's. Give a higher one if a cluster restored from this backup has served before.
	Now         time.Time // The log time at which the new lineage begins.
}

// Restored is the result of Restore.
type Restored struct {
	Report
	Dir       string   `json:"dir"`
	NodeID    string   `json:"nodeId"`
	Lineage   string   `json:"newLineage"`
	Epoch     uint16   `json:"newEpoch"`
	Index     uint64   `json:"newIndex"`
	TreeSize  uint64   `json:"newTreeSize"`
	TreeHead  string   `json:"newTreeHead"`
	Digest    string   `json:"newDigest"` // Digest of the state as it is written.
	Counts    Counts   `json:"newCounts"`
	Forgotten uint64   `json:"leavesPastRetention"` // Leaves whose retention ended between the backup and now: their texts were erased.
	Aside     string   `json:"movedAside,omitempty"`
	Revoked   *Revoked `json:"revocations"` // What ended after the backup, and ended again.
}

const (
	lineageBytes = 8
	settleTicks  = 4096 // The most ticks in which everything that has expired is forgotten.
	settleQuiet  = 16   // After so many ticks in a row that forget nothing, nothing is left to expire.
	eraseStep    = 64   // Segments that are erased at a time.
)

// ErrNotEmpty refuses to restore a backup into a folder that has data in it.
var ErrNotEmpty = errors.New("backup: the folder is not empty: restoring goes onto an empty one")

// restoring fills a folder.
type restoring struct {
	order   Order
	given   []revocation // What ended, by the files and folders that were named.
	aside   string       // Where the folder's former content is; "": there was none.
	lists   string
	store   *audit.Store
	machine *fsm.Machine
	key     *nodekey.Key // The new node's.
	cluster string
}

func (r *restoring) takeState(m *Manifest, machine *fsm.Machine) error {
	if r.cluster != "" && r.cluster != m.ClusterID {
		return fmt.Errorf("it is of cluster %s, and the file before of cluster %s", m.ClusterID, r.cluster)
	}
	if m.From > r.store.Size() {
		return fmt.Errorf("its history begins at leaf %d, and the files before end at %d: one is missing", m.From, r.store.Size())
	}
	if m.TreeSize < r.store.Size() {
		return fmt.Errorf("it has %d leaves and the files before %d: name the oldest first", m.TreeSize, r.store.Size())
	}
	r.cluster, r.machine = m.ClusterID, machine
	return nil
}

func (r *restoring) takeLeaves(first uint64, leaves []audit.Leaf) error {
	return r.store.Append(first, leaves)
}

func (r *restoring) takeList(name string, at time.Time, data []byte) error {
	if err := datadir.ReplaceFile(r.lists, name, data); err != nil {
		return err
	}
	return os.Chtimes(filepath.Join(r.lists, name), at, at)
}

// Restore turns an empty folder into that of the first node of a new lineage. It takes the state
// of the last of the files and the history of all of them; the first must be a full backup.
// Restore itself applies the lineage's first record. So before any node serves, the ids are of a
// new epoch and expired data are erased. Restore writes node.json last, so that no node starts on
// a folder whose restore broke off. Other nodes join with empty folders.
func Restore(files []string, keys *Keys, order Order) (result *Restored, err error) {
	if len(files) == 0 || order.ID == "" || order.Dir == "" {
		return nil, errors.New("backup: a file, a folder and a node id are needed")
	}
	first, err := Inspect(files[len(files)-1], keys)
	if err != nil {
		return nil, err
	}
	given, err := readRevocations(order.Revocations) // Before anything is written: a wrong name costs nothing then.
	if err != nil {
		return nil, err
	}
	aside := ""
	for _, name := range []string{"", datadir.RaftFolder, datadir.AuditFolder, datadir.ListFolder} {
		if name == datadir.RaftFolder {
			if aside, err = order.clearFolder(first.ClusterID); err != nil {
				return nil, err
			}
		}
		if err := os.MkdirAll(filepath.Join(order.Dir, name), 0o700); err != nil {
			return nil, describeUnmade(order.Dir, err)
		}
	}
	lock, err := datadir.Lock(filepath.Join(order.Dir, datadir.LockFile))
	if err != nil {
		return nil, fmt.Errorf("backup: data folder %s is in use: %w", order.Dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	r := &restoring{order: order, given: given, aside: aside, lists: filepath.Join(order.Dir, datadir.ListFolder)}
	if r.key, err = nodekey.Draw(); err != nil {
		return nil, fmt.Errorf("backup: the node's key: %w", err)
	}
	if r.store, err = audit.Open(audit.OSDir(filepath.Join(order.Dir, datadir.AuditFolder)), audit.Options{}); err != nil {
		return nil, fmt.Errorf("backup: history: %w", err)
	}
	result, err = r.restoreFiles(files, keys)
	if err = errors.Join(err, r.store.Close()); err != nil {
		return nil, err
	}
	return result, r.writeIdentity(result)
}

// describeUnmade says how a folder is made that the user who restores may not make, as on a machine
// on which no node ever ran.
func describeUnmade(dir string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("backup: data folder: %w: only root can make it here: install -d -m 700 -o USER -g GROUP %s, with the user that the node runs as, and then restore as that user", err, dir)
	}
	return fmt.Errorf("backup: data folder: %w", err)
}

// clearFolder refuses a folder with data in it, unless Confirm names the cluster: then it moves
// the data into a folder beside them and returns it.
func (o *Order) clearFolder(clusterID string) (aside string, err error) {
	if o.Confirm != "" && o.Confirm != clusterID {
		return "", fmt.Errorf("backup: the backup is of cluster %q, not of %q", clusterID, o.Confirm)
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return "", fmt.Errorf("backup: data folder: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == "lost+found" })
	if len(entries) == 0 {
		return "", nil
	}
	if o.Confirm == "" {
		return "", fmt.Errorf("%w (%s has %s): --confirm %s moves what is there aside", ErrNotEmpty, o.Dir, entries[0].Name(), clusterID)
	}
	held, err := datadir.Lock(filepath.Join(o.Dir, datadir.LockFile))
	if err != nil {
		return "", fmt.Errorf("backup: data folder %s is in use: stop the node: %w", o.Dir, err)
	}
	defer func() { _ = held.Close() }() // The process gives it back in any case.
	aside = filepath.Join(o.Dir, datadir.RestoreAside(o.Now))
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", fmt.Errorf("backup: data folder: %w", err)
	}
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(o.Dir, entry.Name()), filepath.Join(aside, entry.Name())); err != nil {
			return "", fmt.Errorf("backup: data folder: %w", err)
		}
	}
	return aside, datadir.SyncFolder(o.Dir)
}

func (r *restoring) restoreFiles(files []string, keys *Keys) (*Restored, error) {
	var last *Report
	for _, path := range files {
		report, err := readFile(path, keys, r)
		if err != nil {
			return nil, err
		}
		last = report
	}
	if err := r.applyTails(r.order.Tails, keys, last); err != nil {
		return nil, err
	}
	root, err := r.store.Root(last.TreeSize)
	if err != nil || hex.EncodeToString(root[:]) != last.TreeHead {
		return nil, errors.Join(fmt.Errorf("backup: history on disk leads to %x, not to %s", root, last.TreeHead), err)
	}
	digest := sha256.Sum256([]byte(last.Digest + last.TreeHead + last.ClusterID))
	var random [lineageBytes]byte
	rand.Read(random[:])
	result := &Restored{Report: *last, Dir: r.order.Dir, NodeID: r.order.ID, Lineage: hex.EncodeToString(random[:])}
	view, err := r.beginLineage(result, hex.EncodeToString(digest[:]))
	if err != nil {
		return nil, err
	}
	if err := r.store.SyncTo(view.Size); err != nil {
		return nil, fmt.Errorf("backup: history: %w", err)
	}
	r.store.Prune(view.Oldest)
	for done := eraseStep; done == eraseStep; {
		if done, err = r.store.Erase(view.Oldest, eraseStep); err != nil {
			return nil, fmt.Errorf("backup: erasing what has expired: %w", err)
		}
	}
	result.Forgotten = view.Oldest - last.Oldest
	is, err := describeView(view)
	if err != nil {
		return nil, err
	}
	result.Digest, result.Counts = is.Digest, is.Counts
	result.Index, result.TreeSize, result.TreeHead = view.Index, view.Size, hex.EncodeToString(view.Root[:])
	return result, r.writeSnapshot(view)
}

// beginLineage applies the first record of the new lineage to the state, and then ticks until
// nothing more expires. digest names the backup in that record.
func (r *restoring) beginLineage(result *Restored, digest string) (*fsm.View, error) {
	view := r.machine.Freeze()
	index, term := view.Index, view.Term+1
	var out fsm.Effects
	apply := func(kind wire.Kind, body any) (*wire.Result, error) {
		index++
		entry := wire.AppendHeader(nil, wire.Header{Format: view.Format, Term: term, Time: engine.Time(r.order.Now.UnixNano())})
		entry = wire.AppendRecord(entry, wire.Record{Kind: kind, Version: wire.RecordVersion, Origin: 1, Seq: index, Body: wire.Encode(body)})
		r.machine.Apply(index, term, wire.Seal(entry, 1), &out)
		if out.Stop != "" || len(out.Results) != 1 {
			return nil, fmt.Errorf("backup: the state takes no records: %s", out.Stop)
		}
		return &out.Results[0], r.appendLeaves(&out)
	}
	fragment, err := json.Marshal(struct {
		Index uint64 `json:"backupIndex"`
		Time  string `json:"backupTime"`
		Size  uint64 `json:"backupTreeSize"`
		Head  string `json:"backupTreeHead"`
		Node  string `json:"node"`
	}{view.Index, result.LogTime, view.Size, result.Report.TreeHead, r.order.ID})
	if err != nil {
		return nil, err
	}
	record := &wire.Restored{Lineage: result.Lineage, Backup: digest, Number: r.order.Epoch, Passed: engine.Time(r.order.Now.UnixNano()) + view.Settings().ClockOffset - view.Time, Common: wire.Common{Fragment: fragment[1 : len(fragment)-1]}}
	applied, err := apply(wire.KindRestored, record)
	if err != nil {
		return nil, err
	}
	if applied.Code != wire.Applied {
		return nil, fmt.Errorf("backup: epoch %d cannot begin here: the backup is of epoch %d, and the last one is 197", r.order.Epoch, result.Report.Epoch)
	}
	events, damaged := r.gatherRevocations(view.Size)
	if result.Revoked, err = r.replayRevocations(events, apply); err != nil {
		return nil, err
	}
	result.Revoked.Refused = append(result.Revoked.Refused, damaged...)
	type held struct {
		oldest         uint64
		users, reviews int
		size           uint64
	}
	var before held
	for quiet, n := 0, 0; quiet < settleQuiet && n < settleTicks; n++ {
		if _, err := apply(wire.KindTick, &wire.Tick{}); err != nil {
			return nil, err
		}
		view = r.machine.Freeze()
		now := held{view.Oldest, view.Users(), view.OpenReviews(), view.Size}
		if quiet++; now != before {
			quiet = 0
		}
		before = now
	}
	epochs := view.Settings().Epochs
	result.Epoch = epochs[len(epochs)-1].Number
	return view, nil
}

func (r *restoring) appendLeaves(out *fsm.Effects) error {
	leaves := make([]audit.Leaf, 0, len(out.Leaves))
	for i := range out.Leaves {
		l := &out.Leaves[i]
		leaves = append(leaves, audit.Leaf{Time: int64(l.Time), Keys: l.Filters, Data: l.Data, Hash: l.Hash})
	}
	if len(leaves) == 0 {
		return nil
	}
	return r.store.Append(out.FirstLeaf, leaves)
}

// writeSnapshot writes the state as the snapshot from which raft starts, with this node as the
// only member.
func (r *restoring) writeSnapshot(view *fsm.View) error {
	folder := filepath.Join(r.order.Dir, datadir.RaftFolder)
	store, err := datadir.OpenLog(folder)
	if err != nil {
		return err
	}
	err = errors.Join(store.SetUint64(datadir.RaftTermKey, view.Term), store.Close())
	if err != nil {
		return fmt.Errorf("backup: log: %w", err)
	}
	snapshots, err := datadir.OpenSnapshots(datadir.SystemDisk{}, folder, hclog.NewNullLogger())
	if err != nil {
		return err
	}
	_, nowhere := raft.NewInmemTransport("")
	sink, err := snapshots.Create(raft.SnapshotVersionMax, view.Index, view.Term, r.listMembers(), view.Index, nowhere)
	if err != nil {
		return fmt.Errorf("backup: snapshot: %w", err)
	}
	if err := datadir.WriteGently(sink, view, func() bool { return true }); err != nil {
		return errors.Join(fmt.Errorf("backup: snapshot: %w", err), sink.Cancel())
	}
	return sink.Close()
}

func (r *restoring) listMembers() raft.Configuration {
	host := r.order.Address
	if host == "" {
		host = r.order.ID // The node gives its address when it starts.
	}
	return raft.Configuration{Servers: []raft.Server{{
		Suffrage: raft.Voter, ID: raft.ServerID(r.order.ID),
		Address: raft.ServerAddress(port.Address{Host: host, Incarnation: r.key.Digest()}.String()),
	}}}
}

// writeIdentity writes the node's key and then node.json. It is the last step: no node starts on
// a folder without that file.
func (r *restoring) writeIdentity(result *Restored) error {
	if err := datadir.WriteKey(datadir.SystemDisk{}, r.order.Dir, r.key); err != nil {
		return err
	}
	who := datadir.Identity{
		Format: datadir.Format, ID: r.order.ID, Incarnation: r.key.Digest(), ClusterID: r.cluster,
		Recovery: result.Recovery + 1, Lineage: result.Lineage,
		Restored: &datadir.Restored{Former: result.Members},
	}
	for _, address := range r.order.Ask {
		who.Restored.Former = append(who.Restored.Former, datadir.Member{Addr: address})
	}
	data, err := json.MarshalIndent(&who, "", "  ")
	if err != nil {
		return err
	}
	return datadir.ReplaceFile(r.order.Dir, datadir.IdentityFile, append(data, '\n'))
}

func syncFolder(path string) error { return datadir.SyncFolder(path) }
