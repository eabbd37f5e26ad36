package match

import (
	"cmp"
	"slices"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// PartyType is what the caller says the named party is.
type PartyType uint8

// The values of cpType; unknown when it is absent or not one of the three.
const (
	PartyUnknown PartyType = iota
	PartyIndividual
	PartyBusiness
	PartyExchange
)

// Query is one name to screen.
type Query struct {
	Name string
	Type PartyType

	// Review and Block are score thresholds in 1e-4; 0 is the default. They
	// may only be tightened: a value above the default is the default.
	Review, Block int32

	// WeakAliases makes an exact hit on a weak alias a possible match.
	WeakAliases bool

	// NonSDNPossible counts possible matches against entries that are not on
	// the SDN (counterpartyScreening OFAC+CONS). Exact hits always count.
	NonSDNPossible bool

	// ClearedUIDs are entries an officer has cleared for this name: they
	// yield no possible match. An exact hit that blocks is not cleared.
	ClearedUIDs []uint32
	// Context orders matches that score alike, and changes nothing else.
	Context Context

	// Brief leaves out the possible matches when an exact one blocks: they could
	// not change the outcome. A payment is judged so; a workbench wants them all.
	Brief bool
}

// Outcome is what a name leads to.
type Outcome uint8

// The outcomes, hardest last.
const (
	Clear    Outcome = iota
	Possible         // R21, REVIEW
	Listed           // R5 or R7, BLOCK
)

// String returns clear, possible or listed.
func (o Outcome) String() string { return [...]string{"clear", "possible", "listed"}[o] }

// Match is one listed party a name may mean.
type Match struct {
	UID     uint32
	Type    list.EntityType
	Lists   list.Lists
	Outcome Outcome // What this match alone leads to; Clear for evidence that leads to nothing.
	Name    string  // The party's primary name, as listed.
	Alias   string  // The name that matched, as listed.
	Quality string  // "strong" or "weak".
	Form    string  // How it matched: full, first-last, sorted-words, content-words, joined, ascii, truncated, possible.
	Score   int32   // 1e-4; ranks and is compared with the review threshold.
	Strict  int32   // 1e-4; is compared with the block threshold.
	Sub     Sub     // Why the outcome is not a harder one.
}

// Result is the answer to a Query.
type Result struct {
	Outcome   Outcome
	Truncated bool    // The name was longer than the possible matcher reads, or leads to more names than it looks at.
	Matches   []Match // Best first, at most 10. Valid until the Scratch is used again.
}

// hit is a match before it is worded.
type hit struct {
	entity, name  uint32
	score, strict int32
	outcome       Outcome
	form          uint8 // index.ExactForm, or formPossible
	sub           Sub
	evidence      int32 // among equals
}

// formPossible is the form of a hit the possible matcher found.
const formPossible = uint8(index.ExactFormCount)

// Scratch holds what one goroutine needs to screen names without allocating.
// It may be used with any Index, by one call at a time.
type Scratch struct {
	maker   index.FormMaker
	other   []byte // the second reading of the words
	normal  []byte // the normal form of the query
	whole   bool   // nothing of the query is missing in it
	hits    []hit
	written index.Span // the hits of the words as they are written: another form that is the same bytes has them again
	father  bool       // the run that is looked up stands behind "bin"
	cut     bool       // more names stand inside the query than are looked at
	matches [matchesMax]Match
	scorer  scorer
}

// NewScratch returns a Scratch. It grows to the size of the list on first use.
func NewScratch() *Scratch {
	s := &Scratch{hits: make([]hit, 0, 256), other: make([]byte, 0, 1024), normal: make([]byte, 0, 1024)}
	s.scorer.tuned = &shipped
	s.maker.Words, s.maker.Swap = make([]byte, 0, 1024), make([]byte, 0, 1024)
	s.maker.Key, s.maker.Joint, s.maker.Spans = make([]byte, 0, 1024), make([]byte, 0, 1024), make([]index.Span, 0, 64)
	s.scorer.finder.Room = make([]byte, 0, 4*text.WordBytesMax)
	return s
}

// Normal is the normal form of the name that was screened last (see NormaliseName),
// valid until the next one. False: the name was too long to be read whole.
func (s *Scratch) Normal() (form []byte, whole bool) { return s.normal, s.whole }

// Screen judges a name: first the exact forms, which no threshold can silence,
// then the possible matches. It is a pure function of the list's bytes and the
// query, and its work is bounded whatever the name is.
func (x *Index) Screen(q *Query, s *Scratch) Result {
	s.hits, s.cut = s.hits[:0], false
	if x.Matcher() > MatcherVersion {
		q = rehearseQuery(q)
	}
	name := q.Name
	truncated := false
	if len(name) > text.QueryBytesMax {
		name, truncated = name[:text.QueryBytesMax], true
	}
	if plain, escaped := text.Unescape(name); escaped {
		truncated = x.screenText(plain, q, s) || truncated
	}
	truncated = x.screenText(name, q, s) || truncated // Last: its normal form is the query's.
	s.whole, truncated = len(name) == len(q.Name), truncated || s.cut
	result := x.rankHits(q, s)
	result.Truncated = truncated
	return result
}

// screenText appends the hits of one way to read the query. True: not all of it was read.
func (x *Index) screenText(name string, q *Query, s *Scratch) (truncated bool) {
	s.scorer.words = text.AppendWords(s.scorer.words[:0], name, false)
	x.findExact(name, q, s)
	if !(q.Brief && anyBlocks(s.hits)) {
		x.findCutLine(name, s)
		truncated = x.findPossible(name, q, s)
	}
	if !anyBlocks(s.hits) {
		truncated = x.screenParties(name, q, s) || truncated
	}
	x.spareGuesses(name, s)
	return truncated
}

// anyBlocks tells whether a hit leads to BLOCK already.
func anyBlocks(hits []hit) bool {
	for i := range hits {
		if hits[i].outcome == Listed {
			return true
		}
	}
	return false
}

// compareHits orders hits of one entity, the best first.
func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.outcome, a.outcome), cmp.Compare(b.score, a.score), cmp.Compare(b.strict, a.strict),
		cmp.Compare(a.form, b.form), cmp.Compare(a.name, b.name))
}

// rankHits keeps the best hit of each entity and puts the best ten into words.
func (x *Index) rankHits(q *Query, s *Scratch) Result {
	if len(s.hits) == 0 {
		return Result{}
	}
	slices.SortFunc(s.hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.entity, b.entity), compareHits(a, b)) })
	s.hits = slices.CompactFunc(s.hits, func(a, b hit) bool { return a.entity == b.entity })
	for i := range s.hits {
		x.clearHit(q, &s.hits[i])
	}
	slices.SortFunc(s.hits, func(a, b hit) int { return cmp.Or(compareHits(a, b), cmp.Compare(a.entity, b.entity)) })
	x.breakTies(q, s.hits)
	result := Result{Matches: s.matches[:0]}
	for _, h := range s.hits[:min(len(s.hits), matchesMax)] {
		result.Outcome = max(result.Outcome, h.outcome)
		result.Matches = append(result.Matches, x.wordMatch(&h))
	}
	return result
}

// clearHit takes a possible match back that an officer has cleared.
func (x *Index) clearHit(q *Query, h *hit) {
	if h.outcome != Possible || len(q.ClearedUIDs) == 0 {
		return
	}
	uid := x.EntityAt(h.entity).UID
	if slices.Contains(q.ClearedUIDs[:min(len(q.ClearedUIDs), clearedPairsMax)], uid) {
		h.outcome, h.sub = Clear, SubCleared
	}
}

// wordMatch words a hit.
func (x *Index) wordMatch(h *hit) Match {
	entity, name := x.EntityAt(h.entity), x.NameAt(h.name)
	match := Match{
		UID: entity.UID, Type: entity.Kind, Lists: entity.Lists, Outcome: h.outcome,
		Name: x.TextAt(x.NameAt(entity.Names).Full), Alias: x.TextAt(name.Full), Quality: "strong",
		Form: "possible", Score: h.score, Strict: h.strict, Sub: h.sub,
	}
	if name.Flags&index.NameWeak != 0 {
		match.Quality = "weak"
	}
	if h.form < formPossible {
		match.Form = index.ExactForm(h.form).String()
	}
	return match
}

// ScreenEntry holds a name against one entry only: how a workbench, or an
// evaluation, asks why a name does or does not match a party. False: the entry
// is unknown or does not come near.
func (x *Index) ScreenEntry(uid uint32, q *Query, s *Scratch) (Match, bool) {
	at, ok := x.Find(uid)
	if !ok {
		return Match{}, false
	}
	x.Screen(q, s)
	for i := range s.hits { // ranked, one of each entity
		if s.hits[i].entity == at {
			return x.wordMatch(&s.hits[i]), true
		}
	}
	return Match{}, false
}
