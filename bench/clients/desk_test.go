package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// deskJob is one language's work on the one open review of a party.
type deskJob struct {
	Do   string   `json:"do"`
	URLs []string `json:"urls"`
	Key  string   `json:"key"`
	Name string   `json:"name"`
}

// TestDesk: at a real server each language finds a party, works on its review, and decides it.
func TestDesk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	servers := startCluster(t, 1)
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
	require.NoError(t, err)
	most := client.Dollars(10)
	agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "Bot", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pay", SpendPolicy: &client.SpendPolicy{MaxSingleTxUSDC: &most}})
	require.NoError(t, err)
	names := map[string]string{"go": "Corner Bakery", "python": "Harbour Freight", "typescript": "Kestrel Trading"}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			name := names[l.name]
			verdict, err := rail.Screen(t.Context(), &client.Payment{Token: agent.Token, Amount: client.Dollars(20), CounterpartyName: name})
			require.NoError(t, err)
			require.Equal(t, client.VerdictReview, verdict.Verdict)
			work, lines := deskJob{"desk", servers.URLs(), servers.Key, name}, []string(nil)
			if l.name == "go" {
				lines, err = deskGo(t.Context(), rail, name)
			} else {
				err = run(t.Context(), l.command(t, "drive"), work, &lines)
			}
			require.NoError(t, err)
			require.Equal(t, []string{
				name + " open 1 waits 20", "review.claimed bootstrap", "review.commented Carla", "review.released Carla", "review.assigned Emil", "Carla: seen", "inbox 1", name + " the same name",
				"200 APPROVED", "wentAhead 0 0", "learned",
			}, lines)
		})
	}
}

// deskGo does what drive.py and drive.ts do.
func deskGo(ctx context.Context, rail *client.Client, name string) (lines []string, err error) {
	list, err := rail.Parties(ctx, client.PartyQuery{Text: name})
	if err != nil {
		return nil, err
	}
	party := &list.Data[0]
	whole, err := rail.Party(ctx, party.PartyID)
	if err != nil {
		return nil, err
	}
	txn := whole.Reviews[0].TxnID
	lines = append(lines, fmt.Sprintf("%s open %d waits %s", party.Name, party.Open, party.Sums.Waits.AmountUSDC))
	for _, step := range []func() (*client.WorkEvent, error){
		func() (*client.WorkEvent, error) { return rail.ClaimItem(ctx, txn, "Carla") },
		func() (*client.WorkEvent, error) { return rail.CommentItem(ctx, txn, "Carla", "seen") },
		func() (*client.WorkEvent, error) { return rail.ReleaseItem(ctx, txn, "Carla", false) },
		func() (*client.WorkEvent, error) { return rail.AssignItem(ctx, txn, "Carla", "Emil") },
	} {
		event, err := step()
		if err != nil {
			return lines, err
		}
		lines = append(lines, event.Event+" "+event.Actor)
	}
	comments, err := rail.ItemComments(ctx, txn)
	if err != nil {
		return lines, err
	}
	for _, c := range comments {
		lines = append(lines, c.Actor+": "+c.Comment)
	}
	more, err := decideGo(ctx, rail, name, party.PartyID, txn)
	return append(lines, more...), err
}

func decideGo(ctx context.Context, rail *client.Client, name, partyID, txn string) (lines []string, err error) {
	inbox, err := rail.Inbox(ctx, client.InboxQuery{PartyID: partyID, Kind: "review", Portion: client.Portion{Limit: 5}})
	if err != nil {
		return nil, err
	}
	found, err := rail.Search(ctx, name)
	if err != nil {
		return nil, err
	}
	lines = append(lines, fmt.Sprint("inbox ", len(inbox.Data)), found.Parties[0].Name+" "+found.Parties[0].Why)
	decided, err := rail.DecideParty(ctx, partyID, &client.PartyDecision{Disposition: "APPROVED", ReviewedBy: "Carla", Notes: "a bakery", Only: []string{txn}})
	if err != nil {
		return nil, err
	}
	for _, one := range decided.Results {
		lines = append(lines, fmt.Sprint(one.Status, " ", one.Disposition))
	}
	whole, err := rail.Party(ctx, partyID)
	if err != nil {
		return nil, err
	}
	learned, err := rail.Learning(ctx, "", "")
	if err != nil {
		return nil, err
	}
	lines = append(lines, fmt.Sprintf("%s %d %d", whole.Payments[0].State, len(whole.Reviews), len(whole.Closed)))
	if learned.Total.Approved > 0 {
		return append(lines, "learned"), nil
	}
	return append(lines, "nothing"), nil
}
