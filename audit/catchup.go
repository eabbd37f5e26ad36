package audit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/bits"

	"github.com/transparency-dev/merkle/compact"
)

// A node that is new, wiped or damaged gets the state from a Raft snapshot and
// its history from peers, in this order:
//
//	Adopt(size, frontier)   the state's tree head: from here on appends go on at
//	                        size, and what is below and not here is a hole
//	ImportRoots             the roots of all segments, proven by that head
//	Missing                 what to fetch
//	ImportSegment           whole segments and hash files, proven by their roots
//	ImportBundle            single bundles, proven by a path to a trusted root
//
// Nothing fetched is believed before it leads to a trusted root. Times and keys
// are not part of a leaf and so not proven; checksums guard them on the way.

// Trust is a tree head taken from the replicated state.
type Trust struct {
	Size uint64
	Root Hash
}

// Range is a range of leaf indices, End excluded.
type Range struct {
	First, End uint64
	// HashesOnly: the leaves are past retention, so only the hash file is wanted.
	HashesOnly bool
}

// Adopt takes the tree head of the replicated state: its size and compact range (the hashes of
// the complete subtrees, left to right). The caller gives it after every start and every
// Restore. If the store has all of that history, Adopt compares the roots (ErrDiverged). If it
// lacks some, Adopt declares the hole, and from then on Size is at least size.
func (s *Store) Adopt(size uint64, frontier []Hash) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.checkUsable(); err != nil {
		return err
	}
	if len(frontier) != bits.OnesCount64(size) || size > segmentsMax<<s.form.level {
		return fmt.Errorf("frontier of %d hashes for %d leaves: %w", len(frontier), size, ErrLimit)
	}
	if size == 0 {
		return nil
	}
	if size <= s.size.Load() {
		have, err := s.Frontier(size)
		if err == nil {
			for i := range have {
				if have[i] != frontier[i] {
					return fmt.Errorf("tree head of %d leaves: %w", size, ErrDiverged)
				}
			}
			return nil
		}
		if !errors.Is(err, ErrMissing) && !errors.Is(err, ErrCorrupt) {
			return err
		}
	}
	if err := replaceFile(s.dir, frontierName, encodeFrontier(size, frontier)); err != nil {
		return s.markBroken(err)
	}
	s.mu.Lock()
	err := s.catalog.adoptHead(size, frontier)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if size > s.size.Load() {
		s.size.Store(size)
	}
	return nil
}

// The adopted tree head survives a restart: magic "RGFRONT1", size u64, the
// hashes, crc32c u32 of all before it; little-endian.
const frontierName = "frontier"

var frontierMagic = []byte("RGFRONT1")

func encodeFrontier(size uint64, frontier []Hash) []byte {
	b := append([]byte{}, frontierMagic...)
	b = binary.LittleEndian.AppendUint64(b, size)
	b = appendHashes(b, frontier)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func decodeFrontier(b []byte) (size uint64, frontier []Hash, ok bool) {
	if len(b) < 20 || string(b[:8]) != string(frontierMagic) {
		return 0, nil, false
	}
	body := b[:len(b)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[len(body):]) {
		return 0, nil, false
	}
	size = binary.LittleEndian.Uint64(b[8:])
	if size == 0 || len(body)-16 != bits.OnesCount64(size)*hashSize {
		return 0, nil, false
	}
	return size, hashesOf(body[16:]), true
}

// loadAdopted reads the adopted tree head. It ignores a damaged file, because the caller
// gives the head again after every start.
func (s *Store) loadAdopted() error {
	b, err := readFile(s.dir, frontierName, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if size, frontier, ok := decodeFrontier(b); ok {
		return s.catalog.adoptHead(size, frontier)
	}
	return nil
}

// SegmentRoots returns the roots of all complete segments of the tree of a size,
// for a peer's ImportRoots: 32 bytes for every 65,536 leaves.
func (s *Store) SegmentRoots(size uint64) ([]Hash, error) {
	if size > s.size.Load() {
		return nil, ErrNotYet
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	roots := make([]Hash, s.form.segmentOf(size))
	for n := range roots {
		if roots[n] = s.catalog.nodeAt(s.form.level, uint64(n)); roots[n] == noHash {
			return nil, ErrMissing
		}
	}
	return roots, nil
}

// ImportRoots takes the roots of the first segments, as a peer's SegmentRoots returned them
// for the adopted size or a later one. They must lead to known nodes of the tree: otherwise it
// returns ErrUnproven, or ErrMissing if this node does not know nodes that far.
func (s *Store) ImportRoots(roots []Hash) error {
	r := &treeReader{s: s}
	for _, id := range compact.RangeNodes(0, uint64(len(roots)), nil) {
		first, end := id.Coverage()
		known, err := r.readNode(s.form.level+id.Level, id.Index)
		if err != nil {
			return fmt.Errorf("segment roots %d to %d: %w", first, end-1, err)
		}
		if subtreeRoot(roots[first:end]) != known {
			return fmt.Errorf("segment roots %d to %d: %w", first, end-1, ErrUnproven)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range roots {
		if err := s.catalog.setNode(s.form.level, uint64(n), roots[n]); err != nil {
			return err
		}
	}
	return nil
}

// Missing returns up to limit ranges of leaves that this node should have but lacks or has
// damaged, lowest first. A range that is a whole segment is for ImportSegment, any other for
// ImportBundle.
func (s *Store) Missing(limit int) []Range {
	size, oldest := s.size.Load(), s.oldest.Load()
	var out []Range
	for number := uint64(0); len(out) < limit && s.form.firstLeaf(number) < size; number++ {
		first, end := s.form.firstLeaf(number), s.form.firstLeaf(number+1)
		s.mu.RLock()
		t, state := s.catalog.tails[number], s.catalog.stateOf(number)
		s.mu.RUnlock()
		bad := s.damagedIn(first, end)
		expired := end <= oldest
		switch {
		case t != nil && expired && !t.full.Load(), state == slotAbsent && expired, state == slotErased && len(bad) > 0:
			out = append(out, Range{first, end, true})
		case state == slotAbsent, state == slotSealed && len(bad) > 0:
			out = append(out, Range{First: first, End: min(end, size)})
		case t != nil && !expired:
			out = append(out, s.missingInTail(t, min(end, size), bad, limit-len(out))...)
		}
	}
	return out
}

// missingInTail returns runs of bundles that lack a leaf or are damaged.
func (s *Store) missingInTail(t *tail, end uint64, bad map[uint64]bool, limit int) []Range {
	var out []Range
	for first := t.first; first < end && limit > 0; first += BundleLeaves {
		stop := min(first+BundleLeaves, end)
		absent := bad[first/BundleLeaves]
		for i := first; i < stop && !absent; i++ {
			absent = !t.hasLeaf(int(i - t.first))
		}
		switch {
		case !absent:
		case len(out) > 0 && out[len(out)-1].End == first:
			out[len(out)-1].End = stop
		case len(out) < limit:
			out = append(out, Range{First: first, End: stop})
		default:
			return out
		}
	}
	return out
}

func (s *Store) damagedIn(first, end uint64) map[uint64]bool {
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	var bad map[uint64]bool
	for b := range s.damaged {
		if b*BundleLeaves >= first && b*BundleLeaves < end {
			if bad == nil {
				bad = make(map[uint64]bool)
			}
			bad[b] = true
		}
	}
	return bad
}

// SegmentFile is a segment or hash file open for a peer. Close it.
type SegmentFile struct {
	*io.SectionReader
	close func()
}

// Close ends the use of the file.
func (f *SegmentFile) Close() error {
	f.close()
	return nil
}

// ExportSegment opens the file of a sealed segment, or its hash file, for a
// peer's ImportSegment. ErrMissing: this node lacks the segment or has not sealed it yet.
func (s *Store) ExportSegment(number uint64) (*SegmentFile, error) {
	s.mu.RLock()
	state := s.catalog.stateOf(number)
	s.mu.RUnlock()
	if state != slotSealed && state != slotErased {
		return nil, ErrMissing
	}
	// A peer gets no leaf that is past retention, even if this disk still has it.
	if err := s.eraseUpTo(number, s.oldest.Load()); err != nil {
		return nil, err
	}
	open, err := s.openSegment(number)
	if err != nil {
		return nil, err
	}
	return &SegmentFile{
		SectionReader: io.NewSectionReader(open.file, 0, open.info.fileSize()),
		close:         func() { s.sealed.release(open) },
	}, nil
}

// ImportSegment installs a file of size bytes that a peer's ExportSegment returned. It hashes
// every leaf and compares the result with the segment's root (ErrUnproven). The root is known
// from ImportRoots or from before the damage; otherwise it returns ErrMissing. The file
// replaces the one on this disk.
//
// It reads and proves without a lock, so that a slow peer delays neither sealing nor appends.
// Several segments may be imported at once, but only one is hashed at a time. A second import
// of the same segment is refused (ErrLimit).
func (s *Store) ImportSegment(number uint64, r io.Reader, size int64) error {
	if size > segmentSizeMax || size < segmentHeaderSize+segmentTrailerSize || number >= segmentsMax {
		return ErrLimit
	}
	if err := s.checkUsable(); err != nil {
		return err
	}
	s.mu.RLock()
	root := s.catalog.nodeAt(s.form.level, number)
	s.mu.RUnlock()
	if root == noHash {
		return fmt.Errorf("root of segment %d: %w", number, ErrMissing)
	}
	if s.isWhole(number) {
		return nil
	}
	if _, busy := s.importing.LoadOrStore(number, true); busy {
		return fmt.Errorf("segment %d is being imported: %w", number, ErrLimit)
	}
	defer s.importing.Delete(number)
	suffix, err := s.importSuffix(number, &r)
	if err != nil {
		return err
	}
	temporary := segmentName(number, receivedSuffix)
	got, err := s.receiveSegment(temporary, number, root, r, size)
	if err != nil {
		return err
	}
	err = s.mayLack(number, got.firstKept())
	if got.erased != (suffix == hashSuffix) {
		err = ErrUnproven
	}
	if err != nil {
		return errors.Join(err, s.dir.Remove(temporary))
	}
	if err := s.fileReceived(temporary, suffix, number, got); err != nil {
		return err
	}
	return s.eraseUpTo(number, s.oldest.Load()) // A peer that is behind may have sent leaves that are past retention here.
}

// receivedSuffix ends the name of a file that is still being fetched. Open removes such files
// after a crash.
const receivedSuffix = ".peer" + temporarySuffix

// isWhole reports whether the segment's file on this disk is final and undamaged.
func (s *Store) isWhole(number uint64) bool {
	s.mu.RLock()
	state := s.catalog.stateOf(number)
	s.mu.RUnlock()
	return (state == slotSealed || state == slotErased) && len(s.damagedIn(s.form.firstLeaf(number), s.form.firstLeaf(number+1))) == 0
}

// receiveSegment writes a fetched file under a temporary name, proves it and makes it durable.
// After an error no file remains.
func (s *Store) receiveSegment(temporary string, number uint64, root Hash, r io.Reader, size int64) (got *segmentInfo, err error) {
	f, err := s.dir.Create(temporary)
	if err != nil {
		return nil, err
	}
	if err = copyInto(f, r, size); err == nil {
		s.proving.Lock() // Hashing keeps a processor busy, so only one import hashes at a time.
		got, err = provenSegment(f, s.form, number, root)
		s.proving.Unlock()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), s.dir.Remove(temporary))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return nil, s.markBroken(err)
	}
	return got, nil
}

// fileReceived renames a received file to its final name, unless the segment has become
// whole in the meantime.
func (s *Store) fileReceived(temporary, suffix string, number uint64, got *segmentInfo) error {
	s.filing.Lock()
	defer s.filing.Unlock()
	if err := s.checkUsable(); err != nil {
		return err
	}
	if s.isWhole(number) {
		return s.dir.Remove(temporary)
	}
	name := segmentName(number, suffix)
	if err := s.dir.Rename(temporary, name); err != nil {
		return s.markBroken(err)
	}
	if err := syncPath(s.dir, name); err != nil {
		return s.markBroken(err)
	}
	leavesImported.Add(int(s.form.leaves()) - got.firstKept())
	return s.installSegment(number, got)
}

// importSuffix reads from the header whether the file has leaves or hashes alone. Hashes
// alone are accepted only for a segment that is past retention.
func (s *Store) importSuffix(number uint64, r *io.Reader) (string, error) {
	header := make([]byte, segmentHeaderSize)
	if _, err := io.ReadFull(*r, header); err != nil {
		return "", err
	}
	*r = io.MultiReader(bytes.NewReader(header), *r)
	if header[12] != flagErased {
		return segmentSuffix, nil
	}
	return hashSuffix, s.mayLack(number, int(s.form.leaves()))
}

// mayLack refuses a segment that lacks leaves which are still within retention.
func (s *Store) mayLack(number uint64, leaves int) error {
	if leaves > 0 && s.form.firstLeaf(number)+uint64(leaves) > s.oldest.Load() {
		return fmt.Errorf("segment %d came without its leaves: %w", number, ErrUnproven)
	}
	return nil
}

func copyInto(f File, r io.Reader, size int64) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	n, err := io.Copy(io.NewOffsetWriter(f, 0), io.LimitReader(r, size))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// provenSegment checks every byte of a fetched file and that it leads to root.
func provenSegment(f File, form geometry, number uint64, root Hash) (*segmentInfo, error) {
	open, err := readSegment(f, segmentName(number, temporarySuffix), form, number)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnproven, err)
	}
	var first *DamageError
	if err := checkSegment(open, func(d *DamageError) {
		if first == nil {
			first = d
		}
	}, &pacer{}); err != nil {
		return nil, err
	}
	if first != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnproven, first)
	}
	if open.info.root != root {
		return nil, fmt.Errorf("segment %d has another root: %w", number, ErrUnproven)
	}
	return open.info, nil
}
