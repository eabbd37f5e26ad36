//go:build nextformat

package fsm

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/leaf"
	"railguard/fsm/wire"
)

// Once the format is raised the next rule decides; earlier records keep their meaning.
func TestNextRule(t *testing.T) {
	w := furnished(t)
	slot, _ := w.register("next")
	old := w.screen(slot, 1)
	record := bytes.Clone(old.Data)
	before := string(shown(record))
	require.Contains(t, before, `"ruleSet":"2026.1"`)
	judgedBefore := w.screening(slot, 0)
	require.Equal(t, wire.Applied, w.do(wire.KindFormat, &wire.FormatRaise{To: engine.FormatNext}).Code)
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, judgedBefore).Code, "a record that an edge judged by the old rules is judged again")
	next := w.do(wire.KindScreen, w.beyond(slot))
	require.Equal(t, `REVIEW "R31_NEXT"`, verdict(next))
	require.Contains(t, string(shown(next.Data)), `"reason":"The rule of the next release."`)
	require.Contains(t, string(shown(next.Data)), `"ruleSet":"next"`)
	require.Equal(t, before, string(shown(record)), "evidence of before says what it said")
	var s leaf.Screen
	require.NoError(t, leaf.DecodeScreen(next.Data, &s))
	require.EqualValues(t, 65_000, s.Rules)
	policy := *engine.DefaultPolicy()
	policy.Modes[engine.RuleNext] = engine.ModeOff
	require.Equal(t, wire.Applied, w.do(wire.KindPolicy, &wire.PolicyPut{Policy: policy, Base: w.m.settings.Policy.Version}).Code)
	require.NotContains(t, verdict(w.do(wire.KindScreen, w.beyond(slot))), "R31")
	digest := w.m.Freeze().Digest()
	require.Equal(t, digest, restoredFrom(t, w.m).Freeze().Digest())
}
