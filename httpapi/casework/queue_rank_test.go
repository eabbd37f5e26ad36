package casework

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm"
)

// In a thousand random queues, whatever else fired and whatever the amounts, every case in which
// somebody may be listed or a place embargoed stands above every case of a limit.
func TestEveryHitAboveEveryLimit(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 28))
		var items []queueItem
		for leaf := range 1 + r.IntN(200) {
			item := randomCase(r, uint64(leaf))
			items = append(items, item)
		}
		wanted := queueOrder{by: "priority", keep: len(items)}
		sorted := wanted.first(items)
		limits := false
		for i := range sorted {
			row := &sorted[i].row
			hit := row.Rules&(1<<21) != 0 // No random case has R21 for the list's age alone.
			require.False(t, hit && limits, "queue %d: a hit at place %d stands behind a limit", seed, i)
			limits = limits || !hit
		}
	}
}

// randomCase is a case of one to five random rules that review, of a few cents to a million.
func randomCase(r *rand.Rand, leaf uint64) queueItem {
	var hits engine.Hits
	for range 1 + r.IntN(5) {
		for id := engine.RuleID(1 + r.IntN(25)); ; id = engine.RuleID(1 + r.IntN(25)) {
			rule := engine.RuleByID(id)
			if rule == nil || rule.Verdict != engine.Review || id == 20 {
				continue
			}
			sub := engine.Sub(1 + r.IntN(len(rule.Reasons)))
			if id == engine.RulePossibleName && sub == engine.SubListStale {
				sub = 1
			}
			hits.Add(id, sub)
			break
		}
	}
	decision := engine.NewestRules.Decide(&hits, engine.DefaultPolicy())
	gravest, gravity := engine.NewestRules.Gravest(&hits, decision.Triggered)
	row := fsm.ReviewRow{Leaf: leaf, Rule: decision.Rule, Rules: decision.Triggered, Gravest: gravest, Gravity: gravity, Amount: engine.USD(r.Int64N(int64(1_000_000 * engine.Dollar)))}
	return queueItem{row: row, priority: priority(&row)}
}
