package parties

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"railguard/ofac"
)

// This file finds who is like whom. The names of the index's own counterparties are compiled as a
// list, in segments, and a name is asked of them as it is asked of the sanctions list: what a verdict
// would have found alike is alike here.

// segmentMax is how many names are compiled together, 0.8 s of work. A smaller segment is compiled
// again with those that come after it, as soon as these are half as many, so that a name is
// compiled a few times in all.
const segmentMax = 1 << 14

// segment is a range of payees, compiled.
type segment struct {
	first, end uint32 // Numbers of payees from 0.
	list       *ofac.Index
}

// comparedAll tells whether all payees stand in a segment. The mutex is held.
func (x *Index) comparedAll() bool { return x.compiled() == uint32(len(x.payees)) }

// compiled returns how many payees stand in segments.
func (x *Index) compiled() uint32 {
	if len(x.segments) == 0 {
		return 0
	}
	return x.segments[len(x.segments)-1].end
}

// compileNext compiles the payees that stand in no segment yet. It returns false if there are none.
func (x *Index) compileNext(between func()) bool {
	x.mutex.RLock()
	end := uint32(len(x.payees))
	next := &segment{first: x.compiled(), end: end}
	kept := len(x.segments)
	for kept > 0 {
		before := x.segments[kept-1]
		if size := next.end - next.first; before.end-before.first > 2*size || next.end-before.first > segmentMax {
			break
		}
		kept, next.first = kept-1, before.first
	}
	next.end = min(end, next.first+segmentMax)
	made := slices.Clone(x.payees[next.first:next.end])
	x.mutex.RUnlock()
	if len(made) == 0 {
		return false
	}
	next.list = compile(made, next.first, between)
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.segments = append(x.segments[:kept:kept], next)
	return true
}

// compile makes a list of payees. One that cannot be compiled is nil: its names are found by their
// words alone.
func compile(payees []payee, first uint32, between func()) *ofac.Index {
	entities := make([]ofac.Entity, 0, len(payees))
	for i := range payees {
		p := &payees[i]
		if p.unnamed || len(p.name) > nameBytesMax {
			continue
		}
		kind := ofac.Company
		if p.person {
			kind = ofac.Individual
		}
		entities = append(entities, ofac.Entity{
			UID: first + uint32(i) + 1, Type: kind, Lists: ofac.ListSDN, Sublists: []string{"records"},
			Names: []ofac.Name{{Primary: true, AliasType: "Name", Script: "Latin", Full: p.name}},
		})
	}
	if len(entities) == 0 {
		return nil
	}
	encoded, err := ofac.EncodeEntities(entities, ofac.Meta{Source: "records"})
	if err != nil {
		return nil
	}
	list, err := ofac.Carried().CompileWith(ofac.Help{Step: between}, encoded, ofac.MatcherVersion)
	if err != nil {
		return nil
	}
	return list
}

// nameBytesMax is the longest name that a list takes.
const nameBytesMax = 4096

// Alike is a counterparty that is like what was asked for.
type Alike struct {
	Payee uint32 // From 1.
	Score uint16 // In 1e-4.
	Why   string
}

// Question asks who is like somebody.
type Question struct {
	Names []string // Each of them.
	Links []Link
	Words string // Parts of a name, in any order; "": not by parts.
	Most  int    // Answers wanted.
}

var scratches = sync.Pool{New: func() any { return ofac.NewScratch() }}

// Alike returns who is like what was asked for, best first.
func (x *Index) Alike(q *Question, between func()) []Alike {
	best := map[uint32]Alike{}
	take := func(a Alike) {
		if a.Score > best[a.Payee].Score {
			best[a.Payee] = a
		}
	}
	x.mutex.RLock()
	segments := x.segments
	for _, link := range q.Links {
		why := "the same identifier " + link.Text
		if link.Wallet {
			why = "the same wallet " + link.Text
		}
		for _, number := range x.sharers[link.Key] {
			take(Alike{number, scoreOne, why})
		}
	}
	for _, name := range q.Names {
		if number, known := x.byForm[formOf(name)]; known && name != "" {
			take(Alike{number, scoreOne, "the same name"})
		}
	}
	x.mutex.RUnlock()
	scratch := scratches.Get().(*ofac.Scratch)
	defer scratches.Put(scratch)
	for _, name := range q.Names {
		for _, s := range segments {
			between()
			if s.list == nil || name == "" {
				continue
			}
			found := s.list.Screen(&ofac.Query{Name: name, NonSDNPossible: true, WeakAliases: true}, scratch)
			for i := range found.Matches {
				if m := &found.Matches[i]; m.Outcome != ofac.Clear {
					take(Alike{m.UID, uint16(max(m.Score, 1)), whyAlike(name, m)})
				}
			}
		}
	}
	if q.Words != "" {
		x.byWords(q.Words, take, between)
	}
	return rankAlike(best, q.Most)
}

func rankAlike(best map[uint32]Alike, most int) []Alike {
	all := make([]Alike, 0, len(best))
	for _, a := range best {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Alike) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Payee, a.Payee))
	})
	return all[:min(len(all), most)]
}

// whyAlike says how a name is like another.
func whyAlike(asked string, m *ofac.Match) string {
	switch m.Form {
	case "possible":
		return "reads like “" + asked + "”"
	case "full":
		return "the same name"
	case "sorted-words", "first-last":
		return "the same words as “" + asked + "” in another order"
	}
	return "the same name as “" + asked + "” in another form (" + m.Form + ")"
}

// Scores of names that have the words that were asked for.
const (
	scoreWords    = 9_500 // Whole words.
	scorePrefixes = 9_000 // Words that begin so.
	scoreParts    = 8_800 // Somewhere in it.
)

// byWords finds counterparties whose name has all the words of a text, in any order, whole or in part.
func (x *Index) byWords(text string, take func(Alike), between func()) {
	words := strings.Fields(formOf(text))
	if len(words) == 0 {
		return
	}
	const chunk = 4096
	for first := 0; ; first += chunk {
		between()
		x.mutex.RLock()
		payees := x.payees[min(first, len(x.payees)):min(first+chunk, len(x.payees))]
		for i := range payees {
			if score, why := hasWords(payees[i].form, words); score > 0 {
				take(Alike{uint32(first + i + 1), score, why})
			}
		}
		x.mutex.RUnlock()
		if len(payees) < chunk {
			return
		}
	}
}

// hasWords tells how a form has all of the words.
func hasWords(form string, words []string) (score uint16, why string) {
	score, why = scoreWords, "has every word, in any order"
	for _, word := range words {
		switch at := strings.Index(form, word); {
		case at < 0:
			return 0, ""
		case hasWord(form, word):
		case at == 0 || form[at-1] == ' ':
			if score > scorePrefixes {
				score, why = scorePrefixes, "has words that begin so"
			}
		default:
			score, why = scoreParts, "has these letters"
		}
	}
	return score, why
}

// hasWord tells whether a word stands in a form by itself.
func hasWord(form, word string) bool {
	for rest := form; rest != ""; {
		var next string
		next, rest, _ = strings.Cut(rest, " ")
		if next == word {
			return true
		}
	}
	return false
}
