package httpapi

import (
	"net/http"

	"railguard/engine"
	"railguard/fsm/wire"
)

// flagOwnership is POST /v1/agents/{id}/ownership-transfer (decisions 5.6): R8
// from effectiveAt until the credential is issued anew.
func flagOwnership(c *call) error {
	profile, err := c.pathAgent()
	if err != nil {
		return err
	}
	f := c.fields()
	owner := f.requiredName("newOperatorLegalName")
	at, given := f.instant("effectiveAt")
	note, actor := f.text("note", engine.TextMax), f.text("actor", engine.FieldMax)
	if err := f.err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindOwnership, record: func() (any, error) {
		var m members
		m.text("newOperatorLegalName", owner)
		m.textOrNull("note", note)
		m.textOrNull("actor", actor)
		record := &wire.Ownership{Agent: profile.Slot}
		if given {
			record.EffectiveAt = at
		}
		var err error
		record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterOperator, operatorKey(profile.OperatorLegalName)))
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
	reason, actor := f.text("reason", engine.TextMax), f.text("actor", engine.FieldMax)
	if err := f.err(); err != nil {
		return err
	}
	return c.submit(proposal{kind: wire.KindOwnership, record: func() (any, error) {
		var m members
		m.textOrNull("reason", reason)
		m.textOrNull("actor", actor)
		record := &wire.Ownership{Agent: profile.Slot, Cancel: true}
		var err error
		record.Common, err = c.recorded(m, engine.FilterKey(engine.FilterOperator, operatorKey(profile.OperatorLegalName)))
		return record, err
	}}, func(wire.Result) error {
		var m, flag members
		flag.bool("flagged", false)
		m.text("agentId", c.edge.agentID(profile.Slot))
		m.object("ownershipTransfer", flag)
		m.bool("unchanged", true)
		c.reply(http.StatusOK, m)
		return nil
	})
}

// renderOwnership answers both.
func renderOwnership(_ *call, l *leaf, m *members) error {
	flagged := l.kind() == "ownership.flagged"
	l.copyTo(m, "agentId")
	var flag members
	flag.bool("flagged", flagged)
	if flagged {
		l.copyTo(&flag, "flaggedAt", "effectiveAt", "newOperatorLegalName", "note", "actor")
	} else {
		flag.text("cancelledAt", l.text("time"))
		l.copyTo(&flag, "reason", "actor")
	}
	m.object("ownershipTransfer", flag)
	m.text("eventId", l.text("eventId"))
	return nil
}
