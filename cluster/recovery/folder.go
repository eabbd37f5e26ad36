package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/cluster/port"
)

// stillFolder is a stopped node's data folder, opened only for reading.
type stillFolder struct {
	dir      string
	lock     *datadir.FileLock // nil: a copy of a folder, without its lock.
	identity datadir.Identity
	record   *datadir.Record // nil: no recovery was ever begun here.
	store    datadir.LogStore
	snapshot *datadir.Snapshot // The newest one that can be opened; nil: there is none.

	firstIndex    uint64
	lastIndex     uint64
	lastTerm      uint64
	term          uint64
	configuration raft.Configuration
}

// openStill reads a stopped node's folder. It writes nothing. While it is open, no node starts
// on the folder.
func openStill(dir, id string) (f *stillFolder, err error) {
	f = &stillFolder{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	defer catchFaults(dir, &err)()
	if f.identity, err = datadir.ReadIdentity(dir); err != nil {
		return f, err
	}
	if id != "" && id != f.identity.ID {
		return f, fmt.Errorf("cluster: data folder %s belongs to node %q, not to %q", dir, f.identity.ID, id)
	}
	f.lock, err = datadir.Hold(filepath.Join(dir, datadir.LockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("cluster: %s: %w (%w)", dir, ErrFolderInUse, err)
	}
	if f.record, err = datadir.ReadRecord(dir); err != nil {
		return f, err
	}
	if f.snapshot, err = datadir.NewestSnapshot(dir); err != nil {
		return f, err
	}
	if f.store, err = datadir.OpenLogToRead(filepath.Join(dir, datadir.RaftFolder)); err != nil {
		return f, err
	}
	return f, f.readLog()
}

// catchFaults returns a function to defer, which turns panics and memory faults into an error:
// on damaged bytes bbolt and raft panic, or read past the end of a mapped file.
func catchFaults(dir string, err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if broken := recover(); broken != nil {
			*err = fmt.Errorf("cluster: the raft log in %s is damaged: %v", dir, broken)
		}
	}
}

func (f *stillFolder) fullPath(name string) string { return filepath.Join(f.dir, name) }

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

// readLog finds the log's ends and the newest membership.
func (f *stillFolder) readLog() (err error) {
	if f.firstIndex, err = f.store.FirstIndex(); err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	last, err := f.store.LastIndex()
	if err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	if f.term, err = f.store.GetUint64(datadir.RaftTermKey); err != nil {
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
	if f.record.Begun() { // The entry that this recovery itself wrote does not count.
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

func (f *stillFolder) readMembers() []datadir.Member {
	members := make([]datadir.Member, 0, len(f.configuration.Servers))
	for _, server := range f.configuration.Servers {
		address, err := port.ParseAddress(string(server.Address))
		if err != nil {
			address.Host = string(server.Address)
		}
		members = append(members, datadir.Member{
			ID: string(server.ID), Addr: address.Host, Incarnation: address.Incarnation,
			Voter: server.Suffrage == raft.Voter, Self: string(server.ID) == f.identity.ID,
		})
	}
	return members
}

func (f *stillFolder) logEnd() datadir.Survivor {
	return datadir.Survivor{Node: f.identity.ID, Index: f.lastIndex, Term: f.lastTerm, From: f.dir}
}
