package edge

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// A call counts the steps that its names took. A remembered answer took none, and a dear name
// counts as many calls. Which looker a call gets is the pool's choice: it may be one that does not
// know the name, most of all under the race detector, which makes a pool drop a quarter of what it
// is given. So each call took none or is as dear as the first, and one of the many took none.
func TestStepsOfACall(t *testing.T) {
	n, judges := newTestNode(t)
	good := token(t, judges, n.agent)
	steps := func(name string) int {
		call := Call{Caller: &Caller{ID: "key_a"}, Body: []byte(`{"token":"` + good + `","amount":1,"cpName":"` + name + `"}`)}
		require.NoError(t, call.Document.Read(call.Body, engine.ScreenValuesMax))
		var judge Judge
		defer judge.Reset()
		judge.Begin(t.Context(), judges, &call)
		require.NoError(t, judge.Read())
		_, err := judge.Screen()
		require.NoError(t, err)
		return judge.Steps
	}
	const dear = "q w e r t z u "
	require.Zero(t, CallsOf(steps("Quiet Harbour Bakery")))
	first := steps(strings.Repeat(dear, 36))
	require.Greater(t, CallsOf(first), 15)
	remembered := false
	for i := 0; i < 100 && !remembered; i++ {
		again := steps(strings.Repeat(dear, 36))
		remembered = again == 0
		if !remembered {
			require.Equal(t, CallsOf(first), CallsOf(again))
		}
	}
	require.True(t, remembered, "no call used a remembered answer")
}

// A call that gets no turn in time, or whose owner has too much work waiting, is refused with
// 503 and was not recorded.
func TestNoTurn(t *testing.T) {
	n, judges := newTestNode(t)
	good := token(t, judges, n.agent)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 1 << 10 { // All places are taken by an owner that keeps them.
			turn, err := judges.turns.Take(ctx, judges.turns.Owner("other"))
			if err != nil {
				break
			}
			defer turn.End(0)
		}
		call := Call{Caller: &Caller{ID: "key_a"}, Body: []byte(`{"token":"` + good + `","amount":1,"cpName":"x y"}`)}
		require.NoError(t, call.Document.Read(call.Body, engine.ScreenValuesMax))
		var judge Judge
		defer judge.Reset()
		judge.Begin(ctx, judges, &call)
		require.NoError(t, judge.Read())
		_, err := judge.Screen()
		var refused *Refusal
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "overloaded", refused.Code)
	})
}
