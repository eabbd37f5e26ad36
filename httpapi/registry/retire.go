package registry

import (
	"railguard/edge"
	"railguard/edge/registry"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// retireFleet is DELETE /v1/fleets/{id}: a fleet without agents gives its row back.
func retireFleet(c *border.Request) (border.Answer, error) {
	fleet, err := c.PathFleet()
	if err != nil {
		return border.Answer{}, err
	}
	return retire(c, func(j *edge.Judge) (*wire.Retire, error) { return registry.RetireFleet(j, fleet) }, func(wire.Result) error {
		return border.Conflict("invalid_transition", "the fleet has agents: take them out, or retire them", nil)
	})
}

// retireAgent is DELETE /v1/agents/{id}: an agent that was revoked long ago gives its row back.
func retireAgent(c *border.Request) (border.Answer, error) {
	agent, err := c.PathAgent()
	if err != nil {
		return border.Answer{}, err
	}
	return retire(c, func(j *edge.Judge) (*wire.Retire, error) { return registry.RetireAgent(j, agent) }, func(r wire.Result) error {
		return border.Conflict("invalid_transition",
			"an agent is retired 91 days and a minute after its revocation, if it has no delegates, no call of the last day and no payment on hold or unresolved", border.StatusMember(r))
	})
}

func retire(c *border.Request, record func(*edge.Judge) (*wire.Retire, error), needed func(wire.Result) error) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindRetire, Record: func() (any, error) { return record(&c.Judge) },
		Refused: func(r wire.Result) error {
			if r.Refusal != wire.RefusedTransition {
				return nil
			}
			return needed(r)
		},
	}, nil)
}

// renderRetired answers both.
func renderRetired(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "fleetId", "operatorId")
	m.Bool("retired", true)
	m.Text("retiredAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}
