package ofac

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A compiled list is a header, a table of sections and the sections, all
// little-endian, sections aligned to 8 bytes:
//
//	"RGLIST" 0 version   8 bytes
//	u64 total length
//	u64 checksum of everything after the first 24 bytes
//	u32 number of sections, u32 zero
//	per section: u32 id, u32 zero, u64 offset, u64 length
//
// The bytes are a pure function of the set of entities, the Meta and the version of
// the matcher; the Meta's section names the digest of the entities and that version.
// They never leave the node that compiled them.
const (
	compiledMagic   = "RGLIST\x00\x07"
	compiledHeader  = 32
	sectionRow      = 24
	checksummedFrom = 24
)

type sectionID uint32

// The sections. All must be present, in this order.
const (
	sectionMeta sectionID = iota + 1
	sectionTextOffsets
	sectionText
	sectionEntities
	sectionReferences
	sectionNames
	sectionParts
	sectionAddresses
	sectionFacts
	sectionWalletHash
	sectionWalletOffsets
	sectionWalletPostings
	sectionExactHash
	sectionExactOffsets
	sectionExactPostings
	sectionWords
	sectionWordLetters
	sectionWordHash
	sectionWordIDs
	sectionNeighbourOffsets
	sectionNeighbours
	sectionDeletionOffsets
	sectionDeletions
	sectionPostingOffsets
	sectionWordPostings
	sectionTokenOffsets
	sectionTokens
	sectionEnd
)

// ErrCompiled is wrapped by every error of Open: the bytes are not a compiled
// list of this version, or were damaged.
var ErrCompiled = errors.New("compiled list")

func malformed(what string) error { return fmt.Errorf("%w: %s", ErrCompiled, what) }

// words32 is an array of little-endian uint32 inside the compiled bytes.
type words32 []byte

func (w words32) at(i uint32) uint32 { return binary.LittleEndian.Uint32(w[uint64(i)*4:]) }
func (w words32) len() uint32        { return uint32(len(w) / 4) }

// below reports whether every value is less than limit.
func (w words32) below(limit uint32) bool {
	for i := range w.len() {
		if w.at(i) >= limit {
			return false
		}
	}
	return true
}

// offsets reports whether the array starts at 0, never falls, and ends at end:
// the shape of the offsets of n = len-1 runs.
func (w words32) offsets(n, end uint32) bool {
	if len(w)%4 != 0 || w.len() != n+1 || w.at(0) != 0 || w.at(n) != end {
		return false
	}
	for i := range n {
		if w.at(i) > w.at(i+1) {
			return false
		}
	}
	return true
}

func appendWords32(dst []byte, values []uint32) []byte {
	for _, value := range values {
		dst = binary.LittleEndian.AppendUint32(dst, value)
	}
	return dst
}

// assemble joins the sections to a compiled list.
func assemble(sections [sectionEnd][]byte) ([]byte, error) {
	count := int(sectionEnd) - 1
	total := align(compiledHeader+count*sectionRow, 8)
	for id := sectionMeta; id < sectionEnd; id++ {
		total = align(total+len(sections[id]), 8)
	}
	if total > compiledBytesMax {
		return nil, fmt.Errorf("compiled list of %d bytes, at most %d", total, compiledBytesMax)
	}
	data := make([]byte, align(compiledHeader+count*sectionRow, 8), total)
	copy(data, compiledMagic)
	binary.LittleEndian.PutUint64(data[8:], uint64(total))
	binary.LittleEndian.PutUint32(data[24:], uint32(count))
	for id := sectionMeta; id < sectionEnd; id++ {
		row := data[compiledHeader+(int(id)-1)*sectionRow:]
		binary.LittleEndian.PutUint32(row, uint32(id))
		binary.LittleEndian.PutUint64(row[8:], uint64(len(data)))
		binary.LittleEndian.PutUint64(row[16:], uint64(len(sections[id])))
		data = pad(append(data, sections[id]...), 8)
	}
	binary.LittleEndian.PutUint64(data[16:], hashBytes(data[checksummedFrom:]).print)
	return data, nil
}

// disassemble finds the sections of a compiled list and checks header and checksum.
func disassemble(data []byte) (sections [sectionEnd][]byte, err error) {
	count := int(sectionEnd) - 1
	switch {
	case len(data) > compiledBytesMax:
		return sections, malformed("too long")
	case len(data) < compiledHeader+count*sectionRow:
		return sections, malformed("too short")
	case string(data[:8]) != compiledMagic:
		return sections, malformed("not of this format and version")
	case binary.LittleEndian.Uint64(data[8:]) != uint64(len(data)):
		return sections, malformed("length differs from the header's")
	case binary.LittleEndian.Uint32(data[24:]) != uint32(count):
		return sections, malformed("number of sections")
	case binary.LittleEndian.Uint64(data[16:]) != hashBytes(data[checksummedFrom:]).print:
		return sections, malformed("checksum differs")
	}
	next := uint64(align(compiledHeader+count*sectionRow, 8))
	for id := sectionMeta; id < sectionEnd; id++ {
		row := data[compiledHeader+(int(id)-1)*sectionRow:]
		offset, length := binary.LittleEndian.Uint64(row[8:]), binary.LittleEndian.Uint64(row[16:])
		if binary.LittleEndian.Uint32(row) != uint32(id) || offset != next || length > uint64(len(data)) || offset+length > uint64(len(data)) {
			return sections, malformed("section table")
		}
		sections[id] = data[offset : offset+length : offset+length]
		next = uint64(align(int(offset+length), 8))
	}
	if next != uint64(len(data)) {
		return sections, malformed("bytes after the last section")
	}
	return sections, nil
}
