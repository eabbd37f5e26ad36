package audit

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// A filter answers "certainly not here" for a key. It is a split-block Bloom
// filter: a key sets one bit in each of the eight 32-bit words of one 32-byte
// block, so asking costs one page of disk whatever the filter's size.
//
// On disk: pages of up to 127 blocks; a page is crc32c u32 of its blocks, then
// the blocks. A page that fails its checksum answers "perhaps": damage may cost
// time, never hide a record.
const (
	filterBlockSize  = 32
	filterPageBlocks = 127
	filterPageSize   = 4 + filterPageBlocks*filterBlockSize
	filterKeyBits    = 12 // bits a key: about 1 in 200 absent keys passes
)

var filterSalts = [8]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

// mixKey spreads a key's bits, because the caller's keys may be poor hashes.
func mixKey(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

func filterBlock(mixed uint64, blocks uint32) uint32 {
	return uint32((mixed >> 32) * uint64(blocks) >> 32)
}

func filterBlocks(keys int) uint32 {
	return uint32((keys*filterKeyBits + filterBlockSize*8 - 1) / (filterBlockSize * 8))
}

func filterSize(blocks uint32) int64 {
	pages := (int64(blocks) + filterPageBlocks - 1) / filterPageBlocks
	return pages*4 + int64(blocks)*filterBlockSize
}

// appendFilter appends the filter of a set of keys; no keys give no block. The bytes depend on
// the set alone. It sorts and compacts keys in place, so the caller must not use the slice
// again.
func appendFilter(dst []byte, keys []uint64) ([]byte, uint32) {
	slices.Sort(keys)
	return appendFilterOf(dst, slices.Compact(keys), &pacer{})
}

// filterKeysStep is how many keys of a filter are handled between two rests; they take about a
// millisecond.
const filterKeysStep = 1 << 15

// appendFilterOf is appendFilter for keys that are sorted and distinct. It rests between
// steps.
func appendFilterOf(dst []byte, keys []uint64, pace *pacer) ([]byte, uint32) {
	blocks := filterBlocks(len(keys))
	words := make([]uint32, 8*int(blocks))
	for some := range slices.Chunk(keys, filterKeysStep) {
		pace.beginStep()
		for _, k := range some {
			m := mixKey(k)
			block := words[8*filterBlock(m, blocks):][:8]
			for i, salt := range filterSalts {
				block[i] |= 1 << (uint32(m) * salt >> 27)
			}
		}
		pace.endStep()
	}
	for len(words) > 0 {
		page := words[:min(len(words), 8*filterPageBlocks)]
		words = words[len(page):]
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		for _, w := range page {
			dst = binary.LittleEndian.AppendUint32(dst, w)
		}
		binary.LittleEndian.PutUint32(dst[at:], crc32.Checksum(dst[at+4:], castagnoli))
	}
	return dst, blocks
}

// unionOf merges runs of keys, each sorted and distinct, in pairs, and rests between steps.
// Sorting all keys of a segment at once would occupy a processor for tens of milliseconds, on
// every node at the same moment. The caller must not use runs again.
func unionOf(runs [][]uint64, pace *pacer) []uint64 {
	total := 0
	for _, run := range runs {
		total += len(run)
	}
	var buffers [2][]uint64 // Each round reads the runs from one buffer and writes the merged runs to the other.
	for round := 0; len(runs) > 1; round++ {
		buffer := buffers[round%2][:0]
		if buffer == nil {
			buffer = make([]uint64, 0, total)
		}
		left := runs[:0]
		for i := 0; i < len(runs); i += 2 {
			var other []uint64
			if i+1 < len(runs) {
				other = runs[i+1]
			}
			begin := len(buffer)
			buffer = appendUnion(buffer, runs[i], other, pace)
			left = append(left, buffer[begin:])
		}
		buffers[round%2], runs = buffer, left
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

// appendUnion appends the union of a and b, which are sorted and distinct. It rests after each
// filterKeysStep keys.
func appendUnion(out, a, b []uint64, pace *pacer) []uint64 {
	for len(a) > 0 || len(b) > 0 {
		pace.beginStep()
		for range filterKeysStep {
			switch {
			case len(a) == 0 && len(b) == 0:
				pace.endStep()
				return out
			case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
				out, a = append(out, a[0]), a[1:]
			case len(a) == 0 || b[0] < a[0]:
				out, b = append(out, b[0]), b[1:]
			default:
				out, a, b = append(out, a[0]), a[1:], b[1:]
			}
		}
		pace.endStep()
	}
	return out
}

// appendOpenFilter writes a filter that passes every key.
func appendOpenFilter(dst []byte) ([]byte, uint32) {
	page := bytes.Repeat([]byte{0xff}, filterBlockSize)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(page, castagnoli))
	return append(dst, page...), 1
}

// filterPageOf returns which bytes of a filter hold the block of a key.
func filterPageOf(key uint64, blocks uint32) (offset int64, size int) {
	page := int64(filterBlock(mixKey(key), blocks) / filterPageBlocks)
	inPage := min(filterPageBlocks, int(int64(blocks)-page*filterPageBlocks))
	return page * filterPageSize, 4 + inPage*filterBlockSize
}

// filterHas looks a key up in its page of a filter. sound is false if the page is damaged.
func filterHas(page []byte, key uint64, blocks uint32) (perhaps, sound bool) {
	if crc32.Checksum(page[4:], castagnoli) != binary.LittleEndian.Uint32(page) {
		return true, false
	}
	m := mixKey(key)
	block := page[4+filterBlockSize*int(filterBlock(m, blocks)%filterPageBlocks):]
	for i, salt := range filterSalts {
		if binary.LittleEndian.Uint32(block[4*i:])&(1<<(uint32(m)*salt>>27)) == 0 {
			return false, true
		}
	}
	return true, true
}
