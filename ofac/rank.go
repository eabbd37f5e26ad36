package ofac

import "slices"

// Matches that lead to the same and score alike are ordered by evidence: first what
// the context agrees with, then entries of the SDN list, then strong names whose
// words are rare among the entries, then entries under more programmes, then by id.
// Evidence orders; it never changes what a match leads to.

const (
	agreesEvidence  = 1_000_000 // for each thing of the context that agrees
	differsEvidence = -500_000  // and for each that differs
	sdnEvidence     = 100_000
	rareEvidence    = 1 // times the weight of the words, at most
	rareMost        = 80_000
	programEvidence = 10
	programsMost    = 100
)

// evidenceOf weighs a hit among its equals.
func (x *Index) evidenceOf(h *hit, q *Query) int32 {
	entity, next := x.entity(h.entity), x.entity(h.entity+1)
	evidence := int32(0)
	for _, agreement := range x.agreements(h.entity, &q.Context) {
		if agreement.Agrees {
			evidence += agreesEvidence
		} else {
			evidence += differsEvidence
		}
	}
	if entity.lists&ListSDN != 0 {
		evidence += sdnEvidence
	}
	rare := int32(0)
	for i := x.words.tokenOffsets.at(h.name); i < x.words.tokenOffsets.at(h.name+1); i++ {
		if token := readNameToken(x.words.tokens[uint64(i)*nameTokenBytes:]); token.count == 1 {
			rare += token.weight
		}
	}
	evidence += min(rare, rareMost) * rareEvidence
	return evidence + int32(min(next.sublists-entity.programs, programsMost))*programEvidence
}

// breakTies orders the first hits that lead to the same and score alike.
func (x *Index) breakTies(q *Query, hits []hit) {
	for start := 0; start < min(len(hits), matchesMax); {
		end := start + 1
		for end < len(hits) && hits[end].outcome == hits[start].outcome && hits[end].score == hits[start].score {
			end++
		}
		if tied := hits[start:end]; len(tied) > 1 {
			for i := range tied {
				tied[i].evidence = x.evidenceOf(&tied[i], q)
			}
			slices.SortStableFunc(tied, func(a, b hit) int { return int(b.evidence) - int(a.evidence) })
		}
		start = end
	}
}
