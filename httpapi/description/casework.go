package description

var caseworkOperations = []Operation{
	{
		Name: "review", Route: "POST /v1/reviews/{txnId}", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Give a REVIEW its disposition",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Disposition Disposition `json:"disposition"`
			ReviewedBy  string      `json:"reviewedBy" length:"-NameRunesMax" pattern:"\\S"`
			Notes       *string     `json:"notes,omitempty" length:"-TextMax"`
		}{}, Example: `{"disposition": "REJECTED", "reviewedBy": "Carla"}`},
		Answers:  []Answer{{Status: 200, Of: DisposedRecord{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{400: "not_reviewable", 404: "not_found", 409: "already_dispositioned invalid_transition", 422: "unknown_field missing_field invalid_field invalid_disposition"},
	},
	{
		Name: "withdrawProposal", Route: "POST /v1/reviews/{txnId}/withdraw", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Withdraw what another person proposed",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			ReviewedBy string  `json:"reviewedBy" length:"-NameRunesMax" pattern:"\\S"`
			Reason     *string `json:"reason,omitempty" length:"-TextMax"`
		}{}, Example: `{"reviewedBy": "Carla"}`},
		Answers:  []Answer{{Status: 200, Of: DisposedRecord{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "listProposals", Look: "suspicion", Route: "GET /v1/proposals", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "Acts that wait for a second person",
		Text:       "The policy's twoPersons names the acts that one person must not do alone. Shown are those that the key may do; auditors see all of them.",
		Parameters: "limit cursor order consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Waiting `json:"data"`
			NextCursor *string   `json:"nextCursor"`
			AsOfIndex  int64     `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "showProposal", Look: "suspicion", Route: "GET /v1/proposals/{id}", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor policy",
		Summary:    "One act that waits for a second person",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Waiting{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "confirmProposal", Route: "POST /v1/proposals/{id}/confirm", Tag: "reviews", Scope: Institution, Roles: "reviewer policy",
		Summary:    "Do what another person proposed",
		Text:       "The answer is that of the act itself. The key must be of another person, at least 24 hours old, and neither person may have made the other's key.",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason *string `json:"reason,omitempty" length:"-FieldMax"`
		}{}, Optional: true},
		Answers: []Answer{
			{Status: 200, Of: Free{}, Tags: `free:"the answer of the act itself"`, Headers: "ETag Replayed"},
			{Status: 201, Text: "A key or a cleared pair was made.", Of: Free{}, Tags: `free:"the answer of the act itself"`, Headers: "Replayed"},
		},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition already_dispositioned", 422: "unknown_field invalid_field list_rejected"},
	},
	{
		Name: "withdrawAct", Route: "POST /v1/proposals/{id}/withdraw", Tag: "reviews", Scope: Institution, Roles: "reviewer policy",
		Summary:    "Withdraw a proposal",
		Text:       "Whoever may do the act takes it back, its proposer too.",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Reason *string `json:"reason,omitempty" length:"-FieldMax"`
		}{}, Optional: true},
		Answers:  []Answer{{Status: 200, Of: Free{}, Tags: `free:"the answer of the act itself"`, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field invalid_field"},
	},
	{
		Name: "listQueue", Look: "suspicion", Route: "GET /v1/queue", Tag: "reviews", Scope: Owner, Roles: "reviewer auditor",
		Summary:    "Reviews that wait",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "state"},
			{Name: "rule", Text: "one of the rules that triggered, whichever decided"},
			{Name: "agentId"},
			{Name: "payeeOf", Text: "a transaction under review: only cases in which the same party is paid"},
			{Name: "operator"},
			{Name: "minAmount", Of: Number(""), Tags: `range:"0-"`},
			{Name: "maxAmount", Of: Number(""), Tags: `range:"0-"`},
			{Name: "from", Text: "a time or a date", Of: "", Tags: momentTags},
			{Name: "to", Text: "a time or a date", Of: "", Tags: momentTags},
			{Name: "assignee"},
			{Name: "q"},
			{Name: "slaBreached", Text: "true: those that wait longer than the policy allows; false: the others", Of: ""},
			{Name: "sort", Of: "", Tags: `enum:"age amount priority"`},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []QueueItem `json:"data"`
			NextCursor *string     `json:"nextCursor"`
			AsOfIndex  int64       `json:"asOfIndex"`
		}{}, Example: `{"data": [{"txnId": "txn_ntpya6px", "rule": "R10_SINGLE_TX_LIMIT", "reason": "The amount is above the single transaction limit of the agent.", "rules": ["R10_SINGLE_TX_LIMIT"], "gravestRule": "R10_SINGLE_TX_LIMIT", "gravity": "limit", "amount": 50, "chain": null, "rail": null, "agentId": "agt_rfq3ao3wofwz", "agentName": "Bot", "operatorLegalName": "Acme Inc", "cpName": null, "cpWallet": null, "screenedAt": "2026-03-22T03:33:28.589Z", "listVersion": 1, "ageSeconds": 0, "slaDueAt": null, "slaBreached": false, "proposed": null, "assignee": null, "leaseExpiresAt": null, "comments": 0, "priority": 3, "similarOpen": 5, "samePayeeOpen": 0, "state": "open"}], "nextCursor": "cXVldWUuLTpmLmY", "asOfIndex": 16}`}},
	},
	{
		Name: "reviewMany", Route: "POST /v1/queue/bulk", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Decide on up to 100 cases at once",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			TxnIDs      []string `json:"txnIds" each:"{\"maxLength\": 256}" items:"1-100" schema:"{\"uniqueItems\": true}"`
			Disposition string   `json:"disposition" enum:"APPROVED REJECTED ESCALATE_SAR"`
			ReviewedBy  string   `json:"reviewedBy" length:"-NameRunesMax" pattern:"\\S"`
			Notes       *string  `json:"notes,omitempty" length:"-TextMax"`
		}{}, Example: `{"txnIds": ["txn_ntpya6px", "txn_q13Dd1Ez"], "disposition": "APPROVED", "reviewedBy": "Carla", "notes": "the same caterer as last month"}`},
		Answers: []Answer{{Status: 200, Text: "Done, or refused, one by one.", Of: struct {
			Results []BulkDecision `json:"results"`
		}{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field invalid_disposition"},
	},
	{
		Name: "nextCase", Route: "POST /v1/queue/next", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Lease the first free case",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string      `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string      `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string      `json:"by,omitempty" length:"-FieldMax"`
			Filter     *QueueFilter `json:"filter,omitempty"`
			Skip       *[]string    `json:"skip,omitempty" each:"{\"maxLength\": 256}" items:"-100" doc:"transactions that are passed over"`
		}{}, Example: `{"assignee": "r"}`, Optional: true},
		Answers: []Answer{
			{Status: 200, Of: QueueEvent{}, Headers: "Replayed"},
			{Status: 204, Text: "Nothing is open."},
		},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "claimCase", Route: "POST /v1/queue/{txnId}/claim", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Lease a case for ten minutes",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
		}{}, Optional: true},
		Answers:  []Answer{{Status: 200, Of: QueueEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "claimed_by_other invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "releaseCase", Route: "POST /v1/queue/{txnId}/release", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Give a claim back",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
			Force      *bool   `json:"force,omitempty"`
		}{}, Example: `{"assignee": "Carla"}`, Optional: true},
		Answers:  []Answer{{Status: 200, Of: QueueEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "claimed_by_other invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "assignCase", Route: "POST /v1/queue/{txnId}/assign", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Put a case into somebody's hands",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   string  `json:"assignee" length:"-FieldMax" pattern:"\\S"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
		}{}, Example: `{"assignee": "Emil", "by": "Carla"}`},
		Answers:  []Answer{{Status: 200, Of: QueueEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "commentCase", Route: "POST /v1/queue/{txnId}/comment", Tag: "reviews", Scope: Owner, Roles: "reviewer",
		Summary:    "Add a comment to a case",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
			Comment    string  `json:"comment" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"comment": "seen"}`},
		Answers:  []Answer{{Status: 200, Of: QueueEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "limit_reached invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "listReports", Look: "suspicion", Route: "GET /v1/sar", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "Suspicious activity reports",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "state", Of: SARState("")},
			{Name: "overdue", Of: "", Tags: `enum:"true false"`},
			{Name: "txnId", Text: "only the newest report of this transaction", Of: ""},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []SARSummary `json:"data"`
			NextCursor *string      `json:"nextCursor"`
			AsOfIndex  int64        `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "openReport", Route: "POST /v1/sar", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Open a suspicious activity report of any record",
		Text:       "Whatever the verdict was and whatever became of the payment. An escalation opens one, too. A transaction has one report at a time that is not closed.",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			TxnID  string `json:"txnId" length:"-FieldMax" pattern:"\\S"`
			By     string `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Reason string `json:"reason" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"txnId": "txn_ntpya6px", "by": "Carla", "reason": "paid in parts below the limit"}`},
		Answers:  []Answer{{Status: 200, Of: SAROpened{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "already_open", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "writeNarrative", Route: "PUT /v1/sar/{txnId}/narrative", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Write the narrative of a suspicious activity report",
		Text:       "Each narrative is a leaf, so the one before it stays. A filed report's is not changed any more. A step that waits for its second person lapses, because it was proposed of another narrative.",
		Parameters: "txnId timeout minIndex",
		Body: &Body{Of: struct {
			By        string  `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Narrative string  `json:"narrative" length:"-32768" pattern:"\\S" doc:"one that leaves a question in brackets open is kept, but is not finished"`
			Replaces  *string `json:"replaces,omitempty" length:"-64" doc:"the narrativeSha256 of the narrative that was read; left out where nobody had written one. Another one is not overwritten"`
		}{}, Example: `{"by": "Carla", "narrative": "From May to July three agents of one operator paid …", "replaces": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`},
		Answers:  []Answer{{Status: 200, Of: SARWritten{}}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition narrative_changed narrative_unfinished", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "showReport", Look: "suspicion", Route: "GET /v1/sar/{txnId}", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "All that a suspicious activity report needs, gathered from the records",
		Parameters: "txnId consistency timeout minIndex",
		Query: []Parameter{
			{Name: "format", Text: "html: a page to print; csv: the payments of the pair; xml: a draft in the shape of a FinCEN batch file", Of: "", Tags: `enum:"json html csv xml"`},
		},
		Answers:  []Answer{{Status: 200, Of: SARPacket{}, Headers: "Disposition", Media: []Media{{Type: "text/html", Of: ""}, {Type: "text/csv", Of: ""}, {Type: "application/xml", Of: ""}}}},
		Refusals: "404",
		Codes:    Codes{404: "not_found"},
	},
	{
		Name: "moveReport", Route: "POST /v1/sar/{txnId}/move", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Move a suspicious activity report on",
		Parameters: "txnId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			To     SARState `json:"to"`
			By     string   `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Reason *string  `json:"reason,omitempty" length:"-TextMax" doc:"required to close what was not filed"`
			BsaID  *string  `json:"bsaId,omitempty" length:"-FieldMax" doc:"of the filing; required for FILED"`
		}{}, Example: `{"to": "FILED", "by": "Carla", "bsaId": "31000012345678"}`},
		Answers:  []Answer{{Status: 200, Of: SARMove{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition narrative_changed narrative_unfinished", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "listAlerts", Look: "suspicion", Route: "GET /v1/alerts", Tag: "alerts", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "What is no REVIEW and wants a person",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "state", Of: "", Tags: `enum:"open acknowledged"`},
			{Name: "kind", Of: AlertKind("")},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []Alert `json:"data"`
			NextCursor *string `json:"nextCursor"`
			AsOfIndex  int64   `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "acknowledgeAlerts", Route: "POST /v1/alerts/acknowledge", Tag: "alerts", Scope: Institution, Roles: "reviewer",
		Summary:    "Say of up to 100 alerts that they were looked at",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			AlertIDs []string `json:"alertIds" each:"{\"maxLength\": 256}" items:"1-100" schema:"{\"uniqueItems\": true}"`
			By       string   `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Reason   string   `json:"reason" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"alertIds": ["alr_fs5wtzwmmu4e"], "by": "Carla", "reason": "the rail settles late on Sundays"}`},
		Answers: []Answer{{Status: 200, Text: "Done, or refused, one by one.", Of: struct {
			Results []BulkAcknowledgement `json:"results"`
		}{}}},
		Refusals: "409",
		Codes:    Codes{422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "showAlert", Look: "suspicion", Route: "GET /v1/alerts/{id}", Tag: "alerts", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "One alert",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Alert{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "acknowledgeAlert", Route: "POST /v1/alerts/{id}/acknowledge", Tag: "alerts", Scope: Institution, Roles: "reviewer",
		Summary:    "Say that an alert was looked at, and why it needs nothing more",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			By     string `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Reason string `json:"reason" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"by": "Carla", "reason": "the rail settled late; the amount is within the day's limit"}`},
		Answers:  []Answer{{Status: 200, Of: Alert{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
}
