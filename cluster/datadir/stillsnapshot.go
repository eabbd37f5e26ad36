package datadir

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

// Snapshot is raft's description of a snapshot on disk.
type Snapshot struct {
	raft.SnapshotMeta
	CRC []byte
}

// RaftTermKey is raft's own name for the current term in its stable store.
var RaftTermKey = []byte("CurrentTerm")

const (
	snapshotMetaFile  = "meta.json"
	SnapshotStateFile = "state.bin"
	snapshotUnended   = ".tmp"
)

// ReadIdentity reads node.json. It does not make a missing one.
func ReadIdentity(dir string) (who Identity, err error) {
	data, err := os.ReadFile(filepath.Join(dir, IdentityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return who, fmt.Errorf("cluster: %s is no node's data folder: it has no %s", dir, IdentityFile)
	}
	if err == nil {
		err = json.Unmarshal(data, &who)
	}
	if err != nil {
		return who, fmt.Errorf("cluster: %s in %s cannot be read: %w", IdentityFile, dir, err)
	}
	return who, CheckFormat("data folder "+dir, who.Format)
}

// NewestSnapshot returns the snapshot from which raft would start, or nil if there is none.
func NewestSnapshot(dir string) (*Snapshot, error) {
	metas, err := readSnapshots(filepath.Join(dir, RaftFolder, SnapshotFolder))
	if err != nil || len(metas) == 0 {
		return nil, err
	}
	for i := range metas {
		state, openErr := metas[i].Open(dir)
		if openErr == nil {
			return &metas[i], state.Close()
		}
		err = errors.Join(err, openErr)
	}
	return nil, err
}

// readSnapshots lists the snapshots that raft's file store would list.
func readSnapshots(dir string) ([]Snapshot, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cluster: snapshots: %w", err)
	}
	var metas []Snapshot
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasSuffix(entry.Name(), snapshotUnended) {
			continue
		}
		var meta Snapshot
		data, err := os.ReadFile(filepath.Join(dir, entry.Name(), snapshotMetaFile))
		if err != nil || json.Unmarshal(data, &meta) != nil {
			continue
		}
		metas = append(metas, meta)
	}
	slices.SortFunc(metas, func(a, b Snapshot) int {
		return cmp.Or(cmp.Compare(b.Term, a.Term), cmp.Compare(b.Index, a.Index), strings.Compare(b.ID, a.ID))
	})
	return metas, nil
}

// Open checks a snapshot's checksum and then opens its state.
func (s *Snapshot) Open(dir string) (io.ReadCloser, error) {
	path := filepath.Join(dir, RaftFolder, SnapshotFolder, s.ID, SnapshotStateFile)
	if err := s.check(path); err != nil {
		return nil, fmt.Errorf("cluster: snapshot %s: %s: %w", s.ID, path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cluster: snapshot %s: %w", s.ID, err)
	}
	return file, nil
}

// CheckSnapshotFile compares a snapshot's state with the checksum beside it, where there is one.
func CheckSnapshotFile(path string) error {
	data, err := os.ReadFile(filepath.Join(filepath.Dir(path), snapshotMetaFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // A state that was downloaded stands alone.
	}
	var meta Snapshot
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	if err != nil {
		return fmt.Errorf("cluster: %s beside it: %w", snapshotMetaFile, err)
	}
	return meta.check(path)
}

// check compares a state with the snapshot's checksum.
func (s *Snapshot) check(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), s.CRC) {
		return errors.New("its checksum is wrong")
	}
	return nil
}

// SpoiltSnapshots returns the error of a node whose snapshots can all not be loaded: it names each
// file and what is wrong with it, and says what to do. cause is why raft did not start.
func SpoiltSnapshots(dir string, cause error) error {
	folder := filepath.Join(dir, RaftFolder, SnapshotFolder)
	metas, err := readSnapshots(folder)
	var wrong []string
	for i := range metas {
		state, openErr := metas[i].Open(dir)
		if openErr == nil {
			err = errors.Join(err, state.Close())
			openErr = fmt.Errorf("%s: its state is refused (see the lines before this one)", filepath.Join(folder, metas[i].ID, SnapshotStateFile))
		}
		wrong = append(wrong, openErr.Error())
	}
	return errors.Join(fmt.Errorf("%w: no snapshot can be loaded (%w): %s. Where a majority of the group answers, "+
		"keep the data folder aside and let the node join anew with an empty one; "+
		"otherwise put back the whole folder, or restore a backup", ErrDamaged, cause, strings.Join(wrong, "; ")), err)
}
