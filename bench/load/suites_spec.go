package load

import (
	"context"
	"errors"
	"fmt"

	"railguard/bench/spec"
)

// statesMost bounds a search of the model: so many states take about four gigabytes.
const statesMost = 5_000_000

// runSpec walks through all states of the model's scopes (in the brief form: of the small ones),
// in process. It measures nothing of the product.
func runSpec(ctx context.Context, b *bench) error {
	scopes := spec.Small
	if !b.options.Brief {
		scopes = append(scopes[:len(scopes):len(scopes)], spec.Large...)
	}
	states, broken := 0, 0
	var unfinished error
	for _, scope := range scopes {
		if err := ctx.Err(); err != nil {
			return err
		}
		found := spec.Search(scope, spec.AllRules, statesMost)
		b.say("%s", found)
		states += found.States
		switch {
		case found.Broken != "":
			broken++
			b.report.Notes = append(b.report.Notes, found.String())
		case !found.Exhausted:
			unfinished = errors.Join(unfinished, fmt.Errorf("%s: more than %d states", found.Scope, statesMost))
		}
	}
	b.set("spec.states", "states", more, float64(states), nil)
	b.set("spec.broken", "scopes", less, float64(broken), nil)
	return unfinished
}
