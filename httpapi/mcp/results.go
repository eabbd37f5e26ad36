package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railguard/httpapi/guest"
)

// failure says why a tool has no result.
type failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Param      string `json:"param,omitempty"`
	Outcome    string `json:"outcome"` // none: nothing happened; unknown: it may have.
	RetryAfter string `json:"retryAfterSeconds,omitempty"`
	State      string `json:"state,omitempty"` // Of a payment that cannot be confirmed.
	RedeemedAt string `json:"redeemedAt,omitempty"`

	sentence string // What to say in place of the general text; "": that text.
}

// stateWord is the word for the state of the payment that a refusal is about.
func (f *failure) stateWord() string {
	if f.Code == "invalid_transition" {
		return f.State
	}
	return f.Code
}

// refusal is the failure of a call that was not sent to the API.
func refusal(code, param, message string) *failure {
	return &failure{Code: code, Param: param, Message: message, Outcome: "none"}
}

// failureOf reads from an answer why the API did not serve a call.
func failureOf(a *guest.Answer) *failure {
	f := &failure{Code: "internal_error", Message: "the service did not answer as it should", Outcome: "unknown"}
	_ = json.Unmarshal(a.Body.Bytes(), f)
	f.RetryAfter = a.Head.Get("Retry-After")
	switch {
	case a.Status >= http.StatusInternalServerError:
		if f.Outcome = a.Head.Get("X-Railguard-Outcome"); f.Outcome == "" {
			f.Outcome = "unknown"
		}
	case f.Code == "idempotency_in_flight":
		f.Outcome = "unknown"
	default:
		f.Outcome = "none"
	}
	return f
}

// result makes an error of the tool. It never allows the payment, whatever went wrong.
func (f *failure) result() *sdk.CallToolResult {
	text := f.sentence
	if text == "" {
		text = "No verdict: do not pay. " + f.Code + ": " + f.Message
	}
	if f.Outcome == "unknown" {
		text += " Whether the call was recorded is not known: repeat it with the same idempotencyKey, and do not pay meanwhile."
	}
	data, err := json.Marshal(f)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: json.RawMessage(data)}
}

// newResult makes a tool's result from a sentence for the model and the members of an
// answer.
func newResult(sentence string, data []byte) *sdk.CallToolResult {
	data = bytes.TrimSpace(data)
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: sentence}, &sdk.TextContent{Text: string(data)}}, StructuredContent: json.RawMessage(data),
	}
}

// decided are the members of a verdict that every tool reads.
type decided struct {
	Verdict string  `json:"verdict"`
	TxnID   string  `json:"txnId"`
	Rule    *string `json:"rule"`
	Reason  string  `json:"reason"`
	Permit  string  `json:"permit"`
}

// rule is the rule that decided, for a sentence.
func (d *decided) rule() string {
	if d.Rule == nil {
		return ""
	}
	return " (" + *d.Rule + ")"
}

// leave says what a verdict means to the caller of the call that it answers. No other answer may use
// it: it allows paying.
func (d *decided) leave() string {
	if d.Verdict == "PROCEED" {
		return "PROCEED: the payment may be made."
	}
	return d.sentence()
}

// sentence says what a verdict without leave means to the caller.
func (d *decided) sentence() string {
	switch d.Verdict {
	case "PROCEED":
		return "PROCEED: screen would let the payment through now."
	case "REVIEW":
		return "REVIEW" + d.rule() + ": do not pay. An officer decides; ask get_verdict until its disposition is APPROVED, then call confirm. " + d.Reason
	case "BLOCK":
		return "BLOCK" + d.rule() + ": do not pay, and do not ask again in other words. " + d.Reason
	}
	return "UNKNOWN" + d.rule() + ": do not pay. The credential is missing or no good: get one from the agent's operator. " + d.Reason
}
