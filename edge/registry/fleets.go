package registry

import (
	"strconv"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/ofac"
	"railguard/strictjson"
)

// NewFleet is a fleet to be created (specification 4.3, decision 39).
type NewFleet struct {
	profile  engine.FleetProfile
	operator wire.OperatorRef
}

// ReadNewFleet reads a fleet within the caller's scope.
func ReadNewFleet(j *edge.Judge, f *strictjson.Fields) (NewFleet, error) {
	profile := engine.FleetProfile{FleetName: f.RequiredName("fleetName"), OperatorLegalName: f.RequiredName("operatorLegalName")}
	profile.DailyLimit, profile.DailyLimitText = f.RequiredUSD("dailyLimitUSDC")
	profile.Hours, profile.Velocity = edge.ReadHours(f, j.LogTime()), edge.ReadVelocity(f)
	profile.Whitelist = edge.ReadWhitelist(f, "whitelist", nil)
	if profile.OperatorLegalName != "" && edge.FoldName(profile.OperatorLegalName) == "" {
		f.Invalid("operatorLegalName", "must have letters or digits")
	}
	id := f.Text("operatorId", engine.FieldMax)
	if err := f.Err(); err != nil {
		return NewFleet{}, err
	}
	operator, err := j.NamedOperator(id, profile.OperatorLegalName, false)
	return NewFleet{profile, operator}, err
}

// Record screens the operator against the present list and builds the record.
func (n *NewFleet) Record(j *edge.Judge) (*wire.Fleet, error) {
	profile := n.profile
	found, err := j.ScreenParty("operator", "", profile.OperatorLegalName, ofac.PartyUnknown)
	if err != nil {
		return nil, err
	}
	profile.NameMatched = found.NameMatched
	var m strictjson.Members
	WriteFleet(&m, &profile)
	m.Uint("listVersion", j.Terms.Settings.ListVersion)
	if len(found.Evidence) > 0 {
		m.List("matches", found.Evidence)
	}
	m.Bool("operatorMatched", found.NameMatched)
	effect := edge.WriteEffectiveVelocity(&m, profile.Velocity, &j.Terms.Policy().Velocity)
	m.List("warnings", append(found.Warnings(), effect...))
	j.WriteSimilar(&m, &n.operator)
	common, err := j.Recorded(m)
	return &wire.Fleet{Common: common, Profile: profile, Operator: n.operator}, err
}

// WriteFleet writes a fleet's settings, as leaves keep them and answers show them.
func WriteFleet(m *strictjson.Members, p *engine.FleetProfile) {
	m.Text("fleetName", p.FleetName)
	m.Text("operatorLegalName", p.OperatorLegalName)
	m.Raw("dailyLimitUSDC", []byte(p.DailyLimitText))
	edge.WritePace(m, p.Hours, p.Velocity)
	if p.Whitelist != nil {
		m.Object("whitelist", edge.WhitelistSummary(p.Whitelist))
	}
}

// FleetPatch changes a fleet's name, daily limit, hours or velocity.
type FleetPatch struct {
	old     *engine.FleetProfile
	next    engine.FleetProfile
	grounds edge.Grounds
}

// ReadFleetPatch reads a change of the fleet. Name and limit cannot be removed: null leaves
// them as they are.
func ReadFleetPatch(j *edge.Judge, f *strictjson.Fields, old *engine.FleetProfile) (FleetPatch, error) {
	next := *old
	if f.Get("fleetName") != nil {
		next.FleetName = f.RequiredName("fleetName")
	}
	if f.Get("dailyLimitUSDC") != nil {
		next.DailyLimit, next.DailyLimitText = f.RequiredUSD("dailyLimitUSDC")
	}
	if f.Has("operatingHours") {
		next.Hours = edge.ReadHours(f, j.LogTime())
	}
	if f.Has("velocity") {
		next.Velocity = edge.ReadVelocity(f)
	}
	return FleetPatch{old: old, next: next, grounds: edge.ReadGrounds(f)}, f.Err()
}

// Record builds the record. A widening needs the role policy.
func (p *FleetPatch) Record(j *edge.Judge) (*wire.FleetUpdate, error) {
	widens := p.next.DailyLimit > p.old.DailyLimit || edge.PaceWidens(p.old.Hours, p.next.Hours, p.old.Velocity, p.next.Velocity)
	if err := checkWidening(j, widens, p.grounds.Reason); err != nil {
		return nil, err
	}
	var m strictjson.Members
	WriteFleet(&m, &p.next)
	WriteWarnings(&m, edge.WriteEffectiveVelocity(&m, p.next.Velocity, &j.Terms.Policy().Velocity))
	m.Raw("previousDailyLimitUSDC", []byte(p.old.DailyLimitText))
	p.grounds.Write(&m)
	return buildFleet(j, p.old, p.next, "fleet.updated", m)
}

// buildFleet builds the record that replaces a fleet's settings. The log refuses it if the
// fleet's revision has changed meanwhile.
func buildFleet(j *edge.Judge, old *engine.FleetProfile, next engine.FleetProfile, event string, m strictjson.Members) (*wire.FleetUpdate, error) {
	common, err := j.Recorded(m, j.OperatorFilter(old.Operator))
	return &wire.FleetUpdate{Common: common, Fleet: old.Slot, BaseRev: old.Rev, Profile: next, Event: event}, err
}

// Assignment puts agents into a fleet, or takes them out of it. Delegates belong to the fleet
// of their root.
type Assignment struct {
	Agents []engine.AgentSlot // No duplicates, in the order of the call.
	Remove bool
}

// ReadAssignment reads the agents to be put into a fleet from agentIds, agentId or both.
func ReadAssignment(j *edge.Judge, f *strictjson.Fields) (Assignment, error) {
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
		return Assignment{}, err
	}
	a := Assignment{Agents: make([]engine.AgentSlot, 0, len(ids))}
	seen := make(map[engine.AgentSlot]bool, len(ids))
	for i, id := range ids {
		agent, err := j.KnownAgent(id)
		if err != nil {
			return Assignment{}, err
		}
		if agent.Parent != 0 {
			return Assignment{}, edge.InvalidField("agentIds["+strconv.Itoa(i)+"]", "is a delegate: it is in the fleet of its root")
		}
		if !seen[agent.Slot] {
			a.Agents = append(a.Agents, agent.Slot)
		}
		seen[agent.Slot] = true
	}
	return a, nil
}

// ReadRemoval reads the id of the agent to be taken out of its fleet.
func ReadRemoval(j *edge.Judge, id string) (Assignment, error) {
	agent, err := j.KnownAgent(id)
	if err != nil {
		return Assignment{}, err
	}
	if agent.Parent != 0 {
		return Assignment{}, edge.NotFound("the agent is not in this fleet")
	}
	return Assignment{Agents: []engine.AgentSlot{agent.Slot}, Remove: true}, nil
}

// Record builds the record. The log refuses all of it if one agent cannot be moved.
func (a *Assignment) Record(j *edge.Judge, fleet *engine.FleetProfile) (*wire.Assign, error) {
	common, err := j.Recorded(nil, j.OperatorFilter(fleet.Operator))
	return &wire.Assign{Common: common, Fleet: fleet.Slot, Agents: a.Agents, Remove: a.Remove}, err
}

// RetireFleet builds the record that gives a fleet's rows back.
func RetireFleet(j *edge.Judge, fleet *engine.FleetProfile) (*wire.Retire, error) {
	common, err := j.Recorded(nil)
	return &wire.Retire{Common: common, Fleet: fleet.Slot}, err
}

// RetireAgent builds the record that gives an agent's rows back.
func RetireAgent(j *edge.Judge, agent *engine.AgentProfile) (*wire.Retire, error) {
	common, err := j.Recorded(nil)
	return &wire.Retire{Common: common, Agent: agent.Slot}, err
}
