package retrace

import (
	"crypto/sha256"

	"railguard/engine"
)

// seenMost bounds how many counterparties are remembered, at some 40 bytes each.
const seenMost = 1 << 19

// seen remembers the counterparties of a run that led to nobody, so that the many
// records that pay the same ones ask the list once. It is the leader's own and only
// saves work: it is dropped when it is full, and when an answer could be another.
type seen struct {
	basis   basis
	parties map[[16]byte]struct{}
}

// basis is what an answer about a counterparty rests on, besides the counterparty.
type basis struct {
	lists  lists
	policy *engine.Policy
}

// party is what the list is asked about a record.
type party struct {
	name, kind, wallet string
	cons               bool // The payer counts possible matches of other lists than the SDN.
}

func partyOf(c *Case) party {
	p := party{name: c.request.Name, kind: c.request.Type, wallet: c.request.Wallet}
	for i := range c.Facts.ChainSize {
		p.cons = p.cons || c.Facts.Chain[i].Policy.CONS
	}
	return p
}

// key is half a SHA-256 of all that is asked: who pays under a name of their own
// choosing must not be able to pass for another.
func (p *party) key() (key [16]byte) {
	var room [512]byte
	data := append(room[:0], p.name...)
	data = append(append(data, 0xff), p.kind...) // No text holds the byte 0xff.
	data = append(append(data, 0xff), p.wallet...)
	if p.cons {
		data = append(data, 0xff)
	}
	sum := sha256.Sum256(data)
	copy(key[:], sum[:])
	return key
}

// useBasis makes a basis the current one, and drops what was remembered under another.
func (s *seen) useBasis(b basis) {
	if s.basis != b {
		s.dropAll()
		s.basis = b
	}
}

// dropAll drops everything, lists included.
func (s *seen) dropAll() { *s = seen{} }

func (s *seen) leadsToNobody(p party) bool {
	_, known := s.parties[p.key()]
	return known
}

func (s *seen) addParty(p party) {
	if s.parties == nil || len(s.parties) >= seenMost {
		s.parties = map[[16]byte]struct{}{}
	}
	s.parties[p.key()] = struct{}{}
}
