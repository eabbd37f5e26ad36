package chaos

import (
	"cmp"
	"slices"
	"time"
)

// The checks in this file compare the answers that callers got with the log.

// shelf is a log laid out for look-ups.
type shelf struct {
	byTxn  map[string][]*leaf
	byHash map[string][]*leaf // By the hash of the Idempotency-Key.
	byCall map[string][]*leaf // By the X-Request-Id.
}

func layOut(x *exported) *shelf {
	s := &shelf{byTxn: map[string][]*leaf{}, byHash: map[string][]*leaf{}, byCall: map[string][]*leaf{}}
	for i := range x.leaves {
		l := &x.leaves[i]
		if l.Kind == "screen" {
			s.byTxn[l.TxnID] = append(s.byTxn[l.TxnID], l)
			s.byCall[l.RequestID] = append(s.byCall[l.RequestID], l)
		}
		if l.Idempotency != "" {
			s.byHash[l.Idempotency] = append(s.byHash[l.Idempotency], l)
		}
	}
	return s
}

// leavesOf returns the records that an operation wrote.
func (s *shelf) leavesOf(o *operation) []*leaf {
	switch {
	case o.key == "":
		return nil
	case o.bare:
		return s.byCall[o.key]
	}
	return s.byHash[keyHash(o.path, o.key)]
}

// expected lists the final answers, besides success, that an operation may get.
var expected = map[kind]map[string]bool{
	opSuspend: {"invalid_transition": true}, opReinstate: {"invalid_transition": true}, opRevoke: {},
	opAttest: {"invalid_transition": true}, opReview: {"already_dispositioned": true},
	opDelegate: {"parent_not_active": true}, opScreen: {}, opRegister: {}, opFleet: {}, opRead: {},
}

// checkAnswers checks invariants 2, 3 and 4. An acknowledged operation is in the log once, and as
// it was acknowledged. An operation that certainly did not happen is not in the log, and neither
// is one that nobody asked for. The order of the log does not contradict the order of time.
func (in *inspection) checkAnswers() []string {
	var f findings
	s := layOut(in.exports[0])
	asked := make(map[string]bool, len(in.operations))
	for _, o := range in.operations {
		if o.key != "" {
			asked[keyHash(o.path, o.key)] = true
		}
		in.checkAnswer(s, o, &f)
	}
	for hash, leaves := range s.byHash {
		if !asked[hash] && len(in.operations) > 0 {
			f.add("leaf %d (%s) belongs to a call that nobody made", leaves[0].Leaf, leaves[0].Kind)
		}
	}
	for txn, leaves := range s.byTxn {
		if len(leaves) > 1 {
			f.add("%s is %d leaves: %d and %d", txn, len(leaves), leaves[0].Leaf, leaves[1].Leaf)
		}
	}
	f.join(in.checkOrder(s))
	return f.all()
}

func (in *inspection) checkAnswer(s *shelf, o *operation, f *findings) {
	leaves := s.leavesOf(o)
	if len(leaves) > 1 {
		f.add("DOUBLE: one call wrote leaves %d and %d: %s", leaves[0].Leaf, leaves[1].Leaf, o)
		return
	}
	switch {
	case o.kind == opRead:
		return
	case o.outcome == nothing && len(leaves) > 0:
		f.add("the service said that nothing happened, and leaf %d is there: %s", leaves[0].Leaf, o)
		return
	case o.outcome != answered:
		return
	case !o.done():
		if !expected[o.kind][o.code] {
			f.add("unexpected answer: %s", o)
		}
		if len(leaves) > 0 {
			f.add("an error was answered, and leaf %d is there: %s", leaves[0].Leaf, o)
		}
		return
	case o.unchanged:
		if len(leaves) > 0 {
			f.add("unchanged was answered, and leaf %d is there: %s", leaves[0].Leaf, o)
		}
		return
	case len(leaves) == 0:
		f.add("LOST: an acknowledged answer is not in the log: %s", o)
		return
	}
	if !agrees(o, leaves[0]) {
		f.add("leaf %d (%s %s %s %s) is not what was answered: %s",
			leaves[0].Leaf, leaves[0].Kind, leaves[0].TxnID, leaves[0].Verdict, leaves[0].Rule, o)
	}
}

// agrees compares an answer with its record.
func agrees(o *operation, l *leaf) bool {
	same := func(at time.Time) bool { return at.Equal(o.at) }
	switch o.kind {
	case opScreen:
		amount, err := l.amount()
		return l.Kind == "screen" && l.TxnID == o.txn && l.Verdict == o.verdict && l.Rule == o.rule && err == nil && amount == o.amount &&
			l.AgentID == o.subject && same(l.At) && l.Index == o.index && l.ListVersion == o.list
	case opReview:
		return l.Kind == "review.dispositioned" && l.TxnID == o.subject && l.Disposition == o.disposition && same(l.ReviewedAt)
	case opRegister:
		return l.Kind == "agent.registered" && l.AgentID == o.id
	case opDelegate:
		return l.Kind == "delegate.created" && l.AgentID == o.id
	case opFleet:
		return l.Kind == "fleet.created" && l.FleetID == o.id
	case opAttest:
		return l.Kind == "attestation.recorded" && l.AgentID == o.subject && same(l.AttestedAt)
	}
	return l.AgentID == o.subject && l.EventID == o.event && l.CredentialStatus == o.credentialStatus && same(l.ChangedAt)
}

// checkOrder checks the half of linearizability that concerns real time: if one operation
// returned before another began, its leaf comes before the other's in the log. The check takes
// one pass over the sorted operations.
func (in *inspection) checkOrder(s *shelf) []string {
	type placed struct {
		*operation
		leaf uint64
	}
	var all []placed
	for _, o := range in.operations {
		if leaves := s.leavesOf(o); o.done() && !o.unchanged && len(leaves) == 1 {
			all = append(all, placed{o, leaves[0].Leaf})
		}
	}
	invoked := slices.Clone(all)
	slices.SortFunc(invoked, func(a, b placed) int { return cmp.Compare(a.invoke, b.invoke) })
	returned := all
	slices.SortFunc(returned, func(a, b placed) int { return cmp.Compare(a.back, b.back) })
	var f findings
	next, latest := 0, placed{}
	for _, o := range invoked {
		for ; next < len(returned) && returned[next].back < o.invoke; next++ {
			if latest.operation == nil || returned[next].leaf > latest.leaf {
				latest = returned[next]
			}
		}
		if latest.operation != nil && latest.leaf > o.leaf {
			f.add("leaf %d was answered before the call of leaf %d was made: %s; %s", latest.leaf, o.leaf, latest.operation, o.operation)
		}
	}
	return f.all()
}

// checkReads checks invariant 6: everybody can read a record that was answered, and it says what
// the answer said. A read shows every disposition up to the index that the read names.
func (in *inspection) checkReads() []string {
	var f findings
	s := layOut(in.exports[0])
	type decided struct {
		index uint64
		word  string
	}
	dispositions := make(map[string]decided)
	for i := range in.exports[0].leaves {
		if l := &in.exports[0].leaves[i]; l.Kind == "review.dispositioned" {
			dispositions[l.TxnID] = decided{l.Index, l.Disposition}
		}
	}
	for _, o := range in.operations {
		if o.kind != opRead || o.outcome != answered {
			continue
		}
		leaves := s.byTxn[o.subject]
		d, known := dispositions[o.subject]
		switch {
		case len(leaves) == 0:
			f.add("a transaction that was answered is not in the log: %s", o)
		case o.status != 200:
			f.add("a record that was answered cannot be read: %s", o)
		case o.verdict != leaves[0].Verdict:
			f.add("a read shows another verdict than leaf %d: %s", leaves[0].Leaf, o)
		case o.shown != "" && (!known || o.shown != d.word):
			f.add("a read shows the disposition %s, the log has %q: %s", o.shown, d.word, o)
		case o.shown == "" && known && o.seen >= d.index:
			f.add("a read at index %d does not show the disposition %s of index %d: %s", o.seen, d.word, d.index, o)
		}
	}
	return f.all()
}
