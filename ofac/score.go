package ofac

import (
	"math/bits"
)

// edge says that some words of a listed name are some words of the query.
type edge struct {
	listed, query uint32 // masks
	similarity    int32
	weight        int32
	short         bool // the listed word is short, and the query's is another listed word
}

// comparison is one listed name held against the query.
type comparison struct {
	tokens  [nameTokensMax]nameToken
	weights [nameTokensMax]int32
	count   int
	edges   int
	tune    *tuning
	evidence
	pairing
	account
}

// pairing says which words were taken for which, in the order they were taken.
type pairing struct {
	made  [scoredWordsMax]pair
	taken int
}

// pair is some words of the listed name that are taken for some of the query.
type pair struct {
	listed, query      uint32 // masks
	similarity, weight int32
	kind               pairKind
}

// pairKind says how two words were found to be one.
type pairKind uint8

const (
	pairSpelling pairKind = iota // equal, or near by letters, fold or syllables
	pairLoose                    // compared letter by letter because the rest agrees
	pairInitial                  // an initial
	pairForm                     // the legal form
)

// account is what a score is made of besides its pairs.
type account struct {
	queryLost  [scoredWordsMax]int32 // by word of the query: weight it counts as surplus
	listedLost [nameTokensMax]int32  // by word of the listed name: weight it counts as missing
	whole      int32                 // what the worth is a share of
	factors    [factorCount]int32    // per cent; 0: does not apply
	surplus    left                  // weight of the query's other words
	missing    left                  // weight of the listed name's
}

// factor is a share that lowers a score.
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

// evidence is what a comparison comes to.
type evidence struct {
	listed, query uint32 // matched words
	initials      uint32 // listed words matched by an initial
	matched       int32  // weight of the matched words
	worth, strict int32  // the same times similarity, and times strict similarity
	lowest        int32  // least similarity of a matched word that is not grammar
	short         bool   // a short word matched by another
	otherInitial  bool   // an initial on one side, and on the other names that begin otherwise
	father        bool   // the query's first name is that of the listed person's father
	office        bool   // the query is an office and the listed person's last name
	exact         int    // words matched letter by letter, grammar left out
	words, pairs  int    // words of the listed name that are not grammar; of them, matched
}

// scoreName compares the listed name whose words begin at a row with the query and
// keeps it if its score reaches the review threshold.
func (x *Index) scoreName(first uint32, q *Query, s *Scratch) {
	c := &s.scorer
	tokens := x.words.tokens[first:]
	length, ok := c.reaches(tokens)
	if !ok {
		return
	}
	tokens = tokens[:length]
	m := &c.held
	m.count, m.edges, m.evidence, m.taken, m.tune = 0, 0, evidence{}, 0, c.tuned
	if !m.align(tokens, c, &x.words) {
		return
	}
	c.looked++
	if !m.outline(c, &x.words) || m.most(c) < c.least {
		return
	}
	name := x.words.nameAt(first)
	record := x.name(name)
	kind := x.entity(record.entity).kind
	score, strict := m.score(c, &record, kind)
	score = m.lower(factorParty, score, m.tune.partyShare(q.Type, kind, &record))
	if c.trace != nil {
		c.trace.note(name, score, c)
	}
	if score < reviewThreshold(q) {
		return
	}
	entity := x.entity(record.entity)
	h := hit{entity: record.entity, name: name, score: score, strict: strict, form: formPossible, outcome: Possible, sub: SubSpelling}
	if strict >= blockThreshold(q) && kind != Vessel && kind != Aircraft && m.provable(c) {
		read := reading{forms: c.forms, dropped: kind == Individual && c.forms != 0}
		h.outcome, h.sub = decideName(&record, kind, read, q)
	}
	if h.outcome == Possible && !entity.lists.Core() && !q.NonSDNPossible {
		h.outcome, h.sub = Clear, SubNotSDN
	}
	s.hits = append(s.hits, h)
}

// partyShare is how much of a near match's score stands, per cent, in view of
// what the caller says the party is. Exact hits do not ask.
func (t *tuning) partyShare(party PartyType, kind EntityType, record *nameRecord) int32 {
	switch {
	case party == PartyIndividual && kind != Individual:
		return t.otherPartyShare
	case (party == PartyBusiness || party == PartyExchange) && kind == Individual && record.words < 2:
		return 0
	}
	return 100
}

// provable says whether a near match may block: every word is the listed one, or
// there are three of them; they stand in a listed order; and not all are so common
// that they make many people's name.
func (m *comparison) provable(c *scorer) bool {
	return !m.office && (m.lowest == scoreOne || m.pairs >= int(m.tune.provableWords)) && m.inOrder(c) && m.uncommon()
}

// inOrder reports whether the words of the query stand as the list writes them,
// or with first names before last names: LAST, First Middle or First Middle Last.
func (m *comparison) inOrder(c *scorer) bool {
	last, turned, sawLast := -1, false, false
	for i := range c.count {
		at := m.takenFor(i)
		if at < 0 {
			continue
		}
		isLast := m.tokens[at].part == partLast
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

// takenFor is the first word of the listed name that word i of the query was
// taken for, -1 if it was not.
func (m *comparison) takenFor(i int) int {
	for k := range m.taken {
		if p := &m.made[k]; p.query&(1<<i) != 0 && p.listed != 0 {
			return bits.TrailingZeros32(p.listed)
		}
	}
	return -1
}

// uncommon reports whether a matched word is rare among the listed entries.
func (m *comparison) uncommon() bool {
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

// reaches tells from the marks alone whether the words of a listed name could
// match enough of the query to be worth aligning, and whether the score could come
// up to the threshold if every word that may be matched were equal.
// It gives how many rows the words take.
func (c *scorer) reaches(tokens []tokenRow) (int, bool) {
	reach, words, weight := uint32(0), 0, c.room
	begins, length := uint64(0), 0
	for last := false; !last; {
		row := tokens[length]
		length++
		last = uint8(row>>48)&tokenLast != 0
		letter := uint64(1)
		if begins := uint8(row >> 56); row&(1<<weightBits-1) > grammarWeight || begins == beginsInitial {
			letter <<= begins & 63 // See nameToken.letter.
		}
		marked := c.marked.has(uint32(row) >> weightBits)
		if marked {
			reach |= c.heads[uint32(row)>>weightBits].reach
		}
		switch {
		case uint8(row>>40) == 1:
			words++
			begins |= letter
			if marked || letter&c.loosely != 0 {
				weight += max(int32(row&(1<<weightBits-1)), c.tuned.impreciseWeight)
			}
		case marked: // A join: what it covers comes up to no more than this.
			weight += int32(uint8(row>>40)) * scoreOne
		}
	}
	if c.weightOf(reach)*(scoreOne/100) < c.total*(coverageSeen/100) {
		return length, false
	}
	lost := int32(0)
	for i := range c.count {
		if w := &c.list[i]; reach&(1<<i) == 0 && begins&w.loosely == 0 {
			lost += w.minPenalty
		}
	}
	share := c.tuned.surplusShare
	if words >= wholeNameWords {
		share = min(share, c.tuned.surplusWhole)
	}
	return length, int64(weight)*scoreOne >= int64(c.least)*int64(weight+lost*share/100)
}

// align pairs the words of a listed name with those of the query, each word at
// most once, the closest pairs first. False: too little of the query is matched.
func (m *comparison) align(tokens []tokenRow, c *scorer, l *wordLayer) bool {
	for _, row := range tokens {
		token := row.read()
		if token.count == 1 {
			m.tokens[m.count], m.weights[m.count] = token, token.weight
			m.count++
		}
		if c.marked.has(token.word) {
			m.addEdges(token, c, l)
		}
	}
	m.assign(c.edges[:m.edges])
	m.matchLoose(c, l)
	return c.weightOf(m.query)*(scoreOne/100) >= c.total*(coverageNeeded/100)
}

// addEdges notes which query words a word of the listed name is close to.
func (m *comparison) addEdges(token nameToken, c *scorer, l *wordLayer) {
	weight := int32(0)
	for t := token.first; t < token.first+token.count; t++ {
		weight += m.weights[t]
	}
	last := min(m.edges+edgesPerWord, edgesMax)
	for k := c.heads[token.word].first; k >= 0 && m.edges < last; k = c.marks[k].next {
		similarity := c.marks[k].similarity
		if token.count > 1 {
			similarity = similarity * joinSimilarity / scoreOne
		}
		short := similarity < sameSpelling && c.knows(c.marks[k].mask) && int32(l.word(token.word).text) <= m.tune.shortWord
		c.edges[m.edges] = edge{(1<<token.count - 1) << token.first, c.marks[k].mask, similarity, weight, short}
		m.edges++
	}
}

// matchLoose compares what is left over on both sides letter by letter: the
// index finds words one edit apart, a name found by its other words may have
// one that is further away.
func (m *comparison) matchLoose(c *scorer, l *wordLayer) {
	for i := range c.count {
		begins := c.list[i].begins
		if m.query&(1<<i) != 0 || c.list[i].weight <= grammarWeight || begins == 0 {
			continue
		}
		best, at := int32(0), 0
		for k := range m.count {
			if c.loose == looseMax || m.tokens[k].begins != begins || m.listed&(1<<k) != 0 || m.weights[k] <= grammarWeight {
				continue
			}
			record := l.word(m.tokens[k].word)
			if strangers(c.list[i].group, uint32(record.group)) {
				continue
			}
			if c.list[i].syllable && record.flags&wordSyllable != 0 && int32(record.text) < m.tune.shortWord && !sameSyllable(c.text(i), l.textOf(&record)) {
				continue
			}
			person := m.tokens[k].part != partNone
			c.loose++
			word, listed := c.word(i), l.spelled(&record)
			if similarity := looseSimilarity(&word, &listed, person); similarity > best {
				best, at = similarity, k
			}
		}
		if best > 0 {
			m.pair(pair{1 << at, 1 << i, best, max(m.weights[at], m.tune.impreciseWeight), pairLoose})
			m.lowest = min(m.lowest, best)
		}
	}
}

// knows reports whether the first of some query words is a listed word.
func (c *scorer) knows(mask uint32) bool { return c.list[bits.TrailingZeros32(mask)].known }

func (c *scorer) weightOf(mask uint32) int32 {
	weight := int32(0)
	for ; mask != 0; mask &= mask - 1 {
		weight += c.list[bits.TrailingZeros32(mask)].weight
	}
	return weight
}

// grammarWeight is the most an article or a particle weighs.
const grammarWeight = 1200

// assign takes the edges greedily.
func (m *comparison) assign(edges []edge) {
	for i := 1; i < len(edges); i++ {
		for k := i; k > 0 && edges[k].before(&edges[k-1]); k-- {
			edges[k], edges[k-1] = edges[k-1], edges[k]
		}
	}
	m.lowest = scoreOne
	for i := range edges {
		e := &edges[i]
		if m.listed&e.listed != 0 || m.query&e.query != 0 {
			continue
		}
		weight := e.weight
		if e.similarity < m.tune.impreciseBelow {
			weight = max(weight, m.tune.impreciseWeight)
		}
		m.pair(pair{e.listed, e.query, e.similarity, weight, pairSpelling})
		m.short = m.short || e.short
		if e.weight > grammarWeight {
			m.lowest = min(m.lowest, e.similarity)
			if e.similarity == scoreOne {
				m.exact++
			}
		}
	}
}

// pair takes words for one another. The strict worth takes every difference twice.
func (m *comparison) pair(p pair) {
	m.listed |= p.listed
	m.query |= p.query
	m.matched += p.weight
	m.worth += p.weight * p.similarity / scoreOne
	m.strict += p.weight * (2*p.similarity - scoreOne) / scoreOne
	if m.taken < len(m.made) {
		m.made[m.taken] = p
		m.taken++
	}
}

func (e *edge) before(other *edge) bool {
	if e.similarity != other.similarity {
		return e.similarity > other.similarity
	}
	if e.weight != other.weight {
		return e.weight > other.weight
	}
	return e.listed < other.listed || e.listed == other.listed && e.query < other.query
}
