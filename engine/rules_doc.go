package engine

import (
	"fmt"
	"strings"
)

// RulesMarkdown renders docs/RULES.md from the table, so that the document matches the code. A
// test compares the two.
func RulesMarkdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The rules\n\nRule set %s has %d. A test writes this page from `engine/rulesets`, `engine/rules_static.go` and `engine/rules_live.go`: "+
		"`go test ./engine -run TestRulesDocument -update`.\n\n", NewestRules.Name, len(Rules))
	b.WriteString("All rules are evaluated. The first that fired, in the order of this page, decides; R1 is judged alone. " +
		"Where none fired, the verdict is PROCEED and the rule " + AllClear + ": \"" + NewestRules.Clear.All + "\" " +
		"Where the policy has rules off or in shadow, nobody says that they passed: \"" + NewestRules.Clear.Some + "\" " +
		"Reviewer, auditor and admin of the institution also read which: \"" + strings.Replace(NewestRules.Clear.Which, "{rules}", RuleByID(RulePossibleName).Code, 1) + "\"\n\n" +
		"The institution sets the mode of a REVIEW rule in `rules` of the policy document: `review` (the default), `off` " +
		"(the rule is not judged), `shadow` (it is recorded without effect) or `block` (its verdict is BLOCK, decided ahead of every " +
		"REVIEW). UNKNOWN and BLOCK rules have no mode: they are final.\n\n" +
		"A rule judged *at the edge* reads the credential, the request, one version of the list, the policy and the profiles. " +
		"A rule judged *in the log* reads counters, statuses and log time when the record is applied.\n")
	for i := range Rules {
		rule := &Rules[i]
		fmt.Fprintf(&b, "\n## %s\n\n%s, judged %s. %s\n\nDefault: %s.", rule.Code, rule.Verdict, rule.judgedWhere(), rule.Trigger, rule.Default)
		if rule.Params != "none" {
			fmt.Fprintf(&b, " Settings: %s.", rule.Params)
		}
		b.WriteString(" Reasons:\n\n")
		for n, reason := range rule.Reasons {
			fmt.Fprintf(&b, "%d. %s\n", n+1, reason)
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
