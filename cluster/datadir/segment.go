package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"railguard/engine"
)

// A segment file has a run of the log's entries. All integers are little-endian.
//
//	file   = "RGLOG\0\0\1" | first u64 | seed u64 | size u64 | crc u32 | 0 u32 | record*
//	record = length u32 | crc u32 | index u64 | term u64 | append u64 | appended i64 |
//	         kind u8 | 0 0 0 | extensions u32 | extensions | data | zeros to a multiple of 8
//
// size is the file's size on disk, which never changes; bytes without a record are zeros.
// length is a record's length without the zeros behind it. crc (Castagnoli) is over the file's
// seed, which is random, and the rest of the record: so bytes of another file are never taken
// for a record of this one. append is the index of the first entry of the same append, which is
// one write and one sync.
const (
	segmentSuffix  = ".log"
	segmentName    = "%020d" + segmentSuffix
	segmentUnended = ".new" // Added to the name until the file is complete.
	segmentMagic   = "RGLOG\x00\x00\x01"
	segmentBytes   = 16 * engine.MiB
	segmentHead    = 40
	recordHead     = 48
	recordMax      = 64 * engine.MiB // Larger than any entry.

	atFirst, atSeed, atSize, atSum                              = 8, 16, 24, 32
	atCRC, atIndex, atTerm, atAppend, atTime, atKind, atExtends = 4, 8, 16, 24, 32, 40, 44
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is one file of the log. offsets has the beginning of each record, from first on.
type segment struct {
	path    string
	file    *os.File
	first   uint64
	seed    uint64
	size    int64
	end     int64 // End of the last record.
	offsets []uint32
	born    time.Time // When its first entry came.
}

// lastIndex is the index of the last entry; first-1 when there is none.
func (s *segment) lastIndex() uint64 { return s.first + uint64(len(s.offsets)) - 1 }

func paddedSize(length int64) int64 { return (length + 7) &^ 7 }

func recordLength(entry *raft.Log) int64 {
	return recordHead + int64(len(entry.Extensions)) + int64(len(entry.Data))
}

// sumOf returns a record's checksum; behind is everything after the checksum itself.
func sumOf(seed uint64, behind []byte) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	return crc32.Update(crc32.Update(0, castagnoli, b[:]), castagnoli, behind)
}

// appendRecord encodes an entry; append is the index of the first one of its append.
func appendRecord(dst []byte, seed, first uint64, entry *raft.Log) []byte {
	order := binary.LittleEndian
	start := len(dst)
	appended := int64(0)
	if !entry.AppendedAt.IsZero() {
		appended = entry.AppendedAt.UnixNano()
	}
	dst = order.AppendUint32(dst, uint32(recordLength(entry)))
	dst = order.AppendUint32(dst, 0)
	dst = order.AppendUint64(dst, entry.Index)
	dst = order.AppendUint64(dst, entry.Term)
	dst = order.AppendUint64(dst, first)
	dst = order.AppendUint64(dst, uint64(appended))
	dst = append(dst, byte(entry.Type), 0, 0, 0)
	dst = order.AppendUint32(dst, uint32(len(entry.Extensions)))
	dst = append(append(dst, entry.Extensions...), entry.Data...)
	order.PutUint32(dst[start+atCRC:], sumOf(seed, dst[start+atIndex:]))
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	return dst
}

// recordAt returns the record at a place, without the zeros behind it, or nil if there is none.
func recordAt(data []byte, at int64, seed uint64) []byte {
	if int64(len(data))-at < recordHead {
		return nil
	}
	length := int64(binary.LittleEndian.Uint32(data[at:]))
	if length < recordHead || length > recordMax || length > int64(len(data))-at {
		return nil
	}
	record := data[at : at+length]
	if binary.LittleEndian.Uint32(record[atCRC:]) != sumOf(seed, record[atIndex:]) ||
		int64(binary.LittleEndian.Uint32(record[atExtends:])) > length-recordHead {
		return nil
	}
	return record
}

// readRecord makes an entry of a record; the entry keeps the record's bytes.
func readRecord(record []byte, into *raft.Log) {
	order := binary.LittleEndian
	behind := recordHead + int(order.Uint32(record[atExtends:]))
	*into = raft.Log{
		Index: order.Uint64(record[atIndex:]), Term: order.Uint64(record[atTerm:]), Type: raft.LogType(record[atKind]),
		Data: record[behind:],
	}
	if behind > recordHead {
		into.Extensions = record[recordHead:behind:behind]
	}
	if appended := int64(order.Uint64(record[atTime:])); appended != 0 {
		into.AppendedAt = time.Unix(0, appended)
	}
}

// createSegment makes a file for entries from first on, with the given records in it and a size
// that never changes. The file gets its name when it is complete on the disk, and replaces one
// with the same name.
func createSegment(disk Disk, dir string, first, seed uint64, size int64, born time.Time, records []byte) (s *segment, err error) {
	s = &segment{
		path: filepath.Join(dir, fmt.Sprintf(segmentName, first)), first: first, seed: seed,
		size: size, end: segmentHead + int64(len(records)), born: born,
	}
	head := make([]byte, segmentHead, s.end)
	copy(head, segmentMagic)
	order := binary.LittleEndian
	order.PutUint64(head[atFirst:], s.first)
	order.PutUint64(head[atSeed:], s.seed)
	order.PutUint64(head[atSize:], uint64(s.size))
	order.PutUint32(head[atSum:], crc32.Checksum(head[:atSum], castagnoli))
	file, err := os.OpenFile(s.path+segmentUnended, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	s.file = file
	if err := reserveRoom(s.file, s.size); err != nil {
		return nil, fmt.Errorf("room for %s: %w", s.path, err)
	}
	if _, err := s.file.WriteAt(append(head, records...), 0); err != nil {
		return nil, err
	}
	if err := disk.SyncFile(s.file); err != nil {
		return nil, err
	}
	if err := disk.Rename(s.path+segmentUnended, s.path); err != nil {
		return nil, err
	}
	return s, disk.SyncFolder(dir)
}

// spoiltError describes damage in a file.
func spoiltError(format string, args ...any) error {
	return fmt.Errorf("%w: %s; %s", ErrDamaged, fmt.Sprintf(format, args...), remedy)
}

// openSegment reads a whole file and checks every record in it. A crash may have torn the end
// of the newest file: then torn is true, and nothing behind end counts.
func openSegment(path string, write bool) (s *segment, torn bool, err error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	file, err := os.OpenFile(path, mode, 0)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	s = &segment{path: path, file: file}
	if err := s.readHead(); err != nil {
		return nil, false, err
	}
	data := make([]byte, s.size)
	if _, err := s.file.ReadAt(data, 0); err != nil {
		return nil, false, err
	}
	s.end = segmentHead
	for record := recordAt(data, s.end, s.seed); record != nil; record = recordAt(data, s.end, s.seed) {
		var entry raft.Log
		if readRecord(record, &entry); entry.Index != s.lastIndex()+1 {
			return nil, false, spoiltError("%s has entry %d where %d belongs", path, entry.Index, s.lastIndex()+1)
		}
		if len(s.offsets) == 0 {
			s.born = entry.AppendedAt
		}
		s.offsets = append(s.offsets, uint32(s.end))
		s.end += paddedSize(int64(len(record)))
	}
	torn, err = s.judgeRest(data)
	return s, torn, err
}

func (s *segment) readHead() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	head, order := make([]byte, segmentHead), binary.LittleEndian
	if n, err := s.file.ReadAt(head, 0); n < segmentHead && err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if string(head[:atFirst]) != segmentMagic || crc32.Checksum(head[:atSum], castagnoli) != order.Uint32(head[atSum:]) {
		return spoiltError("%s: no header with a right checksum in %d bytes", s.path, info.Size())
	}
	s.first, s.seed, s.size = order.Uint64(head[atFirst:]), order.Uint64(head[atSeed:]), int64(order.Uint64(head[atSize:]))
	if info.Size() < s.size {
		return spoiltError("%s is cut short: %d of %d bytes", s.path, info.Size(), s.size)
	}
	return nil
}

// judgeRest examines the bytes behind the last readable record. Nothing is acknowledged before
// its sync, and no append begins before the sync of the one before. So a crash leaves bytes of
// at most one append there, in any state. If a record of a later append follows, the unreadable
// bytes before it had been acknowledged: that is damage, and going on without them would break
// a promise.
func (s *segment) judgeRest(data []byte) (torn bool, err error) {
	next := s.lastIndex() + 1
	for at := s.end; at+8 <= int64(len(data)); at += 8 {
		if binary.LittleEndian.Uint64(data[at:]) == 0 {
			continue
		}
		torn = true
		if int64(len(data))-at < recordHead || binary.LittleEndian.Uint64(data[at+atAppend:]) <= next || binary.LittleEndian.Uint64(data[at+atIndex:]) <= next {
			continue
		}
		if recordAt(data, at, s.seed) != nil {
			return true, spoiltError("%s is spoilt at byte %d: entry %d cannot be read, and later ones can", s.path, s.end, next)
		}
	}
	return torn, nil
}

// readEntry returns an entry of the file.
func (s *segment) readEntry(index uint64, into *raft.Log) error {
	at, end := int64(s.offsets[index-s.first]), s.end
	if index < s.lastIndex() {
		end = int64(s.offsets[index-s.first+1])
	}
	data := make([]byte, end-at)
	if _, err := s.file.ReadAt(data, at); err != nil {
		return fmt.Errorf("log entry %d in %s: %w", index, s.path, err)
	}
	record := recordAt(data, 0, s.seed)
	if record == nil || binary.LittleEndian.Uint64(record[atIndex:]) != index {
		return spoiltError("%s is spoilt at byte %d: entry %d cannot be read", s.path, at, index)
	}
	readRecord(record, into)
	return nil
}

// cutAt replaces this file by one that ends before index. The old file keeps its name until the
// new one is complete, and stays open.
func (s *segment) cutAt(disk Disk, dir string, index uint64) (*segment, error) {
	kept := min(index-s.first, uint64(len(s.offsets)))
	seed, records := rand.Uint64(), []byte(nil)
	for i := range kept {
		var entry raft.Log
		if err := s.readEntry(s.first+i, &entry); err != nil {
			return nil, err
		}
		records = appendRecord(records, seed, entry.Index, &entry) // Each is an append of its own, since all of it is durable.
	}
	shorter, err := createSegment(disk, dir, s.first, seed, s.size, s.born, records)
	if err != nil {
		return nil, err
	}
	shorter.offsets = append([]uint32(nil), s.offsets[:kept]...)
	return shorter, nil
}
