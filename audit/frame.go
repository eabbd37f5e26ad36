package audit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"railguard/audit/merkle"
)

// Leaf is one event as the store keeps it. Only Data is hashed and proven. Time and Keys are
// kept beside it, so that it can be found.
type Leaf struct {
	// Time is the log time in nanoseconds since 1970, UTC. It never goes back
	// from one leaf to the next.
	Time int64
	// Keys are hashes of the properties by which the leaf can be found (agent, operator, verdict,
	// rule, wallet, name), at most LeafKeysMax.
	Keys []uint64
	// Data is the leaf's bytes, at most LeafSizeMax.
	Data []byte
	// Hash is the leaf's hash, if the caller knows it. If it is zero, the store computes it.
	Hash Hash
	// Erased: the leaf is past its retention, and only Hash is left of it.
	Erased bool
}

// PlacedLeaf is a leaf with its index.
type PlacedLeaf struct {
	Index uint64
	Leaf
}

func (l *Leaf) checkLimits() error {
	if len(l.Data) > LeafSizeMax {
		return fmt.Errorf("leaf of %d bytes: %w", len(l.Data), ErrLimit)
	}
	if len(l.Keys) > LeafKeysMax {
		return fmt.Errorf("leaf with %d keys: %w", len(l.Keys), ErrLimit)
	}
	if l.Erased && (l.Hash == noHash || len(l.Data)+len(l.Keys) > 0) {
		return fmt.Errorf("erased leaf with content: %w", ErrLimit)
	}
	return nil
}

// A frame is one record of a tail file, little-endian:
//
//	 0 magic "RGf1"
//	 4 crc32c u32 of bytes 8 to the end of the frame
//	 8 length u32 of the whole frame
//	12 kind u8: 1 leaf, 2 mark, 3 leaf that was erased
//	13 keys u8
//	14 zero u16
//	16 index u64   leaf: its index           mark: leaves below it are durable
//	24 time i64    leaf: its time            mark: file bytes below it are durable
//	32 keys × u64, then the leaf's bytes; of an erased leaf its hash alone
//
// Each frame names its index, so frames may stand in any order: a repaired or a
// fetched leaf is appended like any other, and the last frame of an index holds.
const (
	frameHeaderSize = 32
	frameSizeMax    = frameHeaderSize + 8*LeafKeysMax + LeafSizeMax

	frameLeaf   = 1
	frameMark   = 2
	frameErased = 3
)

var (
	frameMagic = []byte("RGf1")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

type frame struct {
	kind  byte
	index uint64
	time  int64
	keys  []byte // 8 bytes each
	data  []byte
}

// leafHash returns the hash of the frame's leaf, even of an erased one.
func (f *frame) leafHash(h *merkle.Hasher) Hash {
	if f.kind == frameErased {
		return Hash(f.data)
	}
	return h.Leaf(f.data)
}

// toLeaf returns the frame's leaf. It appends the leaf's keys to keys; the leaf's Keys refer
// to that slice.
func (f *frame) toLeaf(keys *[]uint64) Leaf {
	if f.kind == frameErased {
		return Leaf{Time: f.time, Hash: Hash(f.data), Erased: true}
	}
	l := Leaf{Time: f.time, Data: f.data}
	if count := len(f.keys) / 8; count > 0 {
		all := slices.Grow(*keys, count)
		at := len(all)
		for i := range count {
			all = append(all, binary.LittleEndian.Uint64(f.keys[8*i:]))
		}
		l.Keys, *keys = all[at:len(all):len(all)], all
	}
	return l
}

// appendLeafFrame appends the frame of a leaf, even of an erased one.
func appendLeafFrame(dst []byte, index uint64, l *Leaf) []byte {
	if l.Erased {
		return appendFrame(dst, frameErased, index, &Leaf{Time: l.Time, Data: l.Hash[:]})
	}
	return appendFrame(dst, frameLeaf, index, l)
}

func appendFrame(dst []byte, kind byte, index uint64, l *Leaf) []byte {
	start := len(dst)
	size := frameHeaderSize + 8*len(l.Keys) + len(l.Data)
	dst = append(dst, frameMagic...)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	dst = append(dst, kind, byte(len(l.Keys)), 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, index)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(l.Time))
	for _, k := range l.Keys {
		dst = binary.LittleEndian.AppendUint64(dst, k)
	}
	dst = append(dst, l.Data...)
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(dst[start+8:], castagnoli))
	return dst
}

// frameSize reads a frame's length from its header. It returns zero if the header is invalid.
func frameSize(header []byte) int {
	if len(header) < frameHeaderSize || !bytes.Equal(header[:4], frameMagic) {
		return 0
	}
	size, keys := int(binary.LittleEndian.Uint32(header[8:])), int(header[13])
	kind := header[12]
	if kind < frameLeaf || kind > frameErased || header[14] != 0 || header[15] != 0 || keys > LeafKeysMax {
		return 0
	}
	data := size - frameHeaderSize - 8*keys
	if data < 0 || data > LeafSizeMax || (kind == frameMark && (data != 0 || keys != 0)) ||
		(kind == frameErased && (data != hashSize || keys != 0)) {
		return 0
	}
	return size
}

// decodeFrame reads the frame at the start of b and returns its length. It alone decides
// whether a frame is whole. The result refers to b.
func decodeFrame(b []byte) (frame, int, bool) {
	size := frameSize(b)
	if size == 0 || size > len(b) || crc32.Checksum(b[8:size], castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return frame{}, 0, false
	}
	keysEnd := frameHeaderSize + 8*int(b[13])
	return frame{
		kind:  b[12],
		index: binary.LittleEndian.Uint64(b[16:]),
		time:  int64(binary.LittleEndian.Uint64(b[24:])),
		keys:  b[frameHeaderSize:keysEnd],
		data:  b[keysEnd:size:size],
	}, size, true
}

// frameScanner walks a tail file from its start, in a window of bounded size,
// and finds the next whole frame behind damaged bytes by its magic.
type frameScanner struct {
	file   io.ReaderAt
	size   int64
	window []byte
	start  int64 // file offset of window[0]
}

const scanWindow = 1 << 20 // several times the largest frame

// readWindow returns n bytes of the file from an offset, or fewer at the file's end.
func (s *frameScanner) readWindow(offset int64, n int) ([]byte, error) {
	n = int(min(int64(n), s.size-offset))
	if offset < s.start || offset+int64(n) > s.start+int64(len(s.window)) {
		length := int(min(int64(scanWindow), s.size-offset))
		if cap(s.window) < length {
			s.window = make([]byte, length)
		}
		s.window, s.start = s.window[:length], offset
		if err := readFull(s.file, s.window, offset); err != nil {
			s.window = s.window[:0]
			return nil, err
		}
	}
	from := int(offset - s.start)
	return s.window[from : from+n], nil
}

// nextFrame returns the first whole frame at or after an offset and where it starts;
// a size of 0 means there is none.
func (s *frameScanner) nextFrame(offset int64) (f frame, start int64, size int, err error) {
	for offset+frameHeaderSize <= s.size {
		b, err := s.readWindow(offset, frameSizeMax)
		if err != nil {
			return frame{}, 0, 0, err
		}
		if f, size, ok := decodeFrame(b); ok {
			return f, offset, size, nil
		}
		if i := bytes.Index(b[1:], frameMagic); i >= 0 {
			offset += 1 + int64(i)
		} else {
			offset += int64(max(1, len(b)-len(frameMagic)+1))
		}
	}
	return frame{}, s.size, 0, nil
}

// countLeaves counts the whole leaves from an offset to the file's end.
func (s *frameScanner) countLeaves(offset int64) (leaves int, err error) {
	for {
		f, start, n, err := s.nextFrame(offset)
		if err != nil || n == 0 {
			return leaves, err
		}
		if f.kind != frameMark {
			leaves++
		}
		offset = start + int64(n)
	}
}
