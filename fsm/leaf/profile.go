package leaf

import (
	"bytes"
	"slices"

	"railguard/engine"
	"railguard/fsm/wire"
)

// Profile is what the screening records of one agent, or of one user, have in common while
// nothing about them changes: the profiles of the delegation chain, the fleet and the policy,
// reduced to what the rules read and people see. Apply writes one with the first record of a
// UTC day and with the first record after a change. It is kept as long as any record that
// names it.
type Profile struct {
	Salt  [SaltSize]byte `cbor:"1,keyasint"`
	Leaf  uint64         `cbor:"2,keyasint"`
	Index uint64         `cbor:"3,keyasint"`
	At    engine.Time    `cbor:"4,keyasint"`

	Agents   []engine.AgentProfile `cbor:"10,keyasint,omitempty"` // The agent itself, then its ancestors.
	AgentIDs []string              `cbor:"11,keyasint,omitempty"`
	Fleet    *engine.FleetProfile  `cbor:"12,keyasint,omitempty"` // The fleet of the root.
	FleetID  string                `cbor:"13,keyasint,omitempty"`
	Policy   *engine.Policy        `cbor:"14,keyasint,omitempty"`
	User     *engine.UserProfile   `cbor:"15,keyasint,omitempty"` // If it is set, the only other field that is set is the policy.
	UserID   string                `cbor:"16,keyasint,omitempty"`

	OperatorID string                  `cbor:"17,keyasint,omitempty"` // The operator of the agent, or of the user if it has one.
	Operator   *engine.OperatorProfile `cbor:"18,keyasint,omitempty"` // Of the agent; nil where rules read nothing of it.
}

// AppendProfile writes the profile's bytes.
func AppendProfile(dst []byte, p *Profile) []byte {
	return append(append(dst, byte(FormProfile)), wire.Encode(p)...)
}

// DecodeProfile reads a profile.
func DecodeProfile(data []byte) (*Profile, error) {
	if FormOf(data) != FormProfile {
		return nil, ErrForm
	}
	p := new(Profile)
	if err := wire.DecodeBody(data[1:], p); err != nil {
		return nil, ErrForm
	}
	if len(p.Agents) != len(p.AgentIDs) || len(p.Agents) > engine.DepthMax+1 || p.Policy == nil ||
		(p.User == nil) == (len(p.Agents) == 0) || (p.Fleet != nil || p.Operator != nil) && len(p.Agents) == 0 {
		return nil, ErrForm
	}
	if !bytes.Equal(AppendProfile(nil, p), data) {
		return nil, ErrForm // A profile has only one valid encoding.
	}
	return p, nil
}

// ReduceAgent keeps what the rules read and a record shows. It leaves out whitelists, which
// can be large: a record says whether one was in force.
func ReduceAgent(p *engine.AgentProfile, now engine.Time) engine.AgentProfile {
	reduced := engine.AgentProfile{
		Slot: p.Slot, Rev: p.Rev, Operator: p.Operator, Fleet: p.Fleet, Parent: p.Parent, Root: p.Root,
		Depth: p.Depth, Type: p.Type, AgentName: p.AgentName, Model: p.Model, OperatorLegalName: p.OperatorLegalName,
		OperatorWallet: p.OperatorWallet, Policy: p.Policy, CredentialVersion: p.CredentialVersion,
		IssuedAt: p.IssuedAt, ExpiresAt: p.ExpiresAt, RegisteredAt: p.RegisteredAt, KeyID: p.KeyID,
		WalletMatched: p.WalletMatched, NameMatched: p.NameMatched, TaxMatched: p.TaxMatched,
	}
	reduced.Settings.Velocity = p.Settings.Velocity
	reduced.Settings.PartyTypes = p.Settings.PartyTypes
	reduced.Settings.Possession = p.Settings.Possession
	reduced.Settings.CurrentModel = p.Settings.CurrentModel
	reduced.Settings.Hours = ReduceHours(p.Settings.Hours, now)
	return reduced
}

// ReduceFleet keeps what rules read and a record shows.
func ReduceFleet(p *engine.FleetProfile, now engine.Time) *engine.FleetProfile {
	if p == nil {
		return nil
	}
	return &engine.FleetProfile{
		Slot: p.Slot, Rev: p.Rev, Operator: p.Operator, FleetName: p.FleetName, DailyLimit: p.DailyLimit,
		Velocity: p.Velocity, Hours: ReduceHours(p.Hours, now),
	}
}

// ReduceOperator keeps what rules read; nil where they read nothing.
func ReduceOperator(p *engine.OperatorProfile) *engine.OperatorProfile {
	if len(p.Wallets) == 0 && p.DailyLimit == nil && p.TaxMatched == 0 {
		return nil
	}
	reduced := &engine.OperatorProfile{
		Slot: p.Slot, Rev: p.Rev, Wallets: slices.Clone(p.Wallets), DailyLimit: p.DailyLimit, TaxMatched: min(p.TaxMatched, 1),
	}
	for i := range reduced.Wallets {
		reduced.Wallets[i].Agents = 0
	}
	return reduced
}

// ReduceUser keeps everything but the address, which no rule reads.
func ReduceUser(p *engine.UserProfile) *engine.UserProfile {
	if p == nil {
		return nil
	}
	reduced := *p
	reduced.Email = ""
	return &reduced
}

// ReducePolicy keeps the compiled policy without its text and whitelist.
func ReducePolicy(p *engine.Policy, now engine.Time) *engine.Policy {
	reduced := *p
	reduced.Document, reduced.Whitelist = nil, nil
	reduced.Hours = ReduceHours(p.Hours, now)
	return &reduced
}

// ReduceHours keeps the transitions around now and the holidays near it: enough
// to judge every instant from a day before to two days after.
func ReduceHours(h *engine.Hours, now engine.Time) *engine.Hours {
	if h == nil {
		return nil
	}
	reduced := &engine.Hours{Timezone: h.Timezone, Windows: h.Windows, TZVersion: h.TZVersion}
	first := 0
	for first+1 < len(h.Transitions) && h.Transitions[first+1].At <= now-engine.DayLength {
		first++
	}
	reduced.Transitions = h.Transitions[first:min(first+3, len(h.Transitions))]
	for _, day := range h.Holidays {
		if day+3 >= now.Day() && day <= now.Day()+3 {
			reduced.Holidays = append(reduced.Holidays, day)
		}
	}
	return reduced
}
