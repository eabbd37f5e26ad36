package datadir

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/hashicorp/raft"
	bolterrors "go.etcd.io/bbolt/errors"
)

// shielded is a log store that returns ErrDamaged where another store fails on damaged bytes:
// that one panics, reads past the end of a mapped file that was cut, or cannot read an entry.
// The error names the file and says what to do. A store that panicked is not closed, as it may
// hold its own locks.
type shielded struct {
	store  LogStore
	path   string
	broken atomic.Bool
}

func (s *shielded) runShielded(do func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if broken := recover(); broken != nil {
			s.broken.Store(true)
			err = damagedError(s.path, broken)
		}
	}()
	return do()
}

// FirstIndex implements raft.LogStore.
func (s *shielded) FirstIndex() (index uint64, err error) {
	err = s.runShielded(func() error { index, err = s.store.FirstIndex(); return err })
	return index, err
}

// LastIndex implements raft.LogStore.
func (s *shielded) LastIndex() (index uint64, err error) {
	err = s.runShielded(func() error { index, err = s.store.LastIndex(); return err })
	return index, err
}

// GetLog implements raft.LogStore. It returns ErrDamaged for an entry that must be there and
// cannot be read, or has another index.
func (s *shielded) GetLog(index uint64, log *raft.Log) error {
	err := s.runShielded(func() error { return s.store.GetLog(index, log) })
	switch {
	case errors.Is(err, raft.ErrLogNotFound), errors.Is(err, bolterrors.ErrDatabaseNotOpen), errors.Is(err, ErrDamaged):
		return err
	case err != nil:
		return damagedError(s.path, fmt.Sprintf("entry %d: %v", index, err))
	case log.Index != index:
		return damagedError(s.path, fmt.Sprintf("entry %d calls itself %d", index, log.Index))
	}
	return nil
}

// StoreLog implements raft.LogStore.
func (s *shielded) StoreLog(log *raft.Log) error {
	return s.runShielded(func() error { return s.store.StoreLog(log) })
}

// StoreLogs implements raft.LogStore.
func (s *shielded) StoreLogs(logs []*raft.Log) error {
	return s.runShielded(func() error { return s.store.StoreLogs(logs) })
}

// DeleteRange implements raft.LogStore.
func (s *shielded) DeleteRange(low, high uint64) error {
	return s.runShielded(func() error { return s.store.DeleteRange(low, high) })
}

// Set implements raft.StableStore.
func (s *shielded) Set(key, value []byte) error {
	return s.runShielded(func() error { return s.store.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (s *shielded) SetUint64(key []byte, value uint64) error {
	return s.runShielded(func() error { return s.store.SetUint64(key, value) })
}

// Get implements raft.StableStore.
func (s *shielded) Get(key []byte) (value []byte, err error) {
	err = s.runShielded(func() error { value, err = s.store.Get(key); return err })
	return value, err
}

// GetUint64 implements raft.StableStore.
func (s *shielded) GetUint64(key []byte) (value uint64, err error) {
	err = s.runShielded(func() error { value, err = s.store.GetUint64(key); return err })
	return value, err
}

// Close closes the store, unless it panicked.
func (s *shielded) Close() error {
	if s.broken.Load() {
		return nil
	}
	return s.runShielded(s.store.Close)
}
