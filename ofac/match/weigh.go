package match

import (
	"math/bits"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

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
			record := l.Word(m.tokens[k].Word)
			word := l.TextOf(&record)
			if word[0] == written[0] && (len(written) == 1 || len(word) == 1) {
				m.initials |= 1 << k
				m.addPair(pair{1 << k, 1 << i, text.ScoreOne, m.tune.initialWeight, pairInitial})
				break
			}
		}
	}
}

// secondLast reports whether word k is a last name that follows a matched last name.
func (m *comparison) secondLast(k int) bool {
	for i := range k {
		if m.tokens[i].Part == index.PartLast && m.weights[i] > index.GrammarWeight {
			return m.listed&(1<<i) != 0
		}
	}
	return false
}

// contradictsInitial reports whether one side has an unpaired initial, and the other side
// names it could stand for, none of which begins with it: HANS O FRIEDRICH, Hans Joachim
// Friedrich. An initial may also stand for a second last name.
func (m *comparison) contradictsInitial(c *scorer, l *index.WordLayer) bool {
	listed, initial := [256]bool{}, false // first letters of the unpaired words of the listed name
	names := false
	for k := range m.count {
		if m.listed&(1<<k) != 0 || m.weights[k] <= index.GrammarWeight && m.tokens[k].Part == index.PartLast {
			continue
		}
		record := l.Word(m.tokens[k].Word)
		word := l.TextOf(&record)
		listed[word[0]] = true
		if m.tokens[k].Part != index.PartLast {
			initial = initial || len(word) == 1 && word[0] > '9'
			names = names || len(word) > 1 && m.weights[k] > index.GrammarWeight
		}
	}
	for i := range c.count {
		w := &c.list[i]
		if m.query&(1<<i) != 0 || w.title || w.payment || c.isRepeated(i) {
			continue
		}
		if w.initial && names && !listed[c.textOf(i)[0]] || initial && !w.initial && w.weight > index.GrammarWeight && c.textOf(i)[0] > '9' {
			return true
		}
	}
	return false
}

// namesFather reports whether the query's first name was paired with the name of the listed
// person's father: IBRAHIM BIN KHALID is not Saif bin Ibrahim, but may be his father.
func (m *comparison) namesFather(c *scorer, l *index.WordLayer) bool {
	first, given := 0, 0
	for first+1 < c.count && c.list[first].title {
		first++
	}
	if first+1 >= c.count || c.list[first+1].group != index.FatherGroup || m.query&(1<<first) == 0 {
		return false
	}
	for k := range m.count {
		if m.tokens[k].Part == index.PartGiven {
			given = k
			break
		}
	}
	at := m.takenFor(first)
	return at > 0 && m.listed&(1<<given) == 0 && uint32(l.Word(m.tokens[at-1].Word).Group) == index.FatherGroup
}

// namesOffice reports whether the query is an office and the listed person's last name, and
// that name is rare: PRESIDENT MADURO. Such a query gives no first name.
func (m *comparison) namesOffice(c *scorer) bool {
	name, office := -1, false
	for i := range c.count {
		switch {
		case c.list[i].title:
			office = office || text.OfficeWords.Has(c.textOf(i))
		case c.list[i].weight <= index.GrammarWeight:
		case name >= 0 || m.query&(1<<i) == 0:
			return false
		default:
			name = i
		}
	}
	if !office || name < 0 || c.forms != 0 || m.lowest < text.SameSpelling || m.lowest < text.ScoreOne && c.list[name].known {
		return false
	}
	at := m.count - 1 // Without a comma the last word is the last name.
	for k := range m.count {
		if m.tokens[k].Part == index.PartLast && m.weights[k] > index.GrammarWeight {
			at = k
			break
		}
	}
	return m.listed&(1<<at) != 0 && m.weights[at] >= m.tune.commonWord
}

// queryLeft weighs the words of the query that the listed name lacks. A repeated word costs
// nothing, a title little, and so does a patronymic unless the listed name has another one.
func (m *comparison) queryLeft(c *scorer, person bool) left {
	var surplus left
	patronymic := false
	for i := range m.count {
		patronymic = patronymic || m.tokens[i].Part == index.PartPatronymic && m.listed&(1<<i) == 0
	}
	for i := range c.count {
		lost, strict := int32(0), int32(0)
		switch {
		case m.query&(1<<i) != 0 || c.isRepeated(i):
		case c.list[i].title:
			lost = m.tune.titleLeft
		case c.list[i].payment:
			lost, strict = m.tune.titleLeft, c.list[i].whole
		case person && !patronymic && c.count > 2 && text.IsPatronymic(c.textOf(i)):
			lost = c.list[i].weight * m.tune.patronymicLeft / 100
		default:
			lost = c.list[i].weight
		}
		m.queryLost[i] = lost
		surplus.review += lost
		surplus.strict += max(lost, strict)
	}
	return surplus
}

// isRepeated reports whether a word of the query occurred before.
func (c *scorer) isRepeated(i int) bool {
	for k := range i {
		if string(c.textOf(k)) == string(c.textOf(i)) {
			return true
		}
	}
	return false
}

// left is the weight of the words that only one side has, for the review score and for the
// strict score.
type left struct{ review, strict int32 }

// leftOver weighs the unmatched words of the listed name. People often leave out middle names,
// but not a first name, the first last name, or half of an East Asian given name; the missing
// half counts only if the other words are close but not equal.
func (m *comparison) leftOver(person bool) left {
	var missing left
	middle, otherLast, sawLast := int32(0), int32(0), false
	for i := range m.count {
		part, weight := m.tokens[i].Part, m.weights[i]
		firstLast := part == index.PartLast && !sawLast && weight > index.GrammarWeight
		sawLast = sawLast || firstLast
		m.listedLost[i] = 0
		switch {
		case m.initials&(1<<i) != 0:
			missing.strict += weight * m.tune.initialStrict / 100
		case m.listed&(1<<i) != 0:
		case m.office: // The office stands in place of the word.
		case !person || part == index.PartGiven || firstLast || part == index.PartHalf && m.lowest < text.ScoreOne:
			m.listedLost[i] = weight * m.tune.missingName / 100
			missing.review += m.listedLost[i]
			missing.strict += weight * m.tune.missingStrict / 100
		default:
			missing.strict += weight * m.tune.missingMiddleStrict / 100
			switch part {
			case index.PartPatronymic:
				weight = weight * m.tune.missingPatronymic / 100
				middle += weight
			case index.PartLast:
				otherLast += weight
			default:
				middle += weight
			}
			m.listedLost[i] = -weight // divideMinor computes its share below
		}
	}
	both := int32(0)
	if middle > 0 && otherLast > 0 {
		both = otherLast * m.tune.missingBoth / 100 // People often leave out one of the two last names, but seldom both.
		otherLast = 0
	}
	minor := min(middle+otherLast, m.tune.middleMost)*m.tune.missingMiddle/100 + both
	m.divideMinor(minor)
	missing.review += minor
	return missing
}

// divideMinor divides the common loss of middle names and second last names among them, for
// the explanation.
func (m *comparison) divideMinor(minor int32) {
	total := int32(0)
	for i := range m.count {
		total += max(-m.listedLost[i], 0)
	}
	for i := range m.count {
		if m.listedLost[i] < 0 {
			m.listedLost[i] = int32(int64(-m.listedLost[i]) * int64(minor) / int64(total))
		}
	}
}

// passesGate reports whether enough kinds of words match: for a person a last name and
// another name; otherwise two words, or one if the name has only one.
func (m *comparison) passesGate(person bool) bool {
	words, last, given := 0, false, false
	m.pairs = 0
	for i := range m.count {
		if m.weights[i] <= index.GrammarWeight {
			continue
		}
		words++
		if m.listed&(1<<i) == 0 {
			continue
		}
		m.pairs++
		switch m.tokens[i].Part {
		case index.PartLast:
			last = last || m.initials&(1<<i) == 0
		case index.PartGiven, index.PartPatronymic:
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
	return m.pairs >= 2 && (!person || last && given)
}

// outlineName weighs the matched and unmatched words of an aligned name, as far as the
// words alone decide. It returns false when too few kinds of words match.
func (m *comparison) outlineName(c *scorer, l *index.WordLayer) bool {
	m.account = account{}
	person := m.isPerson()
	if person {
		m.matchInitials(c, l)
	}
	m.office = person && m.namesOffice(c)
	if !m.passesGate(person) && !m.office {
		return false
	}
	if person {
		m.otherInitial, m.father = m.contradictsInitial(c, l), m.namesFather(c, l)
	}
	m.surplus, m.missing = m.queryLeft(c, person), m.leftOver(person)
	return true
}

// isPerson reports whether the listed name is a person's: only then do its words have
// parts.
func (m *comparison) isPerson() bool { return m.tokens[0].Part != index.PartNone }

// mostScore is an upper bound on the review score of an outlined name, whatever the entry
// and the name's legal form are.
func (m *comparison) mostScore(c *scorer) int32 {
	if c.least == 0 {
		return text.ScoreOne
	}
	whole := m.matched + m.surplus.review*m.surplusShare()/100 + m.missing.review
	most := shareOf(m.worth+c.room, whole+c.room)
	if m.words < 2 && m.surplus.review > 0 {
		most = most * m.tune.partialWordShare / 100
	}
	return most
}

// computeScores returns the review and the strict score of an outlined name.
func (m *comparison) computeScores(c *scorer, record *index.NameRecord, kind list.EntityType) (score, strict int32) {
	queryLeft, missing := m.surplus, m.missing
	if kind == list.Vessel || kind == list.Aircraft {
		if m.lowest < joinSimilarity || queryLeft.review > 0 || missing.review > 0 {
			return 0, 0
		}
	}
	sameForm := kind != list.Individual && c.forms.Kin() != 0 && c.forms.Kin() == record.Forms.Kin()
	part, ok := m.oneWord(queryLeft.review, sameForm, record)
	if !ok {
		return 0, 0
	}
	if sameForm {
		m.addPair(pair{similarity: text.ScoreOne, weight: m.tune.sameFormWeight, kind: pairForm})
	}
	surplus := m.surplusShare()
	m.whole = m.matched + queryLeft.review*surplus/100 + missing.review
	for i := range m.queryLost {
		m.queryLost[i] = m.queryLost[i] * surplus / 100
	}
	score = m.lowerScore(factorOneWord, shareOf(m.worth, m.whole), part)
	strict = shareOf(m.strict, m.matched+queryLeft.strict+missing.strict) * part / 100
	return m.applyShares(score, strict, c, record, kind, missing)
}

// applyShares applies the shares that lower a score.
func (m *comparison) applyShares(score, strict int32, c *scorer, record *index.NameRecord, kind list.EntityType, missing left) (int32, int32) {
	t := m.tune
	if kind == list.Company && m.lowest < text.ScoreOne && c.forms.Kin() != record.Forms.Kin() && (c.forms.Contradicts(record.Forms) || m.words < 3) {
		score = m.lowerScore(factorOtherForm, score, t.otherFormShare)
	}
	if kind != list.Individual {
		return score, strict
	}
	if m.pairs == 2 && m.exact == 0 && m.lowest < t.bothCloseBelow && m.namesOther(c) {
		score = m.lowerScore(factorBothClose, score, t.bothCloseShare)
	}
	if m.pairs == 2 && missing.review > 0 && m.matched < t.commonNames {
		score = m.lowerScore(factorCommon, score, t.commonShare)
	}
	if m.short {
		score = m.lowerScore(factorShort, score, t.shortPairShare)
	}
	if m.otherInitial {
		score = m.lowerScore(factorInitial, score, t.otherInitialShare)
	}
	if m.office {
		score = m.lowerScore(factorOffice, score, t.officeShare)
	}
	if m.father {
		score = m.lowerScore(factorFather, score, t.fatherShare)
	}
	if c.forms != 0 {
		score, strict = m.lowerScore(factorPersonForm, score, t.formPersonShare), strict*t.formPersonStrict/100
	}
	return score, strict
}

// lowerScore returns a share of a score, per cent, and records the reason.
func (m *comparison) lowerScore(why factor, score, percent int32) int32 {
	if percent != 100 {
		m.factors[why] = percent
	}
	return score * percent / 100
}

// oneWord judges a listed name of one word. It returns how many per cent of its score remain, and
// whether it is close enough at all.
func (m *comparison) oneWord(queryLeft int32, sameForm bool, record *index.NameRecord) (int32, bool) {
	if m.words >= 2 {
		return 100, true
	}
	letters := int32(record.Letters)
	switch {
	case queryLeft > 0:
		return m.tune.partialWordShare, true
	case sameForm && letters >= m.tune.oneWordFormMin && m.lowest >= m.tune.oneWordForm:
		m.addPair(pair{similarity: text.ScoreOne, weight: m.tune.onlyFormWeight, kind: pairForm})
		return 100, true
	}
	return 100, m.tune.oneWordClose(letters, m.lowest)
}

// surplusShare is the share, per cent, of the weight of the query's other words that
// counts. It is less when the query contains the whole listed name of three words or more.
func (m *comparison) surplusShare() int32 {
	if m.missing.review == 0 && m.pairs >= index.WholeNameWords && m.lowest >= text.SameSpelling {
		return m.tune.surplusWhole
	}
	return m.tune.surplusShare
}

// oneWordClose reports whether a word is close enough to a listed name of one word. Short
// words are too easily one letter apart (SONY, SUNNE; CEMEX, CIMEX).
func (t *tuning) oneWordClose(letters, similarity int32) bool {
	switch {
	case letters <= 6:
		return similarity == text.ScoreOne
	case letters <= 8:
		return similarity >= t.oneWordMiddle
	}
	return similarity >= t.oneWordLong
}

func shareOf(part, whole int32) int32 {
	if whole <= 0 {
		return 0
	}
	return int32(int64(part) * text.ScoreOne / int64(whole))
}

// namesOther reports whether a matched word of the query is itself a known name: a listed
// word, or one of a group of respellings.
func (m *comparison) namesOther(c *scorer) bool {
	for i := range c.count {
		if m.query&(1<<i) != 0 && (c.list[i].known || c.list[i].group != 0) && c.list[i].weight > index.GrammarWeight {
			return true
		}
	}
	return false
}
