//go:build nextformat

package engine

import (
	"maps"
	"strings"
)

// This file is the release after this one, as the tests of rolling upgrades build it: no
// binary that anybody runs has it. Its format differs in a bound that shows, and in its
// rule set: one reason has a hyphen more, and there is a rule more.

// FormatNext is one above the newest of today. Claims of a review last twice as long.
const FormatNext = Format1 + 1

// FormatNewest is the highest this binary can apply.
const FormatNewest = FormatNext

// RuleNext is the rule that the next format adds. It fires on a name that nobody has.
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
