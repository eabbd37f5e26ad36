package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/httpapi/description"
)

// declaredMembers are those of the schema of a tool's results.
func declaredMembers(t *testing.T, name string) map[string]any {
	g, _ := newDesk(t)
	w := send(g, "POST", Path, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	var message struct {
		Result struct {
			Tools []struct {
				Name         string
				OutputSchema struct{ Properties map[string]any }
			}
		}
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &message), w.Body.String())
	for _, tool := range message.Result.Tools {
		if tool.Name == name {
			return tool.OutputSchema.Properties
		}
	}
	return failureSchema
}

// failureSchema is what the result of a tool that there is not may hold.
var failureSchema = map[string]any{"code": nil, "message": nil, "outcome": nil, "param": nil}

// Methods of what is not declared are refused.
func TestUndeclaredMethods(t *testing.T) {
	g, _ := newDesk(t)
	for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list", "logging/setLevel", "completion/complete"} {
		w := send(g, "POST", Path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"level":"debug"}}`)
		require.Contains(t, w.Body.String(), `"code":-32601`, method)
	}
}

// What results may hold is declared, and nothing else.
func TestAnswersAreDeclared(t *testing.T) {
	for _, name := range shown {
		require.Contains(t, verdictMembers, name)
	}
	require.ElementsMatch(t, endings, slices.Collect(maps.Keys(endingMembers)))
	limits := description.FindOperation("GET", "/v1/agents/{id}/limits").AnswerMembers()
	require.ElementsMatch(t, slices.Collect(maps.Keys(limits)), slices.Collect(maps.Keys(limitMembers)))
}
