package httpapi

import (
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
)

// createDelegate is POST /v1/delegates/create (decision 40): a child that
// inherits what it leaves out and may only narrow the rest.
func createDelegate(c *call) error {
	f := c.fields()
	var in edge.Delegation
	if err := in.Read(&c.judge, &f); err != nil {
		return err
	}
	return c.submit(proposal{
		kind: wire.KindRegister, record: func() (any, error) { return in.Build(&c.judge) },
		refused: func(r wire.Result) error { return c.delegateRefused(r, in.Parent) },
	}, nil)
}

// delegateRefused tells a parent with too many children (409) from a full table
// of agents (503).
func (c *call) delegateRefused(r wire.Result, parent engine.AgentSlot) error {
	if r.Refusal != wire.RefusedFull {
		return nil
	}
	view, err := c.judge.View()
	if err != nil {
		return err
	}
	if row, _, known := view.Agent(parent); known && row.Children >= engine.ChildrenMax {
		return conflict("limit_reached", "the parent has as many delegates as an agent may have", nil)
	}
	return nil
}
