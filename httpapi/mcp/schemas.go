package mcp

import "encoding/json"

// What a tool's result holds is declared: a client that checks results against the schema finds each
// member. Schemas are open, because answers within a version of the API may grow.

const (
	number       = `{"type":"number"}`
	maybeNumber  = `{"type":["number","null"]}`
	maybeText    = `{"type":["string","null"]}`
	truth        = `{"type":"boolean"}`
	whole        = `{"type":"integer"}`
	anObject     = `{"type":"object"}`
	listOfAny    = `{"type":"array","items":{"type":"object"}}`
	limitsObject = `{"type":"object","properties":{"dailyLimitUSDC":{"type":["number","null"]},"spentUSDC":{"type":"number"},"heldUSDC":{"type":"number"},"remainingUSDC":{"type":["number","null"]}}}`
)

var (
	// failureMembers are those of a result that is an error.
	failureMembers = members{"code": text, "message": text, "param": text, "outcome": `{"type":"string","enum":["none","unknown"]}`, "retryAfterSeconds": text, "state": text, "redeemedAt": text}

	// verdictMembers are those of a result with a verdict (shown).
	verdictMembers = members{
		"verdict": `{"type":"string","enum":["PROCEED","REVIEW","BLOCK","UNKNOWN"]}`, "dryRun": truth, "txnId": text, "rule": maybeText, "reason": text, "agentId": text, "agentName": text,
		"operatorLegalName": text, "credentialStatus": text, "screenedAt": text, "confirmedAt": text,
		"hold":            `{"type":"object","properties":{"state":{"type":"string"},"amount":{"type":"number"},"expiresAt":{"type":"string"}}}`,
		"permitExpiresAt": text,
		"payment":         `{"type":"object","properties":{"state":{"type":"string"},"amount":{"type":"number"},"eventId":{"type":"string"},"time":{"type":"string"}}}`,
		"lateSettlement":  anObject, "approval": `{"type":"object","properties":{"state":{"type":"string"},"until":{"type":"string"}}}`, "payBy": text, "confirmable": truth, "confirmableReason": text,
		"disposition": maybeText, "replayed": truth, "ruleSet": text, "policyVersion": whole, "listVersion": whole, "index": whole, "warnings": listOfAny,
	}

	// endingMembers are those of a settle or a release (endings).
	endingMembers = members{
		"txnId": text, "state": text, "amount": number, "countedUSDC": number, "railRef": text, "reason": text, "late": truth, "overLimit": truth, "notAllowed": truth,
		"forwarded": truth, "unpermitted": truth, "eventId": text, "time": text, "unchanged": truth,
	}

	// limitMembers are those of GET /v1/agents/{id}/limits.
	limitMembers = members{
		"agentId": text, "date": text, "dailyLimitUSDC": maybeNumber, "spentUSDC": number, "heldUSDC": number, "remainingUSDC": maybeNumber, "maxSingleTxUSDC": maybeNumber,
		"fleet": `{"type":["object","null"]}`, "operator": limitsObject, "ancestors": listOfAny, "availableUSDC": maybeNumber, "asOfIndex": whole,
	}

	// explanationMembers are those of an explanation.
	explanationMembers = members{
		"verdict": verdictMembers["verdict"], "txnId": text, "rule": maybeText, "reason": text, "advice": text, "trigger": text, "settings": text,
	}
)

// outputSchema returns the schema of a tool's results.
func (m members) outputSchema() json.RawMessage {
	properties := map[string]json.RawMessage{}
	for name, schema := range m.withMore(failureMembers) {
		properties[name] = json.RawMessage(schema)
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		panic("BUG: the schema of a tool's results: " + err.Error())
	}
	return data
}
