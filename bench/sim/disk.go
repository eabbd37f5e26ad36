package sim

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/cluster/datadir"
	"railguard/fsm/wire"
)

// disk is what one process of a node does to its log: the real journal with its segments and the
// real file of votes, in the files of the host. Syncs can be slow, hang, fail or lie.
//
// After the end of the process nothing becomes durable any more, and every sync fails: what fails
// stands still in the node, and nobody hears what a node without power concludes. What the process
// still writes goes to a folder that nobody reads.
type disk struct {
	host  *Host
	files *files
	log   datadir.LogStore // What is opened; nil: nothing yet.

	mu       sync.Mutex
	ended    bool
	slow     time.Duration // How long every sync takes in addition.
	broken   bool          // Every sync fails.
	lies     bool          // No sync does anything.
	syncing  int           // The syncs in progress.
	adjust   func(host *Host, log *raft.Log)
	healing  chan struct{} // Closed when a hanging disk works again; nil: the disk does not hang.
	released chan struct{} // Closed when the life of the process ends.
	fallen   chan struct{} // Closed when the node gave up.
	falling  sync.Once
}

var (
	_ datadir.Disk = (*disk)(nil)

	errBroken = errors.New("sim: input/output error")
)

const (
	room    = 32 << 10               // Size of segments. It is small so that every schedule fills many.
	quickly = 300 * time.Microsecond // How long a sync takes at least, so that power cuts come in the middle of some.
)

// open opens the real log in a folder.
func (d *disk) open(dir string) (store datadir.LogStore, err error) {
	d.log, err = datadir.OpenLogOn(datadir.Seams{
		Disk: d, Room: room,
		Votes: func(store datadir.LogStore) datadir.LogStore {
			return &votes{LogStore: store, disk: d, path: filepath.Join(dir, datadir.LogFile), turn: make(chan struct{}, 1)}
		},
	}, dir)
	if err != nil {
		return nil, err
	}
	return &turns{LogStore: d.log, disk: d, turn: make(chan struct{}, 1)}, nil
}

// await lets the time of a sync pass. It reports whether the disk lies about it.
func (d *disk) await() (lies bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pause, hang := d.slow, d.healing
	d.syncing++
	defer func() { d.syncing-- }()
	if d.broken && !d.ended {
		return false, errBroken
	}
	if !d.ended {
		d.mu.Unlock()
		time.Sleep(quickly + pause)
		if hang != nil {
			<-hang
		}
		d.mu.Lock()
	}
	if d.ended {
		return false, errBroken
	}
	return d.lies, nil
}

func (d *disk) sync(do func() error) error {
	if lies, err := d.await(); lies || err != nil {
		return err
	}
	return do()
}

// SyncFile implements datadir.Disk.
func (d *disk) SyncFile(f *os.File) error { return d.sync(func() error { return d.files.SyncFile(f) }) }

// SyncData implements datadir.Disk.
func (d *disk) SyncData(f *os.File) error { return d.sync(func() error { return d.files.SyncFile(f) }) }

// Rename implements datadir.Disk.
func (d *disk) Rename(from, to string) error { return d.files.Rename(from, to) }

// SyncFolder implements datadir.Disk.
func (d *disk) SyncFolder(path string) error {
	return d.sync(func() error { return d.files.SyncFolder(path) })
}

// votes is the real file of votes. Its library writes and syncs it by itself; the time of the sync
// passes after the write, so a power cut comes before or after it. As in the library, a write waits
// for the sync of the one before: it may use pages that are free only because of that one.
type votes struct {
	datadir.LogStore
	disk *disk
	path string
	turn chan struct{} // No lock, for the reason of turns.
}

func (v *votes) write(do func() error) error {
	v.turn <- struct{}{}
	defer func() { <-v.turn }()
	if err := v.disk.files.change(do); err != nil {
		return err
	}
	return v.disk.sync(func() error { return v.disk.files.syncPath(v.path) })
}

// Set implements raft.StableStore.
func (v *votes) Set(key, value []byte) error {
	return v.write(func() error { return v.LogStore.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (v *votes) SetUint64(key []byte, value uint64) error {
	return v.write(func() error { return v.LogStore.SetUint64(key, value) })
}

// turns is the log as raft has it. Appends and cuts wait for one another here and not at the
// journal's own lock, because the time of a bubble stands still while a goroutine waits for a lock.
type turns struct {
	datadir.LogStore
	disk *disk
	turn chan struct{}
}

func (l *turns) take(do func() error) error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return do()
}

// StoreLogs implements raft.LogStore.
func (l *turns) StoreLogs(logs []*raft.Log) error {
	return l.take(func() error {
		for _, log := range logs {
			if l.disk.adjust != nil {
				l.disk.adjust(l.disk.host, log)
			}
		}
		return l.LogStore.StoreLogs(logs)
	})
}

// StoreLog implements raft.LogStore.
func (l *turns) StoreLog(log *raft.Log) error { return l.StoreLogs([]*raft.Log{log}) }

// DeleteRange implements raft.LogStore.
func (l *turns) DeleteRange(low, high uint64) error {
	return l.take(func() error { return l.LogStore.DeleteRange(low, high) })
}

// Bytes is the size of the log on the disk.
func (l *turns) Bytes() int64 { return l.LogStore.(interface{ Bytes() int64 }).Bytes() }

// Close implements datadir.LogStore.
func (l *turns) Close() error { return l.take(l.LogStore.Close) }

// end is the end of the process.
func (d *disk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.ended = true
	d.healLocked()
	close(d.released)
}

// writing reports whether a sync is in progress.
func (d *disk) writing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.syncing > 0
}

// fall notes that the node gave up, which ends its process.
func (d *disk) fall() { d.falling.Do(func() { close(d.fallen) }) }

// over reports whether this life has ended.
func (d *disk) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// Slow makes every sync take so much longer; 0: as usual.
func (d *disk) Slow(pause time.Duration) {
	d.mu.Lock()
	d.slow = pause
	d.mu.Unlock()
}

// Break makes every sync fail.
func (d *disk) Break() {
	d.mu.Lock()
	d.broken = true
	d.mu.Unlock()
}

// Lie makes every sync say that it is done, and do nothing.
func (d *disk) Lie() {
	d.mu.Lock()
	d.lies = true
	d.mu.Unlock()
}

// Hang holds every sync up until Heal, or the life's end.
func (d *disk) Hang() {
	d.mu.Lock()
	if d.healing == nil && !d.ended {
		d.healing = make(chan struct{})
	}
	d.mu.Unlock()
}

// Heal lets a disk that hangs go on.
func (d *disk) Heal() {
	d.mu.Lock()
	d.healLocked()
	d.mu.Unlock()
}

func (d *disk) healLocked() {
	if d.healing != nil {
		close(d.healing)
		d.healing = nil
	}
}

// withoutFence rewrites an entry's header, so that it names the term that raft gave the entry.
// Then the fence of the state machine accepts every entry. Negative controls use it.
func withoutFence(_ *Host, log *raft.Log) {
	if log.Type != raft.LogCommand {
		return
	}
	batch, err := wire.Decode(log.Data)
	if err != nil || batch.Header.Term == log.Term {
		return
	}
	batch.Header.Term = log.Term
	log.Data = reframe(&batch)
}

func reframe(batch *wire.Batch) []byte {
	data := wire.AppendHeader(nil, batch.Header)
	count := 0
	for record, ok := batch.Next(); ok; record, ok = batch.Next() {
		data = wire.AppendRecord(data, record)
		count++
	}
	return wire.Seal(data, count)
}
