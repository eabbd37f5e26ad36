package redteam

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"railguard/bench/conformance"
)

// passHold lets log time pass the end of a payment's hold, and waits until its end is in the log.
func (w *world) passHold(e conformance.Examiner, txn, advance string) (state string) {
	w.must(e, w.root, "POST", "/v1/test/clock", obj{"advance": advance})
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		record := e.Call(conformance.Sent{Method: "GET", Path: "/v1/audit/" + txn, Key: w.root})
		if state = record.Text("payment.state"); state != "" && state != "held" {
			return state
		}
		e.Must(time.Since(began) < 10*time.Second, "the stage: the hold of %s does not end: %s", txn, record.Raw)
	}
}

// forgottenHold: a hold that its spender forgets goes on counting (T1).
func (w *world) forgottenHold(e conformance.Examiner) {
	for _, owner := range []*party{w.house, w.a, w.c} {
		key := owner.keys["screener"]
		agent := w.must(e, w.root, "POST", "/v1/agents/register", obj{"agentName": e.Name("payer"), "agentType": "supervised", "operatorLegalName": w.a.name, "purpose": "redteam", "spendPolicy": obj{"dailyLimitUSDC": 1000}})
		pay := func(amount string) *conformance.Answer {
			return w.must(e, key, "POST", "/v1/screen", obj{"token": agent.Text("token"), "amount": json.Number(amount), "hold": obj{"ttlSeconds": 30}})
		}
		paid := pay("1000")
		e.Must(paid.Text("verdict") == "PROCEED", "the stage: %s", paid.Raw)
		state := w.passHold(e, paid.Text("txnId"), "1m")
		e.Expect(state == "unresolved", "a hold that nobody ended is %s", state)
		for verb, body := range map[string]obj{"release": {"reason": "payment failed"}, "settle": {"amount": 0}} {
			a := w.call(e, key, "POST", "/v1/transactions/"+paid.Text("txnId")+"/"+verb, body)
			e.Expect(a.Refused(), "its spender can %s it: %d", verb, a.Status)
		}
		next := pay("1")
		e.Expect(next.Text("verdict") == "REVIEW", "a hold that its spender forgot does not count: %s", next.Raw)
	}
}

// tools: over MCP a spender takes nothing back, whatever tools it is offered, and a hold that it
// forgets counts (T1).
func (w *world) tools(e conformance.Examiner) {
	ask := func(key, method string, params any) *conformance.Answer {
		return e.Call(conformance.Sent{Method: "POST", Path: "/mcp", Key: key, Body: obj{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, Header: map[string]string{"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18"}})
	}
	agent := w.must(e, w.root, "POST", "/v1/agents/register", obj{"agentName": e.Name("payer"), "agentType": "supervised", "operatorLegalName": w.a.name, "purpose": "redteam", "spendPolicy": obj{"dailyLimitUSDC": 10}})
	token := agent.Text("token")
	call := func(key, tool string, arguments obj) string {
		arguments["idempotencyKey"] = newWord("order-")
		if tool == "screen" {
			arguments["token"] = token
		}
		return string(ask(key, "tools/call", obj{"name": tool, "arguments": arguments}).Raw)
	}
	screened := call(w.a.keys["screener"], "screen", obj{"amount": 10, "hold": obj{"ttlSeconds": 30}})
	e.Must(strings.Contains(screened, "PROCEED"), "the stage: MCP does not screen: %s", screened)
	listed := string(ask(w.a.keys["screener"], "tools/list", obj{}).Raw)
	e.Must(strings.Contains(listed, "dry_run"), "the stage: MCP lists no tools: %s", listed)
	txn := txnShape.FindString(screened)
	for tool, arguments := range map[string]obj{"release": {"txnId": txn, "reason": "payment failed"}, "settle": {"txnId": txn, "amount": 0}} {
		said := call(w.a.keys["screener"], tool, arguments)
		e.Expect(strings.Contains(said, `"isError":true`) && strings.Contains(said, "settler_required"), "the tool %s takes a payment back: %s", tool, said)
	}
	w.passHold(e, txn, "5m")
	next := call(w.a.keys["screener"], "screen", obj{"amount": 1})
	e.Expect(strings.Contains(next, "REVIEW"), "a hold that was forgotten over MCP does not count: %s", next)
	for _, h := range w.holders() {
		if h.role == "screener" || h.role == "admin" {
			continue
		}
		said := strings.ReplaceAll(call(h.key, "screen", obj{"amount": 1}), `"txnId":null`, "")
		e.Expect(!strings.Contains(said, `"txnId"`) && !strings.Contains(said, `txn_`), "%s of %s screens over MCP: %s", h.role, h.kind, said)
	}
}

var txnShape = regexp.MustCompile(`txn_[0-9A-Za-z]{8}`)
