package spec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// right is a trace that the model allows: agent a, of fleet f, pays, and its payments end.
func right() *Trace {
	leaf := func(kind Kind, at int64, name string, more func(*Seen)) Seen {
		s := Seen{Leaf: Leaf{Kind: kind, At: at}, Name: name}
		more(&s)
		return s
	}
	pay := func(at int64, name string, verdict Verdict, amount, hold int64, limited bool) Seen {
		return leaf(Pay, at, name, func(s *Seen) {
			s.Verdict, s.Amount, s.Hold, s.Limit, s.Purses = verdict, amount, hold, limited, []string{"a", "f"}
		})
	}
	end := func(kind Kind, at int64, name string, payment int, amount int64, late bool) Seen {
		return leaf(kind, at, name, func(s *Seen) { s.Payment, s.Amount, s.Late = payment, amount, late })
	}
	again := func(kind Kind, at int64, payment int, verdict Verdict) Seen {
		return leaf(kind, at, "", func(s *Seen) { s.Payment, s.Verdict = payment, verdict })
	}
	return &Trace{
		Limits: map[string]int64{"a": 100, "f": 60}, Day: 1000, Leap: 50,
		Seen: []Seen{
			0:  pay(10, "held", Proceed, 40, 30, false),
			1:  pay(11, "too much", Block, 30, 0, true),
			2:  end(Release, 12, "release", 0, 0, false),
			3:  pay(13, "fits now", Proceed, 60, 20, false),
			4:  end(Settle, 14, "late settle", 0, 5, true),
			5:  pay(15, "nothing fits", Block, 1, 0, true),
			6:  end(Unresolve, 33, "", 3, 0, false),
			7:  end(Settle, 34, "settle", 3, 50, false),
			8:  pay(35, "of a person", Undecided, 500, 0, false),
			9:  pay(1005, "next day", Proceed, 60, 0, false),
			10: again(Confirm, 1006, 9, Proceed),
			11: again(Redeem, 1007, 9, Proceed),
			12: pay(1008, "of another", Block, 40, 0, true),
			13: pay(2001, "listed later", Proceed, 60, 20, false),
			14: again(Confirm, 2002, 13, Block),
			15: end(Release, 2002, "", 13, 0, false),
			16: pay(2003, "silent", Proceed, 60, 20, false),
			17: again(Redeem, 2004, 16, Proceed),
			18: end(Unresolve, 2023, "", 16, 0, false),
		},
		Answers: []Heard{
			{Name: "held", Leaf: 0, Verdict: Proceed, Index: 5, Term: 1, From: 8, To: 11},
			{Name: "too much", Leaf: 1, Verdict: Block, Index: 6, Term: 1, From: 8, To: 12},
			{Name: "too much", Leaf: 1, Replayed: true, Index: 9, Term: 2, From: 15, To: 16},
			{Name: "settle", Leaf: 7, Index: 12, Term: 2, From: 33, To: 35},
			{Name: "release", Outcome: IsUnknown},
			{Name: "never", Outcome: NothingHappened},
			{Name: "next day", Leaf: 9, Verdict: Proceed, Index: 20, Term: 2, From: 1004, To: 1006},
		},
	}
}

// TestTraces doctors the right trace in one place at a time. Check must find each.
func TestTraces(t *testing.T) {
	require.Empty(t, right().Check())
	for _, c := range []struct {
		name   string
		doctor func(t *Trace)
		want   string
	}{
		{"over the limit", func(t *Trace) { t.Seen[1].Verdict, t.Seen[1].Limit = Proceed, false }, "leaf 1: 30 goes through, and [a f] have no room"},
		{"refused with room", func(t *Trace) { t.Seen[3].Verdict, t.Seen[3].Limit = Block, true }, "leaf 3: 60 is refused for a limit"},
		{"a late settle does not count", func(t *Trace) { t.Seen[4].Amount = 0; t.Seen[5].Verdict, t.Seen[5].Limit = Proceed, false }, "leaf 5: 1 goes through"},
		{"a release that is missing", func(t *Trace) { t.Seen[2].Kind = Other }, "leaf 3: 60 goes through"},
		{"applied twice", func(t *Trace) { t.Seen[9].Name = "fits now" }, `leaf 9: "fits now" is applied twice`},
		{"time goes back", func(t *Trace) { t.Seen[8].At = 20 }, "leaf 8: log time goes back from 34 to 20"},
		{"time leaps", func(t *Trace) { t.Answers[6].From, t.Answers[6].To = 40, 45 }, "log time leaps by 971"},
		{"settled twice", func(t *Trace) { t.Seen[7].Payment, t.Seen[7].Late = 0, true }, "the payment of leaf 0 ends a second time"},
		{"released after it was settled", func(t *Trace) { t.Seen[8] = Seen{Leaf: Leaf{Kind: Release, At: 35, Payment: 3}} }, "the payment of leaf 3 ends a second time"},
		{"late and says not so", func(t *Trace) { t.Seen[4].Late = false }, "leaf 4: late is false"},
		{"in time and says late", func(t *Trace) { t.Seen[7].Late = true }, "leaf 7: late is true"},
		{"over too early", func(t *Trace) { t.Seen[6].At = 32 }, "leaf 6: the hold of leaf 3 is over before its time"},
		{"over twice", func(t *Trace) { t.Seen[7] = t.Seen[6] }, "leaf 7: the hold of leaf 3 is over before its time, or again"},
		{"over and unsaid", func(t *Trace) { t.Seen[6].Kind, t.Seen[6].At = Other, 34 }, "the hold of leaf 3 was over, and no leaf says so"},
		{"ends no payment", func(t *Trace) { t.Seen[7].Payment = 8 }, "it ends the payment of leaf 8, and there is none"},
		{"acknowledged and lost", func(t *Trace) { t.Answers[0].Leaf = 8 }, `"held": the caller was told of leaf 8`},
		{"another verdict", func(t *Trace) { t.Answers[1].Verdict = Proceed }, `"too much": the caller was told verdict 1, and leaf 1 says 2`},
		{"another answer of a key", func(t *Trace) { t.Answers[2].Leaf = 3 }, `"too much": the caller was told of leaf 3`},
		{"nothing happened, and it is there", func(t *Trace) { t.Answers[4].Outcome = NothingHappened }, `"release": nothing happened`},
		{"a term that falls", func(t *Trace) { t.Answers[6].Term = 1 }, "of term 1 stands after"},
		{"an index that falls", func(t *Trace) { t.Answers[6].Index = 3 }, "at index 3 of term 2 stands after"},
		{"redeemed twice", func(t *Trace) { t.Seen[10].Kind = Redeem }, "leaf 11: the payment of leaf 9 is judged again, and was redeemed"},
		{"redeemed after it was settled", func(t *Trace) { t.Seen[17].Payment = 0 }, "leaf 17: the payment of leaf 0 is judged again"},
		{"redeemed after its time", func(t *Trace) { t.Seen[17].At, t.Seen[18].At = 2024, 2024 }, "leaf 17: the payment of leaf 16 is judged again after its time"},
		{"redeemed and returned", func(t *Trace) { t.Seen[18].Kind = Expire }, "leaf 18: the payment of leaf 16 returns by itself, and was redeemed"},
		{"of no payment", func(t *Trace) { t.Seen[10].Payment = 12 }, "it judges the payment of leaf 12 again, and there is none"},
		{"a BLOCK that counts", func(t *Trace) { t.Seen[15].Kind = Other }, "the payment of leaf 13 was judged a BLOCK, and is not given back"},
		{"one index, two times", func(t *Trace) { t.Answers[1].Index = 5 }, "have one index"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doctored := right()
			c.doctor(doctored)
			require.Contains(t, fmt.Sprint(doctored.Check()), c.want)
		})
	}
}
