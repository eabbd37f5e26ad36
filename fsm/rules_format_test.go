package fsm

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
)

// ruleBeyond is the number of a rule that only the next release has.
const ruleBeyond engine.RuleID = engine.RuleBits - 1

// beyond returns a record with a rule that its rule set does not have.
func (w *world) beyond(slot engine.AgentSlot) *wire.Screen {
	var hits engine.Hits
	hits.Add(ruleBeyond, 1)
	s := w.screening(slot, engine.Dollar)
	wire.PackHits(&hits, s)
	return s
}

// An entry of format 1 has the same meaning to a release with one rule more: this test runs
// in both (TestTheNextFormatHasARuleMore).
func TestRulesBelongToTheFormat(t *testing.T) {
	w := furnished(t)
	slot := engine.AgentSlot(1)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindScreen, w.beyond(slot)).Refusal)
	s := w.screening(slot, engine.Dollar)
	s.Basis.Rules = 65_000
	require.Equal(t, wire.Stale, w.do(wire.KindScreen, s).Code, "judged by other rules than those in force")
	policy := *engine.DefaultPolicy()
	policy.Modes[ruleBeyond] = engine.ModeOff
	put := &wire.PolicyPut{Policy: policy, Base: w.m.settings.Policy.Version}
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindPolicy, put).Refusal)
	require.Equal(t, wire.RefusedMalformed, w.do(wire.KindDisposition, &wire.Disposition{Disposition: wire.Rejected, Rules: 1 << ruleBeyond}).Refusal)
	require.Equal(t, wire.Applied, w.do(wire.KindScreen, w.screening(slot, engine.Dollar)).Code)
}

// The next release has one rule more, and applies, digests, restores and shows everything of
// format 1 as this one does.
func TestTheNextFormatHasARuleMore(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the next release's state machine")
	}
	goes := exec.Command("go", "test", "-tags", "nextformat", "-run", "^(TestGolden.*|TestRulesBelongToTheFormat|TestNextRule)$", "-v", ".")
	goes.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false")
	out, err := goes.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"TestGoldenLog", "TestGoldenSnapshot", "TestRulesBelongToTheFormat", "TestNextRule"} {
		require.Contains(t, string(out), "--- PASS: "+name)
	}
}
