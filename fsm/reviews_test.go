package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// caseOf screens a payment above the daily limit of ten dollars, with further static hits.
func (w *world) caseOf(slot engine.AgentSlot, dollars engine.USD, static map[engine.RuleID]engine.Sub) (wire.Hold, ReviewRow) {
	s := w.screening(slot, dollars*engine.Dollar)
	var hits engine.Hits
	for id := engine.RuleID(1); id < engine.RuleBits; id++ {
		hits.Add(id, static[id])
	}
	wire.PackHits(&hits, s)
	s.Party = engine.PartyKey{7}
	r := w.do(wire.KindScreen, s)
	require.Equal(w.t, wire.Applied, r.Code, "%+v", r)
	at, open := w.m.desk.reviewAt(r.Leaf)
	require.True(w.t, open)
	return paidBy(w.t, s, &r, w.payerOf(slot)), *w.m.desk.reviews.At(at)
}

// A review keeps all rules that triggered, static and live, and whom it is about, over a snapshot.
func TestAReviewKeepsAllItsRules(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a", dailyLimit(10))
	_, row := w.caseOf(slot, 20, map[engine.RuleID]engine.Sub{15: 1, 21: 1})
	require.EqualValues(t, 11, row.Rule, "it stands before the others")
	require.EqualValues(t, 1<<11|1<<15|1<<21, row.Rules)
	require.EqualValues(t, 21, row.Gravest)
	require.Equal(t, engine.GravityParty, row.Gravity)
	require.Equal(t, engine.PartyKey{7}, row.Party)
	back, found := restoredFrom(t, w.m).Freeze().Review(row.Leaf)
	require.True(t, found)
	require.Equal(t, row, back)

	_, row = w.caseOf(slot, 20, nil)
	require.EqualValues(t, 1<<11, row.Rules)
	require.EqualValues(t, 11, row.Gravest)
	require.Equal(t, engine.GravityLimit, row.Gravity)
}

// Four eyes hold for what the log keeps of a case, whatever the record of the decision says.
func TestFourEyesGoByTheRulesOfTheReview(t *testing.T) {
	w, slot, _ := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit, Rules: 1 << 21})
	b, _ := w.caseOf(slot, 20, map[engine.RuleID]engine.Sub{10: 1, 21: 1})
	require.Contains(t, string(w.decide(b, 1, wire.Approved).Data), `"kind":"review.proposed"`, "the record names R11 alone")
	b, _ = w.caseOf(slot, 20, map[engine.RuleID]engine.Sub{10: 1})
	require.Contains(t, string(w.decide(b, 1, wire.Approved).Data), `"kind":"review.dispositioned"`)
}
