package description

var rulebookOperations = []Operation{
	{
		Name: "getPolicy", Route: "GET /v1/policy", Tag: "policy", Scope: Institution, Roles: "operator reviewer auditor policy",
		Summary:    "The policy in force",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Policy{}, Example: `{"policyVersion": 1, "ruleSet": "2026.1", "policy": {}, "modes": {"R9_CHAIN_POLICY": "review", "R10_SINGLE_TX_LIMIT": "review", "R11_DAILY_LIMIT": "review", "R12_FLEET_DAILY_LIMIT": "review", "R13_COUNTERPARTY_WHITELIST": "review", "R15_MODEL_CHANGED": "review", "R16_VELOCITY_FLAG": "review", "R17_UNUSUAL_HOUR": "review", "R18_RAIL_POLICY": "review", "R19_RAIL_CHAIN_MISMATCH": "review", "R20_COUNTERPARTY": "review", "R21_POSSIBLE_NAME_MATCH": "review", "R22_ATTESTATION": "review", "R25_STRUCTURING": "review"}, "whitelist": {"mode": "off", "kinds": [], "version": 1, "entryCount": 0}}`, Headers: "ETag"}},
	},
	{
		Name: "putPolicy", Route: "PUT /v1/policy", Tag: "policy", Scope: Institution, Roles: "policy",
		Summary:    "Replace the policy",
		Parameters: "consistency timeout minIndex ifMatch idempotencyKey",
		Query: []Parameter{
			{Name: "reason"},
		},
		Body:     &Body{Of: Free{}, Tags: `free:"as PolicyDocument" doc:"The document itself, or {\"policy\": {...}, \"reason\": \"...\"}; JSON or YAML."`, Example: `{"rules": {"R17": "shadow", "R20": "block"}, "velocity": {"maxPerMinute": 40}, "attestation": {"above": 5000.5}, "names": {"review": 0.85}, "counterpartyCaps": {"exchange": 3000}, "ofac": {"maxAge": "24h", "onStale": "review"}, "structuring": {"count": 4}, "reconcile": [{"rail": "USDC", "every": "24h"}], "requireCounterparty": "all", "payer": {"mustBeOperators": "review"}, "jurisdictions": {"review": ["UA-14", "UA-09", "BY"]}}`, YAML: true},
		Answers:  []Answer{{Status: 200, Of: PolicyVersion{}, Headers: "ETag Replayed"}, proposedAnswer},
		Refusals: "409 412",
		Codes:    Codes{409: "invalid_transition", 412: "version_mismatch", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "validatePolicy", Route: "POST /v1/policy/validate", Tag: "policy", Scope: Institution, Roles: "policy",
		Summary:    "What PUT would say",
		Parameters: "consistency timeout minIndex idempotencyKey",
		Query: []Parameter{
			{Name: "reason"},
		},
		Body:     &Body{Of: Free{}, Tags: `free:"as PolicyDocument" doc:"The document itself, or {\"policy\": {...}, \"reason\": \"...\"}; JSON or YAML."`, Example: `{}`, YAML: true},
		Answers:  []Answer{{Status: 200, Of: PolicyCheck{}, Headers: "Replayed"}},
		Refusals: "409",
	},
	{
		Name: "listPolicies", Route: "GET /v1/policy/versions", Tag: "policy", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "Policies that were put",
		Parameters: "limit cursor order consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []PolicyVersion `json:"data"`
			NextCursor *string         `json:"nextCursor"`
			AsOfIndex  int64           `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "listBacktests", Route: "GET /v1/backtests", Tag: "foresight", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "The backtests that the nodes remember",
		Parameters: "consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Text: "Done. unreachable are nodes that could not be asked.", Of: struct {
			Data        []JobSummary `json:"data"`
			Unreachable []string     `json:"unreachable"`
		}{}}},
	},
	{
		Name: "startBacktest", Route: "POST /v1/backtests", Tag: "foresight", Scope: Institution, Roles: "reviewer policy",
		Summary:    "Judge recorded calls again under another policy or list",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Policy         *Free   `json:"policy,omitempty" free:"as PolicyDocument" doc:"The candidate's document; what was in force at each call where it is left out."`
			ListSnapshotID *string `json:"listSnapshotId,omitempty" length:"-FieldMax" doc:"The candidate list; the one that was active at each call where it is left out."`
			From           string  `json:"from" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}" doc:"a time or a date"`
			To             *string `json:"to,omitempty" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}" doc:"a time or a date"`
		}{}, Example: `{"from": "2026-03-01T00:00:00Z", "policy": {"rules": {"R17": "shadow"}}}`},
		Answers:  []Answer{{Status: 202, Text: "It runs on the node that answered.", Of: JobSummary{}}},
		Refusals: "409",
		Codes:    Codes{409: "job_running", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "getBacktest", Route: "GET /v1/backtests/{id}", Tag: "foresight", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "How far a backtest is and what came of it so far",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Job{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found", 503: "node_away"},
	},
	{
		Name: "cancelBacktest", Route: "POST /v1/backtests/{id}/cancel", Tag: "foresight", Scope: Institution, Roles: "reviewer policy",
		Summary:    "End a backtest",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: struct{}{}, Optional: true},
		Answers:    []Answer{{Status: 200, Text: "Done. One that had ended is shown as it is.", Of: Job{}}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 422: "unknown_field", 503: "node_away"},
	},
	{
		Name: "listShadows", Route: "GET /v1/policy/shadow", Tag: "foresight", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "The shadows that the nodes remember",
		Parameters: "consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Text: "Done. unreachable are nodes that could not be asked.", Of: struct {
			Data        []JobSummary `json:"data"`
			Unreachable []string     `json:"unreachable"`
		}{}}},
	},
	{
		Name: "startShadow", Route: "POST /v1/policy/shadow", Tag: "foresight", Scope: Institution, Roles: "reviewer policy",
		Summary:    "Judge calls as they come under another policy or list, beside the verdicts that are given",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Policy         *Free   `json:"policy,omitempty" free:"as PolicyDocument" doc:"The candidate's document. One of policy and listSnapshotId is required."`
			ListSnapshotID *string `json:"listSnapshotId,omitempty" length:"-FieldMax" doc:"The candidate list"`
			Days           *int64  `json:"days,omitempty" range:"1-30" doc:"How long; 30 where it is left out."`
		}{}, Example: `{"policy": {"rules": {"R17": "shadow"}}, "days": 7}`},
		Answers:  []Answer{{Status: 202, Text: "It runs on the node that answered.", Of: JobSummary{}}},
		Refusals: "409",
		Codes:    Codes{409: "job_running", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "getShadow", Route: "GET /v1/policy/shadow/{id}", Tag: "foresight", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "What came of a shadow so far",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Job{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found", 503: "node_away"},
	},
	{
		Name: "stopShadow", Route: "POST /v1/policy/shadow/{id}/stop", Tag: "foresight", Scope: Institution, Roles: "reviewer policy",
		Summary:    "End a shadow",
		Parameters: "id timeout minIndex idempotencyKey",
		Body:       &Body{Of: struct{}{}, Optional: true},
		Answers:    []Answer{{Status: 200, Text: "Done. One that had ended is shown as it is.", Of: Job{}}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 422: "unknown_field", 503: "node_away"},
	},
	{
		Name: "promoteShadow", Route: "POST /v1/policy/shadow/{id}/promote", Tag: "foresight", Scope: Institution, Roles: "policy",
		Summary:    "Put the candidate of a shadow into force",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason *string `json:"reason,omitempty" length:"-TextMax" doc:"Required where the policy is wider than the one in force."`
			Actor  *string `json:"actor,omitempty" length:"-FieldMax" doc:"Of a list's activation."`
		}{}, Optional: true},
		Answers:  []Answer{{Status: 200, Text: "As PUT /v1/policy answers, or as the activation of the list does.", Of: anything, Tags: `schema:"{\"anyOf\": [{\"$ref\": \"#/components/schemas/PolicyVersion\"}, {\"$ref\": \"#/components/schemas/ListChange\"}]}"`, Headers: "ETag Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field list_rejected", 503: "node_away"},
	},
	{
		Name: "getListStatus", Route: "GET /v1/lists", Tag: "lists", Scope: Institution, Roles: "any",
		Summary:    "Each list in force, OFAC's and those beside it: how old it is, and whether it is late",
		Parameters: "consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Lists []ListStatus `json:"lists"`
		}{}}},
	},
	{
		Name: "changeListEntries", Route: "POST /v1/lists/{id}/entries", Tag: "lists", Scope: Institution, Roles: "policy",
		Summary:    "Add, change and end entries of an institution's own list",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason  string      `json:"reason" length:"-TextMax" pattern:"\\S"`
			Actor   *string     `json:"actor,omitempty" length:"-FieldMax"`
			Add     []ListEntry `json:"add,omitempty" doc:"An entry whose id the list has takes the place of the one that it has. At most 100 entries with those that end."`
			End     []string    `json:"end,omitempty" doc:"Ids."`
			Replace *bool       `json:"replace,omitempty" doc:"Give up the oldest staged list where no more may be staged (lists_staged)."`
		}{}, Example: `{"reason": "fraud, case 7", "actor": "petra", "add": [{"id": "case-7", "kind": "individual", "name": "Doe, Jane", "until": "2027-01-31"}]}`},
		Answers:  []Answer{{Status: 200, Of: ListChange{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition lists_staged", 422: "unknown_field missing_field invalid_field list_rejected"},
	},
	{
		Name: "getLists", Route: "GET /v1/ofac", Tag: "lists", Scope: Institution, Roles: "any",
		Summary:    "The sanctions list in force, those staged and those before",
		Parameters: "consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Lists{}}},
	},
	{
		Name: "syncLists", Route: "POST /v1/ofac/sync", Tag: "lists", Scope: Institution, Roles: "policy ops",
		Summary:    "Fetch the lists on the node that is asked",
		Parameters: "timeout minIndex idempotencyKey",
		Body:       &Body{Of: Why{}, Optional: true},
		Answers: []Answer{{Status: 202, Text: "Begun.", Of: struct {
			Started  bool `json:"started"`
			Finished bool `json:"finished"`
		}{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{409: "refresh_running", 422: "unknown_field missing_field invalid_field list_rejected"},
	},
	{
		Name: "listRetroScreenings", Route: "GET /v1/ofac/retro", Tag: "foresight", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "Screenings of the past against lists",
		Parameters: "limit cursor order consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []RetroRun `json:"data"`
			NextCursor *string    `json:"nextCursor"`
			AsOfIndex  int64      `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "startRetroScreening", Route: "POST /v1/ofac/retro", Tag: "foresight", Scope: Institution, Roles: "reviewer policy",
		Summary:    "Screen the past against a list",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Days           *int64  `json:"days,omitempty" range:"1-90" doc:"How far back; 90 where it is left out."`
			ListSnapshotID *string `json:"listSnapshotId,omitempty" length:"-FieldMax" doc:"A list that is or was active; the active one where it is left out."`
			Against        *string `json:"against,omitempty" length:"-FieldMax" doc:"A list that was active before it: what that one had is not told. Where it is left out all of the list is looked for."`
		}{}, Example: `{"days": 30}`, Optional: true},
		Answers:  []Answer{{Status: 202, Text: "The leader begins within a second.", Of: RetroRun{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{409: "job_running", 422: "unknown_field invalid_field"},
	},
	{
		Name: "getRetroScreening", Look: "suspicion", Route: "GET /v1/ofac/retro/{id}", Tag: "foresight", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "Whom a screening of the past found",
		Parameters: "id limit cursor consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: RetroReport{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "getList", Route: "GET /v1/ofac/{id}", Tag: "lists", Scope: Institution, Roles: "reviewer auditor policy ops",
		Summary:    "A list, what speaks against putting it into force, and who would leave the active one",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: ListShown{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "diffLists", Route: "GET /v1/ofac/{id}/diff", Tag: "lists", Scope: Institution, Roles: "reviewer auditor policy ops",
		Summary:    "What differs between two lists",
		Parameters: "id consistency timeout minIndex",
		Query: []Parameter{
			{Name: "against"},
		},
		Answers:  []Answer{{Status: 200, Of: ListDiff{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "listEntities", Route: "GET /v1/ofac/{id}/entities", Tag: "lists", Scope: Institution, Roles: "auditor",
		Summary:    "A list as it stands in the log, by its sha256",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "application/octet-stream"}}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "activateList", Route: "POST /v1/ofac/{id}/activate", Tag: "lists", Scope: Institution, Roles: "policy",
		Summary:    "Put a staged list into force",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason *string `json:"reason,omitempty" length:"-TextMax"`
			Actor  *string `json:"actor,omitempty" length:"-FieldMax"`
			Force  *bool   `json:"force,omitempty"`
		}{}, Optional: true},
		Answers:  []Answer{{Status: 200, Of: ListChange{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field list_rejected"},
	},
	{
		Name: "rollbackToList", Route: "POST /v1/ofac/{id}/rollback", Tag: "lists", Scope: Institution, Roles: "policy",
		Summary:    "Go back to a list",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason string  `json:"reason" length:"-TextMax" pattern:"\\S"`
			Actor  *string `json:"actor,omitempty" length:"-FieldMax"`
			Force  *bool   `json:"force,omitempty"`
		}{}, Example: `{"reason": "it was right"}`},
		Answers:  []Answer{{Status: 200, Of: ListChange{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field list_rejected"},
	},
	{
		Name: "rollbackList", Route: "POST /v1/ofac/rollback", Tag: "lists", Scope: Institution, Roles: "policy",
		Summary:    "Go back to the list before",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason string  `json:"reason" length:"-TextMax" pattern:"\\S"`
			Actor  *string `json:"actor,omitempty" length:"-FieldMax"`
			Force  *bool   `json:"force,omitempty"`
		}{}, Example: `{"reason": "bad list", "actor": "petra"}`},
		Answers:  []Answer{{Status: 200, Of: ListChange{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field list_rejected"},
	},
	{
		Name: "matchName", Look: "match", Route: "GET /v1/match", Tag: "lists", Scope: Reference, Roles: "reviewer auditor policy",
		Summary:    "Screen a name or a wallet without a record",
		Parameters: "consistency timeout minIndex",
		Query: []Parameter{
			{Name: "name"},
			{Name: "wallet"},
			{Name: "cpType"},
			{Name: "type"},
			{Name: "cpCountry"},
			{Name: "cpDateOfBirth"},
			{Name: "cpAddress"},
			{Name: "txnId", Text: "cleared pairs are held against what this payment says of the party"},
			{Name: "snapshotId", Text: "a list that is staged or was active, in place of the active one"},
			{Name: "explain", Text: "with the numbers that made the score", Of: "", Tags: `enum:"true false"`},
		},
		Answers:  []Answer{{Status: 200, Of: Matches{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found", 422: "missing_field invalid_field", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "askMatch", Look: "match", Route: "POST /v1/match", Tag: "lists", Scope: Reference, Roles: "reviewer auditor policy",
		Summary:    "The same, with the name in a body",
		Text:       "Balancers log queries.",
		Parameters: "timeout minIndex",
		Body: &Body{Of: struct {
			Name          *string `json:"name,omitempty" length:"-NameRunesMax"`
			Wallet        *string `json:"wallet,omitempty" length:"-FieldMax"`
			SnapshotID    *string `json:"snapshotId,omitempty" length:"-FieldMax" doc:"a list that is staged or was active, in place of the active one"`
			CpType        *string `json:"cpType,omitempty" length:"-FieldMax"`
			CpCountry     *string `json:"cpCountry,omitempty" length:"-FieldMax"`
			CpDateOfBirth *string `json:"cpDateOfBirth,omitempty" length:"-FieldMax"`
			CpAddress     *string `json:"cpAddress,omitempty" length:"-NameRunesMax"`
			TxnID         *string `json:"txnId,omitempty" length:"-FieldMax" doc:"cleared pairs are held against what this payment says of the party"`
			Explain       *bool   `json:"explain,omitempty" doc:"with the numbers that made the score"`
		}{}, Example: `{"name": "Nicola Maduro", "cpType": "individual"}`},
		Answers:  []Answer{{Status: 200, Of: Matches{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "listCleared", Route: "GET /v1/cleared", Tag: "lists", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "Cleared pairs",
		Parameters: "limit cursor order consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []ClearedPair `json:"data"`
			NextCursor *string       `json:"nextCursor"`
			AsOfIndex  int64         `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "clearPair", Route: "POST /v1/cleared", Tag: "lists", Scope: Institution, Roles: "reviewer",
		Summary:    "Clear a name of a possible match",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Name      string          `json:"name" length:"-NameRunesMax" pattern:"\\S"`
			UID       string          `json:"uid" length:"1-FieldMax" doc:"of the listed entry"`
			Reason    string          `json:"reason" length:"-TextMax" pattern:"\\S"`
			ExpiresAt string          `json:"expiresAt" length:"10-256" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}" doc:"in the future, and within a year"`
			ClearedBy *string         `json:"clearedBy,omitempty" length:"-FieldMax"`
			TxnID     *string         `json:"txnId,omitempty" length:"-FieldMax" doc:"the case: its payment says what the clearing rests on"`
			Grounds   *ClearedGrounds `json:"grounds,omitempty" doc:"what the clearing rests on, in place of what the case says"`
			NameOnly  *bool           `json:"nameOnly,omitempty" doc:"it rests on the name alone"`
		}{}, Example: `{"name": "Lazarus Groupe", "uid": "27307", "reason": "our caterer", "expiresAt": "2027-01-01", "grounds": {"country": "FR"}}`},
		Answers:  []Answer{{Status: 201, Text: "Created.", Of: ClearedChange{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "limit_reached invalid_transition", 422: "unknown_field missing_field invalid_field", 503: "sanctions_data_unavailable"},
	},
	{
		Name: "removeCleared", Route: "DELETE /v1/cleared/{id}", Tag: "lists", Scope: Institution, Roles: "reviewer",
		Summary:    "Take a cleared pair back",
		Parameters: "id timeout minIndex",
		Body:       &Body{Of: Why{}, Example: `{"reason": "over"}`, Optional: true},
		Answers:    []Answer{{Status: 200, Of: ClearedChange{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
}
