package description

// workOperations are the calls about who works on what, and about drafts.
var workOperations = []Operation{
	{
		Name: "claimItem", Route: "POST /v1/inbox/{itemId}/claim", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Lease something to work on for ten minutes",
		Text:       "The item is a payment under review or blocked (its transaction), an alert, a sanctions case, or a report (sar_ and its transaction). Of an open review it is the claim of the queue. A second look is taken in hand for an hour: until it is answered or given back, the person's other calls are refused (second_look_in_hand).",
		Parameters: "itemId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
		}{}, Example: `{"assignee": "Carla"}`, Optional: true},
		Answers:  []Answer{{Status: 200, Of: WorkEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "claimed_by_other limit_reached invalid_transition", 400: "not_reviewable", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "releaseItem", Route: "POST /v1/inbox/{itemId}/release", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Give the claim of an item back",
		Parameters: "itemId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
			Force      *bool   `json:"force,omitempty"`
		}{}, Example: `{"assignee": "Carla"}`, Optional: true},
		Answers:  []Answer{{Status: 200, Of: WorkEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "claimed_by_other limit_reached invalid_transition", 400: "not_reviewable", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "assignItem", Route: "POST /v1/inbox/{itemId}/assign", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Put an item into somebody's hands",
		Parameters: "itemId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   string  `json:"assignee" length:"-FieldMax" pattern:"\\S"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
		}{}, Example: `{"assignee": "Emil", "by": "Carla"}`},
		Answers:  []Answer{{Status: 200, Of: WorkEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "limit_reached invalid_transition", 400: "not_reviewable", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "commentItem", Route: "POST /v1/inbox/{itemId}/comment", Tag: "reviews", Scope: Institution, Roles: "reviewer",
		Summary:    "Add a comment to an item",
		Parameters: "itemId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Assignee   *string `json:"assignee,omitempty" length:"-FieldMax"`
			ReviewedBy *string `json:"reviewedBy,omitempty" length:"-FieldMax"`
			By         *string `json:"by,omitempty" length:"-FieldMax"`
			Comment    string  `json:"comment" length:"-TextMax" pattern:"\\S"`
		}{}, Example: `{"comment": "seen"}`},
		Answers:  []Answer{{Status: 200, Of: WorkEvent{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "limit_reached invalid_transition", 400: "not_reviewable", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "listItemComments", Look: "suspicion", Route: "GET /v1/inbox/{itemId}/comments", Tag: "reviews", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "The comments on an item, oldest first",
		Parameters: "itemId consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data      []ItemComment `json:"data"`
			AsOfIndex int64         `json:"asOfIndex"`
		}{}}},
		Refusals: "404",
		Codes:    Codes{400: "not_reviewable", 404: "not_found"},
	},
	{
		Name: "listDrafts", Route: "GET /v1/drafts", Tag: "reviews", Scope: Institution, Roles: "reviewer policy auditor",
		Summary:    "The caller's own drafts, newest first",
		Text:       "A draft belongs to the person whom the key names, or else to the key: nobody else reads it. It is no part of the record, and gone 14 days after it was saved. A person has 100 at most; the oldest gives way.",
		Parameters: "consistency timeout minIndex",
		Answers: []Answer{{Status: 200, Of: struct {
			Data      []DraftSummary `json:"data"`
			AsOfIndex int64          `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "showDraft", Route: "GET /v1/drafts/{name}", Tag: "reviews", Scope: Institution, Roles: "reviewer policy auditor",
		Summary:    "One of the caller's own drafts",
		Parameters: "name consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: Draft{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "putDraft", Route: "PUT /v1/drafts/{name}", Tag: "reviews", Scope: Institution, Roles: "reviewer policy auditor",
		Summary:    "Save what was typed and not sent yet",
		Parameters: "name timeout minIndex",
		Body: &Body{Of: struct {
			Text   *string `json:"text,omitempty" length:"-16384"`
			Fields *Free   `json:"fields,omitempty" free:"the values of a form's fields, as texts: at most 64"`
		}{}, Example: `{"text": "the same caterer as", "fields": {"disposition": "APPROVED"}}`},
		Answers: []Answer{{Status: 204, Text: "Saved."}},
		Codes:   Codes{422: "unknown_field invalid_field"},
	},
	{
		Name: "dropDraft", Route: "DELETE /v1/drafts/{name}", Tag: "reviews", Scope: Institution, Roles: "reviewer policy auditor",
		Summary:    "Drop a draft",
		Parameters: "name timeout minIndex",
		Answers:    []Answer{{Status: 204, Text: "There is no such draft any more."}},
	},
}

type WorkEvent struct {
	ItemID         string  `json:"itemId,omitempty"`
	TxnID          string  `json:"txnId,omitempty"`
	AlertID        string  `json:"alertId,omitempty"`
	CaseID         string  `json:"caseId,omitempty"`
	LookID         string  `json:"lookId,omitempty"`
	EventID        string  `json:"eventId,omitempty"`
	Time           Time    `json:"time"`
	Event          string  `json:"event" doc:"claimed, released, assigned or commented; of an open review the event of its queue"`
	Assignee       *string `json:"assignee,omitempty"`
	LeaseExpiresAt *string `json:"leaseExpiresAt,omitempty" format:"date-time"`
	Actor          *string `json:"actor"`
	Comment        string  `json:"comment,omitempty"`
	Item           Free    `json:"item,omitempty" free:"of an open review: its record, in short"`
}

type ItemComment struct {
	Time       Time   `json:"time"`
	EventID    string `json:"eventId"`
	Actor      string `json:"actor"`
	Comment    string `json:"comment"`
	ActorKeyID string `json:"actorKeyId,omitempty"`
}

type DraftSummary struct {
	Name      string `json:"name"`
	SavedAt   Time   `json:"savedAt"`
	ExpiresAt Time   `json:"expiresAt"`
}

type Draft struct {
	DraftSummary
	Text   string `json:"text"`
	Fields Free   `json:"fields" free:"the values of a form's fields"`
}
