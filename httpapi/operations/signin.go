package operations

import (
	"context"
	"errors"
	"time"

	"railguard/edge/keys"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Why a person whom the identity provider named is not let in.
var (
	ErrPersonEnded = errors.New("somebody ended the person")
	ErrSignInUsed  = errors.New("the sign-in was ended before")
	ErrNoRoom      = errors.New("there are as many keys as there may be")
)

// signInPatience is how long a sign-in waits for the log.
const signInPatience = 10 * time.Second

// Person is somebody whom an identity provider named.
type Person = keys.Signed

// SignIn lets a person in: it puts the sign-in into the log, and returns the secret of the session
// when this node knows it. Longest is how long the session lasts.
func (o *Room) SignIn(ctx context.Context, person Person, longest time.Duration) (secret string, err error) {
	person.Until = o.deps.Published.LogTime() + engine.Time(longest)
	record, secret, err := keys.SignIn(&person, o.deps.Node)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, signInPatience)
	defer cancel()
	result, err := o.deps.Proposer.Propose(ctx, wire.KindSignIn, wire.Encode(record))
	switch {
	case err != nil:
		return "", err
	case result.Refusal == wire.RefusedTransition:
		return "", ErrPersonEnded
	case result.Refusal == wire.RefusedFull:
		return "", ErrNoRoom
	case result.Refusal != 0:
		return "", errors.New("the log does not take the sign-in")
	case result.Data == nil: // It wrote no leaf of its own.
		return "", ErrSignInUsed
	}
	return secret, o.deps.Records.WaitApplied(ctx, result.Index)
}
