package audit

import (
	"errors"
	"fmt"
)

// Prune moves the retention mark: from now on this node answers ErrPruned for leaves below
// oldest, even if they are still on its disk. It is cheap and never moves back. The mark is
// not stored: after Open the caller gives it again, from the replicated state.
func (s *Store) Prune(oldest uint64) {
	for {
		have := s.oldest.Load()
		if oldest <= have || s.oldest.CompareAndSwap(have, oldest) {
			return
		}
	}
}

// Erase deletes the bytes and filter keys of all leaves below before and below Oldest, and
// keeps their hashes. It goes through up to limit segments, lowest first. A segment wholly
// past retention becomes its hash file; one that is past it in part is cut; a tail is written
// again without the erased leaves. Erase returns how many segments it went through; if fewer
// than limit, nothing is left to do. It writes and syncs a file for every segment, so no
// caller of the API should wait for it.
func (s *Store) Erase(before uint64, limit int) (int, error) {
	before = min(before, s.oldest.Load())
	numbers := s.segmentsToErase(before, limit)
	for erased, number := range numbers {
		if err := s.checkUsable(); err != nil {
			return erased, err
		}
		if err := s.eraseUpTo(number, before); err != nil {
			return erased, fmt.Errorf("segment %d: %w", number, err)
		}
		segmentsErased.Inc()
	}
	return len(numbers), nil
}

func (s *Store) segmentsToErase(before uint64, limit int) []uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var numbers []uint64
	for n := range s.catalog.slots {
		number := uint64(n)
		if len(numbers) == limit || s.form.firstLeaf(number) >= before {
			break
		}
		slot, cut := &s.catalog.slots[n], s.form.leavesBelow(number, before)
		t := s.catalog.tails[number]
		if slot.state == slotSealed && int(slot.cut) < cut || t != nil && t.hasTextBelow(cut) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// eraseUpTo erases the leaves of one segment that lie below an index.
func (s *Store) eraseUpTo(number, before uint64) error {
	cut := s.form.leavesBelow(number, before)
	if cut == 0 {
		return nil
	}
	if t, _ := s.acquireTail(number); t != nil {
		full := t.full.Load()
		t.release()
		if full { // Sealing leaves out the erased leaves; if it fails, the tail is cut.
			if err := s.sealTail(t, &pacer{}); errors.Is(err, ErrBroken) {
				return err
			}
		}
	}
	s.filing.Lock()
	defer s.filing.Unlock()
	t, state := s.acquireTail(number)
	switch {
	case t != nil:
		defer t.release()
		return s.eraseTail(t, cut)
	case state == slotSealed:
		return s.eraseSealed(number, cut)
	}
	return nil
}

// eraseSealed replaces a segment by its hash file, or by the segment without its first leaves,
// and switches readers to the new file. Damage does not stop retention: if the hashes cannot
// be saved, the leaves are removed all the same and the hashes are fetched from a peer. The
// caller holds filing.
func (s *Store) eraseSealed(number uint64, cut int) error {
	old, err := s.openSegment(number)
	if err == nil {
		defer s.sealed.release(old)
		if old.info.firstKept() >= cut { // The file was cut already, but the index did not say so.
			return s.installSegment(number, old.info)
		}
		err = s.replaceSegment(old, cut)
	}
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	if cut < int(s.form.leaves()) && old != nil {
		return err
	}
	s.mu.Lock()
	slot := &s.catalog.slots[number]
	slot.state, slot.cut = slotAbsent, 0
	s.mu.Unlock()
	s.sealed.dropSegment(number)
	s.forgetDamage(s.form.firstLeaf(number), s.form.firstLeaf(number+1))
	return s.dir.Remove(segmentName(number, segmentSuffix))
}

func (s *Store) replaceSegment(old *openSegment, cut int) error {
	suffix := segmentSuffix
	if cut == int(s.form.leaves()) {
		suffix = hashSuffix
	}
	var footer *segmentFooter
	err := s.fileSegment(old.number, suffix, func(f File) (err error) {
		footer, err = writeCut(f, old, cut, func(i int) ([]Hash, error) {
			return s.leafHashes(old.info.first/BundleLeaves + uint64(i))
		})
		if err == nil && footer.info.root != old.info.root {
			err = old.newDamage(0, "hashes do not lead to the segment's root")
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.installSegment(old.number, &footer.info)
}
