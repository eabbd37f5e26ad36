package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"railguard/engine"
)

const (
	// segmentAge bounds how long entries that were cut off the front stay on a quiet node's
	// disk: a file is deleted with the last entry in it.
	segmentAge = 6 * time.Hour
	bufferKept = engine.MiB // Largest buffer that is kept for the next append.
)

// boundsKey is the key, in the votes' file, of two numbers: the first entry that counts, and
// the first entry of the newest file.
var boundsKey = []byte("railguard segments")

// journal is the log on disk. Entries are in segment files; an append is one write and one
// sync. A bbolt file beside them has the term, the vote, and the two numbers that say which
// segment files must be there. It implements LogStore.
//
// Raft appends and cuts on one goroutine and reads on many.
type journal struct {
	raft.StableStore // Term and vote.

	votes   io.Closer
	disk    Disk
	dir     string
	write   bool
	room    int64      // Least size of a new file.
	writing sync.Mutex // Held during an append or a cut.
	buffer  []byte

	mu       sync.RWMutex // Guards the fields below.
	first    uint64       // First entry that counts; files may still have older ones.
	segments []*segment   // Ordered by first entry; appends go to the last one.
	closed   bool
}

// openJournal opens the files of a folder and checks every record in them.
func openJournal(seams Seams, dir string, votes LogStore, write bool) (*journal, error) {
	j := &journal{StableStore: votes, votes: votes, disk: seams.Disk, dir: dir, write: write, room: seams.Room}
	if err := j.loadFiles(); err != nil {
		return nil, errors.Join(err, j.closeSegments())
	}
	return j, nil
}

func (j *journal) loadFiles() (err error) {
	var newest uint64
	if j.first, newest, err = j.indexBounds(); err != nil {
		return err
	}
	paths, err := j.listFiles()
	if err != nil {
		return err
	}
	for i, path := range paths {
		if err := j.takeFile(path, i == len(paths)-1); err != nil {
			return err
		}
	}
	if n := len(j.segments); newest > 0 && (n == 0 || j.segments[n-1].first < newest) {
		return spoiltError("%s is missing", filepath.Join(j.dir, fmt.Sprintf(segmentName, newest)))
	}
	if len(j.segments) > 0 && j.segments[0].first > max(j.first, 1) && newest > 0 {
		return spoiltError("entries %d to %d are missing in %s", j.first, j.segments[0].first-1, j.dir)
	}
	return nil
}

// listFiles returns the paths of the segments in order. It deletes files that a crash left
// unfinished.
func (j *journal) listFiles() (paths []string, err error) {
	names, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := filepath.Join(j.dir, name.Name())
		switch {
		case strings.HasSuffix(path, segmentSuffix):
			paths = append(paths, path)
		case strings.HasSuffix(path, segmentUnended) && j.write:
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// LogFiles returns the files of the log in a folder: those that a node may write to, and those
// that it will only ever delete.
func LogFiles(dir string) (written, still []string, err error) {
	j := &journal{dir: dir}
	if still, err = j.listFiles(); err != nil {
		return nil, nil, err
	}
	written = []string{filepath.Join(dir, LogFile)}
	if n := len(still); n > 0 {
		written, still = append(written, still[n-1]), still[:n-1]
	}
	return written, still, nil
}

// takeFile opens one file and puts it behind those that were opened before.
func (j *journal) takeFile(path string, newest bool) error {
	s, torn, err := openSegment(path, j.write)
	if err != nil {
		return fmt.Errorf("raft log: %w", err)
	}
	n := len(j.segments)
	switch {
	case filepath.Base(path) != fmt.Sprintf(segmentName, s.first):
		err = spoiltError("%s begins with entry %d", path, s.first)
	case s.lastIndex() < j.first && len(s.offsets) > 0: // The entries were cut off, and a crash came before the file was deleted.
		err = s.file.Close()
		if j.write {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	case n > 0 && s.first != j.segments[n-1].lastIndex()+1:
		err = spoiltError("%s ends with entry %d, and the next file begins with %d", j.segments[n-1].path, j.segments[n-1].lastIndex(), s.first)
	case torn && !newest:
		err = spoiltError("%s is spoilt at byte %d", path, s.end)
	case torn && j.write: // No later append may run into the torn rest.
		old := s
		if s, err = old.cutAt(j.disk, j.dir, old.lastIndex()+1); err != nil {
			return errors.Join(err, old.file.Close())
		}
		err = old.file.Close()
	case newest && j.write: // From now on the node depends on the entries that were read here, so they must be on the disk.
		err = j.disk.SyncFile(s.file)
	}
	if err != nil {
		return errors.Join(err, s.file.Close())
	}
	j.segments = append(j.segments, s)
	return nil
}

func (j *journal) indexBounds() (first, newest uint64, err error) {
	data, err := j.Get(boundsKey)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	if len(data) != 16 {
		return 0, 0, spoiltError("%s has bounds of %d bytes", filepath.Join(j.dir, LogFile), len(data))
	}
	return binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), nil
}

func (j *journal) setBounds(first, newest uint64) error {
	data := binary.LittleEndian.AppendUint64(nil, first)
	return j.Set(boundsKey, binary.LittleEndian.AppendUint64(data, newest))
}

// IsMonotonic implements raft.MonotonicLogStore: the log has no holes.
func (j *journal) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore.
func (j *journal) FirstIndex() (uint64, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.emptyLocked() {
		return 0, nil
	}
	return max(j.first, j.segments[0].first), nil
}

// LastIndex implements raft.LogStore.
func (j *journal) LastIndex() (uint64, error) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.emptyLocked() {
		return 0, nil
	}
	return j.segments[len(j.segments)-1].lastIndex(), nil
}

func (j *journal) emptyLocked() bool {
	n := len(j.segments)
	return n == 0 || j.segments[n-1].lastIndex() < max(j.first, j.segments[0].first)
}

// Bytes is the size of the entries on the disk, with those that were cut off and whose files
// are still there.
func (j *journal) Bytes() (bytes int64) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	for _, s := range j.segments {
		bytes += s.end
	}
	return bytes
}

// GetLog implements raft.LogStore.
func (j *journal) GetLog(index uint64, log *raft.Log) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.closed {
		return fs.ErrClosed
	}
	at := sort.Search(len(j.segments), func(i int) bool { return j.segments[i].first > index }) - 1
	if at < 0 || index < j.first || index > j.segments[at].lastIndex() {
		return raft.ErrLogNotFound
	}
	return j.segments[at].readEntry(index, log)
}

// StoreLog implements raft.LogStore.
func (j *journal) StoreLog(log *raft.Log) error { return j.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. A crash before it returns leaves the first entries, all
// of them or none.
func (j *journal) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	j.writing.Lock()
	defer j.writing.Unlock()
	for i, log := range logs {
		if log.Index != logs[0].Index+uint64(i) {
			return fmt.Errorf("cluster: raft log: entry %d behind entry %d", log.Index, logs[max(i, 1)-1].Index)
		}
	}
	s, err := j.tailFor(logs)
	if err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	data, offsets := j.buffer[:0], s.offsets
	for _, log := range logs {
		offsets = append(offsets, uint32(s.end)+uint32(len(data)))
		data = appendRecord(data, s.seed, logs[0].Index, log)
	}
	if cap(data) <= bufferKept {
		j.buffer = data
	}
	if _, err := s.file.WriteAt(data, s.end); err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	if err := j.disk.SyncData(s.file); err != nil {
		return fmt.Errorf("cluster: raft log: sync of %s: %w", s.path, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s.offsets, s.end = offsets, s.end+int64(len(data))
	return nil
}

// tailFor returns the file that these entries go into. It makes a new one if the newest is full
// or old, and replaces an empty one that is too small or for another index.
func (j *journal) tailFor(logs []*raft.Log) (*segment, error) {
	if j.closed || !j.write {
		return nil, fs.ErrClosed
	}
	need := int64(0)
	for _, log := range logs {
		if recordLength(log) > recordMax {
			return nil, fmt.Errorf("entry %d has %d bytes", log.Index, len(log.Data))
		}
		need += paddedSize(recordLength(log))
	}
	next := logs[0].Index
	if n := len(j.segments); n > 0 {
		s := j.segments[n-1]
		empty := len(s.offsets) == 0
		switch {
		case next == s.lastIndex()+1 && s.end+need <= s.size && (empty || time.Since(s.born) < segmentAge):
			return s, nil
		case next != s.lastIndex()+1 && !(empty && n == 1):
			return nil, fmt.Errorf("entry %d behind entry %d", next, s.lastIndex())
		case empty: // The file is for another index or too small: it is deleted.
			before := uint64(0)
			if n > 1 {
				before = j.segments[n-2].first
			}
			if err := j.setBounds(j.first, before); err != nil {
				return nil, err
			}
			if err := j.dropFile(n - 1); err != nil {
				return nil, err
			}
		}
	}
	return j.beginFile(next, need)
}

// beginFile makes a new file and appends it to the others.
func (j *journal) beginFile(next uint64, need int64) (*segment, error) {
	first := j.first
	if len(j.segments) == 0 {
		first = next // This may be below what was cut off, since a cut at the end can remove the whole log.
	}
	s, err := createSegment(j.disk, j.dir, next, rand.Uint64(), max(j.room, segmentHead+need), time.Now(), nil)
	if err != nil {
		return nil, err
	}
	if err := j.setBounds(first, next); err != nil {
		return nil, errors.Join(err, s.file.Close())
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.first = first
	j.segments = append(j.segments, s)
	return s, nil
}

// DeleteRange implements raft.LogStore. It deletes entries at the front of the log, at its end,
// or all of them.
func (j *journal) DeleteRange(low, high uint64) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	first, err := j.FirstIndex()
	if err != nil {
		return err
	}
	last, err := j.LastIndex()
	switch {
	case err != nil || last == 0 || high < first || low > last:
		return err
	case j.closed || !j.write:
		return fs.ErrClosed
	case low <= first:
		err = j.cutFront(min(high, last))
	case high >= last:
		err = j.cutEnd(low)
	default:
		err = fmt.Errorf("entries %d to %d are in the middle of %d to %d", low, high, first, last)
	}
	if err != nil {
		return fmt.Errorf("cluster: cut of the raft log: %w", err)
	}
	return nil
}

// cutFront drops the entries up to high. They stop counting at once; then files that have no
// other entry are deleted, oldest first.
func (j *journal) cutFront(high uint64) error {
	n, newest := len(j.segments), uint64(0)
	gone := 0
	for gone < n && j.segments[gone].lastIndex() <= high {
		gone++
	}
	if gone < n {
		newest = j.segments[n-1].first
	}
	if err := j.setBounds(high+1, newest); err != nil {
		return err
	}
	j.mu.Lock()
	j.first = high + 1
	j.mu.Unlock()
	for range gone {
		if err := j.dropFile(0); err != nil {
			return err
		}
	}
	return nil
}

// cutEnd drops the entries from low on; low is above the first entry. After a crash the log is
// as it was, or shorter.
func (j *journal) cutEnd(low uint64) error {
	n := len(j.segments)
	kept := n - 1
	for j.segments[kept].first >= low {
		kept--
	}
	if err := j.setBounds(j.first, j.segments[kept].first); err != nil {
		return err
	}
	for i := n - 1; i > kept; i-- {
		if err := j.dropFile(i); err != nil {
			return err
		}
		if err := j.disk.SyncFolder(j.dir); err != nil {
			return err
		}
	}
	old := j.segments[kept]
	if low > old.lastIndex() {
		return nil
	}
	shorter, err := old.cutAt(j.disk, j.dir, low)
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.segments[kept] = shorter
	j.mu.Unlock()
	return old.file.Close()
}

// dropFile deletes a file.
func (j *journal) dropFile(at int) error {
	s := j.segments[at]
	j.mu.Lock()
	j.segments = slices.Delete(j.segments, at, at+1)
	j.mu.Unlock()
	return errors.Join(s.file.Close(), os.Remove(s.path))
}

func (j *journal) closeSegments() error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	var errs []error
	for _, s := range j.segments {
		errs = append(errs, s.file.Close())
	}
	j.segments, j.closed = nil, true
	return errors.Join(errs...)
}

// Close ends the store.
func (j *journal) Close() error { return errors.Join(j.closeSegments(), j.votes.Close()) }
