package keyindex

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"

	"railguard/audit"
)

// A file holds the keys of the leaves of one stretch, sorted, and never changes. Little-endian:
//
//	header  128 bytes: magic, first and next leaf, times of the first and the last leaf,
//	        number of rows and of filter blocks, hash of the last leaf, CRC-32C
//	filter  pages of 127 blocks of 32 bytes, each page with a CRC-32C before it
//	rows    pages of 255 rows of 16 bytes (key, leaf), each page with a CRC-32C before it
//
// A key's place in filter and rows follows from its upper bits, because the rows are sorted and
// keys are hashes. So filter and rows are written in one pass, whatever their size.
const (
	headerSize = 128

	blockSize  = 32
	pageBlocks = 127
	blocksPage = 4 + pageBlocks*blockSize
	keyBits    = 12 // Bits of filter for each key: about 1 in 200 absent keys passes.

	rowSize  = 16
	pageRows = 255
	rowsPage = 4 + pageRows*rowSize
)

var (
	magic      = []byte("RGKEYIX1")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errFile    = errors.New("key index: damaged file")
)

// row says that a leaf bears a key.
type row struct{ key, leaf uint64 }

func (r row) compare(other row) int {
	switch {
	case r.key != other.key:
		return sign(r.key < other.key)
	case r.leaf != other.leaf:
		return sign(r.leaf < other.leaf)
	}
	return 0
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// stretch is a stretch of history.
type stretch struct {
	first, next         uint64 // Its leaves: first and the one after the last.
	timeFirst, timeLast int64  // Of its first and last leaf.
	last                audit.Hash
}

func (s *stretch) leaves() uint64 { return s.next - s.first }

// file is an open file of the index. Whoever searches it holds it (acquire), because it may be
// replaced meanwhile.
type file struct {
	stretch
	name    string
	rows    uint64
	blocks  uint32
	source  audit.File
	holders atomic.Int32
}

func (f *file) acquire() { f.holders.Add(1) }

// release closes the file if nobody holds it any more.
func (f *file) release() {
	if f.holders.Add(-1) == 0 {
		_ = f.source.Close() // It was only read.
	}
}

func blocksFor(rows uint64) uint32 {
	return uint32((rows*keyBits + blockSize*8 - 1) / (blockSize * 8))
}

func filterSize(blocks uint32) int64 {
	return (int64(blocks)+pageBlocks-1)/pageBlocks*4 + int64(blocks)*blockSize
}

func (f *file) rowsAt() int64 { return headerSize + filterSize(f.blocks) }

func (f *file) pages() uint64 { return (f.rows + pageRows - 1) / pageRows }

// appendHeader writes the header.
func (f *file) appendHeader(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	for _, v := range [...]uint64{f.first, f.next, uint64(f.timeFirst), uint64(f.timeLast), f.rows, uint64(f.blocks)} {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	dst = append(dst, f.last[:]...)
	dst = append(dst, make([]byte, headerSize-4-(len(dst)-start))...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// openFile reads the header of a file.
func openFile(dir audit.Dir, name string) (*file, error) {
	source, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	f := &file{name: name, source: source}
	f.acquire()
	if err := f.readHeader(); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

func (f *file) readHeader() error {
	size, err := f.source.Size()
	if err != nil {
		return err
	}
	head := make([]byte, headerSize)
	if size < headerSize {
		return fmt.Errorf("%w: %s has %d bytes", errFile, f.name, size)
	}
	if err := readFull(f.source, head, 0); err != nil {
		return err
	}
	if string(head[:8]) != string(magic) || crc32.Checksum(head[:headerSize-4], castagnoli) != binary.LittleEndian.Uint32(head[headerSize-4:]) {
		return fmt.Errorf("%w: header of %s", errFile, f.name)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8+8*i:]) }
	f.first, f.next, f.timeFirst, f.timeLast, f.rows = word(0), word(1), int64(word(2)), int64(word(3)), word(4)
	copy(f.last[:], head[8+8*6:])
	if f.rows > uint64(size)/rowSize { // What follows from it would not fit into a number.
		return fmt.Errorf("%w: rows of %s", errFile, f.name)
	}
	f.blocks = blocksFor(f.rows)
	if f.first >= f.next || word(5) != uint64(f.blocks) || size != f.rowsAt()+int64(f.pages())*4+int64(f.rows)*rowSize {
		return fmt.Errorf("%w: sizes of %s", errFile, f.name)
	}
	return nil
}

// readFull fills b from an offset. It accepts io.EOF together with a full read.
func readFull(f io.ReaderAt, b []byte, offset int64) error {
	n, err := f.ReadAt(b, offset)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// placeOf returns the part of n that belongs to a key: keys are hashes, so sorted keys lie evenly.
func placeOf(key, n uint64) uint64 {
	place, _ := bits.Mul64(key, n)
	return place
}

// filterBits are the bits that a key sets in its block, one in each of eight words.
func filterBits(key uint64) (set [8]uint32) {
	h := key * 0x9e3779b97f4a7c15 // The block follows from the upper bits, so the bits must follow from all.
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	for i := range set {
		set[i] = 1 << (h >> (5 * i) & 31)
	}
	return set
}

// buffer is memory for one page of a file.
type buffer [rowsPage]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// readPage reads a page that begins with its checksum.
func (f *file) readPage(b []byte, offset int64) error {
	if err := readFull(f.source, b, offset); err != nil {
		return err
	}
	if crc32.Checksum(b[4:], castagnoli) != binary.LittleEndian.Uint32(b) {
		return fmt.Errorf("%w: %s at %d", errFile, f.name, offset)
	}
	return nil
}

// mayHave asks the filter for a key.
func (f *file) mayHave(key uint64, p *buffer) (bool, error) {
	if f.rows == 0 {
		return false, nil
	}
	block := placeOf(key, uint64(f.blocks))
	first := block / pageBlocks * pageBlocks
	b := p[:4+blockSize*min(pageBlocks, uint64(f.blocks)-first)]
	if err := f.readPage(b, headerSize+int64(first/pageBlocks)*blocksPage); err != nil {
		return false, err
	}
	b = b[4+blockSize*(block-first):]
	for i, set := range filterBits(key) {
		if binary.LittleEndian.Uint32(b[4*i:])&set == 0 {
			return false, nil
		}
	}
	return true, nil
}

// readRows reads a page of rows.
func (f *file) readRows(number uint64, p *buffer) (rows []byte, err error) {
	b := p[:4+rowSize*min(pageRows, f.rows-number*pageRows)]
	return b[4:], f.readPage(b, f.rowsAt()+int64(number)*rowsPage)
}

func rowAt(rows []byte, i int) row {
	return row{binary.LittleEndian.Uint64(rows[rowSize*i:]), binary.LittleEndian.Uint64(rows[rowSize*i+8:])}
}

// search appends the newest leaves that bear a key, newest first, until there are most of them.
func (f *file) search(leaves []uint64, key uint64, most int, p *buffer) ([]uint64, error) {
	if may, err := f.mayHave(key, p); err != nil || !may {
		return leaves, err
	}
	number, err := f.lastPageOf(key, p)
	if err != nil {
		return leaves, err
	}
	for ; number < f.pages(); number-- { // Below 0 the number is huge.
		rows, err := f.readRows(number, p)
		if err != nil {
			return leaves, err
		}
		for i := len(rows)/rowSize - 1; i >= 0; i-- {
			r := rowAt(rows, i)
			if r.key < key || len(leaves) == most {
				return leaves, nil
			}
			if r.key == key {
				leaves = append(leaves, r.leaf)
			}
		}
	}
	return leaves, nil
}

// guesses is how often a search guesses a page from the key before it halves what is left.
const guesses = 4

// lastPageOf returns the last page whose first key is not above a key, or the first page.
func (f *file) lastPageOf(key uint64, p *buffer) (uint64, error) {
	low, high := uint64(0), f.pages() // The page is at low or later, and below high.
	guess := placeOf(key, high)
	for try := 0; high-low > 1; try++ {
		if try >= guesses || guess <= low || guess >= high {
			guess = low + (high-low)/2
		}
		rows, err := f.readRows(guess, p)
		if err != nil {
			return 0, err
		}
		if first := rowAt(rows, 0).key; first > key {
			high = guess
			guess = high - min(high, 1+placeOf(first-key, f.pages()))
			continue
		}
		low = guess
		last := rowAt(rows, len(rows)/rowSize-1).key
		if last > key {
			return low, nil
		}
		guess = low + 1 + placeOf(key-last, f.pages())
	}
	return low, nil
}
