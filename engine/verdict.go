package engine

// Verdict is the answer of a screening call.
type Verdict uint8

// The four verdicts of the specification, section 1.
const (
	Proceed Verdict = iota
	Review
	Block
	Unknown
)

// String returns the word of the specification.
func (v Verdict) String() string {
	switch v {
	case Proceed:
		return "PROCEED"
	case Review:
		return "REVIEW"
	case Block:
		return "BLOCK"
	case Unknown:
		return "UNKNOWN"
	}
	return "INVALID"
}

// Status is a credential's status (specification 3.1).
type Status uint8

// The statuses. Expired is derived from time and never stored in a row.
const (
	Active Status = iota
	Suspended
	Revoked
	Expired
)

// String returns the word of the specification.
func (s Status) String() string {
	switch s {
	case Active:
		return "ACTIVE"
	case Suspended:
		return "SUSPENDED"
	case Revoked:
		return "REVOKED"
	case Expired:
		return "EXPIRED"
	}
	return "INVALID"
}

// RuleID is a rule's number, from 1 on. 0 is ALL_CLEAR: no rule decided.
type RuleID uint8

// RuleBits is the number of bits in a mask of rules; every rule's number is below it. It is
// part of the layout of profiles and records. The rule set says which rules there are.
const RuleBits = 32

// Sub is the sub-reason of a hit. 0 is no hit, 1 the rule's plain reason, and higher numbers
// choose another fixed text of the rule ("chosen, not formatted").
type Sub uint8

// Hits says which rules fired: bit n of Mask is rule Rn, and Subs[n] its sub-reason. The edge
// sends its hits to the log.
type Hits struct {
	Mask uint32
	Subs [RuleBits]Sub

	// ListStale says that R21 fired because of the list's age (SubListStale), perhaps among
	// other reasons. The mode of R21 does not apply then.
	ListStale bool

	// Unproven says that R22 fired because the call does not prove the agent's key (SubUnproven),
	// perhaps among other reasons. The mode of R22 does not apply to this reason.
	Unproven bool
}

// Add records a hit of rule id. A zero sub is no hit.
func (h *Hits) Add(id RuleID, sub Sub) {
	if sub == 0 {
		return
	}
	h.Mask |= 1 << id
	h.Subs[id] = sub
	h.Unproven = h.Unproven || id == RuleAttestation && sub == SubUnproven
}

// Has reports whether rule id fired.
func (h *Hits) Has(id RuleID) bool { return h.Mask&(1<<id) != 0 }

// Leave takes the hits of some rules out; bit n of the mask is rule Rn.
func (h *Hits) Leave(mask uint32) {
	h.Mask &^= mask
	for id := RuleID(1); id < RuleBits; id++ {
		if mask&(1<<id) != 0 {
			h.Subs[id] = 0
		}
	}
	h.Unproven = h.Unproven && mask&(1<<RuleAttestation) == 0
	h.ListStale = h.ListStale && mask&(1<<RulePossibleName) == 0
}

// Merge adds the hits of other. If both have a rule, h keeps its own sub-reason; that the key is not
// proven is told by Unproven too, so the other one holds.
func (h *Hits) Merge(other *Hits) {
	for id := RuleID(1); id < RuleBits; id++ {
		if other.Has(id) && (!h.Has(id) || id == RuleAttestation && h.Subs[id] == SubUnproven) {
			h.Add(id, other.Subs[id])
		}
	}
	h.ListStale = h.ListStale || other.ListStale
}
