package edge

import (
	"railguard/engine"
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

// NewCaller returns who calls with an API key, which stands in a row of the settings. A key
// without roles is an admin of its tenant.
func NewCaller(key *wire.APIKey, row uint32) Caller {
	caller := Caller{ID: key.ID, Name: key.Name, Roles: key.Roles, Operator: key.Operator, Key: wire.KeyRef{Row: row, Rev: key.Rev}}
	if caller.Roles == 0 {
		caller.Roles = wire.RoleAdmin
	}
	return caller
}

// May reports whether the key has one of the roles; admin has all.
func (k *Caller) May(roles uint8) bool { return k.Roles&(roles|wire.RoleAdmin) != 0 }

// SeesAll reports whether the key stands on the inner side of the tipping-off
// wall (decision 33, "The tipping-off wall"): SAR data, triggered rules, match evidence.
func (k *Caller) SeesAll() bool {
	return k.May(wire.RoleReviewer | wire.RoleAuditor)
}

// Officer reports whether the key speaks for the whole institution's policy: no
// operator's scope, and the role policy.
func (k *Caller) Officer() bool { return k.Operator == "" && k.May(wire.RolePolicy) }

// Covers reports whether the operator is within the key's scope.
func (k *Caller) Covers(operatorLegalName string) bool {
	return k.Operator == "" || k.Operator == OperatorKey(operatorLegalName)
}

// Owner is whose calls and records the key's are: its operator's, "" the
// institution's. Keys come and go; what they did stays their owner's.
func (k *Caller) Owner() string { return k.Operator }

// RateDefault is how many calls a second a key may make that has no rate of its own.
const RateDefault = 10_000

// RoleNames are the words for the roles. The place of a word is the bit of its role.
var RoleNames = [...]string{"operator", "screener", "reviewer", "auditor", "policy", "ops", "admin"}

// RoleList names the roles of a mask, in the order of decision 33, "Roles".
func RoleList(roles uint8) []string {
	var names []string
	for i, name := range RoleNames {
		if roles&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseRole returns the bit of a role's name, 0 for none.
func ParseRole(name string) uint8 {
	for i, known := range RoleNames {
		if name == known {
			return 1 << i
		}
	}
	return 0
}

// owners tells by an API key's id whose key it is. Revoked keys are among them.
type owners struct {
	source []*wire.APIKey
	byKey  map[string]string
}

func newOwners(source []*wire.APIKey) *owners {
	o := &owners{source: source, byKey: make(map[string]string, len(source))}
	for _, key := range source {
		o.byKey[key.ID] = key.Operator
	}
	return o
}

// ownCall reports whether the record is of a call that the caller's owner made.
func (t *Terms) ownCall(k *Caller, l *Leaf) bool {
	id := l.KeyID()
	owner, known := t.owners.byKey[id]
	return id == k.ID || known && owner == k.Owner()
}

// MayRead reports whether the caller may read the record at all: what its owner
// called for, else what its role reads, within its operator's scope.
func (t *Terms) MayRead(k *Caller, l *Leaf) bool {
	own := t.ownCall(k, l)
	if k.Operator != "" {
		operator := l.OperatorLegalName()
		if operator == "" {
			return own // A call without a credential belongs to nobody but who made it.
		}
		if !k.Covers(operator) {
			return false
		}
		if k.Roles&wire.RoleOperator != 0 {
			return true
		}
	}
	return own || k.May(wire.RoleReviewer|wire.RoleAuditor|wire.RoleOps)
}

// ReadsNames are the roles that read a record's names: all of them, or those of
// their own calls.
const ReadsNames = wire.RoleReviewer | wire.RoleAuditor | wire.RoleOperator | wire.RoleScreener

// Masked reports whether the names in a record that the caller may read are
// hidden from it: they are shown to reviewer, auditor and admin, and to who works
// with payments (operator, screener) of what is its owner's.
func (t *Terms) Masked(k *Caller, l *Leaf) bool {
	if k.SeesAll() {
		return false
	}
	own := t.ownCall(k, l) || k.Operator != "" && k.Covers(l.OperatorLegalName())
	return !own || !k.May(ReadsNames)
}

// OperatorKey is the identity of an operator: its normalised legal name.
func OperatorKey(legalName string) string { return ofac.NormaliseName(legalName) }

// OperatorFilter is the filter key by which the leaves of an operator are found.
func OperatorFilter(legalName string) uint64 {
	return engine.FilterKey(engine.FilterOperator, OperatorKey(legalName))
}
