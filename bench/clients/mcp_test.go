package clients

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

// headed sends headers with each call, and keeps the session ids of the answers.
type headed struct {
	headers map[string]string

	mutex    sync.Mutex
	sessions []string
}

func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.headers {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && answer.Header.Get("Mcp-Session-Id") != "" {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.sessions = append(h.sessions, answer.Header.Get("Mcp-Session-Id"))
	}
	return answer, err
}

func keyed(key string) *headed {
	return &headed{headers: map[string]string{"Authorization": "Bearer " + key}}
}

// mcpBlock reads the client configuration in docs/mcp.md, with a node's address and a key
// in place of the example's.
func (c *cluster) mcpBlock(t *testing.T, node int) (address string, headers map[string]string) {
	block := documentBlock(t, "../../docs/mcp.md", "json")
	for example, real := range map[string]string{"https://guard.example.org": c.URLs()[node], "rg_live_...": c.Key} {
		require.Equal(t, 1, strings.Count(block, example))
		block = strings.Replace(block, example, real, 1)
	}
	var configuration struct {
		Servers map[string]struct {
			Type, URL string
			Headers   map[string]string
		} `json:"mcpServers"`
	}
	require.NoError(t, json.Unmarshal([]byte(block), &configuration))
	server := configuration.Servers["railguard"]
	require.Equal(t, "http", server.Type)
	return server.URL, server.Headers
}

// callTools follows docs/mcp.md with the protocol's own client: it calls every tool, each
// time at another node, since there are no sessions.
func (c *cluster) callTools(t *testing.T) {
	c.findMCP(t)
	rail, err := client.New(client.Options{Addresses: c.URLs(), Key: c.Key})
	require.NoError(t, err)
	agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "payer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays"})
	require.NoError(t, err)
	called := map[string]bool{}
	call := func(node int, tool string, arguments map[string]any) map[string]any {
		address, headers := c.mcpBlock(t, node)
		transport := &headed{headers: headers}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "newcomer", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: address, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
		}, nil)
		require.NoError(t, err)
		defer session.Close()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		require.False(t, result.IsError, "%v", result.StructuredContent)
		require.Empty(t, transport.sessions, "there are none")
		members, ok := result.StructuredContent.(map[string]any)
		require.True(t, ok)
		called[tool] = true
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
	require.Equal(t, "PROCEED", call(1, "confirm", map[string]any{"txnId": first["txnId"], "redeem": true})["verdict"])
	require.Equal(t, "settled", call(2, "settle", map[string]any{"txnId": first["txnId"], "railRef": "0xabc"})["state"])
	called["release"] = true // An agent's key is refused: cmd/railguard's TestMCP.
	require.Equal(t, c.tools(t), called, "every tool there is")
}

// tools returns the names of the tools that a client is offered.
func (c *cluster) tools(t *testing.T) map[string]bool {
	address, headers := c.mcpBlock(t, 0)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "newcomer", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: &headed{headers: headers}}, MaxRetries: -1,
	}, nil)
	require.NoError(t, err)
	defer session.Close()
	listed, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	all := map[string]bool{}
	for _, tool := range listed.Tools {
		all[tool.Name] = true
	}
	return all
}

// findMCP calls without a key, as a new client does: the refusal points to the metadata
// that says whose keys are accepted (RFC 9728).
func (c *cluster) findMCP(t *testing.T) {
	address, _ := c.mcpBlock(t, 0)
	answer, err := http.Post(address, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	found := regexp.MustCompile(`^Bearer .*resource_metadata="([^"]+)"`).FindStringSubmatch(answer.Header.Get("WWW-Authenticate"))
	require.NotEmpty(t, found, answer.Header.Get("WWW-Authenticate"))
	answer, err = http.Get(found[1])
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	var metadata struct {
		Resource string   `json:"resource"`
		Methods  []string `json:"bearer_methods_supported"`
		Servers  []string `json:"authorization_servers"`
	}
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&metadata))
	require.Equal(t, address, metadata.Resource, "of the node that the address names")
	require.True(t, slices.Contains(metadata.Methods, "header"))
	require.Empty(t, metadata.Servers)
}
