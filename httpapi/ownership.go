package httpapi

import (
	"net/http"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// flagOwnership is POST /v1/agents/{id}/ownership-transfer (decision 36): R8
// from effectiveAt until the credential is issued anew.
func flagOwnership(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	owner := f.RequiredName("newOperatorLegalName")
	if owner != "" && edge.OperatorKey(owner) == "" {
		f.Invalid("newOperatorLegalName", "must have letters or digits")
	}
	at, given := f.Instant("effectiveAt")
	note, actor := f.Text("note", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindOwnership, record: func() (any, error) {
		var m strictjson.Members
		m.Text("newOperatorLegalName", owner)
		m.TextOrNull("note", note)
		m.TextOrNull("actor", actor)
		record := &wire.Ownership{Agent: profile.Slot, OperatorKey: edge.OperatorKey(owner)}
		if given {
			record.EffectiveAt = at
		}
		var err error
		record.Common, err = c.judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
		return record, err
	}}, nil)
}

// cancelOwnership is DELETE of the same path: it takes the flag back before any
// re-issue.
func cancelOwnership(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindOwnership, record: func() (any, error) {
		var m strictjson.Members
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		record := &wire.Ownership{Agent: profile.Slot, Cancel: true}
		var err error
		record.Common, err = c.judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(profile.OperatorLegalName)))
		return record, err
	}}, func(wire.Result) error {
		var m, flag strictjson.Members
		flag.Bool("flagged", false)
		m.Text("agentId", c.judge.Terms.AgentID(profile.Slot))
		m.Object("ownershipTransfer", flag)
		m.Bool("unchanged", true)
		c.reply(http.StatusOK, m)
		return nil
	})
}

// renderOwnership answers both.
func renderOwnership(_ *call, l *edge.Leaf, m *strictjson.Members) error {
	flagged := l.Kind() == "ownership.flagged"
	l.CopyTo(m, "agentId")
	var flag strictjson.Members
	flag.Bool("flagged", flagged)
	if flagged {
		l.CopyTo(&flag, "flaggedAt", "effectiveAt", "newOperatorLegalName", "note", "actor")
	} else {
		flag.Text("cancelledAt", l.Text("time"))
		l.CopyTo(&flag, "reason", "actor")
	}
	m.Object("ownershipTransfer", flag)
	m.Text("eventId", l.Text("eventId"))
	return nil
}
