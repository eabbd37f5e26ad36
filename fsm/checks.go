package fsm

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// Edges judge what they send; what stands here is what Apply itself would
// stumble over later: in a leaf, in a row of the snapshot, in a live rule.

const (
	// fragmentMax leaves room in a leaf for the longest head: that of an
	// assignment of engine.PageMax agents.
	fragmentMax = engine.LeafMax - 12*engine.KiB

	// filtersMax leaves room for what Apply adds: history keeps 32 keys a leaf.
	filtersMax = 24

	// transitionsMax is more than any zone has in ten years.
	transitionsMax = 256

	keyIDMax = 64
)

// fitsLeaf tells whether an edge's part of a leaf leaves room for Apply's.
func fitsLeaf(fragment []byte, filters []uint64) bool {
	return len(fragment) <= fragmentMax && len(filters) <= filtersMax
}

// soundWhitelist tells whether a whitelist (nil: none) keeps to its bound.
func soundWhitelist(w *engine.Whitelist) bool {
	return w == nil || len(w.Entries) <= engine.WhitelistMax
}

// soundHours tells whether operating hours (nil: none) keep to their bounds:
// Apply walks the windows at every call.
func soundHours(h *engine.Hours) bool {
	return h == nil || len(h.Windows) <= engine.WindowsMax && len(h.Holidays) <= engine.HolidaysMax && len(h.Transitions) <= transitionsMax
}

func soundSettings(s *engine.AgentSettings) bool {
	return soundWhitelist(s.Whitelist) && soundHours(s.Hours)
}

func soundLimit(limit engine.USD) bool { return limit >= 0 || limit == engine.NoLimit }

func soundAgent(p *engine.AgentProfile) bool {
	return (p.Type == engine.Supervised || p.Type == engine.Autonomous) &&
		soundLimit(p.Policy.DailyLimit) && soundLimit(p.Policy.MaxSingle) && soundSettings(&p.Settings)
}

func soundFleet(p *engine.FleetProfile) bool {
	return p.DailyLimit >= 0 && soundWhitelist(p.Whitelist) && soundHours(p.Hours)
}

func soundPolicy(p *engine.Policy) bool { return soundWhitelist(p.Whitelist) && soundHours(p.Hours) }

// soundSigningKey tells whether a signing key can be named in leaves without
// escapes and verified with.
func soundSigningKey(k *wire.SigningKey) bool {
	for i := 0; i < len(k.KID); i++ {
		c := k.KID[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return len(k.KID) > 0 && len(k.KID) <= keyIDMax && len(k.Public) == 64
}

// soundAPIKey tells whether a new API key has an id and one secret.
func soundAPIKey(k *wire.APIKey) bool {
	return len(k.ID) > 0 && len(k.ID) <= engine.FieldMax && len(k.Prefix) <= engine.FieldMax &&
		len(k.Hashes) == 1 && len(k.Hashes[0]) == 32
}
