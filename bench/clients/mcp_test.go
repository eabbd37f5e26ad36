package clients

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"railguard/client"
)

// keyed sends an API key with each call.
type keyed string

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCPTools: what docs/mcp.md says, against real nodes: switched on by one setting,
// asked at one node, asked again at another.
func TestMCPTools(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real processes")
	}
	t.Setenv("RAILGUARD_MCP", "true")
	servers := startCluster(t, 3)
	rail, err := client.New(client.Options{Addresses: servers.urls(), Key: servers.Key})
	require.NoError(t, err)
	agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays"})
	require.NoError(t, err)
	call := func(node int, tool string, arguments map[string]any) map[string]any {
		session, err := mcp.NewClient(&mcp.Implementation{Name: "newcomer", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: servers.urls()[node] + "/mcp", HTTPClient: &http.Client{Transport: keyed(servers.Key)}, MaxRetries: -1,
		}, nil)
		require.NoError(t, err)
		defer session.Close()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		require.False(t, result.IsError, "%v", result.StructuredContent)
		members, ok := result.StructuredContent.(map[string]any)
		require.True(t, ok)
		return members
	}
	payment := map[string]any{"token": agent.Token, "amount": 42.5, "cpName": "Corner Shop", "idempotencyKey": "order-42"}
	first := call(0, "screen", payment)
	require.Equal(t, "PROCEED", first["verdict"])
	require.Equal(t, first["txnId"], call(1, "screen", payment)["txnId"], "the same payment, asked again elsewhere")
	require.Equal(t, "PROCEED", call(2, "get_verdict", map[string]any{"txnId": first["txnId"]})["verdict"])
	blocked := call(1, "screen", map[string]any{"token": agent.Token, "amount": 1, "cpWallet": "0x098B716B8Aaf21512996dC57EB0615e2383E2f96", "idempotencyKey": "order-43"})
	require.Equal(t, "BLOCK", blocked["verdict"])
	require.Equal(t, "R6_COUNTERPARTY_WALLET_OFAC", call(2, "explain", map[string]any{"txnId": blocked["txnId"]})["rule"])
	require.Equal(t, 42.5, call(0, "get_limits", map[string]any{"token": agent.Token})["spentUSDC"])
	require.Equal(t, "PROCEED", call(0, "dry_run", map[string]any{"token": agent.Token, "amount": 5})["verdict"])
}
