package audit

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"railguard/audit/merkle"
)

// segmentWriter lays a segment file down in one pass.
type segmentWriter struct {
	file   File
	at     int64
	buffer []byte
	err    error
}

const segmentBuffer = 1 << 20

func (w *segmentWriter) write(b []byte) {
	w.buffer = append(w.buffer, b...)
	if len(w.buffer) >= segmentBuffer/2 {
		w.flush()
	}
}

func (w *segmentWriter) flush() {
	if w.err == nil && len(w.buffer) > 0 {
		_, w.err = w.file.WriteAt(w.buffer, w.at)
	}
	w.at += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
}

func (w *segmentWriter) position() int64 { return w.at + int64(len(w.buffer)) }

// segmentParts is what stands behind the bundles.
type segmentParts struct {
	info    segmentInfo
	table   []tableEntry
	hashes  []Hash
	nodes   []Hash
	filters []byte   // of the bundles
	keys    []uint64 // of the segment, with doubles
}

// writeSegment writes a whole segment from its bundles, in order. The caller
// syncs the file and renames it into place. The file depends on the leaves alone
// (and on the compressor's version).
func writeSegment(f File, form shape, number uint64, source func(i int) (*bundle, error)) (*segmentParts, error) {
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	p := &segmentParts{
		info:   segmentInfo{shape: form, codec: codecZstd, first: form.first(number)},
		hashes: make([]Hash, 0, form.leaves()),
	}
	w := &segmentWriter{file: f, buffer: make([]byte, 0, segmentBuffer)}
	hash := new(merkle.Hasher)
	var packed []byte
	for i := range form.bundles() {
		b, err := source(i)
		if err != nil {
			return nil, err
		}
		if b.len() != bundleLeaves {
			return nil, fmt.Errorf("segment %d: bundle %d has %d leaves: %w", number, i, b.len(), errBundle)
		}
		if i == 0 {
			p.info.timeFirst = b.times[0]
			w.write(p.info.appendHeader(nil))
		}
		packed = compress(packed[:0], b.raw)
		p.addBundle(b, hash, packed, w.position())
		w.write(packed)
	}
	p.info.tableAt = w.position()
	p.finish(w)
	return p, w.err
}

func (p *segmentParts) addBundle(b *bundle, hash *merkle.Hasher, packed []byte, offset int64) {
	from := len(p.hashes)
	p.hashes = append(p.hashes, make([]Hash, bundleLeaves)...)
	tile := p.hashes[from:]
	for i := range tile {
		tile[i] = hash.Leaf(b.data(i))
	}
	p.nodes = append(p.nodes, subtreeRoot(tile))
	e := tableEntry{
		offset:    offset,
		packed:    uint32(len(packed)),
		raw:       uint32(len(b.raw)),
		crc:       crc32.Checksum(packed, castagnoli),
		tileCRC:   crc32.Checksum(appendHashes(make([]byte, 0, bundleLeaves*hashSize), tile), castagnoli),
		filterAt:  uint32(len(p.filters)),
		timeFirst: b.times[0],
		timeLast:  b.times[bundleLeaves-1],
	}
	p.info.timeLast = e.timeLast
	keys := distinct(b.keys)
	p.keys = append(p.keys, keys...)
	p.filters, e.filterBlocks = appendFilter(p.filters, keys)
	p.table = append(p.table, e)
}

func distinct(keys []uint64) []uint64 {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// finish writes everything behind the bundles.
func (p *segmentParts) finish(w *segmentWriter) {
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
	filter, p.info.filterBlocks = appendFilter(nil, p.keys)
	p.keys = nil

	w.write(table)
	for i := 0; i < len(p.hashes); i += bundleLeaves {
		w.write(appendHashes(nil, p.hashes[i:i+bundleLeaves]))
	}
	w.write(nodes)
	w.write(p.filters)
	w.write(filter)
	w.write(p.info.appendTrailer(nil))
	w.flush()
}

// writeErased writes the hash file of a segment: its leaves gone, its part of
// the tree kept. tile gives the leaf hashes of a bundle.
func writeErased(f File, old *openSegment, tile func(i int) ([]Hash, error)) (*segmentParts, error) {
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	p := &segmentParts{info: segmentInfo{
		shape: old.info.shape, codec: old.info.codec, erased: true, first: old.info.first,
		timeFirst: old.info.timeFirst, timeLast: old.info.timeLast,
	}}
	w := &segmentWriter{file: f}
	w.write(p.info.appendHeader(nil))
	p.info.tableAt = segmentHeaderSize
	for i, e := range old.table {
		hashes, err := tile(i)
		if err != nil {
			return nil, err
		}
		p.hashes = append(p.hashes, hashes...)
		p.table = append(p.table, tableEntry{
			offset: segmentHeaderSize, timeFirst: e.timeFirst, timeLast: e.timeLast,
			tileCRC: crc32.Checksum(appendHashes(nil, hashes), castagnoli),
		})
	}
	p.nodes = old.nodes
	p.finish(w)
	return p, w.err
}

// indexRecord is a line of the index file: a cache of the trailers, so that
// opening a store does not open every segment.
//
//	0 magic "RGix"   4 crc32c u32 of bytes 8 to 64   8 segment u64
//	16 time first i64   24 time last i64   32 root
type indexRecord struct {
	number    uint64
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
	dst = binary.LittleEndian.AppendUint64(dst, r.number)
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
	r.number = binary.LittleEndian.Uint64(b[8:])
	r.timeFirst = int64(binary.LittleEndian.Uint64(b[16:]))
	r.timeLast = int64(binary.LittleEndian.Uint64(b[24:]))
	copy(r.root[:], b[32:])
	return r, r.number < segmentsMax
}
