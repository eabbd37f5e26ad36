package load

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"railguard/audit"
	"railguard/audit/keyindex"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

const (
	keysRate     = 20_000                        // Keyed calls a second of log time.
	keysDay      = 24 * 3600 * keysRate          // Keyed calls of a day.
	keysAfter    = keysDay / 100                 // Calls after that day, so that something is forgotten.
	keysStep     = int64(time.Second) / keysRate // Log time of a call.
	keysCalls    = 4_000_000                     // Calls that are also put through the state.
	keysAsked    = 20_000                        // Keys of each kind that are looked for.
	keysEntry    = 4096                          // Leaves that are added at a time.
	keysForBrief = 2000                          // The brief form does one part of so many.
)

// runKeys shows that an Idempotency-Key is kept for a day at 20,000 keyed calls a second of log
// time, in process: the index of a whole day, and the state that many calls go through.
func runKeys(ctx context.Context, b *bench) error {
	day, calls := uint64(keysDay), keysCalls
	if b.options.Brief {
		day, calls = day/keysForBrief, calls/keysForBrief
	}
	return errors.Join(b.indexDay(ctx, day), b.forgetKeys(ctx, calls))
}

// keyedDay is a history whose leaf n is a call with key n; there are as many in a day as day says.
type keyedDay struct{ size, day uint64 }

func (h *keyedDay) step() int64  { return int64(24*time.Hour) / int64(h.day) }
func (h *keyedDay) Size() uint64 { return h.size }

func (h *keyedDay) Record(index uint64) (audit.Leaf, error) {
	return audit.Leaf{Time: int64(index) * h.step(), Keys: []uint64{engine.KeyedFilter(keyNumber(index))}}, nil
}

func (h *keyedDay) FindTime(time int64) uint64 { return uint64(max(0, (time+h.step()-1)/h.step())) }

// keyNumber is the hash of the n-th key. It is a fast one: only the index reads it.
func keyNumber(n uint64) (key [16]byte) {
	n ^= n >> 30
	n *= 0xbf58476d1ce4e5b9
	n ^= n >> 27
	n *= 0x94d049bb133111eb
	binary.BigEndian.PutUint64(key[:], n^n>>31)
	return key
}

// indexDay indexes a day of keyed calls and a little more, and looks for keys.
func (b *bench) indexDay(ctx context.Context, day uint64) error {
	folder, err := os.MkdirTemp(b.options.Folder, "keys")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	history := &keyedDay{day: day}
	index, err := keyindex.Open(audit.OSDir(folder), history, keyindex.Options{
		IsKey: engine.IsKeyedFilter, Kept: time.Duration(engine.IdempotencyKept), Inline: true,
	})
	if err != nil {
		return err
	}
	defer func() { _ = index.Close() }()              // Its files are removed.
	began, hour, heap := time.Now(), -1, [2]float64{} // The most in each half of the day.
	leaves := make([]audit.Leaf, keysEntry)
	for history.size < day+day/100 {
		if now := int(history.size * 24 / day); now > hour {
			hour = now
			if err := ctx.Err(); err != nil {
				return err
			}
			held := heapNow()
			heap[min(hour/12, 1)] = max(heap[min(hour/12, 1)], held)
			b.say("hour %d: %.1f MB of heap, %v", hour, held/1e6, time.Since(began).Round(time.Second))
		}
		first := history.size
		for i := range leaves {
			leaves[i], _ = history.Record(first + uint64(i))
		}
		history.size += keysEntry
		index.Add(first, leaves)
		if history.size%(1<<16) == 0 {
			index.Settle()
		}
	}
	took := time.Since(began)
	b.set("keys.indexed", "keys/s", more, float64(history.size)/took.Seconds(), nil)
	b.set("keys.heap", "× first half of the day", less, heap[1]/heap[0], nil)
	size, err := sizeOf(folder)
	if err != nil {
		return err
	}
	b.set("keys.disk", "GB", less, float64(size)/1e9, nil)
	minute := day / (24 * 60)
	oldest := history.size - day + minute // Of 23:59 ago.
	for _, kind := range []struct {
		name  string
		first uint64
		found bool
	}{{"keys.new", 1 << 40, false}, {"keys.recent", history.size - minute, true}, {"keys.oldest", oldest, true}} {
		for _, name := range []string{kind.name + ".cold", kind.name} { // The second time all pages that it reads are in memory.
			one, err := lookForKeys(index, kind.first, minute, kind.found)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			b.set(name, "µs", less, float64(one.Nanoseconds())/1e3, nil)
		}
	}
	return nil
}

// lookForKeys looks for keys of some calls, all of which the index must have or lack, and returns
// what one took.
func lookForKeys(index *keyindex.Index, first, count uint64, wanted bool) (time.Duration, error) {
	began := time.Now()
	for n := range uint64(keysAsked) {
		at := first + n*7919%count
		found, err := index.Find(engine.KeyedFilter(keyNumber(at)), 16)
		if err != nil || slices.Contains(found.Leaves, at) != wanted {
			return 0, fmt.Errorf("key %d: %v: %w", at, found, errors.Join(err, errKeyLost))
		}
	}
	return time.Since(began) / keysAsked, nil
}

var errKeyLost = errors.New("a key is not found that was used, or found that was not")

func heapNow() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// forgetKeys puts keyed calls through a state, more than it has room for. None may be refused, and
// retries get the leaf of the first call.
func (b *bench) forgetKeys(ctx context.Context, calls int) error {
	if b.options.Brief {
		limits := engine.LimitsOf(engine.FormatNewest)
		before := limits.Idempotency
		limits.Idempotency /= keysForBrief
		defer func() { limits.Idempotency = before }()
	}
	c := &crowd{machine: fsm.New(), now: engine.Time(1_800_000_000) * engine.Second}
	if err := c.fill(ctx, 1000, 0); err != nil {
		return err
	}
	most := engine.LimitsOf(engine.FormatNewest).Idempotency
	half := 0.0
	err := c.inEntries(ctx, calls, func(n int) wire.Record {
		if n == calls/2 {
			half = heapNow()
		}
		return c.keyed(n, &wire.Idem{Looked: c.out.FirstLeaf + uint64(len(c.out.Leaves))})
	})
	if err != nil {
		return err
	}
	if from := c.machine.Freeze().KeysFrom; calls > most && from == 0 {
		return errors.New("the state has forgotten no key")
	}
	b.set("keys.state", "× half of the calls", less, heapNow()/half, nil)
	for n := 0; n < calls; n += calls / 100 {
		wanted := wire.Replayed
		if n < calls-most {
			wanted = wire.Stale // Its edge has to look for the key.
		}
		_ = c.apply([]wire.Record{c.keyed(n, &wire.Idem{})}) // It wants results that the first calls have.
		if got := c.out.Results[0].Code; got != wanted {
			return fmt.Errorf("a retry of call %d without a look for its key: code %d", n, got)
		}
	}
	runtime.KeepAlive(c)
	return nil
}

// keyed is the n-th call, with a key of its own.
func (c *crowd) keyed(n int, idem *wire.Idem) wire.Record {
	s := c.toReview(c.agents[n%len(c.agents)])
	s.Mask, s.Subs, s.Idem, s.Version = 0, nil, idem, 0 // BLOCK R2, so that nothing but the key is kept.
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
	s.Idem.Key = [16]byte(sum[:16])
	return c.record(wire.KindScreen, s)
}

func sizeOf(folder string) (size int64, err error) {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		info, failed := entry.Info()
		if err = errors.Join(err, failed); failed == nil {
			size += info.Size()
		}
	}
	return size, err
}
