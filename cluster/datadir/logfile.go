package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// bbolt maps the file of term and vote into memory. If the file is shorter than its header
// says, or no such file at all, the first access to a missing page would end the process by a
// signal, without a message. So its length and header are checked before.
//
// A header is a page of its own. There are two: at the beginning of the file and one page
// behind it. Of the valid ones, the one with the higher transaction count counts. All numbers
// are in the machine's byte order.
const (
	metaOffset    = 16 // The page's own header comes before it.
	metaSize      = 64
	metaSummed    = metaSize - 8 // The checksum covers these bytes.
	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	metaMagicAt   = 0
	metaVersionAt = 4
	metaPageAt    = 8  // Offset of the page size in bytes.
	metaEndAt     = 40 // Offset of the number of pages in use, from the first on.
	metaTxAt      = 48
	pageSizeMin   = 1 << 10
	pageSizeMax   = 1 << 24
)

// ErrDamaged says that the log's file cannot be used: it is cut short, no log, or inconsistent.
var ErrDamaged = errors.New("the raft log is damaged")

// remedy is what to do about a damaged log.
const remedy = "its votes and entries are gone. Where a majority of the group answers, " +
	"keep the data folder aside and let the node join anew with an empty one; " +
	"otherwise put back the whole folder, or see `railguard cluster recover`"

// logMeta is the content of a header.
type logMeta struct {
	pageSize int64
	pages    uint64
	root     uint64 // Page with the names of the tables.
	tx       uint64
}

// checkLogFile refuses a file that must not be mapped. A file that is missing or empty is a new
// log.
func checkLogFile(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	meta, err := newestMeta(file, info.Size())
	if err != nil {
		return err
	}
	if meta == nil {
		return fmt.Errorf("%w: %s: no header with a right checksum in %d bytes; %s", ErrDamaged, path, info.Size(), remedy)
	}
	if need := meta.pages * uint64(meta.pageSize); uint64(info.Size()) < need {
		return fmt.Errorf("%w: %s is cut short: %d of %d bytes; %s", ErrDamaged, path, info.Size(), need, remedy)
	}
	if err := checkPages(file, meta); err != nil {
		return damagedError(path, err)
	}
	return nil
}

// checkVotesThere refuses a folder that has entries and no file of votes, or an empty one. A node
// that has forgotten for whom it voted could vote again in the same term.
func checkVotesThere(dir string) error {
	path := filepath.Join(dir, LogFile)
	info, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > 0 {
		return err
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*"+segmentSuffix))
	if err != nil || len(segments) == 0 {
		return err
	}
	state := "is empty"
	if info == nil {
		state = "is missing"
	}
	return spoiltError("%s %s, and %s has entries of the log", path, state, segments[0])
}

// damagedError names the damaged file and says what to do.
func damagedError(path string, what any) error {
	return fmt.Errorf("%w: %s: %v; %s", ErrDamaged, path, what, remedy)
}

// newestMeta returns the header that counts, or nil if there is none. If the first one is
// spoilt, the second one is looked for at every page size.
func newestMeta(file io.ReaderAt, size int64) (newest *logMeta, err error) {
	first, err := readMeta(file, 0, size)
	if err != nil {
		return nil, err
	}
	from, to := int64(pageSizeMin), int64(pageSizeMax)
	if first != nil {
		from, to = first.pageSize, first.pageSize
	}
	newest = first
	for page := from; page <= to; page *= 2 {
		second, err := readMeta(file, page, size)
		if err != nil {
			return nil, err
		}
		if second != nil && second.pageSize == page && (newest == nil || second.tx > newest.tx) {
			newest = second
		}
	}
	return newest, nil
}

// readMeta reads the header of a page. It returns nil if there is none, or if its checksum is
// wrong.
func readMeta(file io.ReaderAt, at, size int64) (*logMeta, error) {
	if at+metaOffset+metaSize > size {
		return nil, nil
	}
	var b [metaSize]byte
	if _, err := file.ReadAt(b[:], at+metaOffset); err != nil {
		return nil, err
	}
	order := binary.NativeEndian
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSummed]) // Never fails (hash.Hash).
	meta := &logMeta{
		pageSize: int64(order.Uint32(b[metaPageAt:])), pages: order.Uint64(b[metaEndAt:]),
		root: order.Uint64(b[metaRootAt:]), tx: order.Uint64(b[metaTxAt:]),
	}
	switch {
	case order.Uint32(b[metaMagicAt:]) != metaMagic, order.Uint32(b[metaVersionAt:]) != metaVersion:
		return nil, nil
	case sum.Sum64() != order.Uint64(b[metaSummed:]):
		return nil, nil
	case meta.pageSize < pageSizeMin || meta.pageSize > pageSizeMax || meta.pages > 1<<40:
		return nil, nil
	}
	return meta, nil
}
