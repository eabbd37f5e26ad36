package audit

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"railguard/audit/merkle"
)

// segmentWriter writes a segment file in one pass.
type segmentWriter struct {
	file   File
	at     int64
	synced int64 // Bytes below it were synced by syncStep.
	buffer []byte
	err    error
}

const segmentBuffer = 1 << 20

func (w *segmentWriter) write(b []byte) {
	w.buffer = append(w.buffer, b...)
	if len(w.buffer) >= segmentBuffer/2 {
		w.flushBuffer()
	}
}

func (w *segmentWriter) flushBuffer() {
	if w.err == nil && len(w.buffer) > 0 {
		_, w.err = w.file.WriteAt(w.buffer, w.at)
	}
	w.at += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
}

// syncStep syncs the bytes written since the last call, if the pacer has a sync function.
// Syncing a segment of many megabytes at once would delay the log's syncs on the same disk.
func (w *segmentWriter) syncStep(pace *pacer) {
	if w.err == nil && w.at > w.synced && pace.sync != nil {
		w.err = pace.sync(w.file)
		w.synced = w.at
	}
}

func (w *segmentWriter) position() int64 { return w.at + int64(len(w.buffer)) }

// segmentFooter is the part of a segment file that follows the bundles.
type segmentFooter struct {
	info    segmentInfo
	table   []tableEntry
	hashes  []Hash
	nodes   []Hash
	filters []byte     // filters of the bundles
	keys    [][]uint64 // keys of the bundles, each sorted and distinct
	unsure  bool       // Some bundle's keys cannot be read, so the segment's filter passes every key.
}

// bundleInput is the content of one bundle of a segment file.
type bundleInput struct {
	erased []Hash  // hashes of the erased leaves at its front
	bundle *bundle // the other leaves; nil if none is left
	hashes []Hash  // hashes of all leaves, if they are known; if nil, they are computed
	// Times of the first and the last leaf that are known.
	timeFirst, timeLast int64
}

// newBundleInput encodes leaves as one bundle. It appends to raw, which must be empty, to
// reuse its memory.
func newBundleInput(leaves []Leaf, raw []byte) (*bundleInput, error) {
	p := &bundleInput{timeFirst: leaves[0].Time, timeLast: leaves[len(leaves)-1].Time}
	gone := erasedAtFront(leaves)
	for i := range leaves[:gone] {
		p.erased = append(p.erased, leaves[i].Hash)
	}
	if gone == len(leaves) {
		return p, nil
	}
	raw, err := appendBundle(raw, leaves[gone:])
	if err != nil {
		return nil, err
	}
	p.bundle, err = decodeBundle(raw, len(leaves)-gone)
	return p, err
}

func (p *bundleInput) leafCount() int {
	if p.bundle == nil {
		return len(p.erased)
	}
	return len(p.erased) + p.bundle.leafCount()
}

// writeSegment writes a whole segment from its bundles, in order. Its first cut leaves are
// erased. The caller syncs the file and renames it to its final name. The bytes depend only on
// the leaves (and on the compressor's version).
func writeSegment(f File, form geometry, number uint64, cut int, source func(i int) (*bundleInput, error), pace *pacer) (*segmentFooter, error) {
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	p := &segmentFooter{
		info:   segmentInfo{geometry: form, codec: codecS2InZstd, first: form.firstLeaf(number)},
		hashes: make([]Hash, 0, form.leaves()),
	}
	if p.info.cut = cut; cut == int(form.leaves()) {
		p.info.cut, p.info.erased = 0, true
	}
	w := &segmentWriter{file: f, buffer: make([]byte, 0, segmentBuffer)}
	hash := new(merkle.Hasher)
	var packed []byte
	for i := range form.bundles() {
		pace.beginStep()
		b, err := source(i)
		if err != nil {
			return nil, err
		}
		if b.leafCount() != BundleLeaves || len(b.erased) != min(p.info.erasedInBundle(i), BundleLeaves) && !p.info.isBundleGone(i) || (b.bundle == nil) != p.info.isBundleGone(i) {
			return nil, fmt.Errorf("segment %d: bundle %d has %d leaves, %d of them erased: %w", number, i, b.leafCount(), len(b.erased), errBundle)
		}
		if i == 0 {
			p.info.timeFirst = b.timeFirst
			w.write(p.info.appendHeader(nil))
		}
		packed = packed[:0]
		if b.bundle != nil {
			packed = compressBundle(packed, b.bundle.raw)
		}
		p.addBundle(b, hash, packed, w.position())
		w.write(packed)
		w.syncStep(pace)
		pace.endStep()
	}
	p.info.tableAt = w.position()
	p.writeFooter(w, pace)
	return p, w.err
}

func (p *segmentFooter) addBundle(b *bundleInput, hash *merkle.Hasher, packed []byte, offset int64) {
	switch {
	case b.hashes != nil:
		p.hashes = append(p.hashes, b.hashes...)
	case b.bundle == nil:
		p.hashes = append(p.hashes, b.erased...)
	default:
		p.hashes = append(p.hashes, b.erased...)
		for i := range b.bundle.leafCount() {
			p.hashes = append(p.hashes, hash.Leaf(b.bundle.leafData(i)))
		}
	}
	tile := p.hashes[len(p.hashes)-BundleLeaves:]
	p.nodes = append(p.nodes, subtreeRoot(tile))
	e := tableEntry{
		offset:    offset,
		tileCRC:   crc32.Checksum(appendHashes(make([]byte, 0, BundleLeaves*hashSize), tile), castagnoli),
		filterAt:  uint32(len(p.filters)),
		timeFirst: b.timeFirst,
		timeLast:  b.timeLast,
	}
	p.info.timeLast = e.timeLast
	if b.bundle != nil {
		p.fillRow(&e, b.bundle, packed)
	}
	p.table = append(p.table, e)
}

// fillRow fills in the table row of a bundle that has leaves.
func (p *segmentFooter) fillRow(e *tableEntry, b *bundle, packed []byte) {
	e.packed, e.raw, e.crc = uint32(len(packed)), uint32(len(b.raw)), crc32.Checksum(packed, castagnoli)
	e.timeFirst = b.times[0]
	keys := sortDistinct(b.keys)
	p.keys = append(p.keys, keys)
	p.filters, e.filterBlocks = appendFilterOf(p.filters, keys, &pacer{})
}

// sortDistinct returns the keys sorted and without duplicates. It first distributes the keys
// by their first byte, which brings nearly every key to its place, because keys are hashes.
func sortDistinct(keys []uint64) []uint64 {
	var ends [1 << 8]int
	for _, k := range keys {
		ends[k>>56]++
	}
	at := 0
	for i, count := range ends {
		ends[i] = at
		at += count
	}
	sorted := make([]uint64, len(keys))
	for _, k := range keys {
		sorted[ends[k>>56]] = k
		ends[k>>56]++
	}
	from := 0
	for _, end := range ends {
		slices.Sort(sorted[from:end])
		from = end
	}
	return slices.Compact(sorted)
}

// writeFooter writes everything that follows the bundles.
func (p *segmentFooter) writeFooter(w *segmentWriter, pace *pacer) {
	table := make([]byte, 0, len(p.table)*tableEntrySize)
	for i := range p.table {
		table = p.table[i].appendTo(table)
	}
	nodes := appendHashes(nil, p.nodes)
	p.info.tableCRC = crc32.Checksum(table, castagnoli)
	p.info.nodesCRC = crc32.Checksum(nodes, castagnoli)
	p.info.root = subtreeRoot(p.nodes)
	p.info.filtersSize = int64(len(p.filters))
	var filter []byte
	if p.unsure {
		filter, p.info.filterBlocks = appendOpenFilter(nil)
	} else {
		filter, p.info.filterBlocks = appendFilterOf(nil, unionOf(p.keys, pace), pace)
	}
	p.keys = nil

	w.write(table)
	for i := 0; i < len(p.hashes); i += BundleLeaves {
		pace.beginStep()
		w.write(appendHashes(nil, p.hashes[i:i+BundleLeaves]))
		w.syncStep(pace)
		pace.endStep()
	}
	w.write(nodes)
	w.write(p.filters)
	w.write(filter)
	w.write(p.info.appendTrailer(nil))
	w.flushBuffer()
}

// indexRecord is a record of the index file: a cache of the trailers, so that
// opening a store does not open every segment.
//
//	0 magic "RGix"   4 crc32c u32 of bytes 8 to 64   8 segment u32   12 cut u32
//	16 time first i64   24 time last i64   32 root
type indexRecord struct {
	number    uint64
	cut       int
	timeFirst int64
	timeLast  int64
	root      Hash
}

const indexRecordSize = 64

var indexMagic = []byte("RGix")

func (r *indexRecord) appendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, indexMagic...)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.number))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.cut))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.timeFirst))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.timeLast))
	dst = append(dst, r.root[:]...)
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(dst[start+8:], castagnoli))
	return dst
}

func decodeIndexRecord(b []byte) (r indexRecord, ok bool) {
	if len(b) < indexRecordSize || string(b[:4]) != string(indexMagic) ||
		crc32.Checksum(b[8:indexRecordSize], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return r, false
	}
	r.number = uint64(binary.LittleEndian.Uint32(b[8:]))
	r.cut = int(binary.LittleEndian.Uint32(b[12:]))
	r.timeFirst = int64(binary.LittleEndian.Uint64(b[16:]))
	r.timeLast = int64(binary.LittleEndian.Uint64(b[24:]))
	copy(r.root[:], b[32:])
	return r, r.number < segmentsMax
}
