package ofac

import "math/bits"

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
	evidence
}

// evidence is what a comparison comes to.
type evidence struct {
	listed, query uint32 // matched words
	initials      uint32 // listed words matched by an initial
	matched       int32  // weight of the matched words
	worth, strict int32  // the same times similarity, and times strict similarity
	lowest        int32  // least similarity of a matched word that is not grammar
	short         bool   // a short word matched by another
	exact         int    // words matched letter by letter, grammar left out
	words, pairs  int    // words of the listed name that are not grammar; of them, matched
}

// scoreName compares one listed name with the query and keeps it if its score
// reaches the review threshold.
func (x *Index) scoreName(name uint32, q *Query, s *Scratch) {
	c := &s.scorer
	first, end := x.words.tokenOffsets.at(name), x.words.tokenOffsets.at(name+1)
	tokens := x.words.tokens[uint64(first)*nameTokenBytes : uint64(end)*nameTokenBytes]
	if !c.reaches(tokens) {
		return
	}
	m := &c.held
	m.count, m.edges, m.evidence = 0, 0, evidence{}
	if !m.align(tokens, c, &x.words) {
		return
	}
	c.looked++
	record := x.name(name)
	kind := x.entity(record.entity).kind
	score, strict := m.score(c, &x.words, &record, kind)
	score = score * partyShare(q.Type, kind, &record) / 100
	if score < reviewThreshold(q) {
		return
	}
	entity := x.entity(record.entity)
	h := hit{entity: record.entity, name: name, score: score, strict: strict, form: formPossible, outcome: Possible, sub: SubSpelling}
	if strict >= blockThreshold(q) && kind != Vessel && kind != Aircraft && m.provable() {
		read := reading{forms: c.forms, dropped: kind == Individual && c.forms != 0}
		h.outcome, h.sub = decideName(&record, kind, read, q)
	}
	if h.outcome == Possible && entity.lists&ListSDN == 0 && !q.NonSDNPossible {
		h.outcome, h.sub = Clear, SubNotSDN
	}
	s.hits = append(s.hits, h)
}

// partyShare is how much of a near match's score stands, per cent, in view of
// what the caller says the party is. Exact hits do not ask.
func partyShare(party PartyType, kind EntityType, record *nameRecord) int32 {
	switch {
	case party == PartyIndividual && kind != Individual:
		return otherPartyShare
	case (party == PartyBusiness || party == PartyExchange) && kind == Individual && record.words < 2:
		return 0
	}
	return 100
}

// provableWords is how many words a near spelling needs to block: two words
// that are merely close are too often another person or company.
const provableWords = 3

// provable says whether a near match may block: every word is the listed one,
// or there are three of them.
func (m *comparison) provable() bool {
	return m.lowest == scoreOne || m.pairs >= provableWords
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
// match enough of the query to be worth aligning.
func (c *scorer) reaches(tokens []byte) bool {
	reach := uint32(0)
	for ; len(tokens) >= nameTokenBytes; tokens = tokens[nameTokenBytes:] {
		if word := nameTokenWord(tokens); c.marked.has(word) {
			reach |= c.heads[word].reach
		}
	}
	return c.weightOf(reach)*(scoreOne/100) >= c.total*(coverageSeen/100)
}

// align pairs the words of a listed name with those of the query, each word at
// most once, the closest pairs first. False: too little of the query is matched.
func (m *comparison) align(tokens []byte, c *scorer, l *wordLayer) bool {
	for ; len(tokens) >= nameTokenBytes; tokens = tokens[nameTokenBytes:] {
		token := readNameToken(tokens)
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
		short := similarity < sameSpelling && c.knows(c.marks[k].mask) && l.word(token.word).text <= shortWord
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
			if c.list[i].syllable && record.flags&wordSyllable != 0 && record.text < shortWord && !sameSyllable(c.text(i), l.textOf(&record)) {
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
			m.listed |= 1 << at
			m.query |= 1 << i
			m.add(max(m.weights[at], impreciseWeight), best)
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

// Weights that stand for evidence rather than rarity, 1e-4.
const (
	grammarWeight    = 1200  // words of at most this weight are articles and particles
	impreciseBelow   = 9000  // a pair below this similarity
	impreciseWeight  = 4000  // weighs at least this much, however common the word
	titleLeft        = 300   // a title the listed name does not have
	patronymicLeft   = 25    // per cent of its weight, likewise a patronymic
	initialWeight    = 800   // an initial that fits
	sameFormWeight   = 1000  // both names have the same legal form
	onlyFormWeight   = 6000  // likewise, where the name is one word besides
	oneWordForm      = 7700  // least similarity of that word
	oneWordFormMin   = 5     // and least letters
	shortWord        = 5     // letters of a word that a slip easily makes another
	shortPairShare   = 94    // per cent, where such a word is another listed word
	bothCloseBelow   = 8800  // a person's two names are both only close, one of them less than this,
	bothCloseShare   = 96    // and the query's are names of their own: per cent
	commonNames      = 12000 // two names of a person that weigh less are too common to stand for one with more names,
	commonShare      = 96    // unless an officer asks for less: per cent
	otherFormShare   = 93    // per cent, where words are only close and legal forms differ
	otherPartyShare  = 95    // per cent, where a person is said and a company listed
	partialWordShare = 78    // per cent, where a listed name is one word of several
)

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
		if e.similarity < impreciseBelow {
			weight = max(weight, impreciseWeight)
		}
		m.listed |= e.listed
		m.query |= e.query
		m.add(weight, e.similarity)
		m.short = m.short || e.short
		if e.weight > grammarWeight {
			m.lowest = min(m.lowest, e.similarity)
			if e.similarity == scoreOne {
				m.exact++
			}
		}
	}
}

// add counts a matched pair. The strict worth takes every difference twice.
func (m *comparison) add(weight, similarity int32) {
	m.matched += weight
	m.worth += weight * similarity / scoreOne
	m.strict += weight * (2*similarity - scoreOne) / scoreOne
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

// matchInitials pairs what is left over by first letters: "A." with a middle
// name in A, in either direction.
func (m *comparison) matchInitials(c *scorer, l *wordLayer) {
	for i := range c.count {
		if m.query&(1<<i) != 0 {
			continue
		}
		text := c.text(i)
		for k := range m.count {
			if m.listed&(1<<k) != 0 || m.tokens[k].part == partLast {
				continue
			}
			record := l.word(m.tokens[k].word)
			word := l.textOf(&record)
			if word[0] == text[0] && (len(text) == 1 || len(word) == 1) {
				m.query |= 1 << i
				m.listed |= 1 << k
				m.initials |= 1 << k
				m.add(initialWeight, scoreOne)
				break
			}
		}
	}
}

// queryLeft weighs the words of the query the listed name does not have. A word
// said twice is not missed; nor is a title; a patronymic hardly, unless the
// listed name has another.
func (m *comparison) queryLeft(c *scorer, kind EntityType) int32 {
	weight, patronymic := int32(0), false
	for i := range m.count {
		patronymic = patronymic || m.tokens[i].part == partPatronymic && m.listed&(1<<i) == 0
	}
	for i := range c.count {
		if m.query&(1<<i) != 0 || c.repeats(i) {
			continue
		}
		switch {
		case c.list[i].title:
			weight += titleLeft
		case kind == Individual && !patronymic && c.count > 2 && isPatronymic(c.text(i)):
			weight += c.list[i].weight * patronymicLeft / 100
		default:
			weight += c.list[i].weight
		}
	}
	return weight
}

// repeats reports whether a word of the query was said before.
func (c *scorer) repeats(i int) bool {
	for k := range i {
		if string(c.text(k)) == string(c.text(i)) {
			return true
		}
	}
	return false
}

// left is what of a listed name the query does not have, weighed by how much
// it is missed.
type left struct{ review, strict int32 }

// leftOver weighs the unmatched words of the listed name. A person's middle
// names are often left out; a first name or the first last name is not.
func (m *comparison) leftOver(kind EntityType) left {
	var missing left
	middle, otherLast, sawLast := int32(0), int32(0), false
	for i := range m.count {
		part := m.tokens[i].part
		firstLast := part == partLast && !sawLast && m.weights[i] > grammarWeight
		sawLast = sawLast || firstLast
		if m.listed&(1<<i) != 0 {
			if m.initials&(1<<i) != 0 {
				missing.strict += m.weights[i] * 45 / 100
			}
			continue
		}
		weight := m.weights[i]
		switch {
		case kind != Individual:
			missing.review += weight * 45 / 100
			missing.strict += weight * 80 / 100
		case part == partGiven || firstLast:
			missing.review += weight * 45 / 100
			missing.strict += weight * 80 / 100
		default:
			switch part {
			case partPatronymic:
				middle += weight / 2
			case partLast:
				otherLast += weight
			default:
				middle += weight
			}
			missing.strict += weight * 45 / 100
		}
	}
	if middle > 0 && otherLast > 0 {
		missing.review += otherLast * 35 / 100 // one of the two is left out, seldom both
		otherLast = 0
	}
	missing.review += min(middle+otherLast, 9000) * 16 / 100
	return missing
}

// gate says whether enough kinds of words match to call it a name at all: of a
// person a last name and another; of anything two words, if it has two.
func (m *comparison) gate(kind EntityType) bool {
	words, last, given := 0, false, false
	m.pairs = 0
	for i := range m.count {
		if m.weights[i] <= grammarWeight {
			continue
		}
		words++
		if m.listed&(1<<i) == 0 {
			continue
		}
		m.pairs++
		switch m.tokens[i].part {
		case partLast:
			last = last || m.initials&(1<<i) == 0
		case partGiven, partPatronymic:
			given = true
		default:
			last, given = true, true
		}
	}
	if words == 0 {
		words, m.pairs = m.count, bits.OnesCount32(m.listed)
	}
	m.words = words
	if words < 2 {
		return m.pairs > 0
	}
	return m.pairs >= 2 && (kind != Individual || last && given)
}

// score gives the review and the strict score of an aligned name.
func (m *comparison) score(c *scorer, l *wordLayer, record *nameRecord, kind EntityType) (score, strict int32) {
	if kind == Individual {
		m.matchInitials(c, l)
	}
	if !m.gate(kind) {
		return 0, 0
	}
	queryLeft := m.queryLeft(c, kind)
	missing := m.leftOver(kind)
	if kind == Vessel || kind == Aircraft {
		if m.lowest < joinSimilarity || queryLeft > 0 || missing.review > 0 {
			return 0, 0
		}
	}
	share1 := int32(100)
	sameForm := kind != Individual && c.forms.kin() != 0 && c.forms.kin() == record.forms.kin()
	if m.words < 2 {
		alone := queryLeft == 0 && sameForm && int(record.letters) >= oneWordFormMin && m.lowest >= oneWordForm
		switch {
		case queryLeft > 0:
			share1 = partialWordShare
		case alone:
			m.add(onlyFormWeight, scoreOne)
		case !oneWordClose(int(record.letters), m.lowest):
			return 0, 0
		}
	}
	if sameForm {
		m.add(sameFormWeight, scoreOne)
	}
	score = share(m.worth, m.matched+queryLeft*m.queryTolerance(missing)/100+missing.review) * share1 / 100
	strict = share(m.strict, m.matched+queryLeft+missing.strict) * share1 / 100
	if kind == Company && m.lowest < scoreOne && c.forms.kin() != record.forms.kin() && (c.forms.contradicts(record.forms) || m.words < 3) {
		score = score * otherFormShare / 100
	}
	if kind == Individual && m.pairs == 2 && m.exact == 0 && m.lowest < bothCloseBelow && m.namesOther(c) {
		score = score * bothCloseShare / 100
	}
	if kind == Individual && m.pairs == 2 && missing.review > 0 && m.matched < commonNames {
		score = score * commonShare / 100
	}
	if kind == Individual && m.short {
		score = score * shortPairShare / 100
	}
	if kind == Individual && c.forms != 0 {
		score, strict = score*93/100, strict*85/100
	}
	return score, strict
}

// queryTolerance is how much of the weight of the query's surplus counts, per
// cent: less when the whole listed name of three words or more is in the query.
func (m *comparison) queryTolerance(missing left) int32 {
	if missing.review == 0 && m.pairs >= provableWords && m.lowest >= sameSpelling {
		return 45
	}
	return 90
}

// oneWordClose says how close a word must be that is a whole name: short words
// are too easily one letter away from one another (SONY, SUNNE; CEMEX, CIMEX).
func oneWordClose(letters int, similarity int32) bool {
	switch {
	case letters <= 6:
		return similarity == scoreOne
	case letters <= 8:
		return similarity >= 9300
	}
	return similarity >= 8800
}

func share(part, whole int32) int32 {
	if whole <= 0 {
		return 0
	}
	return int32(int64(part) * scoreOne / int64(whole))
}

// namesOther reports whether a matched word of the query is a name in its own
// right: a listed word, or one of a group of respellings.
func (m *comparison) namesOther(c *scorer) bool {
	for i := range c.count {
		if m.query&(1<<i) != 0 && (c.list[i].known || c.list[i].group != 0) && c.list[i].weight > grammarWeight {
			return true
		}
	}
	return false
}
