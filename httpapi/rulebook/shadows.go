package rulebook

import (
	"encoding/json"
	"net/http"

	"railguard/edge"
	"railguard/edge/retrace"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/httpapi/border"
)

// A shadow judges incoming calls with another policy or another list, beside the real
// verdicts (docs/foresight.md).

func (b *Room) shadowRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodPost, Path: "/v1/policy/shadow", Handle: b.startShadow},
		{Method: http.MethodGet, Path: "/v1/policy/shadow", Handle: b.listJobs(retrace.Shadow)},
		{Method: http.MethodGet, Path: "/v1/policy/shadow/{id}", Handle: b.showJob(retrace.Shadow)},
		{Method: http.MethodPost, Path: "/v1/policy/shadow/{id}/stop", Handle: b.stopJob(retrace.Shadow)},
		{Method: http.MethodPost, Path: "/v1/policy/shadow/{id}/promote", Handle: b.promoteShadow},
	}
}

// startShadow is POST /v1/policy/shadow {policy|listSnapshotId, days}.
func (b *Room) startShadow(c *border.Request) (border.Answer, error) {
	now := c.Published().LogTime()
	order := retrace.Order{Kind: retrace.Shadow, By: c.KeyID(), Now: now, From: now}
	f := c.ReadFields()
	most := int64(retrace.ShadowMax / engine.DayLength)
	days, given := f.Integer("days", 1, most)
	if !given {
		days = most
	}
	order.To = now + engine.Time(days)*engine.DayLength
	switch policy, list := f.Has("policy"), f.Has("listSnapshotId"); {
	case !policy && !list:
		f.Missing("policy")
	case policy && list:
		f.Invalid("listSnapshotId", "is given beside policy: a shadow tries one of them")
	}
	if err := b.readTerms(c, &f, &order); err != nil {
		return border.Answer{}, err
	}
	return b.startJob(c, order)
}

// promoteShadow is POST /v1/policy/shadow/{id}/promote {reason}. The candidate becomes the policy
// in force, or its list the active one, with the same checks as PUT /v1/policy and the activation
// of a list. The shadow runs on until it is stopped, and shows what still differs.
func (b *Room) promoteShadow(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	draft := policyDraft{reason: f.Text("reason", engine.TextMax)}
	actor := f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return border.Answer{}, err
	}
	shown, err := b.askJob(c, jobQuestion{Verb: jobShow, Kind: retrace.Shadow, ID: c.PathValue("id")})
	if err != nil {
		return c.AnswerReplay(err)
	}
	var job struct {
		Policy json.RawMessage `json:"policy"`
		List   string          `json:"listSnapshotId"`
	}
	if err := json.Unmarshal(shown, &job); err != nil {
		return border.Answer{}, err
	}
	if job.List != "" {
		info, err := knownList(c, job.List)
		if err != nil {
			return c.AnswerReplay(err)
		}
		return b.activateAs(c, info, rulebook.Activation{Grounds: edge.Grounds{Reason: draft.reason, Actor: actor}})
	}
	draft.document = job.Policy
	draft.policy, draft.wrong = engine.ParsePolicy(draft.document, c.Published().LogTime(), c.Settings().Rules())
	if len(draft.wrong) > 0 {
		f.Report(draft.wrong)
		return border.Answer{}, f.Err()
	}
	return activatePolicy(c, draft, 0)
}
