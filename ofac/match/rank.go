package match

import (
	"slices"

	"railguard/ofac/index"
)

// Matches that lead to the same and score alike are ordered by evidence: first what
// the context agrees with, then entries of a core source, then primary names before
// aliases, then names whose words are rare among the entries, then entries under
// more programmes, then by id.
// Evidence orders; it never changes what a match leads to.

const (
	agreesEvidence  = 1_000_000 // for each thing of the context that agrees
	differsEvidence = -500_000  // and for each that differs
	coreEvidence    = 200_000
	primaryEvidence = 90_000
	rareMost        = 80_000 // the weight of the name's words, at most
	programEvidence = 10
	programsMost    = 100
)

// evidenceOf weighs a hit among its equals.
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
	evidence += min(x.weightOfName(h.name), rareMost)
	return evidence + int32(min(next.Sublists-entity.Programs, programsMost))*programEvidence
}

// weightOfName is how much the words of a listed name weigh together.
func (x *Index) weightOfName(name uint32) int32 {
	weight := int32(0)
	for _, row := range x.Words.TokensOf(name) {
		if token := row.Read(); token.Count == 1 {
			weight += token.Weight
		}
	}
	return weight
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
