package operations

import (
	"fmt"

	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// raiseFormat is POST /v1/cluster/format, the last step of an upgrade whose binary can
// apply a newer format. From the log index of its record on every node applies that format;
// it cannot be undone. It is refused while a member could not apply it, since that member
// would stop.
func (o *Room) raiseFormat(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	to := engine.Format(0)
	if n, ok := f.Integer("to", 1, 65_535); ok {
		to = engine.Format(n)
	} else if f.Get("to") == nil {
		f.Missing("to")
	}
	grounds := edge.ReadGrounds(&f)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindFormat, Record: func() (any, error) {
		if err := o.formatProblem(c, to); err != nil {
			return nil, border.ChangeableRefusal{Cause: err}
		}
		return rulebook.RaisedFormat(&c.Judge, to, grounds)
	}}, func(wire.Result) (border.Answer, error) {
		var m strictjson.Members
		m.Uint("featureLevel", uint64(c.Settings().Format))
		m.Bool("unchanged", true)
		return c.Reply(200, m), nil
	})
}

// formatProblem says why the format in force cannot become that one.
func (o *Room) formatProblem(c *border.Request, to engine.Format) error {
	now := c.Settings().Format
	switch {
	case to == now:
		return nil // The log will answer that nothing changes.
	case to != now+1:
		return border.InvalidField("to", "must be one above the format in force: see featureLevel in /v1/cluster/status")
	}
	for _, node := range o.deps.Operations.Status(c.Context()).Nodes {
		switch {
		case node.FormatMax == 0 || node.Role == "unreachable":
			return border.Conflict("format_not_ready", fmt.Sprintf("%s does not answer: bring it back, or remove it", node.ID), nil)
		case node.FormatMax < uint16(to):
			return border.Conflict("format_not_ready", fmt.Sprintf("%s (release %s) knows formats up to %d and would stop: upgrade it first", node.ID, node.Version, node.FormatMax), nil)
		}
	}
	return nil
}

// renderFormat answers raiseFormat.
func renderFormat(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	m.Uint("featureLevel", l.Number("format"))
	l.CopyTo(m, "previousFormat")
	m.Text("raisedAt", l.Text("time"))
	l.CopyTo(m, "reason", "actor", "eventId", "actorKeyId")
	return nil
}
