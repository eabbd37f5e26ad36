package edge

import (
	"railguard/fsm/wire"
	"railguard/ofac"
)

// Caller is who asks: an API key as far as judging needs it.
type Caller struct {
	ID       string
	Name     string
	Roles    uint8  // wire.Role bits.
	Operator string // Normalised operator scope; "" is all operators.

	// Key is the row and revision that Apply holds its records to; zero for the
	// person at the node's own machine.
	Key wire.KeyRef
}

// May reports whether the key has one of the roles; admin has all.
func (k *Caller) May(roles uint8) bool { return k.Roles&(roles|wire.RoleAdmin) != 0 }

// SeesAll reports whether the key stands on the inner side of the tipping-off
// wall (decision 33, "The tipping-off wall"): SAR data, triggered rules, match evidence.
func (k *Caller) SeesAll() bool {
	return k.May(wire.RoleReviewer | wire.RoleAuditor)
}

// Masked reports whether names are hidden from the key: ops and nothing else.
func (k *Caller) Masked() bool { return k.Roles&wire.RoleOps != 0 && k.Roles&^wire.RoleOps == 0 }

// Covers reports whether the operator is within the key's scope.
func (k *Caller) Covers(operatorLegalName string) bool {
	return k.Operator == "" || k.Operator == OperatorKey(operatorLegalName)
}

// OperatorKey is the identity of an operator: its normalised legal name.
func OperatorKey(legalName string) string { return ofac.NormaliseName(legalName) }
