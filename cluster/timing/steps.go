package timing

import (
	"context"
	"time"
)

// Steps are the moments of one record on its way through the log. They are written before the proposal is
// answered; a time that is zero was not met.
type Steps struct {
	Taken     time.Time // It left the queue for its last attempt.
	Committed time.Time // Its entry was committed, and this node began to apply it; zero if the leader's reply told the result first.
	Attempts  int
}

type stepsKey struct{}

// WithSteps returns a context whose proposal writes its moments into steps.
func WithSteps(ctx context.Context, steps *Steps) context.Context {
	return context.WithValue(ctx, stepsKey{}, steps)
}

// StepsOf returns where a proposal writes its moments; nil: nobody asked for them.
func StepsOf(ctx context.Context) *Steps {
	steps, _ := ctx.Value(stepsKey{}).(*Steps)
	return steps
}
