package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// cleanMoment is a call in the log with nothing wrong: it has depth delegates under a root, a
// fleet and a user credential.
func cleanMoment(depth int) *Moment {
	m := &Moment{
		Now: someday, Amount: 100 * Dollar, Policy: DefaultPolicy(), LevelCount: depth + 1,
		Operator: &OperatorRow{}, Version: 2, Expires: someday + 1,
		Fleet: &FleetRow{}, FleetLimit: NoLimit,
		User: &UserRow{}, UserCurrent: 1, UserVersion: 1, UserExpires: someday + 1,
		Minute: 1, PerHour: 1,
	}
	for i := range m.LevelCount {
		m.Levels[i] = Level{
			Row:     &AgentRow{MinVersion: 1, AttestedAt: someday},
			Profile: &AgentProfile{Type: Autonomous, Policy: NoSpendPolicy(), CredentialVersion: 2, ExpiresAt: someday + 1, IssuedAt: someday - DayLength},
		}
	}
	return m
}

func TestCleanMomentIsClear(t *testing.T) {
	for depth := range DepthMax + 1 {
		m := cleanMoment(depth)
		require.Equal(t, Hits{}, NewestRules.JudgeLive(m))
		require.Equal(t, Active, EffectiveStatus(m))
	}
	alone := cleanMoment(0)
	alone.LevelCount, alone.Operator, alone.Fleet, alone.User = 0, nil, nil, nil
	require.Equal(t, Hits{}, NewestRules.JudgeLive(alone))
}

// closedHours allow Sundays only; someday is a Thursday.
var closedHours = &Hours{Windows: []HoursWindow{{Days: 1 << 6, From: 0, To: 60}}}

func rowOf(m *Moment, level int) *AgentRow { return m.Levels[level].Row }

func profileOf(m *Moment, level int) *AgentProfile { return m.Levels[level].Profile }

// ofOperator says what all agents of the operator spent today, and the operator's own limit.
func ofOperator(m *Moment, spent, limit USD) {
	m.Owner, m.OwnerLimit = &Spend{Day: someday.Day(), Spent: spent}, &limit
}

// liveCases change one thing of a clean moment each and expect one rule.
var liveCases = []struct {
	name   string
	rule   RuleID // 0: nothing may fire
	sub    Sub
	change func(*Moment)
}{
	{"R2 revoked", 2, SubRevoked, func(m *Moment) { rowOf(m, 0).Status = Revoked }},
	{"R2 suspended", 2, SubSuspended, func(m *Moment) { rowOf(m, 0).Status = Suspended }},
	{"R2 expires now", 2, SubExpired, func(m *Moment) { m.Expires = someday }},
	{"R2 revoked and expired", 2, SubRevoked, func(m *Moment) { rowOf(m, 0).Status = Revoked; m.Expires = someday }},
	{"R2 suspended and expired", 2, SubSuspended, func(m *Moment) { rowOf(m, 0).Status = Suspended; m.Expires = someday }},
	{"R2 signing key revoked", 2, SubKeyRevoked, func(m *Moment) { m.KeyRevoked = true }},
	{"R2 below the least version", 2, SubSuperseded, func(m *Moment) { rowOf(m, 0).MinVersion = 3; profileOf(m, 0).CredentialVersion = 3 }},
	{"R2 older version in its overlap", 0, 0, func(m *Moment) { profileOf(m, 0).CredentialVersion = 3; rowOf(m, 0).OverlapUntil = someday + 1 }},
	{"R2 older version after its overlap", 2, SubSuperseded, func(m *Moment) { profileOf(m, 0).CredentialVersion = 3; rowOf(m, 0).OverlapUntil = someday }},
	{"R2 a version never issued", 2, SubSuperseded, func(m *Moment) { m.Version = 3 }},
	{"R2 parent revoked", 2, SubParentRevoked, func(m *Moment) { rowOf(m, 1).Status = Revoked }},
	{"R2 parent's key revoked", 2, SubParentRevoked, func(m *Moment) { m.Levels[1].KeyRevoked = true }},
	{"R2 root suspended", 2, SubParentSuspend, func(m *Moment) { rowOf(m, 3).Status = Suspended }},
	{"R2 grandparent expired", 2, SubParentExpired, func(m *Moment) { profileOf(m, 2).ExpiresAt = someday }},
	{"R2 operator suspended", 2, SubOperator, func(m *Moment) { m.Operator.Suspended = true }},
	{"R2 user revoked", 2, SubUserRevoked, func(m *Moment) { m.User.Status = Revoked }},
	{"R2 user suspended", 2, SubUserSuspended, func(m *Moment) { m.User.Status = Suspended }},
	{"R2 user expired", 2, SubUserExpired, func(m *Moment) { m.UserExpires = someday }},
	{"R2 user purged", 2, SubUserExpired, func(m *Moment) { m.User.Purged = true }},
	{"R2 user superseded", 2, SubUserSuperseded, func(m *Moment) { m.UserCurrent, m.User.MinVersion = 2, 2 }},
	{"R2 user's older version in its overlap", 0, 0, func(m *Moment) { m.UserCurrent, m.User.OverlapUntil = 2, someday+1 }},

	{"R8 flagged from now", 8, 1, func(m *Moment) { rowOf(m, 0).OwnershipFrom = someday }},
	{"R8 flagged from later", 0, 0, func(m *Moment) { rowOf(m, 0).OwnershipFrom = someday + 1 }},
	{"R8 root flagged", 8, 2, func(m *Moment) { rowOf(m, 3).OwnershipFrom = 1 }},

	{"R11 lands on the limit", 0, 0, func(m *Moment) {
		profileOf(m, 0).Policy.DailyLimit = 1000 * Dollar
		rowOf(m, 0).Spend = Spend{Day: someday.Day(), Spent: 900 * Dollar}
	}},
	{"R11 a micro-dollar above", 11, 1, func(m *Moment) {
		profileOf(m, 0).Policy.DailyLimit = 1000 * Dollar
		rowOf(m, 0).Spend = Spend{Day: someday.Day(), Spent: 900*Dollar + 1}
	}},
	{"R11 yesterday does not count", 0, 0, func(m *Moment) {
		profileOf(m, 0).Policy.DailyLimit = 1000 * Dollar
		rowOf(m, 0).Spend = Spend{Day: someday.Day() - 1, Spent: 1000 * Dollar}
	}},
	{"R11 root's limit", 11, 4, func(m *Moment) { profileOf(m, 3).Policy.DailyLimit = 99 * Dollar }},
	{"R11 parent's counter", 11, 2, func(m *Moment) {
		profileOf(m, 1).Policy.DailyLimit = 1000 * Dollar
		rowOf(m, 1).Spend = Spend{Day: someday.Day(), Spent: maxUSD}
	}},
	{"R11 lands on the operator's limit", 0, 0, func(m *Moment) { ofOperator(m, 900*Dollar, 1000*Dollar) }},
	{"R11 a micro-dollar above the operator's limit", 11, 5, func(m *Moment) { ofOperator(m, 900*Dollar+1, 1000*Dollar) }},
	{"R11 what the operator holds counts", 11, 5, func(m *Moment) { ofOperator(m, 0, 1000*Dollar); m.Owner.Held = 901 * Dollar }},
	{"R11 what the operator spent yesterday does not count", 0, 0, func(m *Moment) { ofOperator(m, 1000*Dollar, 1000*Dollar); m.Owner.Day-- }},
	{"R11 the policy's limit of operators", 11, 5, func(m *Moment) {
		m.Owner, m.Policy.OperatorDaily = &Spend{Day: someday.Day(), Spent: 901 * Dollar}, 1000*Dollar
	}},
	{"R11 the operator's own limit instead of the policy's", 0, 0, func(m *Moment) { ofOperator(m, 900*Dollar, 1000*Dollar); m.Policy.OperatorDaily = 0 }},
	{"R11 the agent's limit is named before the operator's", 11, 1, func(m *Moment) {
		ofOperator(m, 1000*Dollar, 1000*Dollar)
		profileOf(m, 0).Policy.DailyLimit = 0
	}},
	{"R12 lands on the limit", 0, 0, func(m *Moment) { m.FleetLimit = 100 * Dollar }},
	{"R12 above", 12, 1, func(m *Moment) { m.FleetLimit, m.Fleet.Spend = 100*Dollar, Spend{Day: someday.Day(), Spent: 1} }},
	{"R12 no fleet", 0, 0, func(m *Moment) { m.Fleet, m.FleetLimit = nil, 0 }},

	{"R16 at the default", 0, 0, func(m *Moment) { m.Minute = 1000 }},
	{"R16 above the default", 16, 1, func(m *Moment) { m.Minute = 1001 }},
	{"R16 own setting", 16, 1, func(m *Moment) { profileOf(m, 0).Settings.Velocity = &Velocity{MaxPerMinute: 5}; m.Minute = 6 }},
	{"R16 parent's setting", 16, 1, func(m *Moment) { profileOf(m, 2).Settings.Velocity = &Velocity{MaxPerMinute: 5}; m.Minute = 6 }},
	{"R16 an own setting cannot loosen the institution's", 16, 1, func(m *Moment) {
		profileOf(m, 0).Settings.Velocity = &Velocity{MaxPerMinute: 5000}
		m.Minute = 1001
	}},
	{"R16 fleet's setting", 16, 2, func(m *Moment) { m.FleetPace = &Velocity{MaxPerHour: 9}; m.PerHour = 10 }},
	{"R16 burst", 16, 3, func(m *Moment) { m.Minute, m.DayMeanX100 = 101, 504 }},
	{"R16 burst exactly at the factor", 0, 0, func(m *Moment) { m.Minute, m.DayMeanX100 = 101, 505 }},
	{"R16 burst of a hundred", 0, 0, func(m *Moment) { m.Minute, m.DayMeanX100 = 100, 1 }},
	{"R16 burst without history", 0, 0, func(m *Moment) { m.Minute = 999 }},

	{"R17 own hours", 17, 1, func(m *Moment) { profileOf(m, 0).Settings.Hours = closedHours }},
	{"R17 parent's hours", 17, 2, func(m *Moment) { profileOf(m, 3).Settings.Hours = closedHours }},
	{"R17 fleet's hours", 17, 3, func(m *Moment) { m.FleetHours = closedHours }},
	{"R17 institution's hours", 17, 4, func(m *Moment) { m.Policy.Hours = closedHours }},

	{"R22 exactly 10,000", 0, 0, func(m *Moment) { m.Amount = 10_000 * Dollar; rowOf(m, 0).AttestedAt = 0 }},
	{"R22 never attested", 22, 1, func(m *Moment) { m.Amount = 10_000*Dollar + 1; rowOf(m, 0).AttestedAt = 0 }},
	{"R22 a nanosecond short of 24 h", 0, 0, func(m *Moment) { m.Amount = 20_000 * Dollar; rowOf(m, 0).AttestedAt = someday - DayLength + 1 }},
	{"R22 24 h", 22, 2, func(m *Moment) { m.Amount = 20_000 * Dollar; rowOf(m, 0).AttestedAt = someday - DayLength }},
	{"R22 supervised", 0, 0, func(m *Moment) {
		m.Amount, profileOf(m, 0).Type, rowOf(m, 0).AttestedAt = 20_000*Dollar, Supervised, 0
	}},
	{"R22 lowered threshold", 22, 1, func(m *Moment) { m.Policy.AttestationAbove = 99 * Dollar; rowOf(m, 0).AttestedAt = 0 }},
	{"R22 issuance counts", 0, 0, func(m *Moment) {
		m.Amount, rowOf(m, 0).AttestedAt, m.Policy.IssuanceAttests = 20_000*Dollar, 0, true
		profileOf(m, 0).CredentialVersion, profileOf(m, 0).IssuedAt, m.Version = 1, someday-1, 1
	}},
	{"R22 issuance counts for a day", 22, 2, func(m *Moment) {
		m.Amount, rowOf(m, 0).AttestedAt, m.Policy.IssuanceAttests = 20_000*Dollar, 0, true
		profileOf(m, 0).CredentialVersion, m.Version = 1, 1
	}},
	{"R22 a re-issue does not count", 22, 1, func(m *Moment) {
		m.Amount, rowOf(m, 0).AttestedAt, m.Policy.IssuanceAttests = 20_000*Dollar, 0, true
		profileOf(m, 0).IssuedAt = someday
	}},

	{"R25 four in the band", 0, 0, func(m *Moment) { m.Amount, m.Structuring = 9_500*Dollar, 4 }},
	{"R25 five in the band", 25, 1, func(m *Moment) { m.Amount, m.Structuring = 9_000*Dollar, 5 }},
	{"R25 this one is outside", 0, 0, func(m *Moment) { m.Amount, m.Structuring = 10_000*Dollar, 5 }},

	{"R21 stale list, kept", 0, 0, func(m *Moment) { m.ListStale = true }},
	{"R21 a list that nobody confirmed", 21, SubListStale, func(m *Moment) { m.ListStale, m.ListOld = true, true }},
	{"R21 stale list, review", 21, SubListStale, func(m *Moment) { m.ListStale, m.Policy.ListStaleReview = true, true }},
}

func TestLiveRules(t *testing.T) {
	for _, test := range liveCases {
		t.Run(test.name, func(t *testing.T) {
			m := cleanMoment(DepthMax)
			test.change(m)
			hits := NewestRules.JudgeLive(m)
			if test.rule == 0 {
				require.Zero(t, hits.Mask)
				return
			}
			require.Equal(t, uint32(1)<<test.rule, hits.Mask)
			require.Equal(t, test.sub, hits.Subs[test.rule])
		})
	}
}

func TestEffectiveStatus(t *testing.T) {
	tests := []struct {
		name   string
		want   Status
		change func(*Moment)
	}{
		{"revoked", Revoked, func(m *Moment) { m.Levels[0].Row.Status = Revoked }},
		{"superseded is revoked", Revoked, func(m *Moment) { m.Version = 1; m.Levels[0].Row.MinVersion = 2 }},
		{"signed by a revoked key", Revoked, func(m *Moment) { m.KeyRevoked = true }},
		{"suspended", Suspended, func(m *Moment) { m.Levels[0].Row.Status = Suspended }},
		{"expired", Expired, func(m *Moment) { m.Expires = someday }},
		{"operator suspended", Suspended, func(m *Moment) { m.Operator.Suspended = true }},
		{"expired under a suspended parent", Suspended, func(m *Moment) { m.Expires = someday; m.Levels[1].Row.Status = Suspended }},
		{"suspended under a revoked root", Revoked, func(m *Moment) { m.Levels[0].Row.Status = Suspended; m.Levels[3].Row.Status = Revoked }},
		{"root signed by a revoked key", Revoked, func(m *Moment) { m.Levels[3].KeyRevoked = true }},
		{"parent expired", Expired, func(m *Moment) { m.Levels[2].Profile.ExpiresAt = someday }},
		{"the user does not count", Active, func(m *Moment) { m.User.Status = Revoked }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := cleanMoment(DepthMax)
			test.change(m)
			require.Equal(t, test.want, EffectiveStatus(m))
		})
	}
}

// TestDailyLimitScript is statement T070: only calls that may go ahead count.
func TestDailyLimitScript(t *testing.T) {
	m := cleanMoment(0)
	m.Levels[0].Profile.Policy.DailyLimit = 1000 * Dollar
	screen := func(amount USD, now Time) RuleID {
		m.Amount, m.Now = amount, now
		hits := NewestRules.JudgeLive(m)
		decision := NewestRules.Decide(&hits, m.Policy)
		if decision.Verdict == Proceed {
			m.Levels[0].Row.Spend.Add(now.Day(), amount)
		}
		return decision.Rule
	}
	m.Expires, m.User = someday+2*DayLength, nil
	require.Zero(t, screen(600*Dollar, someday))
	require.Equal(t, RuleID(11), screen(600*Dollar, someday))
	require.Zero(t, screen(400*Dollar, someday))
	require.Equal(t, RuleID(11), screen(1, someday))
	midnight := (someday.Day() + 1).Start()
	require.Equal(t, RuleID(11), screen(1, midnight-1), "T071: the last instant of the UTC date")
	require.Zero(t, screen(1000*Dollar, midnight))
}
