package audit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"railguard/audit/merkle"
)

// Options of a store. The zero value is right for a server.
type Options struct {
	// SegmentLevel is the height of a segment's subtree. 0 means 16, which is 65,536 leaves.
	// Simulators use a smaller one. It is fixed when a store is made.
	SegmentLevel uint
	// SealInline seals full segments on the goroutine of Append instead of the store's own. It
	// is for tests that need a fixed order of disk operations.
	SealInline bool
	// MakeWay waits between two steps of the verification of history while verdicts wait longer
	// than they should, for a bounded time; nil: nobody waits.
	MakeWay func()
}

// Store is one node's copy of the log's history.
//
// It allows one appender at a time and any number of readers. Readers take Store.mu for
// reading only to find a segment or a node, never while they access the disk. The appender
// takes it for writing once for each segment. It publishes a leaf by atomic stores: first the
// hash and the time, then the place, then the size.
type Store struct {
	dir     Dir
	form    geometry
	inline  bool
	makeWay func()
	// readOnly: the store changes no file; see OpenReadOnly.
	readOnly bool
	report   OpenReport
	size     atomic.Uint64
	oldest   atomic.Uint64
	broken   atomic.Pointer[error]
	closed   atomic.Bool
	sealed   *segmentCache
	filters  *filterFile
	bundles  bundleCache

	mu      sync.RWMutex // guards catalog
	catalog catalog

	writing  sync.Mutex // guards the writing of tails: Append, ImportBundle, marks
	frames   []byte
	pending  []pendingLeaf
	hash     *merkle.Hasher
	lastTime int64
	replay   replayTile

	syncing sync.Mutex // Held by SyncTo.
	filing  sync.Mutex // Held while a segment file is installed by sealing, importing or erasing.

	importing sync.Map   // Numbers of the segments being imported.
	proving   sync.Mutex // Held while an imported segment is hashed.

	damageLock sync.Mutex
	damaged    map[uint64]*DamageError // damage by bundle

	sealWake chan struct{} // closed by Close, which holds writing
	sealDone chan struct{}
}

type pendingLeaf struct {
	k     int
	place uint64
	time  int64
	hash  Hash
}

// Size returns the number of leaves that the store knows of, holes included. It is the
// index of the next leaf to append.
func (s *Store) Size() uint64 { return s.size.Load() }

// SegmentLeaves returns how many leaves a segment has.
func (s *Store) SegmentLeaves() uint64 { return s.form.leaves() }

// Oldest returns the lowest index that the store answers; leaves below it are ErrPruned.
func (s *Store) Oldest() uint64 { return s.oldest.Load() }

// Append adds leaves at the indices first, first+1, ... It writes to the page cache, once for
// each batch (and once more if the batch crosses segments), and does not sync. Leaves below
// Size are a replay: one that is there must have the same bytes, or Append returns ErrDiverged
// and the caller stops the node; one that is missing is written. If first is above Size, it
// returns ErrGap. The leaves are readable when it returns. The store keeps no reference to
// them.
//
// After an error other than ErrGap and ErrLimit the store may be inconsistent: stop.
func (s *Store) Append(first uint64, leaves []Leaf) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.checkUsable(); err != nil {
		return err
	}
	if size := s.size.Load(); first > size {
		return fmt.Errorf("append at %d, size %d: %w", first, size, ErrGap)
	}
	for i := range leaves {
		if err := leaves[i].checkLimits(); err != nil {
			return fmt.Errorf("leaf %d: %w", first+uint64(i), err)
		}
	}
	for len(leaves) > 0 {
		space := int(s.form.leaves()) - s.form.placeInSegment(first)
		part := leaves[:min(space, len(leaves))]
		if err := s.appendTo(s.form.segmentOf(first), first, part); err != nil {
			return err
		}
		first += uint64(len(part))
		leaves = leaves[len(part):]
	}
	return nil
}

func (s *Store) appendTo(number, first uint64, leaves []Leaf) error {
	if number >= segmentsMax {
		return fmt.Errorf("segment %d: %w", number, ErrLimit)
	}
	t, err := s.writeTail(number)
	if err != nil {
		return s.markBroken(err)
	}
	if t == nil {
		return s.compareSealed(first, leaves)
	}
	defer t.release()
	if err := s.writeFrames(t, first, leaves, true); err != nil {
		return err
	}
	if err := s.setRoot(t); err != nil { // set before the size, so that the roots of every published size are known
		return err
	}
	if end := first + uint64(len(leaves)); end > s.size.Load() {
		s.size.Store(end)
	}
	return s.offerSeal(t)
}

// writeFrames writes the leaves that a tail lacks and compares the others with it. If timed is
// set, the times of new leaves must not go back.
func (s *Store) writeFrames(t *tail, first uint64, leaves []Leaf, timed bool) error {
	s.frames, s.pending = s.frames[:0], s.pending[:0]
	lastTime, size := s.lastTime, s.size.Load()
	for i := range leaves {
		index, leaf := first+uint64(i), &leaves[i]
		k := s.form.placeInSegment(index)
		h := s.leafHash(leaf)
		if t.hasLeaf(k) {
			if h != t.hashes[k] {
				return fmt.Errorf("leaf %d: %w", index, ErrDiverged)
			}
			if !s.isDamaged(index) {
				leavesReplayed.Inc()
				continue
			}
		}
		if timed && index >= size {
			if leaf.Time < lastTime {
				return fmt.Errorf("leaf %d is older than the one before it: %w", index, ErrTime)
			}
			lastTime = leaf.Time
		}
		at := t.end + int64(len(s.frames))
		s.frames = appendLeafFrame(s.frames, index, leaf)
		s.pending = append(s.pending, pendingLeaf{k, framePlace(at, int(t.end+int64(len(s.frames))-at), leaf.Erased), leaf.Time, h})
	}
	if len(s.pending) == 0 {
		return nil
	}
	if err := t.appendFrames(s.frames); err != nil {
		return s.markBroken(err)
	}
	for i := range s.pending {
		p := &s.pending[i]
		t.publishFrame(p.k, p.place, &p.hash, p.time)
	}
	s.lastTime = lastTime
	leavesAppended.Add(len(s.pending))
	bytesAppended.Add(len(s.frames))
	return nil
}

// leafHash returns a leaf's hash. It computes the hash only if the leaf has none. Writer only.
func (s *Store) leafHash(l *Leaf) Hash {
	if l.Hash != noHash {
		return l.Hash
	}
	return s.hash.Leaf(l.Data)
}

// writeTail acquires the tail of a segment, and makes it if there is none. It returns nil if
// the segment is in its final form. Writer only.
func (s *Store) writeTail(number uint64) (*tail, error) {
	for {
		t, state := s.acquireTail(number)
		if t != nil || state == slotSealed || state == slotErased {
			return t, nil
		}
		s.mu.RLock()
		open := len(s.catalog.tails)
		s.mu.RUnlock()
		if open >= tailsMax {
			return nil, fmt.Errorf("%d unsealed segments: %w", open, ErrLimit)
		}
		f, err := s.dir.Create(tailName(number))
		if err == nil {
			err = f.Truncate(0)
		}
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		slot := s.catalog.slotFor(number)
		taken := slot.state != slotAbsent // The segment was fetched from a peer in the meantime.
		if !taken {
			slot.state, s.catalog.tails[number] = slotTail, newTail(s.form, number, f)
		}
		s.mu.Unlock()
		if taken {
			if err := errors.Join(f.Close(), s.dir.Remove(tailName(number))); err != nil {
				return nil, err
			}
		}
	}
}

// replayTile keeps the hashes with which a replay over sealed segments is compared.
type replayTile struct {
	bundle uint64
	hashes []Hash
}

// compareSealed compares replayed leaves with the hashes of a sealed or erased segment.
func (s *Store) compareSealed(first uint64, leaves []Leaf) error {
	for i := range leaves {
		index := first + uint64(i)
		if number := index / BundleLeaves; s.replay.hashes == nil || s.replay.bundle != number {
			hashes, err := s.leafHashes(number)
			if errors.Is(err, ErrCorrupt) { // the damage is noted; there is nothing left to compare with
				continue
			}
			if err != nil {
				return fmt.Errorf("replay of leaf %d: %w", index, err)
			}
			s.replay = replayTile{number, hashes}
		}
		h := s.leafHash(&leaves[i])
		if h != s.replay.hashes[index%BundleLeaves] {
			return fmt.Errorf("leaf %d: %w", index, ErrDiverged)
		}
		leavesReplayed.Inc()
	}
	return nil
}

// SyncTo makes the leaves below size durable. An error is final: from then on the store
// refuses to write, and the caller must end the process.
func (s *Store) SyncTo(size uint64) error {
	if err := s.checkUsable(); err != nil {
		return err
	}
	if have := s.size.Load(); size > have {
		return fmt.Errorf("sync to %d, size %d: %w", size, have, ErrNotYet)
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	for _, t := range s.tailsBelow(size) {
		err := t.syncFile(s.dir, s.appendMark)
		t.release()
		if err != nil {
			return s.markBroken(err)
		}
	}
	return nil
}

// tailsBelow returns the tails that have leaves below an index, each acquired.
func (s *Store) tailsBelow(size uint64) []*tail {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var tails []*tail
	for _, t := range s.catalog.tails {
		if t.first < size && t.acquire() {
			tails = append(tails, t)
		}
	}
	return tails
}

// appendMark appends a frame which says that the file's first bytes are durable.
func (s *Store) appendMark(t *tail, durable int64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.checkUsable(); err != nil {
		return err
	}
	return t.appendFrames(appendFrame(nil, frameMark, s.size.Load(), &Leaf{Time: durable}))
}

// Leaf returns one leaf's bytes, which the caller must not change. A leaf is available as soon
// as Append returned. Errors: ErrNotYet, ErrPruned, ErrMissing, ErrCorrupt (a *DamageError
// that names the leaf).
func (s *Store) Leaf(index uint64) ([]byte, error) {
	leaf, err := s.Record(index)
	return leaf.Data, err
}

// Record returns a leaf with its time and keys. It is otherwise like Leaf.
func (s *Store) Record(index uint64) (Leaf, error) {
	switch {
	case index >= s.size.Load():
		return Leaf{}, ErrNotYet
	case index < s.oldest.Load():
		return Leaf{}, ErrPruned
	}
	number := s.form.segmentOf(index)
	t, state := s.acquireTail(number)
	if t != nil {
		defer t.release()
		f, err := t.readFrame(s.form.placeInSegment(index))
		if err != nil {
			return Leaf{}, s.noteDamage(err)
		}
		if f.kind == frameErased {
			return Leaf{}, ErrPruned
		}
		return f.toLeaf(new([]uint64)), nil
	}
	switch state {
	case slotSealed:
		b, err := s.readBundle(index / BundleLeaves)
		if err != nil {
			return Leaf{}, err
		}
		k := int(index%BundleLeaves) - b.erasedBefore
		if k < 0 {
			return Leaf{}, ErrPruned
		}
		return b.leafAt(k), nil
	case slotErased:
		return Leaf{}, ErrPruned
	}
	return Leaf{}, ErrMissing
}

// acquireTail acquires a segment's tail. If there is none, it returns nil and the segment's
// state.
func (s *Store) acquireTail(number uint64) (*tail, slotState) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.catalog.tails[number]; t != nil && t.acquire() {
		return t, slotTail
	}
	return nil, s.catalog.stateOf(number)
}

// readBundle reads a bundle of a sealed segment, through the cache.
func (s *Store) readBundle(number uint64) (*bundle, error) {
	if b := s.bundles.getBundle(number); b != nil {
		return b, nil
	}
	open, err := s.openSegment(s.form.segmentOf(number * BundleLeaves))
	if err != nil {
		return nil, err
	}
	defer s.sealed.release(open)
	b, err := open.readBundle(s.form.placeInSegment(number*BundleLeaves) / BundleLeaves)
	if err != nil {
		return nil, s.noteDamage(err)
	}
	s.bundles.putBundle(number, b)
	return b, nil
}

// openSegment acquires a segment or its hash file. The caller releases it to s.sealed.
func (s *Store) openSegment(number uint64) (*openSegment, error) {
	for {
		s.mu.RLock()
		state := s.catalog.stateOf(number)
		s.mu.RUnlock()
		open, err := s.sealed.acquire(number, state == slotErased)
		if err == nil {
			return open, nil
		}
		s.mu.RLock()
		erased := state != slotErased && s.catalog.stateOf(number) == slotErased
		s.mu.RUnlock()
		if !erased { // If the segment was erased meanwhile, the loop opens its hash file.
			return nil, s.noteDamage(err)
		}
	}
}

func (s *Store) checkUsable() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	if s.closed.Load() {
		return ErrClosed
	}
	return nil
}

// markBroken records a disk error, after which the store refuses every write.
func (s *Store) markBroken(err error) error {
	if err == nil || errors.Is(err, ErrBroken) || errors.Is(err, ErrClosed) {
		return err
	}
	err = fmt.Errorf("%w: %w", ErrBroken, err)
	s.broken.CompareAndSwap(nil, &err)
	return err
}

// Broken returns the error that broke the store, or nil.
func (s *Store) Broken() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// Close stops the sealer and closes the files. It does not sync: SyncTo has synced what must
// be durable, and the Raft log has the rest.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.writing.Lock()
	close(s.sealWake)
	s.writing.Unlock()
	<-s.sealDone
	s.filing.Lock()
	defer s.filing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, t := range s.catalog.tails {
		errs = append(errs, t.close())
	}
	s.sealed.closeAll()
	return errors.Join(append(errs, s.filters.close())...)
}
