package httpapi

import (
	"context"

	"railguard/httpapi/rulebook"
)

// fork is a relay whose questions have two rooms that answer them: reports of nodes, and jobs.
type fork struct {
	rulebook.Relay
	api *API
}

// forkRelay puts the room of operations in front of whoever answers; nil stays nil.
func (a *API) forkRelay(relay rulebook.Relay) rulebook.Relay {
	if relay == nil {
		return nil
	}
	return fork{relay, a}
}

// Answer implements rulebook.Relay. Questions come only when the whole API is made.
func (f fork) Answer(do func(ctx context.Context, question []byte) []byte) {
	f.Relay.Answer(func(ctx context.Context, question []byte) []byte {
		if house := f.api.answering.Load(); house != nil {
			if answer, is := house.AnswerDebug(ctx, question); is {
				return answer
			}
		}
		return do(ctx, question)
	})
}
