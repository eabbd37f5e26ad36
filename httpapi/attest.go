package httpapi

import (
	"net/http"

	"railguard/engine"
	"railguard/fsm/wire"
)

// attest is POST /v1/agents/{id}/attest (decisions 5.7).
func attest(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	by, note := f.requiredText("attestedBy", engine.FieldMax), f.text("note", engine.TextMax)
	if err := f.err(); err != nil {
		return err
	}
	if profile.Type != engine.Autonomous {
		return failure(http.StatusUnprocessableEntity, "agent_not_autonomous", "only autonomous agents are attested")
	}
	return c.submit(proposal{kind: wire.KindAttest, record: func() (any, error) {
		var m members
		m.text("attestedBy", by)
		m.textOrNull("note", note)
		record := &wire.Attest{Agent: profile.Slot, AttestedBy: by, Note: note}
		var err error
		record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterOperator, operatorKey(profile.OperatorLegalName)))
		return record, err
	}}, nil)
}

func renderAttestation(_ *call, l *leaf, m *members) error {
	l.copyTo(m, "agentId", "attestedBy", "note", "attestedAt", "validUntil", "recordExpiresAt", "attestationId")
	return nil
}

// listAttestations is GET /v1/agents/{id}/attestations: those of the last 25 hours.
func listAttestations(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	view, err := c.freshView()
	if err != nil {
		return err
	}
	items := []members{}
	for _, a := range view.Attestations(profile.Slot) {
		var m members
		m.text("attestationId", c.edge.ids.EventID(a.Leaf))
		m.text("attestedBy", a.AttestedBy)
		m.textOrNull("note", a.Note)
		m.time("attestedAt", a.At)
		m.time("validUntil", a.At+engine.AttestationValidity)
		m.time("recordExpiresAt", a.At+engine.AttestationStored)
		items = append(items, m)
	}
	return c.list(items, "")
}

// attestationState tells how an agent stands to R22.
func attestationState(now engine.Time, p *engine.AgentProfile, row *engine.AgentRow) members {
	var m members
	m.bool("required", p.Type == engine.Autonomous)
	if row.AttestedAt == 0 {
		m.null("attestedAt")
		m.null("validUntil")
	} else {
		m.time("attestedAt", row.AttestedAt)
		m.time("validUntil", row.AttestedAt+engine.AttestationValidity)
	}
	stale := row.AttestedAt == 0 || now >= row.AttestedAt+engine.AttestationValidity
	m.bool("stale", p.Type == engine.Autonomous && stale)
	return m
}
