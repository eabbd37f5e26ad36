package engine

import (
	"fmt"
	"strings"
)

// RulesMarkdown renders docs/RULES.md from the table, so that what people read
// is what runs. A test compares the two.
func RulesMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The %d rules\n\nRule set %s. Generated from `engine/rulesets` and the judges in `engine/rules_table.go`: "+
		"`go test ./engine -run TestRulesDocument -update`.\n\n", len(Rules), NewestRules.Name)
	b.WriteString("All rules are evaluated; the first that fired, in the order below, decides. Rows with verdict BLOCK stand " +
		"ahead of rows with verdict REVIEW. R1 is judged alone.\n\n" +
		"A REVIEW rule has a mode, set by the institution in `rules` of the policy document: `review` (the default), `off` " +
		"(not judged), `shadow` (recorded without effect) or `block` (its verdict is BLOCK and it is decided ahead of every " +
		"REVIEW). UNKNOWN and BLOCK rules have no mode: they are final.\n\n" +
		"Judged *at the edge* means: on the credential, the request, one version of the list, the policy and the profiles. " +
		"Judged *in the log* means: on counters, statuses and log time, when the record is applied.\n\n")
	b.WriteString("| order | rule | verdict | judged |\n|---|---|---|---|\n")
	for i := range Rules {
		rule := &Rules[i]
		fmt.Fprintf(&b, "| %d | [%s](#%s) | %s | %s |\n", i+1, rule.Code, strings.ToLower(rule.Code), rule.Verdict, rule.judgedWhere())
	}
	fmt.Fprintf(&b, "| end | %s | %s | |\n\n%s: \"%s\"\n", AllClear, Proceed, AllClear, NewestRules.Clear)
	for i := range Rules {
		rule := &Rules[i]
		fmt.Fprintf(&b, "\n## %s\n\n- Verdict: %s\n- Trigger: %s\n- Default: %s\n- Settings: %s\n- Reasons:\n",
			rule.Code, rule.Verdict, rule.Trigger, rule.Default, rule.Params)
		for n, reason := range rule.Reasons {
			fmt.Fprintf(&b, "  %d. %s\n", n+1, reason)
		}
	}
	return b.String()
}

// judgedWhere names the side that judges a rule.
func (r *Rule) judgedWhere() string {
	if r.Static != nil {
		return "at the edge"
	}
	return "in the log"
}
