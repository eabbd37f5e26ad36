package learning

import (
	"cmp"
	"slices"

	"railguard/engine"
)

// Answer is an officer's answer to a review.
type Answer uint8

// The answers.
const (
	Approved Answer = iota
	Rejected
	Escalated
	answers
)

// Entry is a listed party that a record named.
type Entry struct{ UID, List, Name string }

// Decision is one review that was decided.
type Decision struct {
	At         engine.Time
	ScreenedAt engine.Time // 0: history has the record no more, so that nothing below is known of it.
	Answer     Answer
	Subject    string // Who decided; of two persons the one who decided first.
	Second     string // Who confirmed it; "": nobody had to.
	Rules      []string
	Entries    []Entry
	Operator   string
	LookAgain  bool // Another officer looks at it again.
}

// looks counts second looks at decisions that have something in common.
type looks struct{ asked, agreed, disagreed, lapsed uint64 }

// Look is a second look that has ended.
type Look struct {
	Subject string // Who had decided; of two persons the one who decided first.
	By      string // Who answered; "": it lapsed.
	Agrees  bool
	Rules   []string
}

// Figures are what was decided in a period. The zero value is ready. It grows with the decisions
// that it takes, and with what they name.
type Figures struct {
	total     group
	two       uint64 // Decisions that two persons made.
	officers  map[string]*officer
	rules     map[string]*group
	entries   map[Entry]*group
	operators map[string]*group
	days      map[engine.Day]*day
}

// group counts decisions that have something in common.
type group struct {
	counts    [answers]uint64
	looks     looks
	waits     []engine.Time // From screening to decision, of each whose record is there.
	otherwise uint64        // Of a listed entry: sanctions cases that were found to be another party.
}

type day struct {
	group
	opened uint64
}

type officer struct {
	group
	rules map[string]*group

	seconded  uint64 // As the second person he confirmed another's decision.
	confirmed uint64 // His own decisions that a second person confirmed,
	withdrawn uint64 // and those that one took back.
	rejudged  uint64 // Payments that he approved and that were blocked when they were judged again.
	given     uint64 // Second looks at others' decisions that he answered.
	reopened  uint64 // Payments that he approved and for which a report or a sanctions case was opened later.
}

func (g *group) add(d *Decision) {
	g.counts[d.Answer]++
	if d.LookAgain {
		g.looks.asked++
	}
	if d.ScreenedAt != 0 {
		g.waits = append(g.waits, max(d.At-d.ScreenedAt, 0))
	}
}

// decisions is how many there are.
func (g *group) decisions() (all uint64) {
	for _, count := range g.counts {
		all += count
	}
	return all
}

// median is the wait in the middle, of an even number the shorter of the two. known is false where
// there is none.
func (g *group) median() (wait engine.Time, known bool) {
	if len(g.waits) == 0 {
		return 0, false
	}
	slices.Sort(g.waits)
	return g.waits[(len(g.waits)-1)/2], true
}

// at returns the row of a key, and makes it where there is none.
func at[K comparable, V any](rows *map[K]*V, key K) *V {
	if *rows == nil {
		*rows = map[K]*V{}
	}
	row := (*rows)[key]
	if row == nil {
		row = new(V)
		(*rows)[key] = row
	}
	return row
}

// Count takes a decision.
func (f *Figures) Count(d *Decision) {
	f.total.add(d)
	at(&f.days, d.At.Day()).add(d)
	who := at(&f.officers, d.Subject)
	who.add(d)
	if d.Second != "" {
		f.two++
		who.confirmed++
		at(&f.officers, d.Second).seconded++
	}
	for _, rule := range d.Rules {
		at(&f.rules, rule).add(d)
		at(&who.rules, rule).add(d)
	}
	for _, entry := range d.Entries {
		at(&f.entries, entry).add(d)
	}
	if d.Operator != "" {
		at(&f.operators, d.Operator).add(d)
	}
}

// Opened takes a review that began to wait.
func (f *Figures) Opened(when engine.Time) { at(&f.days, when.Day()).opened++ }

// Withdrawn takes a decision that a second person took back before it counted.
func (f *Figures) Withdrawn(subject string) { at(&f.officers, subject).withdrawn++ }

// Rejudged takes an approved payment that was blocked when it was judged again.
func (f *Figures) Rejudged(subject string) { at(&f.officers, subject).rejudged++ }

// Reopened takes an approved payment for which a report or a sanctions case was opened later.
func (f *Figures) Reopened(subject string) { at(&f.officers, subject).reopened++ }

// Looked takes a second look that has ended.
func (f *Figures) Looked(look *Look) {
	who := at(&f.officers, look.Subject)
	groups := []*group{&f.total, &who.group}
	for _, rule := range look.Rules {
		groups = append(groups, at(&f.rules, rule), at(&who.rules, rule))
	}
	for _, g := range groups {
		switch {
		case look.By == "":
			g.looks.lapsed++
		case look.Agrees:
			g.looks.agreed++
		default:
			g.looks.disagreed++
		}
	}
	if look.By != "" {
		at(&f.officers, look.By).given++
	}
}

// AnotherParty takes a sanctions case that was found not to be of the listed entry.
func (f *Figures) AnotherParty(entry Entry) { at(&f.entries, entry).otherwise++ }

// Decisions is how many were counted.
func (f *Figures) Decisions() uint64 { return f.total.decisions() }

// sorted returns the keys of rows, those with the most decisions first.
func sorted[K comparable, V any](rows map[K]*V, weight func(*V) uint64, compare func(a, b K) int) []K {
	keys := make([]K, 0, len(rows))
	for key := range rows {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(weight(rows[b]), weight(rows[a])), compare(a, b))
	})
	return keys
}
