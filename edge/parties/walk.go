package parties

import (
	"context"
	"errors"
	"sort"
	"sync"
	"time"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/leafjson"
)

// History is a node's copy of the log. *audit.Store is one.
type History interface {
	Scan(q audit.Query, visit func(index uint64, leaf audit.Leaf) bool) (audit.ScanResult, error)
	FindTime(nanoseconds int64) uint64
	Size() uint64
}

// Deps is what an index needs from the rest of the process.
type Deps struct {
	History func() History
	Fetch   func(ctx context.Context, index uint64) ([]byte, error)          // A leaf from any node.
	Open    func(ctx context.Context, data []byte, x *leafjson.Screen) error // Reads a record and the profiles it names.
	Now     func() engine.Time                                               // Log time.
	Pace    func() (between func())                                          // Begins a piece of work that rests between its steps while verdicts are made.
}

// bundle is how many leaves one step reads.
const bundle = 256

// Index follows history while somebody looks at it: the first look reads back from the newest leaf,
// and each later one what was added. One goroutine at a time adds leaves, and ends when there are no
// more; any number of callers read. Nothing runs on a node that nobody asks.
type Index struct {
	deps Deps
	stop context.CancelFunc
	ctx  context.Context
	done sync.WaitGroup

	mutex sync.RWMutex // Guards all below. It is held for one bundle, never while a disk is waited for.
	tables
	segments   []*segment // Of the payees' names; see alike.go.
	begun      bool
	running    bool
	moved      chan struct{} // Closed when something was added, and made anew.
	next       uint64        // The leaf to read next.
	from       uint64        // All leaves from here to next were read.
	since      engine.Time   // The time of the oldest leaf that was read; 0: none.
	slow       bool          // A caller waited in vain for what is older; until all is read the next ones wait for what is new alone.
	generation uint64        // Counts how often the tables were made anew; numbers of payees and parties are good within one.
	full       bool          // Something older was left out, because the index is bounded.
	lost       bool          // A leaf could not be read on any node.
	former     bool          // All of history up to retention was read back.

	batch []change // Of the step under way; only the goroutine uses it.
}

// change is what one leaf adds.
type change struct {
	told   told
	record uint64 // Not 0: what the leaf says of it.
	fate   fate
}

// New makes the index of a node.
func New(deps Deps) *Index {
	ctx, stop := context.WithCancel(context.Background())
	return &Index{deps: deps, ctx: ctx, stop: stop, tables: newTables(), moved: make(chan struct{})}
}

// Close ends the goroutine and waits for it.
func (x *Index) Close() {
	x.stop()
	x.done.Wait()
}

// Coverage says what an index has.
type Coverage struct {
	Complete bool        // Everything within retention.
	Since    engine.Time // From when on it has everything; 0: it has nothing yet.
	Compared bool        // Names were compared with those of all counterparties that it has.
}

// Catch makes the index read what was added to history, and waits for it, but no longer than
// patience. Then it says what the index has.
func (x *Index) Catch(ctx context.Context, patience time.Duration) Coverage {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		x.mutex.Lock()
		history := x.deps.History()
		x.begin(history)
		wanted, moved := history.Size(), x.moved
		covered := Coverage{Complete: x.former && !x.full && !x.lost && x.next >= wanted, Since: x.since, Compared: x.comparedAll()}
		whole := (x.former || x.full) && covered.Compared
		caught := x.next >= wanted && (whole || x.slow)
		x.slow = x.slow && !whole
		x.mutex.Unlock()
		if caught {
			return covered
		}
		select {
		case <-moved:
		case <-timer.C:
			x.mutex.Lock()
			x.slow = true
			x.mutex.Unlock()
			return covered
		case <-ctx.Done():
			return covered
		}
	}
}

// begin starts the goroutine if there is something to do. The mutex is held.
func (x *Index) begin(history History) {
	if !x.begun {
		x.begun = true
		x.next = history.Size()
		x.from = x.next
	}
	if x.running || x.ctx.Err() != nil || x.next >= history.Size() && (x.former || x.full) && x.comparedAll() {
		return
	}
	x.running = true
	x.done.Go(func() { x.run(history) })
}

// run is the goroutine: what is newest first.
func (x *Index) run(history History) {
	between := x.deps.Pace()
	for x.ctx.Err() == nil {
		more := x.stepNewer(history, between) || x.stepOlder(history, between) || x.compileNext(between)
		x.mutex.Lock()
		close(x.moved)
		x.moved = make(chan struct{})
		if !more {
			x.running = false
		}
		x.mutex.Unlock()
		if !more {
			return
		}
	}
}

// stepNewer reads a bundle of leaves that were added. It returns false if there are none.
func (x *Index) stepNewer(history History, between func()) bool {
	to := history.Size()
	if x.next >= to {
		return false
	}
	x.batch = x.batch[:0]
	scanned, err := history.Scan(audit.Query{From: x.next, To: to, Examine: bundle}, func(_ uint64, stored audit.Leaf) bool {
		between()
		x.take(stored.Data)
		return x.ctx.Err() == nil
	})
	next := max(scanned.Next, x.next)
	if err != nil {
		x.fetch(next, err)
		next++
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.next = next
	x.merge(false)
	return true
}

// stepOlder reads a bundle of older leaves. It returns false if there are none within retention, or no
// room for them.
func (x *Index) stepOlder(history History, between func()) bool {
	if x.former || x.full {
		return false
	}
	floor := history.FindTime(int64(max(x.deps.Now()-engine.Retention, 0)))
	x.batch = x.batch[:0]
	done, to := x.from <= floor, x.from
	if !done {
		scanned, err := history.Scan(audit.Query{From: floor, To: x.from, Newest: true, Examine: bundle}, func(_ uint64, stored audit.Leaf) bool {
			between()
			x.take(stored.Data)
			return x.ctx.Err() == nil
		})
		to, done = min(scanned.Next, x.from), scanned.Done
		if err != nil && to > floor {
			to--
			x.fetch(to, err)
			done = false
		}
	}
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.from, x.former = to, done
	x.merge(true)
	return true
}

// take reads one leaf into the batch. A record that cannot be read leaves a gap, which is told.
func (x *Index) take(data []byte) {
	var c change
	switch leaf.FormOf(data) {
	case leaf.FormScreen:
		var record leafjson.Screen
		if err := x.deps.Open(x.ctx, data, &record); err != nil {
			x.noteLost()
			return
		}
		var kept bool
		if c.told, kept = read(&record); !kept {
			return
		}
	case leaf.FormProfile:
		return
	default:
		if c.record, c.fate = readFate(data); c.record == 0 {
			return
		}
	}
	x.batch = append(x.batch, c)
}

// fetch takes a leaf that is missing or damaged here from another node.
func (x *Index) fetch(index uint64, why error) {
	if x.ctx.Err() != nil || errors.Is(why, audit.ErrPruned) {
		return
	}
	data, err := x.deps.Fetch(x.ctx, index)
	switch {
	case errors.Is(err, audit.ErrPruned):
	case err != nil:
		x.noteLost()
	default:
		x.take(data)
	}
}

func (x *Index) noteLost() {
	x.mutex.Lock()
	x.lost = true
	x.mutex.Unlock()
}

// merge puts the batch into the tables, within their bounds. The mutex is held.
func (x *Index) merge(readBack bool) {
	for i := range x.batch {
		c := &x.batch[i]
		if c.record != 0 {
			x.note(c.record, c.fate, readBack)
			continue
		}
		if readBack && (x.size() >= paymentsMax || len(x.payees) >= payeesMax || len(x.parties) >= 2*payeesMax) {
			x.full = true
			break
		}
		x.add(&c.told, readBack)
		if at := c.told.payment.At; readBack || x.since == 0 {
			x.since = at
		}
	}
	if x.former || x.full {
		clear(x.fates) // Nothing older will be read.
	}
	if !readBack {
		x.bound()
	}
}

// bound drops the oldest payments where there are more than there may be, and those past retention.
func (x *Index) bound() {
	oldest := x.deps.Now() - engine.Retention
	keep := sort.Search(x.size(), func(i int) bool { return x.at(i).At < oldest })
	past := x.size() - keep
	over := x.size() > paymentsMax || len(x.payees) > payeesMax || len(x.parties) > 2*payeesMax
	if over {
		keep = min(keep, x.size()*3/4)
		x.full = true
	}
	if !over && (past == 0 || past < x.size()/8) {
		return
	}
	x.tables = x.dropOldest(keep)
	x.segments = nil
	x.generation++
	if keep > 0 {
		x.since = max(x.since, x.at(keep-1).At)
	}
}
