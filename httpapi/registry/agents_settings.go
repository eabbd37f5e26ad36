package registry

import (
	"cmp"
	"slices"

	"railguard/edge"
	"railguard/edge/registry"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// patchAgent is PATCH /v1/agents/{id}: the registry's settings of an agent, not the signed
// policy. An absent member stays, null removes it (RFC 7396). Tightening needs the operator
// role, widening the policy role.
func patchAgent(c *border.Request) (border.Answer, error) {
	match, err := c.ReadIfMatch()
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindSettings, func(j *edge.Judge) (any, error) {
		profile, err := c.PathAgent()
		if err != nil {
			return nil, err
		}
		if match != 0 && match != uint64(profile.Rev) {
			return nil, border.VersionMismatch(uint64(profile.Rev))
		}
		f := c.ReadFields()
		patch, err := registry.ReadAgentPatch(j, &f, profile)
		if err != nil {
			return nil, err
		}
		return patch.Record(j)
	})
}

// renderSettings answers a PATCH of an agent.
func renderSettings(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId")
	for _, name := range []string{"operatingHours", "velocity", "allowedCounterpartyTypes", "whitelist", "possession"} {
		m.Raw(name, l.Raw(name))
	}
	l.CopyTo(m, "effectiveVelocity", "warnings", "rev", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	c.SetHeader("ETag", border.ETag(l.Number("rev")))
	return nil
}

// setModel is POST /v1/agents/{id}/model: the current model, kept until another is reported
// or the agent is reissued (decision 38). R15 compares it.
func setModel(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	change, err := registry.ReadModelChange(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindSettings, func(j *edge.Judge) (any, error) {
		profile, err := c.PathAgent()
		if err != nil {
			return nil, err
		}
		return change.Record(j, profile)
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
	attestation, err := registry.ReadAttestation(&f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindAttest, Record: func() (any, error) { return attestation.Record(&c.Judge, profile) }}, nil)
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
	p, err := c.ReadListQuery("attestations", 1)
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
			continue // It was on an earlier page.
		}
		if len(items) == p.Limit {
			next = p.Cursor(all[i-1].Leaf)
			break
		}
		var m strictjson.Members
		m.Text("attestationId", c.Judge.Terms.IDs.EventID(a.Leaf, 0))
		m.Text("attestedBy", a.AttestedBy)
		m.TextOrNull("note", a.Note)
		m.Time("attestedAt", a.At)
		m.Time("validUntil", a.At+engine.AttestationValidity)
		m.Time("recordExpiresAt", a.At+engine.AttestationStored)
		items = append(items, m)
	}
	return c.AnswerList(items, next)
}

// attestationState says whether R22 finds the agent attested, and above which amount R22
// applies.
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
