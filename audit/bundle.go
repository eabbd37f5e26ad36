package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// bundle is up to 256 neighbouring leaves, decoded, none of them erased. Its
// bytes are
//
//	entries  leaves × (length u16 big-endian, data)     C2SP tlog-tiles, as served
//	times    leaves × zigzag varint, difference to the one before (first: to 0)
//	keys     leaves × (count uvarint, count × u64 little-endian)
//
// It is immutable once made.
type bundle struct {
	erasedBefore int // number of erased leaves before these in the bundle
	raw          []byte
	start        []uint32 // where each leaf's data begins in raw
	entries      int      // bytes of the entries part
	times        []int64
	keyStart     []uint32 // Where each leaf's keys begin in keys; the last item is the end of all keys.
	keys         []uint64
}

var errBundle = errors.New("audit: bundle is malformed")

func (b *bundle) leafCount() int { return len(b.start) }

func (b *bundle) leafData(i int) []byte {
	end := b.entries
	if i+1 < len(b.start) {
		end = int(b.start[i+1]) - 2
	}
	return b.raw[b.start[i]:end:end]
}

func (b *bundle) leafAt(i int) Leaf {
	return Leaf{Time: b.times[i], Keys: b.leafKeys(i), Data: b.leafData(i)}
}

func (b *bundle) leafKeys(i int) []uint64 {
	return b.keys[b.keyStart[i]:b.keyStart[i+1]:b.keyStart[i+1]]
}

func (b *bundle) memorySize() int { return cap(b.raw) + 16*len(b.start) + 8*cap(b.keys) }

// AppendBundle writes 1 to 256 leaves in the form in which nodes exchange them: the number of
// erased leaves at the front as a uvarint, their hashes, and the bundle of the other leaves,
// if any.
func AppendBundle(dst []byte, leaves []Leaf) ([]byte, error) {
	if len(leaves) == 0 || len(leaves) > BundleLeaves {
		return dst, fmt.Errorf("bundle of %d leaves: %w", len(leaves), ErrLimit)
	}
	gone := erasedAtFront(leaves)
	dst = binary.AppendUvarint(dst, uint64(gone))
	for i := range leaves[:gone] {
		dst = append(dst, leaves[i].Hash[:]...)
	}
	if gone == len(leaves) {
		return dst, nil
	}
	return appendBundle(dst, leaves[gone:])
}

func erasedAtFront(leaves []Leaf) int {
	for i := range leaves {
		if !leaves[i].Erased {
			return i
		}
	}
	return len(leaves)
}

// appendBundle writes leaves, none of which is erased, as a bundle.
func appendBundle(dst []byte, leaves []Leaf) ([]byte, error) {
	size := 0
	for i := range leaves {
		size += len(leaves[i].Data) + 8*len(leaves[i].Keys) + 13
	}
	dst = slices.Grow(dst, size)
	for i := range leaves {
		if err := leaves[i].checkLimits(); err != nil {
			return dst, err
		}
		if leaves[i].Erased {
			return dst, fmt.Errorf("an erased leaf behind one that is not: %w", errBundle)
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(leaves[i].Data)))
		dst = append(dst, leaves[i].Data...)
	}
	last := int64(0)
	for i := range leaves {
		dst = binary.AppendVarint(dst, leaves[i].Time-last)
		last = leaves[i].Time
	}
	for i := range leaves {
		dst = binary.AppendUvarint(dst, uint64(len(leaves[i].Keys)))
		for _, k := range leaves[i].Keys {
			dst = binary.LittleEndian.AppendUint64(dst, k)
		}
	}
	return dst, nil
}

// ParseBundle reads what AppendBundle wrote: exactly count leaves and not a byte
// more. The leaves refer to raw.
func ParseBundle(raw []byte, count int) ([]Leaf, error) {
	if count < 1 || count > BundleLeaves {
		return nil, fmt.Errorf("bundle of %d leaves: %w", count, ErrLimit)
	}
	gone, n := binary.Uvarint(raw)
	if n != 1 && n != 2 || gone > uint64(count) || uint64(len(raw)-n) < gone*hashSize {
		return nil, errBundle
	}
	raw = raw[n:]
	leaves := make([]Leaf, count)
	for i := range leaves[:gone] {
		leaves[i] = Leaf{Hash: Hash(raw[:hashSize]), Erased: true}
		if err := leaves[i].checkLimits(); err != nil {
			return nil, err
		}
		raw = raw[hashSize:]
	}
	rest := leaves[gone:]
	if len(rest) == 0 {
		if len(raw) > 0 {
			return nil, errBundle
		}
		return leaves, nil
	}
	b, err := decodeBundle(raw, len(rest))
	if err != nil {
		return nil, err
	}
	for i := range rest {
		rest[i] = b.leafAt(i)
	}
	return leaves, nil
}

func decodeBundle(raw []byte, count int) (*bundle, error) {
	if count < 1 || count > BundleLeaves || len(raw) > bundleRawSizeMax {
		return nil, fmt.Errorf("bundle of %d leaves in %d bytes: %w", count, len(raw), ErrLimit)
	}
	b := &bundle{raw: raw, start: make([]uint32, count), times: make([]int64, count), keyStart: make([]uint32, count+1)}
	at := 0
	for i := range b.start {
		if len(raw)-at < 2 {
			return nil, errBundle
		}
		size := int(binary.BigEndian.Uint16(raw[at:]))
		b.start[i] = uint32(at + 2)
		if at += 2 + size; at > len(raw) {
			return nil, errBundle
		}
	}
	b.entries = at
	last := int64(0)
	for i := range b.times {
		difference, n := binary.Varint(raw[at:])
		if n <= 0 {
			return nil, errBundle
		}
		at += n
		last += difference
		b.times[i] = last
	}
	b.keys = make([]uint64, 0, max(0, len(raw)-at)/8)
	for i := range b.start {
		keys, n := binary.Uvarint(raw[at:])
		if n <= 0 || keys > LeafKeysMax || len(raw)-at-n < 8*int(keys) {
			return nil, errBundle
		}
		at += n
		for range keys {
			b.keys = append(b.keys, binary.LittleEndian.Uint64(raw[at:]))
			at += 8
		}
		b.keyStart[i+1] = uint32(len(b.keys))
	}
	if at != len(raw) {
		return nil, errBundle
	}
	return b, nil
}

// The codec of sealed bundles: an S2 block in one zstd frame. S2 finds repetitions in a
// quarter of the time that zstd's fastest level needs. zstd then codes the rest by frequency,
// mostly ids and hashes as text. Measured on 53,000 records of the bench
// (docs/PERFORMANCE.md): 0.53 of their bytes and 0.9 µs a record, against 0.51 and 2.0 with
// zstd alone, and 0.57 and 0.44 with S2 alone. Encoder and decoder are shared: EncodeAll and
// DecodeAll keep no state between calls and start no goroutines.
const codecS2InZstd = 2

var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true), zstd.WithEncoderConcurrency(2),
			zstd.WithEncoderCRC(false), zstd.WithWindowSize(512<<10), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic("BUG: zstd encoder options: " + err.Error())
		}
		return e
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(uint64(s2.MaxEncodedLen(bundleRawSizeMax))),
			zstd.WithDecoderMaxWindow(32<<20), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic("BUG: zstd decoder options: " + err.Error())
		}
		return d
	})
	blocks = sync.Pool{New: func() any { return new([]byte) }} // Buffers for S2 blocks.
)

// compressBundle appends the compressed form of raw to dst.
func compressBundle(dst, raw []byte) []byte {
	buffer := blocks.Get().(*[]byte)
	defer blocks.Put(buffer)
	*buffer = s2.Encode((*buffer)[:cap(*buffer)], raw)
	return compressor().EncodeAll(*buffer, dst)
}

// decompressBundle refuses packed bytes that do not decompress to exactly size bytes.
func decompressBundle(packed []byte, size int) ([]byte, error) {
	if size > bundleRawSizeMax {
		return nil, fmt.Errorf("bundle of %d bytes: %w", size, ErrLimit)
	}
	buffer := blocks.Get().(*[]byte)
	defer blocks.Put(buffer)
	most := s2.MaxEncodedLen(size)
	block, err := decompressor().DecodeAll(packed, slices.Grow((*buffer)[:0], most)[:0:most])
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	*buffer = block
	if n, err := s2.DecodedLen(block); err != nil || n != size {
		return nil, errBundle
	}
	raw, err := s2.Decode(make([]byte, size), block)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return raw, nil
}
