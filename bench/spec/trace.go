package spec

import (
	"cmp"
	"fmt"
	"slices"
)

// Trace is what was seen of a run: all leaves in the order of the log, and what callers were
// told. Times are in any unit, the same for all.
type Trace struct {
	Limits  map[string]int64 // By purse.
	Day     int64
	Leap    int64 // So far log time may leap beyond the time that has passed.
	Seen    []Seen
	Answers []Heard
}

// Seen is a leaf as it was written.
type Seen struct {
	Leaf
	Name   string   // Of the call; "": the leaf is of no call.
	Purses []string // Of a payment that goes through, or would.
	Hold   int64
	Stays  bool // Of a BLOCK: the payment had leave, and goes on counting.
	Limit  bool // A payment was blocked because of a limit, and for no other reason.
}

// Outcome is what a caller knows of its call.
type Outcome uint8

// The outcomes.
const (
	WasTold Outcome = iota
	IsUnknown
	NothingHappened
)

// Heard is what a caller heard of one call, whatever its tries.
type Heard struct {
	Name     string
	Outcome  Outcome
	Leaf     int
	Verdict  Verdict // NoVerdict: it is not known, or no payment was asked for.
	Replayed bool    // The answer is that of an earlier try.
	Index    uint64
	Term     uint64
	From, To int64 // When the call began and was answered, by a true clock.
}

// Check follows a trace step by step, and returns all steps that the model does not allow.
func (t *Trace) Check() (wrong []string) {
	f := &follower{machine: NewMachine(AllRules, t.Day, t.Limits), places: map[string][]int{}}
	for at := range t.Seen {
		f.step(at, &t.Seen[at])
	}
	for i := range t.Answers {
		f.hear(t, &t.Answers[i])
	}
	f.followTerms(t)
	return f.wrong
}

// follower follows a trace. The machine takes every step that was seen; the model says whether it
// would have.
type follower struct {
	machine *Machine
	places  map[string][]int // Leaves by the name of their call.
	wrong   []string

	owed    bool // The next leaf gives back the payment of this leaf.
	blocked int
}

func (f *follower) add(format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf(format, args...))
}

// step takes one leaf.
func (f *follower) step(at int, seen *Seen) {
	m := f.machine
	if seen.At < m.now {
		f.add("leaf %d: log time goes back from %d to %d", at, m.now, seen.At)
	}
	m.now = max(m.now, seen.At)
	if f.owed && (seen.Kind != Release || seen.Payment != f.blocked) {
		f.add("leaf %d: the payment of leaf %d was judged a BLOCK, and is not given back", at, f.blocked)
	}
	f.owed = false
	if seen.Name != "" {
		f.places[seen.Name] = append(f.places[seen.Name], at)
		if len(f.places[seen.Name]) == 2 {
			f.add("leaf %d: %q is applied twice", at, seen.Name)
		}
	}
	record := Record{Purses: seen.Purses, Amount: seen.Amount, Hold: seen.Hold}
	switch seen.Kind {
	case Pay:
		room := m.hasRoom(seen.Purses, seen.Amount)
		if seen.Verdict == Proceed && !room {
			f.add("leaf %d: %d goes through, and %v have no room for it", at, seen.Amount, seen.Purses)
		}
		if seen.Limit && room {
			f.add("leaf %d: %d is refused for a limit, and %v have room for it", at, seen.Amount, seen.Purses)
		}
		if seen.Verdict == Proceed {
			m.book(at, record)
		}
	case Approve:
		m.book(seen.Payment, record)
	case Confirm, Redeem:
		f.leave(at, seen)
	case Settle, Release, Expire, Unresolve:
		f.end(at, seen)
	}
}

// end takes a leaf that says how a payment ended, or that nobody knows.
func (f *follower) end(at int, seen *Seen) {
	m := f.machine
	p := m.payments[seen.Payment]
	if p == nil {
		f.add("leaf %d: it ends the payment of leaf %d, and there is none", at, seen.Payment)
		return
	}
	due := p.until != 0 && m.now >= p.until
	late := p.ended == Release || p.ended == Expire
	switch {
	case (seen.Kind == Expire || seen.Kind == Unresolve) && (!due || p.over):
		f.add("leaf %d: the hold of leaf %d is over before its time, or again", at, seen.Payment)
	case seen.Kind == Expire && p.taken:
		f.add("leaf %d: the payment of leaf %d returns by itself, and was redeemed", at, seen.Payment)
	case p.ended == Settle || p.late, late && seen.Kind != Settle:
		f.add("leaf %d: the payment of leaf %d ends a second time", at, seen.Payment)
	case late != seen.Late:
		f.add("leaf %d: late is %v, and the payment of leaf %d had ended: %v", at, seen.Late, seen.Payment, late)
	case due && m.now > p.until && !p.over && p.ended == Tick && (seen.Kind == Settle || seen.Kind == Release):
		f.add("leaf %d: the hold of leaf %d was over, and no leaf says so before", at, seen.Payment)
	case seen.Kind == Unresolve:
		p.over = true
		return
	}
	m.finish(p, seen.Kind, seen.Amount, late)
}

// leave takes a leaf by which a payment was judged again.
func (f *follower) leave(at int, seen *Seen) {
	m := f.machine
	p := m.payments[seen.Payment]
	if p == nil {
		f.add("leaf %d: it judges the payment of leaf %d again, and there is none", at, seen.Payment)
		return
	}
	switch m.waits(p); {
	case p.taken, p.over, p.ended != Tick:
		f.add("leaf %d: the payment of leaf %d is judged again, and was redeemed or had ended", at, seen.Payment)
	case p.until != 0 && m.now > p.until:
		f.add("leaf %d: the payment of leaf %d is judged again after its time", at, seen.Payment)
	}
	p.taken = p.taken || seen.Kind == Redeem
	f.owed, f.blocked = seen.Verdict == Block && !seen.Stays, seen.Payment
}

// hear compares what a caller was told with the log.
func (f *follower) hear(t *Trace, heard *Heard) {
	places := f.places[heard.Name]
	switch heard.Outcome {
	case NothingHappened:
		if len(places) != 0 {
			f.add("%q: nothing happened, the caller was told, and it is at leaves %v", heard.Name, places)
		}
	case WasTold:
		if !slices.Contains(places, heard.Leaf) {
			f.add("%q: the caller was told of leaf %d, and it is at leaves %v", heard.Name, heard.Leaf, places)
			return
		}
		if told := t.Seen[heard.Leaf].Verdict; heard.Verdict != NoVerdict && heard.Verdict != told {
			f.add("%q: the caller was told verdict %d, and leaf %d says %d", heard.Name, heard.Verdict, heard.Leaf, told)
		}
	}
}

// followTerms goes through the fresh answers in the order of their leaves. Indexes and terms only
// rise, an index has one term and one log time, and log time moves at most as far as time passes,
// a tenth more (what a clock may lean), and one leap.
func (f *follower) followTerms(t *Trace) {
	var fresh []*Heard
	for i := range t.Answers {
		if heard := &t.Answers[i]; heard.Outcome == WasTold && !heard.Replayed && heard.Leaf < len(t.Seen) {
			fresh = append(fresh, heard)
		}
	}
	slices.SortFunc(fresh, func(a, b *Heard) int { return cmp.Compare(a.Leaf, b.Leaf) })
	for i := 1; i < len(fresh); i++ {
		one, next := fresh[i-1], fresh[i]
		if next.Index < one.Index || next.Term < one.Term || next.Index == one.Index && next.Term != one.Term {
			f.add("%q at index %d of term %d stands after %q at index %d of term %d", next.Name, next.Index, next.Term, one.Name, one.Index, one.Term)
		}
		moved, passed := t.Seen[next.Leaf].At-t.Seen[one.Leaf].At, max(next.To-one.From, 0)
		if next.Index == one.Index && moved != 0 {
			f.add("%q and %q have one index, and log times that differ by %d", one.Name, next.Name, moved)
		}
		if moved > passed+passed/10+t.Leap {
			f.add("log time leaps by %d between %q and %q, while %d passed", moved, one.Name, next.Name, passed)
		}
	}
}
