package description

var sanctionsOperations = []Operation{
	{
		Name: "listSanctionsCases", Look: "suspicion", Route: "GET /v1/sanctions/cases", Tag: "sanctions", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "Cases that a BLOCK because of sanctions opened, or an officer of a payment that went ahead",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "state", Of: SanctionsState("")},
			{Name: "overdue", Of: "", Tags: `enum:"true false"`},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []SanctionsCase `json:"data"`
			NextCursor *string         `json:"nextCursor"`
			AsOfIndex  int64           `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "openSanctionsCase", Route: "POST /v1/sanctions/cases", Tag: "sanctions", Scope: Institution, Roles: "reviewer",
		Summary:    "Open a case of a payment that went ahead",
		Text:       "For example because the payee was listed later, or an approved hit was a true one. Each payment is a case of its own, due as others are. It counts as blocked property only if a step says what is blocked.",
		Parameters: "timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			TxnID  string  `json:"txnId" length:"-FieldMax" pattern:"\\S"`
			By     string  `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Reason string  `json:"reason" length:"-TextMax" pattern:"\\S"`
			UID    *string `json:"uid,omitempty" length:"-FieldMax" doc:"the listed party: of the list in force, or of the record's hits"`
			Place  *string `json:"place,omitempty" length:"-FieldMax" doc:"instead of uid: an ISO 3166 code"`
		}{}, Example: `{"txnId": "txn_ntpya6px", "by": "Carla", "reason": "the same date of birth as the entry of today", "uid": "27307"}`},
		Answers:  []Answer{{Status: 200, Of: SanctionsOpened{}, Headers: "Replayed"}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "already_open did_not_go_ahead", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "showSanctionsCase", Look: "suspicion", Route: "GET /v1/sanctions/cases/{id}", Tag: "sanctions", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "One case: the comparison with the listed party, its payments and its history",
		Parameters: "id consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: SanctionsCaseWhole{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "showSanctionsReport", Look: "suspicion", Route: "GET /v1/sanctions/cases/{id}/report", Tag: "sanctions", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "The report of a case, with the members of 31 CFR 501.604(b) or 501.603(b)(1), or the account of a payment that went ahead",
		Text:       "A draft, and no legal advice. What only the filer knows is marked toBeFilledIn.",
		Parameters: "id consistency timeout minIndex",
		Query:      []Parameter{{Name: "format", Text: "html: a page to print; csv: a table of the members", Of: "", Tags: `enum:"json html csv"`}},
		Answers:    []Answer{{Status: 200, Of: SanctionsReport{}, Headers: "Disposition", Media: []Media{{Type: "text/html", Of: ""}, {Type: "text/csv", Of: ""}}}},
		Refusals:   "404 409",
		Codes:      Codes{404: "not_found", 409: "invalid_transition"},
	},
	{
		Name: "moveSanctionsCase", Route: "POST /v1/sanctions/cases/{id}/move", Tag: "sanctions", Scope: Institution, Roles: "reviewer",
		Summary:    "Move a case on: true match or not the party, reported, closed",
		Text:       "From OPEN to TRUE_MATCH or NOT_THE_PARTY; from TRUE_MATCH to REPORTED, NOT_THE_PARTY or CLOSED; from NOT_THE_PARTY to OPEN; from REPORTED to CLOSED. No step lifts a BLOCK.",
		Parameters: "id timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			To        SanctionsState `json:"to"`
			By        string         `json:"by" length:"-NameRunesMax" pattern:"\\S"`
			Reason    *string        `json:"reason,omitempty" length:"-TextMax" doc:"required for NOT_THE_PARTY, OPEN and CLOSED"`
			Notes     *string        `json:"notes,omitempty" length:"-TextMax"`
			Kind      *SanctionsKind `json:"kind,omitempty" doc:"required for TRUE_MATCH"`
			Reference *string        `json:"reference,omitempty" length:"-FieldMax" doc:"that OFAC's reporting system gave; required for REPORTED"`
			Property  *struct {
				Party       string  `json:"party" length:"-FieldMax" pattern:"\\S" doc:"whose property is blocked"`
				Description string  `json:"description" length:"-FieldMax" pattern:"\\S"`
				Location    string  `json:"location" length:"-FieldMax" pattern:"\\S"`
				Authority   *string `json:"authority,omitempty" length:"-FieldMax" doc:"the legal authority"`
				Action      *string `json:"action,omitempty" length:"-FieldMax" doc:"what was done with it, such as a deposit into a blocked, interest-bearing account"`
				ValueUSD    Number  `json:"valueUSD" schema:"{\"minimum\": 0}"`
			} `json:"property,omitempty" doc:"required for the kind blocked_property: what the register keeps"`
		}{}, Example: `{"to": "REPORTED", "by": "Carla", "reference": "ORS-2026-000123"}`},
		Answers:  []Answer{{Status: 200, Of: SanctionsMove{}, Headers: "Replayed"}, proposedAnswer},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 409: "invalid_transition", 422: "unknown_field missing_field invalid_field"},
	},
	{
		Name: "listBlockedProperty", Look: "suspicion", Route: "GET /v1/sanctions/blocked-property", Tag: "sanctions", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "The register of blocked property, now or as of a day",
		Text:       "As of 30 June it is the annual report of 31 CFR 501.603(b)(2), due on 30 September. It is whole, and sent piece by piece: an answer that breaks off was not finished. A draft, and no legal advice.",
		Parameters: "consistency timeout minIndex",
		Query: []Parameter{
			{Name: "asOf", Text: "the end of this day in New York (2026-06-30); now if left out", Of: ""},
			{Name: "format", Text: "html: a page to print; csv: a table", Of: "", Tags: `enum:"json html csv"`},
		},
		Answers:  []Answer{{Status: 200, Of: PropertyRegister{}, Headers: "Disposition", Media: []Media{{Type: "text/html", Of: ""}, {Type: "text/csv", Of: ""}}}},
		Refusals: "",
	},
}

type SanctionsCase struct {
	CaseID            string         `json:"caseId"`
	State             SanctionsState `json:"state"`
	Kind              *SanctionsKind `json:"kind" doc:"null until an officer told it"`
	WentAhead         bool           `json:"wentAhead" doc:"an officer opened it of a payment that went ahead: the money has gone"`
	AgentID           string         `json:"agentId,omitempty" doc:"the root of the agents whose payments were blocked"`
	AgentName         string         `json:"agentName,omitempty"`
	OperatorLegalName string         `json:"operatorLegalName,omitempty"`
	UserID            string         `json:"userId,omitempty"`
	UID               string         `json:"uid,omitempty" doc:"the listed party"`
	Place             string         `json:"place,omitempty" doc:"or the place: an ISO 3166 code"`
	ListedName        *string        `json:"listedName"`
	OpenedAt          Time           `json:"openedAt"`
	DueAt             Time           `json:"dueAt" doc:"the end of the tenth business day in New York"`
	Overdue           bool           `json:"overdue"`
	Assignee          *string        `json:"assignee" doc:"who works on it"`
	LeaseExpiresAt    *string        `json:"leaseExpiresAt" format:"date-time"`
	Comments          int64          `json:"comments"`
	Count             int64          `json:"count" doc:"how many payments it has"`
	AmountUSDC        Number         `json:"amountUSDC" doc:"their sum"`
	FirstTxnID        string         `json:"firstTxnId"`
	LastTxnID         string         `json:"lastTxnId"`
	Reference         *string        `json:"reference"`
	CaseBefore        string         `json:"caseBefore,omitempty" doc:"the case of the same pair before it"`
	ClosedAt          Time           `json:"closedAt,omitempty"`
}

type SanctionsCaseWhole struct {
	SanctionsCase
	Next            []SanctionsState `json:"next" doc:"where it may go"`
	Property        *BlockedProperty `json:"property,omitempty"`
	Form            Free             `json:"form" free:"the comparison by the steps of OFAC's question 5: txnId, matches, listed, steps, comparisons"`
	Records         []Free           `json:"records" each:"{\"x-free\": \"txnId, screenedAt, rule, reason, amount and who was paid\"}"`
	RecordsComplete bool             `json:"recordsComplete" doc:"false: history has not all of them any more, or they are more than are shown"`
	History         []Free           `json:"history" each:"{\"x-free\": \"what, time, from, to, actor, reason\"}"`
	Note            string           `json:"note"`
}

type BlockedProperty struct {
	Party       string `json:"party"`
	Description string `json:"description"`
	Location    string `json:"location"`
	Authority   string `json:"authority,omitempty"`
	Action      string `json:"action,omitempty"`
	ValueUSD    Number `json:"valueUSD"`
}

type SanctionsReport struct {
	Regulation string `json:"regulation"`
	Note       string `json:"note"`
	SanctionsCase
	Members []struct {
		Paragraph    string   `json:"paragraph"`
		Member       string   `json:"member"`
		Values       []string `json:"values"`
		ToBeFilledIn bool     `json:"toBeFilledIn"`
	} `json:"members"`
	RecordsComplete bool `json:"recordsComplete"`
}

type SanctionsOpened struct {
	CaseID     string         `json:"caseId"`
	TxnID      string         `json:"txnId"`
	State      SanctionsState `json:"state"`
	OpenedAt   Time           `json:"openedAt"`
	DueAt      Time           `json:"dueAt"`
	AgentID    string         `json:"agentId,omitempty"`
	UserID     string         `json:"userId,omitempty"`
	UID        string         `json:"uid,omitempty"`
	Place      string         `json:"place,omitempty"`
	Amount     Number         `json:"amount" doc:"what was paid"`
	WentAhead  bool           `json:"wentAhead"`
	CaseBefore string         `json:"caseBefore,omitempty"`
	OpenedBy   string         `json:"openedBy"`
	Reason     string         `json:"reason"`
	EventID    string         `json:"eventId"`
}

type SanctionsMove struct {
	CaseID    string           `json:"caseId"`
	State     SanctionsState   `json:"state"`
	Kind      *SanctionsKind   `json:"kind"`
	From      SanctionsState   `json:"from"`
	DueAt     Time             `json:"dueAt"`
	Reference string           `json:"reference,omitempty"`
	Actor     string           `json:"actor"`
	Reason    string           `json:"reason,omitempty"`
	Notes     string           `json:"notes,omitempty"`
	EventID   string           `json:"eventId"`
	Property  *BlockedProperty `json:"property,omitempty"`
	MovedAt   Time             `json:"movedAt"`
}

type PropertyRegister struct {
	Regulation   string   `json:"regulation"`
	Note         string   `json:"note"`
	AsOf         string   `json:"asOf" format:"date"`
	Count        int64    `json:"count"`
	TotalUSD     Number   `json:"totalUSD"`
	ToBeFilledIn []string `json:"toBeFilledIn" doc:"what only the filer knows"`
	AnnualReport struct {
		AsOf  string `json:"asOf" format:"date"`
		DueOn string `json:"dueOn" format:"date"`
	} `json:"annualReport" doc:"the newest one"`
	Data []struct {
		CaseID      string   `json:"caseId"`
		BlockedAt   Time     `json:"blockedAt"`
		Party       string   `json:"party"`
		UID         string   `json:"uid,omitempty" doc:"the listed party"`
		Place       string   `json:"place,omitempty" doc:"or the place"`
		Locations   []string `json:"targetLocations" doc:"addresses of the listed party"`
		Description string   `json:"description"`
		Location    string   `json:"location"`
		Authority   *string  `json:"authority"`
		Action      *string  `json:"action"`
		ValueUSD    Number   `json:"valueUSD"`
		ValueAsOf   string   `json:"valueAsOf" format:"date" doc:"the day of the value, if it is not that of the report"`
		Reference   *string  `json:"reference"`
		ReleasedAt  *string  `json:"releasedAt" format:"date-time"`
	} `json:"data"`
	AsOfIndex int64 `json:"asOfIndex"`
}
