package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// limitOperator sets the limit of operator 1, as a key of the institution does.
func (w *world) limitOperator(limit *engine.USD) wire.Result {
	rev := (*w.m.registry.operatorProfiles.At(1)).Rev
	return w.do(wire.KindOperatorLimit, &wire.OperatorLimit{Operator: 1, BaseRev: rev, Limit: limit})
}

// TestOperatorsLimit: all agents of an operator spend within one limit. What a payment counted
// with its operator comes back to that operator, although its agent has gone to another.
func TestOperatorsLimit(t *testing.T) {
	w := newWorld(t)
	one, _ := w.register("one")
	two, _ := w.register("two")
	counted := func(slot uint64) engine.USD {
		return w.m.registry.operators.At(slot).Spend.Counted(w.m.now.Day()) / engine.Dollar
	}
	hundred := 100 * engine.Dollar
	require.Equal(t, wire.Applied, w.limitOperator(&hundred).Code)
	require.Contains(t, w.leavesOf("operator.limit")[0], `"operatorId":"`+w.m.registry.operatorID(1)+`"`)
	b := w.held(one, 60, 60, 0)
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(two, 41)))
	require.Equal(t, `PROCEED null`, verdict(w.screen(two, 40)))
	require.EqualValues(t, 100, counted(1))
	profile := **w.m.registry.profiles.At(uint64(one))
	require.Equal(t, wire.Applied, w.do(wire.KindReissue, &wire.Reissue{
		Agent: one, Profile: profile, BaseRev: profile.Rev, Operator: named("Globex Ltd"), List: w.m.settings.ListVersion,
	}).Code)
	require.Equal(t, wire.Applied, w.settle(b, 25).Code)
	require.EqualValues(t, 65, counted(1))
	require.Zero(t, counted(2))
	require.Contains(t, string(w.settle(w.held(two, 1, 60, 0), 90).Data), `"overLimit":true`)
	require.Equal(t, *w.m.registry.operators.At(1), *restoredFrom(t, w.m).registry.operators.At(1))

	w.now += engine.DayLength
	require.Equal(t, `PROCEED null`, verdict(w.screen(two, 100)), "the next day begins at nothing")
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(two, 1)))
	policy := *engine.DefaultPolicy()
	policy.OperatorDaily = 50 * engine.Dollar
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Base: w.m.settings.Policy.Version, Policy: policy}).Code)
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(one, 51)), "an operator without a limit has the policy's")
	require.Equal(t, `PROCEED null`, verdict(w.screen(one, 50)))
	require.Equal(t, wire.Applied, w.limitOperator(nil).Code)
	require.Equal(t, `REVIEW "R11_DAILY_LIMIT"`, verdict(w.screen(two, 1)))
}

// TestOperatorsLimitIsRefused: an operator's key sets none, and a call that was made from an
// older revision sets none either.
func TestOperatorsLimitIsRefused(t *testing.T) {
	w := newWorld(t)
	w.register("one")
	rev, limit, none := (*w.m.registry.operatorProfiles.At(1)).Rev, 5*engine.Dollar, engine.NoLimit
	for _, c := range []struct {
		body wire.OperatorLimit
		why  wire.Refusal
	}{
		{wire.OperatorLimit{Common: w.key("acme inc", wire.RoleOperator), Operator: 1, BaseRev: rev, Limit: &limit}, wire.RefusedScope},
		{wire.OperatorLimit{Operator: 2, BaseRev: rev, Limit: &limit}, wire.RefusedNotFound},
		{wire.OperatorLimit{Operator: 1, BaseRev: rev, Limit: &none}, wire.RefusedMalformed},
		{wire.OperatorLimit{Operator: 1, BaseRev: rev + 1, Limit: &limit}, wire.RefusedVersion},
	} {
		require.Equal(t, c.why, w.do(wire.KindOperatorLimit, &c.body).Refusal)
	}
	require.Nil(t, (*w.m.registry.operatorProfiles.At(1)).DailyLimit)
}
