package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railguard/engine"
	"railguard/engine/possession"
	"railguard/httpapi/guest"
	"railguard/ofac/identifier"
)

var toolNames = []string{"screen", "dry_run", "get_verdict", "get_limits", "explain", "confirm", "settle", "release"}

// arguments are a tool's arguments by name, unparsed.
type arguments map[string]json.RawMessage

// members describe arguments: name and JSON Schema.
type members map[string]string

const (
	text         = `{"type":"string"}`
	permitSchema = `{"type":"object","properties":{"ttlSeconds":{"type":"integer","minimum":60,"maximum":300},"aud":{"type":"string","minLength":1,"maxLength":256}},"additionalProperties":false,"description":"Ask for a permit: proof for whoever is paid. It comes in the result's _meta, for the program that pays and not for you."}`
)

// payment lists a payment's arguments, which are those of a screening call.
var payment = members{
	"token":         `{"type":"string","description":"The agent's credential, as its operator was given it."}`,
	"userToken":     `{"type":"string","description":"The user's credential, with supervised agents."}`,
	"amount":        `{"type":"number","minimum":0,"maximum":1000000000000,"description":"US dollars."}`,
	"chain":         `{"type":"string","description":"ETH, BASE, SOL, ACH, WIRE or SWIFT."}`,
	"rail":          `{"type":"string","description":"USDC, ACH, WIRE, SWIFT or IBAN."}`,
	"cpWallet":      `{"type":"string","description":"The counterparty's wallet."}`,
	"payerWallet":   `{"type":"string","description":"The wallet that pays: your own."}`,
	"wallets":       `{"type":"array","maxItems":8,"description":"Further wallets of the payment.","items":{"type":"object","properties":{"role":{"type":"string","enum":["payer","payee","intermediary","fee"]},"address":{"type":"string"}},"required":["role","address"],"additionalProperties":false}}`,
	"cpName":        `{"type":"string","description":"The counterparty's name."}`,
	"cpType":        `{"type":"string","description":"individual, business or exchange."}`,
	"cpCountry":     `{"type":"string","description":"The counterparty's country, by name or code. Tell it where you know it: an embargoed one blocks."}`,
	"cpRegion":      `{"type":"string","description":"The counterparty's region, by name or ISO 3166-2 code."}`,
	"cpDateOfBirth": `{"type":"string","description":"The counterparty's date of birth: 1962-11-23, or the year."}`,
	"cpAddress":     `{"type":"string","description":"The counterparty's postal address."}`,
	"cpIdentifiers": `{"type":"array","maxItems":8,"description":"Numbers and addresses by which the counterparty is known: its bank account, website, tax number.","items":{"type":"object","properties":{"type":{"type":"string","enum":["` + strings.Join(identifier.Words(), `","`) + `"]},"value":{"type":"string"},"country":{"type":"string"}},"required":["type","value"],"additionalProperties":false}}`,
	"originCountry": `{"type":"string","description":"From which country the payment was asked for, by name or code."}`,
	"memo":          `{"type":"string","maxLength":512,"description":"The text that travels with the payment, as the payee will read it."}`,
	"protocol":      `{"type":"string","description":"Protocol or platform of the payment."}`,
	"model":         `{"type":"string","description":"The agent's language model."}`,
	"travelRuleRef": text,
	"proof":         `{"type":"string","description":"Proof of the agent's key (railguard-proof+jwt) over all other arguments. Its jti is the idempotencyKey, which may be left out then."}`,
	"paymentRef":    `{"type":"string","maxLength":128,"description":"What is paid, such as an invoice's number: used by one payment in 30 days."}`,
}

// withMore returns these members and those of more.
func (m members) withMore(more members) members {
	all := members{}
	for _, part := range []members{m, more} {
		for name, schema := range part {
			all[name] = schema
		}
	}
	return all
}

// schema returns the schema of an object with these members only.
func (m members) schema(required ...string) json.RawMessage {
	properties := map[string]json.RawMessage{}
	for name, schema := range m {
		properties[name] = json.RawMessage(schema)
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic("BUG: the schema of a tool: " + err.Error())
	}
	return data
}

// tool is one tool. Its call returns the result, or why there is none.
type tool struct {
	name, title, description string
	takes, answers           members
	required                 []string
	writes                   bool
	call                     func(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure)
}

func (g *Guest) addTools(server *sdk.Server) {
	transaction := members{"txnId": `{"type":"string","description":"As screen returned it."}`}
	for _, t := range append([]tool{
		{
			"screen", "Screen a payment", "Ask whether a payment may be made now, before making it. The payment is recorded and counts against the agent's limits when it may. Pay on PROCEED alone.",
			payment.withMore(members{
				"idempotencyKey": `{"type":"string","minLength":1,"maxLength":255,"description":"Required without a proof. Of your own making, one for each payment; the same when a call is repeated."}`,
				"hold":           `{"type":"object","properties":{"ttlSeconds":{"type":"integer","minimum":30,"maximum":604800}},"required":["ttlSeconds"],"additionalProperties":false,"description":"Hold the amount until the payment is settled or released."}`,
				"permit":         permitSchema,
			}), verdictMembers, []string{"token", "amount"}, true, g.screenPayment,
		},
		{
			"dry_run", "Try a payment", "What screen would say of the agent's own payment now. Nothing is recorded or counted, and it is no leave to pay.",
			payment, verdictMembers, []string{"token", "amount"}, false, g.tryPayment,
		},
		{
			"get_verdict", "Read a verdict", "The verdict of an earlier payment, and the disposition of one that waits for review. It is no leave to pay: its sentence tells what became of the payment, and whether to confirm it first.",
			transaction.withMore(members{"waitSeconds": `{"type":"integer","minimum":0,"maximum":30,"description":"Of a REVIEW: wait so long for its disposition."}`}), verdictMembers, []string{"txnId"}, false, g.tellVerdict,
		},
		{
			"get_limits", "Read the limits", "What the agent has spent today, what is held, and what its limits leave.",
			members{"token": payment["token"], "proof": `{"type":"string","description":"Proof of the agent's key (railguard-proof+jwt, act dry_run) over the token."}`}, limitMembers, []string{"token"}, false, g.tellLimits,
		},
		{
			"explain", "Explain a verdict", "Which rule decided, what it is about, and what would have to change.",
			transaction, explanationMembers, []string{"txnId"}, false, g.explainVerdict,
		},
	}, g.paymentTools(transaction)...) {
		g.addTool(server, &t)
	}
}

func (g *Guest) addTool(server *sdk.Server, t *tool) {
	no := false
	server.AddTool(&sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: t.takes.schema(t.required...), OutputSchema: t.answers.outputSchema(),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !t.writes, DestructiveHint: &t.writes, IdempotentHint: true, OpenWorldHint: &no},
	}, func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		r, _ := ctx.Value(callerKey{}).(*http.Request)
		in, bad := t.readArguments(request.Params.Arguments)
		var result *sdk.CallToolResult
		if r == nil {
			bad = &failure{Code: "internal_error", Message: "the call's request is not known", Outcome: "none"}
		}
		if bad == nil {
			result, bad = t.call(ctx, r, in)
		}
		if bad != nil {
			callsTotal[t.name+"error"].Inc()
			return bad.result(), nil
		}
		callsTotal[t.name+"result"].Inc()
		return result, nil
	})
}

// readArguments splits arguments into their members and checks the names. The API checks the values.
func (t *tool) readArguments(raw json.RawMessage) (arguments, *failure) {
	in := arguments{}
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := json.Unmarshal(raw, &in); err != nil || in == nil {
		return nil, refusal("invalid_json", "", "arguments must be an object")
	}
	for name := range in {
		if t.takes[name] == "" {
			return nil, refusal("unknown_field", name, "there is no argument "+strconv.Quote(name))
		}
	}
	for _, name := range t.required {
		if isAbsent(in[name]) {
			return nil, refusal("missing_field", name, name+" is required")
		}
	}
	return in, nil
}

// isAbsent reports whether an argument was left out, or is null.
func isAbsent(value json.RawMessage) bool { return value == nil || bytes.Equal(value, []byte("null")) }

// readText returns an argument that must be a string.
func (in arguments) readText(name string) (string, *failure) {
	var value string
	if err := json.Unmarshal(in[name], &value); err != nil || value == "" {
		return "", refusal("invalid_field", name, name+" must be a string")
	}
	return value, nil
}

// body returns the arguments as the body for the API.
func (in arguments) body() []byte {
	data, err := json.Marshal(in)
	if err != nil {
		panic("BUG: arguments that were read: " + err.Error())
	}
	return data
}

func (g *Guest) screenPayment(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	ctx, proven, bad := in.takeProof(ctx)
	if bad != nil {
		return nil, bad
	}
	key := ""
	if value := in["idempotencyKey"]; !isAbsent(value) || !proven {
		if isAbsent(value) {
			return nil, refusal("missing_field", "idempotencyKey", "idempotencyKey is required")
		}
		if key, bad = in.readText("idempotencyKey"); bad != nil {
			return nil, bad
		}
	}
	delete(in, "idempotencyKey")
	a := g.askAPI(ctx, r, http.MethodPost, "/v1/screen", key, in.body())
	return g.firstHand(ctx, r, a, nil)
}

// firstHand makes the result of the answer to a call that may give leave. says makes its sentence;
// nil: the verdict's own. The answer to a repeated call gives none: the payment may have been made
// since. It tells the payment's state, and the permit again that the call had.
func (g *Guest) firstHand(ctx context.Context, r *http.Request, a *guest.Answer, says func() string) (*sdk.CallToolResult, *failure) {
	d, out, bad := readVerdict(a)
	if bad != nil {
		return nil, bad
	}
	if says == nil {
		says = d.leave
	}
	sentence := says()
	if a.Head.Get("Idempotent-Replayed") == "true" {
		record, bad := g.readRecord(ctx, r, d.TxnID, "")
		if bad != nil { // The call itself was recorded, so it is not "none".
			bad.Outcome = "unknown"
			return nil, bad
		}
		now := record.members()
		now["replayed"], sentence = json.RawMessage("true"), record.state()
		if ends, there := out["permitExpiresAt"]; there {
			now["permitExpiresAt"] = ends
		}
		out = now
	}
	result := newResult(sentence, out.body())
	if d.Permit != "" {
		result.Meta = sdk.Meta{permitMeta: d.Permit}
	}
	return result, nil
}

// takeProof takes the proof out of the arguments, and shows it to the API in ctx. It is for all other
// arguments, as they were given here.
func (in arguments) takeProof(ctx context.Context) (_ context.Context, proven bool, bad *failure) {
	if isAbsent(in[possession.ProofMember]) {
		return ctx, false, nil
	}
	proof, bad := in.readText(possession.ProofMember)
	if bad != nil {
		return ctx, false, bad
	}
	request, err := new(possession.Canonicaliser).RequestHash(in.body(), engine.JSONDepthMax)
	switch {
	case errors.Is(err, possession.ErrNumber):
		return ctx, false, refusal("invalid_amount", "amount", "a number of a proven request must have at most 15 significant digits")
	case err != nil:
		return ctx, false, refusal("invalid_field", possession.ProofMember, "the arguments have no canonical form (RFC 8785)")
	}
	delete(in, possession.ProofMember)
	return guest.Proving(ctx, &guest.Proof{Text: proof, Request: request}), true, nil
}

func (g *Guest) tryPayment(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	ctx, _, bad := in.takeProof(ctx)
	if bad != nil {
		return nil, bad
	}
	d, out, bad := readVerdict(g.askAPI(ctx, r, http.MethodPost, "/v1/screen/dry-run", "", in.body()))
	if bad != nil {
		return nil, bad
	}
	return newResult("Tried only, no leave to pay: "+d.sentence(), out.body()), nil
}

// shown are the members of the API's answers that a tool passes on. None of them is behind
// the tipping-off wall, even where the key may see more.
var shown = []string{"dryRun", "verdict", "txnId", "rule", "reason", "agentId", "agentName", "operatorLegalName", "credentialStatus", "screenedAt", "confirmedAt", "hold", "permitExpiresAt", "payment", "lateSettlement", "approval",
	"payBy", "confirmable", "confirmableReason",
	"ruleSet", "policyVersion", "listVersion", "index", "warnings"}

// passMembers returns the members of an answer that may be shown; false: the answer is no
// object.
func passMembers(data []byte, shown []string) (arguments, bool) {
	var all arguments
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, false
	}
	out := arguments{}
	for _, name := range shown {
		if value, there := all[name]; there {
			out[name] = value
		}
	}
	return out, true
}

// readVerdict reads an answer with a verdict, and the members of it that may be shown.
func readVerdict(a *guest.Answer) (*decided, arguments, *failure) {
	if a.Status != http.StatusOK {
		return nil, nil, failureOf(a)
	}
	d := &decided{}
	out, ok := passMembers(a.Body.Bytes(), shown)
	if err := json.Unmarshal(a.Body.Bytes(), d); err != nil || !ok || d.Verdict == "" {
		return nil, nil, failureOf(&guest.Answer{Status: http.StatusInternalServerError})
	}
	return d, out, nil
}

// permitMeta names the permit in the metadata of a result, which models are not shown.
const permitMeta = "railguard/permit"

// transaction returns the argument txnId.
func (in arguments) transaction() (string, *failure) {
	id, bad := in.readText("txnId")
	if bad == nil && !idPattern.MatchString(id) {
		bad = refusal("not_found", "txnId", "no such transaction")
	}
	return id, bad
}

// readRecord reads a transaction's record as the API shows it.
func (g *Guest) readRecord(ctx context.Context, r *http.Request, id, query string) (*recorded, *failure) {
	a := g.askAPI(ctx, r, http.MethodGet, "/v1/audit/"+id+query, "", nil)
	if a.Status != http.StatusOK {
		return nil, failureOf(a)
	}
	record := &recorded{answer: a.Body.Bytes()}
	if err := json.Unmarshal(record.answer, record); err != nil || record.Verdict == "" {
		return nil, failureOf(&guest.Answer{Status: http.StatusInternalServerError})
	}
	return record, nil
}

var idPattern = regexp.MustCompile(`^[a-z]{3}_[0-9A-Za-z]{1,64}$`)

func (g *Guest) tellVerdict(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	query := ""
	if raw, given := in["waitSeconds"]; given {
		var seconds int
		if err := json.Unmarshal(raw, &seconds); err != nil || seconds < 0 || seconds > 30 {
			return nil, refusal("invalid_field", "waitSeconds", "waitSeconds must be a whole number from 0 to 30")
		}
		query = "?wait=" + strconv.Itoa(seconds)
	}
	d, bad := g.readArgument(ctx, r, in, query)
	if bad != nil {
		return nil, bad
	}
	return newResult(d.state(), d.members().body()), nil
}

// readArgument reads the record of the transaction that the argument txnId names.
func (g *Guest) readArgument(ctx context.Context, r *http.Request, in arguments, query string) (*recorded, *failure) {
	id, bad := in.transaction()
	if bad != nil {
		return nil, bad
	}
	return g.readRecord(ctx, r, id, query)
}

// members are those of a record that may be shown. An escalation looks like a review that nobody has
// decided.
func (d *recorded) members() arguments {
	out, _ := passMembers(d.answer, shown) // It parsed as an object when its verdict was read.
	if d.Verdict == "REVIEW" {
		out["disposition"] = json.RawMessage("null")
		if d.Disposition == "APPROVED" || d.Disposition == "REJECTED" {
			out["disposition"] = json.RawMessage(strconv.Quote(d.Disposition))
		}
	}
	return out
}

// tellLimits reads the limits of the agent that a credential names. It first makes a dry
// run without an amount, to learn whether the credential is valid and whose it is. A proof is for that
// dry run, over what the caller told.
func (g *Guest) tellLimits(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	ctx, _, bad := in.takeProof(ctx)
	if bad != nil {
		return nil, bad
	}
	in["amount"] = json.RawMessage("0")
	a := g.askAPI(ctx, r, http.MethodPost, "/v1/screen/dry-run", "", in.body())
	if a.Status != http.StatusOK {
		return nil, failureOf(a)
	}
	var whose struct {
		decided
		AgentID string `json:"agentId"`
	}
	if err := json.Unmarshal(a.Body.Bytes(), &whose); err != nil || whose.Verdict == "UNKNOWN" || whose.AgentID == "" {
		return nil, refusal("invalid_field", "token", "the credential is no good: "+whose.Reason)
	}
	a = g.askAPI(ctx, r, http.MethodGet, "/v1/agents/"+url.PathEscape(whose.AgentID)+"/limits", "", nil)
	if a.Status != http.StatusOK {
		return nil, failureOf(a)
	}
	return newResult("What the agent may still pay today, in US dollars. It is no leave to pay: ask screen.", a.Body.Bytes()), nil
}

// explainVerdict says which rule decided and what that rule is about, as far as it is public.
func (g *Guest) explainVerdict(ctx context.Context, r *http.Request, in arguments) (*sdk.CallToolResult, *failure) {
	d, bad := g.readArgument(ctx, r, in, "")
	if bad != nil {
		return nil, bad
	}
	out := map[string]any{"verdict": d.Verdict, "txnId": d.TxnID, "rule": d.Rule, "reason": d.Reason, "advice": d.state()}
	if d.Rule != nil {
		for i := range engine.Rules {
			if rule := &engine.Rules[i]; rule.Code == *d.Rule {
				out["trigger"], out["settings"] = rule.Trigger, rule.Params
			}
		}
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return newResult(d.state(), data), nil
}
