package engine

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Possession says whether calls of an agent must prove that they have the agent's own key. Higher is
// stricter.
type Possession uint8

// The levels.
const (
	PossessionOff      Possession = iota
	PossessionReview              // A call without a proof is reviewed: R22.
	PossessionRequired            // A call without a proof has no credential: R1.
)

var possessionWords = [...]string{PossessionOff: "off", PossessionReview: "review", PossessionRequired: "required"}

// String returns the word of the API.
func (p Possession) String() string { return possessionWords[p] }

// ParsePossession returns the level of a word; false for any other text.
func ParsePossession(word string) (Possession, bool) {
	at := slices.Index(possessionWords[:], word)
	return Possession(max(at, 0)), at >= 0
}

// The bounds of possession.maxAge: for how long a proof is good. The most is below the five minutes
// for which the log at least remembers Idempotency-Keys, because the id of a proof is one.
const (
	ProofAgeLeast = 30 * Second
	ProofAgeUsual = 120 * Second
	ProofAgeMost  = 300 * Second
)

// PossessionPolicy is the policy's member possession.
type PossessionPolicy struct {
	Default   Possession           `cbor:"1,keyasint,omitempty"`
	Operators []OperatorPossession `cbor:"2,keyasint,omitempty"` // By id, ascending.
	AgeMost   Time                 `cbor:"3,keyasint,omitempty"` // 0: ProofAgeUsual.
}

// OperatorPossession is the level of all agents of one operator, where it is above the default.
type OperatorPossession struct {
	Operator string     `cbor:"1,keyasint"` // opr_…
	Level    Possession `cbor:"2,keyasint"`
}

// Sound reports whether the levels are known, and the operators in order.
func (p *PossessionPolicy) Sound() bool {
	if p == nil {
		return true
	}
	for i, of := range p.Operators {
		if of.Level > PossessionRequired || i > 0 && p.Operators[i-1].Operator >= of.Operator {
			return false
		}
	}
	return p.Default <= PossessionRequired && p.AgeMost >= 0
}

// For keeps what concerns the agents of one operator: the records of others need not hold it.
func (p *PossessionPolicy) For(operator string) *PossessionPolicy {
	if p == nil || len(p.Operators) == 0 {
		return p
	}
	reduced := *p
	reduced.Operators = nil
	if at, found := slices.BinarySearchFunc(p.Operators, operator, compareOperator); found {
		reduced.Operators = p.Operators[at : at+1]
	}
	return &reduced
}

// ProofAge returns how old a proof may be.
func (p *Policy) ProofAge() Time {
	if p.Possession == nil || p.Possession.AgeMost == 0 {
		return ProofAgeUsual
	}
	return p.Possession.AgeMost
}

// PossessionOf returns what the policy wants of the agents of an operator, by its id.
func (p *Policy) PossessionOf(operator string) Possession {
	if p == nil || p.Possession == nil {
		return PossessionOff
	}
	level := p.Possession.Default
	if at, found := slices.BinarySearchFunc(p.Possession.Operators, operator, compareOperator); found {
		level = max(level, p.Possession.Operators[at].Level)
	}
	return level
}

func compareOperator(of OperatorPossession, operator string) int {
	return cmp.Compare(of.Operator, operator)
}

// EffectivePossession returns the strictest of what the policy wants of an agent of that operator and
// of what the agent and its ancestors have set.
func (p *Policy) EffectivePossession(operator string, chain []*AgentProfile) Possession {
	level := p.PossessionOf(operator)
	for _, profile := range chain {
		level = max(level, profile.Settings.Possession)
	}
	return level
}

// possession is EffectivePossession of the judged call.
func (f *Facts) possession() Possession {
	return f.Policy.EffectivePossession(f.OperatorID, f.Chain[:f.ChainSize])
}

// DemandProof takes a call without a proof for one without a credential, where one is required.
func (f *Facts) DemandProof() {
	if f.Token == TokenGood && !f.Proven && f.possession() == PossessionRequired {
		f.Token = TokenProofMissing
	}
}

// readPossession reads {"default":"off|review|required","operators":{"opr_…":"required"},"maxAge":"120s"}.
func (r *documentReader) readPossession(param string, value json.RawMessage) *PossessionPolicy {
	of := new(PossessionPolicy)
	r.readMembers(param, value, func(name, path string, value json.RawMessage) {
		switch name {
		case "default":
			of.Default = Possession(r.readChoice(path, value, possessionWords[:]...))
		case "operators":
			r.readMembers(path, value, func(name, path string, value json.RawMessage) {
				if len(of.Operators) == operatorsPossessingMax {
					r.addError(path, "is one operator too many")
					return
				}
				if !strings.HasPrefix(name, "opr_") {
					r.addError(path, "must be the id of an operator (opr_...)")
				}
				of.Operators = append(of.Operators, OperatorPossession{name, Possession(r.readChoice(path, value, possessionWords[:]...))})
			})
		case "maxAge":
			of.AgeMost = r.readDuration(path, value, ProofAgeLeast, ProofAgeMost)
		default:
			r.addUnknown(path)
		}
	})
	if of.Default == PossessionOff && len(of.Operators) == 0 && (of.AgeMost == 0 || of.AgeMost == ProofAgeUsual) {
		return nil // As if nothing were said.
	}
	slices.SortFunc(of.Operators, func(a, b OperatorPossession) int { return cmp.Compare(a.Operator, b.Operator) })
	return of
}

// operatorsPossessingMax bounds possession.operators.
const operatorsPossessingMax = 1000

// possessionWider names the members of possession in which new demands less than old.
func possessionWider(old, new *Policy) (wider []string) {
	if new.PossessionOf("") < old.PossessionOf("") {
		wider = append(wider, "possession.default")
	}
	if old.Possession != nil {
		for _, of := range old.Possession.Operators {
			if new.PossessionOf(of.Operator) < old.PossessionOf(of.Operator) {
				wider = append(wider, "possession.operators."+of.Operator)
			}
		}
	}
	if new.ProofAge() > old.ProofAge() {
		wider = append(wider, "possession.maxAge")
	}
	return wider
}
