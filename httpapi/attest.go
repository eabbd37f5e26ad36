package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// attest is POST /v1/agents/{id}/attest (decision 37).
func attest(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	by, note := f.RequiredText("attestedBy", engine.FieldMax), f.Text("note", engine.TextMax)
	if err := f.Err(); err != nil {
		return err
	}
	if profile.Type != engine.Autonomous {
		return failure(http.StatusUnprocessableEntity, "agent_not_autonomous", "only autonomous agents are attested")
	}
	return c.submit(proposal{kind: wire.KindAttest, record: func() (any, error) {
		var m strictjson.Members
		m.Text("attestedBy", by)
		m.TextOrNull("note", note)
		record := &wire.Attest{Agent: profile.Slot, AttestedBy: by, Note: note}
		var err error
		record.Common, err = c.judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
		return record, err
	}}, nil)
}

func renderAttestation(_ *call, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "attestedBy", "note", "attestedAt", "validUntil", "recordExpiresAt", "attestationId")
	return nil
}

// listAttestations is GET /v1/agents/{id}/attestations: those of the last 25 hours.
func listAttestations(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	view, err := c.judge.View()
	if err != nil {
		return err
	}
	items := []strictjson.Members{}
	for _, a := range view.Attestations(profile.Slot) {
		var m strictjson.Members
		m.Text("attestationId", c.judge.Terms.IDs.EventID(a.Leaf))
		m.Text("attestedBy", a.AttestedBy)
		m.TextOrNull("note", a.Note)
		m.Time("attestedAt", a.At)
		m.Time("validUntil", a.At+engine.AttestationValidity)
		m.Time("recordExpiresAt", a.At+engine.AttestationStored)
		items = append(items, m)
	}
	return c.list(items, "")
}

// attestationState tells how an agent stands to R22.
func attestationState(now engine.Time, p *engine.AgentProfile, row *engine.AgentRow) strictjson.Members {
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
	return m
}
