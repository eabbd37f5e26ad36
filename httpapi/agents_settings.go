package httpapi

import (
	"strconv"

	"railguard/engine"
	"railguard/fsm/wire"
)

func uintText(n uint64) string { return strconv.FormatUint(n, 10) }

// patchAgent is PATCH /v1/agents/{id}: the registry side of an agent, not the
// signed policy. What is absent stays, null takes away (RFC 7396). Tightening is
// for who registers, widening for the role policy.
func patchAgent(c *call) error {
	match, err := c.ifMatch()
	if err != nil {
		return err
	}
	return c.revise(wire.KindSettings, func() (any, error) {
		profile, err := c.pathAgent()
		if err != nil {
			return nil, err
		}
		if match != 0 && match != uint64(profile.Rev) {
			return nil, versionMismatch(uint64(profile.Rev))
		}
		c.findings = newFindings()
		f := c.fields()
		next := f.settings(profile.Settings, c.api.deps.Published.LogTime())
		reason, actor := f.text("reason", engine.TextMax), f.text("actor", engine.FieldMax)
		if err := f.err(); err != nil {
			return nil, err
		}
		if err := c.mayWiden(settingsWiden(&profile.Settings, &next)); err != nil {
			return nil, err
		}
		var m members
		writeSettings(&m, &next)
		m.textOrNull("reason", reason)
		m.textOrNull("actor", actor)
		return c.settingsRecord(profile, next, "agent.settings", m)
	})
}

// mayWiden refuses a widening to keys that may only tighten.
func (c *call) mayWiden(widens bool) error {
	if widens && !c.key.may(wire.RolePolicy) {
		refused := forbidden(wire.RolePolicy)
		refused.Message = "this change lets through what was stopped before: it needs the role policy"
		return judged{refused}
	}
	return nil
}

// settingsRecord replaces an agent's settings from the revision of profile.
func (c *call) settingsRecord(profile *engine.AgentProfile, next engine.AgentSettings, event string, m members) (any, error) {
	record := &wire.Settings{Agent: profile.Slot, BaseRev: profile.Rev, Settings: next, Event: event}
	var err error
	record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterOperator, operatorKey(profile.OperatorLegalName)))
	return record, err
}

// renderSettings answers a PATCH of an agent.
func renderSettings(c *call, l *leaf, m *members) error {
	l.copyTo(m, "agentId")
	for _, name := range []string{"operatingHours", "velocity", "allowedCounterpartyTypes", "whitelist"} {
		m.raw(name, l.raw(name))
	}
	l.copyTo(m, "rev", "reason", "actor")
	m.text("updatedAt", l.text("time"))
	m.text("eventId", l.text("eventId"))
	c.header("ETag", etag(l.number("rev")))
	return nil
}
