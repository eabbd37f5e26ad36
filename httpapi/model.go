package httpapi

import (
	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/strictjson"
)

// setModel is POST /v1/agents/{id}/model: the current model, kept until another
// is reported or the agent is issued anew (decision 38). R15 compares it.
func setModel(c *call) error {
	f := c.fields()
	model := f.Text("underlyingModel", engine.FieldMax)
	if f.Get("underlyingModel") == nil {
		if model = f.Text("model", engine.FieldMax); f.Get("model") == nil {
			f.Missing("underlyingModel")
		}
	}
	if (f.Get("underlyingModel") != nil || f.Get("model") != nil) && engine.SameModel(model, "") {
		f.Invalid("underlyingModel", "must not be blank")
	}
	reason, actor := f.Text("reason", engine.TextMax), f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return err
	}
	return c.revise(wire.KindSettings, func() (any, error) {
		profile, err := c.pathAgent()
		if err != nil {
			return nil, err
		}
		next := profile.Settings
		next.CurrentModel = model
		var m strictjson.Members
		m.Text("underlyingModel", model)
		m.TextOrNull("baselineModel", profile.Model)
		m.TextOrNull("previousModel", edge.CurrentModel(profile))
		m.Bool("changed", profile.Model != "" && !engine.SameModel(profile.Model, model))
		m.TextOrNull("reason", reason)
		m.TextOrNull("actor", actor)
		return c.settingsRecord(profile, next, "agent.model_changed", m)
	})
}

// renderModel answers setModel. changed says that R15 will ask for a review.
func renderModel(_ *call, l *edge.Leaf, m *strictjson.Members) error {
	l.CopyTo(m, "agentId", "underlyingModel", "baselineModel", "previousModel", "changed", "reason", "actor")
	m.Text("updatedAt", l.Text("time"))
	m.Text("eventId", l.Text("eventId"))
	return nil
}
