package sim

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/fsm/wire"
)

// disk is a host's raft log and votes, as one process of its node sees them. Appends can be slow,
// hang or fail. The end of the process can cut an append in the middle: then the log has its
// first entries, any number of them, as in the real store.
//
// After the end nothing is written any more, and every write fails: what fails stands still in the
// node, and nobody hears what a node without power concludes. A disk that hangs holds up votes and
// terms as well.
type disk struct {
	*raft.InmemStore
	host *Host

	mu       sync.Mutex
	ended    bool
	slow     time.Duration // How long every append takes in addition.
	broken   bool          // Every append fails.
	flying   []*raft.Log   // The append in progress. Raft makes one at a time.
	adjust   func(host *Host, log *raft.Log)
	healing  chan struct{} // Closed when a hanging disk works again; nil: the disk does not hang.
	released chan struct{} // Closed when the life of the process ends.
	fallen   chan struct{} // Closed when the node gave up.
	falling  sync.Once
}

var errBroken = errors.New("sim: input/output error")

// write calls a function that writes quickly, unless the disk hangs, and never fails, unless the
// life has ended.
func (d *disk) write(do func() error) error {
	d.mu.Lock()
	hang := d.healing
	d.mu.Unlock()
	if hang != nil {
		<-hang
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return errBroken
	}
	return do()
}

// StoreLogs implements raft.LogStore.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	d.mu.Lock()
	if d.broken && !d.ended {
		d.mu.Unlock()
		return errBroken
	}
	if d.adjust != nil {
		for _, log := range logs {
			d.adjust(d.host, log)
		}
	}
	pause, hang := d.slow, d.healing
	d.flying = logs
	d.mu.Unlock()
	if pause > 0 {
		time.Sleep(pause)
	}
	if hang != nil {
		<-hang
	}
	return d.write(func() error {
		d.flying = nil
		return d.InmemStore.StoreLogs(logs)
	})
}

// end is the power cut. An append in progress is written in part: any number of its first
// entries.
func (d *disk) end(random *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.ended = true
	if kept := random.IntN(len(d.flying) + 1); kept > 0 {
		_ = d.InmemStore.StoreLogs(d.flying[:kept])
	}
	if d.healing != nil {
		close(d.healing)
		d.healing = nil
	}
	close(d.released)
}

// writing reports whether an append is in progress.
func (d *disk) writing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flying != nil
}

// fall notes that the node gave up, which ends its process.
func (d *disk) fall() { d.falling.Do(func() { close(d.fallen) }) }

// over reports whether this life has ended.
func (d *disk) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// Slow makes every append take so much longer; 0: as usual.
func (d *disk) Slow(pause time.Duration) {
	d.mu.Lock()
	d.slow = pause
	d.mu.Unlock()
}

// Break makes every append fail.
func (d *disk) Break() {
	d.mu.Lock()
	d.broken = true
	d.mu.Unlock()
}

// Hang holds every write up until Heal, or the life's end.
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
	if d.healing != nil {
		close(d.healing)
		d.healing = nil
	}
	d.mu.Unlock()
}

// StoreLog implements raft.LogStore.
func (d *disk) StoreLog(log *raft.Log) error { return d.StoreLogs([]*raft.Log{log}) }

// DeleteRange implements raft.LogStore.
func (d *disk) DeleteRange(low, high uint64) error {
	return d.write(func() error { return d.InmemStore.DeleteRange(low, high) })
}

// Set implements raft.StableStore.
func (d *disk) Set(key, value []byte) error {
	return d.write(func() error { return d.InmemStore.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (d *disk) SetUint64(key []byte, value uint64) error {
	return d.write(func() error { return d.InmemStore.SetUint64(key, value) })
}

// Close implements cluster.LogStore.
func (d *disk) Close() error { return nil }

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
