package fsm

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// fourEyes returns a world whose policy demands four eyes and nothing else, and a function that makes cases.
// The keys 1 to 4 are those of Ann, Bob, Cy and, once more, Ann; they are older than a day.
func fourEyes(t *testing.T, two engine.FourEyes) (w *world, slot engine.AgentSlot, review func(dollars engine.USD) wire.Hold) {
	w = newWorld(t)
	for _, person := range []string{"ann", "bob", "cy", "ann"} {
		w.makeKey(nil, person, wire.RoleReviewer)
	}
	w.now += engine.DayLength
	slot, _ = w.register("a", dailyLimit(10))
	policy := *engine.DefaultPolicy()
	policy.FourEyes, policy.TwoPersons = &two, 0
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy}).Code)
	return w, slot, func(dollars engine.USD) wire.Hold {
		b := w.held(slot, dollars, 0, 0)
		require.Equal(t, engine.Review, b.Verdict)
		return b
	}
}

func (w *world) decide(b wire.Hold, key uint32, word uint8) wire.Result {
	return w.do(wire.KindDisposition, &wire.Disposition{
		Common: w.by(key), Leaf: b.Leaf, Disposition: word, Agent: b.Agent, Amount: b.Recorded, Rules: 1 << 11,
	})
}

// by returns the common part of a record that comes with an API key.
func (w *world) by(row uint32) wire.Common {
	return wire.Common{Key: &wire.KeyRef{Row: row, Rev: w.m.settings.Keys[row-1].Rev}}
}

// makeKey makes an API key, with the key of a maker or, without one, by the machine. It
// returns the key's row.
func (w *world) makeKey(maker *wire.KeyRef, person string, roles uint16) uint32 {
	id := string(rune('a' + len(w.m.settings.Keys)))
	r := w.do(wire.KindAPIKey, &wire.APIKeyPut{Common: wire.Common{Key: maker}, Op: wire.KeyCreate, Key: wire.APIKey{
		ID: "desk" + id, Prefix: id, Hashes: [][]byte{bytes.Repeat([]byte(id), 32)}, Roles: roles, Person: person, PersonKey: person,
	}})
	require.Contains(w.t, string(r.Data), `"kind":"key.created"`, "%+v", r)
	return uint32(len(w.m.settings.Keys))
}

// TestTwoPersonsDecideByRule: every rule that a call triggered counts, not the deciding one
// alone; if the policy names only rules, no amount demands two persons.
func TestTwoPersonsDecideByRule(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit, Rules: 1 << 21})
	require.Contains(t, string(w.decide(review(20), 1, wire.Rejected).Data), `"kind":"review.dispositioned"`, "it is rule 11")
	b := review(20)
	r := w.do(wire.KindDisposition, &wire.Disposition{Common: w.by(1), Leaf: b.Leaf, Disposition: wire.Rejected, Agent: b.Agent, Amount: b.Recorded, Rules: 1<<11 | 1<<21})
	require.Contains(t, string(r.Data), `"kind":"review.proposed"`)
}

func TestTwoPersonsDecide(t *testing.T) {
	w, slot, review := fourEyes(t, engine.FourEyes{MinAmount: 20 * engine.Dollar})
	small := review(19)
	require.Contains(t, string(w.decide(small, 1, wire.Rejected).Data), `"kind":"review.dispositioned"`)

	b := review(20)
	first := w.decide(b, 1, wire.Approved)
	require.Contains(t, string(first.Data), `"kind":"review.proposed"`)
	require.Contains(t, string(first.Data), `"proposedBy":"person:ann"`)
	require.Equal(t, [2]engine.USD{0, 0}, w.books(slot), "nothing counts yet")
	_, open := w.m.desk.reviewAt(b.Leaf)
	require.True(t, open)
	for name, refused := range map[string]struct {
		key  uint32
		word uint8
		why  wire.Refusal
	}{
		"same key": {1, wire.Approved, wire.RefusedSamePerson}, "same person": {4, wire.Approved, wire.RefusedSamePerson},
		"another disposition": {2, wire.Rejected, wire.RefusedProposed},
	} {
		r := w.decide(b, refused.key, refused.word)
		require.Equal(t, refused.why, r.Refusal, name)
		require.Equal(t, first.Leaf, r.Value, name)
	}
	second := w.decide(b, 2, wire.Approved)
	require.Contains(t, string(second.Data), `"kind":"review.dispositioned"`)
	require.Contains(t, string(second.Data), `"twoPersons":["disposition"],"persons":["person:ann","person:bob"],"proposedLeaf":`)
	require.Equal(t, [2]engine.USD{0, 20}, w.books(slot))
	require.Equal(t, wire.RefusedDispositioned, w.decide(b, 3, wire.Approved).Refusal)
}

func TestProposalsAreWithdrawnAndLapse(t *testing.T) {
	w, _, review := fourEyes(t, engine.FourEyes{MinAmount: engine.NoLimit, Rules: 1 << 11})
	withdraw := func(b wire.Hold, key uint32) wire.Result {
		return w.do(wire.KindWithdraw, &wire.Withdraw{Common: w.by(key), Leaf: b.Leaf})
	}
	b := review(20)
	require.Equal(t, wire.RefusedNotProposed, withdraw(b, 2).Refusal)
	w.decide(b, 1, wire.EscalateSAR)
	require.Contains(t, string(withdraw(b, 4).Data), `"kind":"review.withdrawn"`, "the proposer's own slip, with her other key")
	require.Equal(t, wire.RefusedNotProposed, withdraw(b, 1).Refusal)
	require.Contains(t, string(w.decide(b, 1, wire.EscalateSAR).Data), `"kind":"review.proposed"`)
	require.Contains(t, string(withdraw(b, 2).Data), `"kind":"review.withdrawn"`)
	require.Contains(t, string(w.decide(b, 2, wire.Rejected).Data), `"kind":"review.proposed"`, "anybody may begin anew")

	m := restoredFrom(t, w.m)
	require.Equal(t, w.m.desk.proposalAt, m.desk.proposalAt)
	require.Equal(t, w.m.Freeze().Digest(), m.Freeze().Digest())
	w.now += 24*engine.Hour - engine.Second
	w.tick()
	require.Len(t, w.m.desk.proposalAt, 1)
	w.now += engine.Second
	require.Equal(t, wire.RefusedNotProposed, withdraw(b, 1).Refusal, "its tick has not come yet")
	w.tick()
	require.Empty(t, w.m.desk.proposalAt)
	require.Zero(t, w.m.desk.proposals.Len())
	require.Equal(t, 1, w.counted(`"review.proposal_lapsed"`))

	w.decide(b, 1, wire.Rejected)
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: *engine.DefaultPolicy()}).Code)
	require.Contains(t, string(w.decide(b, 1, wire.Approved).Data), `"review.dispositioned"`, "the policy asks for one person alone")
	require.Empty(t, w.m.desk.proposalAt)
}

// counted returns how many leaves contain a text.
func (w *world) counted(text string) (count int) {
	for _, leaf := range w.leaves {
		if strings.Contains(string(leaf), text) {
			count++
		}
	}
	return count
}
