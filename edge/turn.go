package edge

import (
	"errors"
	"time"

	"railguard/edge/turns"
	"railguard/engine"
	"railguard/ofac"
)

// What judging costs (decision 100). The matcher counts its steps, which are the same on every
// machine. A step takes 0.7 to 2.4 ns in the names that cost the most (ofac/match,
// BenchmarkDearNames). Where it takes longer, a name has so few steps that the call's fixed
// charge covers them.
const (
	stepTime     = 2 * time.Nanosecond
	judgeTime    = 10 * time.Microsecond // What a judgement takes without the list.
	stepsOfACall = 14_000                // Steps that take as long as a whole screening call, 28 µs (docs/ROUTES.md).
)

// CallsOf returns how many screening calls more than its own a call costs that made the
// matcher take so many steps.
func CallsOf(steps int) int { return steps / stepsOfACall }

// takeTurn takes a turn on the account of the caller's owner. The holder must not wait for
// anything before it ends the turn.
func (j *Judge) takeTurn() (turns.Turn, error) {
	all := j.shared.turns
	turn, err := all.Take(j.ctx, all.Owner(j.call.Caller.Owner))
	switch {
	case err == nil:
		return turn, nil
	case errors.Is(err, turns.ErrFull):
		turnsRefused.Inc()
		return turn, Refuse("overloaded", "too many calls of this owner wait to be judged on this node; send fewer at once")
	}
	return turn, Refuse("overloaded", "this node is too busy to judge the call in time; retry")
}

// inTurn runs work of the processor in a turn and enters the steps that it counted.
func (j *Judge) inTurn(work func()) error {
	turn, err := j.takeTurn()
	if err != nil {
		return err
	}
	before := j.Steps
	defer func() { turn.End(judgeTime + time.Duration(j.Steps-before)*stepTime) }()
	work()
	return nil
}

// lookUp asks the list everything that the static rules need, in a turn, and calls use in it.
// The answers are in the looker's memory: the caller gives it back when it has read them. A
// call that waits for its turn holds no looker.
func (j *Judge) lookUp(use func()) (looker *engine.Looker, err error) {
	err = j.inTurn(func() {
		looker = lookers.Get().(*engine.Looker)
		looker.Steps = 0
		looker.Look(&j.screen.facts)
		use()
		j.Steps += looker.Steps
	})
	return looker, err
}

// screenAlone screens one name in a turn. use is called while the result is valid.
func (j *Judge) screenAlone(list *ofac.Index, query *ofac.Query, use func(ofac.Result)) error {
	return j.inTurn(func() {
		scratch := scratches.Get().(*ofac.Scratch)
		use(list.Screen(query, scratch))
		j.Steps += scratch.Steps()
		scratches.Put(scratch)
	})
}

// Waiting returns how many calls wait for a turn.
func (js *Judges) Waiting() int { return js.turns.Waiting() }
