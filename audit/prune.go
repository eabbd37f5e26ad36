package audit

import "errors"

// Prune moves the retention: from now on leaves below oldest answer ErrPruned on
// this node, whatever is still on its disk. It is cheap and never moves back.
// The mark is not stored: after Open the caller gives it again, from the
// replicated state.
func (s *Store) Prune(oldest uint64) {
	for {
		have := s.oldest.Load()
		if oldest <= have || s.oldest.CompareAndSwap(have, oldest) {
			return
		}
	}
}

// Erase deletes up to limit segments whose leaves all lie below before and below
// Oldest, lowest first, and keeps their hashes. It returns how many it deleted;
// fewer than limit means that nothing is left to do. A duty calls it at leisure:
// it writes 2 MiB of hashes and syncs for every segment.
func (s *Store) Erase(before uint64, limit int) (int, error) {
	before = min(before, s.oldest.Load())
	numbers := s.erasable(before, limit)
	for erased, number := range numbers {
		if err := s.usable(); err != nil {
			return erased, err
		}
		if err := s.eraseSegment(number); err != nil {
			return erased, err
		}
		segmentsErased.Inc()
	}
	return len(numbers), nil
}

func (s *Store) erasable(before uint64, limit int) []uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var numbers []uint64
	for n := range s.shelf.slots {
		if len(numbers) == limit || s.form.first(uint64(n)+1) > before {
			break
		}
		if s.shelf.slots[n].state == slotSealed {
			numbers = append(numbers, uint64(n))
		}
	}
	return numbers
}

// eraseSegment makes the hash file durable, switches readers to it and removes
// the segment. Damage does not stop retention: if the hashes cannot be saved the
// leaves go all the same, and the hashes are asked of a peer.
func (s *Store) eraseSegment(number uint64) error {
	s.filing.Lock()
	defer s.filing.Unlock()
	var parts *segmentParts
	old, err := s.openSegment(number)
	if err == nil {
		bundles := uint64(s.form.bundles())
		err = s.fileSegment(number, hashSuffix, func(f File) (err error) {
			parts, err = writeErased(f, old, func(i int) ([]Hash, error) {
				return s.leafHashes(number*bundles + uint64(i))
			})
			if err == nil && parts.info.root != old.info.root {
				err = old.damage(0, "hashes do not lead to the segment's root")
			}
			return err
		})
		s.sealed.release(old)
	}
	switch {
	case err == nil:
		err = s.install(number, slotErased, &parts.info)
	case errors.Is(err, ErrCorrupt):
		s.mu.Lock()
		s.shelf.slots[number].state = slotAbsent
		s.mu.Unlock()
		s.sealed.forget(number)
		s.repaired(s.form.first(number), s.form.first(number+1))
		err = nil
	}
	if err != nil {
		return err
	}
	return s.dir.Remove(segmentName(number, segmentSuffix))
}
