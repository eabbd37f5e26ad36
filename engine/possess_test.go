package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPossessionHasItsOwnSwitch: R22 because of a missing proof follows possession, and the mode of R22 does not
// silence, shadow or sharpen it; its other reason keeps the mode.
func TestPossessionHasItsOwnSwitch(t *testing.T) {
	unproven := func(also Sub) *Hits {
		var hits, live Hits
		hits.Add(RuleAttestation, SubUnproven)
		live.Add(RuleAttestation, also)
		hits.Merge(&live)
		return &hits
	}
	for _, c := range []struct {
		name    string
		mode    Mode
		also    Sub
		verdict Verdict
		sub     Sub
	}{
		{"review", ModeReview, 0, Review, SubUnproven}, {"off", ModeOff, 0, Review, SubUnproven},
		{"shadow", ModeShadow, 0, Review, SubUnproven}, {"block", ModeBlock, 0, Review, SubUnproven},
		{"stale too, review", ModeReview, 2, Review, 2}, {"stale too, off", ModeOff, 2, Review, SubUnproven},
		{"stale too, shadow", ModeShadow, 2, Review, SubUnproven}, {"stale too, block", ModeBlock, 2, Block, 2},
	} {
		policy := DefaultPolicy()
		policy.Modes[RuleAttestation] = c.mode
		decision := NewestRules.Decide(unproven(c.also), policy)
		require.Equal(t, []any{c.verdict, RuleAttestation, c.sub}, []any{decision.Verdict, decision.Rule, decision.Sub}, c.name)
		require.NotZero(t, decision.Triggered&(1<<RuleAttestation), c.name)
	}
}

// TestPossessionIsTheStrictest of the policy's default, the operator's entry, the agent and its ancestors.
func TestPossessionIsTheStrictest(t *testing.T) {
	policy, wrong := ParsePolicy([]byte(`{"possession":{"default":"review","operators":{"opr_b":"required","opr_a":"off"},"maxAge":"30s"}}`), 0, NewestRules)
	require.Nil(t, wrong)
	require.True(t, policy.Possession.Sound())
	require.Equal(t, 30*Second, policy.ProofAge())
	require.Equal(t, ProofAgeUsual, DefaultPolicy().ProofAge())
	for operator, want := range map[string]Possession{"": PossessionReview, "opr_a": PossessionReview, "opr_b": PossessionRequired, "opr_c": PossessionReview} {
		require.Equal(t, want, policy.PossessionOf(operator), operator)
		require.Equal(t, want, (&Policy{Possession: policy.Possession.For(operator)}).PossessionOf(operator), operator)
	}
	for level := range DepthMax + 1 {
		f := withParents(cleanFacts(), DepthMax)
		f.Policy = DefaultPolicy()
		require.Zero(t, NewestRules.JudgeStatic(f).Mask)
		f.Chain[level].Settings.Possession = PossessionReview
		hits := NewestRules.JudgeStatic(f)
		require.Equal(t, SubUnproven, hits.Subs[RuleAttestation], level)
		f.Chain[level].Settings.Possession = PossessionRequired
		require.Zero(t, NewestRules.JudgeStatic(f).Mask, "a missing proof is no review where it is required")
		f.DemandProof()
		require.Equal(t, TokenProofMissing, f.Token)
		f.Token, f.Proven = TokenGood, true
		f.DemandProof()
		require.Equal(t, TokenGood, f.Token)
		require.Zero(t, NewestRules.JudgeStatic(f).Mask)
	}
	for _, unsound := range []*PossessionPolicy{{Default: 3}, {AgeMost: -1}, {Operators: []OperatorPossession{{"opr_b", 1}, {"opr_a", 1}}}, {Operators: []OperatorPossession{{"opr_a", 3}}}} {
		require.False(t, unsound.Sound())
	}
}
