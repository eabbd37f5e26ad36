package edge

import (
	"strconv"

	"railguard/engine"
	"railguard/strictjson"
)

// R16 limits an agent to the strictest velocity of itself, its ancestors, its fleet and the
// institution. A laxer bound of the agent is stored, because the stricter one may be removed
// later. It has no effect meanwhile, so answers show both.

// WriteEffectiveVelocity adds effectiveVelocity: each bound of own as R16 applies it. It
// returns a warning for each bound that has no effect. If own sets nothing, it writes nothing,
// because the caller may not see the settings of others.
func WriteEffectiveVelocity(m *strictjson.Members, own *engine.Velocity, above ...*engine.Velocity) []strictjson.Members {
	if own == nil || *own == (engine.Velocity{}) {
		return nil
	}
	holds := *own
	for _, setting := range above {
		holds.Tighten(setting)
	}
	var effective strictjson.Members
	var warnings []strictjson.Members
	for _, bound := range []struct {
		name       string
		set, holds uint32
	}{
		{"maxPerMinute", own.MaxPerMinute, holds.MaxPerMinute},
		{"maxPerHour", own.MaxPerHour, holds.MaxPerHour},
		{"burstFactor", own.BurstFactor, holds.BurstFactor},
	} {
		if bound.set == 0 {
			continue
		}
		effective.Uint(bound.name, uint64(bound.holds))
		if bound.holds < bound.set {
			said := makeWarning("velocity_not_effective", "velocity."+bound.name+" "+strconv.FormatUint(uint64(bound.set), 10)+
				" never comes into force: a stricter setting above it holds, "+strconv.FormatUint(uint64(bound.holds), 10), "R16_VELOCITY_FLAG")
			said.Text("param", "velocity."+bound.name)
			warnings = append(warnings, said)
		}
	}
	m.Object("effectiveVelocity", effective)
	return warnings
}

// VelocityAbove returns the velocities that may be stricter than an agent's own, by this node's
// published state: the institution's, its ancestors', its fleet's.
func VelocityAbove(j *Judge, profile *engine.AgentProfile) ([]*engine.Velocity, error) {
	chain, err := j.chainOf(profile)
	if err != nil {
		return nil, err
	}
	var fleet *engine.FleetProfile
	if slot := chain[len(chain)-1].Fleet; slot != 0 {
		fleet = j.shared.deps.Published.Fleet(slot)
	}
	return VelocityOf(j.Terms.Policy(), chain, fleet), nil
}

// VelocityOf is VelocityAbove for a given chain (the agent's profile first) and fleet (nil:
// none).
func VelocityOf(policy *engine.Policy, chain []*engine.AgentProfile, fleet *engine.FleetProfile) []*engine.Velocity {
	above := []*engine.Velocity{&policy.Velocity}
	for _, ancestor := range chain[1:] {
		above = append(above, ancestor.Settings.Velocity)
	}
	if fleet != nil {
		above = append(above, fleet.Velocity)
	}
	return above
}
