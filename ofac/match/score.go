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
}

// comparison compares one listed name with the query.
type comparison struct {
	tokens  [index.NameTokensMax]index.NameToken
	weights [index.NameTokensMax]int32
	count   int
	edges   int
	numbers *numbers
	sum     int32 // of the evidence

	syllables bool // One of the words is a Chinese or Korean syllable.
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
)

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
	m.count, m.edges, m.evidence, m.account, m.taken, m.numbers, m.syllables = 0, 0, evidence{}, account{}, 0, c.numbers, false
	m.alignWords(tokens, c, &x.Words)
	c.looked++
	if m.query == 0 {
		return
	}
	if m.isPerson() {
		m.matchInitials(c, &x.Words)
	}
	m.countPairs()
	m.sum = m.weighEvidence(c)
	if bound := &c.most[sideOf(m.isPerson())]; m.sum+bound.form < bound.least {
		return // Whoever bears the name, it says too little.
	}
	name := x.Words.NameAt(first)
	record := x.NameAt(name)
	kind := x.EntityAt(record.Entity).Kind
	score, strict := m.computeScores(c, &record, kind, q.Type)
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

// isProvable reports whether a near match may block. It must match three words, or each
// word exactly; the words must be in a listed order; not all of them may be common, and none
// may be an initial.
func (m *comparison) isProvable(c *scorer) bool {
	return m.initials == 0 && (m.lowest == text.ScoreOne || m.pairs >= int(m.numbers.provableWords)) && m.inOrder(c) && m.isUncommon()
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
		if m.listed&(1<<i) != 0 && m.weights[i] >= m.numbers.commonWord {
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

// alignWords pairs the words of a listed name with those of the query, each word at most
// once, the closest pairs first.
func (m *comparison) alignWords(tokens []index.TokenRow, c *scorer, l *index.WordLayer) {
	for _, row := range tokens {
		token := row.Read()
		if token.Count == 1 {
			m.tokens[m.count], m.weights[m.count] = token, token.Weight
			m.syllables = m.syllables || token.Syllable
			m.count++
		}
		if c.marked.Has(token.Word) {
			m.addEdges(token, c, l)
		}
	}
	m.assignEdges(c.edges[:m.edges])
	if !c.strictly {
		m.matchLoose(c, l)
	}
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
		c.edges[m.edges] = edge{(1<<token.Count - 1) << token.First, c.marks[k].mask, similarity, weight}
		m.edges++
	}
}

// matchLoose compares the unpaired words of both sides letter by letter. The index finds
// only words one edit apart; in a name found by its other words, a word may be further
// away.
func (m *comparison) matchLoose(c *scorer, l *index.WordLayer) {
	for i := range c.count {
		begins := c.list[i].begins
		if m.query&(1<<i) != 0 || c.list[i].weight <= index.GrammarBits || begins == 0 {
			continue
		}
		best, at := int32(0), 0
		for k := range m.count {
			if c.loose == looseMax || m.tokens[k].Begins != begins || m.listed&(1<<k) != 0 || m.weights[k] <= index.GrammarBits {
				continue
			}
			record := l.Word(m.tokens[k].Word)
			if text.AreStrangers(c.list[i].group, uint32(record.Group)) {
				continue
			}
			if c.list[i].syllable && record.Flags&index.WordSyllable != 0 && record.Text < shortSyllable && !text.SameSyllable(c.textOf(i), l.TextOf(&record)) {
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
			m.addPair(pair{1 << at, 1 << i, best, m.weights[at], pairLoose})
			m.lowest = min(m.lowest, best)
		}
	}
}

// shortSyllable is how many letters a word needs so that it is more than one syllable.
const shortSyllable = 5

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
		m.addPair(pair{e.listed, e.query, e.similarity, e.weight, pairSpelling})
		if e.weight > index.GrammarBits {
			m.lowest = min(m.lowest, e.similarity)
		}
	}
}

// addPair adds a pair. A difference counts twice in the strict worth.
func (m *comparison) addPair(p pair) {
	m.listed |= p.listed
	m.query |= p.query
	m.matched += p.weight
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
