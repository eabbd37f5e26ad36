package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"railguard/engine"
)

// A Screen record has a hand-written encoding, because the log holds millions of them and
// every node reads them on its one Apply goroutine. Every value has one encoding.
// docs/FORMATS.md has the layout.

// ErrScreen means bytes that AppendScreen has not written.
var ErrScreen = errors.New("screen record: broken")

// Bits of a screening record's flags.
const (
	screenIdem = 1 << iota
	screenAgent
	screenUser
	screenParty
	screenValid
	screenKey
	screenHold
	screenReference
	screenCounts
	screenCleared
	screenCauses
	screenPermit
	screenFlags = 1<<iota - 1
)

// AppendScreen writes the body of a screening record.
func AppendScreen(dst []byte, s *Screen) []byte {
	flags := s.flags()
	dst = binary.AppendUvarint(dst, flags)
	if s.Idem != nil {
		dst = appendIdem(dst, s.Idem)
	}
	if flags&screenKey != 0 {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(s.Key.Row)), uint64(s.Key.Rev))
	}
	if flags&screenAgent != 0 {
		dst = appendCredential(dst, uint32(s.Agent), s.Version, s.Expires)
	}
	if flags&screenUser != 0 {
		dst = appendCredential(dst, uint32(s.User), s.UserVersion, s.UserExpires)
	}
	if flags&screenParty != 0 {
		dst = append(dst, s.Party[:]...)
	}
	if flags&screenValid != 0 {
		dst = binary.AppendVarint(dst, int64(s.ValidUntil))
	}
	if flags&screenHold != 0 {
		dst = binary.AppendUvarint(dst, uint64(s.Hold))
	}
	if flags&screenPermit != 0 {
		dst = binary.AppendUvarint(dst, uint64(s.Permit))
	}
	if flags&screenReference != 0 {
		dst = binary.AppendUvarint(binary.AppendUvarint(append(dst, s.Reference[:]...), s.Used.Looked), s.Used.By)
	}
	if flags&screenCauses != 0 {
		dst = append(dst, byte(len(s.Causes)))
		for _, cause := range s.Causes {
			dst = binary.AppendUvarint(dst, uint64(cause))
		}
	}
	dst = binary.AppendVarint(dst, int64(s.Amount))
	dst = binary.AppendUvarint(dst, uint64(s.Mask))
	dst = append(append(dst, byte(len(s.Subs))), s.Subs...)
	dst = binary.AppendUvarint(dst, s.Basis.List)
	dst = binary.AppendUvarint(dst, s.Basis.Policy)
	dst = binary.AppendUvarint(dst, uint64(s.Basis.Matcher))
	dst = binary.AppendUvarint(dst, uint64(s.Basis.Rules))
	dst = binary.LittleEndian.AppendUint64(dst, s.Basis.Revs)
	if flags&screenCleared != 0 {
		dst = binary.AppendUvarint(dst, s.Basis.Cleared)
	}
	dst = append(dst, byte(len(s.Filters)))
	for _, key := range s.Filters {
		dst = binary.LittleEndian.AppendUint64(dst, key)
	}
	return append(dst, s.Fragment...)
}

func (s *Screen) flags() (flags uint64) {
	if s.Idem != nil {
		flags |= screenIdem
	}
	if s.Agent != 0 || s.Version != 0 || s.Expires != 0 {
		flags |= screenAgent
	}
	if s.User != 0 || s.UserVersion != 0 || s.UserExpires != 0 {
		flags |= screenUser
	}
	if s.Party != (engine.PartyKey{}) {
		flags |= screenParty
	}
	if s.ValidUntil != 0 {
		flags |= screenValid
	}
	if s.Key != (KeyRef{}) {
		flags |= screenKey
	}
	if s.Hold != 0 {
		flags |= screenHold
	}
	if s.Permit != 0 {
		flags |= screenPermit
	}
	if s.Reference != (engine.ReferenceKey{}) {
		flags |= screenReference
	}
	if s.Counts {
		flags |= screenCounts
	}
	if s.Basis.Cleared != 0 {
		flags |= screenCleared
	}
	if len(s.Causes) > 0 {
		flags |= screenCauses
	}
	return flags
}

func appendIdem(dst []byte, idem *Idem) []byte {
	dst = append(append(dst, idem.Key[:]...), idem.Body[:]...)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, idem.Looked), idem.Found)
	if idem.Found == 0 {
		return dst
	}
	differs := byte(0)
	if idem.Differs {
		differs = 1
	}
	return append(binary.AppendVarint(dst, int64(idem.FoundAt)), differs)
}

func readIdem(r *Reader) *Idem {
	idem := new(Idem)
	r.Fill(idem.Key[:])
	r.Fill(idem.Body[:])
	if idem.Looked, idem.Found = r.Unsigned(), r.Unsigned(); idem.Found != 0 {
		idem.FoundAt = engine.Time(r.Signed())
		idem.Differs = r.Limited(1) == 1
	}
	return idem
}

func appendCredential(dst []byte, slot uint32, version uint16, expires engine.Time) []byte {
	dst = binary.AppendUvarint(dst, uint64(slot))
	dst = binary.AppendUvarint(dst, uint64(version))
	return binary.AppendVarint(dst, int64(expires))
}

// DecodeScreen reads a screening record. Fragment and Subs alias data; Filters
// and Causes reuse s's memory.
func DecodeScreen(data []byte, s *Screen) error {
	filters, causes := s.Filters[:0], s.Causes[:0]
	*s = Screen{}
	r := NewReader(data)
	flags := r.Limited(screenFlags)
	if flags&screenIdem != 0 {
		s.Idem = readIdem(&r)
	}
	if flags&screenKey != 0 {
		s.Key = KeyRef{Row: uint32(r.Limited(1<<32 - 1)), Rev: uint32(r.Limited(1<<32 - 1))}
	}
	if flags&screenAgent != 0 {
		slot, version, expires := readCredential(&r)
		s.Agent, s.Version, s.Expires = engine.AgentSlot(slot), version, expires
	}
	if flags&screenUser != 0 {
		slot, version, expires := readCredential(&r)
		s.User, s.UserVersion, s.UserExpires = engine.UserSlot(slot), version, expires
	}
	if flags&screenParty != 0 {
		r.Fill(s.Party[:])
	}
	if flags&screenValid != 0 {
		s.ValidUntil = engine.Time(r.Signed())
	}
	if flags&screenHold != 0 {
		s.Hold = uint32(r.Limited(1<<32 - 1))
	}
	if flags&screenPermit != 0 {
		s.Permit = uint32(r.Limited(1<<32 - 1))
	}
	if flags&screenReference != 0 {
		r.Fill(s.Reference[:])
		s.Used = Used{r.Unsigned(), r.Unsigned()}
	}
	if flags&screenCauses != 0 {
		count := r.Byte()
		if count > CausesMost {
			r.Fail()
			count = 0
		}
		for range count {
			causes = append(causes, Cause(r.Unsigned()))
		}
		s.Causes = causes
	}
	s.Counts = flags&screenCounts != 0
	s.Amount = engine.USD(r.Signed())
	s.Mask = uint32(r.Limited(1<<32 - 1))
	if subs := r.Take(uint64(r.Byte())); len(subs) > 0 {
		s.Subs = subs
	}
	s.Basis.List, s.Basis.Policy = r.Unsigned(), r.Unsigned()
	s.Basis.Matcher, s.Basis.Rules = uint16(r.Limited(1<<16-1)), uint16(r.Limited(1<<16-1))
	s.Basis.Revs = r.Word()
	if flags&screenCleared != 0 {
		s.Basis.Cleared = r.Unsigned()
	}
	for range r.Byte() {
		filters = append(filters, r.Word())
	}
	if len(filters) > 0 {
		s.Filters = filters
	}
	s.Fragment = r.Rest()
	if r.Broken() || s.flags() != flags {
		return fmt.Errorf("%w: %d bytes", ErrScreen, len(data))
	}
	return nil
}

func readCredential(r *Reader) (slot uint32, version uint16, expires engine.Time) {
	return uint32(r.Limited(1<<32 - 1)), uint16(r.Limited(1<<16 - 1)), engine.Time(r.Signed())
}
