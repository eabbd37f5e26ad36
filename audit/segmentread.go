package audit

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sync"
)

// openSegment is a sealed segment (or hash file) open for reading. It is
// immutable; many readers share it.
type openSegment struct {
	file   File
	name   string
	number uint64
	info   *segmentInfo
	table  []tableEntry
	nodes  []Hash

	// guarded by the cache's lock
	references int
	dropped    bool
	used       uint64
}

// loadSegment opens a file. It checks everything but bundles, hashes and filters, which are
// checked when they are read.
func loadSegment(d Dir, name string, form geometry, number uint64) (*openSegment, error) {
	f, err := d.Open(name)
	if errors.Is(err, fs.ErrNotExist) { // A file that disappeared is damage too.
		return nil, &DamageError{File: name, First: form.firstLeaf(number), Last: form.firstLeaf(number+1) - 1, What: "no such file"}
	}
	if err != nil {
		return nil, err
	}
	s, err := readSegment(f, name, form, number)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func readSegment(f File, name string, form geometry, number uint64) (*openSegment, error) {
	s := &openSegment{file: f, name: name, number: number}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	damaged := func(err error) error {
		return &DamageError{File: name, First: form.firstLeaf(number), Last: form.firstLeaf(number+1) - 1, What: err.Error()}
	}
	if size < segmentHeaderSize+segmentTrailerSize {
		return nil, damaged(errSegment)
	}
	trailer := make([]byte, segmentTrailerSize)
	if err := readFull(f, trailer, size-segmentTrailerSize); err != nil {
		return nil, damaged(err) // An unreadable sector is damage too.
	}
	if s.info, err = decodeTrailer(trailer, size); err != nil {
		return nil, damaged(err)
	}
	if s.info.geometry != form || s.info.first != form.firstLeaf(number) {
		return nil, damaged(errors.New("file belongs to another place"))
	}
	table := make([]byte, s.info.bundles()*tableEntrySize)
	if err := readFull(f, table, s.info.tableAt); err != nil {
		return nil, damaged(err) // An unreadable sector is damage too.
	}
	if s.table, err = decodeTable(table, s.info); err != nil {
		return nil, damaged(err)
	}
	nodes := make([]byte, s.info.bundles()*hashSize)
	if err := readFull(f, nodes, s.info.nodesAt()); err != nil {
		return nil, damaged(err) // An unreadable sector is damage too.
	}
	if crc32.Checksum(nodes, castagnoli) != s.info.nodesCRC {
		return nil, damaged(errors.New("node checksum"))
	}
	s.nodes = hashesOf(nodes)
	return s, nil
}

func (s *openSegment) newDamage(bundle int, what string) *DamageError {
	first := s.info.first + uint64(bundle)*BundleLeaves
	return &DamageError{File: s.name, First: first, Last: first + BundleLeaves - 1, What: what, At: s.table[bundle].offset}
}

// readPacked reads a bundle's compressed bytes and checks them.
func (s *openSegment) readPacked(i int) ([]byte, error) {
	e := &s.table[i]
	b := make([]byte, e.packed)
	if err := readFull(s.file, b, e.offset); err != nil {
		return nil, s.newDamage(i, err.Error()) // an unreadable sector is damage too
	}
	if crc32.Checksum(b, castagnoli) != e.crc {
		return b, s.newDamage(i, "bundle checksum")
	}
	return b, nil
}

func (s *openSegment) readBundle(i int) (*bundle, error) {
	if s.info.isBundleGone(i) {
		return nil, ErrPruned
	}
	packed, err := s.readPacked(i)
	if err != nil {
		return nil, err
	}
	b, err := s.unpackBundle(i, packed)
	if err != nil {
		return nil, s.newDamage(i, err.Error())
	}
	return b, nil
}

// unpackBundle decodes the compressed bytes of a bundle that has leaves.
func (s *openSegment) unpackBundle(i int, packed []byte) (*bundle, error) {
	raw, err := decompressBundle(packed, int(s.table[i].raw))
	if err != nil {
		return nil, err
	}
	skip := s.info.erasedInBundle(i)
	b, err := decodeBundle(raw, BundleLeaves-skip)
	if err != nil {
		return nil, err
	}
	b.erasedBefore = skip
	return b, nil
}

// readTile reads a bundle's leaf hashes: 256 × 32 bytes, a full level-0 tile.
func (s *openSegment) readTile(i int) ([]byte, error) {
	b := make([]byte, BundleLeaves*hashSize)
	if err := readFull(s.file, b, s.info.hashesAt()+int64(i)*int64(len(b))); err != nil {
		return nil, s.newDamage(i, err.Error())
	}
	if crc32.Checksum(b, castagnoli) != s.table[i].tileCRC {
		return nil, s.newDamage(i, "hash checksum")
	}
	return b, nil
}

// mayHave looks all keys up in the segment's filter. A damaged filter answers "perhaps".
func (s *openSegment) mayHave(keys []uint64) (perhaps, sound bool) {
	return s.askFilter(s.info.filterAt(), s.info.filterBlocks, keys)
}

// bundleMayHave looks all keys up in one bundle's filter.
func (s *openSegment) bundleMayHave(i int, keys []uint64) (perhaps, sound bool) {
	e := &s.table[i]
	return s.askFilter(s.info.filtersAt()+int64(e.filterAt), e.filterBlocks, keys)
}

func (s *openSegment) askFilter(at int64, blocks uint32, keys []uint64) (perhaps, sound bool) {
	sound = true
	page := make([]byte, filterPageSize)
	for _, k := range keys {
		if blocks == 0 {
			return false, true
		}
		offset, size := filterPageOf(k, blocks)
		if err := readFull(s.file, page[:size], at+offset); err != nil {
			return true, false
		}
		has, whole := filterHas(page[:size], k, blocks)
		if sound = sound && whole; !has {
			return false, sound
		}
	}
	return true, sound
}

// segmentCache keeps recently read segments open, so that a history of any length needs a
// bounded number of file handles. It never closes a segment in use. If several readers want
// one file, the first opens it without holding the lock: a slow disk delays only those
// readers.
type segmentCache struct {
	dir  Dir
	form geometry

	mu      sync.Mutex
	open    map[uint64]*openSegment
	opening map[uint64]*segmentOpening
	clock   uint64
}

// segmentOpening is a segment that is being opened for the cache.
type segmentOpening struct {
	done  chan struct{}
	err   error // Why it could not be opened; valid when done is closed.
	stale bool  // The file was replaced or erased in the meantime. Guarded by the cache's lock.
}

func newSegmentCache(d Dir, form geometry) *segmentCache {
	return &segmentCache{dir: d, form: form, open: make(map[uint64]*openSegment), opening: make(map[uint64]*segmentOpening)}
}

// acquire opens a segment, or its hash file, for use until release.
func (c *segmentCache) acquire(number uint64, erased bool) (*openSegment, error) {
	for {
		c.mu.Lock()
		if s := c.open[number]; s != nil {
			defer c.mu.Unlock()
			c.addReader(s)
			return s, nil
		}
		other := c.opening[number]
		if other == nil {
			break // The loop ends with mu held.
		}
		c.mu.Unlock()
		<-other.done
		if other.err != nil && !other.stale {
			return nil, other.err
		}
	}
	mine := &segmentOpening{done: make(chan struct{})}
	c.opening[number] = mine
	c.mu.Unlock()
	s, err := c.openFile(number, erased)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(mine.done)
	mine.err = err
	if c.opening[number] == mine {
		delete(c.opening, number)
	}
	if err != nil {
		return nil, err
	}
	if s.dropped = mine.stale; !mine.stale {
		c.evictOldest()
		c.open[number] = s
	}
	c.addReader(s)
	return s, nil
}

func (c *segmentCache) openFile(number uint64, erased bool) (*openSegment, error) {
	suffix := segmentSuffix
	if erased {
		suffix = hashSuffix
	}
	s, err := loadSegment(c.dir, segmentName(number, suffix), c.form, number)
	if err != nil {
		return nil, fmt.Errorf("segment %d: %w", number, err)
	}
	return s, nil
}

// addReader notes one more reader. Called with mu held.
func (c *segmentCache) addReader(s *openSegment) {
	c.clock++
	s.used = c.clock
	s.references++
}

func (c *segmentCache) release(s *openSegment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.references--
	c.closeUnused(s)
}

// dropSegment removes a segment whose file was replaced or erased from the cache. Present
// readers finish with the old file.
func (c *segmentCache) dropSegment(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.open[number]; s != nil {
		delete(c.open, number)
		s.dropped = true
		c.closeUnused(s)
	}
	c.markStale(number)
}

// markStale marks a file that is being opened as replaced. Its opener still reads it, but
// later readers open the new file.
func (c *segmentCache) markStale(number uint64) {
	if o := c.opening[number]; o != nil {
		o.stale = true
		delete(c.opening, number)
	}
}

func (c *segmentCache) closeUnused(s *openSegment) {
	if s.dropped && s.references == 0 {
		s.file.Close() // the file is only read, so nothing can be lost
	}
}

func (c *segmentCache) evictOldest() {
	for len(c.open) >= openSegmentsMax {
		var oldest *openSegment
		for _, s := range c.open {
			if oldest == nil || s.used < oldest.used {
				oldest = s
			}
		}
		delete(c.open, oldest.number)
		oldest.dropped = true
		c.closeUnused(oldest)
	}
}

func (c *segmentCache) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, s := range c.open {
		delete(c.open, number)
		s.dropped = true
		c.closeUnused(s)
	}
	for number := range c.opening {
		c.markStale(number)
	}
}

// bundleCache keeps recently decoded bundles, up to a number of bytes.
type bundleCache struct {
	mu    sync.Mutex
	size  int
	clock uint64
	held  map[uint64]*cachedBundle
}

type cachedBundle struct {
	bundle *bundle
	used   uint64
}

func (c *bundleCache) getBundle(number uint64) *bundle {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := c.held[number]
	if held == nil {
		return nil
	}
	c.clock++
	held.used = c.clock
	return held.bundle
}

func (c *bundleCache) putBundle(number uint64, b *bundle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(map[uint64]*cachedBundle)
	}
	if old := c.held[number]; old != nil {
		c.size -= old.bundle.memorySize()
	}
	c.clock++
	c.held[number] = &cachedBundle{b, c.clock}
	c.size += b.memorySize()
	for c.size > bundleCacheMax && len(c.held) > 1 {
		var oldest uint64
		used := uint64(1<<64 - 1)
		for n, held := range c.held {
			if held.used < used {
				oldest, used = n, held.used
			}
		}
		c.size -= c.held[oldest].bundle.memorySize()
		delete(c.held, oldest)
	}
}

// dropRange drops the bundles [first, end).
func (c *bundleCache) dropRange(first, end uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, held := range c.held {
		if n >= first && n < end {
			c.size -= held.bundle.memorySize()
			delete(c.held, n)
		}
	}
}
