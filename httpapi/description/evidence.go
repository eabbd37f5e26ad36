package description

var evidenceOperations = []Operation{
	{
		Name: "listRecords", Look: "records", Route: "GET /v1/audit", Tag: "audit", Scope: Owner, Roles: "operator screener reviewer auditor ops settler viewer",
		Summary:    "Records, newest first",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "from", Text: "a time or a date", Of: "", Tags: momentTags},
			{Name: "to", Text: "a time or a date", Of: "", Tags: momentTags},
			{Name: "agentId"},
			{Name: "operator"},
			{Name: "verdict", Of: Verdict("")},
			{Name: "rule"},
			{Name: "wallet"},
			{Name: "name"},
			{Name: "identifier", Text: "type and value of an identifier of the counterparty, such as tax_id:7707083893"},
			{Name: "disposition"},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Record `json:"data"`
			NextCursor *string  `json:"nextCursor"`
			AsOfIndex  int64    `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "searchRecords", Look: "names", Route: "POST /v1/audit/search", Tag: "audit", Scope: Owner, Roles: "operator screener reviewer auditor ops settler viewer",
		Summary:    "The same, with what is searched in a body",
		Text:       "Balancers log queries.",
		Parameters: "timeout minIndex",
		Body: &Body{Of: struct {
			From        *string `json:"from,omitempty" length:"-FieldMax" doc:"a time or a date"`
			To          *string `json:"to,omitempty" length:"-FieldMax" doc:"a time or a date"`
			AgentID     *string `json:"agentId,omitempty" length:"-FieldMax"`
			Operator    *string `json:"operator,omitempty" length:"-NameRunesMax"`
			Verdict     *string `json:"verdict,omitempty" length:"-FieldMax"`
			Rule        *string `json:"rule,omitempty" length:"-FieldMax"`
			Wallet      *string `json:"wallet,omitempty" length:"-FieldMax"`
			Name        *string `json:"name,omitempty" length:"-NameRunesMax"`
			Identifier  *string `json:"identifier,omitempty" length:"-NameRunesMax" doc:"type and value of an identifier of the counterparty, such as tax_id:7707083893"`
			Disposition *string `json:"disposition,omitempty" length:"-FieldMax"`
			Limit       *int64  `json:"limit,omitempty" range:"1-500"`
			Cursor      *string `json:"cursor,omitempty" length:"-TextMax"`
			Order       *string `json:"order,omitempty" length:"-FieldMax"`
		}{}, Example: `{"name": "Paper Ltd", "from": "2026-03-01"}`},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Record `json:"data"`
			NextCursor *string  `json:"nextCursor"`
			AsOfIndex  int64    `json:"asOfIndex"`
		}{}}},
		Codes: Codes{422: "unknown_field invalid_field"},
	},
	{
		Name: "showRecord", Look: "records", Route: "GET /v1/audit/{txnId}", Tag: "audit", Scope: Owner, Roles: "operator screener reviewer auditor ops settler viewer",
		Summary:    "One record",
		Parameters: "txnId consistency timeout minIndex",
		Query: []Parameter{
			{Name: "wait", Text: "of a REVIEW: seconds to wait for its disposition", Of: int64(0), Tags: `range:"0-30"`},
		},
		Answers:  []Answer{{Status: 200, Of: Record{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "explainRecord", Look: "suspicion", Route: "GET /v1/audit/{txnId}/explain", Tag: "audit", Scope: Owner, Roles: "reviewer auditor",
		Summary:    "What became of every rule",
		Parameters: "txnId consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Explanation{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "proveRecord", Look: "suspicion", Route: "GET /v1/audit/{txnId}/proof", Tag: "audit", Scope: Owner, Roles: "reviewer auditor",
		Summary:    "The bytes of a record with their proof",
		Parameters: "txnId consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Proof{}, Headers: "Disposition", Media: []Media{{Type: "text/x.tlog-proof", Of: "", Text: "With Accept: text/x.tlog-proof: a C2SP tlog-proof, whose extra data is the record as it is stored"}}}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "limit_reached"},
	},
	{
		Name: "replayRecord", Look: "suspicion", Route: "POST /v1/audit/{txnId}/replay", Tag: "audit", Scope: Owner, Roles: "reviewer auditor",
		Summary:    "Judge again from the record alone",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body:       &Body{Of: struct{}{}, Optional: true},
		Answers:    []Answer{{Status: 200, Of: Replay{}, Headers: "Replayed"}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 422: "unknown_field"},
	},
	{
		Name: "exportRecords", Look: "export", Route: "GET /v1/audit/export", Tag: "audit", Scope: Owner, Roles: "auditor",
		Summary:    "A range of history as a stream",
		Parameters: "cursor consistency timeout minIndex",
		Query: []Parameter{
			{Name: "from", Text: "a time or a date", Of: "", Tags: momentTags},
			{Name: "to", Text: "a time or a date", Of: "", Tags: momentTags},
			{Name: "agentId", Text: "only what is of this agent, with the decision before and the one after the time: complete by the numbers of its decisions"},
			{Name: "format", Of: "", Tags: `enum:"ndjson csv"`},
			{Name: "cosigned", Text: "wait, up to 20 seconds, until witnesses have signed a tree head that covers the range", Of: "", Tags: `enum:"true false"`},
			{Name: "first", Text: "of the head of the export", Of: int64(0), Tags: `range:"0-"`},
			{Name: "treeSize", Text: "of the head of the export", Of: int64(0), Tags: `range:"0-"`},
			givenOutFor,
		},
		Answers:  []Answer{{Status: 200, Headers: "Continue Disposition", Media: []Media{{Type: "application/x-ndjson", Of: ""}, {Type: "text/csv", Of: ""}}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "listActivity", Route: "GET /v1/activity", Tag: "audit", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "What anybody changed, newest first, with who did it and why",
		Parameters: "limit cursor consistency timeout minIndex",
		Query: []Parameter{
			{Name: "types", Text: "names or groups of events (review.*), divided by commas; none: all but those of payments"},
			{Name: "by", Text: "part of the person, or of the name or id of the API key"},
			{Name: "about", Text: "an agent's or a user's id"},
			{Name: "from", Text: "a time or a date; default: 90 days back", Of: "", Tags: momentTags},
			{Name: "to", Text: "a time or a date; default: now", Of: "", Tags: momentTags},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Act   `json:"data"`
			NextCursor *string `json:"nextCursor"`
			AsOfIndex  int64   `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "listEvents", Look: "records", Route: "GET /v1/events", Tag: "events", Scope: Owner, Roles: "any",
		Summary:    "What happened, in the order of the log; with Accept text/event-stream as a stream",
		Parameters: "limit consistency timeout minIndex",
		Query: []Parameter{
			{Name: "after", Text: "the id of the last event had, nextCursor, or latest"},
			{Name: "types", Text: "names or groups (hold.*), divided by commas"},
			{Name: "wait", Text: "seconds to wait for an event where there is none", Of: int64(0), Tags: `range:"0-30"`},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Event `json:"data"`
			NextCursor string  `json:"nextCursor"`
			AsOfIndex  int64   `json:"asOfIndex"`
		}{}, Media: []Media{{Type: "text/event-stream", Of: ""}}}},
	},
	{
		Name: "listWebhooks", Route: "GET /v1/webhooks", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Webhooks, newest first",
		Parameters: "limit cursor order consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Webhook `json:"data"`
			NextCursor *string   `json:"nextCursor"`
			AsOfIndex  int64     `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "createWebhook", Route: "POST /v1/webhooks", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Have events sent to a URL. The answer has the secret, once",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Name       *string   `json:"name,omitempty" length:"-FieldMax"`
			URL        string    `json:"url" length:"1-2048" doc:"https, port 443, of an address that is not private"`
			Types      *[]string `json:"types,omitempty" each:"{\"minLength\": 1, \"maxLength\": 256}" items:"-128" doc:"types of events or groups (hold.*); none: all but screen.proceed and webhook.dead_letter, which must be named"`
			SARAllowed *bool     `json:"sarAllowed,omitempty" doc:"it may be told what tells of suspicion"`
			Off        *bool     `json:"off,omitempty"`
			Secret     *string   `json:"secret,omitempty" length:"-FieldMax" doc:"whsec_ and the base64 of 24 to 64 bytes; drawn where it is left out"`
		}{}, Example: `{"url": "https://hooks.example.com/railguard", "types": ["screen.block", "hold.*"]}`},
		Answers:  []Answer{{Status: 201, Text: "Created.", Of: WebhookChange{}, Headers: "Replayed"}},
		Refusals: "409",
		Codes:    Codes{409: "limit_reached already_exists", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "getWebhook", Route: "GET /v1/webhooks/{id}", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "One webhook, and how far it is",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: WebhookDetail{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "changeWebhook", Route: "PATCH /v1/webhooks/{id}", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Change a webhook. It is its changer's from then on, where that one is of the same operator",
		Parameters: "id timeout minIndex",
		Body: &Body{Of: struct {
			Name       *string   `json:"name,omitempty" length:"-FieldMax"`
			URL        string    `json:"url,omitempty" length:"1-2048" doc:"https, port 443, of an address that is not private"`
			Types      *[]string `json:"types,omitempty" each:"{\"minLength\": 1, \"maxLength\": 256}" items:"-128" doc:"types of events or groups (hold.*); none: all but screen.proceed and webhook.dead_letter, which must be named"`
			SARAllowed *bool     `json:"sarAllowed,omitempty" doc:"it may be told what tells of suspicion"`
			Off        *bool     `json:"off,omitempty"`
			Reason     *string   `json:"reason,omitempty" length:"-TextMax"`
		}{}, Example: `{"off": true}`},
		Answers:  []Answer{{Status: 200, Of: WebhookChange{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "deleteWebhook", Route: "DELETE /v1/webhooks/{id}", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Delete a webhook and what was not sent to it yet",
		Parameters: "id timeout minIndex",
		Body: &Body{Of: struct {
			Reason *string `json:"reason,omitempty" length:"-TextMax"`
		}{}, Optional: true},
		Answers:  []Answer{{Status: 200, Of: WebhookChange{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found", 422: "unknown_field invalid_field"},
	},
	{
		Name: "rotateWebhookSecret", Route: "POST /v1/webhooks/{id}/rotate-secret", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Another secret and key; the older ones sign as well for a while. The answer has the secret, once",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Secret         *string `json:"secret,omitempty" length:"-FieldMax" doc:"whsec_ and the base64 of 24 to 64 bytes; drawn where it is left out"`
			OverlapSeconds *int64  `json:"overlapSeconds,omitempty" range:"0-604800" doc:"how long the older ones sign as well; 86400 where it is left out"`
			Reason         *string `json:"reason,omitempty" length:"-TextMax"`
		}{}, Example: `{"overlapSeconds": 3600}`, Optional: true},
		Answers:  []Answer{{Status: 200, Of: WebhookChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field invalid_field"},
	},
	{
		Name: "testWebhook", Route: "POST /v1/webhooks/{id}/test", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Send one message of the type webhook.test now",
		Parameters: "id timeout minIndex",
		Body:       &Body{Of: struct{}{}, Optional: true},
		Answers:    []Answer{{Status: 200, Of: WebhookTest{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found", 422: "unknown_field"},
	},
	{
		Name: "listDeliveries", Route: "GET /v1/webhooks/{id}/deliveries", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "What was given up, and what is to be sent again, newest first",
		Parameters: "id limit cursor consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []WebhookDelivery `json:"data"`
			NextCursor *string           `json:"nextCursor"`
			AsOfIndex  int64             `json:"asOfIndex"`
		}{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "redeliver", Route: "POST /v1/webhooks/{id}/redeliver", Tag: "webhooks", Scope: Owner, Roles: "admin", Outsiders: "operator",
		Summary:    "Send one event again, or all dead letters",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			EventID *string `json:"eventId,omitempty" length:"-FieldMax"`
			All     *bool   `json:"all,omitempty"`
		}{}, Example: `{"all": true}`},
		Answers:  []Answer{{Status: 200, Of: WebhookChange{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field invalid_field"},
	},
	{
		Name: "checkpoint", Route: "GET /log/checkpoint", Tag: "log", Scope: Public,
		Summary:    "The signed tree head",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/plain", Of: ""}}}},
	},
	{
		Name: "cosignedCheckpoint", Route: "GET /log/cosigned", Tag: "log", Scope: Public,
		Summary:    "The newest checkpoint that witnesses cosigned",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/plain", Of: ""}}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "logKeys", Route: "GET /log/keys", Tag: "log", Scope: Public,
		Summary:    "Verifier keys of the log",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/plain", Of: ""}}}},
	},
	{
		Name: "logPolicy", Route: "GET /log/policy", Tag: "log", Scope: Public,
		Summary:    "The policy of witnesses that cosigned checkpoints meet",
		Text:       "A C2SP tlog-policy: what this node hands out as cosigned bears the signatures of its quorum. Hold the log to a policy of your own; compare them. 404: no quorum is demanded.",
		Parameters: "consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "text/plain", Of: ""}}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "logConsistency", Route: "GET /log/consistency/{from}/{to}", Tag: "log", Scope: Public,
		Summary:    "Proof that the tree of one size begins with all of the tree of another",
		Text:       "RFC 6962 consistency proof between two sizes of the tree, the smaller one first. The roots are unsigned: compare them with the checkpoints that you hold. The answer never changes.",
		Parameters: "consistency",
		Query: []Parameter{
			{Name: "from", Of: "", Required: true, Path: true},
			{Name: "to", Of: "", Required: true, Path: true},
		},
		Answers:  []Answer{{Status: 200, Of: Consistency{}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "noTile", Route: "GET /log/tile", Tag: "log", Scope: Public,
		Summary:    "No such tile",
		Parameters: "consistency",
		Answers:    []Answer{},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "noTileLevel", Route: "GET /log/tile/{level}", Tag: "log", Scope: Public,
		Summary:    "No such tile",
		Parameters: "level consistency",
		Answers:    []Answer{},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "tile", Route: "GET /log/tile/{level}/{index}", Tag: "log", Scope: Public,
		Summary:    "256 hashes, or fewer with .p/WIDTH",
		Parameters: "level index consistency",
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "application/octet-stream"}}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "noEntries", Route: "GET /log/tile/entries", Tag: "log", Scope: Public,
		Summary:    "No such tile",
		Parameters: "consistency",
		Answers:    []Answer{},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "entries", Look: "export", Route: "GET /log/tile/entries/{index}", Tag: "log", Scope: Institution, Roles: "auditor",
		Summary:    "Leaves",
		Parameters: "index consistency timeout minIndex",
		Query:      []Parameter{givenOutFor},
		Answers:    []Answer{{Status: 200, Media: []Media{{Type: "application/octet-stream"}}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
}
