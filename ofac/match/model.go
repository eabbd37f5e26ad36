package match

import (
	"math/bits"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// The evidence that a name means a listed party is a sum of log-likelihood ratios, in hundredths of a
// bit: how much more likely the words that were written are if the listed party was meant than if
// anybody was. A word of both names adds as many bits as it is rare, less what its slip costs. A word
// of one name alone costs the bits by which people seldom leave it out, or add it.

// evidenceOfWords is the sum for one listed name, and its parts for the explanation.
type evidenceParts struct {
	gains  int32
	losses int32
}

// sumEvidence returns the bits of a listed name whose words were paired with those of the query.
func (m *comparison) sumEvidence(c *scorer, l *index.WordLayer, record *index.NameRecord, kind list.EntityType) int32 {
	person := m.isPerson()
	t := m.tune
	total := int32(0)
	for k := range m.taken {
		total += m.gainOf(&m.made[k], c, l, person)
	}
	if total > t.GainMost {
		total = t.GainMost + (total-t.GainMost)*t.GainBeyond/100
	}
	loss, missing, surplus := int32(0), 0, 0
	if person {
		loss, missing, surplus = m.lossOfPerson(c, l)
	} else {
		loss, missing, surplus = m.lossOfOther(c, l)
	}
	total -= loss
	if missing == 0 {
		switch {
		case person && surplus == 0 && m.pairs > 1:
			total += t.WholePerson
		case !person && surplus == 0:
			total += t.WholeOther
		case !person:
			total += t.WholeListed
		}
	}
	switch {
	case kind == list.Individual && c.forms != 0:
		total -= t.PersonForm
	case kind == list.Individual:
	case c.forms.Kin() != 0 && c.forms.Kin() == record.Forms.Kin():
		total += t.SameForm
	case c.forms.Contradicts(record.Forms):
		total -= t.OtherForm
	}
	return total
}

// gainOf returns the bits of one pair.
func (m *comparison) gainOf(p *pair, c *scorer, l *index.WordLayer, person bool) int32 {
	t := m.tune
	if p.kind == pairInitial {
		return t.Initial
	}
	if p.kind == pairForm {
		return 0
	}
	said := int32(0)
	for k := range m.count {
		if p.listed&(1<<k) != 0 {
			record := l.Word(m.tokens[k].Word)
			said += m.bitsOf(&record, l, person)
		}
	}
	if p.similarity == text.ScoreOne {
		return said
	}
	written := int32(0)
	for i := range c.count {
		if p.query&(1<<i) != 0 {
			written += c.bitsOf(i, person)
		}
	}
	known := false
	for i := range c.count {
		known = known || p.query&(1<<i) != 0 && (c.list[i].known || c.list[i].ordinary)
	}
	if known {
		said = min(said, written)
	}
	slip := int32(0)
	switch {
	case p.similarity >= text.SameSpelling && m.sameGroup(p, c, l):
		slip = t.SlipGroup
	case p.similarity >= text.SameSpelling:
		slip = t.SlipFold
	default:
		slip = t.SlipBase + (text.ScoreOne-p.similarity)*t.SlipSlope/text.ScoreOne
		if known {
			slip += t.SlipKnown
		}
		if bits.OnesCount32(p.listed)+bits.OnesCount32(p.query) > 2 {
			slip += t.SlipJoined
		}
	}
	return said - slip
}

func (m *comparison) bitsOf(record *index.WordRecord, l *index.WordLayer, person bool) int32 {
	return record.BitsOf(person)
}

// anySyllable tells whether a word of the listed name is one Chinese or Korean syllable.
func (m *comparison) anySyllable(l *index.WordLayer) bool {
	for i := range m.count {
		if l.Word(m.tokens[i].Word).Flags&index.WordSyllable != 0 {
			return true
		}
	}
	return false
}

// sameGroup tells whether a pair is two words of one group of respellings.
func (m *comparison) sameGroup(p *pair, c *scorer, l *index.WordLayer) bool {
	i, k := bits.TrailingZeros32(p.query), bits.TrailingZeros32(p.listed)
	return c.list[i].group != 0 && c.list[i].group == uint32(l.Word(m.tokens[k].Word).Group)
}

func (c *scorer) bitsOf(i int, person bool) int32 {
	if person {
		return c.list[i].bitsPerson
	}
	return c.list[i].bitsOther
}

// lossOfPerson returns what the words of one side alone cost.
func (m *comparison) lossOfPerson(c *scorer, l *index.WordLayer) (loss int32, missing, surplus int) {
	t := m.tune
	minor, sawLast, missingMinor := int32(0), false, 0
	missingMajor := 0
	for i := range m.count {
		part := m.tokens[i].Part
		telling := m.weights[i] > index.GrammarWeight
		firstLast := part == index.PartLast && !sawLast && telling
		sawLast = sawLast || firstLast
		if m.listed&(1<<i) != 0 || !telling {
			continue
		}
		record := l.Word(m.tokens[i].Word)
		switch {
		case part == index.PartGiven:
			loss += t.MissingGiven
			missingMajor++
		case firstLast:
			loss += t.MissingLast
			missingMajor++
		case part == index.PartHalf:
			loss += t.MissingHalf
			missingMajor++
		case part == index.PartPatronymic:
			minor += t.MissingPatronymic
			missingMinor++
		case part == index.PartLast:
			minor += t.MissingSecond
			missingMinor++
		default:
			if len(l.TextOf(&record)) == 1 {
				minor += t.MissingInitial
			} else {
				minor += t.MissingMiddle
			}
			missingMinor++
		}
	}
	loss += min(minor, t.MinorMost)
	first, last := -1, -1
	for i := range c.count {
		if m.query&(1<<i) != 0 {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	others, between, outside := 0, 0, int32(0)
	for i := range c.count {
		w := &c.list[i]
		if m.query&(1<<i) == 0 && (w.known || w.ordinary) && !w.title && !w.payment && w.weight > index.GrammarWeight {
			others++
		}
		switch {
		case m.query&(1<<i) != 0 || c.isRepeated(i):
		case w.title || w.payment:
			loss += t.SurplusTitle
		case w.weight <= index.GrammarWeight:
			loss += t.SurplusGrammar
		case text.IsPatronymic(c.textOf(i)):
			loss += t.SurplusPatronymic
			surplus++
		case w.initial:
			loss += t.SurplusInitial
			surplus++
		case w.syllable && m.anySyllable(l):
			loss += t.SurplusSyllable
			surplus++
		case index.IsGeneric(c.textOf(i)):
			outside += t.SurplusBusiness
			surplus++
		case i > first && i < last:
			loss += t.SurplusBetween
			between++
			surplus++
		default:
			outside += t.SurplusOutside
			surplus++
		}
	}
	if between > 1 {
		loss += int32(between-1) * t.SurplusMore
	}
	loss += min(outside, t.OutsideMost)
	loss += int32(min(surplus, missingMinor+missingMajor)) * t.Contradiction
	loss += int32(min(others, missingMinor+missingMajor)) * t.ContradictionKnown
	return loss, missingMinor + missingMajor, surplus
}

// lossOfOther is lossOfPerson for the name of a company, a vessel or an aircraft.
func (m *comparison) lossOfOther(c *scorer, l *index.WordLayer) (loss int32, missing, surplus int) {
	t := m.tune
	others, foreign, outside := 0, 0, int32(0)
	for i := range m.count {
		if m.listed&(1<<i) != 0 || m.weights[i] <= index.GrammarWeight {
			continue
		}
		record := l.Word(m.tokens[i].Word)
		loss += t.MissingWord + m.bitsOf(&record, l, false)*t.MissingShare/100
		missing++
	}
	for i := range c.count {
		w := &c.list[i]
		switch {
		case m.query&(1<<i) != 0 || c.isRepeated(i):
		case w.payment:
			loss += t.SurplusTitle
		case w.weight <= index.GrammarWeight:
			loss += t.SurplusGrammar
		case index.IsGeneric(c.textOf(i)):
			outside += t.SurplusGeneric
			surplus++
		default:
			if w.known || w.ordinary {
				others++
			}
			outside += t.SurplusWord + c.bitsOf(i, false)*t.SurplusShare/100
			surplus++
			foreign++
		}
	}
	loss += min(outside, t.OtherOutsideMost)
	loss += int32(min(missing, surplus)) * t.OtherContradiction
	if missing == 0 && surplus > 0 && foreign == 0 && m.pairs > 0 {
		loss -= t.WholeGeneric
	}
	loss += int32(min(missing, others)) * t.OtherContradictionKnown
	return loss, missing, surplus
}

// Needed returns the bits from which a name is possible.
func (t *tuning) needed(person bool) int32 {
	if person {
		return t.NeedPerson
	}
	return t.NeedOther
}

// scoreOf turns bits into a score: the review threshold stands for the bits that are needed.
func scoreOf(bits, needed int32) int32 {
	if bits >= needed {
		return min(ReviewDefault+(bits-needed)*(text.ScoreOne-ReviewDefault)/2400, text.ScoreOne-1)
	}
	return max(0, bits) * ReviewDefault / needed
}

// judgeEvidence returns the review and the strict score.
func (m *comparison) judgeEvidence(c *scorer, l *index.WordLayer, record *index.NameRecord, kind list.EntityType) (score, strict int32) {
	if kind == list.Vessel || kind == list.Aircraft {
		if m.lowest < joinSimilarity || m.surplus.review > 0 || m.missing.review > 0 {
			return 0, 0
		}
	}
	if m.words < 2 && m.surplus.review > 0 && kind == list.Individual {
		return 0, 0
	}
	person := m.isPerson()
	score = max(score, scoreOf(m.sumEvidence(c, l, record, kind), m.tune.needed(person)))
	strict = shareOf(m.strict, m.matched+m.surplus.strict+m.missing.strict)
	return score, strict
}
