package audit

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"

	"railguard/audit/merkle"
)

// VerifySummary counts what a Verify has read.
type VerifySummary struct {
	Leaves   uint64 // leaves read, decoded and hashed
	Segments int
	Damaged  int // damages reported
	Missing  int // ranges missing on this disk
}

// Verify reads everything in the store. It checks every leaf against its hash, every node up
// to the segment roots, filters, times and checksums. It reports each damage, with the leaf if
// that can be determined, and remembers it for Missing. Reads and appends go on meanwhile; ctx
// stops it between segments.
func (s *Store) Verify(ctx context.Context, report func(*DamageError)) (VerifySummary, error) {
	var sum VerifySummary
	found := func(d *DamageError) {
		sum.Damaged++
		_ = s.noteDamage(d)
		if report != nil {
			report(d)
		}
	}
	size := s.size.Load()
	for number := uint64(0); s.form.firstLeaf(number) < size; number++ {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		if err := s.verifySegment(number, &sum, found, &pacer{}); err != nil {
			return sum, fmt.Errorf("segment %d: %w", number, err)
		}
	}
	sum.Missing = len(s.Missing(1 << 20))
	return sum, nil
}

// VerifySegment is Verify for one segment or its tail. It rests after every 256 leaves,
// because the server answers calls meanwhile. It returns the number of the next segment, 0
// after the last.
func (s *Store) VerifySegment(number uint64, report func(*DamageError)) (next uint64, err error) {
	var sum VerifySummary
	err = s.verifySegment(number, &sum, func(d *DamageError) {
		_ = s.noteDamage(d)
		if report != nil {
			report(d)
		}
	}, &pacer{rest: scrubRest, urgent: s.closed.Load, makeWay: s.makeWay})
	if s.form.firstLeaf(number+1) < s.size.Load() {
		next = number + 1
	}
	return next, err
}

func (s *Store) verifySegment(number uint64, sum *VerifySummary, found func(*DamageError), pace *pacer) error {
	t, state := s.acquireTail(number)
	if t != nil {
		defer t.release()
		s.verifyTail(t, sum, found, pace)
		return nil
	}
	if state == slotAbsent {
		return nil
	}
	s.mu.RLock()
	root := s.catalog.nodeAt(s.form.level, number)
	s.mu.RUnlock()
	open, err := s.openSegment(number)
	if err != nil {
		return reportDamage(err, found)
	}
	defer s.sealed.release(open)
	// The cache holds what was read before; drop it, so that the file is read again.
	again, err := readSegment(open.file, open.name, s.form, number)
	if err != nil {
		return reportDamage(err, found)
	}
	sum.Segments++
	if !again.info.erased {
		sum.Leaves += s.form.leaves() - uint64(again.info.firstKept())
	}
	if root != noHash && root != again.info.root {
		found(&DamageError{open.name, s.form.firstLeaf(number), s.form.firstLeaf(number+1) - 1, "segment's root differs from the tree's", again.info.nodesAt()})
	}
	return checkSegment(again, found, pace)
}

func reportDamage(err error, found func(*DamageError)) error {
	if damage := asDamage(err); damage != nil {
		found(damage)
		return nil
	}
	return err
}

func (s *Store) verifyTail(t *tail, sum *VerifySummary, found func(*DamageError), pace *pacer) {
	hash, buffer := new(merkle.Hasher), new(tailBuffer)
	for from := 0; from < len(t.place); from += BundleLeaves {
		pace.beginStep()
		leaves, err := t.readLeaves(from, from+BundleLeaves, buffer) // One read is enough if the bundle is complete and undamaged.
		for k := range BundleLeaves {
			if err == nil {
				s.verifyTailLeaf(t, from+k, &leaves[k], hash, sum, found)
			} else if t.hasLeaf(from + k) {
				s.verifyTailFrame(t, from+k, hash, sum, found)
			}
		}
		pace.endStep()
	}
}

// verifyTailFrame reads and checks a single leaf.
func (s *Store) verifyTailFrame(t *tail, k int, hash *merkle.Hasher, sum *VerifySummary, found func(*DamageError)) {
	f, err := t.readFrame(k)
	if err != nil {
		if t.hasText(k) {
			sum.Leaves++
		}
		found(asDamage(err))
		return
	}
	leaf := f.toLeaf(new([]uint64))
	s.verifyTailLeaf(t, k, &leaf, hash, sum, found)
}

func (s *Store) verifyTailLeaf(t *tail, k int, leaf *Leaf, hash *merkle.Hasher, sum *VerifySummary, found func(*DamageError)) {
	have := leaf.Hash
	if !leaf.Erased {
		sum.Leaves++
		have = hash.Leaf(leaf.Data)
	}
	if have != t.hashes[k] {
		found(t.newDamage(k, "leaf hash"))
	}
}

// segmentCheck is the state of one pass over a segment file.
type segmentCheck struct {
	*openSegment
	found    func(*DamageError)
	hash     *merkle.Hasher
	keys     [][]uint64 // keys of the bundles, each sorted and distinct
	sound    bool       // every bundle could be read
	lastTime int64
}

// checkSegment reads everything in a segment file and reports damage. An error means that the
// file could not be read at all.
func checkSegment(o *openSegment, found func(*DamageError), pace *pacer) error {
	c := &segmentCheck{openSegment: o, found: found, hash: new(merkle.Hasher), sound: true, lastTime: o.info.timeFirst}
	header := make([]byte, segmentHeaderSize)
	if err := readFull(o.file, header, 0); err != nil {
		found(&DamageError{o.name, o.info.first, o.info.first, err.Error(), 0})
	} else if !bytes.Equal(header, o.info.appendHeader(nil)) {
		found(&DamageError{o.name, o.info.first, o.info.first, "header", 0})
	}
	for i := range o.table {
		pace.beginStep()
		if err := c.checkBundle(i); err != nil {
			return err
		}
		pace.endStep()
	}
	if subtreeRoot(o.nodes) != o.info.root {
		found(&DamageError{o.name, o.info.first, o.info.first + o.info.leaves() - 1, "nodes do not lead to the segment's root", o.info.nodesAt()})
	}
	if !o.info.erased && c.sound && c.lastTime != o.info.timeLast {
		found(&DamageError{o.name, o.info.first, o.info.first + o.info.leaves() - 1, "time of the last leaf", o.info.trailerAt()})
	}
	c.checkSegmentFilter(pace)
	return nil
}

// checkBundle checks one bundle, its leaf hashes, its node and its filter.
func (c *segmentCheck) checkBundle(i int) error {
	tile := make([]byte, BundleLeaves*hashSize)
	if err := readFull(c.file, tile, c.info.hashesAt()+int64(i)*int64(len(tile))); err != nil {
		c.found(c.newDamage(i, err.Error()))
		return nil
	}
	hashes := hashesOf(tile)
	tileSound := crc32.Checksum(tile, castagnoli) == c.table[i].tileCRC && subtreeRoot(hashes) == c.nodes[i]
	if !tileSound {
		damage := c.newDamage(i, "leaf hashes do not lead to the bundle's node")
		damage.At = c.info.hashesAt() + int64(i)*int64(len(tile))
		c.found(damage)
	}
	if c.info.isBundleGone(i) {
		return nil
	}
	packed, err := c.readPacked(i)
	if packed == nil {
		c.sound = false
		return reportDamage(err, c.found)
	}
	b, unpackErr := c.unpackBundle(i, packed)
	if unpackErr != nil {
		c.sound = false
		c.found(c.newDamage(i, unpackErr.Error()))
		return nil //nolint:nilerr // Told through found.
	}
	if first, last := c.differingLeaves(b, hashes); tileSound && first <= last {
		c.sound = false
		c.found(&DamageError{c.name, c.info.first + uint64(i*BundleLeaves+first), c.info.first + uint64(i*BundleLeaves+last), "leaf hash", c.table[i].offset})
		return nil
	}
	if err != nil { // The leaves are right, so the times, the keys or the padding are damaged.
		c.sound = false
		c.found(c.newDamage(i, "bundle checksum"))
		return nil //nolint:nilerr // Told through found.
	}
	c.checkSideData(i, b)
	return nil
}

// differingLeaves returns the first and the last leaf whose hash differs from hashes.
func (c *segmentCheck) differingLeaves(b *bundle, hashes []Hash) (first, last int) {
	first, last = BundleLeaves, -1
	for k := b.erasedBefore; k < BundleLeaves; k++ {
		if c.hash.Leaf(b.leafData(k-b.erasedBefore)) != hashes[k] {
			first, last = min(first, k), k
		}
	}
	return first, last
}

// checkSideData checks what the tree does not prove: that times never go back and agree with
// the table, and that the filters are those of the keys.
func (c *segmentCheck) checkSideData(i int, b *bundle) {
	e := &c.table[i]
	for k, time := range b.times {
		if time < c.lastTime {
			leaf := c.info.first + uint64(i*BundleLeaves+b.erasedBefore+k)
			c.found(&DamageError{c.name, leaf, leaf, "time went back", e.offset})
		}
		c.lastTime = max(c.lastTime, time)
	}
	if b.times[0] != e.timeFirst || b.times[b.leafCount()-1] != e.timeLast {
		c.found(c.newDamage(i, "times differ from the table's"))
	}
	keys := sortDistinct(b.keys)
	c.keys = append(c.keys, keys)
	want, blocks := appendFilterOf(nil, keys, &pacer{})
	if !c.filterIs(want, blocks, c.info.filtersAt()+int64(e.filterAt), e.filterBlocks) {
		c.found(c.newDamage(i, "filter"))
	}
}

func (c *segmentCheck) checkSegmentFilter(pace *pacer) {
	if c.info.erased || !c.sound {
		return
	}
	want, blocks := appendFilterOf(nil, unionOf(c.keys, pace), pace)
	c.keys = nil
	if !c.filterIs(want, blocks, c.info.filterAt(), c.info.filterBlocks) {
		c.found(&DamageError{c.name, c.info.first, c.info.first + c.info.leaves() - 1, "segment filter", c.info.filterAt()})
	}
}

// filterIs reports whether the file has the wanted filter. It returns false if the filter
// cannot be read.
func (c *segmentCheck) filterIs(want []byte, wantBlocks uint32, at int64, blocks uint32) bool {
	have := make([]byte, len(want))
	return blocks == wantBlocks && readFull(c.file, have, at) == nil && bytes.Equal(have, want)
}
