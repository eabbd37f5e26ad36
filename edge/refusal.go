package edge

import (
	"context"
	"errors"

	"railguard/audit"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Refusal is what a caller is told when its call is not judged. Code is a word of
// docs/API.md; how it travels is not this room's affair. Nothing of our insides is
// ever in it.
type Refusal struct {
	Code    string
	Message string
	Param   string // The member at fault; "": none.
	Details []strictjson.Finding
	Extra   strictjson.Members // The state that stands in the way.

	// BadRequest says that the call itself is wrong where the code alone says that its
	// content is: a screening call answers 400 to what is 422 elsewhere.
	BadRequest bool

	// Changeable says that the refusal rests on something that can change: a
	// parent's policy, a list, a status. Had the call been made before with the
	// same idempotency key, its first answer stands.
	Changeable bool

	// Note is evidence that the log owes before the caller is answered; nil: none.
	Note *wire.Note
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// ReadError is a failed reading of the leader's state or of history. A reading has no
// outcome: whatever failed, nothing happened.
type ReadError struct{ Cause error }

func (e *ReadError) Error() string { return e.Cause.Error() }

func (e *ReadError) Unwrap() error { return e.Cause }

func refuse(code, message string) *Refusal { return &Refusal{Code: code, Message: message} }

func notKnown(message string) *Refusal { return refuse("not_found", message) }

// badField is a refusal of one parameter.
func badField(param, message string) *Refusal {
	return &Refusal{
		Code: "invalid_field", Message: param + " " + message, Param: param,
		Details: []strictjson.Finding{{Param: param, Message: message}},
	}
}

// standsInWay is a refusal because of the current state, which extra tells.
func standsInWay(code, message string, extra strictjson.Members) *Refusal {
	return &Refusal{Code: code, Message: message, Extra: extra}
}

// foreignOperator is the refusal of a key whose scope excludes the operator.
func foreignOperator() *Refusal {
	return refuse("forbidden", "the operator is outside of this key's scope")
}

// markChangeable marks a refusal as resting on what can change; other errors stay.
func markChangeable(err error) error {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		r.Changeable = true
	}
	return err
}

// LeafError tells an unknown or expired leaf from one that cannot be read now.
func LeafError(err error) error {
	switch {
	case errors.Is(err, audit.ErrNotYet), errors.Is(err, audit.ErrPruned):
		return notKnown("no such record, or past its retention")
	case errors.Is(err, audit.ErrMissing), errors.Is(err, audit.ErrClosed):
		return refuse("overloaded", "this node is catching up; retry")
	case errors.Is(err, audit.ErrCorrupt):
		return refuse("overloaded", "this node fetches that part of history anew from another one; retry, or ask another node")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, wire.ErrNoLeader), errors.Is(err, wire.ErrNoQuorum):
		return &ReadError{err}
	}
	return err
}
