package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

// R25 watches an agent and its operator whoever they pay: a large sum in the band, and many
// payments just below the band or another limit of the policy.
func TestNearLimits(t *testing.T) {
	policy := DefaultPolicy()
	policy.TypeCaps[ofac.PartyBusiness] = 1000 * Dollar
	for amount, near := range map[USD]bool{
		0: false, 500 * Dollar: false, 900 * Dollar: true, 999 * Dollar: true, 1000 * Dollar: false,
		8099 * Dollar: false, 8999 * Dollar: true, 9500 * Dollar: true, 10_000 * Dollar: true, 10_001 * Dollar: false,
	} {
		require.Equal(t, near, policy.NearLimit(amount), "%d", amount)
	}
	for _, c := range []struct {
		amount        USD
		first, second Sub // The reason at the agent's tenth payment, and at the operator's fiftieth.
	}{{8999 * Dollar, 4, 6}, {9500 * Dollar, 4, 6}} {
		var agent, operator NearRow
		for i := range 50 {
			m := &Moment{Policy: policy, Amount: c.amount}
			if i < 10 {
				m.AgentNear = agent.Add(DayLength+Time(i)*Hour, policy, c.amount)
			}
			m.OperatorNear = operator.Add(DayLength+Time(i)*Minute, policy, c.amount)
			want := Sub(0)
			if i == 9 {
				want = c.first
			}
			if i == 49 {
				want = c.second
			}
			require.Equal(t, want, structuringSuspected(m), "payment %d", i+1)
		}
	}
	m := &Moment{Policy: policy, Amount: 9999 * Dollar, AgentNear: Near{Sum: 100_000 * Dollar, Count: 9}}
	require.Equal(t, Sub(3), structuringSuspected(m), "the sum")
	m = &Moment{Policy: policy, Amount: 9999 * Dollar, OperatorNear: Near{Sum: 500_000 * Dollar, Count: 9}}
	require.Equal(t, Sub(5), structuringSuspected(m))
	m.Amount = 20 * Dollar
	require.Zero(t, structuringSuspected(m), "an amount that is near no limit passes")

	var row NearRow
	for range 20 {
		row.Add(DayLength, policy, 9500*Dollar)
	}
	require.Equal(t, Near{Sum: 9500 * Dollar * 21, Count: 21}, row.Add(2*DayLength, policy, 9500*Dollar), "24 hours later they count")
	require.Equal(t, Near{Sum: 9500 * Dollar, Count: 1}, row.Add(4*DayLength, policy, 9500*Dollar))
	require.True(t, row.Idle(6*DayLength))
}

// R16 counts a delegate's calls for its root agent as well.
func TestRootIsCounted(t *testing.T) {
	m := &Moment{Policy: DefaultPolicy(), Minute: 10, LevelCount: 2, Root: &Pace{Minute: velocityMinute}}
	m.Levels[0].Profile, m.Levels[1].Profile = &AgentProfile{}, &AgentProfile{}
	require.Zero(t, velocityExceeded(m))
	m.Root.Minute++
	require.Equal(t, Sub(4), velocityExceeded(m))
	m.Minute = velocityMinute + 1
	require.Equal(t, Sub(1), velocityExceeded(m))
}
