package description

var paymentsOperations = []Operation{
	{
		Name: "screen", Route: "POST /v1/screen", Tag: "screening", Scope: Owner, Roles: "screener",
		Summary:    "Judge a payment: one verdict, recorded on a quorum",
		Parameters: "timeout minIndex idempotencyKey strict",
		Body:       &Body{Of: ScreeningCall{}, Example: `{"token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNjLXYxIiwi...", "amount": 1}`},
		Answers:    []Answer{{Status: 200, Of: Screening{}, Example: `{"verdict": "PROCEED", "txnId": "txn_DnESDdVG", "rule": null, "reason": "No rule was triggered; all 25 rules passed.", "agentId": "agt_rfq3ao3wofwz", "agentName": "Bot", "operatorLegalName": "Acme Inc", "credentialStatus": "ACTIVE", "ofacSource": "kv:sample", "screenedAt": "2026-03-23T03:33:28.589Z", "latencyMs": 0.379, "ruleSet": "2026.1", "policyVersion": 1, "listVersion": 1, "index": 16}`, Headers: "Replayed Timing"}},
		Refusals:   "409",
		Codes:      Codes{400: "missing_token missing_amount invalid_amount invalid_field unknown_field", 409: "limit_reached", 422: "invalid_field", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "dryRun", Look: "dry_run", Route: "POST /v1/screen/dry-run", Tag: "screening", Scope: Owner, Roles: "screener reviewer policy",
		Summary:    "Judge a payment without a record, a debit or a counter",
		Text:       "A key with the role screener alone is answered what the call itself would tell it.",
		Parameters: "timeout minIndex idempotencyKey strict",
		Body:       &Body{Of: ScreeningCall{}, Example: `{"token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNjLXYxIiwi...", "amount": 1, "cpName": "Ambrose Quillfeather", "cpDateOfBirth": "23 Nov 1962"}`},
		Answers:    []Answer{{Status: 200, Of: DryRun{}, Headers: "Replayed Timing"}},
		Refusals:   "409",
		Codes:      Codes{400: "missing_token missing_amount invalid_amount invalid_field unknown_field", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "screenBatch", Route: "POST /v1/screen/batch", Tag: "screening", Scope: Owner, Roles: "screener",
		Summary:    "Judge up to 256 payments, each as a call of its own",
		Parameters: "timeout minIndex strict",
		Body: &Body{Of: struct {
			_        struct{} `free:"as ScreeningCall"`
			Payments []any    `json:"payments" each:"{\"x-each\": \"each is judged by itself: #/components/schemas/BatchPayment\", \"description\": \"A BatchPayment. What is wrong with one is its own result, not the batch's.\"}" items:"1-BatchMax"`
		}{}, Example: `{"payments": [{"token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNjLXYxIiwi...", "amount": 1, "idempotencyKey": "a"}, {"token": "x", "amount": 1}]}`},
		Answers: []Answer{{Status: 200, Of: struct {
			Results  []BatchResult   `json:"results"`
			Warnings []UnknownMember `json:"warnings,omitempty"`
		}{}, Example: `{"results": [{"status": 200, "verdict": "PROCEED", "txnId": "txn_q13Dd1Ez", "rule": null, "reason": "No rule was triggered; all 25 rules passed.", "agentId": "agt_rfq3ao3wofwz", "agentName": "Bot", "operatorLegalName": "Acme Inc", "credentialStatus": "ACTIVE", "ofacSource": "kv:sample", "screenedAt": "2026-03-22T03:33:28.589Z", "latencyMs": 1.097, "ruleSet": "2026.1", "policyVersion": 2, "listVersion": 1, "index": 15}, {"status": 200, "verdict": "UNKNOWN", "txnId": "txn_DnESDdVG", "rule": "R1_NO_CREDENTIAL", "reason": "No credential: the token is not a well-formed ES256 JWT.", "screenedAt": "2026-03-22T03:33:28.589Z", "latencyMs": 1.105, "ruleSet": "2026.1", "policyVersion": 2, "listVersion": 1, "index": 15}]}`, Headers: "Timing"}},
		Codes: Codes{400: "unknown_field", 422: "missing_field invalid_field"},
	},
	{
		Name: "screenStream", Route: "POST /v1/screen/stream", Tag: "screening", Scope: Owner, Roles: "screener",
		Summary:    "Judge payments as they come, over one open connection",
		Text:       "Body and answer are lines and open at the same time (HTTP/2, or HTTP/1.1 in both directions at once). Each line of the body is a BatchPayment. Each has its answer, a StreamResult, as soon as it has a verdict; the order may differ, and the lines of the body are counted from 1. Judgement, record and limits are those of a single call; the deadline is that of each line. Empty lines say nothing and keep the connection open, in both directions. The last line of the answer is a StreamEnd: it says how many lines were read. All of them are answered before it; of later lines nothing happened. Without it the connection broke: send what has no answer again, with its idempotencyKey. What comes faster than the rate of the key allows waits, 30 seconds at most, and the connection is read more slowly.",
		Parameters: "timeout minIndex strict",
		Body:       &Body{Lines: true, Of: ""},
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "application/x-ndjson", Of: ""}}}},
		Codes:      Codes{400: "unknown_field"},
	},
	{
		Name: "findPayment", Route: "GET /v1/transactions", Tag: "screening", Scope: Owner, Roles: "screener settler viewer",
		Summary:    "The record that uses a payment reference of the caller's owner",
		Parameters: "consistency timeout minIndex",
		Query: []Parameter{
			{Name: "paymentRef", Of: "", Tags: `length:"1-128" pattern:"^[\\x20-\\x7e]+$"`, Required: true},
		},
		Answers:  []Answer{{Status: 200, Of: Record{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "listUnresolved", Route: "GET /v1/transactions/unresolved", Tag: "screening", Scope: Owner, Roles: "screener settler reviewer auditor ops viewer",
		Summary:    "Payments that still count and of which nobody has said what became of them",
		Text:       "A hold or an approval that nobody ended becomes unresolved at its end. A settler settles or releases it while its record is kept.",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "agentId", Of: ""},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []UnresolvedPayment `json:"data"`
			NextCursor *string             `json:"nextCursor"`
			AsOfIndex  int64               `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "settlePayment", Route: "POST /v1/transactions/{txnId}/settle", Tag: "screening", Scope: Owner, Roles: "settler screener",
		Summary:    "Say that a payment was made",
		Text:       "Less than what was allowed is said by a settler's key that did not screen the payment, unless the policy says settlement: self.",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Amount  *Number `json:"amount,omitempty" range:"0-1000000000000" doc:"What was paid, in USDC; without it, the recorded amount."`
			RailRef *string `json:"railRef,omitempty" length:"-FieldMax" doc:"What the rail calls the payment: a transaction hash, a bank's reference."`
		}{}, Example: `{"amount": 15, "railRef": "0xabc"}`},
		Answers:  []Answer{{Status: 200, Of: Settlement{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{403: "settler_required", 404: "not_found", 409: "approval_lapsed", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "releasePayment", Route: "POST /v1/transactions/{txnId}/release", Tag: "screening", Scope: Owner, Roles: "settler screener",
		Summary:    "Say that a payment was not made",
		Text:       "By a settler's key that did not screen the payment, unless the policy says settlement: self.",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason string `json:"reason" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"reason": "payment_failed"}`},
		Answers:  []Answer{{Status: 200, Of: Settlement{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{403: "settler_required", 404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "confirmPayment", Route: "POST /v1/transactions/{txnId}/confirm", Tag: "screening", Scope: Owner, Roles: "screener",
		Summary:    "Judge a recorded payment again before it is made",
		Text:       "By the list, the policy and the state of now; nothing is counted twice. A PROCEED can be confirmed while its hold is open, without one until the end of the next UTC day; a REVIEW after its approval, until that ends. A BLOCK gives back what nobody had leave to make; anything else goes on counting until a settler says what became of it.",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body:       &Body{Of: ConfirmCall{}, Example: `{"permit": {"aud": "https://pay.example.org"}}`},
		Answers:    []Answer{{Status: 200, Of: Confirmation{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{400: "invalid_field", 404: "not_found", 409: "approval_lapsed permit_used limit_reached invalid_transition", 422: "unknown_field invalid_field"},
	},
	{
		Name: "redeemPermit", Route: "POST /v1/permits/redeem", Tag: "screening", Scope: Owner, Roles: "screener gateway",
		Summary:    "Take the leave of a permit, once",
		Text:       "The BLOCK rules are judged again, and the payment is consumed: one call gets 200 with the state redeemed, all others 409 permit_used. After a lost answer, retry with the same Idempotency-Key.",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Permit string     `json:"permit" doc:"As it was given to the agent."`
			Pay    *PayStated `json:"pay,omitempty" doc:"The payment that is about to be made. Where the permit is for another one, nothing is redeemed."`
		}{}, Example: `{"permit": "eyJhbGciOiJFUzI1NiIsImtpZCI6InBtLXYxIiwidHlwIjoicmFpbGd1YXJkLXBlcm1pdCtqd3QifQ...", "pay": {"amount": "25", "chain": "BASE", "rail": "USDC", "payee": "0x209693bc6afc0c5328ba36faf03c514ef312287c"}}`},
		Answers:  []Answer{{Status: 200, Of: Redemption{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{409: "permit_expired permit_used approval_lapsed invalid_transition", 422: "permit_invalid permit_mismatch unknown_field missing_field invalid_field"},
	},
	{
		Name: "x402Supported", Route: "GET /x402/supported", Tag: "x402", Scope: Owner, Roles: "any", Guest: "x402",
		Summary:  "What can be paid over x402, where the facilitator is switched on",
		Text:     "What the facilitator behind supports, less what cannot be screened. docs/x402.md has the whole.",
		Answers:  []Answer{{Status: 200, Of: X402Supported{}, Example: `{"kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:8453"}], "extensions": ["railguard"], "signers": {}}`, Headers: "-"}},
		Bare:     true,
		Refusals: "400 401",
		Codes:    Codes{401: "bad_request"},
	},
	{
		Name: "x402Verify", Route: "POST /x402/verify", Tag: "x402", Scope: Owner, Roles: "screener", Guest: "x402",
		Summary:    "Screen an x402 payment with a hold, and have the facilitator behind verify it",
		Text:       "Whatever becomes of the payment is told by 200, since a client of the protocol that meets an error tries another facilitator.",
		Parameters: "x402Token",
		Body:       &Body{Of: X402Call{}},
		Answers:    []Answer{{Status: 200, Text: "Valid or not, and why.", Of: X402Verified{}, Example: `{"isValid": false, "invalidReason": "railguard_block", "invalidMessage": "R6_COUNTERPARTY_WALLET_OFAC (txn_DnESDdVG)", "payer": "0x857b06519E91e3A54538791bDbb0E22373e36b66", "extensions": {"railguard": {"verdict": "BLOCK", "txnId": "txn_DnESDdVG", "rule": "R6_COUNTERPARTY_WALLET_OFAC"}}}`, Headers: "-"}},
		Bare:       true,
		Refusals:   "400 401",
		Codes:      Codes{401: "bad_request"},
	},
	{
		Name: "x402Settle", Route: "POST /x402/settle", Tag: "x402", Scope: Owner, Roles: "screener", Guest: "x402",
		Summary:    "Judge an x402 payment again, in the log, and have the facilitator behind settle it",
		Text:       "As for verify, 200 tells what became of it. A payment is sent on once, however often and wherever it is asked for.",
		Parameters: "x402Token",
		Body:       &Body{Of: X402Call{}},
		Answers:    []Answer{{Status: 200, Text: "Settled or not, and why.", Of: X402Settled{}, Example: `{"success": true, "payer": "0x857b06519E91e3A54538791bDbb0E22373e36b66", "transaction": "0x0001", "network": "eip155:8453", "extensions": {"railguard": {"verdict": "PROCEED", "txnId": "txn_DnESDdVG"}}}`, Headers: "-"}},
		Bare:       true,
		Refusals:   "400 401",
		Codes:      Codes{401: "bad_request"},
	},
	{
		Name: "mcp", Route: "POST /mcp", Tag: "mcp", Scope: Owner, Roles: "screener", Guest: "mcp",
		Summary: "The Model Context Protocol, where it is switched on",
		Text:    "One JSON-RPC message a call, without sessions. The tools and their arguments stand in docs/mcp.md, and tools/list says them.",
		Body:    &Body{Of: McpCall{}, Example: `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_limits", "arguments": {"token": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImNjLXYxIiwi..."}}}`},
		Answers: []Answer{
			{Status: 200, Text: "The answer to the message.", Of: McpAnswer{}, Headers: "-"},
			{Status: 202, Text: "The message wants no answer.", Headers: "-"},
			{Status: 400, Text: "No message of the protocol, more than one, or one that may be read in two ways; or there is a query.", Of: GuestError{}, Headers: "-", Media: []Media{{Type: "text/plain", Of: ""}}},
			{Status: 413, Text: "More than 128 KiB.", Headers: "-", Media: []Media{{Type: "text/plain", Of: ""}}},
			{Status: 403, Text: "The key lacks the role screener, or a page of another origin calls.", Of: GuestError{}, Headers: "-Challenge", Media: []Media{{Type: "text/plain", Of: ""}}},
		},
		Bare:     true,
		Refusals: "401",
	},
	{
		Name: "protectedResource", Route: "GET /.well-known/oauth-protected-resource", Tag: "mcp", Scope: Public, Guest: "mcp",
		Summary: "Whose keys /mcp takes (RFC 9728)",
		Answers: []Answer{{Status: 200, Of: ProtectedResource{}, Example: `{"resource": "https://guard.example.org/mcp", "resource_name": "Railguard", "scopes_supported": ["screen"], "bearer_methods_supported": ["header"], "resource_documentation": "https://guard.example.org/docs"}`, Headers: "-"}},
		Bare:    true,
	},
	{
		Name: "protectedResourceOfMcp", Route: "GET /.well-known/oauth-protected-resource/mcp", Tag: "mcp", Scope: Public, Guest: "mcp",
		Summary: "Whose keys /mcp takes, where its path is named",
		Answers: []Answer{{Status: 200, Of: ProtectedResource{}, Example: `{"resource": "https://guard.example.org/mcp", "resource_name": "Railguard", "scopes_supported": ["screen"], "bearer_methods_supported": ["header"], "resource_documentation": "https://guard.example.org/docs"}`, Headers: "-"}},
		Bare:    true,
	},
}
