package match

import (
	"cmp"
	"slices"

	"railguard/ofac/index"
	"railguard/ofac/list"
	"railguard/ofac/text"
)

// PartyType is the kind of party that the caller gives.
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

	// Review and Block are score thresholds in 1e-4; 0 is the default. They can only be
	// lowered: a value above the default counts as the default.
	Review, Block int32

	// WeakAliases makes an exact hit on a weak alias a possible match.
	WeakAliases bool

	// NonSDNPossible counts possible matches against entries that are not on
	// the SDN (counterpartyScreening OFAC+CONS). Exact hits always count.
	NonSDNPossible bool

	// ClearedUIDs are entries that an officer has cleared for this name. They yield no
	// possible match. An exact hit that blocks stays.
	ClearedUIDs []uint32
	// Context orders matches with equal scores, and changes nothing else.
	Context Context

	// Now is when the question is asked, ns UTC: entries that have ended match nothing.
	Now int64

	// Brief leaves out the possible matches when an exact one blocks, since they could not
	// change the outcome. Payments are judged so; a workbench wants all matches.
	Brief bool
}

// Outcome is the result for a name.
type Outcome uint8

// The outcomes, from the mildest to the hardest.
const (
	Clear    Outcome = iota
	Possible         // R21, REVIEW
	Listed           // R5 or R7, BLOCK
)

// String returns clear, possible or listed.
func (o Outcome) String() string { return [...]string{"clear", "possible", "listed"}[o] }

// Match is one listed party that a name may mean.
type Match struct {
	UID     uint32
	Type    list.EntityType
	Lists   list.Lists
	Outcome Outcome // The outcome of this match alone; Clear if it is only evidence.
	Name    string  // The party's primary name, as listed.
	Alias   string  // The name that matched, as listed.
	Quality string  // "strong" or "weak".
	Form    string  // How it matched: full, first-last, sorted-words, content-words, joined, ascii, truncated, possible.
	Score   int32   // 1e-4; orders matches and is compared with the review threshold.
	Strict  int32   // 1e-4; is compared with the block threshold.
	Sub     Sub     // Why the outcome is not a harder one.
}

// Result is the answer to a Query.
type Result struct {
	Outcome   Outcome
	Truncated bool    // Part of the name was not read, or not all candidates were looked at.
	Unread    Unread  // Why a part of the name could not be compared, whatever the outcome of the rest is.
	Clearable bool    // There was a possible match, cleared or not. Without one, ClearedUIDs change nothing.
	Matches   []Match // Best first, at most 10. Valid until the Scratch is used again.
}

// hit is a match before it is turned into words.
type hit struct {
	entity, name  uint32
	score, strict int32
	outcome       Outcome
	form          uint8 // index.ExactForm, or formPossible
	sub           Sub
	evidence      int32 // orders hits with the same outcome and score
}

// formPossible is the form of a hit of the possible matcher.
const formPossible = uint8(index.ExactFormCount)

// alikeReading is the reading of a name with look-alike letters as Latin.
type alikeReading struct {
	name  string
	words []byte
	read  bool // It is the reading of this name,
	has   bool // which has such letters.
}

// Scratch holds what one goroutine needs to screen names without allocating.
// It may be used with any Index, by one call at a time.
type Scratch struct {
	maker   index.FormMaker
	other   []byte // another reading of the words
	alike   alikeReading
	normal  []byte // the normal form of the query
	whole   bool   // normal is the form of the whole query
	hits    []hit
	written index.Span // the hits of the words as written; a form with the same bytes reuses them
	father  bool       // the current run of words stands behind "bin"
	cut     bool       // the query contains more listed names than are looked at
	matches [matchesMax]Match
	scorer  scorer

	memoStarts  [memoWordsMax + 1]uint16 // Where each word of a memo begins; the word behind the last begins behind the text.
	memoTelling [memoWordsMax]memoWord

	steps int // bytes of keys looked up, rows read and names compared for one query; a test bounds them
}

// NewScratch returns a Scratch. It grows to the size of the list on first use.
func NewScratch() *Scratch {
	s := &Scratch{hits: make([]hit, 0, 256), other: make([]byte, 0, 1024), normal: make([]byte, 0, 1024)}
	s.scorer.numbers = &shipped
	s.alike.words = make([]byte, 0, 1024)
	s.maker.Words, s.maker.Swap = make([]byte, 0, 1024), make([]byte, 0, 1024)
	s.maker.Key, s.maker.Joint, s.maker.Spans = make([]byte, 0, 1024), make([]byte, 0, 1024), make([]index.Span, 0, 64)
	s.scorer.finder.Room = make([]byte, 0, 4*text.WordBytesMax)
	return s
}

// Normal returns the normal form of the name that was screened last (see NormaliseName),
// valid until the next one. whole is false when the name was too long to be read whole.
func (s *Scratch) Normal() (form []byte, whole bool) { return s.normal, s.whole }

// Steps returns the work that the name screened last took: bytes read, bytes of keys looked up,
// rows read and names compared. It is the same on every machine, so that a caller is charged alike
// everywhere.
func (s *Scratch) Steps() int { return s.steps + s.maker.Steps + s.scorer.finder.Steps }

// Screen judges a name: first the exact forms, which no threshold can silence,
// then the possible matches. It is a pure function of the list's bytes and the
// query, and its work is bounded whatever the name is.
func (x *Index) Screen(q *Query, s *Scratch) Result {
	s.hits, s.cut, s.alike.read = s.hits[:0], false, false
	s.steps, s.maker.Steps, s.scorer.finder.Steps = 0, 0, 0
	if x.Matcher() > MatcherVersion {
		q = rehearseQuery(q)
	}
	name := q.Name
	truncated := false
	if len(name) > text.QueryBytesMax {
		name, truncated = name[:text.QueryBytesMax], true
	}
	unread := UnreadOf(name)
	if plain, escaped := text.Unescape(name); escaped {
		truncated = x.screenText(plain, q, s) || truncated
		truncated = x.screenSeen(plain, q, s) || truncated
		unread = max(unread, UnreadOf(plain))
	}
	truncated = x.screenSeen(name, q, s) || truncated
	if ship, ok := text.WithoutShipPrefix(name); ok {
		first := len(s.hits)
		truncated = x.screenText(ship, q, s) || truncated
		s.hits = x.onlyVessels(s.hits, first)
	}
	if plain, ok := text.WithoutPossessive(name); ok {
		first := len(s.hits)
		truncated = x.screenText(plain, q, s) || truncated
		soften(s.hits[first:], SubSpelling)
	}
	if spoken, person, ok := text.SpeakHan(name); ok {
		first := len(s.hits)
		s.scorer.strictly = person
		truncated = x.screenText(spoken, q, s) || truncated
		if s.scorer.strictly = false; person {
			s.hits = withoutContained(s.hits, first)
		}
		soften(s.hits[first:], SubTransliterated)
	}
	x.screenAbroad(name, q, s)
	truncated = x.screenText(name, q, s) || truncated // This reading comes last, because the scratch keeps its normal form.
	s.whole, truncated = len(name) == len(q.Name), truncated || s.cut
	result := x.rankHits(q, s)
	result.Truncated, result.Unread = truncated, unread
	return result
}

// screenAbroad appends the hits of a person's name in Han characters as Koreans and people of Hong Kong read
// it. One syllable more or less is another person, so only listed names that are equal are looked up.
func (x *Index) screenAbroad(name string, q *Query, s *Scratch) {
	for _, way := range text.HanWays {
		spoken, ok := way.Speak(name)
		if !ok {
			continue
		}
		first := len(s.hits)
		s.scorer.words = text.AppendWords(s.scorer.words[:0], spoken, false)
		x.findExact(spoken, q, s)
		s.hits = withoutContained(s.hits, first)
		soften(s.hits[first:], SubTransliterated)
	}
}

// withoutContained removes, of the hits from first on, the names that stand in a longer one: one character more
// is another person.
func withoutContained(hits []hit, first int) []hit {
	return append(hits[:first], slices.DeleteFunc(hits[first:], func(h hit) bool { return h.sub == SubContained })...)
}

// onlyVessels keeps, of the hits from first on, those of vessels.
func (x *Index) onlyVessels(hits []hit, first int) []hit {
	kept := hits[:first]
	for _, h := range hits[first:] {
		if x.EntityAt(h.entity).Kind == list.Vessel {
			kept = append(kept, h)
		}
	}
	return kept
}

// soften turns blocks into possible matches: the name as it is written is another one.
func soften(hits []hit, sub Sub) {
	for i := range hits {
		if hits[i].outcome == Listed {
			hits[i].outcome, hits[i].sub = Possible, sub
		}
	}
}

// readSteps is how many steps it takes to read a byte of a name: to fold it, and to cut it into
// words. A name of few listed letters has hardly any other work.
const readSteps = 12

// screenText appends the hits of one reading of the query. It returns true when not all of
// it was read.
func (x *Index) screenText(name string, q *Query, s *Scratch) (truncated bool) {
	s.steps += readSteps * len(name)
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

// anyBlocks reports whether a hit already leads to BLOCK.
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

// rankHits keeps the best hit of each entity and turns the best ten into matches.
func (x *Index) rankHits(q *Query, s *Scratch) Result {
	if len(s.hits) == 0 {
		return Result{}
	}
	slices.SortFunc(s.hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.entity, b.entity), compareHits(a, b)) })
	s.hits = slices.CompactFunc(s.hits, func(a, b hit) bool { return a.entity == b.entity })
	clearable := false
	for i := range s.hits {
		clearable = clearable || s.hits[i].outcome == Possible
		x.clearHit(q, &s.hits[i])
	}
	slices.SortFunc(s.hits, func(a, b hit) int { return cmp.Or(compareHits(a, b), cmp.Compare(a.entity, b.entity)) })
	x.breakTies(q, s.hits)
	result := Result{Matches: s.matches[:0], Clearable: clearable}
	for _, h := range s.hits[:min(len(s.hits), matchesMax)] {
		result.Outcome = max(result.Outcome, h.outcome)
		result.Matches = append(result.Matches, x.wordMatch(&h))
	}
	return result
}

// clearHit withdraws a possible match that an officer has cleared.
func (x *Index) clearHit(q *Query, h *hit) {
	if h.outcome != Possible || len(q.ClearedUIDs) == 0 {
		return
	}
	uid := x.EntityAt(h.entity).UID
	if slices.Contains(q.ClearedUIDs[:min(len(q.ClearedUIDs), clearedPairsMax)], uid) {
		h.outcome, h.sub = Clear, SubCleared
	}
}

// wordMatch turns a hit into a Match.
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

// ScreenEntry compares a name with one entry only. A workbench or an evaluation asks so why
// a name does or does not match a party. It returns false when the entry is unknown or does
// not match.
func (x *Index) ScreenEntry(uid uint32, q *Query, s *Scratch) (Match, bool) {
	at, ok := x.Find(uid)
	if !ok {
		return Match{}, false
	}
	x.Screen(q, s)
	for i := range s.hits { // rankHits left one hit of each entity, in order
		if s.hits[i].entity == at {
			return x.wordMatch(&s.hits[i]), true
		}
	}
	return Match{}, false
}
