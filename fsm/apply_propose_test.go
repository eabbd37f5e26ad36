package fsm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// fourEyes returns a world whose policy demands four eyes, and a function that makes cases.
func fourEyes(t *testing.T, two engine.FourEyes) (w *world, slot engine.AgentSlot, review func(dollars engine.USD) wire.Hold) {
	w = newWorld(t)
	slot, _ = w.register("a", dailyLimit(10))
	policy := *engine.DefaultPolicy()
	policy.FourEyes = &two
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
	return w, slot, func(dollars engine.USD) wire.Hold {
		b := w.held(slot, dollars, 0, 0)
		require.Equal(t, engine.Review, b.Verdict)
		return b
	}
}

func (w *world) decide(b wire.Hold, by string, key uint32, word uint8) wire.Result {
	return w.do(wire.KindDisposition, &wire.Disposition{
		Common: wire.Common{Key: w.deskKey(key)}, Leaf: b.Leaf, Disposition: word, Agent: b.Agent, Amount: b.Recorded, By: by, Rule: 11,
	})
}

// deskKey makes API keys up to a row, and returns a reference to the last.
func (w *world) deskKey(row uint32) *wire.KeyRef {
	for uint32(len(w.m.settings.Keys)) < row {
		id := string(rune('a' + len(w.m.settings.Keys)))
		r := w.do(wire.KindAPIKey, &wire.APIKeyPut{Op: wire.KeyCreate, Key: wire.APIKey{ID: "desk" + id, Prefix: id, Hashes: [][]byte{bytes.Repeat([]byte(id), 32)}, Roles: wire.RoleReviewer}})
		require.Equal(w.t, wire.Applied, r.Code, "%+v", r)
	}
	return &wire.KeyRef{Row: row, Rev: w.m.settings.Keys[row-1].Rev}
}

// TestTwoPersonsDecideByRule: if the policy names only rules, no amount demands two persons.
func TestTwoPersonsDecideByRule(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit, Rules: 1 << 21})
	require.Contains(t, string(w.decide(review(20), "ann", 1, wire.Rejected).Data), `"kind":"review.dispositioned"`, "it is rule 11")
	b := review(20)
	r := w.do(wire.KindDisposition, &wire.Disposition{Common: wire.Common{Key: w.deskKey(1)}, Leaf: b.Leaf, Disposition: wire.Rejected, Agent: b.Agent, Amount: b.Recorded, By: "ann", Rule: 21})
	require.Contains(t, string(r.Data), `"kind":"review.proposed"`)
}

func TestTwoPersonsDecide(t *testing.T) {
	w, slot, review := fourEyes(t, engine.FourEyes{MinAmount: 20 * engine.Dollar})
	small := review(19)
	require.Contains(t, string(w.decide(small, "ann", 1, wire.Rejected).Data), `"kind":"review.dispositioned"`)

	b := review(20)
	first := w.decide(b, "ann", 1, wire.Approved)
	require.Contains(t, string(first.Data), `"kind":"review.proposed"`)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot), "nothing counts yet")
	_, open := w.m.desk.reviewAt(b.Leaf)
	require.True(t, open)
	for name, refused := range map[string]struct {
		by   string
		key  uint32
		word uint8
		why  wire.Refusal
	}{
		"same person": {"ann", 2, wire.Approved, wire.RefusedSamePerson}, "same key": {"bob", 1, wire.Approved, wire.RefusedSamePerson},
		"another disposition": {"bob", 2, wire.Rejected, wire.RefusedProposed},
	} {
		r := w.decide(b, refused.by, refused.key, refused.word)
		require.Equal(t, refused.why, r.Refusal, name)
	}
	second := w.decide(b, "bob", 2, wire.Approved)
	require.Contains(t, string(second.Data), `"kind":"review.dispositioned"`)
	require.Contains(t, string(second.Data), `"proposedLeaf":`)
	require.Equal(t, [2]engine.USD{0, 20}, w.books(slot))
	require.Equal(t, wire.RefusedDispositioned, w.decide(b, "cy", 2, wire.Approved).Refusal)
}

func TestProposalsAreWithdrawnAndLapse(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit, Rules: 1 << 11})
	withdraw := func(b wire.Hold, by string, key uint32) wire.Result {
		return w.do(wire.KindWithdraw, &wire.Withdraw{Common: wire.Common{Key: w.deskKey(key)}, Leaf: b.Leaf, By: by})
	}
	b := review(20)
	require.Equal(t, wire.RefusedNotProposed, withdraw(b, "bob", 2).Refusal)
	w.decide(b, "ann", 1, wire.EscalateSAR)
	require.Equal(t, wire.RefusedSamePerson, withdraw(b, "ann", 2).Refusal)
	require.Equal(t, wire.RefusedSamePerson, withdraw(b, "bob", 1).Refusal)
	require.Contains(t, string(withdraw(b, "bob", 2).Data), `"kind":"review.withdrawn"`)
	require.Contains(t, string(w.decide(b, "bob", 2, wire.Rejected).Data), `"kind":"review.proposed"`, "anybody may begin anew")

	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.desk.proposalAt, m.desk.proposalAt)
	require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	w.now += 24*engine.Hour - engine.Second
	w.tick()
	require.Len(t, w.m.desk.proposalAt, 1)
	w.now += engine.Second
	require.Equal(t, wire.RefusedNotProposed, withdraw(b, "ann", 1).Refusal, "its tick has not come yet")
	w.tick()
	require.Empty(t, w.m.desk.proposalAt)
	require.Zero(t, w.m.desk.proposals.Len())
	lapsed := 0
	for _, leaf := range w.leaves {
		if strings.Contains(string(leaf), `"review.proposal_lapsed"`) {
			lapsed++
		}
	}
	require.Equal(t, 1, lapsed)

	w.decide(b, "ann", 1, wire.Rejected)
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: *engine.DefaultPolicy()}).Code)
	require.Contains(t, string(w.decide(b, "ann", 1, wire.Approved).Data), `"review.dispositioned"`, "the policy asks for one person alone")
	require.Empty(t, w.m.desk.proposalAt)
}
