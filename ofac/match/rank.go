package match

import (
	"slices"

	"railguard/ofac/index"
)

// Matches with the same outcome and score are ordered by evidence: first agreement with the
// context, then entries of a core source, then primary names before aliases, then names
// with rare words, then entries under more programmes, then by id. Evidence never changes
// an outcome.

const (
	agreesEvidence  = 1_000_000 // for each fact of the context that agrees
	differsEvidence = -500_000  // for each fact of the context that differs
	coreEvidence    = 200_000
	primaryEvidence = 90_000
	rareMost        = 80_000 // greatest evidence of the bits of the name's words
	programEvidence = 10
	programsMost    = 100
)

// evidenceOf adds up the evidence of a hit.
func (x *Index) evidenceOf(h *hit, q *Query) int32 {
	entity, next := x.EntityAt(h.entity), x.EntityAt(h.entity+1)
	evidence := int32(0)
	for _, agreement := range x.agreementsOf(h.entity, &q.Context) {
		if agreement.Agrees {
			evidence += agreesEvidence
		} else {
			evidence += differsEvidence
		}
	}
	if entity.Lists.Core() {
		evidence += coreEvidence
	}
	if x.NameAt(h.name).Flags&index.NamePrimary != 0 {
		evidence += primaryEvidence
	}
	evidence += min(x.bitsOfName(h.name), rareMost)
	return evidence + int32(min(next.Sublists-entity.Programs, programsMost))*programEvidence
}

// bitsOfName is the sum of the bits of a listed name's words.
func (x *Index) bitsOfName(name uint32) int32 {
	said := int32(0)
	for _, row := range x.Words.TokensOf(name) {
		if token := row.Read(); token.Count == 1 {
			said += token.Weight
		}
	}
	return said
}

// breakTies orders by evidence the hits with the same outcome and score, as far as they may
// be among the first matchesMax.
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
