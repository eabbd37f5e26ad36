package clients

import (
	"context"

	"github.com/railguard/railguard/client"
)

// caseworkCalls make the calls of casework as drive.py and drive.ts do.
var caseworkCalls = map[string]func(ctx context.Context, rail *client.Client, key string) (any, error){
	"parties": listParties, "party": showParty, "decideParty": decideParty, "inbox": listInbox, "search": search, "learning": learn,
	"claimItem": func(ctx context.Context, rail *client.Client, _ string) (any, error) {
		return toldWork(rail.ClaimItem(ctx, "txn_1", "Carla"))
	},
	"releaseItem": func(ctx context.Context, rail *client.Client, _ string) (any, error) {
		return toldWork(rail.ReleaseItem(ctx, "alr_1", "Carla", true))
	},
	"assignItem": func(ctx context.Context, rail *client.Client, _ string) (any, error) {
		return toldWork(rail.AssignItem(ctx, "case_1", "Emil", "Carla"))
	},
	"commentItem": func(ctx context.Context, rail *client.Client, _ string) (any, error) {
		return toldWork(rail.CommentItem(ctx, "sar_txn_1", "Carla", "seen"))
	},
	"itemComments": func(ctx context.Context, rail *client.Client, _ string) (any, error) {
		comments, err := rail.ItemComments(ctx, "sar_txn_1")
		if err != nil {
			return nil, err
		}
		all := []any{}
		for _, c := range comments {
			all = append(all, map[string]any{"by": c.Actor, "comment": c.Comment})
		}
		return all, nil
	},
}

func listParties(ctx context.Context, rail *client.Client, _ string) (any, error) {
	list, err := rail.Parties(ctx, client.PartyQuery{State: "all", Text: "Müller & Söhne", Portion: client.Portion{Limit: 2, Cursor: "c1"}})
	if err != nil {
		return nil, err
	}
	all := []any{}
	for _, p := range list.Data {
		entry := ""
		if p.Entry != nil {
			entry = p.Entry.Name
		}
		all = append(all, map[string]any{"partyId": p.PartyID, "entry": entry, "wentAhead": p.Sums.WentAhead.AmountUSDC.String()})
	}
	return map[string]any{"parties": all, "next": list.Next, "complete": list.Complete}, nil
}

func showParty(ctx context.Context, rail *client.Client, _ string) (any, error) {
	p, err := rail.Party(ctx, "pty_1")
	if err != nil {
		return nil, err
	}
	payments, reviews, closedBy := []string{}, []string{}, []string{}
	for i := range p.Payments {
		payments = append(payments, p.Payments[i].TxnID)
	}
	for i := range p.Reviews {
		reviews = append(reviews, p.Reviews[i].ItemID)
	}
	for i := range p.Closed {
		closedBy = append(closedBy, p.Closed[i].ClosedBy)
	}
	return map[string]any{"name": p.Name, "waits": p.Sums.Waits.AmountUSDC.String(), "payments": payments, "reviews": reviews, "closedBy": closedBy}, nil
}

func decideParty(ctx context.Context, rail *client.Client, key string) (any, error) {
	decided, err := rail.DecideParty(ctx, "pty_1", &client.PartyDecision{
		Disposition: "REJECTED", ReviewedBy: "Carla", Notes: "the same man", Only: []string{"txn_1", "txn_2", "txn_3"}, IdempotencyKey: key,
	})
	if err != nil {
		return nil, err
	}
	results := []any{}
	for _, r := range decided.Results {
		by := ""
		if r.Proposed != nil {
			by = r.Proposed.By
		}
		results = append(results, map[string]any{"txnId": r.TxnID, "status": r.Status, "disposition": r.Disposition, "proposedBy": by, "code": r.Code})
	}
	return map[string]any{"results": results, "left": decided.Left}, nil
}

func listInbox(ctx context.Context, rail *client.Client, _ string) (any, error) {
	list, err := rail.Inbox(ctx, client.InboxQuery{Kind: "review", Assignee: "Carla", WaitsForMe: true, Rule: "R21", PartyID: "pty_1", Text: "bakery", Portion: client.Portion{Limit: 5}})
	if err != nil {
		return nil, err
	}
	items := []any{}
	for i := range list.Data {
		sum := int64(0)
		for _, part := range list.Data[i].RankParts {
			sum += part.Points
		}
		items = append(items, map[string]any{"itemId": list.Data[i].ItemID, "amount": list.Data[i].Amount.String(), "rank": sum})
	}
	return map[string]any{"items": items, "open": list.Counts.Review}, nil
}

func search(ctx context.Context, rail *client.Client, _ string) (any, error) {
	found, err := rail.Search(ctx, "kadyrow ramzan")
	if err != nil {
		return nil, err
	}
	parties, amounts := []any{}, []string{}
	for i := range found.Parties {
		p := &found.Parties[i]
		parties = append(parties, map[string]any{"name": p.Name, "like": p.Likeness.Likeness == 1, "why": p.Why})
	}
	for i := range found.Transactions {
		amounts = append(amounts, found.Transactions[i].Amount.String())
	}
	return map[string]any{"parties": parties, "transactions": amounts}, nil
}

func learn(ctx context.Context, rail *client.Client, _ string) (any, error) {
	learned, err := rail.Learning(ctx, "2026-11-01", "2026-11-30")
	if err != nil {
		return nil, err
	}
	officers := []string{}
	for i := range learned.Officers {
		officers = append(officers, learned.Officers[i].Subject)
	}
	return map[string]any{"decisions": learned.Total.Decisions, "median": learned.Total.MedianSeconds, "officers": officers}, nil
}

func toldWork(event *client.WorkEvent, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{"itemId": event.ItemID, "event": event.Event, "assignee": event.Assignee, "comment": event.Comment}, nil
}
