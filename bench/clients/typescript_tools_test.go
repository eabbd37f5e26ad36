package clients

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// frameworks are those that there are tools for, by the example of each.
var frameworks = []string{"ai-sdk", "langchain", "openai-agents"}

// spoken is what each example prints, whatever the framework.
var spoken = []string{
	`screen: PROCEED: the payment may be made.`,
	`settle: Settled: the payment is booked as paid. Do not pay again.`,
	`screen: PROCEED (settled): let through or paid: do not pay again.`,
	`screen: BLOCK (R7_COUNTERPARTY_NAME_OFAC): do not pay, and do not ask again in other words. `,
	`get_verdict: PROCEED (settled): let through or paid: do not pay again.`,
	`get_limits: What the agent may still pay today, in US dollars. It is no leave to pay: ask screen.`,
	`release: Nothing was changed: invalid_transition: the payment was settled`,
	`confirm: Not confirmed (redeemed): let through or paid: do not pay again.`,
}

// requireFrameworks compiles and runs the example of each framework, with the framework as it is published,
// and checks that the tools are those of MCP.
func requireFrameworks(t *testing.T, made *npmPackage, servers *cluster) {
	project := made.install(t)
	entries, err := os.ReadDir(made.modules)
	require.NoError(t, err)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		require.NoError(t, os.Symlink(filepath.Join(made.modules, entry.Name()), filepath.Join(project, "node_modules", entry.Name())))
	}
	copyFolder(t, filepath.Join(home, "typescript", "examples"), project)
	write(t, filepath.Join(project, "list.ts"), toolList)
	made.compile(t, project)
	environment := []string{"RAILGUARD_URL=" + servers.URLs()[0], "RAILGUARD_KEY=" + servers.Key, "OPENAI_API_KEY="}
	for _, name := range frameworks {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(strings.TrimSpace(made.runNode(t, project, name+".js", environment)), "\n")
			require.Len(t, lines, len(spoken), "%q", lines)
			for i := range lines {
				require.True(t, strings.HasPrefix(lines[i], spoken[i]), "%s\n%s", lines[i], spoken[i])
			}
		})
	}
	t.Run("as MCP has them", func(t *testing.T) {
		var listed []listedTool
		require.NoError(t, json.Unmarshal([]byte(made.runNode(t, project, "list.js", environment)), &listed))
		requireAsMCP(t, servers, listed)
	})
}

// toolList is a program that prints the tools.
const toolList = `import { railguardTools } from "railguard/openai-agents";

import { client } from "./script.js";

const tools = railguardTools(client, { onPermit: () => undefined });
console.log(JSON.stringify(tools.map(({ name, description, parameters }) => ({ name, description, parameters }))));
`

// listedTool is a tool as a model is told of it.
type listedTool struct {
	Name, Description string
	Parameters        objectSchema
}

type objectSchema struct {
	Properties map[string]any
	Required   []string
}

// requireAsMCP checks that names, words and arguments are those of MCP. A library has the agent's key and
// signs by itself, so there is no argument proof, nor a token for it in confirm; a key is always asked for.
func requireAsMCP(t *testing.T, servers *cluster, listed []listedTool) {
	address, headers := servers.mcpBlock(t, 0)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "newcomer", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: &headed{headers: headers}}, MaxRetries: -1,
	}, nil)
	require.NoError(t, err)
	defer session.Close()
	all, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	served := map[string]*mcp.Tool{}
	for _, tool := range all.Tools {
		served[tool.Name] = tool
	}
	for i := range listed {
		tool := &listed[i]
		require.NotNil(t, served[tool.Name], tool.Name)
		require.Equal(t, served[tool.Name].Description, tool.Description)
		raw, err := json.Marshal(served[tool.Name].InputSchema)
		require.NoError(t, err)
		var schema objectSchema
		require.NoError(t, json.Unmarshal(raw, &schema))
		delete(schema.Properties, "proof")
		switch tool.Name {
		case "confirm":
			delete(schema.Properties, "token")
		case "screen":
			schema.Required = append(schema.Required, "idempotencyKey")
		}
		require.Equal(t, schema.Properties, tool.Parameters.Properties, tool.Name)
		require.ElementsMatch(t, schema.Required, tool.Parameters.Required, tool.Name)
	}
	require.Len(t, listed, 6)
}

// TestSentencesAreThoseOfMCP: the sentences of the TypeScript tools stand in the sources of httpapi/mcp too.
func TestSentencesAreThoseOfMCP(t *testing.T) {
	var there strings.Builder
	sources, err := filepath.Glob("../../httpapi/mcp/*.go")
	require.NoError(t, err)
	for _, source := range sources {
		there.WriteString(readFile(t, source))
	}
	sentence := regexp.MustCompile("[\"`}] ?([^\"`{}$]{24,}?)[\"`$]")
	found := map[string]bool{}
	for line := range strings.SplitSeq(readFile(t, home+"/typescript/src/sentences.ts"), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "//") || strings.HasPrefix(strings.TrimSpace(line), "import") {
			continue
		}
		for _, match := range sentence.FindAllStringSubmatch(line, -1) {
			if text := strings.TrimSpace(match[1]); strings.Count(text, " ") > 3 {
				found[text] = true
			}
		}
	}
	require.Greater(t, len(found), 20)
	for _, text := range slices.Sorted(maps.Keys(found)) {
		require.Contains(t, there.String(), text)
	}
}
