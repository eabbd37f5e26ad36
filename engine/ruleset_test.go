package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frozenSums names the file with the SHA-256 of each rule set, as sha256sum writes them. A line
// is never edited, nor is its rule set: another text is another rule set. -update only adds the
// lines that are missing.
const frozenSums = "rulesets/frozen.sha256"

// A changed text would change the wording of every record of its rule set, and evidence of
// those records would no longer verify.
func TestRuleSetsAreFrozen(t *testing.T) {
	data, err := os.ReadFile(frozenSums)
	require.NoError(t, err)
	frozen := map[string]string{}
	for line := range strings.Lines(string(data)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		frozen[name] = sum
	}
	files, err := filepath.Glob("rulesets/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		name, sum := filepath.Base(file), fmt.Sprintf("%x", sha256.Sum256(text))
		if _, known := frozen[name]; !known && *update {
			data, frozen[name] = fmt.Appendf(data, "%s  %s\n", sum, name), sum
		}
		require.NotEmpty(t, frozen[name], "%s is not frozen yet: run go test ./engine -run TestRuleSetsAreFrozen -update", name)
		require.Equal(t, frozen[name], sum, "%s was changed: it is frozen", name)
	}
	require.Len(t, files, len(frozen), "a frozen text is gone")
	if *update {
		require.NoError(t, os.WriteFile(frozenSums, data, 0o644))
	}
}

// Across formats a rule keeps its number, its code and its verdict, and rule sets keep their
// numbers: filters, metrics and people identify a rule by them.
func TestRulesKeepTheirNames(t *testing.T) {
	codes, names := map[RuleID]string{}, map[uint16]string{}
	for format := Format1; format <= FormatNewest; format++ {
		set := RulesOf(format)
		require.Same(t, set, RuleSetNumbered(set.Number))
		require.NotZero(t, set.Number, "0 is no rule set")
		require.Contains(t, []string{"", set.Name}, names[set.Number])
		names[set.Number] = set.Name
		for i := range set.Rules {
			rule := &set.Rules[i]
			require.Contains(t, []string{"", rule.Code}, codes[rule.ID])
			codes[rule.ID] = rule.Code
			require.Equal(t, rule.Code, rule.ID.Code())
			require.True(t, set.Has(rule.ID))
			require.True(t, set.HasAll(1<<rule.ID))
		}
		require.False(t, set.HasAll(1), "bit 0 is no rule")
		require.False(t, set.HasAll(1<<31))
	}
	require.Nil(t, RuleSetNumbered(0))
	require.Nil(t, RuleSetNumbered(65_535))
	require.Panics(t, func() { RulesOf(FormatNewest + 1) })
	require.Panics(t, func() { RulesOf(0) })
}

// text2026x1 is the text of the first rule set.
var text2026x1 = textOf("2026.1")

// joinText reads a text with today's judges.
func joinText(text string) *RuleSet { return joinRules(text, staticJudges, liveJudges) }

// A new rule set with another text does not change the reasons of the older one.
func TestAnotherTextIsAnotherRuleSet(t *testing.T) {
	next := strings.Replace(text2026x1, "rule set 2026.1 number 1", "rule set 2026.2 number 2", 1)
	next = strings.Replace(next, "single transaction limit of the agent", "single-transaction limit of the agent", 1)
	require.NotEqual(t, text2026x1, next)
	set := joinText(next)
	require.Equal(t, "2026.2", set.Name)
	require.EqualValues(t, 2, set.Number)
	require.Equal(t, "The amount is above the single-transaction limit of the agent.", set.Reason(RuleSingleLimit, 1, 0))
	require.Equal(t, "The amount is above the single transaction limit of the agent.", RulesOf(Format1).Reason(RuleSingleLimit, 1, 0))
}

// The order of the text says which rule decides, among REVIEW rules and among BLOCK rules.
func TestTheTextOrdersItsRules(t *testing.T) {
	blocks := strings.Split(strings.TrimSuffix(text2026x1, "\n"), "\n\n")
	at := func(code string) int {
		return slices.IndexFunc(blocks, func(b string) bool { return strings.HasPrefix(b, code+"_") })
	}
	for _, pair := range [][2]RuleID{{9, 10}, {6, 7}} {
		first, second := pair[0], pair[1]
		hits := Hits{Mask: 1<<first | 1<<second}
		require.Equal(t, first, RulesOf(Format1).Decide(&hits, DefaultPolicy()).Rule)
		i, j := at(fmt.Sprint("R", first)), at(fmt.Sprint("R", second))
		swapped := slices.Clone(blocks)
		swapped[i], swapped[j] = swapped[j], swapped[i]
		set := joinText(strings.Join(swapped, "\n\n") + "\n")
		require.Equal(t, second, set.Decide(&hits, DefaultPolicy()).Rule)
	}
}

func TestRuleSetsAreWhole(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"no head":         func(s string) string { return s[strings.Index(s, "\n\n"):] },
		"a rule twice":    func(s string) string { return s + s[strings.LastIndex(s, "\n\n")+1:] },
		"nobody judges":   func(s string) string { return s + "\nR31_NEW REVIEW\n\tA reason.\n" },
		"no reason":       func(s string) string { return s + "\nR31_NEW REVIEW\n" },
		"no verdict":      func(s string) string { return strings.Replace(s, " UNKNOWN\n", " PERHAPS\n", 1) },
		"a number beyond": func(s string) string { return strings.Replace(s, "R25_", "R32_", 1) },
		"no number":       func(s string) string { return strings.Replace(s, "R25_", "X_", 1) },
		"nothing clear":   func(s string) string { return strings.Replace(s, "ALL_CLEAR PROCEED", "R30_CLEAR PROCEED", 1) },
	} {
		require.Panics(t, func() { joinText(change(text2026x1)) }, name)
	}
}

// A rule set whose rule computes something else has that rule's judge from a further table, and
// the older rule set keeps its own.
func TestALaterTableReplacesAJudge(t *testing.T) {
	changed := joinRules(text2026x1, staticJudges, liveJudges, map[RuleID]judge{RuleMixer: {Static: func(*Facts) Sub { return 1 }}})
	facts := &Facts{Request: &Request{}, Policy: DefaultPolicy()}
	require.EqualValues(t, 1, changed.Rule(RuleMixer).Static(facts))
	require.Zero(t, RulesOf(Format1).Rule(RuleMixer).Static(facts))
}

// A policy may mention only rules of its rule set.
func TestPoliciesSpeakOfTheirRules(t *testing.T) {
	set, policy := RulesOf(Format1), DefaultPolicy()
	require.True(t, policy.SetsRulesOf(set))
	policy.Modes[RuleStructuring] = ModeOff
	policy.FourEyes = &FourEyes{Rules: 1 << RulePossibleName}
	require.True(t, policy.SetsRulesOf(set))
	for _, change := range []func(*Policy){
		func(p *Policy) { p.Modes[30] = ModeOff },
		func(p *Policy) { p.Modes[0] = ModeOff },
		func(p *Policy) { p.Modes[RuleHours] = ModeBlock + 1 },
		func(p *Policy) { p.FourEyes = &FourEyes{Rules: 1 << 30} },
	} {
		other := *policy
		change(&other)
		require.False(t, other.SetsRulesOf(set))
	}
}

// A payment that is judged again leaves rules out: they are said to be that, and not to be off. Those that are
// off are, and whoever may not know is told of neither.
func TestReasonNamesRulesThatWereLeftOut(t *testing.T) {
	const leftOut = 1<<RuleSingleLimit | 1<<RuleVelocity
	policy := DefaultPolicy()
	policy.Modes[RuleVelocity], policy.Modes[RulePossibleName] = ModeOff, ModeOff
	for idle, want := range map[uint32]string{
		leftOut:                       "No rule in force was triggered. Not judged again: R10_SINGLE_TX_LIMIT, R16_VELOCITY_FLAG.",
		leftOut | 1<<RulePossibleName: "No rule in force was triggered. Off or in shadow: R21_POSSIBLE_NAME_MATCH. Not judged again: R10_SINGLE_TX_LIMIT, R16_VELOCITY_FLAG.",
		1 << RulePossibleName:         "No rule in force was triggered. Off or in shadow: R21_POSSIBLE_NAME_MATCH.",
		0:                             "No rule was triggered; all 25 rules passed.",
	} {
		require.Equal(t, want, NewestRules.FullReason(0, 0, idle, leftOut))
		require.NotContains(t, NewestRules.Reason(0, 0, idle), "R")
	}
	decision := NewestRules.Decide(&Hits{}, policy)
	decision.LeaveOut(leftOut)
	require.Equal(t, uint32(leftOut|1<<RulePossibleName), decision.Idle)
	require.Equal(t, NewestRules.Reason(RuleSingleLimit, 1, 0), NewestRules.FullReason(RuleSingleLimit, 1, leftOut, leftOut))
}

// A rule that is off or in shadow did not pass, whether it fired or not: the sentence of a PROCEED
// does not say so, and names the rule to those who may know.
func TestReasonNamesRulesOffOrInShadow(t *testing.T) {
	policy := DefaultPolicy()
	clear := NewestRules.Decide(&Hits{}, policy)
	require.Equal(t, Decision{Verdict: Proceed}, clear)
	require.Equal(t, "No rule was triggered; all 25 rules passed.", NewestRules.FullReason(clear.Rule, clear.Sub, clear.Idle, 0))
	policy.Modes[RuleSingleLimit] = ModeBlock // Stricter than the default: it is in force.
	require.Zero(t, NewestRules.Decide(&Hits{}, policy).Idle)
	for _, mode := range []Mode{ModeOff, ModeShadow} {
		for _, fired := range []bool{false, true} {
			policy := DefaultPolicy()
			policy.Modes[RulePossibleName], policy.Modes[RuleStructuring] = mode, ModeShadow
			var hits Hits
			if fired {
				hits.Add(RulePossibleName, 1)
			}
			got := NewestRules.Decide(&hits, policy)
			require.Equal(t, Proceed, got.Verdict)
			require.Equal(t, "No rule in force was triggered.", NewestRules.Reason(got.Rule, got.Sub, got.Idle))
			require.Equal(t, "No rule in force was triggered. Off or in shadow: R21_POSSIBLE_NAME_MATCH, R25_STRUCTURING.",
				NewestRules.FullReason(got.Rule, got.Sub, got.Idle, 0))
		}
	}
	policy.Modes[RulePossibleName] = ModeOff
	other := Hits{}
	other.Add(RuleSingleLimit, 1)
	got := NewestRules.Decide(&other, policy)
	require.Zero(t, got.Idle, "a rule decided, and its sentence says all")
	require.Equal(t, NewestRules.Reason(RuleSingleLimit, 1, 0), NewestRules.FullReason(got.Rule, got.Sub, 1<<RulePossibleName, 0))
}
