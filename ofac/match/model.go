package match

import (
	"math/bits"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// The evidence that a name means a listed party is a sum of log-likelihood ratios, in hundredths of a bit:
// how much likelier the words that were written are if the listed party was meant than if anybody was. A
// word that both names have says as many bits as it is rare, less what its slip costs. A word of one side
// alone costs as many bits as people seldom leave such a word out, or add one. Words of one side against
// words of the other contradict each other. The numbers are in numbers.go.

// evidence is the result of pairing the words of a listed name with those of the query.
type evidence struct {
	listed, query uint32 // matched words
	initials      uint32 // listed words matched by an initial
	matched       int32  // bits of the matched words
	strict        int32  // the same times twice the similarity less one
	lowest        int32  // least similarity of a matched word that is not an article or a particle
	words, pairs  int    // How many words the listed name has, without articles and particles, and how many of these are matched.
}

// account holds the parts of the evidence, in hundredths of a bit. They add up to its sum.
type account struct {
	gains      [scoredWordsMax]int32      // by pair
	queryLost  [scoredWordsMax]int32      // by word of the query that the listed name lacks
	listedLost [index.NameTokensMax]int32 // by word of the listed name that the query lacks
	whole      [wholeCount]int32          // what the names say as wholes
	surplus    sideLeft                   // the words of the query alone
	missing    sideLeft                   // the words of the listed name alone
}

// sideLeft describes the words of one side that were not paired.
type sideLeft struct {
	telling   int   // Words that are no titles, articles or words of the payment.
	beside    int   // Of these, words with no word of the payment between them and the nearest pair.
	syllables int   // Of these, syllables beside an East Asian name, of which each says who it is.
	known     int   // Of these, words that ordinary names or other listed names have.
	brand     int   // Of these, words that are no places and kinds of business.
	weight    int32 // Bits of all of them, for the strict score.
}

// wholeReason is what names say as wholes.
type wholeReason uint8

const (
	wholeSame       wholeReason = iota // each word of either name has its pair
	wholeGeneric                       // the query has the whole listed name and common words besides
	wholeContradict                    // words of one side stand where the other has others
	wholeMany                          // many words that agree say less than each by itself
	wholeForm                          // both names have the same legal form
	wholeParty                         // a person is said, and no person is listed
	wholeCount
)

// weighEvidence returns the sum of the evidence but for what the party's kind and legal form say, in
// hundredths of a bit.
func (m *comparison) weighEvidence(c *scorer) int32 {
	n, person := m.numbers, m.isPerson()
	total := int32(0)
	for k := range m.taken {
		m.gains[k] = m.gainOf(&m.made[k], c, person)
		total += m.gains[k]
	}
	if most := n.gainsMost; total > most {
		m.whole[wholeMany] = -(total - most) * (100 - n.gainsBeyond) / 100
	}
	if person {
		m.lackOfPerson()
		m.surplusOfPerson(c)
	} else {
		m.lackOfOther()
		m.surplusOfOther(c)
	}
	m.weighWhole()
	for i := range c.count {
		total -= m.queryLost[i]
	}
	for i := range m.count {
		total -= m.listedLost[i]
	}
	for _, part := range m.whole {
		total += part
	}
	return total
}

// weighWhole fills in what the names say as wholes.
func (m *comparison) weighWhole() {
	n, person := m.numbers, m.isPerson()
	lacking, added := m.missing.telling, m.surplus.telling
	switch {
	case (lacking > 0 || m.surplus.syllables > 0) && person:
		against := max(min(lacking, m.surplus.beside), m.surplus.syllables)
		m.whole[wholeContradict] = -int32(against)*n.contradiction - int32(min(lacking, m.surplus.known))*n.contradictionKnown
	case lacking > 0:
		m.whole[wholeContradict] = -int32(min(lacking, added))*n.contradiction - int32(min(lacking, m.surplus.known))*n.contradictionKnown
	case person && added == 0 && m.pairs > 1:
		m.whole[wholeSame] = n.wholePerson
	case !person && added == 0 && (m.pairs > 1 || m.lowest >= n.wholeLone):
		m.whole[wholeSame] = n.wholeOther
	case !person && m.surplus.brand == 0 && m.lowest >= text.SameSpelling:
		m.whole[wholeGeneric] = n.wholeGeneric
	}
}

// addParty adds to the sum what the kind and the legal form of the listed party say.
func (m *comparison) addParty(c *scorer, record *index.NameRecord, kind list.EntityType, party PartyType) {
	if kind != list.Individual && c.forms.Kin() != 0 && c.forms.Kin() == record.Forms.Kin() {
		m.whole[wholeForm] = m.numbers.formSame
	}
	if party == PartyIndividual && kind != list.Individual {
		m.whole[wholeParty] = -m.numbers.otherParty
	}
	m.sum += m.whole[wholeForm] + m.whole[wholeParty]
}

// gainOf returns the bits of one pair.
func (m *comparison) gainOf(p *pair, c *scorer, person bool) int32 {
	n := m.numbers
	if p.kind == pairInitial {
		return n.initial
	}
	said, written, known, abjad := int32(0), int32(0), false, false
	for mask := p.listed; mask != 0; mask &= mask - 1 {
		said += m.weights[bits.TrailingZeros32(mask)]
	}
	for mask := p.query; mask != 0; mask &= mask - 1 {
		w := &c.list[bits.TrailingZeros32(mask)]
		written += w.bitsIn(person)
		known, abjad = known || w.known || w.ordinary, abjad || w.abjad
	}
	if p.similarity == text.ScoreOne && !abjad {
		return said
	}
	if known { // It is a word of its own, which is as common as it is.
		said = min(said, written)
	}
	if p.similarity == text.ScoreOne {
		return said
	}
	slip := n.slipLeast + (text.ScoreOne-p.similarity)*n.slipSlope/text.ScoreOne
	switch {
	case abjad: // The slip of a reading says enough.
	case p.similarity >= joinedSpelling:
		slip = n.slipFold
	case known:
		slip += n.slipKnown
	}
	if !known { // Whoever means another name with this word slips alike.
		return max(said-slip, 0)
	}
	return said - slip
}

// lackOfPerson weighs the words of a listed person that the query lacks. People leave out middle names and
// second last names, but seldom a first name or the first last name.
func (m *comparison) lackOfPerson() {
	n, sawLast := m.numbers, false
	parts := m.hasParts()
	for i := range m.count {
		part, telling := m.tokens[i].Part, m.weights[i] > index.GrammarBits
		firstLast := part == index.PartLast && !sawLast && telling
		sawLast = sawLast || firstLast
		if m.listed&(1<<i) != 0 {
			continue
		}
		m.missing.weight += m.weights[i]
		if !telling {
			continue
		}
		m.missing.telling++
		switch {
		case part == index.PartGiven:
			m.listedLost[i] = n.missingGiven
		case firstLast:
			m.listedLost[i] = n.missingLast
		case !parts:
			m.listedLost[i] = n.missingAny
		case part != index.PartLast:
			m.listedLost[i] = n.missingMiddle
		}
	}
}

// hasParts tells whether the listed name says which words are the last name: it has a comma.
func (m *comparison) hasParts() bool {
	for i := range m.count {
		if m.tokens[i].Part == index.PartLast {
			return true
		}
	}
	return false
}

// surplusOfPerson weighs the words of the query that a listed person's name lacks.
func (m *comparison) surplusOfPerson(c *scorer) {
	first, last := bits.TrailingZeros32(m.query), 31-bits.LeadingZeros32(m.query)
	for i := range c.count {
		w := &c.list[i]
		switch syllable := w.syllable && m.syllables; {
		case m.saysNothing(c, i):
		case w.generic:
			m.noteSurplus(c, i, 0)
		case !syllable && (i > first && i < last || w.initial || w.patronymic):
			m.noteSurplus(c, i, m.numbers.surplusBetween)
		default:
			if syllable {
				m.surplus.syllables++
			}
			m.noteSurplus(c, i, m.numbers.surplusOutside)
		}
	}
}

// saysNothing reports whether a word of the query has its pair or hardly says anything: a title, an
// article, a word of the payment, a word that is said again.
func (m *comparison) saysNothing(c *scorer, i int) bool {
	w := &c.list[i]
	switch {
	case m.query&(1<<i) != 0 || w.repeated:
		return true
	case w.payment || w.title && m.isPerson():
		m.surplus.weight += w.whole
		return true
	case w.weight <= index.GrammarBits && !w.initial && !(w.syllable && m.syllables):
		m.surplus.weight += w.weight
		return true
	}
	return false
}

func (m *comparison) noteSurplus(c *scorer, i int, lost int32) {
	w := &c.list[i]
	m.queryLost[i] = lost
	m.surplus.telling++
	m.surplus.weight += w.weight
	if !m.standsBeside(c, i) {
		return
	}
	m.surplus.beside++
	if w.known || w.ordinary {
		m.surplus.known++
	}
}

// standsBeside reports whether no word of the payment stands between a word of the query and the nearest
// pair: "for Anton Lavrentiev of Sigma" says nothing of another Lavrentiev.
func (m *comparison) standsBeside(c *scorer, i int) bool {
	reaches := func(step int) bool {
		for k := i + step; k >= 0 && k < c.count; k += step {
			if m.query&(1<<k) != 0 {
				return true
			}
			if c.list[k].payment {
				return false
			}
		}
		return false
	}
	return reaches(-1) || reaches(1)
}

// lackOfOther weighs the words of a listed company, vessel or aircraft that the query lacks: the more, the
// more they say.
func (m *comparison) lackOfOther() {
	for i := range m.count {
		if m.listed&(1<<i) != 0 {
			continue
		}
		m.missing.weight += m.weights[i]
		if m.weights[i] > index.GrammarBits {
			m.listedLost[i] = m.weights[i] * m.numbers.missingShare / 100
			m.missing.telling++
		}
	}
}

// surplusOfOther weighs the words of the query that such a name lacks. A word that is no place and no kind
// of business makes it another party's, so that wholeGeneric is lost.
func (m *comparison) surplusOfOther(c *scorer) {
	for i := range c.count {
		switch {
		case m.saysNothing(c, i):
		case c.list[i].generic:
			m.noteSurplus(c, i, m.numbers.surplusGeneric)
		default:
			m.surplus.brand++
			m.noteSurplus(c, i, 0)
		}
	}
}

// countPairs counts the telling words of the listed name, and how many of them are matched.
func (m *comparison) countPairs() {
	m.words, m.pairs = 0, 0
	for i := range m.count {
		if m.weights[i] <= index.GrammarBits {
			continue
		}
		m.words++
		if m.listed&(1<<i) != 0 {
			m.pairs++
		}
	}
	if m.words == 0 {
		m.words, m.pairs = m.count, bits.OnesCount32(m.listed)
	}
}

// matchInitials pairs unpaired words by first letters: "A." with a middle name in A, in
// either direction. It also pairs an initial with a second last name, which Spanish papers
// shorten (JUAN GONZALEZ P.).
func (m *comparison) matchInitials(c *scorer, l *index.WordLayer) {
	for i := range c.count {
		if m.query&(1<<i) != 0 {
			continue
		}
		written := c.textOf(i)
		for k := range m.count {
			if m.listed&(1<<k) != 0 || m.tokens[k].Part == index.PartLast && !m.secondLast(k) {
				continue
			}
			if len(written) != 1 && m.tokens[k].Begins != index.BeginsInitial {
				continue // Neither is an initial.
			}
			record := l.Word(m.tokens[k].Word)
			word := l.TextOf(&record)
			if word[0] == written[0] && (len(written) == 1 || len(word) == 1) {
				m.initials |= 1 << k
				m.missing.weight += m.weights[k] / 2
				m.addPair(pair{1 << k, 1 << i, text.ScoreOne, 0, pairInitial})
				break
			}
		}
	}
}

// secondLast reports whether word k is a last name that follows a matched last name.
func (m *comparison) secondLast(k int) bool {
	for i := range k {
		if m.tokens[i].Part == index.PartLast && m.weights[i] > index.GrammarBits {
			return m.listed&(1<<i) != 0
		}
	}
	return false
}

// isPerson reports whether the listed name is a person's: only then do its words have
// parts.
func (m *comparison) isPerson() bool { return m.tokens[0].Part != index.PartNone }

// computeScores returns the review and the strict score of a listed name whose words were paired and weighed.
func (m *comparison) computeScores(c *scorer, record *index.NameRecord, kind list.EntityType, party PartyType) (score, strict int32) {
	m.addParty(c, record, kind, party)
	switch {
	case kind >= list.Vessel && (m.lowest < joinSimilarity || m.surplus.telling > 0 || m.missing.telling > 0):
		return 0, 0 // A ship's name is any word, so it must be equal.
	case kind == list.Individual && m.words < 2 && (m.surplus.telling > 0 || party == PartyBusiness || party == PartyExchange):
		return 0, 0
	}
	return m.numbers.scoreOf(m.sum, m.isPerson()), shareOf(m.strict, m.matched+m.surplus.weight+m.missing.weight)
}

// isRepeated reports whether a word of the query occurred before.
func (c *scorer) isRepeated(word []byte) bool {
	for i := range c.count {
		if string(c.textOf(i)) == string(word) {
			return true
		}
	}
	return false
}

func shareOf(part, whole int32) int32 {
	if whole <= 0 {
		return 0
	}
	return int32(int64(part) * text.ScoreOne / int64(whole))
}
