package spec

import "fmt"

// reading is what a log comes to: its results, its leaves, and the first promise that it breaks.
type reading struct {
	machine *Machine
	results []Result // Of each entry.
	by      [][2]uint8
	broken  string
}

// readLog applies a log. What it promises is checked by walking through the leaves again,
// without the machine's counters.
func (s *search) readLog(log []Entry) *reading {
	r := &reading{machine: NewMachine(s.off, s.scope.Day, map[string]int64{purse: s.scope.Limit})}
	payments := map[uint8]int{}
	for _, e := range log {
		if e.Sealed != e.Raft && s.off != RuleFence {
			r.results, r.by = append(r.results, Result{Code: Fenced}), append(r.by, [2]uint8{})
			continue
		}
		before := r.machine.now
		if r.machine.now = int64(e.Time); s.off != RuleForward {
			r.machine.now = max(before, r.machine.now)
		}
		if r.machine.now < before {
			r.breaks("log time goes back from %d to %d", before, r.machine.now)
		}
		if r.machine.now-before > int64(max(s.scope.Leap, 1)) {
			r.breaks("log time leaps from %d to %d", before, r.machine.now)
		}
		result := r.machine.Apply(s.record(e, payments))
		if e.Call > 0 && s.scope.Calls[e.Call-1].Kind == Pay && result.Code == Applied {
			payments[e.Call-1] = result.Leaf
		}
		r.results, r.by = append(r.results, result), append(r.by, [2]uint8{e.Call, e.Proposal})
	}
	r.checkOnce(s.scope)
	r.checkLimit(s.scope)
	r.checkEndings()
	r.checkLeaves(s.scope)
	return r
}

// record is what the entry of a call asks for.
func (s *search) record(e Entry, payments map[uint8]int) Record {
	if e.Call == 0 {
		return Record{Kind: Tick}
	}
	c := s.scope.Calls[e.Call-1]
	r := Record{Kind: c.Kind, Amount: c.Amount, Hold: c.Hold, Payment: payments[uint8(c.Of)], Purses: []string{purse}, Judged: e.Judged, Listed: c.Listed}
	if c.Key {
		r.Key = fmt.Sprint(e.Call)
	}
	return r
}

// breaks notes the first promise that is broken.
func (r *reading) breaks(format string, args ...any) {
	if r.broken == "" {
		r.broken = fmt.Sprintf(format, args...)
	}
}

// checkOnce: a proposal takes effect once at most, whatever its attempts, and so does a key,
// whatever its proposals.
func (r *reading) checkOnce(scope *Scope) {
	proposals, keys := map[[2]uint8]bool{}, map[uint8]bool{}
	for i, result := range r.results {
		by := r.by[i]
		if by[0] == 0 || result.Code != Applied {
			continue
		}
		if proposals[by] {
			r.breaks("proposal %d of call %d is applied twice", by[1], by[0])
		}
		if keys[by[0]] && scope.Calls[by[0]-1].Key {
			r.breaks("call %d is applied twice under one key", by[0])
		}
		proposals[by], keys[by[0]] = true, true
	}
}

// checkLimit: with no payment that goes through does what counts on its day rise above the limit.
func (r *reading) checkLimit(scope *Scope) {
	for i, l := range r.machine.leaves {
		if l.Kind != Pay || l.Verdict != Proceed {
			continue
		}
		day := l.At / scope.Day
		if sum := countedOn(r.machine.leaves[:i+1], day, scope.Day); sum > scope.Limit {
			r.breaks("%d counts on day %d, and the limit is %d", sum, day, scope.Limit)
		}
	}
}

// countedOn adds up, from the leaves alone, what counts on a day.
func countedOn(leaves []Leaf, on, day int64) (sum int64) {
	returned := map[int]bool{}
	for _, l := range leaves {
		if l.Kind == Unresolve || (l.Kind == Confirm || l.Kind == Redeem) && l.Verdict != Block {
			continue // It changes nothing that counts.
		}
		paid, today := Leaf{}, l.At/day == on
		if l.Kind != Pay {
			paid = leaves[l.Payment]
		}
		first := !returned[l.Payment] && paid.At/day == on // The ending changes what counted on the payment's day.
		switch {
		case l.Kind == Pay:
			if today && l.Verdict == Proceed {
				sum += l.Amount
			}
		case l.Kind != Settle:
			if first {
				sum -= paid.Amount
			}
			returned[l.Payment] = true
		case returned[l.Payment]:
			if today {
				sum += l.Amount
			}
		default:
			if first {
				sum += min(l.Amount, paid.Amount) - paid.Amount
			}
			if today {
				sum += max(l.Amount-paid.Amount, 0)
			}
		}
	}
	return sum
}

// checkEndings: a payment is settled once, is returned once, and is never returned after it was
// settled. What was settled after it was returned says so.
func (r *reading) checkEndings() {
	settled, returned := map[int]bool{}, map[int]bool{}
	for _, l := range r.machine.leaves {
		switch l.Kind {
		case Settle:
			if settled[l.Payment] || l.Late != returned[l.Payment] {
				r.breaks("the payment of leaf %d is settled twice, or late and does not say so", l.Payment)
			}
			settled[l.Payment] = true
		case Confirm, Redeem:
			returned[l.Payment] = returned[l.Payment] || l.Verdict == Block
		case Release, Expire:
			if settled[l.Payment] || returned[l.Payment] {
				r.breaks("the payment of leaf %d is returned, and had ended", l.Payment)
			}
			returned[l.Payment] = true
		}
	}
}

// checkLeaves: a payment is redeemed once, and goes through again only while it counts. Once redeemed it
// does not return by itself. A confirmation is refused for a limit only if what counts is above it.
func (r *reading) checkLeaves(scope *Scope) {
	redeemed, ended := map[int]bool{}, map[int]bool{}
	for i, l := range r.machine.leaves {
		switch l.Kind {
		case Confirm, Redeem:
			if redeemed[l.Payment] || ended[l.Payment] {
				r.breaks("the payment of leaf %d is judged again, and was redeemed or had ended", l.Payment)
			}
			redeemed[l.Payment] = l.Kind == Redeem && l.Verdict == Proceed
			ended[l.Payment] = l.Verdict == Block
			day := l.At / scope.Day
			if sum := countedOn(r.machine.leaves[:i], day, scope.Day); l.Verdict == Undecided && sum <= scope.Limit {
				r.breaks("a confirmation is refused, %d counts on day %d, and the limit is %d", sum, day, scope.Limit)
			}
		case Expire:
			if redeemed[l.Payment] {
				r.breaks("the payment of leaf %d returns by itself, and was redeemed", l.Payment)
			}
			ended[l.Payment] = true
		case Settle, Release:
			ended[l.Payment] = true
		}
	}
}

// broken returns the first promise that a state breaks; "": none.
func (s *search) broken(state *State) string {
	read := s.read(state, state.Committed)
	if read.broken != "" {
		return read.broken
	}
	for c := range s.scope.Calls {
		caller := &state.Callers[c]
		for i, result := range read.results {
			if by := read.by[i]; int(by[0]) == c+1 && caller.None&(1<<by[1]) != 0 && result.Code == Applied {
				return fmt.Sprintf("call %d: nothing happened, the caller was told, and proposal %d is applied", by[0], by[1])
			}
		}
		if caller.First == (Answer{}) {
			continue
		}
		if caller.First != caller.Last && s.scope.Calls[c].Key {
			return fmt.Sprintf("call %d: two answers for one key: %v and %v", c+1, caller.First, caller.Last)
		}
		if why := read.keeps(caller.First, s.scope.Calls[c].Kind); why != "" {
			return fmt.Sprintf("call %d: %s", c+1, why)
		}
	}
	return ""
}

// keeps tells why a log does not say what a caller was told; "": it does.
func (r *reading) keeps(told Answer, kind Kind) string {
	at := int(told.Leaf) - 1
	if at >= len(r.machine.leaves) {
		return fmt.Sprintf("the caller was told of leaf %d, and the log has %d leaves", at, len(r.machine.leaves))
	}
	if l := r.machine.leaves[at]; l.Kind != kind || l.Verdict != told.Verdict {
		return fmt.Sprintf("the caller was told verdict %d of leaf %d, which says %d", told.Verdict, at, l.Verdict)
	}
	return ""
}
