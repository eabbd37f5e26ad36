package spec

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const smallMost = 500_000

// TestSmall walks through all states of the small scopes. All of them keep every promise, and
// together everything of interest happens in them.
func TestSmall(t *testing.T) {
	reached := map[string]bool{}
	for _, scope := range Small {
		found := Search(scope, AllRules, smallMost)
		t.Log(found)
		require.Empty(t, found.Broken, "%s", found)
		require.True(t, found.Exhausted, "%s", found)
		maps.Copy(reached, onlyTrue(found.Reached))
	}
	require.Equal(t, []string{
		"another day", "blocked", "confirmed", "expired", "fenced", "late", "none", "redeemed", "released", "replayed", "settled", "told twice", "tried again", "unchanged", "unknown",
		"unresolved", "withdrawn",
	}, slices.Sorted(maps.Keys(reached)))
}

func onlyTrue(all map[string]bool) map[string]bool {
	maps.DeleteFunc(all, func(_ string, reached bool) bool { return !reached })
	return all
}

// TestRules switches off one rule at a time, and the checker must find the promise that breaks. A
// checker that cannot fail proves nothing.
func TestRules(t *testing.T) {
	covered := map[Rule]bool{}
	for _, c := range []struct {
		off   Rule
		scope *Scope
		want  string
	}{
		{RuleFence, Small[2], "proposal 1 is applied"},
		{RuleFrame, Small[0], "proposal 1 is applied"},
		{RuleArrivals, Small[2], "proposal 1 is applied"},
		{RuleQuorum, Small[0], "the caller was told of leaf 0, and the log has 0 leaves"},
		{RuleQueued, Small[0], "nothing happened, the caller was told"},
		{RuleKeys, Small[0], "call 1 is applied twice under one key"},
		{RuleDebit, Small[1], "2 counts on day 0, and the limit is 1"},
		{RuleHeld, Small[4], "2 counts on day 0, and the limit is 1"},
		{RuleOnce, Small[3], "the payment of leaf 0"},
		{RuleLeap, Small[5], "log time leaps"},
		{RuleForward, Small[5], "log time goes back"},
		{RuleConsume, Small[6], "judged again, and was redeemed"},
		{RuleStays, Small[6], "returns by itself, and was redeemed"},
		{RuleCounted, Small[8], "a confirmation is refused, 1 counts on day 0"},
		{RuleWithdraw, Small[7], "judged again, and was redeemed or had ended"},
	} {
		found := Search(c.scope, c.off, smallMost)
		t.Log(found)
		require.Contains(t, found.Broken, c.want, "%s", found)
		require.NotEmpty(t, found.Way)
		covered[c.off] = true
	}
	for _, rule := range Rules {
		require.True(t, covered[rule], "nothing shows that rule %q matters", rule)
	}
}

// TestFenceAlone: callers who are told nothing false still pay twice without the fence. Nobody is
// told that nothing happened here, so only a second effect can break a promise.
func TestFenceAlone(t *testing.T) {
	patient := *Small[2]
	patient.Proposals, patient.Patient = 1, true
	require.Empty(t, Search(&patient, AllRules, smallMost).Broken)
	for _, off := range []Rule{RuleFence, RuleFrame, RuleArrivals} {
		found := Search(&patient, off, smallMost)
		t.Log(found)
		require.Contains(t, found.Broken, "proposal 1 of call 1 is applied twice", "%s", found)
	}
}

// TestWayIsShort: a way to a broken promise is a list of moves in words, and there is no shorter one.
func TestWayIsShort(t *testing.T) {
	found := Search(Small[0], RuleQuorum, smallMost)
	require.Equal(t, []string{
		"node 1: call 1: the caller asks, proposal 1",
		"node 1: leads a new term from time 0, and has kept 0 entries",
		"a quorum has entry 1",
		"node 1: call 1: attempt 1 begins in term 1",
		"node 1: call 1: raft appends the entry in term 1",
	}, found.Way)
	require.Contains(t, found.String(), "without the rule quorum")
}

// TestUnfinished: a search that ends before it has seen all says so.
func TestUnfinished(t *testing.T) {
	found := Search(Small[0], AllRules, 1000)
	require.False(t, found.Exhausted)
	require.Contains(t, found.String(), "and there are more")
}
