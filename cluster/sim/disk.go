package sim

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"railguard/fsm/wire"
)

// disk is a host's raft log and votes, as one life of a node's process sees them:
// after the life's end it writes nothing any more. Writes can be slow, hang, fail,
// or be cut in the middle by the end, and are then there whole or not at all, as
// the transactions of the real store are.
type disk struct {
	*raft.InmemStore
	host *Host

	mu      sync.Mutex
	ended   bool
	slow    time.Duration // Of every write.
	broken  bool          // Every write fails.
	flying  *write        // The one write under way; raft has one at a time and kind.
	adjust  func(log *raft.Log)
	healing chan struct{} // Closed when a hanging disk goes on; nil: it does not hang.
}

type write struct{ do func() error }

var (
	errPowerOff = errors.New("sim: power is off")
	errBroken   = errors.New("sim: input/output error")
)

// put runs a write under the disk's faults.
func (d *disk) put(do func() error) error {
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return errPowerOff
	}
	if d.broken {
		d.mu.Unlock()
		return errBroken
	}
	pause, hang := d.slow, d.healing
	if pause == 0 && hang == nil {
		defer d.mu.Unlock()
		return do()
	}
	own := &write{do}
	d.flying = own
	d.mu.Unlock()
	time.Sleep(pause)
	if hang != nil {
		<-hang
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return errPowerOff
	}
	if d.flying == own {
		d.flying = nil
	}
	return do()
}

// end is the power cut: a write under way is done or not.
func (d *disk) end(random *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.ended = true
	if d.flying != nil && random.IntN(2) == 0 {
		_ = d.flying.do()
	}
	if d.healing != nil {
		close(d.healing)
		d.healing = nil
	}
}

// over reports whether this life has ended.
func (d *disk) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

// Slow makes every write take that long; 0 ends it.
func (d *disk) Slow(pause time.Duration) {
	d.mu.Lock()
	d.slow = pause
	d.mu.Unlock()
}

// Break makes every write fail.
func (d *disk) Break() {
	d.mu.Lock()
	d.broken = true
	d.mu.Unlock()
}

// Hang holds every write up until the life's end.
func (d *disk) Hang() {
	d.mu.Lock()
	if d.healing == nil && !d.ended {
		d.healing = make(chan struct{})
	}
	d.mu.Unlock()
}

// StoreLogs implements raft.LogStore.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	d.mu.Lock()
	adjust := d.adjust
	d.mu.Unlock()
	if adjust != nil {
		for _, log := range logs {
			adjust(log)
		}
	}
	return d.put(func() error { return d.InmemStore.StoreLogs(logs) })
}

// StoreLog implements raft.LogStore.
func (d *disk) StoreLog(log *raft.Log) error { return d.StoreLogs([]*raft.Log{log}) }

// DeleteRange implements raft.LogStore.
func (d *disk) DeleteRange(low, high uint64) error {
	return d.put(func() error { return d.InmemStore.DeleteRange(low, high) })
}

// Set implements raft.StableStore.
func (d *disk) Set(key, value []byte) error {
	return d.put(func() error { return d.InmemStore.Set(key, value) })
}

// SetUint64 implements raft.StableStore.
func (d *disk) SetUint64(key []byte, value uint64) error {
	return d.put(func() error { return d.InmemStore.SetUint64(key, value) })
}

// Close implements cluster.LogStore.
func (d *disk) Close() error { return nil }

// withoutFence rewrites an entry's header so that it names the term raft gave it:
// the state machine's fence then lets everything through. For negative controls.
func withoutFence(log *raft.Log) {
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
