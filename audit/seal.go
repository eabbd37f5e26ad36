package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// setRoot records the root of a tail that has just got its last leaf, and ignores other tails.
// Writer only.
func (s *Store) setRoot(t *tail) error {
	if t.absent > 0 || t.full.Load() {
		return nil
	}
	root := subtreeRoot(t.bundleRoot)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.catalog.setNode(s.form.level, t.number, root); err != nil {
		return err
	}
	slot := &s.catalog.slots[t.number]
	slot.timeFirst, slot.timeLast = t.times[0], t.times[len(t.times)-1]
	t.full.Store(true)
	return nil
}

// offerSeal hands a full tail to the sealer. If the sealer is behind, or the store seals
// inline, the writer seals the tail itself: that slows appends to the speed of sealing and
// bounds the backlog. It returns an error only if the disk is broken.
func (s *Store) offerSeal(t *tail) error {
	if !t.full.Load() {
		return nil
	}
	if s.inline || len(s.fullTails()) > sealBacklogMax {
		if err := s.sealTail(t, &pacer{}); errors.Is(err, ErrBroken) {
			return err
		}
		return nil
	}
	select {
	case s.sealWake <- struct{}{}:
	default: // The sealer was woken already and will find every full tail.
	}
	return nil
}

// fullTails lists the tails to be sealed, oldest first.
func (s *Store) fullTails() []*tail {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var full []*tail
	for _, t := range s.catalog.tails {
		if t.full.Load() {
			full = append(full, t)
		}
	}
	slices.SortFunc(full, func(a, b *tail) int { return int(int64(a.number) - int64(b.number)) })
	return full
}

// runSealer is the store's goroutine: it turns full tails into segments. A tail that cannot be
// sealed (a damaged frame, a full disk) stays readable. It is tried again when the next tail
// fills or the store is opened.
func (s *Store) runSealer() {
	defer close(s.sealDone)
	for range s.sealWake {
		for _, t := range s.fullTails() {
			if s.checkUsable() != nil {
				break
			}
			pace := &pacer{rest: sealRest, urgent: s.sealingIsUrgent, sync: func(f File) error { return s.markBroken(f.Sync()) }}
			_ = s.sealTail(t, pace) // sealTail has counted the error; a disk error has broken the store.
		}
	}
}

// sealingIsUrgent reports whether another tail is already full or the store closes.
func (s *Store) sealingIsUrgent() bool { return s.closed.Load() || len(s.fullTails()) > 1 }

// sealTail writes a full tail as a segment and removes the tail, in this order: it writes and
// syncs the segment, renames it, syncs the folders, switches readers, and removes the tail.
// After a crash at any point the tail, the segment or both exist, and Open takes the segment.
func (s *Store) sealTail(t *tail, pace *pacer) error {
	s.filing.Lock()
	defer s.filing.Unlock()
	s.mu.RLock()
	current := s.catalog.tails[t.number] == t
	s.mu.RUnlock()
	if !current || s.checkUsable() != nil {
		return nil // The segment was fetched from a peer in the meantime, or the store is closed.
	}
	cut, suffix := s.cutOf(t), segmentSuffix
	if cut == int(s.form.leaves()) {
		suffix = hashSuffix
	}
	var footer *segmentFooter
	var buffer tailBuffer
	err := s.fileSegment(t.number, suffix, func(f File) (err error) {
		if footer, err = writeSegment(f, s.form, t.number, cut, func(i int) (*bundleInput, error) { return t.readBundleInput(i, cut, &buffer) }, pace); err != nil {
			return err
		}
		if !slices.Equal(footer.nodes, t.bundleRoot) {
			return fmt.Errorf("BUG: segment %d sealed with another root", t.number)
		}
		return nil
	})
	if err != nil {
		sealErrors.Inc()
		return s.noteDamage(err)
	}
	segmentsSealed.Inc()
	return s.installSegment(t.number, &footer.info)
}

// cutOf returns how many leaves at a tail's front are sealed without their bytes: those past
// retention and those already erased.
func (s *Store) cutOf(t *tail) int {
	return max(s.form.leavesBelow(t.number, s.oldest.Load()), t.erasedEnd())
}

// fileSegment writes a file under a temporary name, makes it durable and renames it. An
// error of write leaves the store usable; any later error breaks it.
func (s *Store) fileSegment(number uint64, suffix string, write func(File) error) error {
	name := segmentName(number, suffix)
	f, err := s.dir.Create(name + temporarySuffix)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Close(), s.dir.Remove(name+temporarySuffix))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return s.markBroken(err)
	}
	if err := s.dir.Rename(name+temporarySuffix, name); err != nil {
		return s.markBroken(err)
	}
	return s.markBroken(syncPath(s.dir, name))
}

// installSegment switches readers to a durable segment or hash file, notes it in the
// index, and removes the tail it replaces, if any.
func (s *Store) installSegment(number uint64, info *segmentInfo) error {
	s.mu.Lock()
	err := s.catalog.setNode(s.form.level, number, info.root)
	var t *tail
	if err == nil {
		slot := s.catalog.slotFor(number)
		slot.state, slot.cut, slot.timeFirst, slot.timeLast = info.finalState(), uint32(info.cut), info.timeFirst, info.timeLast
		t = s.catalog.tails[number]
		delete(s.catalog.tails, number)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	s.sealed.dropSegment(number)
	bundles := uint64(s.form.bundles())
	s.bundles.dropRange(number*bundles, (number+1)*bundles)
	s.forgetDamage(s.form.firstLeaf(number), s.form.firstLeaf(number+1))
	record := indexRecord{number, info.cut, info.timeFirst, info.timeLast, info.root}
	s.noteIndex(&record)
	if err := s.renewFilter(number, info); err != nil {
		return err
	}
	// The removals are not synced: if a name comes back after a crash, Open removes it again.
	if info.erased {
		if err := s.dir.Remove(segmentName(number, segmentSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if t == nil {
		return nil
	}
	return errors.Join(t.close(), s.dir.Remove(t.name))
}

// renewFilter replaces a changed segment's filter in the file of all filters.
func (s *Store) renewFilter(number uint64, info *segmentInfo) error {
	if err := s.filters.forgetSegment(number); err != nil || info.erased {
		return err
	}
	if open, err := s.openSegment(number); err == nil { // If the segment is damaged, the next search reports that.
		s.filters.keepFilter(open)
		s.sealed.release(open)
	}
	return nil
}

const indexName = "segments.idx"

// noteIndex appends to the index. The index is a cache: Open reads from the segments what
// it lacks, so a failure here is not an error.
func (s *Store) noteIndex(r *indexRecord) {
	f, err := s.dir.Create(indexName)
	if err != nil {
		return
	}
	defer f.Close()
	if size, err := f.Size(); err == nil {
		_, _ = f.WriteAt(r.appendTo(nil), size-size%indexRecordSize)
	}
}
