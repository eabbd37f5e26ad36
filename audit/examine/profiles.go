package examine

import (
	"fmt"

	"railguard/audit/note"
	"railguard/fsm/leaf"
)

// profiles holds the proven profile leaves that a later record may name. These are the
// profiles of the day being read, because a record names only profiles of its own day.
type profiles struct {
	day    string // UTC date.
	byLeaf map[uint64]profile
}

type profile struct {
	hash note.Hash
	data []byte
}

// keepProfile remembers a proven profile, and forgets those of earlier days.
func (p *profiles) keepProfile(r *Record) {
	const date = len("2006-01-02")
	if len(r.Time) >= date && r.Time[:date] != p.day {
		p.day, p.byLeaf = r.Time[:date], nil
	}
	if leaf.FormOf(r.stored) != leaf.FormProfile {
		return
	}
	if p.byLeaf == nil {
		p.byLeaf = map[uint64]profile{}
	}
	p.byLeaf[r.Index] = profile{r.Hash, r.stored}
}

// loadProfile returns the profile that a record names; nil if it was not proven.
func (p *profiles) loadProfile(ref leaf.Ref) []byte {
	if known, ok := p.byLeaf[ref.Leaf]; ok && known.hash == ref.Hash {
		return known.data
	}
	return nil
}

// verifyProfiles verifies the profiles beside a screening record. It returns an error if one
// that the record names is neither there nor proven earlier in the file.
func (x *examiner) verifyProfiles(e *envelope, index uint64, data []byte) error {
	if leaf.FormOf(data) != leaf.FormScreen {
		return nil
	}
	var s leaf.Screen
	if err := leaf.DecodeScreen(data, &s); err != nil {
		return fmt.Errorf("%w: record %d: its bytes are of no form that this program can read", ErrRelease, index)
	}
	return x.verifyNamed(e, index, &s)
}

// verifyNamed verifies the profiles that a judgement names.
func (x *examiner) verifyNamed(e *envelope, index uint64, s *leaf.Screen) error {
	for _, named := range [...]struct {
		name string
		ref  leaf.Ref
	}{{"profile", s.Profile}, {"userProfile", s.User}} {
		if err := x.verifyProfile(e.takeObject(named.name), index, named.name, named.ref); err != nil {
			return err
		}
	}
	if e.err != nil {
		return fmt.Errorf("%w: record %d: %w", ErrFormat, index, e.err)
	}
	return nil
}

func (x *examiner) verifyProfile(inner *envelope, index uint64, name string, ref leaf.Ref) error {
	none := ref.Hash == [32]byte{}
	switch {
	case inner == nil && (none || x.profiles.loadProfile(ref) != nil):
		return nil
	case inner == nil:
		return fmt.Errorf("%w: record %d names the %s %d, which is not here", ErrProof, index, name, ref.Leaf)
	case none:
		return fmt.Errorf("%w: a %s stands beside record %d, which names none", ErrProof, name, index)
	}
	at := inner.takeNumber("index")
	if inner.err == nil && at != ref.Leaf {
		return fmt.Errorf("%w: record %d names the %s %d, beside it stands %d", ErrProof, index, name, ref.Leaf, at)
	}
	record, err := x.verifyLeaf(inner, at)
	if err == nil {
		err = inner.refuseRest()
	}
	if err != nil {
		return fmt.Errorf("%s of record %d: %w", name, index, err)
	}
	if leaf.FormOf(record.stored) != leaf.FormProfile || record.Hash != ref.Hash {
		return fmt.Errorf("%w: the %s beside record %d is not the one it names", ErrProof, name, index)
	}
	return nil
}
