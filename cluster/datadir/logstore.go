package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// LogStore is the interface of a log store. Tests put failing and stalling ones in its place.
type LogStore interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

// OpenLog opens the log: entries in segment files, term and vote in a bbolt file. The error is
// ErrDamaged if a file is cut short, spoilt, missing or no log at all.
func OpenLog(dir string) (LogStore, error) {
	return OpenLogOn(Seams{Disk: SystemDisk{}, Room: segmentBytes}, dir)
}

// Seams are where tests get between the log and its files.
type Seams struct {
	Disk  Disk                          // Under the segments.
	Room  int64                         // Least size of a new segment.
	Votes func(store LogStore) LogStore // Makes the store that stands before the file of votes; nil: none does.
}

// OpenLogOn is OpenLog with seams.
func OpenLogOn(seams Seams, dir string) (LogStore, error) {
	return openLog(seams, dir, true, &bbolt.Options{Timeout: boltOpenPatience, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
}

// OpenLogToRead opens the log of a stopped node without writing to its files.
func OpenLogToRead(dir string) (LogStore, error) {
	return openLog(Seams{Disk: SystemDisk{}, Room: segmentBytes}, dir, false, &bbolt.Options{Timeout: boltOpenPatience, ReadOnly: true})
}

func openLog(seams Seams, dir string, write bool, options *bbolt.Options) (LogStore, error) {
	if err := checkVotesThere(dir); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	votes, err := openBolt(filepath.Join(dir, LogFile), options)
	if err != nil {
		return nil, err
	}
	if write {
		if err := syncVotes(seams.Disk, dir); err != nil {
			return nil, errors.Join(fmt.Errorf("cluster: raft log: %w", err), votes.Close())
		}
	}
	if seams.Votes != nil {
		votes = seams.Votes(votes)
	}
	entries, err := openJournal(seams, dir, votes, write)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cluster: %w", err), votes.Close())
	}
	return entries, nil
}

// syncVotes makes the file of term and vote durable, as it is read now. A process that was killed may
// have written a vote that it did not sync, on which this one will act; and a file that is new has
// a name that a power cut takes away.
func syncVotes(disk Disk, dir string) error {
	file, err := os.Open(filepath.Join(dir, LogFile))
	if err != nil {
		return err
	}
	if err = errors.Join(disk.SyncFile(file), file.Close()); err == nil {
		err = disk.SyncFolder(dir)
	}
	return err
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

// Guarded watches every write to the log and the votes (guard G4), and refuses to cut away what
// is committed. A sync that failed must never be tried again on the same file. So a write that
// fails, or that ends the node by its slowness, ends this node: fatal is called once, and every
// operation from then on stands still, whatever the disk answers later. None returns an error to
// raft, which panics if a term or vote was not written, and goes on if an entry was not.
type Guarded struct {
	store    LogStore
	stalls   *Stalls
	fatal    func(reason string)
	reached  *Reached               // nil: nothing is kept of term and applied entries.
	snapshot func() (uint64, error) // The last entry in the newest snapshot; nil: there is none.
	gaveUp   atomic.Bool
	released chan struct{}
	release  sync.Once
}

// Guard returns a store that guards another one. It calls fatal once when it gives up.
func Guard(store LogStore, stalls *Stalls, fatal func(reason string)) *Guarded {
	return &Guarded{store: store, stalls: stalls, fatal: fatal, released: make(chan struct{})}
}

// KeepReached makes the store note terms, and refuse cuts that would take away what is committed:
// what this node has applied, or has in a snapshot.
func (g *Guarded) KeepReached(reached *Reached, snapshot func() (uint64, error)) {
	g.reached, g.snapshot = reached, snapshot
}

// giveUp ends the node, and the process with it. If that goes on, as in tests, the goroutine stands
// still until Release.
func (g *Guarded) giveUp(reason string) error {
	if g.gaveUp.CompareAndSwap(false, true) {
		g.fatal(reason)
	}
	return g.standStill()
}

func (g *Guarded) standStill() error {
	<-g.released
	return errReleased
}

var errReleased = errors.New("cluster: the log of a node that ended")

// exitIfReleased ends a goroutine of raft that would panic, or go on, if it saw the error. Raft's
// cuts of the log see it: their goroutine still has to answer whoever asked for a snapshot.
func exitIfReleased(err error) error {
	if errors.Is(err, errReleased) {
		runtime.Goexit()
	}
	return err
}

// Release ends the goroutines that stand still or will, for a process that goes on after its node
// ended.
func (g *Guarded) Release() { g.release.Do(func() { close(g.released) }) }

// End makes every operation from now on stand still.
func (g *Guarded) End() { g.gaveUp.Store(true) }

// runRead runs one read. If raft cannot read an entry that must be there, it panics. So a
// damaged log ends this node before, with an error that names it.
func (g *Guarded) runRead(do func() error) error {
	err := do()
	if errors.Is(err, ErrDamaged) {
		return g.giveUp(err.Error())
	}
	return err
}

// runWatched runs one write under the watch.
func (g *Guarded) runWatched(what string, write func() error) error {
	if g.gaveUp.Load() {
		return g.standStill()
	}
	done := g.stalls.Watch(what)
	start := time.Now()
	err := write()
	done()
	logWriteSeconds.Observe(time.Since(start))
	if err != nil {
		logWriteErrors.Inc()
		return g.giveUp(fmt.Sprintf("disk failed: %s: %v", what, err))
	}
	if g.gaveUp.Load() {
		return g.standStill()
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
	return exitIfReleased(g.runRead(func() error { return g.store.GetLog(index, log) }))
}

// StoreLog implements raft.LogStore.
func (g *Guarded) StoreLog(log *raft.Log) error { return g.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore.
func (g *Guarded) StoreLogs(logs []*raft.Log) error {
	return exitIfReleased(g.runWatched("append to the log", func() error { return g.store.StoreLogs(logs) }))
}

// DeleteRange implements raft.LogStore.
func (g *Guarded) DeleteRange(low, high uint64) error {
	if err := g.refuseCut(low, high); err != nil {
		return g.giveUp(err.Error())
	}
	return g.runWatched("cut of the log", func() error { return g.store.DeleteRange(low, high) })
}

// Set implements raft.StableStore.
func (g *Guarded) Set(key, value []byte) error {
	return exitIfReleased(g.runWatched("write of a vote", func() error { return g.store.Set(key, value) }))
}

// SetUint64 implements raft.StableStore.
func (g *Guarded) SetUint64(key []byte, value uint64) error {
	return exitIfReleased(g.runWatched("write of the term", func() error {
		if err := g.store.SetUint64(key, value); err != nil || g.reached == nil || string(key) != string(RaftTermKey) {
			return err
		}
		return g.reached.NoteTerm(value)
	}))
}

// Get implements raft.StableStore.
func (g *Guarded) Get(key []byte) (value []byte, err error) {
	err = g.runRead(func() error { value, err = g.store.Get(key); return err })
	return value, exitIfReleased(err)
}

// GetUint64 implements raft.StableStore.
func (g *Guarded) GetUint64(key []byte) (value uint64, err error) {
	err = g.runRead(func() error { value, err = g.store.GetUint64(key); return err })
	return value, exitIfReleased(err)
}

// refuseCut refuses a cut that would take away an entry that is committed and in no snapshot: what
// this node has applied was acknowledged, and this disk may be the last one that has it. A group
// that asks for such a cut has another past.
func (g *Guarded) refuseCut(low, high uint64) error {
	if g.reached == nil {
		return nil
	}
	first, err := g.FirstIndex()
	if err != nil {
		return err
	}
	last, err := g.LastIndex()
	if err != nil || last == 0 || low > last {
		return err
	}
	kept, err := g.snapshot()
	if err != nil {
		return fmt.Errorf("disk failed: snapshots before a cut of the log: %w", err)
	}
	applied := g.reached.Applied()
	if low > first && low > max(applied, kept) || low <= first && min(high, last, applied) <= kept {
		return nil
	}
	return fmt.Errorf("history diverged: the group would cut entries %d to %d from this node's log, and this node had applied up to %d: what was acknowledged may stand on this disk alone. "+
		"Nothing was cut. Wipe nothing: stop all nodes and compare their folders (railguard cluster recover --compare)", low, min(high, last), max(applied, kept))
}
