package ofac

import "math/bits"

// edge says that some words of a listed name are some words of the query.
type edge struct {
	listed, query uint32 // masks
	similarity    int32
	weight        int32
}

// comparison is one listed name held against the query.
type comparison struct {
	tokens  [nameTokensMax]nameToken
	weights [nameTokensMax]int32
	count   int
	edges   int

	listed, query uint32 // matched words
	matched       int32  // weight of the matched words
	worth         int32  // the same times similarity
	lowest        int32  // least similarity of a matched word
	pairs         int    // matched content words of the listed name
}

// scoreName compares one listed name with the query and keeps it if its score
// reaches the review threshold.
func (x *Index) scoreName(name uint32, q *Query, s *Scratch) {
	c := &s.scorer
	var m comparison
	if !x.align(name, c, &m) {
		return
	}
	c.looked++
	record := x.name(name)
	kind := x.entity(record.entity).kind
	score, strict := m.score(c, &record, kind, q)
	if score < reviewThreshold(q) {
		return
	}
	entity := x.entity(record.entity)
	h := hit{entity: record.entity, name: name, score: score, strict: strict, form: formPossible, outcome: Possible, sub: SubSpelling}
	if strict >= blockThreshold(q) && kind != Vessel && kind != Aircraft {
		read := reading{forms: c.forms, dropped: kind == Individual && c.forms != 0}
		h.outcome, h.sub = decideName(&record, kind, read, q)
	}
	if h.outcome == Possible && entity.lists&ListSDN == 0 && !q.NonSDNPossible {
		h.outcome, h.sub = Clear, SubNotSDN
	}
	s.hits = append(s.hits, h)
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

// align pairs the words of a listed name with those of the query, each word at
// most once, the closest pairs first. False: too little of the query is matched.
func (x *Index) align(name uint32, c *scorer, m *comparison) bool {
	l := &x.words
	reach := uint32(0)
	var edges = &c.edges
	for i := l.tokenOffsets.at(name); i < l.tokenOffsets.at(name+1); i++ {
		token := readNameToken(l.tokens[uint64(i)*nameTokenBytes:])
		if token.count == 1 {
			m.tokens[m.count], m.weights[m.count] = token, l.weight(token.word)
			m.count++
		}
		if c.marked.marks[token.word] != c.marked.round {
			continue
		}
		for k := c.heads[token.word]; k >= 0 && m.edges < edgesMax; k = c.marks[k].next {
			reach |= c.marks[k].mask
			weight, similarity := int32(0), c.marks[k].similarity
			for t := token.first; t < token.first+token.count; t++ {
				weight += m.weights[t]
			}
			if token.count > 1 {
				similarity = similarity * joinSimilarity / scoreOne
			}
			edges[m.edges] = edge{(1<<token.count - 1) << token.first, c.marks[k].mask, similarity, weight}
			m.edges++
		}
	}
	if c.weightOf(reach)*(scoreOne/100) < c.total*(coverageNeeded/100) {
		return false
	}
	m.assign(edges[:m.edges])
	return true
}

func (c *scorer) weightOf(mask uint32) int32 {
	weight := int32(0)
	for ; mask != 0; mask &= mask - 1 {
		weight += c.list[bits.TrailingZeros32(mask)].weight
	}
	return weight
}

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
		m.listed |= e.listed
		m.query |= e.query
		m.matched += e.weight
		m.worth += e.weight * e.similarity / scoreOne
		m.lowest = min(m.lowest, e.similarity)
		m.pairs += bits.OnesCount32(e.listed)
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

// score gives the review and the strict score of an aligned name.
func (m *comparison) score(c *scorer, record *nameRecord, kind EntityType, q *Query) (score, strict int32) {
	queryLeft := c.weightOf((1<<c.count - 1) &^ m.query)
	listedLeft, contentLeft := int32(0), 0
	last, given := kind != Individual || record.words < 2, kind != Individual || record.words < 2
	for i := range m.count {
		matched := m.listed&(1<<i) != 0
		part := m.tokens[i].part
		last = last || matched && (part == partLast || part == partMiddle)
		given = given || matched && (part == partGiven || part == partMiddle || part == partPatronymic)
		if !matched {
			listedLeft += m.weights[i]
			contentLeft++
		}
	}
	if !last || !given {
		return 0, 0
	}
	if m.pairs < 2 && m.count >= 2 {
		return 0, 0
	}
	tolerance, strictTolerance := int32(45), int32(80)
	if kind == Individual {
		tolerance, strictTolerance = 16, 45
	}
	score = share(m.worth, m.matched+queryLeft*85/100+listedLeft*tolerance/100)
	strict = share(m.worth, m.matched+queryLeft+listedLeft*strictTolerance/100)
	if m.count == 1 {
		letters := int32(record.letters)
		switch {
		case c.count > 1:
			score, strict = score*78/100, strict*78/100
		case letters <= 6 && m.lowest < scoreOne, letters <= 8 && m.lowest < 9300, m.lowest < 8800:
			return 0, 0
		}
	}
	if kind == Vessel || kind == Aircraft {
		if m.lowest < joinSimilarity || queryLeft > 0 || listedLeft > 0 {
			return 0, 0
		}
		strict = strict * 85 / 100
	}
	if kind == Individual && c.forms != 0 {
		score, strict = score*93/100, strict*85/100
	}
	if kind != Individual && c.forms.contradicts(record.forms) {
		strict = strict * 92 / 100
	}
	return score, strict
}

func share(part, whole int32) int32 {
	if whole <= 0 {
		return 0
	}
	return int32(int64(part) * scoreOne / int64(whole))
}
