package clients

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/railguard/railguard/client"
)

var flagTools = flag.Bool("tools", false, "make client/python/railguard/tools/tools.json anew, from the service's MCP")

// agentTools are the tools that the clients bring for agents' frameworks.
var agentTools = []string{"screen", "confirm", "settle", "release", "get_verdict", "get_limits"}

// TestPythonTools: the tools for agents are those of the service's MCP, word for word, and calling them through
// stand-ins of the two frameworks' constructors says what the MCP says.
func TestPythonTools(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real process")
	}
	servers := startCluster(t, 1, "--mcp")
	listed := servers.toolDefinitions(t)
	path := filepath.Join(home, "python", "railguard", "tools", "tools.json")
	made, err := json.MarshalIndent(listed, "", " ")
	require.NoError(t, err)
	made = append(made, '\n')
	if *flagTools {
		require.NoError(t, os.WriteFile(path, made, 0o644))
	}
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, string(made) == string(raw), "make tools.json anew: go test ./clients -run TestPythonTools -args -tools")

	rail, err := client.New(client.Options{Addresses: servers.URLs(), Key: servers.Key})
	require.NoError(t, err)
	single := client.Dollars(100)
	agent, err := rail.Register(t.Context(), &client.Agent{AgentName: "buyer", AgentType: "supervised", OperatorLegalName: "Acme Robotics Inc", Purpose: "pays", SpendPolicy: &client.SpendPolicy{MaxSingleTxUSDC: &single}})
	require.NoError(t, err)
	var got struct {
		Names   map[string][]string `json:"names"`
		Told    map[string][]string `json:"told"`
		Strict  []bool              `json:"strict"`
		Schemas map[string]bool     `json:"schemas"` // Whether a tool's schema has the token.
	}
	python := pythonCommand(t, "drive").Path
	work := map[string]any{"url": servers.URLs()[0], "key": servers.Key, "token": agent.Token}
	require.NoError(t, run(t.Context(), exec.Command(python, "-B", "testdata/tools.py"), work, &got))
	for _, framework := range []string{"openai", "langchain"} {
		require.Equal(t, agentTools, got.Names[framework])
		told := got.Told[framework]
		require.Len(t, told, 8)
		require.Regexp(t, `^PROCEED: the payment may be made\.\n\{.*"txnId":"txn_`, told[0])
		require.Contains(t, told[1], `"replayed":true`, "the same call again is no second leave")
		require.NotContains(t, told[1], "may be made")
		require.Regexp(t, `^REVIEW \(R10_SINGLE_TX_LIMIT\): do not pay`, told[2])
		require.Regexp(t, `^PROCEED: the payment may be made now, once`, told[3], "confirm with redeem")
		require.Regexp(t, `^Settled: the payment is booked as paid\. Do not pay again\.`, told[4])
		require.Regexp(t, `^Nothing was changed`, told[5], "release")
		require.Contains(t, told[6], "settled", "get_verdict")
		require.Contains(t, told[7], `"spentUSDC":`)
	}
	require.Equal(t, map[string]bool{"screen": false, "confirm": false, "settle": false, "release": false, "get_verdict": false, "get_limits": false}, got.Schemas)
	for _, strict := range got.Strict {
		require.False(t, strict, "the schemas have members that may be left out")
	}
}

// toolDefinition is a tool as the MCP lists it.
type toolDefinition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// toolDefinitions are those of agentTools, in that order.
func (c *cluster) toolDefinitions(t *testing.T) (all []toolDefinition) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "newcomer", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: c.URLs()[0] + "/mcp", HTTPClient: &http.Client{Transport: keyed(c.Key)}, MaxRetries: -1,
	}, nil)
	require.NoError(t, err)
	defer session.Close()
	listed, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, name := range agentTools {
		for _, tool := range listed.Tools {
			if tool.Name != name {
				continue
			}
			all = append(all, toolDefinition{tool.Name, tool.Title, tool.Description, encode(t, tool.InputSchema)})
		}
	}
	require.Len(t, all, len(agentTools))
	return all
}
