package client

import "context"

// caseworkCalls are the calls by which an institution's own tools work.
func caseworkCalls() map[string]call {
	const step = `{"itemId":"review-1","event":"claimed","assignee":"Ann"}`
	taken := &WorkEvent{ItemID: "review-1", Event: "claimed", Assignee: "Ann"}
	return map[string]call{
		"Parties": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Parties(ctx, PartyQuery{State: "all", Text: "corner bakery", Portion: Portion{Limit: 5, Cursor: "cur+1"}})
			},
			"GET /v1/parties?cursor=cur%2B1&limit=5&q=corner+bakery&state=all", "", "",
			`{"data":[{"partyId":"pty_1","name":"Corner Bakery","open":2}],"nextCursor":"cur2"}`,
			&PartyList{Data: []PartySummary{{PartyHead: PartyHead{PartyID: "pty_1", Name: "Corner Bakery"}, Open: 2}}, Next: "cur2"},
		},
		"Party": {
			func(ctx context.Context, c *Client) (any, error) { return c.Party(ctx, "pty/1") },
			"GET /v1/parties/pty%2F1", "", "", `{"partyId":"pty/1","paymentsLeft":3,"closed":[{"itemId":"alert-1","persons":["Ann"]}]}`,
			&WholeParty{PartyHead: PartyHead{PartyID: "pty/1"}, PaymentsLeft: 3, Closed: []ClosedItem{{ItemID: "alert-1", Persons: []string{"Ann"}}}},
		},
		"DecideParty": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.DecideParty(ctx, "pty_1", &PartyDecision{Disposition: DispositionApproved, ReviewedBy: "Ann", Notes: "known", Only: []string{"txn_1"}, IdempotencyKey: "d-1"})
			},
			"POST /v1/parties/pty_1/decide", `{"disposition":"APPROVED","reviewedBy":"Ann","notes":"known","only":["txn_1"]}`, "d-1",
			`{"partyId":"pty_1","results":[{"status":200,"txnId":"txn_1","proposed":{"disposition":"APPROVED","by":"Ann"}},{"status":403,"code":"four_eyes"}],"left":1}`,
			&PartyDecided{PartyID: "pty_1", Results: []Decided{{Status: 200, TxnID: "txn_1", Proposed: &Proposed{Disposition: "APPROVED", By: "Ann"}}, {Status: 403, Code: "four_eyes"}}, Left: 1},
		},
		"Inbox": {
			func(ctx context.Context, c *Client) (any, error) {
				return c.Inbox(ctx, InboxQuery{Kind: "review", Assignee: "Ann", WaitsForMe: true})
			},
			"GET /v1/inbox?assignee=Ann&kind=review&waitsForMe=true", "", "",
			`{"data":[{"itemId":"review-1","rank":3,"rankParts":[{"part":"age","points":3,"why":"w"}]}],"counts":{"review":1}}`,
			&InboxList{Data: []InboxItem{{ItemID: "review-1", Rank: 3, RankParts: []RankPart{{Part: "age", Points: 3, Why: "w"}}}}, Counts: InboxCounts{Review: 1}},
		},
		"ClaimItem": {
			func(ctx context.Context, c *Client) (any, error) { return c.ClaimItem(ctx, "review-1", "Ann") },
			"POST /v1/inbox/review-1/claim", `{"assignee":"Ann"}`, "", step, taken,
		},
		"ReleaseItem": {
			func(ctx context.Context, c *Client) (any, error) { return c.ReleaseItem(ctx, "review-1", "Bo", true) },
			"POST /v1/inbox/review-1/release", `{"by":"Bo","force":true}`, "", step, taken,
		},
		"AssignItem": {
			func(ctx context.Context, c *Client) (any, error) { return c.AssignItem(ctx, "review-1", "Ann", "Bo") },
			"POST /v1/inbox/review-1/assign", `{"assignee":"Ann","by":"Bo"}`, "", step, taken,
		},
		"CommentItem": {
			func(ctx context.Context, c *Client) (any, error) { return c.CommentItem(ctx, "review-1", "Bo", "seen") },
			"POST /v1/inbox/review-1/comment", `{"by":"Bo","comment":"seen"}`, "", step, taken,
		},
		"ItemComments": {
			func(ctx context.Context, c *Client) (any, error) { return c.ItemComments(ctx, "review-1") },
			"GET /v1/inbox/review-1/comments", "", "", `{"data":[{"actor":"Bo","comment":"seen"}]}`, []ItemComment{{Actor: "Bo", Comment: "seen"}},
		},
		"Search": {
			func(ctx context.Context, c *Client) (any, error) { return c.Search(ctx, "corner bakery") },
			"POST /v1/search", `{"q":"corner bakery"}`, "none",
			`{"wallets":[{"wallet":"0x1","names":["Corner Bakery"],"likeness":0.5,"why":"w"}],"complete":true}`,
			&Found{Wallets: []FoundWallet{{Wallet: "0x1", Names: []string{"Corner Bakery"}, Likeness: Likeness{Likeness: 0.5, Why: "w"}}}, Complete: true},
		},
		"Learning": {
			func(ctx context.Context, c *Client) (any, error) { return c.Learning(ctx, "2026-11-01", "") },
			"GET /v1/learning?from=2026-11-01", "", "", `{"from":"2026-11-01T00:00:00.000Z","total":{"decisions":2,"approved":2,"twoPersons":1}}`,
			&Learning{From: "2026-11-01T00:00:00.000Z", Total: LearningTotal{LearningCounts: LearningCounts{Decisions: 2, Approved: 2}, TwoPersons: 1}},
		},
	}
}
