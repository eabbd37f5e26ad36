//go:build nextformat

package engine

// This file is the release after this one, as the test of rolling upgrades builds it:
// no binary that anybody runs has it. Its format differs in one bound that shows.

// FormatNext is one above the newest of today. Claims of a review last twice as long.
const FormatNext = Format1 + 1

// FormatNewest is the highest this binary can apply.
const FormatNewest = FormatNext

func init() {
	next := *limitsByFormat[Format1]
	next.ClaimLease *= 2
	limitsByFormat[FormatNext] = &next
}
