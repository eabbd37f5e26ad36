package httpapi

import (
	"railguard/engine"
	"railguard/fsm/wire"
)

// setModel is POST /v1/agents/{id}/model: the current model, kept until another
// is reported or the agent is issued anew (decisions 5.8). R15 compares it.
func setModel(c *call) error {
	f := c.fields()
	model := f.text("underlyingModel", engine.FieldMax)
	if f.get("underlyingModel") == nil {
		if model = f.text("model", engine.FieldMax); f.get("model") == nil {
			f.missing("underlyingModel")
		}
	}
	if (f.get("underlyingModel") != nil || f.get("model") != nil) && engine.SameModel(model, "") {
		f.invalid("underlyingModel", "must not be blank")
	}
	reason, actor := f.text("reason", engine.TextMax), f.text("actor", engine.FieldMax)
	if err := f.err(); err != nil {
		return err
	}
	return c.revise(wire.KindSettings, func() (any, error) {
		profile, err := c.pathAgent()
		if err != nil {
			return nil, err
		}
		next := profile.Settings
		next.CurrentModel = model
		var m members
		m.text("underlyingModel", model)
		m.textOrNull("baselineModel", profile.Model)
		m.textOrNull("previousModel", currentModel(profile))
		m.bool("changed", profile.Model != "" && !engine.SameModel(profile.Model, model))
		m.textOrNull("reason", reason)
		m.textOrNull("actor", actor)
		return c.settingsRecord(profile, next, "agent.model_changed", m)
	})
}

// renderModel answers setModel. changed says that R15 will ask for a review.
func renderModel(_ *call, l *leaf, m *members) error {
	l.copyTo(m, "agentId", "underlyingModel", "baselineModel", "previousModel", "changed", "reason", "actor")
	m.text("updatedAt", l.text("time"))
	m.text("eventId", l.text("eventId"))
	return nil
}
