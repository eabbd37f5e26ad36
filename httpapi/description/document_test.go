package description

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentIsWhole: every operation is in the document, and every reference in it
// leads to a component.
func TestDocumentIsWhole(t *testing.T) {
	data, err := json.Marshal(Document())
	require.NoError(t, err)
	var document struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(data, &document))
	var names []string
	for _, methods := range document.Paths {
		for _, operation := range methods {
			names = append(names, operation.OperationID)
		}
	}
	there := 0
	for _, operation := range Operations() {
		if len(operation.Answers) > 0 {
			there++
			require.True(t, slices.Contains(names, operation.Name), operation.Name)
		}
	}
	require.Len(t, names, there)
	references := regexp.MustCompile(`"\$ref":"#/components/([a-z]+)/([A-Za-z0-9]+)"`).FindAllSubmatch(data, -1)
	require.Greater(t, len(references), 1000)
	for _, match := range references {
		require.Contains(t, document.Components[string(match[1])], string(match[2]))
	}
}

func TestFields(t *testing.T) {
	named := func(fields []Field, name string) Field {
		for _, field := range fields {
			if field.Name == name {
				return field
			}
		}
		t.Fatalf("no field %s", name)
		return Field{}
	}
	query := FindOperation("GET", "/v1/audit").QueryFields()
	require.Equal(t, Field{Name: "from", Help: "a time or a date"}, named(query, "from"))
	require.Equal(t, Field{Name: "limit", Help: "1 to 500, default 50"}, named(query, "limit"))
	require.Equal(t, []string{"PROCEED", "REVIEW", "BLOCK", "UNKNOWN"}, named(query, "verdict").Enum)
	require.Equal(t, TruthField, named(FindOperation("GET", "/v1/sar").QueryFields(), "overdue").Kind)

	body := FindOperation("POST", "/v1/agents/register").BodyFields("spendPolicy")
	require.Equal(t, Field{Name: "agentName", Required: true, Help: "what the agent is called"}, named(body, "agentName"))
	require.Equal(t, Field{Name: "agentType", Required: true, Enum: []string{"autonomous", "supervised"}}, named(body, "agentType"))
	require.Equal(t, NumberField, named(body, "spendPolicy.dailyLimitUSDC").Kind)
	require.Equal(t, ListField, named(body, "spendPolicy.allowedChains").Kind)
	require.Equal(t, TruthField, named(body, "spendPolicy.noMixerProtocols").Kind)
	require.Equal(t, JSONField, named(body, "metadata").Kind)
	// An opened object's member is required only where the object itself is.
	require.False(t, named(FindOperation("POST", "/v1/screen").BodyFields("hold"), "hold.ttlSeconds").Required)
	require.Empty(t, FindOperation("GET", "/v1/audit").BodyFields())
}

// TestAnswersAreOpen: what is sent is closed, and what is answered may grow.
func TestAnswersAreOpen(t *testing.T) {
	document := Document()
	release := document.Get("paths").(Object).Get("/v1/transactions/{txnId}/release").(Object).Get("post").(Object)
	body, err := json.Marshal(release.Get("requestBody"))
	require.NoError(t, err)
	require.Contains(t, string(body), `"additionalProperties":false`)
	schemas := document.Get("components").(Object).Get("schemas").(Object)
	for _, name := range []string{"Screening", "Record", "Error", "Hold", "WhitelistSummary"} {
		schema, err := json.Marshal(schemas.Get(name))
		require.NoError(t, err)
		require.NotContains(t, string(schema), `"additionalProperties":false`, name)
		require.NotContains(t, string(schema), `"enum":["missing_token"`)
	}
	asked, err := json.Marshal(schemas.Get("QueueFilter"))
	require.NoError(t, err)
	require.Contains(t, string(asked), `"additionalProperties":false`)
}
