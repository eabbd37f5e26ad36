package description

var partiesOperations = []Operation{
	{
		Name: "listParties", Look: "suspicion", Route: "GET /v1/parties", Tag: "parties", Scope: Institution, Roles: "reviewer auditor",
		Summary: "Counterparties of this institution's own records, with what they hit",
		Text: "A party is a counterparty together with the listed entry or the place that its payments hit, or with nothing. " +
			"Each node reads its own history for it while somebody asks, the newest first, within a bound: since says from when on the answer has everything, complete that this is all of retention.",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "state", Text: "open, the default: those with open reviews, cases, alerts or reports", Of: "", Tags: `enum:"open all"`},
			{Name: "q", Text: "a part of a name, another spelling, a wallet, an identifier as type:value, or the name of a listed entry"},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data       []PartySummary `json:"data"`
			Complete   bool           `json:"complete"`
			Since      *string        `json:"since" format:"date-time"`
			NextCursor *string        `json:"nextCursor"`
			AsOfIndex  int64          `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "showParty", Look: "suspicion", Route: "GET /v1/parties/{partyId}", Tag: "parties", Scope: Institution, Roles: "reviewer auditor",
		Summary: "Everything about one party: paid, tried, waiting and decided, before and after any of its payments",
		Text: "Payments of all agents, also under names, wallets and identifiers that are like the party's or the listed entry's; own tells which are the party's. " +
			"All found payments are summed, the newest 200 are shown.",
		Parameters: "partyId consistency timeout minIndex",
		Answers:    []Answer{{Status: 200, Of: WholeParty{}}},
		Refusals:   "404",
		Codes:      Codes{404: "not_found"},
	},
	{
		Name: "decideParty", Route: "POST /v1/parties/{partyId}/decide", Tag: "parties", Scope: Institution, Roles: "reviewer",
		Summary: "One reasoned decision about all open reviews of a party",
		Text: "Each review is decided by itself, with its own record and every guard of a single decision, also a second person where the policy wants one. At most 1,000 are decided at once; left says how many more there are. " +
			"Payments that hit nothing stay cases of their own: for them only names those that are decided.",
		Parameters: "partyId timeout minIndex idempotencyKey",
		Body: &Body{Of: struct {
			Disposition string    `json:"disposition" enum:"APPROVED REJECTED ESCALATE_SAR"`
			ReviewedBy  string    `json:"reviewedBy" length:"-NameRunesMax" pattern:"\\S"`
			Notes       *string   `json:"notes,omitempty" length:"-TextMax"`
			Only        *[]string `json:"only,omitempty" each:"{\"maxLength\": 256}" items:"-1000" doc:"transactions of the party; without it, all that are open"`
		}{}, Example: `{"disposition": "REJECTED", "reviewedBy": "Carla", "notes": "the same man, by birth date and passport"}`},
		Answers: []Answer{{Status: 200, Text: "Done, or refused, one by one.", Of: struct {
			PartyID string         `json:"partyId"`
			Results []BulkDecision `json:"results"`
			Left    int64          `json:"left" doc:"open reviews of the party beyond those of this call"`
		}{}}},
		Refusals: "404 409",
		Codes:    Codes{404: "not_found", 422: "unknown_field missing_field invalid_field invalid_disposition"},
	},
	{
		Name: "listInbox", Look: "suspicion", Route: "GET /v1/inbox", Tag: "parties", Scope: Institution, Roles: "reviewer auditor",
		Summary: "All that waits for an officer, in one ranked list",
		Text: "Reviews, sanctions cases of BLOCKs, alerts, hits of retro-screening, reports, and the second looks that the caller may make. rank is the sum of rankParts: the class of what it is (a hit of a name, a wallet, an identifier or a place is above everything else, whatever the rest), " +
			"the likeness of a hit, the facts that agree with the listed entry or differ from it, where the money is, and the time that is left. counts are of everything open, before filters.",
		Parameters: "limit cursor order consistency timeout minIndex",
		Query: []Parameter{
			{Name: "kind", Of: "", Tags: `enum:"review block alert retro report look"`},
			{Name: "assignee"},
			{Name: "waitsForMe", Text: "true: what another person proposed and the caller may sign", Of: "", Tags: `enum:"true false"`},
			{Name: "rule", Text: "a rule that fired, whichever decided"},
			{Name: "partyId"},
			{Name: "q"},
		},
		Answers: []Answer{{Status: 200, Of: struct {
			Data   []InboxItem `json:"data"`
			Counts struct {
				Review     int64 `json:"review"`
				Block      int64 `json:"block"`
				Alert      int64 `json:"alert"`
				Retro      int64 `json:"retro"`
				Report     int64 `json:"report"`
				Look       int64 `json:"look" doc:"second looks that the caller may take or has in hand"`
				WaitsForMe int64 `json:"waitsForMe"`
			} `json:"counts"`
			Complete   bool    `json:"complete"`
			Since      *string `json:"since" format:"date-time"`
			NextCursor *string `json:"nextCursor"`
			AsOfIndex  int64   `json:"asOfIndex"`
		}{}}},
	},
	{
		Name: "search", Look: "names", Route: "GET /v1/search", Tag: "parties", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "Find by a part of a name in any order, another spelling, a transaction, a wallet or an identifier",
		Parameters: "consistency timeout minIndex",
		Query:      []Parameter{{Name: "q", Required: true, Of: "", Tags: `length:"2-"`}},
		Answers:    []Answer{{Status: 200, Of: Found{}}},
	},
	{
		Name: "searchByBody", Look: "names", Route: "POST /v1/search", Tag: "parties", Scope: Institution, Roles: "reviewer auditor",
		Summary:    "The same, with what is searched in a body",
		Text:       "Balancers log queries.",
		Parameters: "timeout minIndex",
		Body: &Body{Of: struct {
			Q string `json:"q" length:"2-TextMax"`
		}{}, Example: `{"q": "kadyrow ramzan"}`},
		Answers: []Answer{{Status: 200, Of: Found{}}},
		Codes:   Codes{422: "unknown_field missing_field invalid_field"},
	},
}

type PartyHead struct {
	PartyID string  `json:"partyId"`
	Name    *string `json:"name" doc:"as the newest record writes it; a wallet or an identifier where there is no name"`
	Side    string  `json:"side" enum:"payee operator payer user" doc:"whom of the payment the hit is about"`
	hitEntry
}

type hitEntry struct {
	Entry *struct {
		UID       string   `json:"uid"`
		List      string   `json:"list"`
		Name      string   `json:"name"`
		Type      string   `json:"type,omitempty"`
		EntryID   string   `json:"entryId,omitempty"`
		Programs  []string `json:"programs"`
		ListedNow bool     `json:"listedNow,omitempty"`
	} `json:"entry" doc:"the listed party that was hit"`
	Place *string `json:"place" doc:"the code of the country or region that was hit"`
}

type PaymentSum struct {
	Count      int64  `json:"count"`
	AmountUSDC Number `json:"amountUSDC"`
}

type PaymentSums struct {
	Tried     PaymentSum `json:"tried"`
	WentAhead PaymentSum `json:"wentAhead"`
	Waits     PaymentSum `json:"waits"`
	Blocked   PaymentSum `json:"blocked"`
	Rejected  PaymentSum `json:"rejected" doc:"an officer stopped them"`
	Returned  PaymentSum `json:"returned" doc:"let through, and released or not made in time"`
}

type PartySummary struct {
	PartyHead
	Open      int64       `json:"open" doc:"open reviews, cases, alerts, hits and reports"`
	Sums      PaymentSums `json:"sums"`
	NewestAt  Time        `json:"newestAt"`
	MoneyGone bool        `json:"moneyGone"`
}

type WholeParty struct {
	PartyHead
	ListedToday *struct {
		Outcome string `json:"outcome" enum:"possible listed"`
		UID     string `json:"uid"`
		Name    string `json:"name,omitempty"`
		Score   Number `json:"score,omitempty"`
	} `json:"listedToday" doc:"what the active list says of the payee"`
	ListedSince bool    `json:"listedSince" doc:"the active list names the payee, and the payments of this party hit nobody"`
	Likeness    *Number `json:"likeness" doc:"the best of the party's own payments to the entry"`
	Identity    []struct {
		Kind   string `json:"kind"`
		Asked  string `json:"asked"`
		Listed string `json:"listed"`
		Agrees bool   `json:"agrees"`
	} `json:"identity" doc:"facts that the party's own payments and the entry both tell"`
	EntryNames []string `json:"entryNames"`
	EntryFacts []struct {
		Kind  string `json:"kind"`
		Label string `json:"label,omitempty"`
		Value string `json:"value"`
	} `json:"entryFacts"`
	Sums    PaymentSums `json:"sums" doc:"of all payments found, by likeness too"`
	OwnSums PaymentSums `json:"ownSums" doc:"of the party's own"`
	Alike   []struct {
		Name     string `json:"name"`
		Likeness Number `json:"likeness"`
		Why      string `json:"why"`
	} `json:"alike"`
	Payments     []PartyPayment `json:"payments"`
	PaymentsLeft int64          `json:"paymentsLeft" doc:"summed and not shown"`
	Reviews      []PartyWork    `json:"reviews"`
	Cases        []PartyWork    `json:"cases"`
	Alerts       []PartyWork    `json:"alerts"`
	RetroHits    []PartyWork    `json:"retroHits"`
	Reports      []PartyWork    `json:"reports"`
	Closed       []PartyClosed  `json:"closed" doc:"alerts, hits, cases and reports of these payments that wait for nobody any more; the last closed first, 200 at most"`
	ClosedLeft   int64          `json:"closedLeft" doc:"closed and not shown"`
	Cleared      []struct {
		ClearedID string  `json:"clearedId"`
		Name      string  `json:"name"`
		Grounds   Free    `json:"grounds" free:"what the clearing rests on"`
		Reason    string  `json:"reason"`
		ClearedBy *string `json:"clearedBy"`
		ClearedAt Time    `json:"clearedAt"`
		InForce   bool    `json:"inForce"`
		Void      *string `json:"void"`
		EndedAt   *string `json:"endedAt" format:"date-time"`
		EndedBy   *string `json:"endedBy"`
		EndReason *string `json:"endReason"`
	} `json:"cleared" doc:"also what was taken back"`
	Acts []struct {
		What        string  `json:"what"`
		Time        Time    `json:"time"`
		TxnID       string  `json:"txnId,omitempty"`
		Actor       *string `json:"actor"`
		ActorKeyID  *string `json:"actorKeyId"`
		Reason      *string `json:"reason"`
		Disposition string  `json:"disposition,omitempty"`
		From        string  `json:"from,omitempty"`
		To          string  `json:"to,omitempty"`
		State       string  `json:"state,omitempty"`
		BsaID       string  `json:"bsaId,omitempty"`
		AlertID     string  `json:"alertId,omitempty"`
		CaseID      string  `json:"caseId,omitempty"`
		Name        string  `json:"name,omitempty"`
		UID         string  `json:"uid,omitempty"`
		ClearedID   any     `json:"clearedId,omitempty" schema:"{\"type\": \"integer\"}"`
	} `json:"acts" doc:"newest first, of the payments that are shown"`
	Complete  bool    `json:"complete"`
	Since     *string `json:"since" format:"date-time"`
	AsOfIndex int64   `json:"asOfIndex"`
}

type PartyPayment struct {
	TxnID             string    `json:"txnId"`
	ScreenedAt        Time      `json:"screenedAt"`
	Verdict           Verdict   `json:"verdict"`
	Rule              *RuleCode `json:"rule"`
	Reason            string    `json:"reason"`
	Rules             []string  `json:"rules" doc:"all that fired, in the ladder's order"`
	Amount            Number    `json:"amount"`
	AgentID           string    `json:"agentId,omitempty"`
	AgentName         string    `json:"agentName,omitempty"`
	OperatorLegalName string    `json:"operatorLegalName,omitempty"`
	CpName            *string   `json:"cpName"`
	CpWallet          *string   `json:"cpWallet"`
	CpCountry         *string   `json:"cpCountry"`
	CpDateOfBirth     *string   `json:"cpDateOfBirth"`
	CpAddress         *string   `json:"cpAddress"`
	Memo              *string   `json:"memo"`
	State             string    `json:"state" enum:"wentAhead waits blocked rejected returned"`
	Own               bool      `json:"own"`
	Alike             *struct {
		Likeness Number `json:"likeness"`
		Why      string `json:"why"`
	} `json:"alike" doc:"why a payment that is not the party's own stands here"`
	PartyID     string `json:"partyId,omitempty" doc:"of a payment that is not the party's own"`
	Disposition *struct {
		Disposition  string `json:"disposition"`
		ReviewedBy   string `json:"reviewedBy"`
		ReviewedAt   Time   `json:"reviewedAt"`
		Notes        string `json:"notes,omitempty"`
		SAREscalated bool   `json:"sarEscalated"`
	} `json:"disposition"`
}

type InboxItem struct {
	ItemID            string    `json:"itemId"`
	Kind              string    `json:"kind" enum:"review block alert retro report look"`
	TxnID             *string   `json:"txnId"`
	LookID            string    `json:"lookId,omitempty"`
	CaseID            string    `json:"caseId,omitempty"`
	AlertID           string    `json:"alertId,omitempty"`
	PartyID           *string   `json:"partyId"`
	Rule              *RuleCode `json:"rule,omitempty"`
	Alert             string    `json:"alert,omitempty" doc:"the kind of alert"`
	Rules             []string  `json:"rules"`
	Text              *string   `json:"text"`
	AgentID           *string   `json:"agentId"`
	AgentName         *string   `json:"agentName"`
	OperatorLegalName *string   `json:"operatorLegalName"`
	CpName            *string   `json:"cpName"`
	hitEntry
	Amount              Number  `json:"amount"`
	MoneyGone           bool    `json:"moneyGone"`
	OpenedAt            Time    `json:"openedAt"`
	DueAt               *string `json:"dueAt" format:"date-time"`
	Overdue             bool    `json:"overdue"`
	Assignee            *string `json:"assignee"`
	LeaseExpiresAt      *string `json:"leaseExpiresAt" format:"date-time"`
	Comments            int64   `json:"comments"`
	WaitsForMySignature bool    `json:"waitsForMySignature"`
	Proposed            *Free   `json:"proposed" free:"what one person proposed and another has to confirm"`
	Rank                int64   `json:"rank"`
	RankParts           []struct {
		Part   string `json:"part" enum:"class score agrees differs money clock"`
		Points int64  `json:"points"`
		Why    string `json:"why"`
	} `json:"rankParts" doc:"add up to rank"`
}

type PartyWork struct {
	InboxItem
	Own bool `json:"own"`
}

type PartyClosed struct {
	ItemID      string   `json:"itemId"`
	Kind        string   `json:"kind" enum:"block alert retro report"`
	TxnID       *string  `json:"txnId"`
	CaseID      string   `json:"caseId,omitempty"`
	AlertID     string   `json:"alertId,omitempty"`
	Alert       string   `json:"alert,omitempty" doc:"the kind of alert"`
	State       string   `json:"state" doc:"acknowledged, or the state of the case or the report"`
	Own         bool     `json:"own"`
	Amount      Number   `json:"amount"`
	OpenedAt    Time     `json:"openedAt"`
	ClosedAt    *string  `json:"closedAt" format:"date-time"`
	ClosedBy    *string  `json:"closedBy"`
	ClosedByKey *string  `json:"closedByKey"`
	Reason      *string  `json:"reason"`
	Persons     []string `json:"persons" doc:"both, where two closed it"`
}

type Found struct {
	Q      string `json:"q"`
	Agents []struct {
		AgentID           string `json:"agentId"`
		AgentName         string `json:"agentName"`
		OperatorLegalName string `json:"operatorLegalName"`
		likeness
	} `json:"agents"`
	Parties []struct {
		PartyHead
		Sums     PaymentSums `json:"sums"`
		NewestAt Time        `json:"newestAt"`
		likeness
	} `json:"parties"`
	Transactions []struct {
		TxnID      string    `json:"txnId"`
		ScreenedAt Time      `json:"screenedAt"`
		Verdict    Verdict   `json:"verdict"`
		Rule       *RuleCode `json:"rule"`
		AgentID    string    `json:"agentId,omitempty"`
		AgentName  string    `json:"agentName,omitempty"`
		Amount     Number    `json:"amount"`
		CpName     *string   `json:"cpName"`
		likeness
	} `json:"transactions"`
	Wallets []struct {
		Wallet string   `json:"wallet"`
		Names  []string `json:"names" doc:"who was paid by it"`
		likeness
	} `json:"wallets"`
	Identifiers []struct {
		Identifier string   `json:"identifier" doc:"type:value"`
		Names      []string `json:"names"`
		likeness
	} `json:"identifiers"`
	Complete  bool    `json:"complete"`
	Since     *string `json:"since" format:"date-time"`
	AsOfIndex int64   `json:"asOfIndex"`
}

type likeness struct {
	Likeness Number `json:"likeness" doc:"1: the same"`
	Why      string `json:"why"`
}
