//go:build nextformat

package engine

import (
	"fmt"
	"strings"
)

// This file stands for the release after this one. Only the tests of rolling upgrades build it;
// nobody runs such a binary. Its format has another bound, and its rule set has one reason with
// an extra hyphen and one more rule.

// FormatNext is one above today's newest format. In it the claim of a review lasts twice as
// long.
const FormatNext = formatEnd

// FormatNewest is the highest format that this binary can apply.
const FormatNewest = FormatNext

// RuleNext is the rule that the next format adds, with the highest number that there can be. It
// fires on a made-up name.
const RuleNext RuleID = RuleBits - 1

func init() {
	next := *limitsByFormat[FormatNext-1]
	next.ClaimLease *= 2
	limitsByFormat[FormatNext] = &next

	newest := rulesByFormat[FormatNext-1]
	text := strings.Replace(textOf(newest.Name), fmt.Sprintf("rule set %s number %d", newest.Name, newest.Number), "rule set next number 65000", 1)
	text = strings.Replace(text, "single transaction limit", "single-transaction limit", 1)
	text = strings.Replace(text, fmt.Sprintf("all %d rules", len(newest.Rules)), fmt.Sprintf("all %d rules", len(newest.Rules)+1), 1)
	text += fmt.Sprintf("\nR%d_NEXT REVIEW\n\tThe rule of the next release.\n", RuleNext)
	rulesByFormat[FormatNext] = joinRules(text, staticJudges, liveJudges, map[RuleID]judge{RuleNext: {Static: func(f *Facts) Sub {
		if f.Request.Name == "The Next Rule" {
			return 1
		}
		return 0
	}, Trigger: "The name is that of the next rule.", Default: "on", Params: "mode"}})
	NewestRules = rulesByFormat[FormatNext]
	Rules = NewestRules.Rules
}
