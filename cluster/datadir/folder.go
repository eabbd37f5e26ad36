package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"railguard/cluster/nodekey"
)

// The data folder holds:
//
//	DIR/lock            held by the one process that may use DIR
//	DIR/node.json       the node's identity
//	DIR/reached         the last entry that was applied, and the term
//	DIR/node.key        the node's key, which is nowhere else: no backup, no copy before a recovery
//	DIR/recovery.json   the last recovery of a lost majority, if there was one
//	DIR/before-recovery-N-LINEAGE   node.json, raft.db and the log's files as they were before it
//	DIR/raft/raft.db    term and vote (bbolt)
//	DIR/raft/*.log      the log's entries
//	DIR/raft/snapshots  state snapshots
//	DIR/audit           leaves and tiles
//	DIR/lists           <sha256>.entities, lists of the last 90 days; <sha256>.staged, one that may become the active one
//	DIR/jobs            backtests and shadows of this node, one file each
const (
	LockFile     = "lock"
	IdentityFile = "node.json"
	KeyFile      = "node.key"
	RaftFolder   = "raft"
	AuditFolder  = "audit"
	KeysFolder   = "keys" // Of the indexes that are made from history.
	ListFolder   = "lists"
	JobFolder    = "jobs"
)

// Format is the number of the layout that this release writes, log and snapshots included.
// CheckFormat refuses a folder of another format.
const Format = 3

// Identity is the content of node.json. The incarnation is made with the folder: it is the digest
// of the node's key. It tells a node that comes back under its old id with an empty disk from the
// one that has the votes and entries it acknowledged, and no other node can prove it.
type Identity struct {
	Format      int    `json:"format"`
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	ClusterID   string `json:"clusterId,omitempty"` // Empty until the genesis was applied here.
	PromisedTo  string `json:"promisedTo,omitempty"`
	Adopted     uint64 `json:"adopted,omitempty"` // Size of the tree head under which history is fetched.

	Recovery   uint64 `json:"recovery,omitempty"`   // How often the group lost its majority and was recovered.
	Lineage    string `json:"lineage,omitempty"`    // Identifies the last recovery of the cluster.
	Superseded string `json:"superseded,omitempty"` // Why no node may start here any more.

	Restored  *Restored  `json:"restored,omitempty"`  // A backup was restored here, and no node has started on it yet.
	Unreached *Unreached `json:"unreached,omitempty"` // The start after that could not reach these.
}

// Restored is what a folder knows of the group whose backup was restored into it. Before the first
// start the node asks these members, and starts only if none of them answers.
type Restored struct {
	Former []Member `json:"former"` // Also the addresses that the operator gave, without a name.
}

// Unreached is whom the first start after a restore could not reach, and nobody has since. The node
// asks them again.
type Unreached struct {
	Members []Member `json:"members"`
	Since   string   `json:"since"` // When that start was.
}

// IsOlder reports whether that start was longer ago than age, or cannot be told.
func (u *Unreached) IsOlder(age time.Duration, now time.Time) bool {
	since, err := time.Parse(TimeFormat, u.Since)
	return err != nil || now.Sub(since) > age
}

// Folder is the opened data folder.
type Folder struct {
	path     string
	disk     Disk
	saving   sync.Mutex // Held while node.json is written.
	mu       sync.Mutex // Guards what changes in identity. Never held while the disk is waited for: who meets another node asks for it.
	identity Identity
	key      *nodekey.Key
	fresh    bool // This start made node.json.
	lock     *FileLock

	Watched func(name string) (done func()) // Watches a write of a file; nil: nobody does.
}

// Identity returns the folder's present identity.
func (f *Folder) Identity() Identity {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity
}

// Key returns the node's key.
func (f *Folder) Key() *nodekey.Key { return f.key }

// Sub returns the path of a file or folder in the data folder.
func (f *Folder) Sub(name string) string { return filepath.Join(f.path, name) }

// Open locks DIR, makes what is missing and checks that the folder is the node's with this id.
func Open(disk Disk, dir, id string) (*Folder, error) {
	for _, name := range []string{"", RaftFolder, AuditFolder, KeysFolder, ListFolder} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("cluster: data folder: %w", err)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			return nil, fmt.Errorf("cluster: data folder: %w", err)
		}
	}
	lock, err := Lock(filepath.Join(dir, LockFile))
	if err != nil {
		return nil, fmt.Errorf("cluster: data folder %s is in use by another process (or cannot be locked): %w", dir, err)
	}
	f := &Folder{path: dir, disk: disk, lock: lock}
	if err := f.identifyNode(id); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Folder) identifyNode(id string) error {
	data, err := os.ReadFile(f.Sub(IdentityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f.moveIn(id)
	}
	if err != nil {
		return fmt.Errorf("cluster: %s: %w", IdentityFile, err)
	}
	if err := json.Unmarshal(data, &f.identity); err != nil {
		return fmt.Errorf("cluster: %s in %s cannot be read: %w", IdentityFile, f.path, err)
	}
	if err := CheckFormat("data folder "+f.path, f.identity.Format); err != nil {
		return err
	}
	if f.identity.ID != id {
		return fmt.Errorf("cluster: data folder %s belongs to node %q, this is node %q: start it under its own id or give it its own folder",
			f.path, f.identity.ID, id)
	}
	return f.readKey()
}

// readKey reads the node's key. It must be the one that was made with the folder: the group knows
// the node by it.
func (f *Folder) readKey() error {
	const remedy = "wipe the folder and let an admin admit the node again, or restore a backup where no quorum is left"
	data, err := os.ReadFile(f.Sub(KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster: data folder %s has no %s, which was lost, or a draft before 0.2.0 wrote the folder: %s", f.path, KeyFile, remedy)
	}
	if err == nil {
		f.key, err = nodekey.Parse(data)
	}
	if err != nil {
		return fmt.Errorf("cluster: %s in %s cannot be read: %w", KeyFile, f.path, err)
	}
	if f.key.Digest() != f.identity.Incarnation {
		return fmt.Errorf("cluster: %s in %s is the key of another folder: put its own back, or %s", KeyFile, f.path, remedy)
	}
	return os.Chmod(f.Sub(KeyFile), 0o600)
}

// WriteKey writes a node's key into its data folder, before node.json.
func WriteKey(disk Disk, dir string, key *nodekey.Key) error {
	data, err := key.Encode()
	if err != nil {
		return fmt.Errorf("cluster: %s: %w", KeyFile, err)
	}
	return replaceFile(disk, dir, KeyFile, data)
}

// ErrFormat says that another release wrote the folder, and this one does not read it.
var ErrFormat = errors.New("cluster: another release wrote it")

// CheckFormat returns an error with a remedy if the format of a data folder, or of a file in
// it, is not this release's. The text what names the folder or file. The drafts before 0.2.0
// wrote formats 1 and 2: their log has other leaves, so a node that replayed it would differ from the
// others.
func CheckFormat(what string, format int) error {
	if format == Format {
		return nil
	}
	do := "a newer release wrote it; start the node with that release"
	if format < Format {
		do = "a draft before 0.2.0 wrote it, whose data are not carried over; start with an empty folder, and keep this one with the release that wrote it, which still reads and exports its records"
	}
	return fmt.Errorf("%w: %s has format %d and this release reads %d: %s", ErrFormat, what, format, Format, do)
}

// moveIn writes a new key and then node.json into an empty folder, which makes it a new node's.
func (f *Folder) moveIn(id string) error {
	for _, name := range []string{RaftFolder, AuditFolder} {
		entries, err := os.ReadDir(f.Sub(name))
		if err != nil {
			return fmt.Errorf("cluster: data folder: %w", err)
		}
		if len(entries) > 0 {
			return fmt.Errorf("cluster: data folder %s has data but no %s: it is incomplete; restore it whole or start with an empty one",
				f.path, IdentityFile)
		}
	}
	key, err := nodekey.Draw()
	if err != nil {
		return fmt.Errorf("cluster: %s: %w", KeyFile, err)
	}
	if err := WriteKey(f.disk, f.path, key); err != nil {
		return fmt.Errorf("cluster: data folder: %w", err)
	}
	f.key, f.fresh = key, true
	return f.changeNode(func(who *Identity) (bool, error) {
		*who = Identity{Format: Format, ID: id, Incarnation: key.Digest()}
		return true, nil
	})
}

// changeNode changes the identity if change says so, and replaces node.json before anybody sees
// the new one. After a crash the old or the new one is there.
func (f *Folder) changeNode(change func(who *Identity) (changed bool, err error)) error {
	f.saving.Lock()
	defer f.saving.Unlock()
	next := f.Identity()
	if changed, err := change(&next); err != nil || !changed {
		return err
	}
	data, err := json.MarshalIndent(&next, "", "  ")
	if err != nil {
		return err
	}
	if f.Watched != nil {
		defer f.Watched(IdentityFile)()
	}
	if err := replaceFile(f.disk, f.path, IdentityFile, append(data, '\n')); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.identity = next
	return nil
}

// BelongTo checks that the data are of this cluster, and stores its id if there was none.
func (f *Folder) BelongTo(clusterID string) error {
	return f.changeNode(func(who *Identity) (bool, error) {
		switch who.ClusterID {
		case clusterID:
			return false, nil
		case "":
			who.ClusterID = clusterID
			return true, nil
		}
		return false, fmt.Errorf("cluster: data folder %s belongs to cluster %s, and its log says %s: data of two clusters are mixed",
			f.path, who.ClusterID, clusterID)
	})
}

// Adopt stores the size of the tree head under which history is fetched.
func (f *Folder) Adopt(size uint64) error {
	return f.changeNode(func(who *Identity) (bool, error) {
		who.Adopted = size
		return true, nil
	})
}

func (f *Folder) Adopted() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity.Adopted
}

// Promise stores, once and for ever, the node with which this node may form a group.
func (f *Folder) Promise(to string) error {
	return f.changeNode(func(who *Identity) (bool, error) {
		switch who.PromisedTo {
		case to:
			return false, nil
		case "":
			who.PromisedTo = to
			return true, nil
		}
		return false, fmt.Errorf("cluster: this node has promised to form a group with %s", who.PromisedTo)
	})
}

func (f *Folder) Close() error { return f.lock.Close() }

// ReplaceFile writes a small file so that a crash leaves the old or the new one.
func ReplaceFile(dir, name string, data []byte) error {
	return replaceFile(SystemDisk{}, dir, name, data)
}

// ReplaceGently is ReplaceFile for megabytes that nobody waits for. It writes in steps, as for
// a snapshot, so that the log's syncs on the same disk get their turn. As soon as hurry returns
// true, there are no pauses.
func ReplaceGently(dir, name string, data []byte, hurry func() bool) error {
	return replaceWith(SystemDisk{}, dir, name, func(file *os.File) error {
		return writeInSteps(&gentle{sink: file, sync: file.Sync, hurry: hurry, start: time.Now()}, data)
	})
}

// Rename durably renames a file in its folder. The file must be whole and synced.
func Rename(dir, from, to string) error {
	if err := (SystemDisk{}).Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		return err
	}
	return SystemDisk{}.SyncFolder(dir)
}

func replaceFile(disk Disk, dir, name string, data []byte) error {
	return replaceWith(disk, dir, name, func(file *os.File) error {
		_, err := file.Write(data)
		return err
	})
}

func replaceWith(disk Disk, dir, name string, write func(*os.File) error) error {
	temporary, err := os.CreateTemp(dir, "."+name+".*") // Mode 0600.
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if err = write(temporary); err == nil {
		err = disk.SyncFile(temporary)
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	if err := disk.Rename(temporary.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return disk.SyncFolder(dir)
}

// Inherit records in node.json which recovery and lineage the folder belongs to.
func (f *Folder) Inherit(recovery uint64, lineage string) error {
	return f.changeNode(func(who *Identity) (bool, error) {
		who.Recovery, who.Lineage = recovery, lineage
		return true, nil
	})
}

// Inherit does the same to the folder of a stopped node. It returns the new identity.
func Inherit(dir string, who Identity, recovery uint64, lineage string) (Identity, error) {
	f := Folder{path: dir, disk: SystemDisk{}, identity: who}
	err := f.Inherit(recovery, lineage)
	return f.identity, err
}

// NoteStarted records that a node has started on a restored folder, and whom it could not reach.
func (f *Folder) NoteStarted(unreached []Member, now time.Time) error {
	return f.changeNode(func(who *Identity) (bool, error) {
		restored := who.Restored != nil
		who.Restored = nil
		return who.keepUnreached(unreached, now) || restored, nil
	})
}

// NoteUnreached records whom nobody has reached since the start after a restore.
func (f *Folder) NoteUnreached(members []Member, now time.Time) error {
	return f.changeNode(func(who *Identity) (bool, error) { return who.keepUnreached(members, now), nil })
}

// keepUnreached reports whether it changes anything.
func (i *Identity) keepUnreached(members []Member, now time.Time) (changed bool) {
	switch {
	case len(members) == 0:
		changed, i.Unreached = i.Unreached != nil, nil
	case i.Unreached == nil:
		changed, i.Unreached = true, &Unreached{Members: members, Since: now.UTC().Format(TimeFormat)}
	case !slices.Equal(members, i.Unreached.Members):
		changed, i.Unreached = true, &Unreached{Members: members, Since: i.Unreached.Since}
	}
	return changed
}

// Supersede records why no node may start on the folder any more.
func (f *Folder) Supersede(reason string) error {
	return f.changeNode(func(who *Identity) (bool, error) {
		who.Superseded = reason
		return true, nil
	})
}

// Known returns what node.json says of cluster and lineage.
func (f *Folder) Known() (clusterID string, recovery uint64, lineage string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity.ClusterID, f.identity.Recovery, f.identity.Lineage
}
