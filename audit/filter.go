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
	filterKeyBits    = 12 // about 1 in 200 absent keys passes
)

var filterSalts = [8]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

// mixKey spreads a key's bits: the caller's keys may be poor hashes.
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

// appendFilter writes the filter of a set of keys: no block at all for no keys.
// The bytes depend on the set alone. keys is sorted and compacted in place:
// the caller's slice is spent.
func appendFilter(dst []byte, keys []uint64) ([]byte, uint32) {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	blocks := filterBlocks(len(keys))
	words := make([]uint32, 8*int(blocks))
	for _, k := range keys {
		m := mixKey(k)
		block := words[8*filterBlock(m, blocks):][:8]
		for i, salt := range filterSalts {
			block[i] |= 1 << (uint32(m) * salt >> 27)
		}
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

// appendOpenFilter writes a filter that passes every key.
func appendOpenFilter(dst []byte) ([]byte, uint32) {
	page := bytes.Repeat([]byte{0xff}, filterBlockSize)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(page, castagnoli))
	return append(dst, page...), 1
}

// filterPageOf says which bytes of a filter answer for a key.
func filterPageOf(key uint64, blocks uint32) (offset int64, size int) {
	page := int64(filterBlock(mixKey(key), blocks) / filterPageBlocks)
	inPage := min(filterPageBlocks, int(int64(blocks)-page*filterPageBlocks))
	return page * filterPageSize, 4 + inPage*filterBlockSize
}

// filterHas asks one page for a key. sound is false if the page is damaged.
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
