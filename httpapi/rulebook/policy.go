package rulebook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"railguard/audit"
	"railguard/edge"
	"railguard/edge/rulebook"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// policyDocumentMax is the largest compact policy document in bytes, since the leaf holds
// it. 400 holidays and 64 windows take a quarter of it.
const policyDocumentMax = 40 * engine.KiB

// policyDraft is a policy document from a body.
type policyDraft struct {
	document []byte // Compact JSON.
	reason   string
	policy   *engine.Policy
	wrong    []engine.FieldError
}

// readPolicy reads a body that is a policy document, JSON or YAML, or an object
// with the members policy and reason. The reason may also be a query parameter.
func readPolicy(c *border.Request) (policyDraft, error) {
	if err := border.CheckLength(c); err != nil {
		return policyDraft{}, err
	}
	if err := c.ReadWhole(); err != nil {
		return policyDraft{}, err
	}
	return parsePolicy(c)
}

// parsePolicy is readPolicy for a body that was read.
func parsePolicy(c *border.Request) (policyDraft, error) {
	draft := policyDraft{reason: c.Query("reason")}
	if isYAML(c) {
		converted, err := jsonFromYAML(c.Asked.Body)
		if err != nil {
			return draft, border.NewError(http.StatusBadRequest, "invalid_json", "not valid YAML: "+err.Error())
		}
		c.Asked.Body, c.Asked.Hashed = converted, nil
	}
	if err := c.ParseBody(); err != nil {
		return draft, err
	}
	f := c.ReadFields()
	whole := &f
	if inner, ok := f.Nested("policy"); f.Has("policy") {
		if reason := f.Text("reason", engine.TextMax); reason != "" {
			draft.reason = reason
		}
		if err := f.Err(); err != nil {
			return draft, err
		}
		if !ok {
			return draft, border.InvalidField("policy", "must be an object")
		}
		whole = &inner
	}
	draft.document = whole.JSON()
	if len(draft.document) > policyDocumentMax || len(draft.reason) > engine.TextMax {
		return draft, border.TooLarge(policyDocumentMax)
	}
	draft.policy, draft.wrong = engine.ParsePolicy(draft.document, c.Published().LogTime(), c.Judge.Terms.Settings.Rules())
	return draft, nil
}

// isYAML tells YAML from JSON by the first character and by Content-Type.
func isYAML(c *border.Request) bool {
	if strings.Contains(c.RequestHeader("Content-Type"), "yaml") {
		return true
	}
	text := strings.TrimLeft(string(c.Asked.Body[:min(len(c.Asked.Body), 64)]), " \t\r\n")
	return text != "" && text[0] != '{'
}

// putPolicy is PUT /v1/policy. A change that lets through what was stopped before needs a
// reason (decision 52).
func putPolicy(c *border.Request) (border.Answer, error) {
	match, err := c.ReadIfMatch()
	if err != nil {
		return border.Answer{}, err
	}
	if err := border.CheckLength(c); err != nil {
		return border.Answer{}, err
	}
	if err := c.ReadWhole(); err != nil {
		return border.Answer{}, err
	}
	if err := c.BeginIdempotent(); err != nil { // Of the bytes as they were sent.
		return border.Answer{}, err
	}
	draft, err := parsePolicy(c)
	if err != nil {
		return border.Answer{}, err
	}
	if len(draft.wrong) > 0 {
		f := c.ReadFields()
		f.Report(draft.wrong)
		return border.Answer{}, f.Err()
	}
	return activatePolicy(c, draft, match)
}

// activatePolicy puts a policy in force. match is the version that it must replace; 0: any.
func activatePolicy(c *border.Request, draft policyDraft, match uint64) (border.Answer, error) {
	return c.AnswerRevision(wire.KindPolicy, func(j *edge.Judge) (any, error) {
		policy := rulebook.Policy{Document: draft.document, Parsed: draft.policy, Reason: draft.reason}
		return policy.Record(j, match)
	})
}

// renderPolicy answers putPolicy.
func renderPolicy(c *border.Request, l *edge.Leaf, m *strictjson.Members) error {
	m.Uint("policyVersion", l.Number("policyVersion"))
	l.CopyTo(m, "policy", "widened", "reason")
	m.Text("activatedAt", l.Text("time"))
	l.CopyTo(m, "eventId", "actorKeyId")
	c.SetHeader("ETag", border.ETag(l.Number("policyVersion")))
	return nil
}

// getPolicy is GET /v1/policy: the document as put, and the mode of every rule that has
// one.
func getPolicy(c *border.Request) (border.Answer, error) {
	policy := c.Judge.Terms.Policy()
	var m, modes strictjson.Members
	m.Uint("policyVersion", policy.Version)
	rules := c.Judge.Terms.Settings.Rules()
	m.Text("ruleSet", rules.Name)
	m.Raw("policy", policy.Document)
	for i := range rules.Rules {
		if rule := &rules.Rules[i]; rule.Verdict == engine.Review {
			modes.Text(rule.Code, policy.Modes[rule.ID].String())
		}
	}
	m.Object("modes", modes)
	m.Object("whitelist", edge.WhitelistSummary(policy.Whitelist))
	c.SetHeader("ETag", border.ETag(policy.Version))
	return c.Reply(http.StatusOK, m), nil
}

// validatePolicy is POST /v1/policy/validate: what PUT would answer, without a change.
func validatePolicy(c *border.Request) (border.Answer, error) {
	draft, err := readPolicy(c)
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	m.Bool("valid", len(draft.wrong) == 0)
	items := []strictjson.Members{}
	for _, e := range draft.wrong[:min(len(draft.wrong), strictjson.FindingsMax)] {
		var item strictjson.Members
		item.Text("param", e.Param)
		item.Text("message", e.Message)
		items = append(items, item)
	}
	m.List("errors", items)
	widens := []string{}
	if len(draft.wrong) == 0 {
		widens = append(widens, engine.Widens(c.Judge.Terms.Policy(), draft.policy)...)
	}
	m.Texts("widens", widens)
	m.Bool("needsReason", len(widens) > 0)
	m.Raw("policy", draft.document)
	return c.Reply(http.StatusOK, m), nil
}

// listPolicies is GET /v1/policy/versions: the activations that the audit log still has.
func listPolicies(c *border.Request) (border.Answer, error) {
	p, err := c.ReadRowQuery("policy")
	if err != nil {
		return border.Answer{}, err
	}
	q := audit.Query{
		From: 0, To: ^uint64(0), Newest: !p.Ascending, Examine: border.LeafScanMax,
		Keys: []uint64{engine.FilterKey(engine.FilterKind, "policy.activated")},
	}
	if p.Ascending {
		q.From = p.After
	} else if p.After != 0 {
		q.To = p.After
	}
	var items []strictjson.Members
	var failed error
	found, err := c.Records().Audit().Scan(q, func(index uint64, stored audit.Leaf) bool {
		l, err := c.Judge.OpenLeaf(index, append([]byte(nil), stored.Data...))
		if err != nil {
			failed = err
			return false
		}
		if l.Kind() == "policy.activated" {
			var m strictjson.Members
			if failed = renderPolicy(c, &l, &m); failed != nil {
				return false
			}
			items = append(items, m)
		}
		return len(items) < p.Limit
	})
	c.DropHeader("ETag") // An ETag names one version; this is a list.
	if failed != nil {
		return border.Answer{}, failed
	}
	if err != nil && len(items) == 0 {
		return border.Answer{}, edge.LeafError(err)
	}
	next := ""
	if !found.Done && found.Next != 0 {
		next = p.Cursor(found.Next)
	}
	return c.AnswerList(items, next)
}

// YAML is read only as far as a policy needs it: a tree of maps, lists and scalars.
// Aliases, tags, merges, several documents and keys that are not strings are refused, and
// so is a repeated key: two readers must not read the same text differently.

var (
	errYAMLAlias     = errors.New("aliases and merges are not taken")
	errYAMLDocuments = errors.New("one document is expected")
	errYAMLDepth     = errors.New("nested too deeply")
)

// jsonFromYAML converts one YAML document to JSON.
func jsonFromYAML(text []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%s", firstLine(err.Error()))
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errYAMLDocuments
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, errYAMLDocuments
	}
	return appendYAML(nil, document.Content[0], 1)
}

func appendYAML(dst []byte, node *yaml.Node, depth int) ([]byte, error) {
	if depth > engine.JSONDepthMax {
		return nil, errYAMLDepth
	}
	switch node.Kind {
	case yaml.MappingNode:
		return appendYAMLMap(dst, node, depth)
	case yaml.SequenceNode:
		dst = append(dst, '[')
		for i, item := range node.Content {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendYAML(dst, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case yaml.ScalarNode:
		return appendYAMLScalar(dst, node)
	}
	return nil, fmt.Errorf("line %d: %w", node.Line, errYAMLAlias)
}

func appendYAMLMap(dst []byte, node *yaml.Node, depth int) ([]byte, error) {
	if len(node.Content)/2 > engine.JSONMembersMax {
		return nil, fmt.Errorf("line %d: %w", node.Line, strictjson.ErrMembers)
	}
	seen := make(map[string]bool, len(node.Content)/2)
	dst = append(dst, '{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, fmt.Errorf("line %d: a key must be plain text", key.Line)
		}
		if seen[key.Value] {
			return nil, fmt.Errorf("line %d: the key %q stands twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendQuoted(dst, key.Value), ':')
		var err error
		if dst, err = appendYAML(dst, value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendYAMLScalar writes a scalar. A date is text: a holiday need not be quoted.
func appendYAMLScalar(dst []byte, node *yaml.Node) ([]byte, error) {
	switch node.ShortTag() {
	case "!!str", "!!timestamp":
		return strictjson.AppendQuoted(dst, node.Value), nil
	case "!!null":
		return append(dst, "null"...), nil
	case "!!bool":
		var value bool
		if err := node.Decode(&value); err != nil {
			return nil, fmt.Errorf("line %d: not a boolean", node.Line)
		}
		return strconv.AppendBool(dst, value), nil
	case "!!int", "!!float":
		// A number is copied digit by digit, so that no cent is lost.
		if _, err := engine.ParseUSD(node.Value); errors.Is(err, engine.ErrAmountSyntax) || errors.Is(err, engine.ErrAmountLong) {
			return nil, fmt.Errorf("line %d: %q is not a decimal number", node.Line, node.Value)
		}
		return append(dst, node.Value...), nil
	}
	return nil, fmt.Errorf("line %d: the tag %s is not taken", node.Line, node.Tag)
}

func firstLine(text string) string {
	for i := range len(text) {
		if text[i] == '\n' {
			return text[:i]
		}
	}
	return text
}
