package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"strconv"
	"strings"
)

// A segment file holds one complete subtree of 2^level leaves (2^16 outside of tests) and never
// changes. Little-endian, in this order, without gaps:
//
//	header    64 bytes
//	bundles   each 256 leaves, compressed (bundle.go)
//	table     48 bytes a bundle
//	hashes    32 bytes a leaf: level 0 of the tree
//	nodes     32 bytes a bundle: level 8 of the tree
//	filters   one of each bundle, then one of the whole segment (filter.go)
//	trailer   128 bytes, the truth about all of the above
//
// A hash file is what stays of a segment whose leaves are past their retention: the same form
// with the erased flag, no bundles and no filters. If only a part of the leaves is past
// retention, the segment is cut: the file has version 2 and says how many leaves are gone.
const (
	segmentVersion    = 1
	segmentVersionCut = 2

	segmentHeaderSize  = 64
	segmentTrailerSize = 128
	tableEntrySize     = 48

	flagErased = 1

	segmentSuffix   = ".seg"
	hashSuffix      = ".hsh"
	temporarySuffix = ".tmp"
)

var (
	segmentMagic = []byte("RGAUDSEG")
	trailerMagic = []byte("GESDUAGR")
	errSegment   = errors.New("segment is malformed")
)

// geometry holds the sizes that follow from the height of a segment's subtree.
type geometry struct{ level uint }

func (s geometry) leaves() uint64               { return 1 << s.level }
func (s geometry) bundles() int                 { return 1 << (s.level - bundleLevel) }
func (s geometry) segmentOf(leaf uint64) uint64 { return leaf >> s.level }
func (s geometry) firstLeaf(segment uint64) uint64 {
	return segment << s.level
}
func (s geometry) placeInSegment(leaf uint64) int { return int(leaf & (s.leaves() - 1)) }

// leavesBelow returns how many leaves of a segment lie below an index.
func (s geometry) leavesBelow(number, before uint64) int {
	return int(min(max(before, s.firstLeaf(number))-s.firstLeaf(number), s.leaves()))
}

// segmentInfo is a decoded trailer.
type segmentInfo struct {
	geometry
	erased       bool
	codec        byte
	first        uint64
	timeFirst    int64
	timeLast     int64
	tableAt      int64
	filtersSize  int64 // bytes of the bundles' filters
	filterBlocks uint32
	tableCRC     uint32
	nodesCRC     uint32
	root         Hash
	cut          int // leaves erased at the front; 0 in a hash file
}

// isBundleGone reports whether all leaves of a bundle are erased.
func (i *segmentInfo) isBundleGone(bundle int) bool {
	return i.erased || (bundle+1)*BundleLeaves <= i.cut
}

// erasedInBundle returns how many leaves at a bundle's front are erased.
func (i *segmentInfo) erasedInBundle(bundle int) int {
	return max(0, i.cut-bundle*BundleLeaves)
}

// firstKept returns the position of the first leaf that is not erased.
func (i *segmentInfo) firstKept() int {
	if i.erased {
		return int(i.leaves())
	}
	return i.cut
}

// finalState returns the catalog state of a segment with this file.
func (i *segmentInfo) finalState() slotState {
	if i.erased {
		return slotErased
	}
	return slotSealed
}

func (i *segmentInfo) formatVersion() uint16 {
	if i.cut > 0 {
		return segmentVersionCut
	}
	return segmentVersion
}

func (i *segmentInfo) hashesAt() int64  { return i.tableAt + int64(i.bundles()*tableEntrySize) }
func (i *segmentInfo) nodesAt() int64   { return i.hashesAt() + int64(i.leaves()*hashSize) }
func (i *segmentInfo) filtersAt() int64 { return i.nodesAt() + int64(i.bundles()*hashSize) }
func (i *segmentInfo) filterAt() int64  { return i.filtersAt() + i.filtersSize }
func (i *segmentInfo) trailerAt() int64 { return i.filterAt() + filterSize(i.filterBlocks) }
func (i *segmentInfo) fileSize() int64  { return i.trailerAt() + segmentTrailerSize }

func (i *segmentInfo) appendHeader(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, segmentMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, i.formatVersion())
	dst = append(dst, i.codec, byte(i.level), i.headerFlags(), 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, i.first)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(i.timeFirst))
	dst = append(dst, make([]byte, segmentHeaderSize-4-(len(dst)-start))...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func (i *segmentInfo) headerFlags() byte {
	if i.erased {
		return flagErased
	}
	return 0
}

func (i *segmentInfo) appendTrailer(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, trailerMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, i.formatVersion())
	dst = append(dst, i.codec, byte(i.level), i.headerFlags(), 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, i.first)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(i.timeFirst))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(i.timeLast))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(i.tableAt))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(i.filtersSize))
	dst = binary.LittleEndian.AppendUint32(dst, i.filterBlocks)
	dst = binary.LittleEndian.AppendUint32(dst, i.tableCRC)
	dst = binary.LittleEndian.AppendUint32(dst, i.nodesCRC)
	dst = append(dst, i.root[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(i.cut))
	dst = append(dst, make([]byte, segmentTrailerSize-4-(len(dst)-start))...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// decodeTrailer reads a trailer: the last segmentTrailerSize bytes of a file of the given
// size.
func decodeTrailer(b []byte, fileSize int64) (*segmentInfo, error) {
	if len(b) != segmentTrailerSize || string(b[:8]) != string(trailerMagic) {
		return nil, errSegment
	}
	if crc32.Checksum(b[:segmentTrailerSize-4], castagnoli) != binary.LittleEndian.Uint32(b[segmentTrailerSize-4:]) {
		return nil, fmt.Errorf("trailer checksum: %w", errSegment)
	}
	version := binary.LittleEndian.Uint16(b[8:])
	if version != segmentVersion && version != segmentVersionCut {
		return nil, fmt.Errorf("segment version %d is not known to this program", version)
	}
	level := uint(b[11])
	if level < SegmentLevelMin || level > SegmentLevelMax || b[12] > flagErased || b[10] != codecS2InZstd {
		return nil, errSegment
	}
	i := &segmentInfo{
		geometry:     geometry{level},
		codec:        b[10],
		erased:       b[12] == flagErased,
		first:        binary.LittleEndian.Uint64(b[16:]),
		timeFirst:    int64(binary.LittleEndian.Uint64(b[24:])),
		timeLast:     int64(binary.LittleEndian.Uint64(b[32:])),
		tableAt:      int64(binary.LittleEndian.Uint64(b[40:])),
		filtersSize:  int64(binary.LittleEndian.Uint64(b[48:])),
		filterBlocks: binary.LittleEndian.Uint32(b[56:]),
		tableCRC:     binary.LittleEndian.Uint32(b[60:]),
		nodesCRC:     binary.LittleEndian.Uint32(b[64:]),
	}
	copy(i.root[:], b[68:])
	if cut := binary.LittleEndian.Uint32(b[100:]); version == segmentVersionCut {
		if i.erased || cut == 0 || uint64(cut) >= i.leaves() {
			return nil, errSegment
		}
		i.cut = int(cut)
	}
	if i.tableAt < segmentHeaderSize || i.filtersSize < 0 || i.tableAt > fileSize || i.filtersSize > fileSize ||
		fileSize > segmentSizeMax || i.fileSize() != fileSize || i.first&(i.leaves()-1) != 0 {
		return nil, errSegment
	}
	return i, nil
}

// tableEntry says where a bundle is in the file. It also has the bundle's checksums.
type tableEntry struct {
	offset       int64
	packed       uint32 // compressed size in bytes
	raw          uint32 // decompressed size in bytes
	crc          uint32 // of the compressed bytes
	tileCRC      uint32 // of the bundle's leaf hashes
	filterAt     uint32 // offset in the bundles' filters
	filterBlocks uint32
	timeFirst    int64
	timeLast     int64
}

func (e *tableEntry) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.offset))
	for _, v := range [...]uint32{e.packed, e.raw, e.crc, e.tileCRC, e.filterAt, e.filterBlocks} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.timeFirst))
	return binary.LittleEndian.AppendUint64(dst, uint64(e.timeLast))
}

// decodeTable reads the table and compares it with the trailer: bundles and filters must
// follow each other without gaps.
func decodeTable(b []byte, info *segmentInfo) ([]tableEntry, error) {
	if len(b) != info.bundles()*tableEntrySize || crc32.Checksum(b, castagnoli) != info.tableCRC {
		return nil, fmt.Errorf("table checksum: %w", errSegment)
	}
	table := make([]tableEntry, info.bundles())
	at, filterAt := int64(segmentHeaderSize), int64(0)
	for i := range table {
		row := b[i*tableEntrySize:]
		e := tableEntry{
			offset:       int64(binary.LittleEndian.Uint64(row)),
			packed:       binary.LittleEndian.Uint32(row[8:]),
			raw:          binary.LittleEndian.Uint32(row[12:]),
			crc:          binary.LittleEndian.Uint32(row[16:]),
			tileCRC:      binary.LittleEndian.Uint32(row[20:]),
			filterAt:     binary.LittleEndian.Uint32(row[24:]),
			filterBlocks: binary.LittleEndian.Uint32(row[28:]),
			timeFirst:    int64(binary.LittleEndian.Uint64(row[32:])),
			timeLast:     int64(binary.LittleEndian.Uint64(row[40:])),
		}
		if e.raw > bundleRawSizeMax || (e.packed == 0) != info.isBundleGone(i) || e.offset != at || int64(e.filterAt) != filterAt {
			return nil, fmt.Errorf("table row %d: %w", i, errSegment)
		}
		at += int64(e.packed)
		filterAt += filterSize(e.filterBlocks)
		table[i] = e
	}
	if at != info.tableAt || filterAt != info.filtersSize {
		return nil, fmt.Errorf("table sum: %w", errSegment)
	}
	return table, nil
}

// segmentName returns 000/012/345 and a suffix for segment 12345.
func segmentName(number uint64, suffix string) string {
	return fmt.Sprintf("%03d/%03d/%03d%s", number/1_000_000, number/1000%1000, number%1000, suffix)
}

func parseSegmentName(name string) (number uint64, suffix string, ok bool) {
	suffix = path.Ext(name)
	digits := strings.Split(strings.TrimSuffix(name, suffix), "/")
	if len(digits) != 3 {
		return 0, "", false
	}
	for _, d := range digits {
		v, err := strconv.ParseUint(d, 10, 16)
		if err != nil || len(d) != 3 {
			return 0, "", false
		}
		number = number*1000 + v
	}
	return number, suffix, true
}
