package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// ReachedFile keeps what the node had reached: its term and the last entry that it applied. It is
// beside the folder of the log and not in it: if term, votes or entries are lost or put back from
// a copy, it still knows better.
const ReachedFile = "reached"

// The file is "RGREACH\1" | applied u64 | term u64 | crc u32, little-endian. It is overwritten in
// place with every entry and not synced: a kill loses nothing, and a power cut at most takes it
// back to what it was some seconds before, which demands less than the truth.
const (
	reachedMagic = "RGREACH\x01"
	reachedSize  = 28
)

// Reached is that note, opened.
type Reached struct {
	file *os.File

	mu      sync.Mutex
	applied atomic.Uint64
	term    atomic.Uint64
}

// OpenReached opens the note in a data folder, or makes one that says nothing. So does one that
// cannot be read.
func OpenReached(disk Disk, dir string) (*Reached, error) {
	r := &Reached{}
	applied, term, err := ReadReached(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrDamaged):
		if err := replaceFile(disk, dir, ReachedFile, encodeReached(0, 0)); err != nil {
			return nil, fmt.Errorf("cluster: %s: %w", ReachedFile, err)
		}
	case err != nil:
		return nil, fmt.Errorf("cluster: %s: %w", ReachedFile, err)
	}
	r.applied.Store(applied)
	r.term.Store(term)
	r.file, err = os.OpenFile(filepath.Join(dir, ReachedFile), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("cluster: %s: %w", ReachedFile, err)
	}
	return r, nil
}

// ReadReached reads the note of a stopped node.
func ReadReached(dir string) (applied, term uint64, err error) {
	data, err := os.ReadFile(filepath.Join(dir, ReachedFile))
	if err != nil {
		return 0, 0, err
	}
	order, sum := binary.LittleEndian, reachedSize-4
	if len(data) != reachedSize || string(data[:8]) != reachedMagic || crc32.Checksum(data[:sum], castagnoli) != order.Uint32(data[sum:]) {
		return 0, 0, fmt.Errorf("%w: %s cannot be read", ErrDamaged, ReachedFile)
	}
	return order.Uint64(data[8:]), order.Uint64(data[16:]), nil
}

func encodeReached(applied, term uint64) []byte {
	data := binary.LittleEndian.AppendUint64([]byte(reachedMagic), applied)
	data = binary.LittleEndian.AppendUint64(data, term)
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
}

// Applied returns the last entry that was applied on this folder.
func (r *Reached) Applied() uint64 { return r.applied.Load() }

// Term returns the highest term on this folder.
func (r *Reached) Term() uint64 { return r.term.Load() }

// NoteApplied notes that an entry was applied.
func (r *Reached) NoteApplied(index uint64) error { return r.note(&r.applied, index) }

// NoteTerm notes a term that is in the file of votes already.
func (r *Reached) NoteTerm(term uint64) error { return r.note(&r.term, term) }

func (r *Reached) note(what *atomic.Uint64, value uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value <= what.Load() {
		return nil
	}
	what.Store(value)
	if _, err := r.file.WriteAt(encodeReached(r.applied.Load(), r.term.Load()), 0); err != nil {
		return fmt.Errorf("%s: %w", ReachedFile, err)
	}
	return nil
}

// Close closes the file.
func (r *Reached) Close() error { return r.file.Close() }

// CheckLog refuses a log that is behind the note, or whose term is below that of its own last
// entry: votes or entries are lost, or are those of an older copy, and the node could vote twice
// in one term. snapshot is the last entry in the newest snapshot.
func (r *Reached) CheckLog(dir string, log LogStore, snapshot uint64) error {
	votes := filepath.Join(dir, RaftFolder, LogFile)
	term, err := log.GetUint64(RaftTermKey)
	if err != nil && err.Error() != raftNotFound {
		return fmt.Errorf("cluster: %s: %w", votes, err)
	}
	last, err := log.LastIndex()
	if err != nil {
		return fmt.Errorf("cluster: raft log: %w", err)
	}
	if last > 0 {
		var entry raft.Log
		if err := log.GetLog(last, &entry); err != nil {
			return fmt.Errorf("cluster: raft log: entry %d: %w", last, err)
		}
		if entry.Term > term {
			return spoiltError("%s says term %d, and the log's entry %d is of term %d: votes are lost", votes, term, last, entry.Term)
		}
	}
	switch reached := max(last, snapshot); {
	case r.Term() > term:
		return spoiltError("%s says term %d, and this node was in term %d (so says %s): votes are lost, or those of an older copy", votes, term, r.Term(), ReachedFile)
	case r.Applied() > reached:
		return spoiltError("log and snapshots in %s end at %d, and this node had applied %d (so says %s): they are lost, or an older copy", filepath.Join(dir, RaftFolder), reached, r.Applied(), ReachedFile)
	}
	return nil
}

// raftNotFound is the error by which raft's stores say that a key has no value. Raft itself
// compares the text.
const raftNotFound = "not found"
