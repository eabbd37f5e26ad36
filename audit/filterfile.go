package audit

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"sync"
)

// filterFile holds copies of the filters of all sealed segments in one file, so that a search
// over a long time for a rare key reads a page of this file for each segment and opens the few
// segments that may have it. A record is
//
//	 0 magic "RGfl"   4 crc32c u32 of bytes 8 to 24
//	 8 segment u32    12 cut u32   16 blocks u32   20 zero u32
//	24 the segment's filter, as it stands in its file
//
// A record of segment 2^32-1 is void: its filter is zeros. The file is a cache. It is trusted
// only as far as its checksums hold, and its records are made again when segments are opened. If
// a segment is cut or erased, its record is made void.
type filterFile struct {
	dir  Dir
	file File // nil without a cache; then a search opens every segment

	mu    sync.RWMutex
	place map[uint64]filterPlace
	end   int64
	void  int64 // bytes of void records
}

type filterPlace struct {
	offset int64 // offset of the record in the file
	cut    uint32
	blocks uint32
}

const (
	filtersName      = "filters.idx"
	filterRecordSize = 24
	filterVoid       = math.MaxUint32
	filterBlocksMax  = 1 << 21 // 64 MiB: 65,536 leaves with 32 keys each need 98,304.
	filtersSlack     = 1 << 20 // With fewer void bytes the file is not rewritten.
)

var filterRecordMagic = []byte("RGfl")

func (p filterPlace) size() int64 { return filterRecordSize + filterSize(p.blocks) }

func appendFilterRecord(dst []byte, number, cut, blocks uint32) []byte {
	start := len(dst)
	dst = append(dst, filterRecordMagic...)
	dst = append(dst, 0, 0, 0, 0)
	for _, v := range [...]uint32{number, cut, blocks, 0} {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	binary.LittleEndian.PutUint32(dst[start+4:], crc32.Checksum(dst[start+8:], castagnoli))
	return dst
}

// openFilters reads which filters the file has, up to the first bytes that are not a record.
// It makes a record void if wanted returns false for it. If it fails, only the cache is lost.
func openFilters(d Dir, wanted func(number uint64, cut uint32) bool) *filterFile {
	f := &filterFile{dir: d, place: make(map[uint64]filterPlace)}
	file, err := d.Create(filtersName)
	if err != nil {
		return f
	}
	f.file = file
	size, err := file.Size()
	if err != nil {
		size = 0
	}
	header := make([]byte, filterRecordSize)
	for f.end+filterRecordSize <= size && readFull(file, header, f.end) == nil {
		number, p := binary.LittleEndian.Uint32(header[8:]), filterPlace{
			offset: f.end, cut: binary.LittleEndian.Uint32(header[12:]), blocks: binary.LittleEndian.Uint32(header[16:]),
		}
		if string(header[:4]) != string(filterRecordMagic) || p.blocks > filterBlocksMax || f.end+p.size() > size ||
			crc32.Checksum(header[8:], castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
			break
		}
		f.end += p.size()
		switch {
		case number == filterVoid:
			f.void += p.size()
		case wanted(uint64(number), p.cut):
			f.voidRecord(uint64(number)) // An earlier record of the segment.
			f.place[uint64(number)] = p
		default:
			f.wipeRecord(p)
		}
	}
	if err := file.Truncate(f.end); err != nil {
		f.giveUp()
	}
	return f
}

// giveUp stops using the cache and removes its file, which could otherwise keep filters of
// erased leaves.
func (f *filterFile) giveUp() {
	if f.file != nil {
		f.file.Close() // This is a cache, so an error loses nothing.
		_ = f.dir.Remove(filtersName)
	}
	f.file, f.place, f.end, f.void = nil, nil, 0, 0
}

// askFilter looks all keys up in a segment's filter. known is false if the file has no filter
// of the segment, or a damaged one. The filter may be older than a cut of the segment; then it
// has keys too many but lacks none.
func (f *filterFile) askFilter(number uint64, keys []uint64) (perhaps, known bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	p, ok := f.place[number]
	if !ok || f.file == nil {
		return true, false
	}
	page := make([]byte, filterPageSize)
	for _, k := range keys {
		if p.blocks == 0 {
			return false, true
		}
		offset, size := filterPageOf(k, p.blocks)
		if readFull(f.file, page[:size], p.offset+filterRecordSize+offset) != nil {
			return true, false
		}
		has, sound := filterHas(page[:size], k, p.blocks)
		if !sound {
			return true, false
		}
		if !has {
			return false, true
		}
	}
	return true, true
}

// keepFilter copies a segment's filter into the file and makes an earlier one void.
func (f *filterFile) keepFilter(o *openSegment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.voidRecord(o.number); f.file == nil || o.info.erased {
		return
	}
	p := filterPlace{offset: f.end, cut: uint32(o.info.cut), blocks: o.info.filterBlocks}
	record := appendFilterRecord(make([]byte, 0, p.size()), uint32(o.number), p.cut, p.blocks)
	record = record[:p.size()]
	if p.blocks > filterBlocksMax || readFull(o.file, record[filterRecordSize:], o.info.filterAt()) != nil {
		return
	}
	if _, err := f.file.WriteAt(record, f.end); err != nil {
		f.giveUp()
		return
	}
	f.place[o.number] = p
	f.end += p.size()
}

// forgetSegment makes a segment's record void, and rewrites the file if most of it is void.
func (f *filterFile) forgetSegment(number uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.place[number]; !ok {
		return nil
	}
	f.voidRecord(number)
	if f.file == nil {
		return nil
	}
	if f.void > filtersSlack && f.void > f.end/2 {
		return f.rewriteFile()
	}
	return f.file.Sync()
}

// voidRecord makes the record of a segment void, if there is one.
func (f *filterFile) voidRecord(number uint64) {
	if p, ok := f.place[number]; ok {
		delete(f.place, number)
		f.wipeRecord(p)
	}
}

// wipeRecord overwrites a record with zeros, because its bits could confirm keys of erased
// leaves.
func (f *filterFile) wipeRecord(p filterPlace) {
	record := appendFilterRecord(make([]byte, 0, p.size()), filterVoid, 0, p.blocks)
	if _, err := f.file.WriteAt(record[:p.size()], p.offset); err != nil {
		f.giveUp()
		return
	}
	f.void += p.size()
}

// rewriteFile writes the file again without its void records.
func (f *filterFile) rewriteFile() error {
	fresh, err := f.dir.Create(filtersName + temporarySuffix)
	if err != nil {
		return err
	}
	place, end := make(map[uint64]filterPlace, len(f.place)), int64(0)
	err = fresh.Truncate(0)
	for number, p := range f.place {
		record := make([]byte, p.size())
		if err == nil {
			err = readFull(f.file, record, p.offset)
		}
		if err == nil {
			_, err = fresh.WriteAt(record, end)
		}
		p.offset = end
		place[number] = p
		end += p.size()
	}
	if err == nil {
		err = fresh.Sync()
	}
	if err == nil {
		err = f.dir.Rename(filtersName+temporarySuffix, filtersName)
	}
	if err != nil {
		return errors.Join(err, fresh.Close())
	}
	old := f.file
	f.file, f.place, f.end, f.void = fresh, place, end, 0
	return old.Close()
}

func (f *filterFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
