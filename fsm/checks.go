package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// Edges judge what they send. The checks here refuse only what would break Apply later: in
// a leaf, in a row of the snapshot, in a live rule.

// goStale sends a record back to its edge, which judges again. value is what it has to know for
// that: the version of the list, the leaf below which it has to look for what the state has
// forgotten, or 0.
func goStale(r *wire.Result, value uint64) { r.Code, r.Value = wire.Stale, value }

// fitsLeaf tells whether an edge's part of a leaf leaves room for Apply's part.
func (m *core) fitsLeaf(fragment []byte, filters []uint64) bool {
	return m.fitsBytes(len(fragment), len(filters))
}

// fitsBytes is fitsLeaf for a number of bytes and of filters.
func (m *core) fitsBytes(fragment, filters int) bool {
	return fragment <= m.limits.FragmentBytes && filters <= m.limits.FilterKeys
}

func (m *core) soundWhitelist(w *engine.Whitelist) bool {
	return w == nil || len(w.Entries) <= m.limits.WhitelistEntries
}

// soundHours tells whether operating hours (nil: none) keep to their bounds:
// Apply walks the windows at every call.
func (m *core) soundHours(h *engine.Hours) bool {
	return h == nil || len(h.Windows) <= m.limits.HoursWindows && len(h.Holidays) <= m.limits.HoursHolidays && len(h.Transitions) <= m.limits.HoursTransitions
}

func (m *registry) soundSettings(s *engine.AgentSettings) bool {
	return s.Possession <= engine.PossessionRequired && m.soundWhitelist(s.Whitelist) && m.soundHours(s.Hours)
}

func soundLimit(limit engine.USD) bool { return limit >= 0 || limit == engine.NoLimit }

func (m *registry) soundAgent(p *engine.AgentProfile) bool {
	return (p.Type == engine.Supervised || p.Type == engine.Autonomous) && soundKey(p.PublicKey) &&
		soundLimit(p.Policy.DailyLimit) && soundLimit(p.Policy.MaxSingle) && m.soundSettings(&p.Settings)
}

// soundKey tells whether an agent's key has the length of none, of Ed25519 or of P-256.
func soundKey(form []byte) bool { return len(form) == 0 || len(form) == 1+32 || len(form) == 1+64 }

func (m *registry) soundFleet(p *engine.FleetProfile) bool {
	return p.DailyLimit >= 0 && m.soundWhitelist(p.Whitelist) && m.soundHours(p.Hours)
}

func (m *rulebook) soundPolicy(p *engine.Policy) bool {
	return p.Possession.Sound() && p.SecondLook.Sound() && p.SetsRulesOf(m.settings.Rules()) && p.ReviewSLA >= 0 && p.ReviewSLA <= m.limits.Retention && p.ApprovalLapse >= 0 && p.ApprovalLapse <= m.limits.Retention && soundLimit(p.UnresolvedSum) && soundLimit(p.OperatorDaily) && p.ReconcilesSoundly() && m.soundWhitelist(p.Whitelist) && m.soundHours(p.Hours)
}

// soundSigningKey tells whether a signing key's id needs no escapes in a leaf, and whether
// the key can verify.
func (m *keys) soundSigningKey(k *wire.SigningKey) bool {
	for i := 0; i < len(k.KID); i++ {
		c := k.KID[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return len(k.KID) > 0 && len(k.KID) <= m.limits.KeyIDBytes && len(k.Public) == 64 && k.For <= wire.ForPermits
}

// soundAPIKey tells whether a new API key has an id and one secret.
func (m *keys) soundAPIKey(k *wire.APIKey) bool {
	return len(k.ID) > 0 && len(k.ID) <= m.limits.FieldBytes && len(k.Prefix) <= m.limits.FieldBytes &&
		len(k.Person) <= m.limits.FieldBytes && len(k.PersonKey) <= m.limits.FieldBytes &&
		len(k.Hashes) == 1 && len(k.Hashes[0]) == 32
}
