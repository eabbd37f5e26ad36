package spec

import (
	"fmt"
	"strings"
)

// Found is the outcome of a search.
type Found struct {
	Scope     string
	Off       Rule
	States    int
	Logs      int             // How many different logs were read.
	Exhausted bool            // There is no other state in this scope.
	Broken    string          // The promise that is broken; "": none.
	Way       []string        // The shortest way to it.
	Reached   map[string]bool // What happened in some state.
}

// String tells a broken promise and the way to it.
func (f *Found) String() string {
	head := fmt.Sprintf("%s: %d states, %d logs", f.Scope, f.States, f.Logs)
	if f.Off != AllRules {
		head += ", without the rule " + string(f.Off)
	}
	switch {
	case f.Broken != "":
		return head + ": " + f.Broken + "\n  " + strings.Join(f.Way, "\n  ") + "\n"
	case !f.Exhausted:
		return head + ", and there are more"
	}
	return head + ": all of them keep every promise"
}

// search walks through the states of a scope, breadth first.
type search struct {
	scope *Scope
	off   Rule
	seen  map[State]struct{}
	steps []step
	logs  map[logKey]*reading
}

// step is a state with the first way to it.
type step struct {
	state State
	from  int32
	move  Move
}

// logKey is a log up to an entry. What comes later is zero.
type logKey [logMax]Entry

// Search walks through all states of a scope, but through no more than so many, without one rule.
// It ends at the first state that breaks a promise.
func Search(scope *Scope, off Rule, most int) *Found {
	s := &search{scope: scope, off: off, seen: map[State]struct{}{}, logs: map[logKey]*reading{}}
	found := &Found{Scope: scope.Name, Off: off, Reached: map[string]bool{}}
	s.enter(State{}, -1, Move{})
	for at := 0; at < len(s.steps) && len(s.steps) <= most; at++ {
		from := s.steps[at].state
		bad := int32(-1)
		m := moves{search: s, from: from, out: func(move Move, next State) {
			if s.enter(next, int32(at), move) && bad < 0 && s.broken(&next) != "" {
				bad = int32(len(s.steps) - 1)
			}
		}}
		m.all()
		if bad >= 0 {
			found.Broken, found.Way = s.broken(&s.steps[bad].state), s.wayTo(bad)
			break
		}
		found.Exhausted = at == len(s.steps)-1
	}
	found.States, found.Logs = len(s.steps), len(s.logs)
	s.noteReached(found.Reached)
	return found
}

// enter adds a state. It returns false if it is known, under these or other names of the nodes.
func (s *search) enter(state State, from int32, move Move) bool {
	state.forget()
	alike := state.renamed(s.scope.Nodes)
	if _, known := s.seen[alike]; known {
		return false
	}
	s.seen[alike] = struct{}{}
	s.steps = append(s.steps, step{state, from, move})
	return true
}

// read applies the first entries of a state's log. The same log is applied once.
func (s *search) read(state *State, count uint8) *reading {
	key := logKey(state.Log)
	clear(key[count:])
	// A log of fewer entries cannot be mistaken for it: no entry of a log is zero, since terms count from 1.
	got := s.logs[key]
	if got == nil {
		got = s.readLog(key[:count])
		s.logs[key] = got
	}
	return got
}

// wayTo tells the moves that lead to a state.
func (s *search) wayTo(at int32) (way []string) {
	for ; s.steps[at].from >= 0; at = s.steps[at].from {
		way = append([]string{s.steps[at].move.String()}, way...)
	}
	return way
}

// noteReached notes what happened in the logs and states: a search in which nothing of interest
// happens shows nothing.
func (s *search) noteReached(reached map[string]bool) {
	names := map[Code]string{Replayed: "replayed", Unchanged: "unchanged", Fenced: "fenced"}
	kinds := map[Kind]string{Settle: "settled", Release: "released", Expire: "expired", Unresolve: "unresolved", Confirm: "confirmed", Redeem: "redeemed"}
	for _, read := range s.logs {
		for _, result := range read.results {
			reached[names[result.Code]] = true
		}
		for _, l := range read.machine.leaves {
			reached[kinds[l.Kind]] = true
			reached["late"] = reached["late"] || l.Late
			reached["withdrawn"] = reached["withdrawn"] || l.Kind != Pay && l.Verdict == Block
			reached["blocked"] = reached["blocked"] || l.Verdict == Block
			reached["another day"] = reached["another day"] || l.At >= s.scope.Day
		}
	}
	for i := range s.steps {
		for _, c := range s.steps[i].state.Callers {
			reached["unknown"] = reached["unknown"] || c.Phase == Unknown
			reached["none"] = reached["none"] || c.None != 0
			reached["tried again"] = reached["tried again"] || c.Attempt > 1
			reached["told twice"] = reached["told twice"] || c.Phase == Told && c.Proposal > 1 && c.First != Answer{}
		}
	}
	delete(reached, "")
}
