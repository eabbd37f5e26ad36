package cluster

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
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"railguard/cluster/port"
)

// stillFolder is a stopped node's data folder, opened for reading alone.
type stillFolder struct {
	dir      string
	lock     *os.File // nil: a copy of a folder, without its lock.
	identity identity
	record   *recoveryRecord // nil: no recovery was ever begun here.
	store    LogStore
	snapshot *stillSnapshot // The newest that opens; nil: there is none.

	firstIndex    uint64
	lastIndex     uint64
	lastTerm      uint64
	term          uint64
	configuration raft.Configuration
}

// stillSnapshot is raft's description of a snapshot on disk.
type stillSnapshot struct {
	raft.SnapshotMeta
	CRC []byte
}

// raftTermKey is raft's own name for the current term in its stable store.
var raftTermKey = []byte("CurrentTerm")

const (
	snapshotMetaFile  = "meta.json"
	snapshotStateFile = "state.bin"
	snapshotUnended   = ".tmp"
)

// openStill reads a stopped node's folder. It writes nothing, and as long as it is
// open no node starts on the folder.
func openStill(dir, id string) (f *stillFolder, err error) {
	f = &stillFolder{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	defer shield(dir, &err)()
	if f.identity, err = readIdentity(dir); err != nil {
		return f, err
	}
	if id != "" && id != f.identity.ID {
		return f, fmt.Errorf("cluster: data folder %s belongs to node %q, not to %q", dir, f.identity.ID, id)
	}
	f.lock, err = holdPath(filepath.Join(dir, lockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("cluster: %s: %w (%w)", dir, ErrFolderInUse, err)
	}
	if f.record, err = readRecord(dir); err != nil {
		return f, err
	}
	if f.snapshot, err = newestSnapshot(dir); err != nil {
		return f, err
	}
	if f.store, err = openBoltToRead(filepath.Join(dir, raftFolder)); err != nil {
		return f, err
	}
	return f, f.readLog()
}

// shield turns into an error what bbolt and raft do with bytes that cannot be: they
// panic, or read past the end of a mapped file that was cut.
func shield(dir string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if broken := recover(); broken != nil {
			*err = fmt.Errorf("cluster: the raft log in %s is damaged: %v", dir, broken)
		}
	}
}

func (f *stillFolder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *stillFolder) close() error {
	var errs []error
	if f.store != nil {
		errs = append(errs, f.store.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	f.store, f.lock = nil, nil
	return errors.Join(errs...)
}

// readIdentity reads node.json and makes none.
func readIdentity(dir string) (who identity, err error) {
	data, err := os.ReadFile(filepath.Join(dir, identityFile))
	if errors.Is(err, fs.ErrNotExist) {
		return who, fmt.Errorf("cluster: %s is no node's data folder: it has no %s", dir, identityFile)
	}
	if err == nil {
		err = json.Unmarshal(data, &who)
	}
	if err != nil {
		return who, fmt.Errorf("cluster: %s in %s cannot be read: %w", identityFile, dir, err)
	}
	if who.Format > folderFormat {
		return who, fmt.Errorf("cluster: data folder %s has format %d and this binary knows up to %d", dir, who.Format, folderFormat)
	}
	return who, nil
}

// newestSnapshot finds the one from which raft would start.
func newestSnapshot(dir string) (*stillSnapshot, error) {
	metas, err := readSnapshots(filepath.Join(dir, raftFolder, snapshotFolder))
	if err != nil || len(metas) == 0 {
		return nil, err
	}
	for i := range metas {
		state, openErr := metas[i].open(dir)
		if openErr == nil {
			return &metas[i], state.Close()
		}
		err = errors.Join(err, openErr)
	}
	return nil, err
}

// readSnapshots lists what raft's file store would.
func readSnapshots(dir string) ([]stillSnapshot, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cluster: snapshots: %w", err)
	}
	var metas []stillSnapshot
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasSuffix(entry.Name(), snapshotUnended) {
			continue
		}
		var meta stillSnapshot
		data, err := os.ReadFile(filepath.Join(dir, entry.Name(), snapshotMetaFile))
		if err != nil || json.Unmarshal(data, &meta) != nil {
			continue
		}
		metas = append(metas, meta)
	}
	slices.SortFunc(metas, func(a, b stillSnapshot) int {
		return cmp.Or(cmp.Compare(b.Term, a.Term), cmp.Compare(b.Index, a.Index), strings.Compare(b.ID, a.ID))
	})
	return metas, nil
}

// open opens a snapshot's state after its checksum was found right.
func (s *stillSnapshot) open(dir string) (io.ReadCloser, error) {
	path := filepath.Join(dir, raftFolder, snapshotFolder, s.ID, snapshotStateFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cluster: snapshot %s: %w", s.ID, err)
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	_, err = io.Copy(sum, file)
	if err == nil && !bytes.Equal(sum.Sum(nil), s.CRC) {
		err = errors.New("its checksum is wrong")
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: snapshot %s: %w", s.ID, err), file.Close())
	}
	return file, nil
}

// readLog finds the log's ends and the newest membership.
func (f *stillFolder) readLog() (err error) {
	if f.firstIndex, err = f.store.FirstIndex(); err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	last, err := f.store.LastIndex()
	if err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	if f.term, err = f.store.GetUint64(raftTermKey); err != nil {
		return fmt.Errorf("cluster: raft log: the term: %w", err)
	}
	behind := uint64(0)
	if f.snapshot != nil {
		behind, f.configuration = f.snapshot.Index, f.snapshot.Configuration
		f.lastIndex, f.lastTerm = behind, f.snapshot.Term
	}
	if f.firstIndex > behind+1 {
		return fmt.Errorf("cluster: the raft log begins at %d and the newest snapshot that opens ends at %d: entries between are missing", f.firstIndex, behind)
	}
	if f.record.begun() { // What this recovery wrote itself is not looked at.
		last = min(last, f.record.LastIndex)
	}
	return f.eachEntry(behind+1, last, func(entry *raft.Log) error {
		if entry.Type == raft.LogConfiguration {
			f.configuration = raft.DecodeConfiguration(entry.Data)
		}
		f.lastIndex, f.lastTerm = entry.Index, entry.Term
		return nil
	})
}

// eachEntry visits the log's entries in order.
func (f *stillFolder) eachEntry(first, last uint64, visit func(*raft.Log) error) error {
	for index := first; index <= last; index++ {
		var entry raft.Log
		if err := f.store.GetLog(index, &entry); err != nil {
			return fmt.Errorf("cluster: log entry %d: %w", index, err)
		}
		if err := visit(&entry); err != nil {
			return err
		}
	}
	return nil
}

func (f *stillFolder) members() []RecoveryMember {
	members := make([]RecoveryMember, 0, len(f.configuration.Servers))
	for _, server := range f.configuration.Servers {
		address, err := port.ParseAddress(string(server.Address))
		if err != nil {
			address.Host = string(server.Address)
		}
		members = append(members, RecoveryMember{
			ID: string(server.ID), Addr: address.Host, Incarnation: address.Incarnation,
			Voter: server.Suffrage == raft.Voter, Self: string(server.ID) == f.identity.ID,
		})
	}
	return members
}

func (f *stillFolder) end() SurvivorIndex {
	return SurvivorIndex{Node: f.identity.ID, Index: f.lastIndex, Term: f.lastTerm, From: f.dir}
}
