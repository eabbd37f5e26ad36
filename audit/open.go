package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strings"

	"railguard/audit/merkle"
)

// OpenReport is what Open found.
type OpenReport struct {
	Size   uint64 // leaves that the store knows of, including holes
	Sealed int    // segments that have their leaves
	Erased int    // segments of which only the hashes are left
	Tails  []TailReport
}

// Report returns what Open found.
func (s *Store) Report() OpenReport { return s.report }

const formatName = "format"

func formatText(level uint) string {
	return fmt.Sprintf("railguard audit 1\nsegment level %d\n", level)
}

// Open opens the store in a folder, or makes one. It removes files that a crash left
// unfinished, cuts torn ends of tails, and checks and hashes every leaf that is not sealed.
// Afterwards the caller hands over the replicated state's tree head (Adopt) and retention
// (Prune), and replays its log.
//
// Only one Store may be open on a Dir; the caller must hold a lock for that.
func Open(d Dir, o Options) (*Store, error) { return openStore(d, o, false) }

// openTriesMax bounds how often OpenReadOnly starts again because the node removed a file
// before it was read.
const openTriesMax = 16

// OpenReadOnly opens a folder without making, changing or removing a file in it. It needs no
// lock, so the folder may be that of a running node. It skips unfinished files and reads the
// complete frames of tails, so the store has what was there at one moment of the call. Leaves
// that the node removes later are reported as damaged. Every write to the store returns
// ErrReadOnly.
func OpenReadOnly(d Dir, o Options) (*Store, error) {
	for try := 1; ; try++ {
		s, err := openStore(readOnlyDir{d}, o, true)
		if err == nil || try == openTriesMax || !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
}

// readOnlyDir refuses every change.
type readOnlyDir struct{ Dir }

// Create implements Dir.
func (readOnlyDir) Create(string) (File, error) { return nil, ErrReadOnly }

// Rename implements Dir.
func (readOnlyDir) Rename(string, string) error { return ErrReadOnly }

// Remove implements Dir.
func (readOnlyDir) Remove(string) error { return ErrReadOnly }

// Sync implements Dir.
func (readOnlyDir) Sync(string) error { return ErrReadOnly }

func openStore(d Dir, o Options, readOnly bool) (*Store, error) {
	level := o.SegmentLevel
	if level == 0 {
		level = SegmentLevelMax
	}
	if level < SegmentLevelMin || level > SegmentLevelMax {
		return nil, fmt.Errorf("segment level %d: %w", level, ErrLimit)
	}
	form := geometry{level}
	s := &Store{
		dir: d, form: form, inline: o.SealInline, makeWay: o.MakeWay, readOnly: readOnly,
		sealed:   newSegmentCache(d, form),
		filters:  &filterFile{},
		catalog:  catalog{form: form, tails: make(map[uint64]*tail)},
		hash:     new(merkle.Hasher),
		damaged:  make(map[uint64]*DamageError),
		sealWake: make(chan struct{}, 1),
		sealDone: make(chan struct{}),
	}
	if readOnly {
		s.broken.Store(&ErrReadOnly) // Set before loading, so that full tails are not sealed.
	}
	if err := s.loadFolder(); err != nil {
		for _, t := range s.catalog.tails {
			err = errors.Join(err, t.close())
		}
		s.sealed.closeAll()
		return nil, errors.Join(err, s.filters.close())
	}
	go s.runSealer()
	return s, nil
}

func (s *Store) loadFolder() error {
	if err := s.checkFormat(); err != nil {
		return err
	}
	found, err := s.segmentFiles()
	if err != nil {
		return err
	}
	if err := s.loadSegments(found); err != nil {
		return err
	}
	if !s.readOnly {
		s.filters = openFilters(s.dir, func(number uint64, cut uint32) bool {
			return s.catalog.stateOf(number) == slotSealed && s.catalog.slots[number].cut == cut
		})
	}
	if err := s.loadAdopted(); err != nil {
		return err
	}
	if err := s.loadTails(); err != nil {
		return err
	}
	return s.deriveBounds()
}

// checkFormat refuses a folder of another format or segment size before anything is cut.
func (s *Store) checkFormat() error {
	want := formatText(s.form.level)
	have, err := readFile(s.dir, formatName, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		names, err := s.dir.List("")
		if err != nil {
			return err
		}
		for _, name := range names {
			if !strings.HasSuffix(name, temporarySuffix) {
				return fmt.Errorf("audit folder has %q but no %q file: not ours, or damaged", name, formatName)
			}
		}
		if s.readOnly {
			return nil // An empty folder has no leaves.
		}
		return replaceFile(s.dir, formatName, []byte(want))
	}
	if err != nil {
		return err
	}
	if string(have) != want {
		return fmt.Errorf("audit folder has format %q, this program wants %q", have, want)
	}
	return nil
}

// segmentFiles lists the segment and hash files. It removes unfinished files, and completes an
// erasure that a crash interrupted.
func (s *Store) segmentFiles() (map[uint64]slotState, error) {
	found := make(map[uint64]slotState)
	err := s.walkFiles("", 0, func(name string) error {
		if strings.HasSuffix(name, temporarySuffix) {
			return s.removeLeftover(name)
		}
		number, suffix, ok := parseSegmentName(name)
		switch {
		case ok && suffix == hashSuffix:
			found[number] = slotErased
		case ok && suffix == segmentSuffix && found[number] == slotErased: // for one segment, .hsh sorts before .seg
			return s.removeLeftover(name)
		case ok && suffix == segmentSuffix:
			found[number] = slotSealed
		}
		return nil
	})
	return found, err
}

// removeLeftover removes a file that a crash left. A read-only store leaves it alone: a
// running node may be writing it.
func (s *Store) removeLeftover(name string) error {
	if s.readOnly {
		return nil
	}
	return s.dir.Remove(name)
}

// walkFiles visits the files below three levels of numbered folders, in order.
func (s *Store) walkFiles(folder string, depth int, visit func(name string) error) error {
	names, err := s.dir.List(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		full := path.Join(folder, name)
		switch {
		case !isFolder(name):
			err = visit(full)
		case depth < 2 && len(name) == 4:
			err = s.walkFiles(full, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadSegments fills the catalog from the index, and from the segment files where the index
// has no record.
func (s *Store) loadSegments(found map[uint64]slotState) error {
	index, err := readFile(s.dir, indexName, 1<<33)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", indexName, err)
	}
	known := make(map[uint64]indexRecord, len(index)/indexRecordSize)
	for ; len(index) >= indexRecordSize; index = index[indexRecordSize:] {
		if r, ok := decodeIndexRecord(index); ok {
			known[r.number] = r
		}
	}
	for number, state := range found {
		slot := s.catalog.slotFor(number)
		slot.state = state
		r, ok := known[number]
		if !ok {
			open, err := s.sealed.acquire(number, state == slotErased)
			if errors.Is(err, ErrCorrupt) {
				_ = s.noteDamage(err) // The store serves the rest of history; this segment has to be fetched.
				continue
			}
			if err != nil {
				return err
			}
			r = indexRecord{number, open.info.cut, open.info.timeFirst, open.info.timeLast, open.info.root}
			s.sealed.release(open)
			s.noteIndex(&r)
		}
		slot.cut, slot.timeFirst, slot.timeLast = uint32(r.cut), r.timeFirst, r.timeLast
		if err := s.catalog.setNode(s.form.level, number, r.root); err != nil {
			return err
		}
	}
	return nil
}

// loadTails recovers the unsealed segments. If a tail's segment is sealed and sound, it
// removes the tail; if the segment is damaged, it keeps the tail, from which the segment is
// sealed again.
func (s *Store) loadTails() error {
	names, err := s.dir.List(tailFolder)
	if err != nil {
		return err
	}
	for _, name := range names {
		number, ok := parseTailName(name)
		if strings.HasSuffix(name, temporarySuffix) {
			if err := s.removeLeftover(path.Join(tailFolder, name)); err != nil {
				return err
			}
		}
		if !ok {
			continue
		}
		switch s.catalog.stateOf(number) {
		case slotErased:
			if err := s.removeLeftover(tailName(number)); err != nil {
				return err
			}
			continue
		case slotSealed:
			open, err := s.sealed.acquire(number, false)
			if err == nil {
				s.sealed.release(open)
				if err := s.removeLeftover(tailName(number)); err != nil {
					return err
				}
				continue
			}
			if !errors.Is(err, ErrCorrupt) {
				return err
			}
		}
		t, report, err := recoverTail(s.dir, s.form, number, s.readOnly)
		if err != nil {
			return err
		}
		s.catalog.slotFor(number).state = slotTail
		s.catalog.tails[number] = t
		s.report.Tails = append(s.report.Tails, *report)
		if !s.readOnly {
			damageFound.Add(report.Damaged + min(report.Dropped, 1))
		}
	}
	return nil
}

// deriveBounds derives size, retention and last time from the loaded files, and seals full
// tails.
func (s *Store) deriveBounds() error {
	size, pruned := s.catalog.adoptedSize, true
	s.lastTime = math.MinInt64
	for n := range s.catalog.slots {
		slot := &s.catalog.slots[n]
		switch slot.state {
		case slotSealed, slotErased:
			size = max(size, s.form.firstLeaf(uint64(n)+1))
			s.lastTime = max(s.lastTime, slot.timeLast)
			if slot.state == slotSealed {
				s.report.Sealed++
			} else {
				s.report.Erased++
			}
		case slotTail:
			t := s.catalog.tails[uint64(n)]
			size = max(size, t.endIndex())
			s.lastTime = max(s.lastTime, t.latest.Load())
		}
		if pruned {
			gone := s.goneAtFront(uint64(n))
			s.oldest.Store(s.form.firstLeaf(uint64(n)) + gone)
			pruned = gone == s.form.leaves()
		}
	}
	s.size.Store(size)
	s.report.Size = size
	for _, t := range s.catalog.tails {
		if err := s.setRoot(t); err != nil {
			return err
		}
		if err := s.offerSeal(t); err != nil {
			return err
		}
	}
	return nil
}

// goneAtFront returns how many leaves at a segment's front are erased, as far as that is known
// without opening its file.
func (s *Store) goneAtFront(number uint64) uint64 {
	slot := &s.catalog.slots[number]
	switch slot.state {
	case slotErased:
		return s.form.leaves()
	case slotSealed:
		return uint64(slot.cut)
	case slotTail:
		return uint64(s.catalog.tails[number].erasedEnd())
	}
	return 0
}
