//go:build nextformat

package engine

import (
	"maps"
	"strings"
)

// This file stands for the release after this one. Only the tests of rolling upgrades build it;
// nobody runs such a binary. Its format has another bound, and its rule set has one reason with
// an extra hyphen and one more rule.

// FormatNext is one above today's newest format. In it the claim of a review lasts twice as
// long.
const FormatNext = Format1 + 1

// FormatNewest is the highest format that this binary can apply.
const FormatNewest = FormatNext

// RuleNext is the rule that the next format adds. It fires on a made-up name.
const RuleNext = RuleStructuring + 1

func init() {
	next := *limitsByFormat[Format1]
	next.ClaimLease *= 2
	limitsByFormat[FormatNext] = &next

	text := strings.Replace(text2026x1, "rule set 2026.1 number 1", "rule set next number 65000", 1)
	text = strings.Replace(text, "single transaction limit", "single-transaction limit", 1)
	text = strings.Replace(text, "all 25 rules", "all 26 rules", 1)
	text += "\nR26_NEXT REVIEW\n\tThe rule of the next release.\n"
	judges := maps.Clone(judges2026x1)
	judges[RuleNext] = judge{Static: func(f *Facts) Sub {
		if f.Request.Name == "The Next Rule" {
			return 1
		}
		return 0
	}, Trigger: "The name is that of the next rule.", Default: "on", Params: "mode"}
	rulesByFormat[FormatNext] = joinRules(text, judges)
	NewestRules = rulesByFormat[FormatNext]
	Rules = NewestRules.Rules
}
