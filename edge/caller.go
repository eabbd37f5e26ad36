package edge

import (
	"slices"
	"strings"

	"railguard/fsm/wire"
)

// Caller is who calls: an API key, with all that judging needs of it.
type Caller struct {
	ID     string
	Name   string
	Person string // Whom the key names; "": nobody.
	Roles  uint16 // wire.Role bits.
	Owner  string // Whose key it is, see wire.APIKey.

	// Key is the row and revision of the API key, which Apply checks records against. It is
	// zero for the person at the node's own machine.
	Key wire.KeyRef
}

// NewCaller returns the caller for an API key and its row in the settings. The roles of the
// house are given to the institution's keys alone, whatever the bits of another's key say
// (decision 92).
func NewCaller(key *wire.APIKey, row uint32) Caller {
	caller := Caller{ID: key.ID, Name: key.Name, Person: key.Person, Roles: key.Roles, Owner: key.Owner, Key: wire.KeyRef{Row: row, Rev: key.Rev}}
	if key.Owner != "" {
		caller.Roles &= wire.RolesOfOutsiders
	}
	return caller
}

// May reports whether the key has one of the roles. An admin has all of them.
func (k *Caller) May(roles uint16) bool { return k.Roles&(roles|wire.RoleAdmin) != 0 }

// SeesAll reports whether the key may see what is behind the tipping-off wall (decision 33,
// "The tipping-off wall"): SAR data, triggered rules, match evidence. Nobody outside of the
// institution may.
func (k *Caller) SeesAll() bool {
	return k.Institution() && k.May(wire.RoleReviewer|wire.RoleAuditor)
}

// Institution reports whether the key is the institution's own.
func (k *Caller) Institution() bool { return k.Owner == "" }

// OwnerOperator returns the operator whose key it is, "" if it is no operator's key.
func (k *Caller) OwnerOperator() string {
	if k.OwnerCaller() != "" {
		return ""
	}
	return k.Owner
}

// OwnerCaller returns the caller (a merchant, a gateway, a resource server) whose key it is, ""
// if it is no caller's key.
func (k *Caller) OwnerCaller() string {
	if strings.HasPrefix(k.Owner, wire.OwnerCallerPrefix) {
		return k.Owner
	}
	return ""
}

// Officer reports whether the key may change the policy of the whole institution: it is the
// institution's own and has the role policy.
func (k *Caller) Officer() bool { return k.Institution() && k.May(wire.RolePolicy) }

// RateDefault is how many calls a second a key may make if it has no rate of its own.
const RateDefault = 10_000

// RoleNames are the names of the roles. The index of a name is the bit of its role.
var RoleNames = [...]string{"operator", "screener", "reviewer", "auditor", "policy", "ops", "admin", "settler", "viewer", "gateway"}

// RoleList names the roles of a mask, in the order of decision 33, "Roles".
func RoleList(roles uint16) []string {
	var names []string
	for i, name := range RoleNames {
		if roles&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// ParseRole returns the bit of a role's name, 0 for none.
func ParseRole(name string) uint16 {
	for i, known := range RoleNames {
		if name == known {
			return 1 << i
		}
	}
	return 0
}

// owners maps the id of an API key to its owner, and to its row in the settings. It includes
// revoked keys.
type owners struct {
	source []*wire.APIKey
	byKey  map[string]string
	rows   map[string]uint32
}

func newOwners(source []*wire.APIKey) *owners {
	o := &owners{source: source, byKey: make(map[string]string, len(source)), rows: make(map[string]uint32, len(source))}
	for i, key := range source {
		o.byKey[key.ID], o.rows[key.ID] = key.Owner, uint32(i+1)
	}
	return o
}

// OwnsKeys tells whether somebody has keys, revoked ones included.
func (t *Terms) OwnsKeys(owner string) bool {
	return slices.ContainsFunc(t.owners.source, func(key *wire.APIKey) bool { return key.Owner == owner })
}

// screenerOf returns the row of the API key that made a recorded call.
func (t *Terms) screenerOf(l *Leaf) uint32 {
	if row, known := t.owners.rows[l.KeyID()]; known {
		return row
	}
	return wire.ScreenerUnknown
}

// ownCall reports whether the caller's owner made the recorded call.
func (t *Terms) ownCall(k *Caller, l *Leaf) bool {
	id := l.KeyID()
	owner, known := t.owners.byKey[id]
	return id == k.ID || known && owner == k.Owner
}

// MaySettle reports whether a caller may know of the payments of an API key's owner: it is the
// owner's key, or the institution's with a role that reads records.
func (t *Terms) MaySettle(k *Caller, screener uint32) bool {
	owner, keys := "", t.owners.source
	if screener > 0 && int(screener) <= len(keys) {
		owner = keys[screener-1].Owner
	}
	own := owner == k.Owner && screener != wire.ScreenerUnknown
	return own || k.Institution() && k.May(readsRecords|wire.RoleSettler)
}

// readsRecords are the roles that may read records of others' calls within the key's scope.
const readsRecords = wire.RoleReviewer | wire.RoleAuditor | wire.RoleOps | wire.RoleViewer

// MayRead reports whether the caller may read the record at all. It may if its owner made the
// call, or if its role may read records. A key of an operator reads only records of its own
// agents, a key of a caller only its own calls.
func (t *Terms) MayRead(k *Caller, l *Leaf) bool {
	own := t.ownCall(k, l)
	if k.OwnerCaller() != "" {
		return own
	}
	if !k.Institution() {
		operator := t.OperatorOf(l)
		if operator == "" {
			return own // Only the caller's owner may read a call without a credential.
		}
		if operator != k.Owner {
			return false
		}
		if k.Roles&(wire.RoleOperator|wire.RoleViewer) != 0 {
			return true
		}
	}
	return own || k.May(readsRecords) || k.Institution() && k.May(wire.RoleSettler)
}

// ReadsNames are the roles that may read the names in records: in all of them, or in those of
// their own calls.
const ReadsNames = wire.RoleReviewer | wire.RoleAuditor | wire.RoleOperator | wire.RoleScreener | wire.RoleSettler | wire.RoleViewer

// Masked reports whether names are hidden from a caller that may read the record. Reviewer,
// auditor and admin see them in every record. Operator, screener, settler and viewer see them in
// their owner's records.
func (t *Terms) Masked(k *Caller, l *Leaf) bool {
	if k.SeesAll() {
		return false
	}
	own := t.ownCall(k, l) || !k.Institution() && t.OperatorOf(l) == k.Owner
	return !own || !k.May(ReadsNames)
}
