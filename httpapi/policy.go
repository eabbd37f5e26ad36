package httpapi

import (
	"net/http"
	"strings"

	"railguard/audit"
	"railguard/engine"
	"railguard/fsm/wire"
)

// policyDocumentMax is the size of a compact policy document: it is part of its
// leaf. 400 holidays and 64 windows take a quarter of it.
const policyDocumentMax = 40 * engine.KiB

// policyDraft is a policy document as a body carried it.
type policyDraft struct {
	document []byte // Compact JSON.
	reason   string
	policy   *engine.Policy
	wrong    []engine.FieldError
}

// readPolicy reads a body that is a policy document, JSON or YAML, or an object
// with the members policy and reason. The reason may also be a query parameter.
func (c *call) readPolicy() (policyDraft, error) {
	draft := policyDraft{reason: c.query("reason")}
	if c.r.ContentLength > c.route.max {
		return draft, tooLarge(c.route.max)
	}
	if err := c.slurp(); err != nil {
		return draft, err
	}
	if c.isYAML() {
		converted, err := jsonFromYAML(c.body)
		if err != nil {
			return draft, failure(http.StatusBadRequest, "invalid_json", "not valid YAML: "+err.Error())
		}
		c.body = converted
	}
	if err := c.parseBody(); err != nil {
		return draft, err
	}
	value := c.object
	f := c.fields()
	if inner, ok := f.nested("policy"); f.has("policy") {
		if reason := f.text("reason", engine.TextMax); reason != "" {
			draft.reason = reason
		}
		if err := f.err(); err != nil {
			return draft, err
		}
		if !ok {
			return draft, invalidField("policy", "must be an object")
		}
		value = inner.object
	}
	draft.document = appendObject(nil, value)
	if len(draft.document) > policyDocumentMax || len(draft.reason) > engine.TextMax {
		return draft, tooLarge(policyDocumentMax)
	}
	draft.policy, draft.wrong = engine.ParsePolicy(draft.document, c.api.deps.Published.LogTime())
	return draft, nil
}

// isYAML tells YAML from JSON by its first sign, and by Content-Type.
func (c *call) isYAML() bool {
	if strings.Contains(c.r.Header.Get("Content-Type"), "yaml") {
		return true
	}
	text := strings.TrimLeft(string(c.body[:min(len(c.body), 64)]), " \t\r\n")
	return text != "" && text[0] != '{'
}

// parseBody passes c.body through the gate and the parser, as readBody does for
// routes whose body is JSON in any case.
func (c *call) parseBody() error {
	if err := c.gate.check(c.body); err != nil {
		return failure(http.StatusBadRequest, "invalid_json", err.Error())
	}
	value, err := c.parser.ParseBytes(c.body)
	if err != nil {
		return failure(http.StatusBadRequest, "invalid_json", errJSONSyntax.Error())
	}
	if c.object, err = value.Object(); err != nil {
		return failure(http.StatusBadRequest, "invalid_json", errJSONTop.Error())
	}
	return nil
}

// putPolicy is PUT /v1/policy. Whatever lets through what was stopped before
// needs a reason (decisions 5.22).
func putPolicy(c *call) error {
	match, err := c.ifMatch()
	if err != nil {
		return err
	}
	draft, err := c.readPolicy()
	if err != nil {
		return err
	}
	if len(draft.wrong) > 0 {
		f := c.fields()
		f.report(draft.wrong)
		return f.err()
	}
	return c.revise(wire.KindPolicy, func() (any, error) {
		current := c.edge.settings.Policy
		if match != 0 && match != current.Version {
			return nil, versionMismatch(current.Version)
		}
		widened := engine.Widens(current, draft.policy)
		if len(widened) > 0 && strings.TrimSpace(draft.reason) == "" {
			return nil, reasonMissing(widened)
		}
		var m members
		m.raw("policy", draft.document)
		m.texts("widened", widened)
		m.textOrNull("reason", draft.reason)
		record := &wire.PolicyPut{Base: current.Version, Policy: *draft.policy}
		var err error
		record.Common, err = c.recorded(m)
		return record, err
	})
}

// reasonMissing names what is wider.
func reasonMissing(widened []string) *Error {
	e := &Error{
		Status: http.StatusUnprocessableEntity, Code: "missing_field", Param: "reason",
		Message: "reason is required: the policy lets through what was stopped before",
	}
	for _, param := range widened {
		e.Details = append(e.Details, Detail{Param: param, Message: "is wider than before"})
	}
	return e
}

// renderPolicy answers putPolicy.
func renderPolicy(c *call, l *leaf, m *members) error {
	m.uint("policyVersion", l.number("policyVersion"))
	l.copyTo(m, "policy", "widened", "reason")
	m.text("activatedAt", l.text("time"))
	l.copyTo(m, "eventId", "actorKeyId")
	c.header("ETag", etag(l.number("policyVersion")))
	return nil
}

// getPolicy is GET /v1/policy: the document as put, and the mode of every rule
// that has one.
func getPolicy(c *call) error {
	policy := c.edge.settings.Policy
	var m, modes members
	m.uint("policyVersion", policy.Version)
	m.text("ruleSet", engine.RuleSet)
	m.raw("policy", policy.Document)
	for i := range engine.Rules {
		if rule := &engine.Rules[i]; rule.Verdict == engine.Review {
			modes.text(rule.Code, policy.Modes[rule.ID].String())
		}
	}
	m.object("modes", modes)
	m.object("whitelist", whitelistSummary(policy.Whitelist))
	c.header("ETag", etag(policy.Version))
	c.reply(http.StatusOK, m)
	return nil
}

// validatePolicy is POST /v1/policy/validate: what PUT would say, without doing it.
func validatePolicy(c *call) error {
	draft, err := c.readPolicy()
	if err != nil {
		return err
	}
	var m members
	m.bool("valid", len(draft.wrong) == 0)
	items := []members{}
	for _, e := range draft.wrong[:min(len(draft.wrong), fieldErrorsMax)] {
		var item members
		item.text("param", e.Param)
		item.text("message", e.Message)
		items = append(items, item)
	}
	m.list("errors", items)
	widens := []string{}
	if len(draft.wrong) == 0 {
		widens = append(widens, engine.Widens(c.edge.settings.Policy, draft.policy)...)
	}
	m.texts("widens", widens)
	m.bool("needsReason", len(widens) > 0)
	m.raw("policy", draft.document)
	c.reply(http.StatusOK, m)
	return nil
}

// listPolicies is GET /v1/policy/versions: the activations that the audit log
// still holds.
func listPolicies(c *call) error {
	p, err := c.page("policy")
	if err != nil {
		return err
	}
	q := audit.Query{
		From: 0, To: ^uint64(0), Newest: !p.ascending, Examine: leafScanMax,
		Keys: []uint64{engine.FilterKey(engine.FilterKind, "policy.activated")},
	}
	if p.ascending {
		q.From = p.after
	} else if p.after != 0 {
		q.To = p.after
	}
	var items []members
	var failed error
	found, err := c.api.deps.Records.Audit().Scan(q, func(index uint64, stored audit.Leaf) bool {
		l, err := c.openLeaf(index, append([]byte(nil), stored.Data...))
		if err != nil {
			failed = err
			return false
		}
		if l.kind() == "policy.activated" {
			var m members
			if failed = renderPolicy(c, &l, &m); failed != nil {
				return false
			}
			items = append(items, m)
		}
		return len(items) < p.limit
	})
	c.w.Header().Del("ETag") // Of one version; this is a list.
	if failed != nil {
		return failed
	}
	if err != nil && len(items) == 0 {
		return leafError(err)
	}
	next := ""
	if !found.Done && found.Next != 0 {
		next = rowCursor(p.cursorKind(), found.Next)
	}
	return c.list(items, next)
}
