package fsm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// TestAListThatNobodyConfirms (decision 128): after ofac.reviewAge no payment proceeds, whatever the
// mode of R21 is, until somebody confirms the list.
func TestAListThatNobodyConfirms(t *testing.T) {
	w := newWorld(t)
	slot, _ := w.register("a")
	w.now = w.m.settings.ListSynced + 7*engine.DayLength
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 1)))
	w.now++
	require.Equal(t, `REVIEW "R21_POSSIBLE_NAME_MATCH"`, verdict(w.screen(slot, 1)))
	off := *engine.DefaultPolicy()
	off.Modes[engine.RulePossibleName] = engine.ModeOff
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: off}).Code)
	require.Equal(t, `REVIEW "R21_POSSIBLE_NAME_MATCH"`, verdict(w.screen(slot, 1)))
	w.confirmList()
	require.Equal(t, `PROCEED null`, verdict(w.screen(slot, 1)))
}

// confirmList says that the list in force is the newest.
func (w *world) confirmList() {
	w.t.Helper()
	require.Equal(w.t, wire.Applied, w.do(wire.KindListActivate, &wire.ListActivate{Digest: w.m.settings.List.Digest, Refresh: true}).Code)
}
