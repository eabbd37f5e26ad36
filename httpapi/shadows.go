package httpapi

import (
	"encoding/json"
	"net/http"

	"railguard/edge/retrace"
	"railguard/engine"
	"railguard/fsm/wire"
)

// Shadows: what another policy or another list makes of the calls as they come, beside
// the verdicts that are given (docs/foresight.md).

func shadowRoutes() []route {
	return []route{
		{method: http.MethodPost, path: "/v1/policy/shadow", scope: scopeInstitution, roles: triesPolicies, body: bodyObject, handle: startShadow},
		{method: http.MethodGet, path: "/v1/policy/shadow", scope: scopeInstitution, roles: readsTrials, handle: listJobs(retrace.Shadow)},
		{method: http.MethodGet, path: "/v1/policy/shadow/{id}", scope: scopeInstitution, roles: readsTrials, handle: showJob(retrace.Shadow)},
		{method: http.MethodPost, path: "/v1/policy/shadow/{id}/stop", scope: scopeInstitution, roles: triesPolicies, body: bodyOptional, handle: stopJob(retrace.Shadow)},
		{method: http.MethodPost, path: "/v1/policy/shadow/{id}/promote", scope: scopeInstitution, roles: wire.RolePolicy, body: bodyOptional, handle: promoteShadow},
	}
}

// startShadow is POST /v1/policy/shadow {policy|listSnapshotId, days}.
func startShadow(c *call) (Answer, error) {
	now := c.api.deps.Published.LogTime()
	order := retrace.Order{Kind: retrace.Shadow, By: c.key.ID, Now: now, From: now}
	f := c.fields()
	most := int64(retrace.ShadowMost / engine.DayLength)
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
	if err := readTerms(c, &f, &order); err != nil {
		return Answer{}, err
	}
	return startJob(c, order)
}

// promoteShadow is POST /v1/policy/shadow/{id}/promote {reason}: the candidate becomes the
// policy in force, or its list the active one, by the same checks as PUT /v1/policy and the
// activation of a list. The shadow goes on until it is stopped: it says from then on what
// still differs.
func promoteShadow(c *call) (Answer, error) {
	f := c.fields()
	draft := policyDraft{reason: f.Text("reason", engine.TextMax)}
	actor := f.Text("actor", engine.FieldMax)
	if err := f.Err(); err != nil {
		return Answer{}, err
	}
	shown, err := askJob(c, jobQuestion{Verb: jobShow, Kind: retrace.Shadow, ID: c.r.PathValue("id")})
	if err != nil {
		return c.orReplay(err)
	}
	var job struct {
		Policy json.RawMessage `json:"policy"`
		List   string          `json:"listSnapshotId"`
	}
	if err := json.Unmarshal(shown, &job); err != nil {
		return Answer{}, err
	}
	if job.List != "" {
		info, err := knownList(c, job.List)
		if err != nil {
			return c.orReplay(err)
		}
		return activateAs(c, info, activation{reason: draft.reason, actor: actor})
	}
	draft.document = job.Policy
	draft.policy, draft.wrong = engine.ParsePolicy(draft.document, c.api.deps.Published.LogTime(), c.judge.Terms.Settings.Rules())
	if len(draft.wrong) > 0 {
		f.Report(draft.wrong)
		return Answer{}, f.Err()
	}
	return activatePolicy(c, draft, 0)
}
