package edge

import (
	"context"
	"errors"
	"strings"

	"railguard/audit"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// Refusal is the answer to a call that is not judged. Code is a word of docs/API.md; this
// package does not decide how it is sent. A refusal never contains internal details.
type Refusal struct {
	Code    string
	Message string
	Param   string // The member at fault; "": none.
	Details []strictjson.Finding
	Extra   strictjson.Members // The state that the call conflicts with.

	// BadRequest says that the call itself is wrong, although the code is one for wrong
	// content. A screening call answers it with 400, where other calls answer 422.
	BadRequest bool

	// Changeable says that the reason for the refusal can change: a parent's policy, a list, a
	// status. If a call with the same idempotency key was made before, that call's answer is
	// given instead.
	Changeable bool

	// Note is a record that the log must have before the caller is answered; nil: none.
	Note *wire.Note
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// ReadError is a failed reading of the leader's state or of history. A reading changes nothing,
// so a failed one leaves no doubt about its outcome.
type ReadError struct{ Cause error }

func (e *ReadError) Error() string { return e.Cause.Error() }

func (e *ReadError) Unwrap() error { return e.Cause }

// Refuse returns a refusal with only a code and a message.
func Refuse(code, message string) *Refusal { return &Refusal{Code: code, Message: message} }

// NotFound returns the refusal for something that does not exist or is not for this caller.
func NotFound(message string) *Refusal { return Refuse("not_found", message) }

// InvalidField returns the refusal of one parameter.
func InvalidField(param, message string) *Refusal {
	return &Refusal{
		Code: "invalid_field", Message: param + " " + message, Param: param,
		Details: []strictjson.Finding{{Param: param, Message: message}},
	}
}

// MissingField returns the refusal of a call that lacks a required parameter.
func MissingField(param, message string) *Refusal {
	return &Refusal{Code: "missing_field", Message: message, Param: param}
}

// Conflict returns the refusal of a call that the current state does not allow. extra describes
// that state.
func Conflict(code, message string, extra strictjson.Members) *Refusal {
	return &Refusal{Code: code, Message: message, Extra: extra}
}

// LacksRole returns the refusal of a key that has none of the roles.
func LacksRole(roles uint16, message string) *Refusal {
	var extra strictjson.Members
	extra.Text("requiredRole", strings.Join(RoleList(roles), "|"))
	return &Refusal{Code: "forbidden", Message: message, Details: []strictjson.Finding{{Message: "required role", Extra: extra}}, Extra: extra}
}

// VersionMismatch returns the refusal of a change that was based on another version than the
// current one.
func VersionMismatch(current uint64) *Refusal {
	var extra strictjson.Members
	extra.Uint("currentVersion", current)
	return Conflict("version_mismatch", "If-Match does not name the current version", extra)
}

// ForeignOperator returns the refusal of a key whose scope excludes the operator.
func ForeignOperator() *Refusal {
	return Refuse("forbidden", "the operator is outside of this key's scope")
}

// MarkChangeable marks a refusal as Changeable. Other errors stay as they are.
func MarkChangeable(err error) error {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		r.Changeable = true
	}
	return err
}

// LeafError distinguishes an unknown or expired leaf from one that cannot be read now.
func LeafError(err error) error {
	switch {
	case errors.Is(err, audit.ErrNotYet), errors.Is(err, audit.ErrPruned):
		return NotFound("no such record, or past its retention")
	case errors.Is(err, audit.ErrMissing), errors.Is(err, audit.ErrClosed):
		return Refuse("overloaded", "this node is catching up; retry")
	case errors.Is(err, audit.ErrCorrupt):
		return Refuse("overloaded", "that part of history is damaged on this node's disk; it is fetched anew where another node has it: retry, or ask another node")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, wire.ErrNoLeader), errors.Is(err, wire.ErrNoQuorum):
		return &ReadError{err}
	}
	return err
}
