package wire

import "railguard/engine"

// Records of operators and fleets.

// Fleet creates a fleet.
type Fleet struct {
	Common
	Profile  engine.FleetProfile `cbor:"4,keyasint"`
	Operator OperatorRef         `cbor:"5,keyasint"`
}

// OperatorLimit sets or removes an operator's own daily limit.
type OperatorLimit struct {
	Common
	Operator engine.OperatorSlot `cbor:"4,keyasint"`
	BaseRev  uint32              `cbor:"5,keyasint"`
	Limit    *engine.USD         `cbor:"6,keyasint,omitempty"` // nil: the policy's limit holds.
}

// Retire gives back the rows of an agent that was revoked long ago, or of a fleet without agents.
type Retire struct {
	Common
	Agent engine.AgentSlot `cbor:"4,keyasint,omitempty"` // 0: it is a fleet.
	Fleet engine.FleetSlot `cbor:"5,keyasint,omitempty"`
}

// FleetUpdate replaces a fleet's settings.
type FleetUpdate struct {
	Common
	Fleet   engine.FleetSlot    `cbor:"4,keyasint"`
	BaseRev uint32              `cbor:"5,keyasint"`
	Profile engine.FleetProfile `cbor:"6,keyasint"` // Apply takes limit, whitelist, hours, velocity and name.
	Event   string              `cbor:"7,keyasint"` // Leaf kind: "fleet.updated", "fleet.whitelist".
}

// Assign puts agents into a fleet or takes them out.
type Assign struct {
	Common
	Fleet  engine.FleetSlot   `cbor:"4,keyasint"`
	Agents []engine.AgentSlot `cbor:"5,keyasint"`
	Remove bool               `cbor:"6,keyasint,omitempty"`
}
