package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frozenRuleSets holds the SHA-256 of the rule set texts that records are shown with. A line is
// never edited, nor is its file: another text is another rule set, with its own line.
var frozenRuleSets = map[string]string{
	"2026.1.txt": "6f1ae8c631847388c90db858e02f8a677b726dbb48b2147fed8017ac829c80fb",
}

// A changed text would change the wording of every record of its rule set, and evidence of
// those records would no longer verify.
func TestRuleSetsAreFrozen(t *testing.T) {
	files, err := os.ReadDir("rulesets")
	require.NoError(t, err)
	require.Len(t, files, len(frozenRuleSets))
	for _, file := range files {
		text, err := os.ReadFile("rulesets/" + file.Name())
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		require.Equal(t, frozenRuleSets[file.Name()], hex.EncodeToString(sum[:]), "%s was changed: it is frozen", file.Name())
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

// A new rule set with another text does not change the reasons of the older one.
func TestAnotherTextIsAnotherRuleSet(t *testing.T) {
	next := strings.Replace(text2026x1, "rule set 2026.1 number 1", "rule set 2026.2 number 2", 1)
	next = strings.Replace(next, "single transaction limit of the agent", "single-transaction limit of the agent", 1)
	require.NotEqual(t, text2026x1, next)
	set := joinRules(next, judges2026x1)
	require.Equal(t, "2026.2", set.Name)
	require.EqualValues(t, 2, set.Number)
	require.Equal(t, "The amount is above the single-transaction limit of the agent.", set.Reason(RuleSingleLimit, 1))
	require.Equal(t, "The amount is above the single transaction limit of the agent.", RulesOf(Format1).Reason(RuleSingleLimit, 1))
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
		set := joinRules(strings.Join(swapped, "\n\n")+"\n", judges2026x1)
		require.Equal(t, second, set.Decide(&hits, DefaultPolicy()).Rule)
	}
}

func TestRuleSetsAreWhole(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"no head":         func(s string) string { return s[strings.Index(s, "\n\n"):] },
		"a rule less":     func(s string) string { return s[:strings.LastIndex(s, "\n\n")] + "\n" },
		"a rule twice":    func(s string) string { return s + s[strings.LastIndex(s, "\n\n")+1:] },
		"nobody judges":   func(s string) string { return s + "\nR26_NEW REVIEW\n\tA reason.\n" },
		"no reason":       func(s string) string { return s + "\nR26_NEW REVIEW\n" },
		"no verdict":      func(s string) string { return strings.Replace(s, " UNKNOWN\n", " PERHAPS\n", 1) },
		"a number beyond": func(s string) string { return strings.Replace(s, "R25_", "R32_", 1) },
		"no number":       func(s string) string { return strings.Replace(s, "R25_", "X_", 1) },
		"nothing clear":   func(s string) string { return strings.Replace(s, "ALL_CLEAR PROCEED", "R27_CLEAR PROCEED", 1) },
	} {
		require.Panics(t, func() { joinRules(change(text2026x1), judges2026x1) }, name)
	}
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
