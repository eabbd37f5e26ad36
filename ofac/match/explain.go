package match

import (
	"fmt"
	"math/bits"
	"strings"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// Explanation says why a name matches a listed one, pair by pair, in hundredths of a bit. The parts add
// up to Sum, and the score follows from it: ReviewDefault stands for Needed.
type Explanation struct {
	Match       Match
	Pairs       []ExplainedPair // Words that were paired, in the query's order. Empty for an exact form.
	QueryOnly   []ExplainedPart // Words of the query that the listed name lacks.
	ListedOnly  []ExplainedPart // Words of the listed name that the query lacks.
	Whole       []ExplainedPart // What the names say as wholes.
	Sum, Needed int32
	FormsAside  bool // True when an exact form is equal only without legal forms.
}

// ExplainedPair is words of the query and the words of the listed name with which they were
// paired.
type ExplainedPair struct {
	Query, Listed string
	Similarity    int32  // 1e-4
	Bits          int32  // what the pair says, hundredths
	Kind          string // equal, spelling, beginning or initial
}

// ExplainedPart is what a word alone, or something else, says, in hundredths of a bit: less than 0
// speaks against the match.
type ExplainedPart struct {
	What string
	Bits int32
}

// trace keeps the best comparison with one listed name, for Explain.
type trace struct {
	name     uint32
	score    int32
	held     comparison
	words    [scoredWordsMax]string
	count    int
	recorded bool
}

func (t *trace) noteScore(name uint32, score int32, c *scorer) {
	if name != t.name || t.recorded && score <= t.score {
		return
	}
	t.score, t.held, t.count, t.recorded = score, c.held, c.count, true
	for i := range c.count {
		t.words[i] = string(c.textOf(i))
	}
}

// Explain says why the query matches the entry. It returns false when they do not match.
func (x *Index) Explain(uid uint32, q *Query, s *Scratch) (Explanation, bool) {
	plain := *q
	plain.Brief = false
	match, ok := x.ScreenEntry(uid, &plain, s)
	if !ok {
		return Explanation{}, false
	}
	explanation := Explanation{Match: match}
	at, _ := x.Find(uid)
	for i := range s.hits {
		if s.hits[i].entity != at {
			continue
		}
		if s.hits[i].form != formPossible {
			explanation.FormsAside = s.hits[i].sub != SubContained && x.formsAside(s.hits[i].name, q.Name)
			break
		}
		traced := trace{name: s.hits[i].name}
		s.scorer.trace = &traced
		x.Screen(&plain, s)
		s.scorer.trace = nil
		if traced.recorded {
			explanation.addComparison(&x.Words, &traced)
		}
		break
	}
	return explanation, true
}

// formsAside reports whether a company's name and the query have different legal forms.
func (x *Index) formsAside(name uint32, query string) bool {
	record := x.NameAt(name)
	if x.EntityAt(record.Entity).Kind != list.Company {
		return false
	}
	if spoken, _, ok := text.SpeakHan(query); ok {
		query = spoken
	}
	var tokens text.TokenList
	tokens.Split(text.AppendWords(nil, query, false))
	return tokens.Forms() != record.Forms
}

func shorterOf(a, b string) string {
	if len(a) <= len(b) {
		return a
	}
	return b
}

func longerOf(a, b string) string {
	if len(a) <= len(b) {
		return b
	}
	return a
}

// addComparison adds the parts of a comparison.
func (e *Explanation) addComparison(l *index.WordLayer, t *trace) {
	m := &t.held
	text := func(mask uint32) string {
		var words []string
		for ; mask != 0; mask &= mask - 1 {
			words = append(words, strings.ToUpper(string(l.WordText(m.tokens[bits.TrailingZeros32(mask)].Word))))
		}
		return strings.Join(words, " ")
	}
	asked := func(mask uint32) string {
		var words []string
		for ; mask != 0; mask &= mask - 1 {
			words = append(words, strings.ToUpper(t.words[bits.TrailingZeros32(mask)]))
		}
		return strings.Join(words, " ")
	}
	for i := range t.count {
		for k := range m.taken {
			if p := &m.made[k]; bits.TrailingZeros32(p.query) == i {
				e.Pairs = append(e.Pairs, ExplainedPair{asked(p.query), text(p.listed), p.similarity, m.gains[k], p.kindWord()})
			}
		}
		if lost := m.queryLost[i]; lost != 0 {
			e.QueryOnly = append(e.QueryOnly, ExplainedPart{strings.ToUpper(t.words[i]), -lost})
		}
	}
	for i := range m.count {
		if lost := m.listedLost[i]; lost != 0 {
			e.ListedOnly = append(e.ListedOnly, ExplainedPart{text(1 << i), -lost})
		}
	}
	for why, said := range m.whole {
		if said != 0 {
			e.Whole = append(e.Whole, ExplainedPart{wholeWords[why], said})
		}
	}
	e.Sum, e.Needed = m.sum, m.numbers.needed(m.isPerson())
}

func (p *pair) kindWord() string {
	switch {
	case p.kind == pairInitial:
		return "initial"
	case p.similarity == text.ScoreOne:
		return "equal"
	case p.kind == pairLoose:
		return "beginning"
	}
	return "spelling"
}

var wholeWords = [wholeCount]string{
	wholeSame: "each word has its pair", wholeGeneric: "the whole listed name and common words", wholeContradict: "words stand where the other name has others",
	wholeMany: "many words that agree", wholeForm: "the same legal form",
	wholeParty: "a person is said, and a company listed",
}

// String returns the explanation on one line: HASSAN = HASSAN +8.5, YOUSUF ~ YOUSEF +12.3, "ALI" not in
// the query −0.6, 20.2 bits of 17.3.
func (e Explanation) String() string {
	var parts []string
	for _, p := range e.Pairs {
		switch p.Kind {
		case "initial":
			parts = append(parts, fmt.Sprintf("%s is an initial of %s %s", shorterOf(p.Query, p.Listed), longerOf(p.Query, p.Listed), formatBits(p.Bits)))
		case "equal":
			parts = append(parts, fmt.Sprintf("%s = %s %s", p.Query, p.Listed, formatBits(p.Bits)))
		default:
			parts = append(parts, fmt.Sprintf("%s ~ %s %s", p.Query, p.Listed, formatBits(p.Bits)))
		}
	}
	for _, part := range e.QueryOnly {
		parts = append(parts, fmt.Sprintf("%q not in the listed name %s", part.What, formatBits(part.Bits)))
	}
	for _, part := range e.ListedOnly {
		parts = append(parts, fmt.Sprintf("%q not in the query %s", part.What, formatBits(part.Bits)))
	}
	for _, part := range e.Whole {
		parts = append(parts, part.What+" "+formatBits(part.Bits))
	}
	switch {
	case len(e.Pairs) > 0:
		parts = append(parts, fmt.Sprintf("%s bits of %s", formatBits(e.Sum), strings.TrimPrefix(formatBits(e.Needed), "+")))
	case e.Match.Form == index.ExactTruncated.String():
		parts = append(parts, "the beginning of the listed name")
	case e.FormsAside:
		parts = append(parts, "equal as "+e.Match.Form+", legal forms aside")
	default:
		parts = append(parts, "equal as "+e.Match.Form)
	}
	if sub := e.Match.Sub.String(); sub != "" {
		parts = append(parts, sub)
	}
	return strings.Join(parts, ", ")
}

// formatBits prints hundredths of a bit with a sign and rounded to tenths.
func formatBits(said int32) string {
	sign := "+"
	if said < 0 {
		sign, said = "−", -said
	}
	tenths := (said + 5) / 10
	return fmt.Sprintf("%s%d.%d", sign, tenths/10, tenths%10)
}
