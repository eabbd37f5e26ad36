package match

import (
	"math/bits"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// edge says that some words of a listed name may be paired with some words of the query.
type edge struct {
	listed, query uint32 // masks
	similarity    int32
	weight        int32
	short         bool // the listed word is short, and the query's word is another listed word
}

// comparison compares one listed name with the query.
type comparison struct {
	tokens  [index.NameTokensMax]index.NameToken
	weights [index.NameTokensMax]int32
	count   int
	edges   int
	tune    *tuning
	evidence
	pairing
	account
}

// pairing holds the pairs of words in the order in which they were made.
type pairing struct {
	made  [scoredWordsMax]pair
	taken int
}

// pair is some words of the listed name that were paired with some words of the query.
type pair struct {
	listed, query      uint32 // masks
	similarity, weight int32
	kind               pairKind
}

// pairKind says why two words were paired.
type pairKind uint8

const (
	pairSpelling pairKind = iota // equal, or close by letters, fold or syllables
	pairLoose                    // compared letter by letter because the other words match
	pairInitial                  // one is the other's initial
	pairForm                     // both names have the same legal form
)

// account holds the parts of a score besides its pairs.
type account struct {
	queryLost  [scoredWordsMax]int32      // by word of the query: weight it counts as surplus
	listedLost [index.NameTokensMax]int32 // by word of the listed name: weight it counts as missing
	whole      int32                      // the weight of which the worth is a share
	factors    [factorCount]int32         // per cent; 0: does not apply
	surplus    left                       // Weight of the query's words that the listed name lacks.
	missing    left                       // Weight of the listed name's words that the query lacks.
}

// factor is a reason to lower a whole score by a share.
type factor uint8

const (
	factorOneWord factor = iota
	factorOtherForm
	factorBothClose
	factorCommon
	factorShort
	factorPersonForm
	factorInitial
	factorFather
	factorOffice
	factorParty
	factorCount
)

// evidence is the result of pairing the words.
type evidence struct {
	listed, query uint32 // matched words
	initials      uint32 // listed words matched by an initial
	matched       int32  // weight of the matched words
	worth, strict int32  // matched times similarity, and times strict similarity
	lowest        int32  // least similarity of a matched word that is not an article or a particle
	short         bool   // a short word is matched by another listed word
	otherInitial  bool   // one side has an initial, and no name that it could stand for begins with it
	father        bool   // the query's first name is that of the listed person's father
	office        bool   // the query is an office and the last name of the listed person
	exact         int    // words of the query equal to the listed ones, without articles and particles
	words, pairs  int    // How many words the listed name has, without articles and particles, and how many of these are matched.
}

// scoreName compares the listed name whose words begin at a row with the query and
// keeps it if its score reaches the review threshold.
func (x *Index) scoreName(first uint32, q *Query, s *Scratch) {
	c := &s.scorer
	tokens := x.Words.Tokens[first:]
	length, ok := c.mayReach(tokens)
	if !ok {
		return
	}
	tokens = tokens[:length]
	m := &c.held
	m.count, m.edges, m.evidence, m.taken, m.tune = 0, 0, evidence{}, 0, c.tuned
	if !m.alignWords(tokens, c, &x.Words) {
		return
	}
	c.looked++
	person := m.isPerson()
	if person {
		m.matchInitials(c, &x.Words)
	}
	m.passesGate(person)
	m.surplus, m.missing = m.queryLeft(c, person), m.leftOver(person)
	name := x.Words.NameAt(first)
	record := x.NameAt(name)
	kind := x.EntityAt(record.Entity).Kind
	score, strict := m.judgeEvidence(c, &x.Words, &record, kind)
	if c.trace != nil {
		c.trace.noteScore(name, score, c)
	}
	if score < reviewThreshold(q) {
		return
	}
	entity := x.EntityAt(record.Entity)
	h := hit{entity: record.Entity, name: name, score: score, strict: strict, form: formPossible, outcome: Possible, sub: SubSpelling}
	if strict >= blockThreshold(q) && kind != list.Vessel && kind != list.Aircraft && m.isProvable(c) {
		read := reading{forms: c.forms, dropped: kind == list.Individual && c.forms != 0}
		h.outcome, h.sub = decideName(&record, kind, read, q)
	}
	if h.outcome == Listed && !entity.Lists.Block() {
		h.outcome, h.sub = Possible, SubReviewSource
	}
	if h.outcome == Possible && !entity.Lists.Core() && !q.NonSDNPossible {
		h.outcome, h.sub = Clear, SubNotSDN
	}
	s.hits = append(s.hits, h)
}

// partyShare returns how many per cent of a near match's score remain, given the caller's party
// type. It does not apply to exact hits.
func (t *tuning) partyShare(party PartyType, kind list.EntityType, record *index.NameRecord) int32 {
	switch {
	case party == PartyIndividual && kind != list.Individual:
		return t.otherPartyShare
	case (party == PartyBusiness || party == PartyExchange) && kind == list.Individual && record.Words < 2:
		return 0
	}
	return 100
}

// isProvable reports whether a near match may block. It must match three words, or each
// word exactly; the words must be in a listed order; not all of them may be common; and no
// office may stand for the first names.
func (m *comparison) isProvable(c *scorer) bool {
	return !m.office && (m.lowest == text.ScoreOne || m.pairs >= int(m.tune.provableWords)) && m.inOrder(c) && m.isUncommon()
}

// inOrder reports whether the words of the query are in the listed order or have first
// names before last names: LAST, First Middle or First Middle Last.
func (m *comparison) inOrder(c *scorer) bool {
	last, turned, sawLast := -1, false, false
	for i := range c.count {
		at := m.takenFor(i)
		if at < 0 {
			continue
		}
		isLast := m.tokens[at].Part == index.PartLast
		if at < last {
			if turned || sawLast || !isLast {
				return false
			}
			turned = true
		}
		if turned && !isLast {
			return false
		}
		last, sawLast = at, sawLast || isLast
	}
	return true
}

// takenFor returns the first word of the listed name with which word i of the query was paired,
// or -1.
func (m *comparison) takenFor(i int) int {
	for k := range m.taken {
		if p := &m.made[k]; p.query&(1<<i) != 0 && p.listed != 0 {
			return bits.TrailingZeros32(p.listed)
		}
	}
	return -1
}

// isUncommon reports whether a matched word is rare among the listed entries.
func (m *comparison) isUncommon() bool {
	for i := range m.count {
		if m.listed&(1<<i) != 0 && m.weights[i] >= m.tune.commonWord {
			return true
		}
	}
	return false
}

func reviewThreshold(q *Query) int32 {
	if q.Review <= 0 || q.Review > ReviewDefault {
		return ReviewDefault
	}
	return max(q.Review, reviewFloor)
}

func blockThreshold(q *Query) int32 {
	if q.Block <= 0 || q.Block > BlockDefault {
		return BlockDefault
	}
	return max(q.Block, reviewThreshold(q))
}

// mayReach reports, from the marks alone, whether a listed name can match enough of the
// query, and whether its score can reach the threshold if every word that may be matched
// were equal. It also returns how many rows the words take.
func (c *scorer) mayReach(tokens []index.TokenRow) (int, bool) {
	reach, words, weight := uint32(0), 0, c.room
	begins, length := uint64(0), 0
	for last := false; !last; {
		row := tokens[length]
		length++
		last = uint8(row>>48)&index.TokenLast != 0
		letter := uint64(1)
		if begins := uint8(row >> 56); row&(1<<index.WeightBits-1) > index.GrammarWeight || begins == index.BeginsInitial {
			letter <<= begins & 63 // See index.NameToken.pairLetter.
		}
		marked := c.marked.Has(uint32(row) >> index.WeightBits)
		if marked {
			reach |= c.heads[uint32(row)>>index.WeightBits].reach
		}
		switch {
		case uint8(row>>40) == 1:
			words++
			begins |= letter
			if marked || letter&c.loosely != 0 {
				weight += max(int32(row&(1<<index.WeightBits-1)), c.tuned.impreciseWeight)
			}
		case marked: // This is the most that the words of a join can weigh.
			weight += int32(uint8(row>>40)) * text.ScoreOne
		}
	}
	if c.weightOf(reach)*(text.ScoreOne/100) < c.covered()*(coverageSeen/100) {
		return length, false
	}
	lost := int32(0)
	for i := range c.count {
		if w := &c.list[i]; reach&(1<<i) == 0 && begins&w.loosely == 0 {
			lost += w.minPenalty
		}
	}
	share := c.tuned.surplusShare
	if words >= index.WholeNameWords {
		share = min(share, c.tuned.surplusWhole)
	}
	return length, int64(weight)*text.ScoreOne >= int64(c.least)*int64(weight+lost*share/100)
}

// alignWords pairs the words of a listed name with those of the query, each word at most
// once, the closest pairs first. It returns false when too little of the query is matched.
func (m *comparison) alignWords(tokens []index.TokenRow, c *scorer, l *index.WordLayer) bool {
	for _, row := range tokens {
		token := row.Read()
		if token.Count == 1 {
			m.tokens[m.count], m.weights[m.count] = token, token.Weight
			m.count++
		}
		if c.marked.Has(token.Word) {
			m.addEdges(token, c, l)
		}
	}
	m.assignEdges(c.edges[:m.edges])
	m.matchLoose(c, l)
	return m.query != 0
}

// addEdges adds an edge for each mark of a word of the listed name.
func (m *comparison) addEdges(token index.NameToken, c *scorer, l *index.WordLayer) {
	weight := int32(0)
	for t := token.First; t < token.First+token.Count; t++ {
		weight += m.weights[t]
	}
	last := min(m.edges+edgesPerWord, edgesMax)
	for k := c.heads[token.Word].first; k >= 0 && m.edges < last; k = c.marks[k].next {
		similarity := c.marks[k].similarity
		if token.Count > 1 {
			similarity = similarity * joinSimilarity / text.ScoreOne
		}
		short := similarity < text.SameSpelling && c.knowsWord(c.marks[k].mask) && int32(l.Word(token.Word).Text) <= m.tune.shortWord
		c.edges[m.edges] = edge{(1<<token.Count - 1) << token.First, c.marks[k].mask, similarity, weight, short}
		m.edges++
	}
}

// matchLoose compares the unpaired words of both sides letter by letter. The index finds
// only words one edit apart; in a name found by its other words, a word may be further
// away.
func (m *comparison) matchLoose(c *scorer, l *index.WordLayer) {
	for i := range c.count {
		begins := c.list[i].begins
		if m.query&(1<<i) != 0 || c.list[i].weight <= index.GrammarWeight || begins == 0 {
			continue
		}
		best, at := int32(0), 0
		for k := range m.count {
			if c.loose == looseMax || m.tokens[k].Begins != begins || m.listed&(1<<k) != 0 || m.weights[k] <= index.GrammarWeight {
				continue
			}
			record := l.Word(m.tokens[k].Word)
			if text.AreStrangers(c.list[i].group, uint32(record.Group)) {
				continue
			}
			if c.list[i].syllable && record.Flags&index.WordSyllable != 0 && int32(record.Text) < m.tune.shortWord && !text.SameSyllable(c.textOf(i), l.TextOf(&record)) {
				continue
			}
			person := m.tokens[k].Part != index.PartNone
			c.loose++
			word, listed := c.wordOf(i), l.Spelled(&record)
			if similarity := text.LooseSimilarity(&word, &listed, person); similarity > best {
				best, at = similarity, k
			}
		}
		if best > 0 {
			m.addPair(pair{1 << at, 1 << i, best, max(m.weights[at], m.tune.impreciseWeight), pairLoose})
			m.lowest = min(m.lowest, best)
		}
	}
}

// knowsWord reports whether the first of the query words in mask is a listed word.
func (c *scorer) knowsWord(mask uint32) bool { return c.list[bits.TrailingZeros32(mask)].known }

func (c *scorer) weightOf(mask uint32) int32 {
	weight := int32(0)
	for ; mask != 0; mask &= mask - 1 {
		weight += c.list[bits.TrailingZeros32(mask)].weight
	}
	return weight
}

// assignEdges turns edges into pairs greedily, the best first.
func (m *comparison) assignEdges(edges []edge) {
	for i := 1; i < len(edges); i++ {
		for k := i; k > 0 && edges[k].isBefore(&edges[k-1]); k-- {
			edges[k], edges[k-1] = edges[k-1], edges[k]
		}
	}
	m.lowest = text.ScoreOne
	for i := range edges {
		e := &edges[i]
		if m.listed&e.listed != 0 || m.query&e.query != 0 {
			continue
		}
		weight := e.weight
		if e.similarity < m.tune.impreciseBelow {
			weight = max(weight, m.tune.impreciseWeight)
		}
		m.addPair(pair{e.listed, e.query, e.similarity, weight, pairSpelling})
		m.short = m.short || e.short
		if e.weight > index.GrammarWeight {
			m.lowest = min(m.lowest, e.similarity)
			if e.similarity == text.ScoreOne {
				m.exact++
			}
		}
	}
}

// addPair adds a pair. A difference counts twice in the strict worth.
func (m *comparison) addPair(p pair) {
	m.listed |= p.listed
	m.query |= p.query
	m.matched += p.weight
	m.worth += p.weight * p.similarity / text.ScoreOne
	m.strict += p.weight * (2*p.similarity - text.ScoreOne) / text.ScoreOne
	if m.taken < len(m.made) {
		m.made[m.taken] = p
		m.taken++
	}
}

func (e *edge) isBefore(other *edge) bool {
	if e.similarity != other.similarity {
		return e.similarity > other.similarity
	}
	if e.weight != other.weight {
		return e.weight > other.weight
	}
	return e.listed < other.listed || e.listed == other.listed && e.query < other.query
}
