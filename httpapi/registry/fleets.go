package registry

import (
	"net/http"
	"strconv"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
	"railguard/strictjson"
)

// createFleet is POST /v1/fleets/create (specification 4.3, decision 39).
func createFleet(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	now := c.Published().LogTime()
	profile := engine.FleetProfile{FleetName: f.RequiredName("fleetName"), OperatorLegalName: f.RequiredName("operatorLegalName")}
	profile.DailyLimit, profile.DailyLimitText = f.RequiredUSD("dailyLimitUSDC")
	profile.Hours, profile.Velocity = edge.ReadHours(&f, now), edge.ReadVelocity(&f)
	profile.Whitelist = edge.ReadWhitelist(&f, "whitelist", nil)
	if profile.OperatorLegalName != "" && edge.OperatorKey(profile.OperatorLegalName) == "" {
		f.Invalid("operatorLegalName", "must have letters or digits")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	if !c.Key.Covers(profile.OperatorLegalName) {
		return border.Answer{}, border.OutOfScope()
	}
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindFleet, Record: func() (any, error) {
		found, err := c.Judge.ScreenParty("operator", "", profile.OperatorLegalName, ofac.PartyUnknown)
		if err != nil {
			return nil, err
		}
		profile.NameMatched = found.NameMatched
		record := &wire.Fleet{Profile: profile, OperatorKey: edge.OperatorKey(profile.OperatorLegalName)}
		var m strictjson.Members
		writeFleet(&m, &profile)
		m.Uint("listVersion", c.Judge.Terms.Settings.ListVersion)
		if len(found.Evidence) > 0 {
			m.List("matches", found.Evidence)
		}
		m.Bool("operatorMatched", found.NameMatched)
		effect := edge.WriteEffectiveVelocity(&m, profile.Velocity, &c.Judge.Terms.Settings.Policy.Velocity)
		m.List("warnings", append(found.Warnings(), effect...))
		record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterOperator, record.OperatorKey))
		return record, err
	}}, nil)
}

// writeFleet writes a fleet's settings, as leaves keep and answers show them.
func writeFleet(m *strictjson.Members, p *engine.FleetProfile) {
	m.Text("fleetName", p.FleetName)
	m.Text("operatorLegalName", p.OperatorLegalName)
	m.Raw("dailyLimitUSDC", []byte(p.DailyLimitText))
	edge.WritePace(m, p.Hours, p.Velocity)
	if p.Whitelist != nil {
		m.Object("whitelist", edge.WhitelistSummary(p.Whitelist))
	}
}

// renderFleet answers the creation of a fleet: nobody is in it and nothing is
// spent yet.
func renderFleet(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	c.Status = http.StatusCreated
	c.SetHeader("Location", "/v1/fleets/"+l.Text("fleetId"))
	l.CopyTo(m, "fleetId", "fleetName", "operatorLegalName", "dailyLimitUSDC")
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
	m := fleetMembers(c, view, profile.Slot)
	m.Uint("asOfIndex", view.Index)
	if _, profile, known := view.Fleet(profile.Slot); known {
		c.SetHeader("ETag", border.ETag(uint64(profile.Rev)))
	}
	return c.Reply(http.StatusOK, m), nil
}

func fleetMembers(c *border.Request, view *fsm.View, slot engine.FleetSlot) strictjson.Members {
	row, p, _ := view.Fleet(slot)
	today := view.Time.Day()
	var m strictjson.Members
	m.Text("fleetId", c.Judge.Terms.FleetID(slot))
	writeFleet(&m, p)
	writeWarnings(&m, edge.WriteEffectiveVelocity(&m, p.Velocity, &view.Settings().Policy.Velocity))
	m.Uint("agentCount", uint64(row.Agents))
	m.USD("spentTodayUSDC", row.Spend.SpentOn(today))
	m.USD("remainingTodayUSDC", max(p.DailyLimit-row.Spend.Counted(today), 0))
	m.Text("date", dateText(today))
	m.Text("operatorStatus", operatorStatus(view, p.Operator).String())
	m.Bool("operatorMatched", p.NameMatched)
	m.Time("createdAt", p.CreatedAt)
	return m
}

// listFleets is GET /v1/fleets?operator=.
func listFleets(c *border.Request) (border.Answer, error) {
	p, err := c.ReadPage("fleets")
	if err != nil {
		return border.Answer{}, err
	}
	operator, err := c.NormaliseQuery("operator", edge.OperatorKey)
	if err != nil {
		return border.Answer{}, err
	}
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	var items []strictjson.Members
	next := p.Scan(uint64(view.Fleets()), func(row uint64) bool {
		_, profile, known := view.Fleet(engine.FleetSlot(row))
		if !known {
			return false
		}
		_, named, known := view.Operator(profile.Operator)
		if !known || c.Key.Operator != "" && named.Key != c.Key.Operator || operator != "" && named.Key != operator {
			return false
		}
		items = append(items, fleetMembers(c, view, profile.Slot))
		return true
	})
	return c.AnswerList(items, next)
}

// patchFleet is PATCH /v1/fleets/{id}: name, limit, hours, velocity. Widening is
// for the role policy.
func patchFleet(c *border.Request) (border.Answer, error) {
	match, err := c.ReadIfMatch()
	if err != nil {
		return border.Answer{}, err
	}
	return c.AnswerRevision(wire.KindFleetUpdate, func() (any, error) {
		old, err := c.PathFleet()
		if err != nil {
			return nil, err
		}
		if match != 0 && match != uint64(old.Rev) {
			return nil, border.VersionMismatch(uint64(old.Rev))
		}
		f := c.ReadFields()
		next := *old
		readFleetPatch(c, &f, &next)
		reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
		if err := f.Err(); err != nil {
			return nil, err
		}
		widens := next.DailyLimit > old.DailyLimit || edge.PaceWidens(old.Hours, next.Hours, old.Velocity, next.Velocity)
		if err := mayWiden(c, widens, reason); err != nil {
			return nil, err
		}
		var m strictjson.Members
		writeFleet(&m, &next)
		writeWarnings(&m, edge.WriteEffectiveVelocity(&m, next.Velocity, &c.Judge.Terms.Settings.Policy.Velocity))
		m.Raw("previousDailyLimitUSDC", []byte(old.DailyLimitText))
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		return fleetRecord(c, old, next, "fleet.updated", m)
	})
}

func readFleetPatch(c *border.Request, f *strictjson.Fields, next *engine.FleetProfile) {
	if f.Get("fleetName") != nil {
		next.FleetName = f.RequiredName("fleetName")
	}
	if f.Get("dailyLimitUSDC") != nil {
		next.DailyLimit, next.DailyLimitText = f.RequiredUSD("dailyLimitUSDC")
	}
	if f.Has("operatingHours") {
		next.Hours = edge.ReadHours(f, c.Published().LogTime())
	}
	if f.Has("velocity") {
		next.Velocity = edge.ReadVelocity(f)
	}
}

// fleetRecord replaces a fleet's settings from the revision of old.
func fleetRecord(c *border.Request, old *engine.FleetProfile, next engine.FleetProfile, event string, m strictjson.Members) (any, error) {
	record := &wire.FleetUpdate{Fleet: old.Slot, BaseRev: old.Rev, Profile: next, Event: event}
	var err error
	record.Common, err = c.Judge.Recorded(m, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(old.OperatorLegalName)))
	return record, err
}

// renderFleetUpdate answers a PATCH of a fleet.
func renderFleetUpdate(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "fleetId", "fleetName", "operatorLegalName", "dailyLimitUSDC", "previousDailyLimitUSDC",
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
	ids, given := f.Texts("agentIds", engine.PageMax, engine.FieldMax)
	if id := f.Text("agentId", engine.FieldMax); id != "" {
		ids, given = append(ids, id), true
	}
	switch {
	case !given && f.Get("agentId") == nil:
		f.Missing("agentIds")
	case len(ids) == 0 || len(ids) > engine.PageMax:
		f.Invalid("agentIds", "must have 1 to "+strconv.Itoa(engine.PageMax)+" ids")
	}
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	slots := make([]engine.AgentSlot, 0, len(ids))
	seen := make(map[engine.AgentSlot]bool, len(ids))
	for i, id := range ids {
		agent, err := c.Judge.KnownAgent(id)
		if err != nil {
			return border.Answer{}, err
		}
		if agent.Parent != 0 {
			return border.Answer{}, border.InvalidField("agentIds["+strconv.Itoa(i)+"]", "is a delegate: it is in the fleet of its root")
		}
		if !seen[agent.Slot] {
			slots = append(slots, agent.Slot)
		}
		seen[agent.Slot] = true
	}
	return assignTo(c, fleet, slots, false)
}

// removeAgent is DELETE /v1/fleets/{id}/agents/{agentId}.
func removeAgent(c *border.Request) (border.Answer, error) {
	fleet, err := c.PathFleet()
	if err != nil {
		return border.Answer{}, err
	}
	agent, err := c.Judge.KnownAgent(c.PathValue("agentId"))
	if err != nil {
		return border.Answer{}, err
	}
	if agent.Parent != 0 {
		return border.Answer{}, border.NotFound("the agent is not in this fleet")
	}
	return assignTo(c, fleet, []engine.AgentSlot{agent.Slot}, true)
}

func assignTo(c *border.Request, fleet *engine.FleetProfile, slots []engine.AgentSlot, remove bool) (border.Answer, error) {
	return c.AnswerChangeable(border.Proposal{Kind: wire.KindAssign, Record: func() (any, error) {
		record := &wire.Assign{Fleet: fleet.Slot, Agents: slots, Remove: remove}
		var err error
		record.Common, err = c.Judge.Recorded(nil, engine.FilterKey(engine.FilterOperator, edge.OperatorKey(fleet.OperatorLegalName)))
		return record, err
	}, Refused: func(r wire.Result) error { return assignRefused(c, fleet, r) }}, func(r wire.Result) (border.Answer, error) {
		var m strictjson.Members
		m.Text("fleetId", c.Judge.Terms.FleetID(fleet.Slot))
		m.Texts("agentIds", c.Judge.Terms.AgentIDs(slots))
		m.Uint("agentCount", r.Value)
		m.Bool("unchanged", true)
		return c.Reply(http.StatusOK, m), nil
	})
}

// assignRefused names the agent that stood in the way: one refusal refuses all.
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
	case wire.RefusedOperator:
		return &border.Error{
			Status: http.StatusUnprocessableEntity, Code: "operator_mismatch", Extra: extra,
			Message: "the agent's operator is not the fleet's",
		}
	}
	return fleetFull(c, fleet.Slot)(r)
}

// renderAssign answers both.
func renderAssign(_ *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "fleetId", "agentIds", "agentCount")
	m.Bool("assigned", l.Kind() == "fleet.assigned")
	m.Text("changedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}
