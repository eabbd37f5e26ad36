package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatAConfirmationLeavesOut (decision 136): nothing else may be left out, whoever says so.
func TestWhatAConfirmationLeavesOut(t *testing.T) {
	rules := NewestRules
	seen := uint32(1) << RuleSingleLimit
	plain := rules.LeftOutAgain(0, false, false)
	require.Equal(t, uint32(1<<RuleVelocity|1<<RuleStructuring), plain)
	require.Equal(t, plain|seen|1<<RuleDailyLimit|1<<RuleFleetLimit, rules.LeftOutAgain(seen, true, false))
	redeem := rules.LeftOutAgain(0, false, true)
	require.Equal(t, plain|rules.ReviewRules(), redeem)
	require.Zero(t, redeem&(1<<RulePartyName), "a BLOCK rule")
	for _, c := range []struct {
		mask, seen      uint32
		sameDay, redeem bool
		may             bool
	}{
		{plain, 0, true, false, true},
		{plain, 0, false, false, true},
		{plain | limitRules, 0, false, false, true},
		{plain | limitRules, 0, true, false, false},
		{plain | seen, seen, true, false, true},
		{plain, seen, true, false, false},
		{plain | seen, 0, true, false, false},
		{redeem, 0, true, true, true},
		{redeem, 0, true, false, false},
		{plain | 1<<RulePartyName, 0, false, false, false},
		{0, 0, false, false, false},
	} {
		require.Equal(t, c.may, rules.MayLeaveOut(c.mask, c.seen, c.sameDay, c.redeem), c)
	}
}
