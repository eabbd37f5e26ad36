package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// This file has the calls by which an institution's own tools work: who was paid, what waits for an
// officer, who works on it, and what was decided. They need role reviewer (auditor only to read), and a
// key without an operator's scope.

// ListedEntry is the listed party that payments hit.
type ListedEntry struct {
	UID       string   `json:"uid"`
	List      string   `json:"list"`
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	EntryID   string   `json:"entryId"`
	Programs  []string `json:"programs"`
	ListedNow bool     `json:"listedNow"`
}

// PaymentSum is a number of payments, and their amounts together.
type PaymentSum struct {
	Count      int64 `json:"count"`
	AmountUSDC USD   `json:"amountUSDC"`
}

// PaymentSums are sums by what became of the money.
type PaymentSums struct {
	Tried     PaymentSum `json:"tried"`
	WentAhead PaymentSum `json:"wentAhead"`
	Waits     PaymentSum `json:"waits"`
	Blocked   PaymentSum `json:"blocked"`
	Rejected  PaymentSum `json:"rejected"`
	Returned  PaymentSum `json:"returned"`
}

// PartyHead is a counterparty together with whom or which place its payments hit.
type PartyHead struct {
	PartyID string       `json:"partyId"`
	Name    string       `json:"name"`
	Side    string       `json:"side"`  // Whom of the payment the hit is about: payee, operator, payer or user.
	Entry   *ListedEntry `json:"entry"` // nil: no listed party.
	Place   string       `json:"place"` // "": no place.
}

// PartySummary is a line of the list of parties.
type PartySummary struct {
	PartyHead
	Open      int64       `json:"open"`
	Sums      PaymentSums `json:"sums"`
	NewestAt  string      `json:"newestAt"`
	MoneyGone bool        `json:"moneyGone"`
}

// PartyList is a page of parties. Complete: it rests on all of retention, else on what the node has read
// since Since.
type PartyList struct {
	Data     []PartySummary `json:"data"`
	Complete bool           `json:"complete"`
	Since    string         `json:"since"`
	Next     string         `json:"nextCursor"`
	AsOf     uint64         `json:"asOfIndex"`
}

// Portion is which part of a list to read: at most Limit rows (0: the server's number) behind a cursor.
type Portion struct {
	Limit  int
	Cursor string
}

func (p *Portion) query(filters map[string]string) string {
	query := url.Values{}
	for name, value := range filters {
		if value != "" {
			query.Set(name, value)
		}
	}
	if p.Limit > 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		query.Set("cursor", p.Cursor)
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// PartyQuery is what to list: parties with open work, or with State "all" every one; Text is a part of a
// name, another spelling, a wallet, or an identifier as type:value.
type PartyQuery struct {
	State, Text string
	Portion
}

// Parties lists counterparties with what they hit.
func (c *Client) Parties(ctx context.Context, asked PartyQuery, options ...CallOption) (*PartyList, error) {
	return read[PartyList](c, ctx, "/v1/parties"+asked.query(map[string]string{"state": asked.State, "q": asked.Text}), options)
}

// PartyPayment is one payment of a party.
type PartyPayment struct {
	TxnID             string   `json:"txnId"`
	ScreenedAt        string   `json:"screenedAt"`
	Verdict           string   `json:"verdict"`
	Rule              string   `json:"rule"`
	Reason            string   `json:"reason"`
	Rules             []string `json:"rules"` // All that fired.
	Amount            USD      `json:"amount"`
	AgentID           string   `json:"agentId"`
	AgentName         string   `json:"agentName"`
	OperatorLegalName string   `json:"operatorLegalName"`
	CpName            string   `json:"cpName"`
	CpWallet          string   `json:"cpWallet"`
	CpCountry         string   `json:"cpCountry"`
	CpDateOfBirth     string   `json:"cpDateOfBirth"`
	CpAddress         string   `json:"cpAddress"`
	Memo              string   `json:"memo"`
	State             string   `json:"state"` // wentAhead, waits, blocked, rejected or returned.
	Own               bool     `json:"own"`   // false: it stands here because its payee is like the party or the entry.
	PartyID           string   `json:"partyId"`

	Alike       *Likeness       `json:"alike"` // Why a payment that is not the party's own stands here.
	Disposition json.RawMessage `json:"disposition"`
}

// ClosedItem is an alert, a hit, a sanctions case or a report that waits for nobody any more.
type ClosedItem struct {
	ItemID      string   `json:"itemId"`
	Kind        string   `json:"kind"`
	TxnID       string   `json:"txnId"`
	CaseID      string   `json:"caseId"`
	AlertID     string   `json:"alertId"`
	Alert       string   `json:"alert"`
	State       string   `json:"state"`
	Own         bool     `json:"own"`
	Amount      USD      `json:"amount"`
	OpenedAt    string   `json:"openedAt"`
	ClosedAt    string   `json:"closedAt"`
	ClosedBy    string   `json:"closedBy"`
	ClosedByKey string   `json:"closedByKey"`
	Reason      string   `json:"reason"`
	Persons     []string `json:"persons"`
}

// WholeParty is one party whole. Payments has the newest 200, the sums all.
type WholeParty struct {
	PartyHead
	ListedSince  bool           `json:"listedSince"`
	EntryNames   []string       `json:"entryNames"`
	Sums         PaymentSums    `json:"sums"`
	OwnSums      PaymentSums    `json:"ownSums"`
	Payments     []PartyPayment `json:"payments"`
	PaymentsLeft int64          `json:"paymentsLeft"`
	Reviews      []InboxItem    `json:"reviews"`
	Cases        []InboxItem    `json:"cases"`
	Alerts       []InboxItem    `json:"alerts"`
	RetroHits    []InboxItem    `json:"retroHits"`
	Reports      []InboxItem    `json:"reports"`
	Closed       []ClosedItem   `json:"closed"`
	ClosedLeft   int64          `json:"closedLeft"`
	Complete     bool           `json:"complete"`
	Since        string         `json:"since"`
	AsOf         uint64         `json:"asOfIndex"`
	Likeness     *float64       `json:"likeness"` // The best of the party's own payments to the entry.

	// docs/API.md has the members of these.
	ListedToday json.RawMessage `json:"listedToday"`
	Identity    json.RawMessage `json:"identity"`
	EntryFacts  json.RawMessage `json:"entryFacts"`
	Alike       json.RawMessage `json:"alike"`
	Cleared     json.RawMessage `json:"cleared"`
	Acts        json.RawMessage `json:"acts"`
}

// Party reads everything about one party.
func (c *Client) Party(ctx context.Context, partyID string, options ...CallOption) (*WholeParty, error) {
	return read[WholeParty](c, ctx, "/v1/parties/"+url.PathEscape(partyID), options)
}

// PartyDecision is one decision about all open reviews of a party, or about Only those. Of a party that
// hit nobody they have to be named.
type PartyDecision struct {
	Disposition    string   `json:"disposition"` // APPROVED, REJECTED or ESCALATE_SAR.
	ReviewedBy     string   `json:"reviewedBy"`
	Notes          string   `json:"notes,omitempty"`
	Only           []string `json:"only,omitzero"`
	IdempotencyKey string   `json:"-"` // "": the client draws one.
}

// Decided is what became of one review: its disposition, a proposal that waits for a second person, or,
// if Status is not 200, why it was refused.
type Decided struct {
	Status      int       `json:"status"`
	TxnID       string    `json:"txnId"`
	Disposition string    `json:"disposition"`
	Proposed    *Proposed `json:"proposed"`
	ReviewedBy  string    `json:"reviewedBy"`
	ReviewedAt  string    `json:"reviewedAt"`
	Notes       string    `json:"notes"`
	Replayed    bool      `json:"replayed"` // It was decided by an earlier call with the same key.

	SAREscalated      bool            `json:"sarEscalated"`
	OverLimitApproved bool            `json:"overLimitApproved"`
	NotHeld           bool            `json:"notHeld"`
	Recheck           json.RawMessage `json:"recheck"` // What the same payment would be today.

	Outcome   Outcome  `json:"outcome"` // Of a refusal, as are all below.
	ErrorWord string   `json:"error"`
	Code      string   `json:"code"`
	Message   string   `json:"message"`
	Param     string   `json:"param"`
	RequestID string   `json:"requestId"`
	Docs      string   `json:"docs"`
	Statement string   `json:"statement"` // Of passkey_required: what is to be signed.
	Challenge string   `json:"challenge"`
	Passkeys  []string `json:"passkeys"`
}

// Proposed is a decision that waits for another person.
type Proposed struct {
	ProposalID  string `json:"proposalId"`
	Disposition string `json:"disposition"`
	By          string `json:"by"` // A label; ProposedBy is the person of the key, or the key.
	ByKey       string `json:"byKey"`
	ProposedBy  string `json:"proposedBy"`
	At          string `json:"at"`
	ExpiresAt   string `json:"expiresAt"`
	Notes       string `json:"notes"`
}

// PartyDecided is what became of each review. Left is how many open ones the party has beyond these.
type PartyDecided struct {
	PartyID string    `json:"partyId"`
	Results []Decided `json:"results"`
	Left    int64     `json:"left"`
}

// DecideParty decides open reviews of a party, each with its own record and every guard.
func (c *Client) DecideParty(ctx context.Context, partyID string, decision *PartyDecision, options ...CallOption) (*PartyDecided, error) {
	return answer[PartyDecided](c, ctx, "/v1/parties/"+url.PathEscape(partyID)+"/decide", decision, decision.IdempotencyKey, options)
}

// RankPart is a part of the rank of an item: points, and why.
type RankPart struct {
	Part   string `json:"part"`
	Points int64  `json:"points"`
	Why    string `json:"why"`
}

// InboxItem is one piece of work: a review, a sanctions case (block), an alert, a hit of retro-screening
// (retro), or a report. RankParts add up to Rank.
type InboxItem struct {
	ItemID              string       `json:"itemId"`
	Kind                string       `json:"kind"`
	TxnID               string       `json:"txnId"`
	CaseID              string       `json:"caseId"`
	AlertID             string       `json:"alertId"`
	LookID              string       `json:"lookId"`
	PartyID             string       `json:"partyId"`
	Rule                string       `json:"rule"`
	Rules               []string     `json:"rules"`
	Alert               string       `json:"alert"`
	Text                string       `json:"text"`
	AgentID             string       `json:"agentId"`
	AgentName           string       `json:"agentName"`
	OperatorLegalName   string       `json:"operatorLegalName"`
	CpName              string       `json:"cpName"`
	Entry               *ListedEntry `json:"entry"`
	Place               string       `json:"place"`
	Amount              USD          `json:"amount"`
	MoneyGone           bool         `json:"moneyGone"`
	OpenedAt            string       `json:"openedAt"`
	DueAt               string       `json:"dueAt"`
	Overdue             bool         `json:"overdue"`
	Assignee            string       `json:"assignee"`
	LeaseExpiresAt      string       `json:"leaseExpiresAt"`
	Comments            int64        `json:"comments"`
	WaitsForMySignature bool         `json:"waitsForMySignature"`
	Proposed            *Proposed    `json:"proposed"`
	Rank                int64        `json:"rank"`
	RankParts           []RankPart   `json:"rankParts"`
}

// InboxCounts are counts of everything open.
type InboxCounts struct {
	Review     int64 `json:"review"`
	Block      int64 `json:"block"`
	Alert      int64 `json:"alert"`
	Retro      int64 `json:"retro"`
	Report     int64 `json:"report"`
	Look       int64 `json:"look"` // Second looks that the caller may take or has in hand.
	WaitsForMe int64 `json:"waitsForMe"`
}

// InboxList is a page of work, the highest rank first.
type InboxList struct {
	Data     []InboxItem `json:"data"`
	Counts   InboxCounts `json:"counts"`
	Complete bool        `json:"complete"`
	Since    string      `json:"since"`
	Next     string      `json:"nextCursor"`
	AsOf     uint64      `json:"asOfIndex"`
}

// InboxQuery is which work to list; "" and false leave nothing out.
type InboxQuery struct {
	Kind, Assignee, Rule, PartyID, Text string
	WaitsForMe                          bool // What another person proposed and the caller may sign.
	Portion
}

// Inbox lists what waits for an officer.
func (c *Client) Inbox(ctx context.Context, asked InboxQuery, options ...CallOption) (*InboxList, error) {
	filters := map[string]string{"kind": asked.Kind, "assignee": asked.Assignee, "rule": asked.Rule, "partyId": asked.PartyID, "q": asked.Text}
	if asked.WaitsForMe {
		filters["waitsForMe"] = "true"
	}
	return read[InboxList](c, ctx, "/v1/inbox"+asked.query(filters), options)
}

// WorkEvent is a step in who works on an item.
type WorkEvent struct {
	ItemID         string `json:"itemId"`
	TxnID          string `json:"txnId"`
	AlertID        string `json:"alertId"`
	CaseID         string `json:"caseId"`
	LookID         string `json:"lookId"`
	EventID        string `json:"eventId"`
	Time           string `json:"time"`
	Event          string `json:"event"`
	Assignee       string `json:"assignee"`
	LeaseExpiresAt string `json:"leaseExpiresAt"`
	Actor          string `json:"actor"`
	Comment        string `json:"comment"`

	Item json.RawMessage `json:"item"` // Of a review: what it is about.
}

// ClaimItem leases an item of the inbox to a person for ten minutes.
func (c *Client) ClaimItem(ctx context.Context, itemID, assignee string, options ...CallOption) (*WorkEvent, error) {
	return c.work(ctx, itemID, "claim", workStep{Assignee: assignee}, options)
}

// ReleaseItem gives a claim back. With force it may be somebody else's.
func (c *Client) ReleaseItem(ctx context.Context, itemID, by string, force bool, options ...CallOption) (*WorkEvent, error) {
	return c.work(ctx, itemID, "release", workStep{By: by, Force: force}, options)
}

// AssignItem puts an item into a person's hands, without an end.
func (c *Client) AssignItem(ctx context.Context, itemID, assignee, by string, options ...CallOption) (*WorkEvent, error) {
	return c.work(ctx, itemID, "assign", workStep{Assignee: assignee, By: by}, options)
}

// CommentItem adds a comment to an item.
func (c *Client) CommentItem(ctx context.Context, itemID, by, comment string, options ...CallOption) (*WorkEvent, error) {
	return c.work(ctx, itemID, "comment", workStep{By: by, Comment: comment}, options)
}

type workStep struct {
	Assignee string `json:"assignee,omitempty"`
	By       string `json:"by,omitempty"`
	Comment  string `json:"comment,omitempty"`
	Force    bool   `json:"force,omitempty"`
}

func (c *Client) work(ctx context.Context, itemID, verb string, step workStep, options []CallOption) (*WorkEvent, error) {
	return answer[WorkEvent](c, ctx, "/v1/inbox/"+url.PathEscape(itemID)+"/"+verb, step, "", options)
}

// ItemComment is a comment on an item.
type ItemComment struct {
	Time       string `json:"time"`
	EventID    string `json:"eventId"`
	Actor      string `json:"actor"`
	ActorKeyID string `json:"actorKeyId"`
	Comment    string `json:"comment"`
}

// ItemComments reads the comments on an item, oldest first.
func (c *Client) ItemComments(ctx context.Context, itemID string, options ...CallOption) ([]ItemComment, error) {
	told, err := read[struct {
		Data []ItemComment `json:"data"`
	}](c, ctx, "/v1/inbox/"+url.PathEscape(itemID)+"/comments", options)
	if err != nil {
		return nil, err
	}
	return told.Data, nil
}

// Likeness says how like what was asked something is, 1 being the same, and why.
type Likeness struct {
	Likeness float64 `json:"likeness"`
	Why      string  `json:"why"`
}

// FoundAgent, FoundParty, FoundPayment, FoundWallet and FoundIdentifier are what a search found.
type (
	FoundAgent struct {
		AgentID           string `json:"agentId"`
		AgentName         string `json:"agentName"`
		OperatorLegalName string `json:"operatorLegalName"`
		Likeness
	}
	FoundParty struct {
		PartyHead
		Sums     PaymentSums `json:"sums"`
		NewestAt string      `json:"newestAt"`
		Likeness
	}
	FoundPayment struct {
		TxnID      string `json:"txnId"`
		ScreenedAt string `json:"screenedAt"`
		Verdict    string `json:"verdict"`
		Rule       string `json:"rule"`
		AgentID    string `json:"agentId"`
		AgentName  string `json:"agentName"`
		Amount     USD    `json:"amount"`
		CpName     string `json:"cpName"`
		Likeness
	}
	FoundWallet struct {
		Wallet string   `json:"wallet"`
		Names  []string `json:"names"`
		Likeness
	}
	FoundIdentifier struct {
		Identifier string   `json:"identifier"`
		Names      []string `json:"names"`
		Likeness
	}
)

// Found is what a search found, each kind by its likeness.
type Found struct {
	Agents       []FoundAgent      `json:"agents"`
	Parties      []FoundParty      `json:"parties"`
	Transactions []FoundPayment    `json:"transactions"`
	Wallets      []FoundWallet     `json:"wallets"`
	Identifiers  []FoundIdentifier `json:"identifiers"`
	Complete     bool              `json:"complete"`
	Since        string            `json:"since"`
	Text         string            `json:"q"`
	AsOf         uint64            `json:"asOfIndex"`
}

// Search finds agents, parties, payments, wallets and identifiers by a part of a name in any order, by
// another spelling, or by an id. The text stands in the body, so that no balancer logs it.
func (c *Client) Search(ctx context.Context, text string, options ...CallOption) (*Found, error) {
	found := new(Found)
	r := request{method: http.MethodPost, path: "/v1/search", repeatable: true}
	for _, option := range options {
		option(&r)
	}
	if err := c.do(ctx, &r, map[string]string{"q": text}, found); err != nil {
		return nil, err
	}
	return found, nil
}
