package datadir

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const (
	LogFile          = "raft.db" // It has the term and vote, and which segments there are.
	boltOpenPatience = 2 * time.Second
)

// ErrGaveUp is the answer to every call after a store gave up.
var ErrGaveUp = errors.New("log store: gave up after a failed or stalled write")

// LogStore is the interface of a log store. Tests put failing and stalling ones in its place.
type LogStore interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

// OpenLog opens the log: entries in segment files, term and vote in a bbolt file. The error is
// ErrDamaged if a file is cut short, spoilt, missing or no log at all.
func OpenLog(dir string) (LogStore, error) {
	return openLog(dir, true, &bbolt.Options{Timeout: boltOpenPatience, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}, segmentBytes)
}

// OpenLogToRead opens the log of a stopped node without writing to its files.
func OpenLogToRead(dir string) (LogStore, error) {
	return openLog(dir, false, &bbolt.Options{Timeout: boltOpenPatience, ReadOnly: true}, segmentBytes)
}

func openLog(dir string, write bool, options *bbolt.Options, room int64) (LogStore, error) {
	votes, err := openBolt(filepath.Join(dir, LogFile), options)
	if err != nil {
		return nil, err
	}
	entries, err := openJournal(dir, votes, write, room)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %w", err), votes.Close())
	}
	return entries, nil
}

func openBolt(path string, options *bbolt.Options) (LogStore, error) {
	if err := checkLogFile(path); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	opened := &shielded{path: path}
	err := opened.runShielded(func() (err error) {
		opened.store, err = raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: options})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cluster: raft log: %w", err)
	}
	return opened, nil
}

// Guarded watches every write to the log and the votes (guard G4). A leader whose disk hangs
// keeps its lease, and meanwhile the whole group stands still. A sync that failed must never be
// tried again on the same file. So a write that fails, or does not return in time, ends this
// node: fatal is called once, and every following operation fails, whatever the disk answers
// later.
type Guarded struct {
	store  LogStore
	limit  func() time.Duration
	fatal  func(reason string)
	later  func(time.Duration, func()) beatTimer // The seam for tests; nil: real timers.
	gaveUp atomic.Bool
	ending sync.Once
}

// watchBeats is how many beats of the watchdog's timer make a stall. One long timer cannot tell
// a disk that hangs from a process that was stopped (SIGSTOP, a paused or migrating machine):
// the time passes either way. A stopped process has no beats: however long it slept, the pause
// counts as one beat, and the disk has the remaining beats to come back.
const watchBeats = 8

// beatTimer is the part of time.Timer that the watchdog needs.
type beatTimer interface {
	Reset(time.Duration) bool
	Stop() bool
}

func realBeats(d time.Duration, beat func()) beatTimer { return time.AfterFunc(d, beat) }

// Watchdog watches one write. Each beat starts the timer of the next one.
type Watchdog struct {
	mu     sync.Mutex
	timer  beatTimer
	every  time.Duration
	beats  int
	ended  bool
	expire func()
}

// WatchFor starts a watchdog. It calls expire when the beats of limit have passed, unless Stop
// comes before.
func WatchFor(limit time.Duration, later func(time.Duration, func()) beatTimer, expire func()) *Watchdog {
	if later == nil {
		later = realBeats
	}
	d := &Watchdog{every: max(limit/watchBeats, 1), expire: expire}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = later(d.every, d.beatOnce)
	return d
}

func (d *Watchdog) beatOnce() {
	d.mu.Lock()
	d.beats++
	stalled := !d.ended && d.beats >= watchBeats
	if !d.ended && !stalled {
		d.timer.Reset(d.every)
	}
	d.mu.Unlock()
	if stalled {
		d.expire()
	}
}

func (d *Watchdog) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.timer.Stop()
}

// Guard returns a store that watches another one: limit is how long one write may take, and
// fatal is called once when it gives up.
func Guard(store LogStore, limit func() time.Duration, fatal func(reason string)) *Guarded {
	return &Guarded{store: store, limit: limit, fatal: fatal}
}

func (g *Guarded) giveUp(reason string) {
	if g.gaveUp.CompareAndSwap(false, true) {
		g.fatal(reason)
	}
}

// runRead runs one read. If raft cannot read an entry that must be there, it panics. So a
// damaged log ends this node before, with an error that names it.
func (g *Guarded) runRead(do func() error) error {
	err := do()
	if errors.Is(err, ErrDamaged) {
		g.ending.Do(func() { g.giveUp(err.Error()) }) // Concurrent readers wait for the end, too.
	}
	return err
}

// runWatched runs one write under the watchdog.
func (g *Guarded) runWatched(what string, write func() error) error {
	if g.gaveUp.Load() {
		return ErrGaveUp
	}
	limit := g.limit()
	dog := WatchFor(limit, g.later, func() {
		g.giveUp(fmt.Sprintf("disk stalled: %s took longer than %v", what, limit))
	})
	start := time.Now()
	err := write()
	dog.Stop()
	logWriteSeconds.Observe(time.Since(start))
	if err != nil {
		logWriteErrors.Inc()
		g.giveUp(fmt.Sprintf("disk failed: %s: %v", what, err))
		return err
	}
	if g.gaveUp.Load() {
		return ErrGaveUp
	}
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore (guard G3). With it an installed snapshot
// removes the whole log before it. Otherwise entries that a former leader never got committed
// would stay behind the snapshot and contradict the entries that come next.
func (g *Guarded) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore.
func (g *Guarded) FirstIndex() (index uint64, err error) {
	err = g.runRead(func() error { index, err = g.store.FirstIndex(); return err })
	return index, err
}

// LastIndex implements raft.LogStore.
func (g *Guarded) LastIndex() (index uint64, err error) {
	err = g.runRead(func() error { index, err = g.store.LastIndex(); return err })
	return index, err
}

// GetLog implements raft.LogStore.
func (g *Guarded) GetLog(index uint64, log *raft.Log) error {
	return g.runRead(func() error { return g.store.GetLog(index, log) })
}

// StoreLog implements raft.LogStore.
func (g *Guarded) StoreLog(log *raft.Log) error { return g.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore.
func (g *Guarded) StoreLogs(logs []*raft.Log) error {
	return g.runWatched("append to the log", func() error { return g.store.StoreLogs(logs) })
}

// DeleteRange implements raft.LogStore.
func (g *Guarded) DeleteRange(low, high uint64) error {
	return g.runWatched("cut of the log", func() error { return g.store.DeleteRange(low, high) })
}

// Set implements raft.StableStore.
func (g *Guarded) Set(key, value []byte) error {
	return g.runWatched("write of a vote", func() error { return g.store.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (g *Guarded) SetUint64(key []byte, value uint64) error {
	return g.runWatched("write of the term", func() error { return g.store.SetUint64(key, value) })
}

// Get implements raft.StableStore.
func (g *Guarded) Get(key []byte) (value []byte, err error) {
	err = g.runRead(func() error { value, err = g.store.Get(key); return err })
	return value, err
}

// GetUint64 implements raft.StableStore.
func (g *Guarded) GetUint64(key []byte) (value uint64, err error) {
	err = g.runRead(func() error { value, err = g.store.GetUint64(key); return err })
	return value, err
}
