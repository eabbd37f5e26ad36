package audit

import "errors"

// noteDamage remembers which bundle a DamageError names, so that Missing asks
// peers for it. Any error passes through.
func (s *Store) noteDamage(err error) error {
	damage := asDamage(err)
	if damage == nil {
		return err
	}
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	for b := damage.First / BundleLeaves; b <= damage.Last/BundleLeaves && len(s.damaged) < damagedMax; b++ {
		if s.damaged[b] == nil {
			s.damaged[b] = damage
			damageFound.Inc()
		}
	}
	return err
}

// isDamaged reports whether a leaf lies in a bundle that is known to be damaged.
func (s *Store) isDamaged(index uint64) bool {
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	return len(s.damaged) > 0 && s.damaged[index/BundleLeaves] != nil
}

// forgetDamage forgets the damage in the leaves [first, end).
func (s *Store) forgetDamage(first, end uint64) {
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	for b := range s.damaged {
		if b*BundleLeaves >= first && b*BundleLeaves < end {
			delete(s.damaged, b)
		}
	}
}

// Damage lists the damage found since Open, one error for each bundle.
func (s *Store) Damage() []*DamageError {
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	out := make([]*DamageError, 0, len(s.damaged))
	for _, d := range s.damaged {
		out = append(out, d)
	}
	return out
}

func asDamage(err error) *DamageError {
	var damage *DamageError
	errors.As(err, &damage)
	return damage
}
