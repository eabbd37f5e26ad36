package registry

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// patchAgent is PATCH /v1/agents/{id}: the registry side of an agent, not the
// signed policy. What is absent stays, null takes away (RFC 7396). Tightening is
// for who registers, widening for the role policy.
func patchAgent(c *border.Request) (border.Answer, error) {
	match, err := c.ReadIfMatch()
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindSettings, func() (any, error) {
		profile, err := c.PathAgent()
		if err != nil {
			return nil, err
		}
		if match != 0 && match != uint64(profile.Rev) {
			return nil, border.VersionMismatch(uint64(profile.Rev))
		}
		f := c.ReadFields()
		next := edge.ReadSettings(&f, profile.Settings, c.Published().LogTime())
		reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
		if err := f.Err(); err != nil {
			return nil, err
		}
		if err := mayWiden(c, edge.SettingsWiden(&profile.Settings, &next), reason); err != nil {
			return nil, err
		}
		var m strictjson.Members
		edge.WriteSettings(&m, &next)
		above, err := edge.VelocityAbove(&c.Judge, profile)
		if err != nil {
			return nil, err
		}
		writeWarnings(&m, edge.WriteEffectiveVelocity(&m, next.Velocity, above...))
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		return settingsRecord(c, profile, next, "agent.settings", m)
	})
}

// mayWiden refuses a widening to keys that may only tighten, and without a reason.
func mayWiden(c *border.Request, widens bool, reason string) error {
	if !widens {
		return nil
	}
	if !c.Key.May(wire.RolePolicy) {
		refused := border.Forbidden(wire.RolePolicy)
		refused.Message = "this change lets through what was stopped before: it needs the role policy"
		return border.ChangeableRefusal{Cause: refused}
	}
	if strings.TrimSpace(reason) == "" {
		return border.ChangeableRefusal{Cause: &border.Error{
			Status: http.StatusUnprocessableEntity, Code: "missing_field", Param: "reason",
			Message: "reason is required: this change lets through what was stopped before",
		}}
	}
	return nil
}

// writeWarnings adds warnings where there are any.
func writeWarnings(m *strictjson.Members, warnings []strictjson.Members) {
	if len(warnings) > 0 {
		m.List("warnings", warnings)
	}
}

// settingsRecord replaces an agent's settings from the revision of profile.
func settingsRecord(c *border.Request, profile *engine.AgentProfile, next engine.AgentSettings, event string, m strictjson.Members) (any, error) {
	record := &wire.Settings{Agent: profile.Slot, BaseRev: profile.Rev, Settings: next, Event: event}
	var err error
	record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
	return record, err
}

// renderSettings answers a PATCH of an agent.
func renderSettings(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId")
	for _, name := range []string{"operatingHours", "velocity", "allowedCounterpartyTypes", "whitelist"} {
		m.Raw(name, l.Raw(name))
	}
	l.CopyTo(m, "effectiveVelocity", "warnings", "rev", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	c.SetHeader("ETag", border.ETag(l.Number("rev")))
	return nil
}

// setModel is POST /v1/agents/{id}/model: the current model, kept until another
// is reported or the agent is issued anew (decision 38). R15 compares it.
func setModel(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	model, alias := f.Text("underlyingModel", engine.FieldMax), f.Text("model", engine.FieldMax)
	if f.Get("underlyingModel") == nil {
		if model = alias; f.Get("model") == nil {
			f.Missing("underlyingModel")
		}
	}
	if (f.Get("underlyingModel") != nil || f.Get("model") != nil) && engine.SameModel(model, "") {
		f.Invalid("underlyingModel", "must not be blank")
	}
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindSettings, func() (any, error) {
		profile, err := c.PathAgent()
		if err != nil {
			return nil, err
		}
		next := profile.Settings
		next.CurrentModel = model
		var m strictjson.Members
		m.Text("underlyingModel", model)
		m.TextOrNull("baselineModel", profile.Model)
		m.TextOrNull("previousModel", edge.CurrentModel(profile))
		m.Bool("changed", profile.Model != "" && !engine.SameModel(profile.Model, model))
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		return settingsRecord(c, profile, next, "agent.model_changed", m)
	})
}

// renderModel answers setModel. changed says that R15 will ask for a review.
func renderModel(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "underlyingModel", "baselineModel", "previousModel", "changed", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}

// attest is POST /v1/agents/{id}/attest (decision 37).
func attest(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	by, note := f.RequiredText("attestedBy", engine.FieldMax), f.Text("note", engine.TextMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if profile.Type != engine.Autonomous {
		return border.Answer{}, border.NewError(http.StatusUnprocessableEntity, "agent_not_autonomous", "only autonomous agents are attested")
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindAttest, Record: func() (any, error) {
		var m strictjson.Members
		m.Text("attestedBy", by)
		m.TextOrNull("note", note)
		record := &wire.Attest{Agent: profile.Slot, AttestedBy: by, Note: note}
		var err error
		record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
		return record, err
	}}, nil)
}

func renderAttestation(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "attestedBy", "note", "attestedAt", "validUntil", "recordExpiresAt", "attestationId")
	return nil
}

// listAttestations is GET /v1/agents/{id}/attestations: those of the last 25 hours.
func listAttestations(c *border.Request) (border.Answer, error) {
	profile, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	p, err := c.ReadKeyPage("attestations", 1)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	all := view.Attestations(profile.Slot)
	slices.SortFunc(all, func(a, b engine.Attestation) int {
		if p.Ascending {
			return cmp.Compare(a.Leaf, b.Leaf)
		}
		return cmp.Compare(b.Leaf, a.Leaf)
	})
	items, next := []strictjson.Members{}, ""
	for i, a := range all {
		if p.After != nil && (a.Leaf == p.After[0] || (a.Leaf > p.After[0]) != p.Ascending) {
			continue // On a page before.
		}
		if len(items) == p.Limit {
			next = p.Cursor(all[i-1].Leaf)
			break
		}
		var m strictjson.Members
		m.Text("attestationId", c.Judge.Terms.IDs.EventID(a.Leaf))
		m.Text("attestedBy", a.AttestedBy)
		m.TextOrNull("note", a.Note)
		m.Time("attestedAt", a.At)
		m.Time("validUntil", a.At+engine.AttestationValidity)
		m.Time("recordExpiresAt", a.At+engine.AttestationStored)
		items = append(items, m)
	}
	return c.AnswerList(items, next)
}

// attestationState tells how an agent stands to R22, and above which amount that counts.
func attestationState(view *fsm.View, p *engine.AgentProfile, row *engine.AgentRow) strictjson.Members {
	now := view.Time
	var m strictjson.Members
	m.Bool("required", p.Type == engine.Autonomous)
	if row.AttestedAt == 0 {
		m.Null("attestedAt")
		m.Null("validUntil")
	} else {
		m.Time("attestedAt", row.AttestedAt)
		m.Time("validUntil", row.AttestedAt+engine.AttestationValidity)
	}
	stale := row.AttestedAt == 0 || now >= row.AttestedAt+engine.AttestationValidity
	m.Bool("stale", p.Type == engine.Autonomous && stale)
	m.USD("above", view.Settings().Policy.AttestationAbove)
	return m
}
