package match

import (
	"fmt"
	"math/bits"
	"strings"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// Explanation says why a name matches a listed one, pair by pair, in the numbers of the
// score.
type Explanation struct {
	Match      Match
	Pairs      []ExplainedPair // Words that were paired, in the query's order. Empty for an exact form.
	QueryOnly  []ExplainedLoss // Words of the query that the listed name lacks.
	ListedOnly []ExplainedLoss // Words of the listed name that the query lacks.
	Shares     []ExplainedLoss // The shares that lower the whole score, in words.
	FormsAside bool            // True when an exact form is equal only without legal forms.
}

// ExplainedPair is words of the query and the words of the listed name with which they were
// paired.
type ExplainedPair struct {
	Query, Listed string
	Similarity    int32  // 1e-4
	Loss          int32  // how much the difference lowers the score, 1e-4
	Kind          string // equal, spelling, beginning, initial or legal form
}

// ExplainedLoss is how much a word, or a share, lowers the score, 1e-4.
type ExplainedLoss struct {
	What string
	Loss int32
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

// addComparison adds the pairs, the losses and the shares of a comparison.
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
			if p := &m.made[k]; p.query != 0 && bits.TrailingZeros32(p.query) == i {
				e.addPair(p, asked(p.query), text(p.listed), m.whole)
			}
		}
		if m.queryLost[i] > 0 {
			e.QueryOnly = append(e.QueryOnly, ExplainedLoss{strings.ToUpper(t.words[i]), shareOf(m.queryLost[i], m.whole)})
		}
	}
	for k := range m.taken {
		if p := &m.made[k]; p.kind == pairForm {
			e.addPair(p, "", "", m.whole)
		}
	}
	for i := range m.count {
		if m.listedLost[i] > 0 {
			e.ListedOnly = append(e.ListedOnly, ExplainedLoss{text(1 << i), shareOf(m.listedLost[i], m.whole)})
		}
	}
	score := shareOf(m.worth, m.whole)
	for why, percent := range m.factors {
		if percent != 0 {
			lowered := score * percent / 100
			e.Shares = append(e.Shares, ExplainedLoss{factorWords[why], score - lowered})
			score = lowered
		}
	}
}

func (e *Explanation) addPair(p *pair, query, listed string, whole int32) {
	kind := "spelling"
	switch {
	case p.kind == pairForm:
		kind = "legal form"
	case p.kind == pairInitial:
		kind = "initial"
	case p.similarity == text.ScoreOne:
		kind = "equal"
	case p.kind == pairLoose:
		kind = "beginning"
	}
	loss := shareOf(p.weight-p.weight*p.similarity/text.ScoreOne, whole)
	e.Pairs = append(e.Pairs, ExplainedPair{query, listed, p.similarity, loss, kind})
}

var factorWords = [factorCount]string{
	factorOneWord: "the listed name is one word of several", factorOtherForm: "words are only close, and the legal forms differ",
	factorBothClose: "both names are only close to the listed ones", factorCommon: "the two names are common, and the listed person has more",
	factorShort: "a short word is another listed word", factorPersonForm: "the query has a legal form, and a person is listed",
	factorInitial: "an initial begins none of the other's names", factorFather: "the first name is that of the listed person's father",
	factorOffice: "an office stands for the first names", factorParty: "a person is said, and a company listed",
}

// String returns the explanation on one line: HASSAN = HASSAN 1.00, YOUSUF ~ YOUSEF 0.93,
// "ALI" not in the query −0.08.
func (e Explanation) String() string {
	var parts []string
	for _, p := range e.Pairs {
		switch p.Kind {
		case "legal form":
			parts = append(parts, "same legal form")
		case "initial":
			parts = append(parts, fmt.Sprintf("%s is an initial of %s", shorterOf(p.Query, p.Listed), longerOf(p.Query, p.Listed)))
		case "equal":
			parts = append(parts, fmt.Sprintf("%s = %s %s", p.Query, p.Listed, formatHundredths(p.Similarity)))
		default:
			parts = append(parts, fmt.Sprintf("%s ~ %s %s", p.Query, p.Listed, formatHundredths(p.Similarity)))
		}
	}
	for _, loss := range e.QueryOnly {
		parts = append(parts, fmt.Sprintf("%q not in the listed name −%s", loss.What, formatHundredths(loss.Loss)))
	}
	for _, loss := range e.ListedOnly {
		parts = append(parts, fmt.Sprintf("%q not in the query −%s", loss.What, formatHundredths(loss.Loss)))
	}
	for _, loss := range e.Shares {
		parts = append(parts, fmt.Sprintf("%s −%s", loss.What, formatHundredths(loss.Loss)))
	}
	switch {
	case len(e.Pairs) > 0:
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

// formatHundredths prints 1e-4 rounded to two places.
func formatHundredths(value int32) string {
	value = (value + 50) / 100
	return fmt.Sprintf("%d.%02d", value/100, value%100)
}
