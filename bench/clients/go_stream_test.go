package clients

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// TestStreamSurvivesALeader: 900 payments over one stream, while the leader is killed, each have one
// verdict, and what proceeded is to the cent what the agent has spent, and never above its limit.
func TestStreamSurvivesALeader(t *testing.T) {
	servers := startCluster(t, 3)
	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key, Deadline: time.Minute, Attempts: 200})
	require.NoError(t, err)
	limit := client.Dollars(600)
	agent, err := rail.Register(t.Context(), &client.Agent{
		AgentName: "Stream", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "stream", SpendPolicy: &client.SpendPolicy{DailyLimitUSDC: &limit},
	})
	require.NoError(t, err)
	const payments, killAt = 900, 300 // Below the pace that is reviewed, 1,000 a minute.
	source := func(yield func(*client.Payment) bool) {
		for i := range payments {
			if !yield(&client.Payment{Token: agent.Token, Amount: client.Dollars(1), IdempotencyKey: "line-" + strconv.Itoa(i)}) {
				return
			}
		}
	}
	proceeded, seen := 0, make(map[string]bool)
	for payment, result := range rail.Stream(t.Context(), source) {
		require.False(t, seen[payment.IdempotencyKey], "two results for %s", payment.IdempotencyKey)
		seen[payment.IdempotencyKey] = true
		require.Nil(t, result.Error, payment.IdempotencyKey)
		if result.Verdict.Proceed() {
			proceeded++
		}
		if len(seen) == killAt {
			servers.killLeader(t)
		}
	}
	require.Len(t, seen, payments)
	require.Equal(t, 600, proceeded)
	limits, err := rail.Limits(t.Context(), agent.AgentID)
	require.NoError(t, err)
	require.Equal(t, limit, limits.SpentUSDC)
}
