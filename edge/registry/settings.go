package registry

import (
	"strings"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// AgentPatch changes an agent's settings, which do not include the signed policy.
type AgentPatch struct {
	profile *engine.AgentProfile
	next    engine.AgentSettings
	grounds edge.Grounds
}

// ReadAgentPatch reads a change of the agent. Absent members stay, null removes a setting (RFC
// 7396).
func ReadAgentPatch(j *edge.Judge, f *strictjson.Fields, profile *engine.AgentProfile) (AgentPatch, error) {
	next := edge.ReadSettings(f, profile.Settings, j.LogTime())
	return AgentPatch{profile: profile, next: next, grounds: edge.ReadGrounds(f)}, f.Err()
}

// Record builds the record. Tightening needs a role that registers agents, widening needs the
// role policy.
func (p *AgentPatch) Record(j *edge.Judge) (*wire.Settings, error) {
	if err := checkWidening(j, edge.SettingsWiden(&p.profile.Settings, &p.next), p.grounds.Reason); err != nil {
		return nil, err
	}
	var m strictjson.Members
	edge.WriteSettings(&m, &p.next)
	above, err := edge.VelocityAbove(j, p.profile)
	if err != nil {
		return nil, err
	}
	next := *p.profile
	next.Settings = p.next
	advice, err := edge.KeyAdviceFor(j, &next)
	if err != nil {
		return nil, err
	}
	WriteWarnings(&m, append(edge.WriteEffectiveVelocity(&m, p.next.Velocity, above...), advice...))
	p.grounds.Write(&m)
	return buildSettings(j, p.profile, p.next, "agent.settings", m)
}

// checkWidening refuses a change that lets through what was stopped before, unless the key has
// the role policy and the change has a reason.
func checkWidening(j *edge.Judge, widens bool, reason string) error {
	switch {
	case !widens:
		return nil
	case !j.Caller().May(wire.RolePolicy):
		return edge.MarkChangeable(edge.LacksRole(wire.RolePolicy, "this change lets through what was stopped before: it needs the role policy"))
	case strings.TrimSpace(reason) == "":
		return edge.MarkChangeable(edge.MissingField("reason", "reason is required: this change lets through what was stopped before"))
	}
	return nil
}

// WriteWarnings adds the warnings if there are any.
func WriteWarnings(m *strictjson.Members, warnings []strictjson.Members) {
	if len(warnings) > 0 {
		m.List("warnings", warnings)
	}
}

// buildSettings builds the record that replaces an agent's settings. The log refuses it if the
// profile's revision has changed meanwhile.
func buildSettings(j *edge.Judge, profile *engine.AgentProfile, next engine.AgentSettings, event string, m strictjson.Members) (*wire.Settings, error) {
	common, err := j.Recorded(m, j.OperatorFilter(profile.Operator))
	return &wire.Settings{Common: common, Agent: profile.Slot, BaseRev: profile.Rev, Settings: next, Event: event}, err
}

// ModelChange reports the model that an agent runs now. Rule R15 compares it with the one that
// the agent was registered with (decision 38).
type ModelChange struct {
	model   string
	grounds edge.Grounds
}

// ReadModelChange reads underlyingModel, or its alias model.
func ReadModelChange(f *strictjson.Fields) (ModelChange, error) {
	model, alias := f.Text("underlyingModel", engine.FieldMax), f.Text("model", engine.FieldMax)
	if f.Get("underlyingModel") == nil {
		if model = alias; f.Get("model") == nil {
			f.Missing("underlyingModel")
		}
	}
	if (f.Get("underlyingModel") != nil || f.Get("model") != nil) && engine.SameModel(model, "") {
		f.Invalid("underlyingModel", "must not be blank")
	}
	return ModelChange{model: model, grounds: edge.ReadGrounds(f)}, f.Err()
}

// Record builds the record.
func (c *ModelChange) Record(j *edge.Judge, profile *engine.AgentProfile) (*wire.Settings, error) {
	next := profile.Settings
	next.CurrentModel = c.model
	var m strictjson.Members
	m.Text("underlyingModel", c.model)
	m.TextOrNull("baselineModel", profile.Model)
	m.TextOrNull("previousModel", edge.CurrentModel(profile))
	m.Bool("changed", profile.Model != "" && !engine.SameModel(profile.Model, c.model))
	c.grounds.Write(&m)
	return buildSettings(j, profile, next, "agent.model_changed", m)
}

// Attestation says that a person has looked at an autonomous agent (decision 37).
type Attestation struct{ by, note string }

// ReadAttestation reads attestedBy and note.
func ReadAttestation(f *strictjson.Fields) (Attestation, error) {
	return Attestation{by: f.RequiredText("attestedBy", engine.FieldMax), note: f.Text("note", engine.TextMax)}, f.Err()
}

// Record builds the record.
func (a *Attestation) Record(j *edge.Judge, profile *engine.AgentProfile) (*wire.Attest, error) {
	if profile.Type != engine.Autonomous {
		return nil, edge.Refuse("agent_not_autonomous", "only autonomous agents are attested")
	}
	var m strictjson.Members
	m.Text("attestedBy", a.by)
	m.TextOrNull("note", a.note)
	common, err := j.Recorded(m, j.OperatorFilter(profile.Operator))
	return &wire.Attest{Common: common, Agent: profile.Slot, AttestedBy: a.by, Note: a.note}, err
}
