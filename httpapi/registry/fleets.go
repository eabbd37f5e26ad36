package registry

import (
	"net/http"

	"railguard/edge"
	"railguard/edge/registry"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// createFleet is POST /v1/fleets/create (specification 4.3, decision 39).
func createFleet(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	fleet, err := registry.ReadNewFleet(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindFleet, Record: func() (any, error) { return fleet.Record(&c.Judge) }}, nil)
}

// renderFleet answers the creation of a fleet, which has no agents and no spend yet.
func renderFleet(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.Status = http.StatusCreated
	c.SetHeader("Location", "/v1/fleets/"+l.Text("fleetId"))
	l.CopyTo(m, "fleetId", "fleetName", "operatorId", "operatorLegalName", "similarOperators", "dailyLimitUSDC")
	m.Int("agentCount", 0)
	m.Int("spentTodayUSDC", 0)
	l.CopyTo(m, "date")
	m.Text("createdAt", l.Text("time"))
	l.CopyTo(m, "operatingHours", "velocity", "effectiveVelocity", "whitelist", "operatorMatched", "warnings", "eventId")
	return nil
}

// getFleet is GET /v1/fleets/{id}.
func getFleet(c *border.Request) (border.Answer, error) {
	profile, err := c.PathFleet()
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	_, profile, known := view.Fleet(profile.Slot)
	if !known { // It was retired meanwhile.
		return border.Answer{}, border.NotFound("no such fleet")
	}
	m := fleetMembers(c, view, profile.Slot)
	m.Uint("asOfIndex", view.Index)
	c.SetHeader("ETag", border.ETag(uint64(profile.Rev)))
	return c.Reply(http.StatusOK, m), nil
}

func fleetMembers(c *border.Request, view *fsm.View, slot engine.FleetSlot) strictjson.Members {
	row, p, _ := view.Fleet(slot)
	today := view.Time.Day()
	var m strictjson.Members
	m.Text("fleetId", c.Judge.Terms.FleetID(slot))
	registry.WriteFleet(&m, p)
	registry.WriteWarnings(&m, edge.WriteEffectiveVelocity(&m, p.Velocity, &view.Settings().Policy.Velocity))
	m.Uint("agentCount", uint64(row.Agents))
	m.USD("spentTodayUSDC", row.Spend.SpentOn(today))
	m.USD("remainingTodayUSDC", max(p.DailyLimit-row.Spend.Counted(today), 0))
	m.Text("date", dateText(today))
	m.Text("operatorId", c.Judge.OperatorID(p.Operator))
	m.Text("operatorStatus", operatorStatus(view, p.Operator).String())
	m.Bool("operatorMatched", p.NameMatched)
	m.Time("createdAt", p.CreatedAt)
	return m
}

// listFleets is GET /v1/fleets?operator=.
func listFleets(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("fleets")
	if err != nil {
		return border.Answer{}, err
	}
	operator, err := c.OperatorQuery()
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	var items []strictjson.Members
	next := p.Scan(uint64(view.FleetSlots()), func(row uint64) bool {
		_, profile, known := view.Fleet(engine.FleetSlot(row))
		if !known {
			return false
		}
		if !c.Judge.Covers(profile.Operator) || operator != nil && profile.Operator != operator.Slot {
			return false
		}
		items = append(items, fleetMembers(c, view, profile.Slot))
		return true
	})
	return c.AnswerList(items, next)
}

// patchFleet is PATCH /v1/fleets/{id}: name, limit, hours, velocity. Widening needs the
// policy role.
func patchFleet(c *border.Request) (border.Answer, error) {
	match, err := c.ReadIfMatch()
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindFleetUpdate, func(j *edge.Judge) (any, error) {
		old, err := c.PathFleet()
		if err != nil {
			return nil, err
		}
		if match != 0 && match != uint64(old.Rev) {
			return nil, border.VersionMismatch(uint64(old.Rev))
		}
		f := c.ReadFields()
		patch, err := registry.ReadFleetPatch(j, &f, old)
		if err != nil {
			return nil, err
		}
		return patch.Record(j)
	})
}

// renderFleetUpdate answers a PATCH of a fleet.
func renderFleetUpdate(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "fleetId", "fleetName", "operatorId", "operatorLegalName", "dailyLimitUSDC", "previousDailyLimitUSDC",
		"operatingHours", "velocity", "effectiveVelocity", "warnings", "whitelist", "rev", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	c.SetHeader("ETag", border.ETag(l.Number("rev")))
	return nil
}

// assignAgents is POST /v1/fleets/{id}/agents {"agentId"|"agentIds"}.
func assignAgents(c *border.Request) (border.Answer, error) {
	fleet, err := c.PathFleet()
	if err != nil {
		return border.Answer{}, err
	}
	f := c.ReadFields()
	assignment, err := registry.ReadAssignment(&c.Judge, &f)
	if err != nil {
		return border.Answer{}, err
	}
	return answerAssignment(c, fleet, assignment)
}

// removeAgent is DELETE /v1/fleets/{id}/agents/{agentId}.
func removeAgent(c *border.Request) (border.Answer, error) {
	fleet, err := c.PathFleet()
	if err != nil {
		return border.Answer{}, err
	}
	removal, err := registry.ReadRemoval(&c.Judge, c.PathValue("agentId"))
	if err != nil {
		return border.Answer{}, err
	}
	return answerAssignment(c, fleet, removal)
}

func answerAssignment(c *border.Request, fleet *engine.FleetProfile, assignment registry.Assignment) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{
		Kind: wire.KindAssign, Record: func() (any, error) { return assignment.Record(&c.Judge, fleet) },
		Refused: func(r wire.Result) error { return assignRefused(c, fleet, r) },
	}, func(r wire.Result) (border.Answer, error) {
		var m strictjson.Members
		m.Text("fleetId", c.Judge.Terms.FleetID(fleet.Slot))
		m.Texts("agentIds", c.Judge.Terms.AgentIDs(assignment.Agents))
		m.Uint("agentCount", r.Value)
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// assignRefused names the agent that caused the refusal: one refusal refuses all.
func assignRefused(c *border.Request, fleet *engine.FleetProfile, r wire.Result) error {
	var extra strictjson.Members
	if r.Value != 0 {
		extra.Text("agentId", c.Judge.Terms.AgentID(engine.AgentSlot(r.Value)))
	}
	switch r.Refusal {
	case wire.RefusedInFleet:
		if profile := c.Published().Agent(engine.AgentSlot(r.Value)); profile != nil && profile.Fleet != 0 {
			extra.Text("fleetId", c.Judge.Terms.FleetID(profile.Fleet))
		}
		return border.Conflict("already_in_fleet", "an agent is in another fleet", extra)
	case wire.RefusedScope:
		return &border.Error{
			Status: http.StatusForbidden, Code: "forbidden", Extra: extra,
			Message: "the institution put the agent into this fleet: only a key of the institution takes it out",
		}
	case wire.RefusedOperator:
		return &border.Error{
			Status: http.StatusUnprocessableEntity, Code: "operator_mismatch", Extra: extra,
			Message: "the agent's operator is not the fleet's",
		}
	}
	return fleetFull(c, fleet.Slot)(r)
}

// renderAssign answers both assignment and removal.
func renderAssign(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "fleetId", "agentIds", "agentCount")
	m.Bool("assigned", l.Kind() == "fleet.assigned")
	m.Text("changedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}
