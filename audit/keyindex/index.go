package keyindex

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"railguard/audit"
	"railguard/audit/merkle"
)

// History is where the leaves are read from: an *audit.Store.
type History interface {
	Size() uint64
	Record(index uint64) (audit.Leaf, error)
	FindTime(time int64) uint64
}

// Options of an index.
type Options struct {
	IsKey  func(filter uint64) bool // Tells whether a filter of a leaf is a key; it may be wrong about one in thousands.
	Kept   time.Duration            // How long a leaf is found, by the times of leaves.
	Report func(error)              // Is told of files that cannot be written; everything is tried again.
	Ended  func() bool              // Tells that the node has ended and writes nothing more; nil: it never does.

	Leaves uint64 // Of the smallest files; 0: 65,536. A power of two.
	Inline bool   // No goroutine: Settle does its work. For tests.
}

const (
	leavesDefault = 1 << 16
	mergedFiles   = 8 // So many neighbours become one file.
	levels        = 4 // So often: the largest file has 65,536 × 8^4 leaves.
	waitingMost   = 32
	tryEvery      = time.Second
)

// Index finds the leaves that bear a key. One goroutine adds leaves, any number search.
type Index struct {
	dir     audit.Dir
	history History
	options Options
	stop    chan struct{}
	wake    chan struct{}
	done    chan struct{}

	mu      sync.RWMutex // Guards the fields below, and is never held while a disk is waited for.
	recent  *recent
	waiting []*recent // Full, and not written yet; oldest first.
	files   []*file   // By their leaves, without overlap.
	time    int64     // Of the newest leaf.
	floor   uint64    // All leaves below are too old to be found.
}

// recent holds the keys of the newest leaves, which no file has yet.
type recent struct {
	stretch
	rows  []row
	older []int32          // For each row the one before it with the same key, plus one; 0: none.
	at    map[uint64]int32 // The newest row of a key, plus one.
}

func newRecent(first uint64) *recent {
	return &recent{stretch: stretch{first: first, next: first}, at: map[uint64]int32{}}
}

func (t *recent) add(leaf *audit.Leaf, isKey func(uint64) bool) {
	if t.first == t.next {
		t.timeFirst = leaf.Time
	}
	for _, key := range leaf.Keys {
		if isKey(key) {
			t.rows, t.older = append(t.rows, row{key, t.next}), append(t.older, t.at[key])
			t.at[key] = int32(len(t.rows))
		}
	}
	t.timeLast, t.last = leaf.Time, leaf.Hash
	if leaf.Hash == (audit.Hash{}) {
		t.last = merkle.Leaf(leaf.Data)
	}
	t.next++
}

// search appends the newest leaves that bear a key, newest first, until there are most of them.
func (t *recent) search(leaves []uint64, key uint64, most int) []uint64 {
	for at := t.at[key]; at != 0 && len(leaves) < most; at = t.older[at-1] {
		leaves = append(leaves, t.rows[at-1].leaf)
	}
	return leaves
}

// Open opens the index in a folder, which holds nothing else, or makes one. Leaves that history
// has and the index lacks are read back in the background.
func Open(dir audit.Dir, history History, options Options) (*Index, error) {
	if options.Leaves == 0 {
		options.Leaves = leavesDefault
	}
	x := &Index{
		dir: dir, history: history, options: options, recent: newRecent(history.Size()),
		stop: make(chan struct{}), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if size := history.Size(); size > 0 {
		if last, err := history.Record(size - 1); err == nil {
			x.time = last.Time
		}
	}
	if err := x.openFiles(); err != nil {
		return nil, err
	}
	x.raiseFloor()
	if options.Inline {
		close(x.done)
		return x, nil
	}
	go x.run()
	return x, nil
}

// openFiles opens the files that belong to this history and removes all others.
func (x *Index) openFiles() error {
	names, err := x.dir.List("")
	if err != nil {
		return err
	}
	var files []*file
	for _, name := range names {
		f, err := openFile(x.dir, name)
		if err == nil && (!isOwn(name) || !x.belongs(&f.stretch)) {
			err = errFile
			f.release()
		}
		if err == nil {
			files = append(files, f)
		} else if err := x.dir.Remove(name); err != nil {
			return err
		}
	}
	slices.SortFunc(files, func(a, b *file) int { // Of two that begin alike the longer one, which was made from the other.
		return row{a.first, ^a.next}.compare(row{b.first, ^b.next})
	})
	end := uint64(0)
	for _, f := range files {
		if f.first < end {
			f.release()
			if err := x.dir.Remove(f.name); err != nil {
				return err
			}
			continue
		}
		x.files, end = append(x.files, f), f.next
	}
	return nil
}

// belongs tells whether history has the last leaf of a stretch as the index knows it.
func (x *Index) belongs(s *stretch) bool {
	if s.next > x.history.Size() {
		return false
	}
	leaf, err := x.history.Record(s.next - 1)
	return err == nil && merkle.Leaf(leaf.Data) == s.last
}

// Add adds leaves that history has just taken, from the first on. It never waits for a disk.
func (x *Index) Add(first uint64, leaves []audit.Leaf) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if first > x.recent.next { // History begins anew behind a gap: a snapshot was installed.
		x.endRecent(first)
	}
	for i := range leaves {
		if first+uint64(i) < x.recent.next { // A replay of the log.
			continue
		}
		x.recent.add(&leaves[i], x.options.IsKey)
		if x.time = leaves[i].Time; x.recent.next%x.options.Leaves == 0 {
			x.endRecent(x.recent.next)
		}
	}
}

// endRecent hands the newest leaves over to be written, and begins anew.
func (x *Index) endRecent(first uint64) {
	if x.recent.leaves() > 0 {
		x.waiting = append(x.waiting, x.recent)
	}
	if len(x.waiting) > waitingMost { // The disk does not answer. It is read back from history later.
		x.waiting = x.waiting[1:]
	}
	x.recent = newRecent(first)
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Found is what a search found.
type Found struct {
	Leaves []uint64 // Newest first.
	Looked uint64   // The search looked through all leaves below this one that are younger than Kept; 0: it could not.
}

// ErrIncomplete means that the index lacks leaves that are still being read back from history.
var ErrIncomplete = errors.New("key index: history is being read back")

// Find returns the newest leaves that may bear a key, at most so many. Older ones than Kept may be
// among them.
func (x *Index) Find(key uint64, most int) (Found, error) {
	x.mu.RLock()
	found := Found{Leaves: x.recent.search(nil, key, most), Looked: x.recent.next}
	for i := len(x.waiting) - 1; i >= 0; i-- {
		found.Leaves = x.waiting[i].search(found.Leaves, key, most)
	}
	whole := x.isWhole()
	files := make([]*file, 0, 64)
	for _, f := range slices.Backward(x.files) {
		if x.isYoung(f.timeLast) {
			f.acquire()
			files = append(files, f)
		}
	}
	x.mu.RUnlock()
	defer func() {
		for _, f := range files {
			f.release()
		}
	}()
	if !whole {
		return Found{}, ErrIncomplete
	}
	p := buffers.Get().(*buffer)
	defer buffers.Put(p)
	for _, f := range files {
		if len(found.Leaves) == most {
			break
		}
		var err error
		if found.Leaves, err = f.search(found.Leaves, key, most, p); err != nil {
			x.dropFile(f)
			return Found{}, fmt.Errorf("%w: %w", ErrIncomplete, err)
		}
	}
	return found, nil
}

// Leaves is Find with the leaves themselves.
func (x *Index) Leaves(key uint64, most int) (leaves []audit.PlacedLeaf, looked uint64, err error) {
	found, err := x.Find(key, most)
	for i := 0; err == nil && i < len(found.Leaves); i++ {
		at := audit.PlacedLeaf{Index: found.Leaves[i]}
		at.Leaf, err = x.history.Record(at.Index)
		leaves = append(leaves, at)
	}
	return leaves, found.Looked, err
}

func (x *Index) isYoung(time int64) bool { return time > x.time-int64(x.options.Kept) }

// lowest returns from which leaf on the index has all.
func (x *Index) lowest() uint64 {
	first := x.recent.first
	step := func(s *stretch) {
		if s.next == first {
			first = s.first
		}
	}
	for _, t := range slices.Backward(x.waiting) {
		step(&t.stretch)
	}
	for _, f := range slices.Backward(x.files) {
		step(&f.stretch)
	}
	return first
}

func (x *Index) isWhole() bool { return x.lowest() <= x.floor }

// Lacks returns how many leaves are still to be read back from history. Until there are none, every
// search is ErrIncomplete.
func (x *Index) Lacks() uint64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.lowest() - min(x.floor, x.lowest())
}

// raiseFloor asks history which leaves are too old.
func (x *Index) raiseFloor() {
	x.mu.RLock()
	time := x.time - int64(x.options.Kept) + 1
	x.mu.RUnlock()
	floor := x.history.FindTime(time)
	x.mu.Lock()
	x.floor = max(x.floor, floor)
	x.mu.Unlock()
}

// dropFile removes a damaged file. Its leaves are read back from history.
func (x *Index) dropFile(f *file) {
	x.mu.Lock()
	at := slices.Index(x.files, f)
	if at >= 0 {
		x.files = slices.Delete(slices.Clone(x.files), at, at+1)
	}
	x.mu.Unlock()
	if at >= 0 {
		x.remove([]*file{f})
	}
}

func (x *Index) report(err error) {
	if err != nil && !errors.Is(err, errEnded) && x.options.Report != nil {
		x.options.Report(err)
	}
}

// hurries tells whether leaves wait to be written, or calls are refused because leaves are lacking.
func (x *Index) hurries() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.options.Inline || len(x.waiting) > 1 || !x.isWhole()
}

// hasEnded tells whether the index was closed, or its node has ended.
func (x *Index) hasEnded() bool {
	select {
	case <-x.stop:
		return true
	default:
		return x.options.Ended != nil && x.options.Ended()
	}
}

// Close ends the goroutine and closes the files. What no file has yet is read back at the next
// start.
func (x *Index) Close() error {
	close(x.stop)
	<-x.done
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.files {
		f.release()
	}
	x.files = nil
	return nil
}
