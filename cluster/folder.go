package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// The data folder:
//
//	DIR/lock            held by the one process that may use DIR
//	DIR/node.json       who lives here
//	DIR/recovery.json   the last recovery of a lost majority, if there was one
//	DIR/before-recovery-N-LINEAGE   node.json and raft.db as they were before it
//	DIR/raft/raft.db    log and votes (bbolt)
//	DIR/raft/snapshots  state snapshots
//	DIR/audit           leaves and tiles
//	DIR/lists           <sha256>.list, compiled lists of the last 90 days
const (
	lockFile     = "lock"
	identityFile = "node.json"
	raftFolder   = "raft"
	auditFolder  = "audit"
	listFolder   = "lists"
)

// folderFormat is the layout this binary writes; a higher one is refused.
const folderFormat = 1

// identity is node.json. The incarnation is random and made with the folder: a
// node that comes back under its old id with an empty disk is told apart from
// the one that holds the votes and entries it acknowledged.
type identity struct {
	Format      int    `json:"format"`
	ID          string `json:"id"`
	Incarnation string `json:"incarnation"`
	ClusterID   string `json:"clusterId,omitempty"` // Known once the genesis was applied here.
	PromisedTo  string `json:"promisedTo,omitempty"`
	Adopted     uint64 `json:"adopted,omitempty"` // Size of the tree head under which history is fetched.

	Recovery   uint64 `json:"recovery,omitempty"`   // How often the group lost its majority and was recovered,
	Lineage    string `json:"lineage,omitempty"`    // and which recovery was the last.
	Superseded string `json:"superseded,omitempty"` // Why no node must start here any more.
}

// folder is the opened data folder.
type folder struct {
	path     string
	mu       sync.Mutex // Guards what changes in identity.
	identity identity
	fresh    bool // node.json was made by this start.
	lock     *os.File
}

func (f *folder) sub(name string) string { return filepath.Join(f.path, name) }

// openFolder locks DIR, makes what is missing and checks who lives there.
func openFolder(dir, id string) (*folder, error) {
	for _, name := range []string{"", raftFolder, auditFolder, listFolder} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, fmt.Errorf("cluster: data folder: %w", err)
		}
		if err := os.Chmod(path, 0o700); err != nil {
			return nil, fmt.Errorf("cluster: data folder: %w", err)
		}
	}
	lock, err := lockPath(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("cluster: data folder %s is in use by another process (or cannot be locked): %w", dir, err)
	}
	f := &folder{path: dir, lock: lock}
	if err := f.identify(id); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *folder) identify(id string) error {
	data, err := os.ReadFile(f.sub(identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f.settle(id)
	}
	if err != nil {
		return fmt.Errorf("cluster: %s: %w", identityFile, err)
	}
	if err := json.Unmarshal(data, &f.identity); err != nil {
		return fmt.Errorf("cluster: %s in %s cannot be read: %w", identityFile, f.path, err)
	}
	if f.identity.Format > folderFormat {
		return fmt.Errorf("cluster: data folder %s has format %d and this binary knows up to %d: it was written by a newer release",
			f.path, f.identity.Format, folderFormat)
	}
	if f.identity.ID != id {
		return fmt.Errorf("cluster: data folder %s belongs to node %q, this is node %q: start it under its own id or give it its own folder",
			f.path, f.identity.ID, id)
	}
	return nil
}

// settle moves a new node in.
func (f *folder) settle(id string) error {
	for _, name := range []string{raftFolder, auditFolder} {
		entries, err := os.ReadDir(f.sub(name))
		if err != nil {
			return fmt.Errorf("cluster: data folder: %w", err)
		}
		if len(entries) > 0 {
			return fmt.Errorf("cluster: data folder %s has data but no %s: it is incomplete; restore it whole or start with an empty one",
				f.path, identityFile)
		}
	}
	var random [16]byte
	rand.Read(random[:])
	f.identity = identity{Format: folderFormat, ID: id, Incarnation: hex.EncodeToString(random[:])}
	f.fresh = true
	return f.save()
}

// save replaces node.json: after a crash the old or the new one stands there.
func (f *folder) save() error {
	data, err := json.MarshalIndent(&f.identity, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(f.path, identityFile, append(data, '\n'))
}

// belongTo checks, and remembers, which cluster the data are of.
func (f *folder) belongTo(clusterID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.identity.ClusterID {
	case clusterID:
		return nil
	case "":
		f.identity.ClusterID = clusterID
		return f.save()
	}
	return fmt.Errorf("cluster: data folder %s belongs to cluster %s, and its log says %s: data of two clusters are mixed",
		f.path, f.identity.ClusterID, clusterID)
}

// adopt remembers the size of the tree head under which history is fetched.
func (f *folder) adopt(size uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.identity.Adopted = size
	return f.save()
}

func (f *folder) adopted() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity.Adopted
}

// promise remembers, once and for ever, with whom this node may form a group.
func (f *folder) promise(to string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.identity.PromisedTo {
	case to:
		return nil
	case "":
		f.identity.PromisedTo = to
		return f.save()
	}
	return fmt.Errorf("cluster: this node has promised to form a group with %s", f.identity.PromisedTo)
}

func (f *folder) close() error { return f.lock.Close() }

// replaceFile writes a small file so that a crash leaves the old or the new one.
func replaceFile(dir, name string, data []byte) error {
	temporary, err := os.CreateTemp(dir, "."+name+".*") // Mode 0600.
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	if _, err = temporary.Write(data); err == nil {
		err = temporary.Sync()
	}
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncFolder(dir)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
