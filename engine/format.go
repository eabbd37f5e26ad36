package engine

// Format is the one number that decides what Apply computes. It is part of the replicated
// state: a log entry raises it, and nothing lowers it.
type Format uint16

// The formats. The comment of each constant says what changed. A further format is a line
// above formatEnd, and a row of rulesByFormat or limitsByFormat where its rules or bounds are
// others.
const (
	_ Format = iota
	// Format1 is the first: records, rows, leaves and snapshots as 0.2.0 releases them.
	Format1

	// formatEnd is one above the newest format. Tests build a release that has it
	// (format_next.go).
	formatEnd
)

// rulesByFormat holds the rule set of each format. A row is never edited, because the meaning
// of a format's entries must not change: a format whose rules compute something else names a
// table with the other judges behind the two. A format without a row has the rules of the one
// before.
var rulesByFormat = fillRules([FormatNewest + 1]*RuleSet{
	Format1: joinRules(textOf("2026.1"), staticJudges, liveJudges),
})
