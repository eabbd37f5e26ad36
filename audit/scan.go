package audit

import (
	"errors"
	"math"
	"slices"
	"sort"
)

// ScanLeavesMax bounds the leaves one call of Scan decodes.
const ScanLeavesMax = 1 << 17

// A scan that passes over a segment or a bundle by its filter pays this much of
// its budget of leaves.
const (
	scanSegmentCost = 16
	scanFilterCost  = 1 // Passed over by the file of all filters.
	scanBundleCost  = 1
)

// Query says which leaves a Scan looks at.
type Query struct {
	From, To uint64   // indices, To excluded
	Newest   bool     // from To downwards instead of from From upwards
	Keys     []uint64 // a leaf must have all of them
	Examine  int      // leaves to decode at most; 0 or more than ScanLeavesMax: that
}

// Page says how far a Scan came.
type Page struct {
	// Next continues the scan: it is the next From, or with Newest the next To.
	Next uint64
	// Done: the range is exhausted.
	Done bool
	// Examined counts the leaves decoded and the filters asked.
	Examined int
}

// Scan hands the leaves of a range that have all the keys to visit, in order,
// until visit returns false, the range ends or the budget is used. What is past
// retention is passed over. A hole or damage ends the scan with ErrMissing or
// ErrCorrupt; the page then tells where, and a peer can go on from there.
//
// Keys are hashes and may collide: visit judges the leaf itself.
func (s *Store) Scan(q Query, visit func(index uint64, leaf Leaf) bool) (Page, error) {
	if len(q.Keys) > LeafKeysMax {
		return Page{}, ErrLimit
	}
	if q.Examine <= 0 || q.Examine > ScanLeavesMax {
		q.Examine = ScanLeavesMax
	}
	q.From, q.To = max(q.From, s.oldest.Load()), min(q.To, s.size.Load())
	sc := &scanner{s: s, q: q, visit: visit, at: q.From}
	if q.Newest {
		sc.at = q.To
	}
	defer sc.leave()
	var err error
	for err == nil && q.From < q.To && !sc.done() && !sc.stopped && sc.used < q.Examine {
		err = sc.step()
	}
	return Page{Next: sc.at, Done: q.From >= q.To || sc.done(), Examined: sc.used}, err
}

// scanner is the state of one Scan. at is the cursor: everything before it (or,
// newest first, from it on) has been looked at.
type scanner struct {
	s       *Store
	q       Query
	visit   func(uint64, Leaf) bool
	at      uint64
	used    int
	stopped bool
	open    *openSegment
}

func (c *scanner) done() bool {
	if c.q.Newest {
		return c.at <= c.q.From
	}
	return c.at >= c.q.To
}

func (c *scanner) leave() {
	if c.open != nil {
		c.s.sealed.release(c.open)
		c.open = nil
	}
}

// bounds returns the part of an aligned block of leaves that is to be looked at
// next, which begins at the cursor.
func (c *scanner) bounds(block uint64) (from, to uint64) {
	if c.q.Newest {
		return max(c.q.From, (c.at-1)/block*block), c.at
	}
	return c.at, min(c.q.To, (c.at/block+1)*block)
}

func (c *scanner) pass(from, to uint64, cost int) {
	c.used += cost
	if c.q.Newest {
		c.at = max(from, c.q.From)
	} else {
		c.at = min(to, c.q.To)
	}
}

// step looks at one bundle, or passes over one bundle or segment.
func (c *scanner) step() error {
	from, to := c.bounds(bundleLeaves)
	number := c.s.form.segment(from)
	t, state := c.s.find(number)
	if t != nil {
		c.leave()
		defer t.release()
		first := c.s.form.first(number)
		leaves, from, to, err := c.whole(t, from-first, to-first)
		if err != nil {
			return err
		}
		if leaves[0].Erased { // by a mark that was given before the last start
			c.pass(from, to, scanBundleCost)
			return nil
		}
		c.look(from, to, func(i int) Leaf { return leaves[i] })
		return nil
	}
	switch state {
	case slotErased:
		c.leave()
		c.pass(c.s.form.first(number), c.s.form.first(number+1), scanSegmentCost)
		return nil
	case slotAbsent:
		return ErrMissing
	}
	return c.stepSealed(number, from, to)
}

// whole reads the leaves [from, to) of a tail, or as many as can be read from where the scan
// comes to them first: what is missing or damaged behind them hides none of them. Its
// range is of indices.
func (c *scanner) whole(t *tail, from, to uint64) (leaves []Leaf, first, end uint64, err error) {
	leaves, err = t.leaves(int(from), int(to), new(tailRoom))
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
		leaves, err = t.leaves(int(from), int(to), new(tailRoom))
	}
	return leaves, t.first + from, t.first + to, nil
}

func (c *scanner) stepSealed(number, from, to uint64) error {
	if c.open == nil || c.open.number != number {
		c.leave()
		perhaps, known := c.s.filters.ask(number, c.q.Keys)
		if known && !perhaps {
			from, to := c.bounds(c.s.form.leaves())
			c.pass(from, to, scanFilterCost)
			return nil
		}
		open, err := c.s.openSegment(number)
		if err != nil {
			return err
		}
		c.open = open
		if !known {
			c.s.filters.keep(open)
		}
		if !c.ask(0)(open.mayHave(c.q.Keys)) {
			from, to := c.bounds(c.s.form.leaves())
			c.pass(from, to, scanSegmentCost)
			return nil
		}
	}
	i := int(from-c.open.info.first) / bundleLeaves
	if !c.ask(i)(c.open.bundleMayHave(i, c.q.Keys)) {
		c.pass(from, to, scanBundleCost)
		return nil
	}
	b, err := c.open.bundle(i)
	if errors.Is(err, ErrPruned) { // erased since the scan began
		c.pass(from, to, scanBundleCost)
		return nil
	}
	if err != nil {
		return c.s.noteDamage(err)
	}
	skip := int(from%bundleLeaves) - b.skip
	if skip < 0 { // as above
		c.pass(from, to, scanBundleCost)
		return nil
	}
	c.look(from, to, func(k int) Leaf { return b.leaf(skip + k) })
	return nil
}

// ask notes a damaged filter, so that the segment is replaced, and goes on: a
// damaged filter answers "perhaps".
func (c *scanner) ask(bundle int) func(perhaps, sound bool) bool {
	return func(perhaps, sound bool) bool {
		if !sound {
			_ = c.s.noteDamage(c.open.damage(bundle, "filter checksum"))
		}
		return perhaps
	}
}

// look visits the leaves [from, to), which lie in one bundle.
func (c *scanner) look(from, to uint64, leaf func(i int) Leaf) {
	n := int(to - from)
	for step := range n {
		i := step
		if c.q.Newest {
			i = n - 1 - step
		}
		index := from + uint64(i)
		c.pass(index, index+1, 1)
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

// FindTime returns the first index whose leaf is not known to be before a time
// (nanoseconds, UTC): the first leaf at or after it, or Size if there is none,
// never below Oldest. Leaves that are being caught up count as after it.
func (s *Store) FindTime(time int64) uint64 {
	number, ok := s.findSegment(time)
	if !ok {
		return max(s.size.Load(), s.oldest.Load())
	}
	return max(s.findInSegment(number, time), s.oldest.Load())
}

// findSegment finds the first segment whose last leaf is not before a time; it
// steps back over holes in front of it.
func (s *Store) findSegment(time int64) (uint64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	last := func(n int) int64 { // of the nearest segment at or below n that is known
		for ; n >= 0; n-- {
			if t := s.shelf.tails[uint64(n)]; t != nil {
				if latest := t.latest.Load(); latest != math.MinInt64 {
					return latest
				}
			} else if s.shelf.slots[n].state != slotAbsent {
				return s.shelf.slots[n].timeLast
			}
		}
		return math.MinInt64
	}
	n := sort.Search(len(s.shelf.slots), func(n int) bool { return last(n) >= time })
	found := n < len(s.shelf.slots)
	for n > 0 && s.incomplete(uint64(n-1)) {
		n--
		found = true
	}
	return uint64(n), found
}

// incomplete tells of a segment that has, or may have, leaves still to come.
// The caller holds mu.
func (s *Store) incomplete(number uint64) bool {
	t := s.shelf.tails[number]
	return s.shelf.slots[number].state == slotAbsent || (t != nil && !t.full.Load())
}

func (s *Store) findInSegment(number uint64, time int64) uint64 {
	first := s.form.first(number)
	t, state := s.find(number)
	if t != nil {
		defer t.release()
		for k := len(t.times) - 1; k >= 0; k-- {
			if t.has(k) && t.times[k] < time {
				return first + uint64(k) + 1
			}
		}
		return first
	}
	switch state {
	case slotErased:
		return s.form.first(number + 1)
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
		return s.form.first(number + 1)
	}
	first += uint64(i) * bundleLeaves
	b, err := s.readBundle(first / bundleLeaves)
	if err != nil {
		return first
	}
	return first + uint64(b.skip) + uint64(sort.Search(b.len(), func(k int) bool { return b.times[k] >= time }))
}
