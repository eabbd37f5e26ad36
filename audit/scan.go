package audit

import (
	"errors"
	"math"
	"slices"
	"sort"
)

// ScanLeavesMax bounds the leaves one call of Scan decodes.
const ScanLeavesMax = 1 << 17

// What a scan subtracts from its budget of leaves for each segment or bundle that a filter
// lets it skip.
const (
	scanSegmentCost = 16
	scanFilterCost  = 1 // For a segment skipped because of the file of all filters.
	scanBundleCost  = 1
)

// Query says which leaves a Scan visits.
type Query struct {
	From, To uint64   // indices [From, To)
	Newest   bool     // from To downwards instead of from From upwards
	Keys     []uint64 // only leaves with all of these keys
	Examine  int      // most leaves to decode; 0 or more than ScanLeavesMax means ScanLeavesMax
}

// ScanResult says where a Scan stopped.
type ScanResult struct {
	// Next continues the scan: it is the From of the next Scan, or with Newest its To.
	Next uint64
	// Done: the end of the range was reached.
	Done bool
	// Examined is the part of the budget used: leaves decoded and filters asked.
	Examined int
}

// Scan calls visit, in order, with the leaves of a range that have all the keys, until visit
// returns false, the range ends or the budget is used. It skips leaves past retention. At a
// hole or at damage it ends with ErrMissing or ErrCorrupt; the result says where, and a peer
// can continue from there.
//
// Keys are hashes and may collide, so visit must check the leaf itself.
func (s *Store) Scan(q Query, visit func(index uint64, leaf Leaf) bool) (ScanResult, error) {
	if len(q.Keys) > LeafKeysMax {
		return ScanResult{}, ErrLimit
	}
	if q.Examine <= 0 || q.Examine > ScanLeavesMax {
		q.Examine = ScanLeavesMax
	}
	q.From, q.To = max(q.From, s.oldest.Load()), min(q.To, s.size.Load())
	sc := &scanner{s: s, q: q, visit: visit, at: q.From}
	if q.Newest {
		sc.at = q.To
	}
	defer sc.releaseSegment()
	var err error
	for err == nil && q.From < q.To && !sc.isDone() && !sc.stopped && sc.used < q.Examine {
		err = sc.scanStep()
	}
	return ScanResult{Next: sc.at, Done: q.From >= q.To || sc.isDone(), Examined: sc.used}, err
}

// scanner is the state of one Scan. at is the cursor: every leaf before it (with Newest, from
// it on) has been examined.
type scanner struct {
	s       *Store
	q       Query
	visit   func(uint64, Leaf) bool
	at      uint64
	used    int
	stopped bool
	open    *openSegment
}

func (c *scanner) isDone() bool {
	if c.q.Newest {
		return c.at <= c.q.From
	}
	return c.at >= c.q.To
}

func (c *scanner) releaseSegment() {
	if c.open != nil {
		c.s.sealed.release(c.open)
		c.open = nil
	}
}

// blockBounds returns which leaves of the aligned block at the cursor the scan visits next.
func (c *scanner) blockBounds(block uint64) (from, to uint64) {
	if c.q.Newest {
		return max(c.q.From, (c.at-1)/block*block), c.at
	}
	return c.at, min(c.q.To, (c.at/block+1)*block)
}

func (c *scanner) moveCursor(from, to uint64, cost int) {
	c.used += cost
	if c.q.Newest {
		c.at = max(from, c.q.From)
	} else {
		c.at = min(to, c.q.To)
	}
}

// scanStep visits the leaves of one bundle, or skips one bundle or segment.
func (c *scanner) scanStep() error {
	from, to := c.blockBounds(BundleLeaves)
	number := c.s.form.segmentOf(from)
	t, state := c.s.acquireTail(number)
	if t != nil {
		c.releaseSegment()
		defer t.release()
		first := c.s.form.firstLeaf(number)
		leaves, from, to, err := c.readTailRange(t, from-first, to-first)
		if err != nil {
			return err
		}
		if leaves[0].Erased { // erased by a Prune before the last start
			c.moveCursor(from, to, scanBundleCost)
			return nil
		}
		c.visitLeaves(from, to, func(i int) Leaf { return leaves[i] })
		return nil
	}
	switch state {
	case slotErased:
		c.releaseSegment()
		c.moveCursor(c.s.form.firstLeaf(number), c.s.form.firstLeaf(number+1), scanSegmentCost)
		return nil
	case slotAbsent:
		return ErrMissing
	}
	return c.stepSealed(number, from, to)
}

// readTailRange reads the leaves [from, to) of a tail. If one is missing or damaged, it
// returns the leaves that the scan reaches before that one, so that damage does not hide them.
// first and end are indices of leaves.
func (c *scanner) readTailRange(t *tail, from, to uint64) (leaves []Leaf, first, end uint64, err error) {
	leaves, err = t.readLeaves(int(from), int(to), new(tailBuffer))
	for err != nil {
		err = c.s.noteDamage(err)
		bad := from + uint64(len(leaves))
		switch {
		case !c.q.Newest && bad > from:
			return leaves, t.first + from, t.first + bad, nil
		case !c.q.Newest, bad+1 == to:
			return nil, 0, 0, err
		}
		from = bad + 1
		leaves, err = t.readLeaves(int(from), int(to), new(tailBuffer))
	}
	return leaves, t.first + from, t.first + to, nil
}

func (c *scanner) stepSealed(number, from, to uint64) error {
	if c.open == nil || c.open.number != number {
		c.releaseSegment()
		perhaps, known := c.s.filters.askFilter(number, c.q.Keys)
		if known && !perhaps {
			from, to := c.blockBounds(c.s.form.leaves())
			c.moveCursor(from, to, scanFilterCost)
			return nil
		}
		open, err := c.s.openSegment(number)
		if err != nil {
			return err
		}
		c.open = open
		if !known {
			c.s.filters.keepFilter(open)
		}
		if !c.noteDamagedFilter(0)(open.mayHave(c.q.Keys)) {
			from, to := c.blockBounds(c.s.form.leaves())
			c.moveCursor(from, to, scanSegmentCost)
			return nil
		}
	}
	i := int(from-c.open.info.first) / BundleLeaves
	if !c.noteDamagedFilter(i)(c.open.bundleMayHave(i, c.q.Keys)) {
		c.moveCursor(from, to, scanBundleCost)
		return nil
	}
	b, err := c.open.readBundle(i)
	if errors.Is(err, ErrPruned) { // erased since the scan began
		c.moveCursor(from, to, scanBundleCost)
		return nil
	}
	if err != nil {
		return c.s.noteDamage(err)
	}
	skip := int(from%BundleLeaves) - b.erasedBefore
	if skip < 0 { // also erased since the scan began
		c.moveCursor(from, to, scanBundleCost)
		return nil
	}
	c.visitLeaves(from, to, func(k int) Leaf { return b.leafAt(skip + k) })
	return nil
}

// noteDamagedFilter returns a function that takes a filter's answer. If the filter is damaged,
// it notes that, so that the segment is fetched again. A damaged filter answers "perhaps".
func (c *scanner) noteDamagedFilter(bundle int) func(perhaps, sound bool) bool {
	return func(perhaps, sound bool) bool {
		if !sound {
			_ = c.s.noteDamage(c.open.newDamage(bundle, "filter checksum"))
		}
		return perhaps
	}
}

// visitLeaves visits the leaves [from, to), which lie in one bundle.
func (c *scanner) visitLeaves(from, to uint64, leaf func(i int) Leaf) {
	n := int(to - from)
	for step := range n {
		i := step
		if c.q.Newest {
			i = n - 1 - step
		}
		index := from + uint64(i)
		c.moveCursor(index, index+1, 1)
		if l := leaf(i); hasAll(l.Keys, c.q.Keys) && !c.visit(index, l) {
			c.stopped = true
			return
		}
	}
}

func hasAll(have, want []uint64) bool {
	for _, k := range want {
		if !slices.Contains(have, k) {
			return false
		}
	}
	return true
}

// FindTime returns the first index whose leaf is not known to be before a time (nanoseconds,
// UTC). This is the first leaf at or after the time, or Size if there is none, and never below
// Oldest. Leaves that are still being fetched count as later than the time.
func (s *Store) FindTime(time int64) uint64 {
	number, ok := s.findSegment(time)
	if !ok {
		return max(s.size.Load(), s.oldest.Load())
	}
	return max(s.findInSegment(number, time), s.oldest.Load())
}

// findSegment finds the first segment whose last leaf is not before a time. If holes are
// directly before it, it returns the first of them.
func (s *Store) findSegment(time int64) (uint64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := func(n int) int64 { // last time of the nearest known segment at or below n
		for ; n >= 0; n-- {
			if t := s.catalog.tails[uint64(n)]; t != nil {
				if latest := t.latest.Load(); latest != math.MinInt64 {
					return latest
				}
			} else if s.catalog.slots[n].state != slotAbsent {
				return s.catalog.slots[n].timeLast
			}
		}
		return math.MinInt64
	}
	n := sort.Search(len(s.catalog.slots), func(n int) bool { return last(n) >= time })
	found := n < len(s.catalog.slots)
	for n > 0 && s.isIncomplete(uint64(n-1)) {
		n--
		found = true
	}
	return uint64(n), found
}

// isIncomplete reports whether a segment lacks leaves, or may lack some. The caller holds mu.
func (s *Store) isIncomplete(number uint64) bool {
	t := s.catalog.tails[number]
	return s.catalog.slots[number].state == slotAbsent || (t != nil && !t.full.Load())
}

func (s *Store) findInSegment(number uint64, time int64) uint64 {
	first := s.form.firstLeaf(number)
	t, state := s.acquireTail(number)
	if t != nil {
		defer t.release()
		for k := len(t.times) - 1; k >= 0; k-- {
			if t.hasLeaf(k) && t.times[k] < time {
				return first + uint64(k) + 1
			}
		}
		return first
	}
	switch state {
	case slotErased:
		return s.form.firstLeaf(number + 1)
	case slotAbsent:
		return first
	}
	open, err := s.openSegment(number)
	if err != nil {
		return first
	}
	defer s.sealed.release(open)
	i := sort.Search(len(open.table), func(i int) bool { return open.table[i].timeLast >= time })
	if i == len(open.table) {
		return s.form.firstLeaf(number + 1)
	}
	first += uint64(i) * BundleLeaves
	b, err := s.readBundle(first / BundleLeaves)
	if err != nil {
		return first
	}
	return first + uint64(b.erasedBefore) + uint64(sort.Search(b.leafCount(), func(k int) bool { return b.times[k] >= time }))
}
