package retrace

import (
	"slices"

	"railguard/engine"
	"railguard/strictjson"
)

// What officers said of the reviews that a candidate saves: calls that waited for an officer and
// would not wait under the candidate. Where officers refused some of these, the candidate lets go
// through (or blocks) what a person stopped.

const (
	savedMax     = 65_536 // How many such calls are followed until their decisions.
	refusedShown = 100    // How many that officers refused are shown.
)

// savedReviews counts them. The zero value is ready.
type savedReviews struct {
	count    uint64
	waiting  map[uint64]example // By the leaf of the call: officers have not decided it yet.
	approved uint64
	refused  uint64
	shown    []example // That officers refused, the first ones.
	more     bool      // There were more than savedMax at once.
}

// note takes a call that waited as recorded and would not wait.
func (s *savedReviews) note(leaf uint64, e *example) {
	s.count++
	if len(s.waiting) == savedMax {
		s.more = true
		return
	}
	if s.waiting == nil {
		s.waiting = map[uint64]example{}
	}
	s.waiting[leaf] = *e
}

// decide takes an officer's answer. A rejection and an escalation are both refusals: who may read a
// backtest must not learn of reports.
func (s *savedReviews) decide(leaf uint64, approved bool) {
	e, saved := s.waiting[leaf]
	if !saved {
		return
	}
	delete(s.waiting, leaf)
	if approved {
		s.approved++
		return
	}
	s.refused++
	if len(s.shown) < refusedShown {
		s.shown = append(s.shown, e)
	}
}

func (s *savedReviews) write(m *strictjson.Members) {
	m.Uint("count", s.count)
	m.Uint("approved", s.approved)
	m.Uint("refused", s.refused)
	m.Uint("undecided", s.count-s.approved-s.refused)
	m.Bool("truncated", s.more)
	items := make([]strictjson.Members, 0, len(s.shown))
	for i := range s.shown {
		var item strictjson.Members
		s.shown[i].writeMembers(&item)
		items = append(items, item)
	}
	m.List("refusedExamples", slices.Clip(items))
}

// noteDecision takes an officer's answer to a call.
func (t *Tally) noteDecision(leaf uint64, approved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.saved.decide(leaf, approved)
}

// noteSaved takes a case that a candidate decides without an officer. The caller holds mu.
func (t *Tally) noteSaved(c *Case, was, now decisionKind) {
	if was.verdict == engine.Review && now.verdict != engine.Review {
		e := exampleOf(c, was, now)
		t.saved.note(c.Record.Leaf, &e)
	}
}
